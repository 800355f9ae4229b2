import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import ProcessTestKit
import Testing

@testable import TransitDataPlugin

@Suite struct InstallTests {
  private typealias Step = ScriptedTransport.Step

  private static func first() throws -> [Step] {
    [try .latest("releases-latest.json")] + (try Step.download("20260215", "stage3_final.json"))
  }

  private static func second() throws -> [Step] {
    [try .latest("releases-latest.newer.json")] + (try Step.download("20260401", "stage3_final.newer.json"))
  }

  /// A client with the first version installed.
  private func installed(in folder: TemporaryFolder, then steps: [Step]) async throws -> TransitDataClient {
    let (client, _) = try scripted(try Self.first() + steps, folder: folder)
    try await client.update()
    return client
  }

  @Test(arguments: [true, false])
  func `installs the first version, then a newer one, and tells what changed`(_ isOnDisk: Bool) async throws {
    let folder = try TemporaryFolder()
    let (client, transport) = try scripted(try Self.first() + Self.second(), folder: isOnDisk ? folder : nil)
    let none = try await failure { try await client.installed() }
    #expect(none.message == "No station data are installed; update them first ('transitData.update').")
    #expect(none.actionError.kind == .notFound)
    let first = try await client.update()
    #expect(first.isUpdated)
    #expect(first.check.reason == "nothing is installed")
    #expect(first.changes == [])
    #expect(first.data.version.tag == "20260215")
    let second = try await client.update(isForced: true)
    #expect(second.check.installed?.tag == "20260215")
    #expect(second.check.reason == "its tag is greater")
    #expect(second.changes.contains { $0.kind == .stationAdded })
    #expect(try await client.installed().data.stations.count == 13)
    #expect(transport.missing == [])
    if isOnDisk {
      // The version before is kept, and nothing else.
      #expect(try folder.stationFiles.count == 2)
      let (other, asked) = try scripted([], folder: folder)
      #expect(try await other.installed().version.tag == "20260401")
      #expect(asked.requests.isEmpty)
    }
  }

  @Test func `does nothing when nothing is newer, and never goes back by itself`() async throws {
    let folder = try TemporaryFolder()
    let client = try await installed(in: folder, then: try Self.second() + [.latest("releases-latest.json")])
    try await client.update(isForced: true)
    let back = try await client.update(isForced: true)
    #expect(!back.isUpdated)
    #expect(back.data.version.tag == "20260401")
    #expect(back.check.release?.tag == "20260215")
  }

  @Test func `goes back to a release that is asked for by its tag`() async throws {
    let folder = try TemporaryFolder()
    let steps =
      try Self.second() + [.on("GET", "\(api)/releases/tags/20260215", text("releases-latest.json"))]
      + Step.download("20260215", "stage3_final.json")
    let client = try await installed(in: folder, then: steps)
    try await client.update(isForced: true)
    let back = try await client.update(.tag("20260215"))
    #expect(back.isUpdated)
    #expect(back.data.version.tag == "20260215")
    #expect(back.data.warnings == [])
    #expect(try folder.stationFiles.count == 2)
  }

  @Test func `takes the greatest date of the list, and no draft or preview`() async throws {
    let (client, _) = try scripted(
      [.on("GET", "\(api)/releases?per_page=100&page=1", try text("releases-list.json"))]
        + (try Step.download("20260401", "stage3_final.newer.json")))
    #expect(try await client.update(.greatest).data.version.tag == "20260401")
  }

  struct Bad: Sendable, CustomTestStringConvertible {
    var testDescription: String { release + " " + file }
    var release: String
    var file: String
    var message: String
  }

