import Basics
import RecipeEditing

// Places and ranges of texts in the form of the protocol.

extension TextPositions {
  /// The bytes that a `Range` of the protocol names; nil if it isn't one.
  func range(_ value: Value) -> Range<Int>? {
    guard let start = value["start"].flatMap(TextPosition.init), let end = value["end"].flatMap(TextPosition.init)
    else {
      return nil
    }
    let (first, last) = (offset(of: start), offset(of: end))
    return min(first, last)..<max(first, last)
  }

  /// A `Range` of the protocol.
  func value(of range: Range<Int>) -> Value {
    .object(["start": position(of: range.lowerBound).value, "end": position(of: range.upperBound).value])
  }

  /// A `TextEdit` of the protocol.
  func value(of edit: Diagnostic.Edit) -> Value {
    .object(["range": value(of: edit.range), "newText": .string(edit.text)])
  }
}

extension EditAnswer {
  /// A `TextEdit` of the protocol.
  var value: Value { .object(["range": .range(from, to), "newText": .string(text)]) }
}

extension Value {
  /// A `Range` of the protocol.
  static func range(_ from: PlaceAnswer, _ to: PlaceAnswer) -> Value {
    .object(["start": from.position.value, "end": to.position.value])
  }
}

extension TextPosition {
  /// A `Position` of the protocol; nil if the value isn't one.
  init?(_ value: Value) {
    guard let line = value["line"]?.int, let character = value["character"]?.int else { return nil }
    self.init(line: line, character: character)
  }

  var value: Value { .object(["line": .int(line), "character": .int(character)]) }
}
