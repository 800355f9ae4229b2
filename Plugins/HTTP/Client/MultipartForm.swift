public import ActionKit
import HTTPClient
import LocalFiles

// A form with files as a web page sends it: multipart/form-data (RFC 7578). Names are escaped as the HTML standard says
// ("multipart/form-data encoding algorithm"), because services expect that: UTF-8 is unchanged, and a quote and line
// ends are written as `%22`, `%0D` and `%0A`.
//
// The boundary between the parts must not occur in any part. It is made of the hash of the parts' content. So the same
// content gives the same request, and no file can be written that contains its own boundary.

/// A field or a file of a form.
public struct FormPart: Sendable {
  /// The name of the form's field.
  public var name: String
  /// The content.
  public var bytes: [UInt8]
  /// The file's name as the service gets it; nil for a plain field.
  public var fileName: String?
  /// The media type of a file.
  public var type: String?

  /// Creates a plain field.
  public init(_ name: String, _ text: String) {
    self.name = name
    bytes = Array(text.utf8)
  }

  /// Creates a file; if no type is given, the file name's extension determines it.
  public init(_ name: String, file fileName: String, type: String? = nil, bytes: [UInt8]) {
    self.name = name
    self.fileName = fileName
    self.type = type ?? MediaType.named(after: fileName)
    self.bytes = bytes
  }
}

extension WebBody {
  /// Fields and files, as a web form sends them.
  public static func form(_ parts: [FormPart]) throws(ActionError) -> WebBody {
    var digests = ""
    for part in parts {
      if let type = part.type { try check(mediaType: type) }
      guard let digest = SHA256.digest(of: part.bytes) else {
        throw ActionError(.configuration, "libcrypto.so.3 cannot be loaded; install the Debian package libssl3.")
      }
      digests += digest
    }
    let boundary = "errand-\((SHA256.digest(of: Array(digests.utf8)) ?? "").prefix(40))"
    var bytes: [UInt8] = []
    bytes.reserveCapacity(parts.reduce(100) { $0 + $1.bytes.count + 300 })
    for part in parts {
      bytes += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(escaped(part.name))\"".utf8
      if let fileName = part.fileName { bytes += "; filename=\"\(escaped(fileName))\"".utf8 }
      if let type = part.type { bytes += "\r\nContent-Type: \(type)".utf8 }
      bytes += "\r\n\r\n".utf8
      bytes += part.bytes
      bytes += "\r\n".utf8
    }
    bytes += "--\(boundary)--\r\n".utf8
    return WebBody(type: "multipart/form-data; boundary=\(boundary)", bytes: bytes)
  }

  package static func check(mediaType type: String) throws(ActionError) {
    guard let fault = MediaType.fault(of: type) else { return }
    throw ActionError(.validation, fault)
  }

  private static func escaped(_ name: String) -> String {
    var text: [UInt8] = []
    for byte in name.utf8 {
      switch byte {
      case ASCII.quote: text += "%22".utf8
      case ASCII.carriageReturn: text += "%0D".utf8
      case ASCII.newline: text += "%0A".utf8
      default: text.append(byte)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

/// A form with files, as a step gives it.
struct MultipartFields: FieldSet {
  @Field("The form's fields; a list gives one field for each of its values.", .mayHoldSecret) var fields: ValueMap?
  @Field("The form's files.", .maxLength(50)) var files: [SentFile] = []

  /// One file.
  struct SentFile: FieldSet {
    @Field("Name of the form's field.", .notEmpty) var field: String
    @Field("Path of the file in the connection's folder.", .notEmpty) var path: String
    @Field("The file's name for the receiver; absent means its name here.", .notEmpty) var name: String?
    @Field("The file's media type, such as application/pdf; absent means the type of the name's ending.", .notEmpty)
    var type: String?
  }

  /// Reads the files, and creates the body.
  func body(on service: WebClient, in context: ActionContext) async throws(ActionError) -> WebBody {
    var parts = try WebBody.items(of: fields ?? ValueMap(), called: "fields").map { FormPart($0.name, $0.value) }
    var left = service.maxUploadBytes
    for sent in files {
      parts.append(
        try await service.filePart(sent.field, sent.path, name: sent.name, type: sent.type, left: &left, in: context))
    }
    return try .form(parts)
  }
}

extension WebClient {
  /// Reads a file of the connection's folder as a part of a form.
  ///
  /// - Parameter left: The number of bytes that may still be sent.
  package func filePart(
    _ field: String, _ path: String, name: String? = nil, type: String? = nil, left: inout Int,
    in context: ActionContext
  ) async throws(ActionError) -> FormPart {
    let file = try files.file(path, in: context)
    let bytes = try await file.read(limit: left)
    left -= bytes.count
    let own = file.path.utf8.split(separator: ASCII.slash).last.map { String(decoding: $0, as: UTF8.self) }
    return FormPart(field, file: name ?? own ?? "file", type: type, bytes: bytes)
  }
}
