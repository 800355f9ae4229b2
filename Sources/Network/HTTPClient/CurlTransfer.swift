import Basics
import CCurl
import CZlib
import HTTPTypes

/// One exchange: its settings for libcurl, its answer, and the meaning of its end.
// `phase` and `continuation` are guarded by the loop's lock; everything else is touched by the loop's thread alone,
// after the lock has handed the transfer over.
final class CurlTransfer: @unchecked Sendable {
  enum Phase {
    case new, waiting, ended
    /// Cancelled before it was queued.
    case cancelled
  }

  /// The largest head of an answer, in bytes, interim answers included.
  static let headLimit = 256 << 10
  /// The largest line of a head, in bytes, which libcurl itself limits (CURL_MAX_HTTP_HEADER).
  static let headerLimit = 100 << 10

  let failure: Failure
  private let request: HTTPRequest
  /// Parsed where the transfer is created, because every other transfer waits for the loop's one thread.
  private let url: (parts: HTTPURL, text: String)?
  private let sink: (any HTTPBodySink)?

  var phase = Phase.new
  var continuation: CurlLoop.Continuation?

  private(set) var easy: EasyHandle?
  private var answer = HTTPResponse(status: 0)
  private var headBytes = 0
  private var isHeadWhole = false
  private var usesSink = false
  /// Decompresses the body, if it is compressed.
  private var decoding: ContentDecoding?
  private var bodyBytes = 0
  private var timeLimit = TimeSpan.zero
  private var limitsTotal = false
  /// The address of the peer.
  private var remoteAddress: String?
  /// Learns how far the transfer is; found where the transfer is made, because libcurl runs on a thread of its own.
  private let follower: (any TransferFollower)?
  /// How many bytes the sink had before, and how many there are with them.
  private var expected: (before: Int, total: Int?) = (0, nil)
  /// How often the request was about to be sent.
  private var sendings = 0
  /// The failure that made a callback end the transfer.
  private var fault: HTTPError?
  /// The proxy that libcurl is told of, which it asks unless a variable excepts the host.
  private var proxy: NamedProxy?

  init(_ request: HTTPRequest, _ sink: (any HTTPBodySink)?) {
    self.request = request
    self.sink = sink
    failure = Failure(of: request)
    follower = Transfers.follower
    url = HTTPURL(request.url).map { ($0, $0.text) }
  }

  /// The transfer that a handle is working for.
  static func of(_ easy: UnsafeMutableRawPointer) -> CurlTransfer? { of(context: ccurl_get_private(easy)) }

  private static func of(context: UnsafeMutableRawPointer?) -> CurlTransfer? {
    context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
  }

  // MARK: The request

  /// Prepares a handle for this transfer, which it keeps alive until `detach`.
  func prepare(_ easy: EasyHandle, _ configuration: HTTPClientConfiguration) -> HTTPError? {
    self.easy = easy
    let context = UnsafeRawPointer(Unmanaged.passRetained(self).toOpaque())
    guard let (url, text) = url else { return failure.invalid("the URL isn't an http or https URL.") }
    easy.set(CURLOPT_PRIVATE, context)
    easy.set(CURLOPT_URL, text)
    easy.set(CURLOPT_PATH_AS_IS, 1)
    easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    easy.set(CURLOPT_FOLLOWLOCATION, 0)
    easy.set(CURLOPT_NOSIGNAL, 1)
    easy.set(CURLOPT_USERAGENT, configuration.userAgent)
    easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    easy.set(CURLOPT_PIPEWAIT, url.scheme == "https" ? 1 : 0)
    // A server that closes an idle connection just as a request leaves makes it uncertain; few close one so soon.
    easy.set(CURLOPT_MAXAGE_CONN, 4)
    // Doesn't wait for a name server on behalf of a transfer that ended.
    easy.set(CURLOPT_QUICK_EXIT, 1)
    setSecurity(easy, configuration)
    if let error = setProxy(easy, configuration, url) { return error }
    setMethod(easy)
    setLimits(easy)
    setReceivers(easy, context)
    return easy.isSound ? nil : failure.other("libcurl 7.88 or later is needed", sent: .nothing, elapsed: .zero)
  }

  func detach() {
    guard easy != nil else { return }
    easy = nil
    Unmanaged.passUnretained(self).release()
  }

  private func setSecurity(_ easy: EasyHandle, _ configuration: HTTPClientConfiguration) {
    easy.set(CURLOPT_SSL_VERIFYPEER, 1)
    easy.set(CURLOPT_SSL_VERIFYHOST, 2)
    easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    // The system's folder of authorities is still used beside the file.
    if let file = configuration.certificateAuthorities ?? TrustedAuthorities.file { easy.set(CURLOPT_CAINFO, file) }
    if let folder = TrustedAuthorities.folder { easy.set(CURLOPT_CAPATH, folder) }
  }

