import Foundation

/// The processor time that Foundation's decoder takes for JSON.
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

  static func seconds() throws -> Double {
    let (decoder, data) = (JSONDecoder(), Data(bytes))
    return try processorSeconds { _ = try decoder.decode([Student].self, from: data) }
  }
}
