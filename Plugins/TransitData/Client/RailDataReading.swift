public import ActionKit
import HTTPClient

// Reading a station file: checksum first, then the models, then what only looks wrong.
//
// A key that must be there and is not, or is of another type, fails the whole file; patterns, ranges and counts give
// warnings. An absent key, a null and an empty list are the same: nothing is known.

extension RailData {
  /// Reads and verifies a file as it was downloaded.
  ///
  /// - Parameter allowsUnverified: Whether a file without a checksum is taken; one with a wrong checksum never is.
  public init(file: [UInt8], allowsUnverified: Bool = false) throws(TransitDataError) {
    let text = try CanonicalText(reading: file, .ascii)
    let document: Value
    // Numbers beyond 64 bits are JSON, and nothing that a station has.
    do { document = try JSON.parse(text.bytes) } catch { throw .decoding("a number is out of range") }
    let top = try FileObject(document)
    verifiedForm = try RailData.verifiedForm(of: file, text, allowsUnverified: allowsUnverified)
    metadata = try Metadata(try top.object("metadata"))
    stations = try top.objects("stations", Station.init)
    guard !stations.isEmpty else { throw .decoding("'stations' is empty") }
    warnings = []
    warnings = Array(RailWarnings(self, top, textBytes: text.bytes.count).list.prefix(RailData.maxWarnings))
  }

  /// Tries the spellings in their order.
  private static func verifiedForm(
    of file: [UInt8], _ text: CanonicalText, allowsUnverified: Bool
  ) throws(TransitDataError) -> ChecksumForm? {
    guard let written = text.checksum else {
      if allowsUnverified { return nil }
      throw .decoding("'metadata.checksum_sha256' is missing")
    }
    guard let stored = (try? JSON.parse(written))?.string else {
      throw .decoding("'metadata.checksum_sha256' should be a text")
    }
    for form in ChecksumForm.allCases {
      let bytes = form == .ascii ? text.bytes : try CanonicalText(reading: file, form).bytes
      guard let digest = SHA256.digest(of: bytes) else { throw .missingLibrary }
      if digest == stored.lowercased() { return form }
    }
    throw TransitDataError(
      .checksumMismatch,
      "The station file is damaged: its checksum is '\(stored.excerpt(64))', and its content has another one.")
  }
}

extension CanonicalText {
  fileprivate init(reading file: [UInt8], _ form: ChecksumForm) throws(TransitDataError) {
    do throws(NoJSON) {
      try self.init(of: file, as: form)
    } catch {
      let place = Source(name: "", bytes: file).position(at: error.offset)
      throw .decoding("it isn't valid JSON: line \(place.line), column \(place.column): \(error.reason)")
    }
  }
}

extension TransitDataError {
  static func decoding(_ reason: String, of subject: String = "The station file") -> TransitDataError {
    TransitDataError(.decoding, "\(subject) cannot be read: \(reason).")
  }

  static var missingLibrary: TransitDataError {
    TransitDataError(.storage, "No SHA-256 can be computed; install libcrypto (Debian: libssl3).")
  }
}

// MARK: - Parts

extension RailData.Metadata {
  fileprivate init(_ part: FileObject) throws(TransitDataError) {
    dataVersion = try part.text("data_version")
    dataVersionISO = try part.text("data_version_iso")
    stationCount = try part.int("station_count")
    mergedAt = (try part.optionalText("timestamp")).flatMap(Timestamp.init(lenient:))
    pipelineVersion = try part.optionalText("version")
  }
}

extension Station {
  fileprivate init(_ part: FileObject) throws(TransitDataError) {
    officialName = try part.text("official_name")
    codes = try part.texts("mrt_codes", isRequired: true)
    exits = try part.objects("exits", StationExit.init)
    linesServed = try part.texts("lines_served")
    accessibilityNotes = try part.texts("accessibility_notes")
    enrichedAt = (try part.optionalText("enrichment_last_updated")).flatMap(Timestamp.init(lenient:))
    confidence = try part.optionalObject("data_quality")?.optionalText("extraction_confidence")
  }
}

extension StationExit {
  fileprivate init(_ part: FileObject) throws(TransitDataError) {
    code = try part.text("exit_code")
    position = Position(latitude: try part.number("lat"), longitude: try part.number("lng"))
    platforms = try part.objects("platforms", isRequired: false, Platform.init)
    accessibility = try part.texts("accessibility")
    busStops = try part.objects("bus_stops", isRequired: false, BusStop.init)
    landmarks = try part.texts("nearby_landmarks")
  }
}