  private func setProxy(_ easy: EasyHandle, _ configuration: HTTPClientConfiguration, _ url: HTTPURL) -> HTTPError? {
    switch configuration.proxy {
    case _ where url.isLoopback, .none: easy.set(CURLOPT_PROXY, "")
    case .environment: proxy = NamedProxy.ofEnvironment(for: url)
    case .url(let proxy):
      guard HTTPURL(proxy) != nil else {
        return failure.invalid("the proxy in the configuration isn't an http or https URL.")
      }
      self.proxy = NamedProxy(proxy, variable: nil)
      easy.set(CURLOPT_PROXY, proxy)
      easy.set(CURLOPT_NOPROXY, "")
    }
    return nil
  }

  private func setMethod(_ easy: EasyHandle) {
    var lines: [String] = []
    let body = request.body ?? (["POST", "PUT", "PATCH"].contains(request.method) ? [] : nil)
    if request.method == "HEAD" {
      easy.set(CURLOPT_NOBODY, 1)
    } else if let body {
      easy.set(body: body)
      easy.set(CURLOPT_CUSTOMREQUEST, request.method)
      // A name without a value removes what libcurl would add to a body.
      lines.append("Expect:")
      if request.headers["Content-Type"] == nil { lines.append("Content-Type:") }
    } else if request.method != "GET" {
      easy.set(CURLOPT_CUSTOMREQUEST, request.method)
    }
    for field in request.headers.fields {
      lines.append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }
    if request.acceptsCompression, request.headers["Accept-Encoding"] == nil, czlib_load() == nil {
      lines.append("Accept-Encoding: \(ContentDecoding.accepted)")
    }
    if !lines.isEmpty { easy.set(headerLines: lines) }
  }

  private func setLimits(_ easy: EasyHandle) {
    let limits = request.limits
    if let limit = [limits.attempt, limits.total].compactMap(\.self).min() {
      timeLimit = limit
      limitsTotal = limits.attempt.map { limit < $0 } ?? true
      easy.set(CURLOPT_TIMEOUT_MS, limit.milliseconds)
    }
    easy.set(CURLOPT_CONNECTTIMEOUT_MS, limits.connect.milliseconds)
    if let stall = limits.stall {
      easy.set(CURLOPT_LOW_SPEED_LIMIT, 1)
      easy.set(CURLOPT_LOW_SPEED_TIME, (stall.milliseconds + 999) / 1000)
    }
  }

  // MARK: The answer

