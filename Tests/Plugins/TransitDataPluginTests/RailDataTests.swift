import ActionKit
import Testing

@testable import TransitDataPlugin

@Suite struct RailDataTests {
  @Test(arguments: [
    ("stage3_final.json", 12, ChecksumForm.ascii), ("stage3_final.newer.json", 13, .ascii),
    ("stage3_final.minimal.json", 2, .ascii), ("stage3_final.utf8-form.json", 12, .utf8),
    ("stage3_final.foundation-form.json", 12, .foundation),
  ])
  func `reads and verifies each sample`(_ name: String, _ stations: Int, _ form: ChecksumForm) throws {
    let data = try RailData(file: fixture(name))
    #expect(data.stations.count == stations)
    #expect(data.verifiedForm == form)
    #expect(data.warnings == [])
  }

  @Test func `reads every field of a station, nulls and absent keys alike`() throws {
    let data = try RailData(file: fixture("stage3_final.json"))
    #expect(data.metadata.dataVersion == "2026-02-15")
    #expect(data.metadata.dataVersionISO == "20260215")
    #expect(data.metadata.mergedAt == Timestamp("2026-02-15T06:30:12.418205Z"))
    let station = try #require(data.stations.first)
    #expect(station.officialName == "LANTERN QUAY MRT STATION")
    #expect(station.shortName == "LANTERN QUAY")
    #expect(station.codes == ["NS61", "TE71"])
    #expect(station.lines == ["NSL", "TEL"])
    #expect(station.enrichedAt == Timestamp("2026-02-14T10:40:07.120034Z"))
    #expect(station.confidence == "high")
    let exit = try #require(station.exits.first)
    #expect(exit.label == "A")
    #expect(exit.isStepFree)
    #expect(exit.platforms.map(\.towards) == ["NS1", "NS69"])
    #expect(exit.busStops.first == BusStop(code: "91011", services: ["10", "97e", "NR7"]))
    let second = station.exits[1]
    #expect(!second.isStepFree)
    #expect(second.platforms[1].towards == nil)
    #expect(second.busStops == [])
    #expect(second.landmarks == ["Blk 12/14 \"The Arc\""])
    #expect(data.stations.reduce(0) { $0 + $1.exits.count } == 20)
  }

  @Test(arguments: [
    (
      "stage3_final.bad-checksum.json",
      "The station file is damaged: its checksum is 'b25b4cde4e62538607e60c7def22e11ca590e02c3d4bca6a3b6a9dcddafba1b9', "
        + "and its content has another one."
    ),
    ("stage3_final.no-checksum.json", "The station file cannot be read: 'metadata.checksum_sha256' is missing."),
    ("releases-list.json", "The station file cannot be read: it should be an object and is a list."),
    ("error-404.json", "The station file cannot be read: 'metadata.checksum_sha256' is missing."),
  ])
  func `says why a file is refused`(_ name: String, _ message: String) throws {
    let error = #expect(throws: TransitDataError.self) { try RailData(file: fixture(name)) }
    #expect(error?.message == message)
  }

