// Answers that browsers save, or show as a picture, and never run.
import Agent
package import HTTPServer
package import Operations
package import RunState

extension MediaBody {
  package func response(hiding secrets: SecretRegistry) -> HTTPServerResponse {
    var response = HTTPServerResponse(headers: ["Content-Type": type, "Content-Security-Policy": "sandbox"])
    if let name {
      // RFC 6266; the name in ASCII is for old clients.
      let plain = String(decoding: name.utf8.map { MediaBody.isPlain($0) ? $0 : 0x5F }, as: UTF8.self)
      response.headers["Content-Disposition"] =
        "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(PercentEncoding.encode(name))"
    }
    response.block = 64 << 10
    response.body = .stream { [isMasked, write] writer in
      try await write { bytes in
        try await writer.write(isMasked ? secrets.displayed(bytes, isJSON: false) : bytes)
      }
    }
    return response
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-_. ".utf8.contains(byte)
    }
  }
}

extension PageRequest {
  /// The response with the body of an operation's answer.
  func media<Asked: Operation>(_ operation: Asked) async throws(Problem) -> HTTPServerResponse? {
    let answer = try await ask(operation)
    let body = try await read { () async throws(RequestRefusedError) in try await Asked.body(answer, for: caller) }
    return body?.response(hiding: agent.store.secrets)
  }
}