  private func setReceivers(_ easy: EasyHandle, _ context: UnsafeRawPointer) {
    easy.set(CURLOPT_HEADERDATA, context)
    easy.set(CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      CurlTransfer.receive(bytes, size * count, context) { $0.receive(headerLine: $1) }
    }
    easy.set(CURLOPT_WRITEDATA, context)
    easy.set(CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      CurlTransfer.receive(bytes, size * count, context) { $0.receive(body: $1) }
    }
    if follower != nil, request.body.map({ $0.count >= Transfers.least }) ?? false {
      easy.setProgress(
        { context, _, _, total, now in
          CurlTransfer.of(context: context)?.advanceUpload(to: Int(now), of: Int(total))
          return 0
        }, context)
    }
    easy.set(CURLOPT_PREREQDATA, context)
    easy.setBeforeRequest { context, address, _, _, _ in
      CurlTransfer.of(context: context)?.mayBeSent(to: address) == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
  }

  /// Called by libcurl: anything but `count` ends the transfer.
  private static func receive(
    _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
    _ take: (CurlTransfer, UnsafeRawBufferPointer) -> HTTPError?
  ) -> Int {
    guard let transfer = of(context: context), transfer.fault == nil else { return -1 }
    transfer.fault = take(transfer, UnsafeRawBufferPointer(start: bytes, count: count))
    return transfer.fault == nil ? count : -1
  }

  /// Refuses a second attempt, an address that a redirect must not lead to, and a request that may no longer be sent.
  ///
  /// libcurl sends a request again when a kept connection ends without an answer, but the server may have acted on the
  /// first.
  private func mayBeSent(to address: UnsafePointer<CChar>?) -> Bool {
    remoteAddress = address.map { String(cString: $0) }
    if request.staysOutside, remoteAddress.map(NetworkAddress.isPrivate) ?? true {
      fault = failure.redirectedInside(elapsed: elapsed)
      return false
    }
    if follower?.maySend == false {
      fault = failure.notAllowed(elapsed: elapsed)
      return false
    }
    sendings += 1
    return sendings == 1
  }

  /// Called by libcurl when something was sent, and now and then; the follower may have missed the last number.
  private func advanceUpload(to bytes: Int, of total: Int) {
    guard bytes > 0, !isHeadWhole else { return }
    follower?.transferred(.upload, bytes, of: total)
  }

  private func receive(headerLine line: UnsafeRawBufferPointer) -> HTTPError? {
    headBytes += line.count
    guard headBytes <= CurlTransfer.headLimit else {
      return failure.headTooLarge(CurlTransfer.headLimit, elapsed: elapsed)
    }
    if line.starts(with: "HTTP/".utf8) {
      answer = HTTPResponse(status: easy?.number(CURLINFO_RESPONSE_CODE) ?? 0)
      isHeadWhole = false
      return nil
    }
    // Fields after the body are trailers.
    guard !isHeadWhole else { return nil }
    let text = line.prefix { $0 != ASCII.carriageReturn && $0 != ASCII.newline }
    guard !text.isEmpty else { return endHead() }
    if text.first == ASCII.space || text.first == ASCII.tab {
      // A folded line continues the value before it (RFC 9112, section 5.2).
      guard let last = answer.headers.fields.indices.last else { return nil }
      answer.headers.fields[last].value += " \(text.trimmedText)"
      return nil
    }
    guard let colon = text.firstIndex(of: ASCII.colon) else { return nil }
    answer.headers.fields.append(.init(text[..<colon].trimmedText, text[(colon + 1)...].trimmedText))
    return nil
  }

  private func endHead() -> HTTPError? {
    answer.status = easy?.number(CURLINFO_RESPONSE_CODE) ?? 0
    // An interim answer; the real one follows.
    guard answer.status >= 200 else { return nil }
    isHeadWhole = true
    usesSink = sink?.accepts(answer) ?? false
    // Two framings mean two answers, the second chosen by an attacker (RFC 9112, section 6.3).
    let lengths = answer.headers.values("Content-Length").flatMap { $0.split(separator: ",") }.map {
      String($0).trimmed
    }
    guard Set(lengths).count < 2 else { return failure.unequalLengths(elapsed: elapsed) }
    if let length = lengths.first, Int(length).map({ $0 < 0 }) ?? true {
      return failure.unreadableLength(length, elapsed: elapsed)
    }
    // Some servers encode unasked. A part of an encoded body can't be decoded alone.
    if request.method != "HEAD", request.acceptsCompression || answer.status != 206 {
      let encodings = answer.headers.values("Content-Encoding").flatMap { $0.split(separator: ",") }
        .map { String($0).trimmed.lowercasedASCII }.filter { $0 != "identity" && !$0.isEmpty }
      if !encodings.isEmpty {
        decoding = encodings.count == 1 ? ContentDecoding(encodings[0]) : nil
        guard decoding != nil else {
          return failure.unknownEncoding(encodings.joined(separator: ", "), elapsed: elapsed)
        }
      }
    }
    expected = (usesSink ? sink?.bytesBefore ?? 0 : 0, nil)
    guard request.method != "HEAD", answer.headers["Content-Encoding"] == nil,
      let length = answer.headers["Content-Length"].flatMap({ Int($0) })
    else { return nil }
    guard length <= request.limits.maxBodyBytes else { return failure.tooLarge(elapsed: elapsed) }
    let (total, isTooLarge) = expected.before.addingReportingOverflow(length)
    if !isTooLarge { expected.total = total }
    // The announced length is trusted up to a megabyte.
    if !usesSink { answer.body.reserveCapacity(min(length, 1 << 20)) }
    return nil
  }

  private func receive(body bytes: UnsafeRawBufferPointer) -> HTTPError? {
    guard let decoding else { return receive(unpacked: bytes) }
    do throws(ContentDecoding.DecodingError) {
      try decoding.decode(bytes) { receive(unpacked: $0) }
      return nil
    } catch {
      switch error {
      case .damaged(let reason): return failure.damaged(reason, elapsed: elapsed)
      case .refused(let error): return error
      }
    }
  }

  private func receive(unpacked bytes: UnsafeRawBufferPointer) -> HTTPError? {
    bodyBytes += bytes.count
    guard bodyBytes <= request.limits.maxBodyBytes else { return failure.tooLarge(elapsed: elapsed) }
    if let follower {
      let (bytes, isTooLarge) = expected.before.addingReportingOverflow(bodyBytes)
      if !isTooLarge { follower.transferred(.download, bytes, of: expected.total) }
    }
    guard usesSink, let sink else {
      answer.body.append(contentsOf: bytes)
      return nil
    }
    do {
      try sink.receive(bytes.bytes)
      return nil
    } catch {
      return error
    }
  }

  // MARK: The end

  private var elapsed: TimeSpan { easy?.elapsed ?? .zero }

  private var sent: HTTPError.Sent { sendings == 0 ? .nothing : .maybe }

  func cancelled() -> Result<HTTPResponse, HTTPError> { .failure(failure.cancelled(sent: sent, elapsed: elapsed)) }

  func result(_ code: CURLcode) -> Result<HTTPResponse, HTTPError> {
    guard code == CURLE_OK, fault == nil else { return .failure(fault ?? error(code)) }
    guard decoding?.isWhole ?? true else { return .failure(failure.cutWithin(elapsed: elapsed)) }
    answer.remoteAddress = remoteAddress
    answer.url = request.url
    answer.elapsed = elapsed
    answer.bodyBytes = bodyBytes
    return .success(answer)
  }

  private func error(_ code: CURLcode) -> HTTPError {
    let elapsed = elapsed
    // A proxy that isn't reached, and one that opens no tunnel.
    if sendings == 0, let proxy, let detail = easy?.detail {
      if proxy.isNamed(in: detail) { return failure.unreachableProxy(proxy.displayed, elapsed: elapsed) }
      if detail.contains("CONNECT ") { return failure.refusedByProxy(proxy.displayed, detail, elapsed: elapsed) }
    }
    return switch code {
    case CURLE_URL_MALFORMAT: failure.invalid("the URL isn't an http or https URL.")
    case CURLE_COULDNT_RESOLVE_HOST: failure.unresolved(elapsed: elapsed)
    case CURLE_COULDNT_RESOLVE_PROXY: failure.unresolvedProxy(elapsed: elapsed)
    case CURLE_COULDNT_CONNECT: failure.unreachable(elapsed: elapsed)
    case CURLE_PROXY: failure.refusedByProxy(proxy?.displayed ?? "", "", elapsed: elapsed)
    case CURLE_SSL_CACERT_BADFILE: failure.unreadableAuthorities(elapsed: elapsed)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_INVALIDCERTSTATUS:
      failure.untrusted(easy?.detail ?? "", elapsed: elapsed)
    case CURLE_OPERATION_TIMEDOUT: timeout(elapsed)
    case CURLE_FILESIZE_EXCEEDED: failure.tooLarge(elapsed: elapsed)
    // libcurl's codes for a header line beyond its limit: out of memory, or since 8.6 too large (CURLE_TOO_LARGE).
    case _ where !isHeadWhole && [CURLE_OUT_OF_MEMORY.rawValue, 100].contains(code.rawValue) && sendings > 0:
      failure.headerTooLarge(CurlTransfer.headerLimit, elapsed: elapsed)
    // An answer without a status line counts as the unsupported HTTP/0.9.
    case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_UNSUPPORTED_PROTOCOL:
      failure.malformed(elapsed: elapsed)
    // Before the request, the proxy or the server's TLS hung up.
    case _ where sendings == 0: failure.unreachable(elapsed: elapsed)
    case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM,
      CURLE_ABORTED_BY_CALLBACK:
      failure.interrupted(sent: .maybe, elapsed: elapsed)
    default: failure.other("libcurl's error \(code.rawValue)", sent: .maybe, elapsed: elapsed)
    }
  }

  private func timeout(_ elapsed: TimeSpan) -> HTTPError {
    if timeLimit > .zero, elapsed.milliseconds >= timeLimit.milliseconds {
      return failure.timedOut(limitsTotal ? .total : .attempt, sent: sent, elapsed: elapsed)
    }
    return failure.timedOut(sendings == 0 ? .connect : .stall, sent: sent, elapsed: elapsed)
  }
}

extension TimeSpan {
  /// The length as libcurl expects it: whole milliseconds, rounded up, at least one, because zero means no limit.
  fileprivate var milliseconds: Int {
    let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return min(max(1, whole + (rest > 0 ? 1 : 0)), Int(Int32.max) - 1000)
  }
}

extension Slice<UnsafeRawBufferPointer> {
  /// The text without white space around it, as header fields are written.
  fileprivate var trimmedText: String {
    var text = self
    while let byte = text.first, byte == ASCII.space || byte == ASCII.tab { text.removeFirst() }
    while let byte = text.last, byte == ASCII.space || byte == ASCII.tab { text.removeLast() }
    return Charset.fieldText(of: text)
  }
}
