import Foundation

/// What Foundation's decoder takes for JSON: the measure of a machine for work that makes and frees many small objects.
///
/// Its time differs between machines as that of such work does, where a loop of arithmetic differs less.
enum DecodedJSON {
  private struct Student: Codable {
    var key: Int
    var sid: String
    var familyName: String
    var marks: [Double]
    var isDeleted: Bool
  }

  private static let students = (0..<6000).map { (index: Int) -> Student in
    let marks: [Double] = [71.5, 88, Double(index % 100) + 0.25]
    return Student(
      key: 100_000 + index, sid: "S\(index)", familyName: "Example\(index % 97)", marks: marks,
      isDeleted: index % 50 == 0)
  }

  /// The text that is read.
  static let bytes: [UInt8] = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return Array((try? encoder.encode(students)) ?? Data())
  }()

  /// Measured once, before the first row that is compared with it.
  static let secondsOfByte: Double = {
    let (decoder, data) = (JSONDecoder(), Data(bytes))
    let time = (try? seconds { _ = try decoder.decode([Student].self, from: data) }) ?? .nan
    return time / Double(bytes.count)
  }()
}

extension Row {
  /// A time beside that of Foundation's decoder for so many bytes of JSON, in the same run.
  static func time(_ what: String, _ seconds: Double, atMost bar: Double, ofJSON bytes: Int) -> Row {
    let floor = DecodedJSON.secondsOfByte * Double(bytes)
    let size = bytes == 1 ? "a byte" : "\(bytes.formatted(.number.locale(.init(identifier: "en_US")))) bytes"
    return Row(
      what, seconds / floor, "×", .atMost(bar), of: shownTime(seconds),
      beside: "\(shownTime(floor)): JSONDecoder, \(size)")
  }
}
