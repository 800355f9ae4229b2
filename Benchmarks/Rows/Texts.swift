import Basics
import CBaselines
import Foundation
import YAMLReader

/// YAML and JSON, against libyaml's bare events and Foundation's decoder.
struct Texts {
  func rows() throws -> [Row] { [try yaml()] + (try json()) }

  private func yaml() throws -> Row {
    let text =
      "steps:\n"
      + (0..<6000).map {
        """
          - id: step\($0)
            uses: markbook.getMarkbook
            with: { markbookKey: "${{ inputs.markbook }}", note: 'a text of some words' }

        """
      }.joined()
    let source = Source(name: "large.yaml", text: text)
    let ours = try seconds { _ = try YAMLReader.read(source) }
    let bytes = Array(text.utf8)
    var floor = Double.infinity
    for _ in 0..<10 {
      let time = cbaselines_yaml_events(bytes, bytes.count)
      if time <= 0 { throw NotMeasured("libyaml does not read the text") }
      floor = min(floor, time)
    }
    let (rate, best) = (Double(bytes.count) / ours / 1e6, Double(bytes.count) / floor / 1e6)
    return Row("YAML text to values", rate, "MB/s", .atLeast(30), beside: "\(shown(best)) MB/s: libyaml's events")
  }

  /// What Foundation reads into, with the members of the text's objects.
  private struct Student: Codable {
    var key: Int
    var sid: String
    var familyName: String
    var marks: [Double]
    var isDeleted: Bool
  }

  private func json() throws -> [Row] {
    let students = (0..<6000).map { (index: Int) -> Student in
      let marks: [Double] = [71.5, 88, Double(index % 100) + 0.25]
      return Student(
        key: 100_000 + index, sid: "S\(index)", familyName: "Example\(index % 97)", marks: marks,
        isDeleted: index % 50 == 0)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let data = try encoder.encode(students)
    let bytes = Array(data)
    let value = try JSON.parse(bytes)
    let parse = try seconds { _ = try JSON.parse(bytes) }
    let write = try seconds { _ = try JSON.write(value) }
    let decoder = JSONDecoder()
    let foundation = try seconds { _ = try decoder.decode([Student].self, from: data) }
    let size: Double = Double(bytes.count) / 1e6
    return [
      Row("JSON with places, \(bytes.count / 1000) KB, parse", size / parse, "MB/s", .atLeast(250)),
      Row(
        "JSON, the same, against Foundation", foundation / parse, "×", .atLeast(7.8),
        beside: "\(shown(size / foundation)) MB/s: JSONDecoder"),
      Row("JSON, the same, write", size / write, "MB/s", .atLeast(400)),
    ]
  }
}
