package import ActionKit
package import Agent
import RunState

package struct DownloadFile: Operation {
  package static let name = "runFile"
  package static let summary = "Gives a file that an action of a run wrote, if nothing has changed it since."
  package static let scopes = Scopes.token(.data)
  package static let route: Route? = .get("/runs/{run}/files/{number}")
  package static let page: String? = "/runs/{run}/files/{number}"
  package static let absences: [Absence] = [.command("The file is in its folder.")]
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns.union([.conflict])
  package static let media = Media.bytes

  @Field(RunName.summary) package var run: String
  @Field("The file's number in the list of the run's files, from 1.") package var number: String

  package init() {}

  package var target: RunName { RunName(run) }

  package struct Answer: MediaAnswer {
    fileprivate var file: WrittenFile
    fileprivate var bytes: [UInt8]
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let files = try await agent.files(of: run)
    guard let number = Int(number), number > 0, number <= files.count else {
      throw RequestRefusedError(.notFound, "the run has no file '\(number.shortened(to: 20))'")
    }
    let file = files[number - 1]
    guard let readFile = agent.served?.readFile else {
      throw RequestRefusedError(.notFound, "no files are served here")
    }
    let bytes = try await readFile(file)
    if let secret = agent.store.secrets.finder.names(in: bytes).first {
      // A token may not see the names of secrets.
      let held = caller.isElsewhere ? "a secret" : "the secret '\(secret)'"
      throw RequestRefusedError(
        .notFound, "'\(file.name)' isn't shown: it holds \(held), so it stays on its machine")
    }
    return Answer(file: file, bytes: bytes)
  }

  package static func body(_ answer: Answer, for caller: AgentCaller) -> MediaBody? {
    let picture = PictureType(answer.bytes)
    let name = answer.file.name.split(separator: "/").last.map { String($0) }
    return MediaBody(
      type: picture?.type ?? "application/octet-stream", name: picture == nil ? name ?? "file" : nil, isMasked: false
    ) { send in
      for start in stride(from: 0, to: answer.bytes.count, by: 256 << 10) {
        try await send(Array(answer.bytes[start..<min(start + 256 << 10, answer.bytes.count)]))
      }
    }
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}

/// The kinds of pictures that browsers may show, by the first bytes of a file; nothing in them is run.
package enum PictureType: Sendable {
  case png, jpeg, gif, webP

  /// Nil for anything else, such as SVG, which may hold scripts.
  package init?(_ bytes: [UInt8]) {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
      self = .jpeg
    } else if bytes.starts(with: "GIF87a".utf8) || bytes.starts(with: "GIF89a".utf8) {
      self = .gif
    } else if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
      self = .webP
    } else {
      return nil
    }
  }

  package var type: String {
    switch self {
    case .png: "image/png"
    case .jpeg: "image/jpeg"
    case .gif: "image/gif"
    case .webP: "image/webp"
    }
  }

  /// Whether a file of that name may be such a picture, so that it is worth reading.
  package static func isLikely(_ name: String) -> Bool {
    let name = name.lowercased()
    return [".png", ".jpg", ".jpeg", ".gif", ".webp"].contains { name.hasSuffix($0) }
  }
}
