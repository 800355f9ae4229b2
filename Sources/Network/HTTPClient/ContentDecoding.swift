import CZlib

// Decompresses answers as they arrive.
//
// libcurl does it too, but accepts an answer that was cut off, by the end of the connection or by `Content-Length`, as
// complete. Here an answer is complete when its stream has ended. For gzip (RFC 1952), that is the last member, with
// its checksum and length; zeros may follow. For deflate (RFC 9110, section 8.4.1.2), it is the stream of zlib, or a
// stream without zlib's header, as some servers send it. An empty body has no stream and is complete.

/// Decompresses one body.
final class ContentDecoding {
  /// Why a body can't be decompressed.
  enum DecodingError: Error {
    /// The stream is damaged, for the reason given.
    case damaged(String)
    /// The receiver refused the bytes.
    case refused(HTTPError)
  }

  private enum Form { case gzip, deflate }

  /// The encodings that requests accept.
  static let accepted = "gzip, deflate"

  private let form: Form
  private var stream: OpaquePointer?
  /// The first bytes of deflate, until they show whether it has a header.
  private var start: [UInt8] = []
  private var hasBegun = false
  private var hasEnded = false
  private var isPadded = false
  private static let size = 64 << 10
  private let room = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)

  /// Creates a decoder for a `Content-Encoding`; nil if it isn't supported.
  init?(_ encoding: String) {
    switch encoding {
    case "gzip", "x-gzip": form = .gzip
    case "deflate": form = .deflate
    default: return nil
    }
  }

  deinit {
    if let stream { czlib_free(stream) }
    room.deallocate()
  }

  /// Whether the stream has ended, or never began.
  var isWhole: Bool { hasEnded || !hasBegun }

  /// Decompresses the next bytes, and passes on the result piece by piece.
  func decode(_ bytes: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> HTTPError?) throws(DecodingError) {
    guard !bytes.isEmpty else { return }
    hasBegun = true
    guard form == .deflate, stream == nil else { return try unpack(bytes, give) }
    start += bytes
    // A single byte says nothing yet, and may be the whole input.
    guard start.count > 1 else { return }
    let whole = start
    start = []
    let result = whole.withUnsafeBytes { bytes in Result { () throws(DecodingError) in try unpack(bytes, give) } }
    try result.get()
  }

  private func unpack(
    _ bytes: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) -> HTTPError?
  ) throws(DecodingError) {
    let stream = try opened(by: bytes)
    var rest = bytes[...]
    while true {
      if hasEnded {
        rest = try next(rest, stream)
        if rest.isEmpty { return }
      }
      var (taken, given) = (rest.count, Self.size)
      let result = czlib_unpack(stream, UnsafeRawBufferPointer(rebasing: rest).baseAddress, &taken, room, &given)
      if given > 0, let error = give(UnsafeRawBufferPointer(start: room, count: given)) { throw .refused(error) }
      rest = rest.dropFirst(taken)
      switch result {
      case CZLIB_END: hasEnded = true
      case CZLIB_MORE:
        // Output that didn't fit comes with the next call.
        if rest.isEmpty, given < Self.size { return }
        if taken == 0, given == 0 { throw .damaged("it ends early") }
      default: throw .damaged(String(cString: czlib_fault(stream)))
      }
    }
  }

  private func opened(by bytes: UnsafeRawBufferPointer) throws(DecodingError) -> OpaquePointer {
    if let stream { return stream }
    if let missing = czlib_load() { throw .damaged(String(cString: missing)) }
    // zlib's numbers for its own header, for gzip's and for none (zlib.h, inflateInit2).
    let hasHead = bytes.count > 1 && bytes[0] & 0x0F == 8 && (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
    guard let new = czlib_new(form == .gzip ? 15 + 16 : hasHead ? 15 : -15) else {
      throw .damaged("out of memory")
    }
    stream = new
    return new
  }

  /// Reads the bytes after the end of a stream: another member of gzip, or zeros.
  private func next(
    _ rest: Slice<UnsafeRawBufferPointer>, _ stream: OpaquePointer
  ) throws(DecodingError) -> Slice<UnsafeRawBufferPointer> {
    let more = rest.drop { $0 == 0 }
    if more.count < rest.count { isPadded = true }
    guard !more.isEmpty else { return more }
    guard form == .gzip, !isPadded else { throw .damaged("data follows its end") }
    czlib_reset(stream)
    hasEnded = false
    return more
  }
}