  @Test(arguments: [
    Bad(release: "releases-latest.digest-mismatch.json", file: "stage3_final.json", message: "should have the SHA-256"),
    Bad(
      release: "releases-latest.json", file: "stage3_final.newer.json",
      message: "should have 17410 bytes, but 17951 arrived"),
    Bad(release: "releases-latest.json", file: "stage3_final.bad-checksum.json", message: "should have the SHA-256"),
    Bad(
      release: "releases-latest.no-digest.json", file: "stage3_final.bad-checksum.json",
      message: "The station file is damaged"),
    Bad(
      release: "releases-latest.no-asset.json", file: "stage3_final.json",
      message: "The release '20260410' has no file 'stage3_final.json' that is whole."),
  ])
  func `keeps what is installed when the new file is not right`(_ bad: Bad) async throws {
    let folder = try TemporaryFolder()
    let client = try await installed(
      in: folder,
      then: [try .latest(bad.release)] + Step.download("20260215", bad.file) + Step.download("20260410", bad.file))
    // As if it were older, so that the samples of the same tag count as newer.
    let record = "\(folder.path)/installed.json"
    try String(contentsOfFile: record, encoding: .utf8).replacing("20260215", with: "20260101")
      .write(toFile: record, atomically: true, encoding: .utf8)
    let before = try folder.stationFiles
    let error = try await failure { try await client.update(isForced: true) }
    #expect(error.message.contains(bad.message), "\(error.message)")
    #expect(try folder.stationFiles == before)
    let (other, _) = try scripted([], folder: folder)
    #expect(try await other.installed().data.stations.count == 12)
  }

  @Test func `installs a release without a digest by size and checksum`() async throws {
    let (client, _) = try scripted(
      [.latest("releases-latest.no-digest.json")] + Step.download("20260215", "stage3_final.json"))
    #expect(try await client.update().data.data.verifiedForm == .ascii)
  }

  @Test func `serves what is installed when GitHub cannot be asked`() async throws {
    let refused = HTTPError(.connect, "api.github.com refused the connection.", sent: .nothing)
    let folder = try TemporaryFolder()
    let client = try await installed(
      in: folder,
      then: [
        .on("GET", "\(api)/releases/latest", fail: refused),
        .on("GET", "\(api)/releases/latest", status: 503, headers: ["Retry-After": "60"], ""),
      ])
    for reason in ["api.github.com refused the connection.", "HTTP status 503."] {
      let result = try await client.update(isForced: true)
      #expect(!result.isUpdated)
      #expect(result.check.trouble?.hasSuffix(reason) == true)
      #expect(result.data.version.tag == "20260215")
    }
    // With nothing installed it is an error.
    let (empty, _) = try scripted([.on("GET", "\(api)/releases/latest", fail: refused)])
    let error = try await failure { try await empty.update() }
    #expect(error.actionError.kind == .network)
  }

  @Test(.timeLimit(.minutes(20)), arguments: [2, 3])
  func `asks again when GitHub has trouble, before what is installed serves`(_ failures: Int) async throws {
    let time = TestTime()
    let trouble = Array(repeating: Step.on("GET", "\(api)/releases/latest", status: 502, ""), count: failures)
    let news = failures < 3 ? try Self.second() : []
    let (client, transport) = try scripted(try Self.first() + trouble + news, time: time)
    try await client.update()
    async let asking = client.update(isForced: true)
    for wait in [1, 4] {
      await time.waitForSleepers()
      time.advance(by: .seconds(wait))
    }
    let result = try await asking
    #expect(result.isUpdated == (failures < 3))
    #expect(result.check.trouble?.hasSuffix("HTTP status 502.") == (failures < 3 ? nil : true))
    #expect(transport.missing == [])
  }

  @Test(arguments: [
    ["https://github.com/new/name/releases/latest/download/stage3_final.json"],
    ["/moved", "https://github.com/new/name/releases/latest/download/stage3_final.json"],
  ])
  func `finds the newest file of a repository that was renamed`(_ way: [String]) async throws {
    let first = "\(web)/releases/latest/download/stage3_final.json"
    let places = [first] + way.map { $0.hasPrefix("/") ? "https://github.com\($0)" : $0 }
    let named = "https://github.com/new/name/releases/download/2026%2F04/stage3_final.json"
    var steps = [Step.on("GET", "\(api)/releases/latest", status: 429, "{}")]
    for (place, target) in zip(places, way + [named]) {
      steps.append(.on("GET", place, status: 301, headers: ["Location": target]))
    }
    let (client, transport) = try scripted(steps)
    #expect(try await client.checkForUpdate().release?.tag == "2026/04")
    #expect(transport.missing == [])
  }