  @Test func `takes a file without a checksum only where that is allowed`() throws {
    let data = try RailData(file: fixture("stage3_final.no-checksum.json"), allowsUnverified: true)
    #expect(data.verifiedForm == nil)
    #expect(throws: TransitDataError.self) {
      try RailData(file: fixture("stage3_final.bad-checksum.json"), allowsUnverified: true)
    }
  }

  /// A file with a checksum of its own, so that only what is in it decides.
  private func file(_ document: String) throws -> RailData {
    try RailData(file: Array(document.utf8), allowsUnverified: true)
  }

  private static let head =
    #""metadata":{"data_version":"2026-02-15","data_version_iso":"20260215","station_count":1}"#

  private static func document(station: String) -> String { "{\(head),\"stations\":[\(station)]}" }

  private static func document(exit: String) -> String {
    document(station: #"{"official_name":"A MRT STATION","mrt_codes":["NS1"],"exits":[\#(exit)]}"#)
  }

  @Test(arguments: [
    (#"{"stations":[]}"#, "'metadata' is missing"),
    ("{\(head)}", "'stations' is missing"), ("{\(head),\"stations\":[]}", "'stations' is empty"),
    ("{\(head),\"stations\":{}}", "'stations' should be a list and is a map"),
    (document(station: "7"), "'stations[0]' should be an object and is an int"),
    (document(station: "{}"), "'stations[0].official_name' is missing"),
    (document(station: #"{"official_name":"A","mrt_codes":null,"exits":[]}"#), "'stations[0].mrt_codes' is missing"),
    (
      document(station: #"{"official_name":"A","mrt_codes":[1],"exits":[]}"#),
      "'stations[0].mrt_codes[0]' should be a text and is an int"
    ),
    (
      document(exit: #"{"exit_code":"A","lat":"1.3","lng":103.8}"#),
      "'stations[0].exits[0].lat' should be a number and is a string"
    ),
    (
      document(exit: #"{"exit_code":"A","lat":1.3,"lng":103.8,"bus_stops":[{"services":[]}]}"#),
      "'stations[0].exits[0].bus_stops[0].code' is missing"
    ),
    (
      document(exit: #"{"exit_code":"A","lat":1.3,"lng":103.8,"platforms":"A"}"#),
      "'stations[0].exits[0].platforms' should be a list and is a string"
    ),
    (#"{"metadata":{"checksum_sha256":7}}"#, "'metadata.checksum_sha256' should be a text"),
    ("{\n  \"a\" 1}", "it isn't valid JSON: line 2, column 7: ':' is expected"),
  ])
  func `names what is missing or of another type`(_ document: String, _ reason: String) {
    let error = #expect(throws: TransitDataError.self) { try file(document) }
    #expect(error?.message == "The station file cannot be read: \(reason).")
  }

  @Test func `takes an integer for a coordinate, and a bare exit code`() throws {
    let data = try file(Self.document(exit: #"{"exit_code":" a ","lat":1,"lng":104}"#))
    #expect(data.stations[0].exits[0].position == Position(latitude: 1, longitude: 104))
    #expect(data.stations[0].exits[0].label == "A")
  }

  @Test func `warns of what only looks wrong`() throws {
    let exit =
      #"{"exit_code":"Exit A","lat":0.5,"lng":103.8,"platforms":[{"platform_code":"A","towards_code":"x","line_code":"N"}],"#
      + #""bus_stops":[{"code":"123","services":[]}]}"#
    let station = #"{"official_name":"A","mrt_codes":["ns1"],"exits":[\#(exit)]}"#
    let data = try file(
      #"{"metadata":{"data_version":"2026-02-15","data_version_iso":"20260215","station_count":7,"file_size_bytes":9},"#
        + "\"stations\":[\(station)]}")
    #expect(
      data.warnings == [
        "'station_count' is 7, and there are 1 stations.",
        "'file_size_bytes' is 9, which does not go with the content.",
        "'A' ends neither in MRT STATION nor in LRT STATION.", "'A' has the code 'ns1'.",
        "'A', Exit A, lies at 0.5, 103.8.", "'A', Exit A, has a platform of the line 'N'.",
        "'A', Exit A, has a platform towards 'x'.", "'A', Exit A, has the bus stop '123'.",
      ])
  }

  @Test(arguments: [
    ([], false), (["lift"], true), (["barrier_free"], true), (["wheelchair_accessible", "stairs_only"], false),
    (["escalator", "moving_walkway"], false),
  ])
  func `knows which exits need no steps`(_ words: [String], _ isStepFree: Bool) {
    let exit = StationExit(
      code: "A", position: Position(latitude: 1, longitude: 104), platforms: [], accessibility: words, busStops: [],
      landmarks: [])
    #expect(exit.isStepFree == isStepFree)
  }

  @Test(arguments: [
    ("NS24", "NSL"), ("CE1", "CCL"), ("A3", "BPL"), ("STC", "SKL"), ("PTC", "PGL"), ("JE2", "JRL"), ("ZZ9", "ZZ9"),
  ])
  func `knows the line of a code`(_ code: String, _ line: String) {
    #expect(RailLine.line(ofStationCode: code) == line)
  }
}

@Suite struct QueryTests {
  private let data: RailData

  init() throws { data = try RailData(file: fixture("stage3_final.json")) }

  @Test(arguments: ["ns61", " TE71 ", "Lantern Quay", "lantern quay mrt station"])
  func `finds a station by code or name`(_ text: String) throws {
    #expect(try data.station(text).codes == ["NS61", "TE71"])
  }

  @Test func `says what may have been meant`() {
    let error = #expect(throws: TransitDataError.self) { try data.station("Lantern Key") }
    #expect(
      error?.message == "No station is named 'Lantern Key' or has that code. Did you mean 'LANTERN QUAY'?")
  }

  @Test func `asks for a code where a name means two stations`() throws {
    var data = data
    data.stations[1].officialName = "LANTERN QUAY LRT STATION"
    let error = #expect(throws: TransitDataError.self) { try data.station("Lantern Quay") }
    #expect(
      error?.message
        == "'Lantern Quay' means 2 stations: LANTERN QUAY MRT STATION (NS61, TE71), LANTERN QUAY LRT STATION (EW62); "
        + "give a code.")
    #expect(try data.station("lantern quay lrt station").codes == ["EW62"])
  }

  @Test func `finds the nearest exits, by the great circle`() {
    let place = Position(latitude: 1.2841, longitude: 103.8513)
    let exits = data.exits(near: place, limit: 3)
    #expect(exits.first?.station.shortName == "LANTERN QUAY")
    #expect(exits.count == 3)
    #expect(exits.map { $0.distance ?? 0 } == exits.map { $0.distance ?? 0 }.sorted())
    #expect(data.exits(near: place, isStepFree: true).allSatisfy { $0.exit.isStepFree })
    #expect(data.exits(near: place, within: 100).map(\.exit.label) == ["A", "B"])
    #expect(data.exits(near: place, within: 100, line: "EWL").isEmpty)
    #expect(data.exits(near: place, within: 100, line: "te").count == 2)
    #expect(data.exits(near: place, limit: -1).isEmpty)
  }

  @Test func `measures on the earth's mean radius`() {
    let equator = Position(latitude: 0, longitude: 0)
    #expect(equator.distance(to: equator) == 0)
    #expect(abs(equator.distance(to: Position(latitude: 0, longitude: 180)) - 20_015_114.4) < 0.1)
    let (north, south) = (Position(latitude: 1.3, longitude: 103.8), Position(latitude: 1.3009, longitude: 103.8))
    #expect(abs(north.distance(to: south) - 100.0756) < 1e-3)
  }

  @Test func `finds bus stops and landmarks`() throws {
    let station = try data.station("NS61")
    #expect(data.busStops(of: station).map(\.busStop.code) == ["91011", "91019"])
    #expect(data.busStops(service: "97E").contains { $0.busStop.code == "91011" && $0.exit.label == "A" })
    #expect(data.busStops(of: station, code: "91019").count == 1)
    #expect(data.busStops(code: "00000").isEmpty)
    #expect(data.landmarks(containing: "pier").map(\.landmark) == ["Pier 3/4"])
  }

  @Test func `tells what changed between two versions`() throws {
    let newer = try RailData(file: fixture("stage3_final.newer.json"))
    let changes = RailChange.changes(from: data, to: newer)
    #expect(changes.contains { $0.kind == .stationAdded })
    #expect(RailChange.changes(from: data, to: data) == [])
    let back = RailChange.changes(from: newer, to: data)
    #expect(back.filter { $0.kind == .stationRemoved }.count == changes.filter { $0.kind == .stationAdded }.count)
  }

  @Test func `words each kind of change`() {
    var old = data
    old.stations = [data.stations[0]]
    var new = old
    new.stations[0].codes = ["NS61"]
    new.stations[0].exits[0].position.latitude += 0.001
    new.stations[0].exits[0].accessibility = []
    new.stations[0].exits[0].landmarks = []
    new.stations[0].exits[1].code = "Exit C"
    new.stations.append(data.stations[1])
    #expect(
      RailChange.changes(from: old, to: new).map(\.text) == [
        "LANTERN QUAY has the codes NS61, and had NS61, TE71", "LANTERN QUAY, exit A, is 111 m from where it was",
        "LANTERN QUAY, exit A, has other access: nothing is known of its access",
        "LANTERN QUAY, exit A, has other platforms, bus stops or landmarks", "LANTERN QUAY, exit C, is new",
        "LANTERN QUAY, exit B, is gone", "COPPER HILL MRT STATION (EW62) is new",
      ])
  }
}