extension Platform {
  fileprivate init(_ part: FileObject) throws(TransitDataError) {
    code = try part.text("platform_code")
    towards = try part.optionalText("towards_code")
    line = try part.text("line_code")
  }
}

extension BusStop {
  fileprivate init(_ part: FileObject) throws(TransitDataError) {
    code = try part.text("code")
    services = try part.texts("services")
  }
}

extension Timestamp {
  /// Reads an instant that may lack its zone, which then is UTC.
  init?(lenient text: String) {
    guard let instant = Timestamp(text) ?? Timestamp(text + "Z") else { return nil }
    self = instant
  }
}

// MARK: - Fields

/// One JSON object of the file, or of an answer, whose errors name the field.
struct FileObject {
  private let members: ValueMap
  private let path: String
  private let subject: String

  init(_ value: Value, path: String = "", of subject: String = "The station file") throws(TransitDataError) {
    guard let members = value.map else {
      throw .decoding("\(path.isEmpty ? "it" : "'\(path)'") should be an object and is \(value.kindName)", of: subject)
    }
    self.members = members
    self.path = path
    self.subject = subject
  }

  func text(_ name: String) throws(TransitDataError) -> String {
    let value = try present(name)
    guard let text = value.string else { throw mismatch(name, "a text", value) }
    return text
  }

  func optionalText(_ name: String) throws(TransitDataError) -> String? {
    optional(name) == nil ? nil : try text(name)
  }

  func int(_ name: String) throws(TransitDataError) -> Int {
    let value = try present(name)
    guard let number = value.int else { throw mismatch(name, "an integer", value) }
    return number
  }

  func bool(_ name: String) throws(TransitDataError) -> Bool {
    let value = try present(name)
    guard let flag = value.bool else { throw mismatch(name, "true or false", value) }
    return flag
  }

  func number(_ name: String) throws(TransitDataError) -> Double {
    let value = try present(name)
    switch value.content {
    case .int(let number): return Double(number)
    case .double(let number): return number
    default: throw mismatch(name, "a number", value)
    }
  }

  func object(_ name: String) throws(TransitDataError) -> FileObject {
    try FileObject(try present(name), path: qualified(name), of: subject)
  }

  func optionalObject(_ name: String) throws(TransitDataError) -> FileObject? {
    guard let value = optional(name) else { return nil }
    return try FileObject(value, path: qualified(name), of: subject)
  }

  func texts(_ name: String, isRequired: Bool = false) throws(TransitDataError) -> [String] {
    try list(name, isRequired: isRequired) { (item, place) throws(TransitDataError) in
      guard let text = item.string else { throw mismatch(place, "a text", item) }
      return text
    }
  }

  func objects<T>(
    _ name: String, isRequired: Bool = true, _ make: (FileObject) throws(TransitDataError) -> T
  ) throws(TransitDataError) -> [T] {
    try list(name, isRequired: isRequired) { (item, place) throws(TransitDataError) in
      try make(FileObject(item, path: qualified(place), of: subject))
    }
  }

  private func list<T>(
    _ name: String, isRequired: Bool, _ make: (_ item: Value, _ place: String) throws(TransitDataError) -> T
  ) throws(TransitDataError) -> [T] {
    guard let value = isRequired ? try present(name) : optional(name) else { return [] }
    guard let items = value.list else { throw mismatch(name, "a list", value) }
    var made: [T] = []
    made.reserveCapacity(items.count)
    for (index, item) in items.enumerated() { made.append(try make(item, "\(name)[\(index)]")) }
    return made
  }

  private func optional(_ name: String) -> Value? {
    guard let value = members[name], !value.isNull else { return nil }
    return value
  }

  private func present(_ name: String) throws(TransitDataError) -> Value {
    guard let value = optional(name) else { throw error("'\(qualified(name))' is missing") }
    return value
  }

  private func mismatch(_ name: String, _ wanted: String, _ found: Value) -> TransitDataError {
    error("'\(qualified(name))' should be \(wanted) and is \(found.kindName)")
  }

  func error(_ reason: String) -> TransitDataError { .decoding(reason, of: subject) }

  private func qualified(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
}