  @Test(arguments: [
    "https://evil.example/releases/latest/download/stage3_final.json",
    "https://github.com/o/n/releases/download/1/x.json",
    "\(web)/releases/latest/download/stage3_final.json",
  ])
  func `does not look for the newest file where it cannot be`(_ target: String) async throws {
    let url = "\(web)/releases/latest/download/stage3_final.json"
    var steps = [Step.on("GET", "\(api)/releases/latest", status: 429, "{}")]
    for _ in 0..<6 { steps.append(.on("GET", url, status: 302, headers: ["Location": target])) }
    steps.append(.on("GET", "https://github.com/o/n/releases/download/1/x.json", status: 404))
    let (client, _) = try scripted(steps)
    #expect(try await failure { try await client.checkForUpdate() }.actionError.kind == .rateLimited)
  }

  @Test func `finds the newest file without the API when the quota is used up`() async throws {
    let file = "\(web)/releases/latest/download/stage3_final.json"
    let (client, transport) = try scripted(
      [
        .on(
          "GET", "\(api)/releases/latest", status: 403, headers: ["x-ratelimit-remaining": "0"],
          text("error-rate-limit.json")),
        .on("GET", file, status: 302, headers: ["Location": "\(web)/releases/download/20260401/stage3_final.json"]),
      ] + Step.download("20260401", "stage3_final.newer.json"))
    let result = try await client.update()
    #expect(result.data.version.tag == "20260401")
    #expect(result.check.trouble == nil)
    #expect(transport.missing == [])
  }

