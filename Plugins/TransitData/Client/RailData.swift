public import ActionKit

/// Every rail station with its exits, as one release of the data set has them.
public struct RailData: Sendable {
  /// The file's metadata.
  public var metadata: Metadata
  /// The stations, in the file's order.
  public var stations: [Station]
  /// Which spelling of the file its checksum is of; nil if it has none, and that was allowed.
  public var verifiedForm: ChecksumForm?
  /// The oddities that are no reason to refuse the file, a sentence each; at most `maxWarnings` of them.
  public var warnings: [String]

  /// How many warnings are kept of one file.
  public static let maxWarnings = 50

  /// A file's metadata.
  public struct Metadata: Hashable, Sendable {
    /// The version for display: `2026-02-15`.
    public var dataVersion: String
    /// The version without hyphens: `20260215`; usually the tag of its release.
    public var dataVersionISO: String
    /// How many stations there should be.
    public var stationCount: Int
    /// When the parts of the data were merged.
    public var mergedAt: Timestamp?
    /// The version of the pipeline that made it.
    public var pipelineVersion: String?
  }
}

/// One station, or several that are one to passengers.
public struct Station: Hashable, Sendable {
  /// The name in capitals: `RAFFLES PLACE MRT STATION`.
  public var officialName: String
  /// The codes, several at an interchange: `NS26`, `EW14`.
  public var codes: [String]
  /// The ways in and out.
  public var exits: [StationExit]
  /// Codes of the lines found at its exits, short or long: `NS`, `TEL`.
  public var linesServed: [String]
  /// The enrichment's notes about access, in free text.
  public var accessibilityNotes: [String]
  /// When the details were last looked up.
  public var enrichedAt: Timestamp?
  /// How sure the look-up was: `high`, `medium` or `low`.
  public var confidence: String?

  /// The name without `MRT STATION` or `LRT STATION`.
  public var shortName: String {
    for ending in [" MRT STATION", " LRT STATION"] where officialName.hasSuffix(ending) {
      return String(officialName.dropLast(ending.count))
    }
    return officialName
  }

  /// Codes of the lines that its codes stand for: `NSL` for `NS26`; a code of no known line counts as its own.
  public var lines: [String] { codes.map(RailLine.line(ofStationCode:)).uniqued() }

  /// Whether one of its exits can be used without steps.
  public var isStepFree: Bool { exits.contains(where: \.isStepFree) }
}

/// One way in and out of a station.
public struct StationExit: Hashable, Sendable {
  /// The code as the official source writes it: `Exit A`.
  public var code: String
  /// Where it is.
  public var position: Position
  /// The platforms it leads to.
  public var platforms: [Platform]
  /// Words about access; the list is open.
  public var accessibility: [String]
  /// The bus stops near it.
  public var busStops: [BusStop]
  /// The landmarks near it.
  public var landmarks: [String]

  /// The code without the word: `A` for `Exit A`; exits with equal labels are the same.
  public var label: String {
    let text = code.uppercased().trimmed
    return (text.hasPrefix("EXIT") ? String(text.dropFirst(4)) : text).trimmed
  }

  /// Whether it is said to have no steps; what nothing is known of has them.
  public var isStepFree: Bool {
    !accessibility.contains("stairs_only")
      && ["wheelchair_accessible", "barrier_free", "lift"].contains(where: accessibility.contains)
  }
}

/// A platform, where trains go in one direction.
public struct Platform: Hashable, Sendable {
  /// Its letter or number.
  public var code: String
  /// Code of the station where trains from here end.
  public var towards: String?
  /// Code of the line, short or long.
  public var line: String
}

/// A bus stop near an exit.
public struct BusStop: Hashable, Sendable {
  /// Five digits, leading zeros included.
  public var code: String
  /// The services that stop there: `97e`, `NR7`.
  public var services: [String]
}

/// The lines by the letters of their stations' codes.
enum RailLine {
  private static let lines: [String: String] = [
    "NS": "NSL", "EW": "EWL", "NE": "NEL", "CC": "CCL", "CE": "CCL", "DT": "DTL", "TE": "TEL", "CG": "CGL",
    "CR": "CRL", "BP": "BPL", "A": "BPL", "SW": "SKL", "SE": "SKL", "STC": "SKL", "PW": "PGL", "PE": "PGL",
    "PTC": "PGL", "JS": "JRL", "JW": "JRL", "JE": "JRL",
  ]

  /// The line of a station's code, or the code if it is of no known line.
  static func line(ofStationCode code: String) -> String {
    lines[String(code.prefix { !("0"..."9").contains($0) })] ?? code
  }

  /// Returns the long form of a line's code, given either form: `NSL` for `NS`.
  static func long(_ line: String) -> String {
    let line = line.uppercased().trimmed
    return lines[line] ?? line
  }
}

extension Array where Element: Hashable {
  /// The elements without repetitions.
  func uniqued() -> [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
