public import ActionKit
import SandboxKit
import Synchronization

// The sandbox: GitHub's API, its web pages and its storage on one loopback port, with one repository whose releases
// hold an invented network. Beside what every sandbox has (`SandboxServer`), for tests from outside:
//
//   /sandbox/publish              publishes one release more, with changes
//   /sandbox/quota?remaining=0    uses the API's quota up for an hour; without a number it is without end again

extension TransitDataPlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try TransitDataSandbox(options)
  }
}

/// A repository that answers on a loopback port.
final class TransitDataSandbox: ServedSandbox {
  let server: SandboxServer
  let repository: SandboxRepository

  init(_ options: SandboxOptions, releases: [SandboxRelease] = SandboxNetwork.releases) throws {
    let repository = SandboxRepository(releases)
    self.repository = repository
    server = try SandboxServer(port: options.port, time: options.time) { request, now in
      repository.answer(request, at: now)
    }
    repository.setOrigin(server.baseURL)
  }

  var configuration: Value {
    .object([
      "apiBase": .string("\(baseURL)/api"), "owner": .string(SandboxRepository.owner),
      "repository": .string(SandboxRepository.name), "webBase": .string(baseURL),
    ])
  }

  func summaryLines() -> [String] {
    let tags = repository.releases.filter { !$0.isDraft && !$0.isPrerelease }.map(\.tag).joined(separator: ", ")
    return ["releases: \(tags)", "downloads: \(server.count("GET /storage/"))"]
  }
}
