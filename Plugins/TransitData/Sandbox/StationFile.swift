import ActionKit
import HTTPClient

/// Writes stations as the producer does: explicit nulls, two blanks a level, the size and the checksum of section 7.
enum StationFile {
  static func bytes(_ stations: [Station], version: String) -> [UInt8] {
    let enriched = stations.filter { $0.enrichedAt != nil }.count
    var metadata = ValueMap([
      ("timestamp", .string("\(dashed(version))T06:30:12.418205")), ("source", .string("stage3_merger")),
      ("version", .string("2.0.0")), ("total_stations", .int(stations.count)), ("enriched_stations", .int(enriched)),
      ("skipped_stations", .int(0)), ("data_version", .string(dashed(version))),
      ("data_version_iso", .string(version)), ("file_size_bytes", .int(0)), ("station_count", .int(stations.count)),
    ])
    func document() -> Value {
      .object(["metadata": .map(metadata), "stations": .list(stations.map(value))])
    }
    metadata["file_size_bytes"] = .int(canonical(document()).count)
    metadata["checksum_sha256"] = SHA256.digest(of: canonical(document())).map(Value.string)
    return (try? JSON.write(document(), .pretty)) ?? []
  }

  private static func canonical(_ document: Value) -> [UInt8] {
    (try? CanonicalText(of: JSON.write(document), as: .ascii))?.bytes ?? []
  }

  private static func dashed(_ version: String) -> String {
    "\(version.prefix(4))-\(version.dropFirst(4).prefix(2))-\(version.dropFirst(6))"
  }

  private static func value(_ station: Station) -> Value {
    .object([
      "official_name": .string(station.officialName), "mrt_codes": texts(station.codes),
      "exits": .list(station.exits.map(value)), "lines_served": texts(station.linesServed, orNull: true),
      "accessibility_notes": texts(station.accessibilityNotes, orNull: true),
      "enrichment_last_updated": station.enrichedAt.map { .string(String($0.description.dropLast())) } ?? .null,
      "data_quality": station.confidence.map {
        .object(["extraction_confidence": .string($0), "source": .string("enrichment_data")])
      } ?? .null,
    ])
  }

  private static func value(_ exit: StationExit) -> Value {
    .object([
      "exit_code": .string(exit.code), "lat": .double(exit.position.latitude), "lng": .double(exit.position.longitude),
      "platforms": exit.platforms.isEmpty
        ? .null
        : .list(
          exit.platforms.map {
            .object([
              "platform_code": .string($0.code), "towards_code": $0.towards.map(Value.string) ?? .null,
              "line_code": .string($0.line),
            ])
          }),
      "accessibility": texts(exit.accessibility, orNull: true),
      "bus_stops": exit.busStops.isEmpty
        ? .null : .list(exit.busStops.map { .object(["code": .string($0.code), "services": texts($0.services)]) }),
      "nearby_landmarks": texts(exit.landmarks, orNull: true),
    ])
  }

  private static func texts(_ texts: [String], orNull: Bool = false) -> Value {
    texts.isEmpty && orNull ? .null : .list(texts.map(Value.string))
  }
}