  @Test(arguments: [
    "http://github.com/x", "https://evil.example/x", "https://githubusercontent.com.evil.example/x",
    "https://evilgithubusercontent.com/x",
  ])
  func `follows a download to GitHub's storage and nowhere else`(_ target: String) async throws {
    let (client, transport) = try scripted([
      .latest("releases-latest.json"),
      .on("GET", "\(web)/releases/download/20260215/stage3_final.json", status: 302, headers: ["Location": target]),
    ])
    let error = try await failure { try await client.update() }
    #expect(error.actionError.kind == .configuration)
    #expect(
      error.message.contains(
        "only redirects to https on github.com or a host ending in .githubusercontent.com are followed"))
    #expect(transport.requests.count == 2)
  }

  @Test func `downloads from no other host that an answer names`() async throws {
    let answer = try text("releases-latest.json").replacing("https://github.com/", with: "https://evil.example/")
    let (client, transport) = try scripted([.on("GET", "\(api)/releases/latest", answer)])
    let error = try await failure { try await client.update() }
    #expect(error.message.hasPrefix("The file of the release '20260215' lies where nothing is downloaded from;"))
    #expect(transport.requests.count == 1)
  }

  @Test func `refuses a file beyond the bound`() async throws {
    var settings = TransitDataSettings.sample
    settings.maxFileBytes = 17_000
    let (client, _) = try scripted(try Self.first(), folder: try TemporaryFolder(), settings)
    let error = try await failure { try await client.update() }
    guard case .tooLarge = error.kind else { throw Unexpected(description: "\(error.kind)") }
  }

  @Test func `notes that tag and version differ, and goes by the tag`() async throws {
    let answer = try text("releases-latest.no-digest.json").replacing("20260215", with: "20260216")
    let (client, transport) = try scripted(
      [.on("GET", "\(api)/releases/latest", answer)] + Step.download("20260216", "stage3_final.json") + [
        .on("GET", "\(api)/releases/latest", answer)
      ])
    let data = try await client.update().data
    #expect(data.warnings == ["The release is tagged '20260216', and its data are of '20260215'."])
    #expect(try await client.update(isForced: true).isUpdated == false)
    #expect(transport.missing == [])
  }

  // MARK: Changes to the folder

  @Test func `falls back to the version before when the file in use is damaged, and mends it`() async throws {
    let folder = try TemporaryFolder()
    let client = try await installed(in: folder, then: try Self.second())
    let current = try await client.update(isForced: true).data.version
    try Data("{}".utf8).write(to: URL(filePath: "\(folder.path)/\(current.fileName)"))
    let (other, _) = try scripted(
      [.latest("releases-latest.newer.json")] + Step.download("20260401", "stage3_final.newer.json"), folder: folder)
    let data = try await other.installed()
    #expect(data.version.tag == "20260215")
    #expect(data.trouble == "The file of '20260401' is damaged or gone.")
    let mended = try await other.update(isForced: true)
    #expect(mended.isUpdated)
    #expect(try await other.installed().trouble == nil)
    #expect(try await other.installed().version.tag == "20260401")
  }

  @Test func `downloads again when the file was removed by hand`() async throws {
    let folder = try TemporaryFolder()
    let client = try await installed(
      in: folder, then: [.latest("releases-latest.json")] + Step.download("20260215", "stage3_final.json"))
    for name in try folder.stationFiles { try FileManager.default.removeItem(atPath: "\(folder.path)/\(name)") }
    let result = try await client.update(isForced: true)
    #expect(result.isUpdated)
    #expect(result.check.reason == "nothing is installed")
  }

  @Test(arguments: ["", "{}", "[", #"{"format":2}"#, #"{"format":1,"current":{"file":"../../etc/passwd"}}"#])
  func `takes a damaged record for none`(_ record: String) async throws {
    let folder = try TemporaryFolder()
    _ = try await installed(in: folder, then: [])
    try record.write(toFile: "\(folder.path)/installed.json", atomically: true, encoding: .utf8)
    let (client, _) = try scripted([], folder: folder)
    let error = try await failure { try await client.installed() }
    guard case .noCachedData = error.kind else { throw Unexpected(description: "\(error.kind)") }
  }

  @Test func `sees what another process installed`() async throws {
    let folder = try TemporaryFolder()
    let client = try await installed(in: folder, then: [])
    let (other, _) = try scripted(try Self.second(), folder: folder)
    try await other.update(isForced: true)
    #expect(try await client.installed().version.tag == "20260401")
  }

  @Test func `removes what interrupted downloads left`() async throws {
    let folder = try TemporaryFolder()
    let client = try await installed(in: folder, then: try Self.second())
    for name in ["stations-0.json.part", "stations-0.json.part.json"] {
      try "x".write(toFile: "\(folder.path)/\(name)", atomically: true, encoding: .utf8)
    }
    try await client.update(isForced: true)
    #expect(try folder.stationFiles.allSatisfy { !$0.contains(".part") })
  }

  @Test func `says that it cannot store, and changes nothing`() async throws {
    let folder = try TemporaryFolder()
    try FileManager.default.removeItem(atPath: folder.path)
    try "in the way".write(toFile: folder.path, atomically: true, encoding: .utf8)
    let (client, transport) = try scripted(try Self.first(), folder: folder)
    let error = try await failure { try await client.update() }
    #expect(error.actionError.kind == .configuration)
    #expect(error.message.hasPrefix("The data set cannot be stored: "))
    #expect(transport.requests.count == 1)
  }

  // MARK: From a file

  @Test func `a recipe's file is in the connection's folder`() async throws {
    let (client, _) = try scripted([])
    let install = try #require(ActionCatalog([TransitDataPlugin.self]).action("transitData.install"))
    try await expectKeptInside { path, context in
      _ = try await install.run(.object(["from": .string(path)]), on: client, in: context)
    }
    let files = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures").path
    let output = try await install.run(
      .object(["from": .string("stage3_final.json")]), on: client, in: .testing(folder: files))
    #expect(output["isUpdated"]?.bool == true)
  }

  @Test func `installs a file that came with a program, and none that is older`() async throws {
    let (folder, files) = (
      try TemporaryFolder(), URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")
    )
    let (client, _) = try scripted([], folder: folder)
    let newer = try await client.install(file: files.appending(path: "stage3_final.newer.json").path)
    #expect(newer.isUpdated)
    let older = try await client.install(file: files.appending(path: "stage3_final.json").path)
    #expect(!older.isUpdated)
    #expect(older.data.version.tag == "20260401")
    let (other, _) = try scripted([], folder: folder)
    #expect(try await other.installed().version.tag == "20260401")
    let error = try await failure { try await client.install(file: "/nowhere/f.json") }
    #expect(
      error.message
        == "The station file cannot be read: cannot read '/nowhere/f.json': no such file or folder (ENOENT).")
  }
}
