public import ActionKit

/// One difference between two versions of the data set.
public struct RailChange: FieldSet, Hashable {
  @Field("The kind of difference.") public var kind: Kind
  @Field("Name of the station.") public var station: String
  @Field("Label of the exit, if it is about one.") public var exit: String?
  @Field("The difference in words, without a full stop.") public var text: String

  public init() {}

  /// The kind of the difference.
  public enum Kind: String, Choice {
    /// The station is new.
    case stationAdded
    /// The station is gone.
    case stationRemoved
    /// The station has other codes.
    case codesChanged
    /// The exit is new.
    case exitAdded
    /// The exit is gone.
    case exitRemoved
    /// The exit is more than a metre from where it was.
    case exitMoved
    /// The notes about the exit's access are different.
    case accessibilityChanged
    /// The exit has other platforms, bus stops or landmarks.
    case surroundingsChanged
  }
}

extension RailChange {
  /// The differences, in the order of the newer version, what is gone last.
  static func changes(from old: RailData, to new: RailData) -> [RailChange] {
    let before = Dictionary(old.stations.map { ($0.officialName, $0) }) { first, _ in first }
    let names = Set(new.stations.map(\.officialName))
    var changes: [RailChange] = []
    for station in new.stations {
      if let known = before[station.officialName] {
        changes += self.changes(from: known, to: station)
      } else {
        let codes = station.codes.joined(separator: ", ")
        changes.append(RailChange(.stationAdded, station, "\(station.officialName) (\(codes)) is new"))
      }
    }
    for station in old.stations where !names.contains(station.officialName) {
      changes.append(RailChange(.stationRemoved, station, "\(station.officialName) is gone"))
    }
    return changes
  }

  private static func changes(from old: Station, to new: Station) -> [RailChange] {
    let name = new.shortName
    var changes: [RailChange] = []
    if old.codes != new.codes {
      let (before, after) = (old.codes.joined(separator: ", "), new.codes.joined(separator: ", "))
      changes.append(RailChange(.codesChanged, new, "\(name) has the codes \(after), and had \(before)"))
    }
    let before = Dictionary(old.exits.map { ($0.label, $0) }) { first, _ in first }
    let labels = Set(new.exits.map(\.label))
    for exit in new.exits {
      let subject = "\(name), exit \(exit.label),"
      guard let known = before[exit.label] else {
        changes.append(RailChange(.exitAdded, new, exit: exit, "\(subject) is new"))
        continue
      }
      let distance = known.position.distance(to: exit.position)
      if distance > 1 {
        changes.append(
          RailChange(.exitMoved, new, exit: exit, "\(subject) is \(Int(distance.rounded())) m from where it was"))
      }
      if known.accessibility != exit.accessibility {
        let words =
          exit.accessibility.isEmpty ? "nothing is known of its access" : exit.accessibility.joined(separator: ", ")
        changes.append(RailChange(.accessibilityChanged, new, exit: exit, "\(subject) has other access: \(words)"))
      }
      if known.platforms != exit.platforms || known.busStops != exit.busStops || known.landmarks != exit.landmarks {
        changes.append(
          RailChange(.surroundingsChanged, new, exit: exit, "\(subject) has other platforms, bus stops or landmarks"))
      }
    }
    for exit in old.exits where !labels.contains(exit.label) {
      changes.append(RailChange(.exitRemoved, new, exit: exit, "\(name), exit \(exit.label), is gone"))
    }
    return changes
  }

  private init(_ kind: Kind, _ station: Station, exit: StationExit? = nil, _ text: String) {
    self.init()
    self.kind = kind
    self.station = station.officialName
    self.exit = exit?.label
    self.text = text
  }
}
