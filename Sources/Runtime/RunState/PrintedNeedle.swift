/// A text that is searched for in a log: letters of ASCII match in either case, and control sequences are left out.
import Basics

package struct PrintedNeedle: Sendable {
  private let bytes: [UInt8]

  /// Nil for a text without characters.
  package init?(_ text: String) {
    if text.isEmpty { return nil }
    bytes = text.utf8.map(PrintedNeedle.lowercased)
  }

  /// Whether a line shows the text, as a terminal would leave the line.
  package func isShown(by line: String) -> Bool {
    line.printed.utf8.map(PrintedNeedle.lowercased)[...].holds(bytes)
  }

  @inline(__always)
  static func lowercased(_ byte: UInt8) -> UInt8 { ASCII.uppercase.contains(byte) ? byte | 0x20 : byte }

  private static let label = Array(",\"text\":\"".utf8)

  /// Whether a record may have a line that shows the text; false only if it certainly has none.
  ///
  /// It reads the text as JSON has it, and leaves out what `String.printed` leaves out.
  // For speed, because it goes through a whole log, where the module is built for size.
  @_optimize(speed)
  func mayBe(in record: ArraySlice<UInt8>) -> Bool {
    guard let start = record.place(of: PrintedNeedle.label) else { return true }
    var shown: [UInt8] = []
    shown.reserveCapacity(record.count)
    var place = start + PrintedNeedle.label.count
    let end = record.endIndex
    while place < end {
      let byte = record[place]
      place += 1
      // C1 controls, which begin sequences, too.
      if byte == 0xC2, (0x80...0x9F).contains(self.byte(record, place)) { return true }
      guard byte == ASCII.backslash else {
        shown.append(PrintedNeedle.lowercased(byte))
        continue
      }
      let kind = self.byte(record, place)
      place += 1
      switch kind {
      case UInt8(ascii: "n"): shown.append(ASCII.newline)
      case UInt8(ascii: "t"): shown.append(ASCII.tab)
      case ASCII.quote, ASCII.backslash, ASCII.slash: shown.append(kind)
      case UInt8(ascii: "u"):
        let digits = record[min(place, end)..<min(place + 4, end)]
        place += 4
        if digits.elementsEqual("001b".utf8) {
          guard let after = PrintedNeedle.endOfSequence(record, place) else { return true }
          place = after
        } else if !digits.starts(with: "000".utf8), !digits.starts(with: "001".utf8) {
          return true
        } else if digits.elementsEqual("0008".utf8) || digits.elementsEqual("000d".utf8) {
          return true
        }
      // A line that is drawn again, or something that isn't written here.
      default: return true
      }
    }
    return shown[...].holds(bytes)
  }

  @inline(__always)
  private func byte(_ record: ArraySlice<UInt8>, _ index: Int) -> UInt8 {
    index < record.endIndex ? record[index] : 0
  }

  /// The place after the sequence whose escape character ends there; nil for one that isn't common.
  private static func endOfSequence(_ record: ArraySlice<UInt8>, _ start: Int) -> Int? {
    guard start < record.endIndex, record[start] == ASCII.openBracket else { return nil }
    var place = start + 1
    while place < record.endIndex, (0x20...0x3F).contains(record[place]), record[place] != ASCII.quote { place += 1 }
    guard place < record.endIndex, (0x40...0x7E).contains(record[place]), record[place] != ASCII.backslash,
      // It erases a part of the line.
      record[place] != UInt8(ascii: "K")
    else { return nil }
    return place + 1
  }
}
