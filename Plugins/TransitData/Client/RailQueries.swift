public import ActionKit

// Questions that the installed data answer without the network.

/// One exit with its station, and how far it is if that was asked.
public struct ExitMatch: Hashable, Sendable {
  /// The station.
  public var station: Station
  /// The exit.
  public var exit: StationExit
  /// The way from the point that was asked about, in metres as the crow flies.
  public var distance: Double?
}

/// One bus stop with the exit that it is near to.
public struct BusStopMatch: Hashable, Sendable {
  /// The station.
  public var station: Station
  /// The exit.
  public var exit: StationExit
  /// The bus stop.
  public var busStop: BusStop
}

/// One landmark with the exit that it is near to.
public struct LandmarkMatch: Hashable, Sendable {
  /// The landmark as the data name it.
  public var landmark: String
  /// The station.
  public var station: Station
  /// The exit.
  public var exit: StationExit
}

extension RailData {
  /// The station that has a code, in any case: `ns24`.
  public func station(code: String) -> Station? {
    let code = code.uppercased().trimmed
    return stations.first { $0.codes.contains { $0.hasSameScalars(as: code) } }
  }

  /// The stations of a name, in any case and with or without `MRT STATION` or `LRT STATION`.
  public func stations(named name: String) -> [Station] {
    let name = name.uppercased().trimmed
    let exact = stations.filter { $0.officialName.hasSameScalars(as: name) }
    return exact.isEmpty ? stations.filter { $0.shortName.hasSameScalars(as: name) } : exact
  }

  /// Finds the one station with a code or a name; the error for an ambiguous one lists the candidates.
  public func station(_ text: String) throws(TransitDataError) -> Station {
    if let station = station(code: text) { return station }
    let named = stations(named: text)
    if named.count == 1 { return named[0] }
    guard named.isEmpty else {
      let names = named.map { "\($0.officialName) (\($0.codes.joined(separator: ", ")))" }.joined(separator: ", ")
      throw TransitDataError(.notFound, "'\(text)' means \(named.count) stations: \(names); give a code.")
    }
    let nearest = text.nearest(among: stations.map(\.shortName) + stations.flatMap(\.codes))
    let guess = nearest.map { " Did you mean '\($0)'?" } ?? ""
    throw TransitDataError(.notFound, "No station is named '\(text)' or has that code.\(guess)")
  }

  /// The stations whose names contain a text, that are on a line, and that can be used without steps; each of these
  /// may be left out.
  public func stations(containing text: String? = nil, line: String? = nil, isStepFree: Bool = false) -> [Station] {
    let text = text?.uppercased().trimmed
    return stations.filter { station in
      text.map { station.officialName.contains($0) } ?? true && line.map(station.isOn) ?? true
        && (!isStepFree || station.isStepFree)
    }
  }

  /// The exits near a point, the nearest first.
  public func exits(
    near point: Position, within metres: Double? = nil, line: String? = nil, isStepFree: Bool = false, limit: Int = 5
  ) -> [ExitMatch] {
    var matches: [ExitMatch] = []
    for station in stations where line.map(station.isOn) ?? true {
      for exit in station.exits where !isStepFree || exit.isStepFree {
        let distance = point.distance(to: exit.position)
        if let metres, distance > metres { continue }
        matches.append(ExitMatch(station: station, exit: exit, distance: distance))
      }
    }
    return Array(matches.sorted { $0.distance ?? 0 < $1.distance ?? 0 }.prefix(max(0, limit)))
  }

  /// The bus stops near exits, of one station, of one code, or where a service stops; each of these may be left out.
  public func busStops(of station: Station? = nil, code: String? = nil, service: String? = nil) -> [BusStopMatch] {
    let service = service?.uppercased().trimmed
    return (station.map { [$0] } ?? stations).flatMap { station in
      station.exits.flatMap { exit in
        exit.busStops.filter { stop in
          code.map(stop.code.hasSameScalars) ?? true
            && service.map { wanted in stop.services.contains { $0.uppercased().hasSameScalars(as: wanted) } } ?? true
        }.map { BusStopMatch(station: station, exit: exit, busStop: $0) }
      }
    }
  }

  /// The landmarks whose names contain a text, in any case.
  public func landmarks(containing text: String) -> [LandmarkMatch] {
    let text = text.uppercased().trimmed
    return stations.flatMap { station in
      station.exits.flatMap { exit in
        exit.landmarks.filter { $0.uppercased().contains(text) }.map {
          LandmarkMatch(landmark: $0, station: station, exit: exit)
        }
      }
    }
  }
}

extension Station {
  /// Whether it is on a line, given in its short or long form.
  func isOn(_ line: String) -> Bool {
    let line = RailLine.long(line)
    return lines.contains(line) || linesServed.contains { RailLine.long($0).hasSameScalars(as: line) }
  }
}
