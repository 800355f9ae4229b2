import ActionKit

/// An invented network, in two versions, and as many more as are asked for.
enum SandboxNetwork {
  static var releases: [SandboxRelease] {
    [
      SandboxRelease(
        tag: "20260215", publishedAt: "2026-02-15T06:41:05Z", file: StationFile.bytes(first, version: "20260215")),
      SandboxRelease(
        tag: "20260401", publishedAt: "2026-04-01T02:20:04Z", file: StationFile.bytes(second, version: "20260401")),
      SandboxRelease(
        tag: "20260501", publishedAt: "2026-05-01T02:00:00Z", file: StationFile.bytes(second, version: "20260501"),
        isPrerelease: true),
    ]
  }

  /// The release that comes after so many, on the day of an instant or later: one exit moves on each time.
  static func next(after count: Int, at now: Timestamp) -> SandboxRelease {
    var stations = second
    stations[0].exits[0].position.latitude += Double(count) * 1e-4
    let instant = now.advanced(by: .seconds(count * 86_400)) ?? now
    let tag = String(instant.description.prefix(10)).filter { $0 != "-" }
    return SandboxRelease(
      tag: tag, publishedAt: instant.description, file: StationFile.bytes(stations, version: tag))
  }

  static let first: [Station] = [
    station(
      "LANTERN QUAY MRT STATION", "NS61 TE71",
      [
        exit(
          "Exit A", 1.2841037162815, 103.85130921554, "wheelchair_accessible lift escalator", "A NS NS1, B NS NS69",
          "91011 10 97e NR7, 91019 10 97", ["Lantern Quay Market", "Pier 3/4"]),
        exit(
          "Exit B", 1.2836650119273, 103.85202743319, "stairs_only", "C TE TE1, D TE", "", ["Blk 12/14 \"The Arc\""]),
      ], "NS TE", ["Exit B has stairs only"]),
    station(
      "COPPER HILL MRT STATION", "EW62",
      [
        exit("Exit 1", 1.3204418290156, 103.77315560218, "lift", "1 EW EW1", "92011 14 33", ["Copper Hill Library"]),
        exit("Exit 2", 1.3198, 103.7735, "lift tactile_guidance", "1 EW EW1", "92019", []),
      ], "EW", []),
    station(
      "MANGROVE POINT MRT STATION", "NS62",
      [exit("Exit A", 1.2790411, 103.8548203, "escalator", "A NS NS1", "91021 10 57", ["Café Façade"])], "NS", []),
    station(
      "KILN ROAD MRT STATION", "EW63 DT61",
      [
        exit("Exit A", 1.3241907, 103.7661212, "barrier_free", "1 EW EW1", "93011 77 97e", ["Old Kiln – Gallery"]),
        exit("Exit B", 1.3247733, 103.7652039, "", "", "", []),
        exit("Exit C", 1.3233384, 103.7668901, "stairs_only", "3 DT DT1", "93019 77", []),
      ], "DT EW", ["Exit C has stairs only"]),
    station(
      "FERN VALLEY LRT STATION", "SW61", [exit("Exit A", 1.3905512, 103.8761244, "lift", "1 SW STC", "94011 50", [])],
      "SW", []),
    station("TERRACE CENTRAL LRT STATION", "STC", [exit("Exit A", 1.3917001, 104.0, "", "", "", [])], "", []),
  ]

  static let second: [Station] = {
    var stations = first
    stations[0].exits[1].accessibility = ["lift"]
    stations[0].accessibilityNotes = []
    stations[2].exits.append(exit("Exit B", 1.2785018, 103.8551799, "lift", "B NS NS69", "91029 10", []))
    stations[3].exits.remove(at: 1)
    stations.append(
      station(
        "HARBOUR LIGHT MRT STATION", "TE72",
        [exit("Exit 1", 1.2752291, 103.8583317, "lift barrier_free", "A TE TE1", "91031 57", ["Old Lighthouse 灯塔 🌉"])],
        "TE", []))
    return stations
  }()

  private static func station(
    _ name: String, _ codes: String, _ exits: [StationExit], _ lines: String, _ notes: [String]
  ) -> Station {
    Station(
      officialName: name, codes: words(codes), exits: exits, linesServed: words(lines), accessibilityNotes: notes,
      enrichedAt: Timestamp("2026-02-14T10:40:07.120034Z"), confidence: "high")
  }

  /// An exit whose platforms are `code line towards` and whose bus stops are `code service…`, between commas.
  private static func exit(
    _ code: String, _ latitude: Double, _ longitude: Double, _ access: String, _ platforms: String, _ stops: String,
    _ landmarks: [String]
  ) -> StationExit {
    StationExit(
      code: code, position: Position(latitude: latitude, longitude: longitude),
      platforms: platforms.split(separator: ",").map { text in
        let words = words(text)
        return Platform(code: words[0], towards: words.count > 2 ? words[2] : nil, line: words[1])
      },
      accessibility: words(access),
      busStops: stops.split(separator: ",").map { text in
        let words = words(text)
        return BusStop(code: words[0], services: Array(words.dropFirst()))
      },
      landmarks: landmarks)
  }

  private static func words(_ text: some StringProtocol) -> [String] { text.split { $0 == " " }.map { String($0) } }
}
