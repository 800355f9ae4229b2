import ActionKit

/// The oddities in a station file that are no reason to refuse it.
struct RailWarnings {
  private(set) var list: [String] = []

  /// Looks through a file whose canonical text has that many bytes.
  init(_ data: RailData, _ top: FileObject, textBytes: Int) {
    if data.metadata.stationCount != data.stations.count {
      list.append("'station_count' is \(data.metadata.stationCount), and there are \(data.stations.count) stations.")
    }
    if let size = try? top.object("metadata").int("file_size_bytes"), size >= 0,
      textBytes - String(size).utf8.count + 1 != size
    {
      list.append("'file_size_bytes' is \(size), which does not go with the content.")
    }
    for station in data.stations { look(at: station) }
  }

  private mutating func look(at station: Station) {
    let name = station.officialName
    if station.shortName == name { list.append("'\(name)' ends neither in MRT STATION nor in LRT STATION.") }
    if station.codes.isEmpty { list.append("'\(name)' has no code.") }
    for code in station.codes where !code.isStationCode { list.append("'\(name)' has the code '\(code)'.") }
    if station.exits.isEmpty { list.append("'\(name)' has no exit.") }
    for exit in station.exits {
      let position = exit.position
      if !(1...2).contains(position.latitude) || !(103...105).contains(position.longitude) {
        list.append("'\(name)', \(exit.code), lies at \(position.latitude), \(position.longitude).")
      }
      for platform in exit.platforms {
        if !(2...5).contains(platform.line.utf8.count) || !platform.line.utf8.allSatisfy(\.isCapital) {
          list.append("'\(name)', \(exit.code), has a platform of the line '\(platform.line)'.")
        }
        if let towards = platform.towards, !towards.isStationCode {
          list.append("'\(name)', \(exit.code), has a platform towards '\(towards)'.")
        }
      }
      for stop in exit.busStops where stop.code.utf8.count != 5 || !stop.code.utf8.allSatisfy(\.isDigit) {
        list.append("'\(name)', \(exit.code), has the bus stop '\(stop.code)'.")
      }
    }
  }
}

extension String {
  /// One to three capitals, and digits.
  fileprivate var isStationCode: Bool {
    let letters = utf8.prefix(while: \.isCapital)
    return (1...3).contains(letters.count) && utf8.dropFirst(letters.count).allSatisfy(\.isDigit)
  }
}

extension UInt8 {
  fileprivate var isCapital: Bool { ASCII.uppercase.contains(self) }
  fileprivate var isDigit: Bool { ASCII.digits.contains(self) }
}
