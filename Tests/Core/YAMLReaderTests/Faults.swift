import Basics
import YAMLReader

/// The diagnostics of reading a text: `line:column: severity: message [marked text]`, and a line for each note.
func faults(in text: String, limits: YAMLLimits = .recipe) -> [String] { faults(in: Array(text.utf8), limits: limits) }

func faults(in bytes: [UInt8], limits: YAMLLimits = .recipe) -> [String] {
  let source = Source(name: "test.yaml", bytes: bytes)
  do throws(Diagnostics) {
    return try YAMLReader.read(source, limits: limits).diagnostics.flatMap(lines)
  } catch {
    return error.list.flatMap(lines)
  }
}

private func lines(of diagnostic: Diagnostic) -> [String] {
  ["\(place(diagnostic.location)): \(diagnostic.severity): \(diagnostic.message)\(marked(diagnostic.location))"]
    + diagnostic.notes.map { "\(place($0.location)): note: \($0.message)\(marked($0.location))" }
}

private func place(_ location: Diagnostic.Location?) -> String {
  guard let location else { return "-" }
  let position = location.source.position(at: location.range.lowerBound)
  return "\(position.line):\(position.column)"
}

private func marked(_ location: Diagnostic.Location?) -> String {
  guard let location, !location.range.isEmpty else { return "" }
  return " [\(String(decoding: location.source.bytes[location.range], as: UTF8.self))]"
}
