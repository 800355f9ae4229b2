import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import ProcessTestKit
import Testing

@testable import TransitDataPlugin

/// A sample of the contract, from the folder of fixtures.
func fixture(_ name: String) throws -> [UInt8] {
  let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(name)")
  return try Array(Data(contentsOf: file))
}

func text(_ name: String) throws -> String { String(decoding: try fixture(name), as: UTF8.self) }

let api = "https://api.github.com/repos/example-org/rail-data"
let web = "https://github.com/example-org/rail-data"
let storage = "https://release-assets.githubusercontent.com/signed?sig=s3cret"

extension TransitDataSettings {
  static var sample: TransitDataSettings {
    var settings = TransitDataSettings()
    settings.owner = "example-org"
    settings.repository = "rail-data"
    return settings
  }
}

extension TemporaryFolder {
  /// The station files in it.
  var stationFiles: [String] { get throws { try names.filter { $0.hasPrefix("stations-") } } }
}

extension ScriptedTransport.Step {
  static func latest(_ answer: String, headers: HTTPHeaders = ["ETag": "W/\"1\""]) throws -> Self {
    .on("GET", "\(api)/releases/latest", headers: headers, try text(answer))
  }

  /// A download by way of the storage.
  static func download(_ tag: String, _ file: String) throws -> [Self] {
    [
      .on("GET", "\(web)/releases/download/\(tag)/stage3_final.json", status: 302, headers: ["Location": storage]),
      .on("GET", storage, headers: ["ETag": "\"\(file)\""], try text(file)),
    ]
  }
}

/// A client whose requests are answered from a script.
func scripted(
  _ steps: [ScriptedTransport.Step], folder: TemporaryFolder? = nil, _ settings: TransitDataSettings = .sample,
  time: any TimeSource = TestTime()
) throws -> (client: TransitDataClient, transport: ScriptedTransport) {
  let transport = ScriptedTransport(steps)
  let client = try TransitDataClient(
    settings, folder: folder?.path, http: HTTPClient(transport: transport), time: time)
  return (client, transport)
}

/// The error of something that must fail.
func failure(_ body: () async throws -> some Sendable) async throws -> TransitDataError {
  do { _ = try await body() } catch let error as TransitDataError { return error }
  throw Unexpected(description: "it went well")
}

struct Unexpected: Error, CustomStringConvertible { var description: String }
