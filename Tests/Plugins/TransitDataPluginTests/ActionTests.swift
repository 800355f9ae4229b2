import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import Testing

@testable import TransitDataPlugin

private let catalog = ActionCatalog([TransitDataPlugin.self])

private func action(_ name: String) throws -> ActionDescriptor { try #require(catalog.action("transitData.\(name)")) }

@Suite struct ActionTests {
  @Test func `is well formed`() { expectWellFormed(TransitDataPlugin.self) }

  @Test func `does in the sandbox what its examples say`() async {
    // These read installed data, and a fresh sandbox has none.
    await expectExamplesRun(
      of: TransitDataPlugin.self,
      except: [
        "install", "getInstalled", "getStation", "findStations", "nearestExits", "findBusStops", "findLandmarks",
      ])
  }

  @Test func `answers every example once something is installed`() async throws {
    let names = ["getInstalled", "getStation", "findStations", "nearestExits", "findBusStops", "findLandmarks"]
    try await withSandbox(of: TransitDataPlugin.self) { client, _ in
      let context = ActionContext.testing()
      _ = try await action("update").run(.object([:]), on: client, in: context)
      for name in names {
        let action = try action(name)
        for example in action.examples {
          var input = ValueMap()
          for line in example.input.split(separator: "\n") where line != "{}" {
            let parts = line.split(separator: ": ")
            let text = parts[1].filter { $0 != "'" }
            input[String(parts[0])] =
              text == "true"
              ? .bool(true)
              : parts[1].hasPrefix("'")
                ? .string(text)
                : Int(text).map(Value.int) ?? Double(text).map(Value.double) ?? .string(text)
          }
          let output = try await action.run(.map(input), on: client, in: context)
          #expect(action.output.check(output, as: "output").isEmpty)
          if name != "getInstalled", name != "getStation" {
            #expect(output.map?.members.first?.value.list?.isEmpty == false, "\(name): \(example.title)")
          }
        }
      }
    }
  }

  @Test func `declares for each action what may be done twice`() {
    let effects = catalog.actionIDs.compactMap { catalog.action($0) }.map { "\($0.id) \($0.effect.name)" }
    #expect(
      effects == [
        "transitData.latestRelease read", "transitData.getRelease read", "transitData.listReleases read",
        "transitData.checkForUpdate read", "transitData.update idempotentWrite", "transitData.install idempotentWrite",
        "transitData.getInstalled read", "transitData.getStation read", "transitData.findStations read",
        "transitData.nearestExits read", "transitData.findBusStops read", "transitData.findLandmarks read",
      ])
  }

  @Test func `shows beforehand what an update would install`() async throws {
    try await withSandbox(of: TransitDataPlugin.self) { client, sandbox in
      let (update, context) = (try action("update"), ActionContext.testing())
      let first = try await update.preview(.object([:]), on: client, in: context)
      #expect(first == [Change("The installed station data", from: nil, to: "20260401")])
      _ = try await update.run(.object(["tag": .string("20260215")]), on: client, in: context)
      let second = try await update.preview(.object([:]), on: client, in: context)
      #expect(second == [Change("The installed station data", from: "20260215", to: "20260401")])
      let output = try await update.run(.object([:]), on: client, in: context)
      #expect(output["isUpdated"]?.bool == true)
      #expect(output["previousTag"]?.string == "20260215")
      #expect(
        output["changes"]?.list?.compactMap { $0["text"]?.string } == [
          "LANTERN QUAY, exit B, has other access: lift", "MANGROVE POINT, exit B, is new",
          "KILN ROAD, exit B, is gone", "HARBOUR LIGHT MRT STATION (TE72) is new",
        ])
      #expect(try await update.preview(.object([:]), on: client, in: context) == [])
    }
  }

  @Test func `wants one release or the newest, not both`() throws {
    let faults = try action("update").input.check(
      .object(["tag": .string("20260215"), "choose": .string("greatest")]), as: "with")
    #expect(faults.map(\.message) == ["'with.tag' names one release, so leave out 'choose'"])
  }

  @Test func `connects with no settings at all, and keeps each data set apart`() throws {
    var settings = TransitDataSettings()
    #expect(settings.folderName.hasPrefix("Oculis-Navigate-singapore-rail-data-"))
    let own = settings.folderName
    settings.repository = "../../x"
    #expect(settings.folderName != own)
    #expect(!settings.folderName.contains("/"))
    _ = try TransitDataPlugin.connect(
      TransitDataPlugin.Configuration(), in: PluginContext(connection: "transitData", time: TestTime()))
    #expect(PluginDescriptor(TransitDataPlugin.self).worksUnconfigured)
  }
}

@Suite struct SizeTests {
  /// As many stations as there really are, in a file as large as the real one.
  static func fullFile() -> [UInt8] {
    let stations = (0..<187).map { (number: Int) -> Station in
      var station = SandboxNetwork.second[number % SandboxNetwork.second.count]
      station.officialName = "STATION \(number) MRT STATION"
      station.codes = ["NS\(number)"]
      let exits = station.exits + SandboxNetwork.first[0].exits
      station.exits = (0..<3).map { (index: Int) -> StationExit in
        var exit = exits[index % exits.count]
        exit.code = "Exit \(index + 1)"
        exit.busStops += (0..<2).map {
          BusStop(code: "\(90_000 + number * 3 + index)", services: ["10", "97e", "NR\($0)"])
        }
        exit.landmarks += ["Landmark \(number)/\(index)", "Façade – \(number)"]
        return exit
      }
      return station
    }
    return StationFile.bytes(stations, version: "20260401")
  }

  @Test func `verifies and reads a file of the real size`() throws {
    let file = Self.fullFile()
    #expect((500_000...800_000).contains(file.count), "\(file.count)")
    let clock = ContinuousClock()
    var data: RailData?
    let time = try clock.measure { data = try RailData(file: file) }
    #expect(data?.stations.count == 187)
    #expect(data?.warnings == [])
    print("\(file.count) bytes verified and read in \(time) (\(isOptimized ? "optimized" : "not optimized"))")
  }

  private var isOptimized: Bool {
    var isDebug = false
    assert(
      {
        isDebug = true
        return true
      }())
    return !isDebug
  }
}
