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
    let ours = try processorSeconds { _ = try YAMLReader.read(source) }
    let bytes = Array(text.utf8)
    var floor = Double.infinity
    for _ in 0..<10 {
      let time = cbaselines_yaml_events(bytes, bytes.count)
      if time <= 0 { throw NotMeasured("libyaml does not read the text") }
      floor = min(floor, time)
    }
    let (rate, best) = (Double(bytes.count) / ours / 1e6, Double(bytes.count) / floor / 1e6)
    return Row(
      "YAML text to values", rate / best, "×", .atLeast(0.28), of: "\(displayed(rate)) MB/s",
      beside: "\(displayed(best)) MB/s: libyaml's events")
  }

  private func json() throws -> [Row] {
    let bytes = DecodedJSON.bytes
    let value = try JSON.parse(bytes)
    let parse = try processorSeconds { _ = try JSON.parse(bytes) }
    let write = try processorSeconds { _ = try JSON.write(value) }
    let size = Double(bytes.count)
    let foundation = try DecodedJSON.seconds()
    let beside = "\(displayed(size / foundation / 1e6)) MB/s: JSONDecoder"
    func row(_ what: String, _ seconds: Double, atLeast bar: Double) -> Row {
      Row(
        "JSON with places, \(bytes.count / 1000) KB, \(what)", foundation / seconds, "×", .atLeast(bar),
        of: "\(displayed(size / seconds / 1e6)) MB/s", beside: beside)
    }
    return [row("parse", parse, atLeast: 7.8), row("write", write, atLeast: 13.5)]
  }
}
