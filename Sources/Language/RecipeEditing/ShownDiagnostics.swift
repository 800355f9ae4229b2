// Faults, completions and hovers as editors show them, with their places: the language server and the pages give the
// same, each in its own form.

package import ActionKit
package import Basics
import Expressions
import Recipes

/// A place in a text, as editors count.
package struct PlaceAnswer: FieldSet, Equatable {
  @Field("The line, from 0.") package var line: Int
  @Field("The column, from 0, in UTF-16 units.") package var column: Int

  package init() {}

  package init(_ position: TextPosition) {
    line = position.line
    column = position.character
  }

  package var position: TextPosition { TextPosition(line: line, character: column) }

  package static func == (left: PlaceAnswer, right: PlaceAnswer) -> Bool { left.position == right.position }
}

/// A replacement of a part of a text.
package struct EditAnswer: FieldSet {
  @Field("Where the replaced text begins.") package var from: PlaceAnswer
  @Field("Where it ends; the same place if something is put in.") package var to: PlaceAnswer
  @Field("The text to put there.") package var text: String

  package init() {}

  package init(_ edit: Diagnostic.Edit, _ positions: TextPositions) {
    from = PlaceAnswer(positions.position(of: edit.range.lowerBound))
    to = PlaceAnswer(positions.position(of: edit.range.upperBound))
    text = edit.text
  }
}

/// A second place that belongs to a fault.
package struct NoteAnswer: FieldSet {
  @Field("The fact that the note points out.") package var message: String
  @Field("The file that it is about; absent without a place.") package var path: String?
  @Field("Where it begins there.") package var from: PlaceAnswer?
  @Field("Where it ends.") package var to: PlaceAnswer?

  package init() {}
}

/// A way to mend a fault.
package struct FixAnswer: FieldSet {
  @Field("The change as an order, such as: write 'to'.") package var title: String
  @Field("The changes of the text; no two of them overlap.") package var edits: [EditAnswer] = []
  @Field("Whether there is no other, and it puts in nothing that only the author can choose.")
  package var isCertain = false

  package init() {}
}

/// A fault in a text.
package struct EditorFaultAnswer: FieldSet {
  @Field("error, warning or hint.") package var severity: String
  @Field("The problem and its fix.") package var message: String
  @Field("Where it begins.") package var from: PlaceAnswer
  @Field("Where it ends.") package var to: PlaceAnswer
  @Field("Other places that belong to it.") package var notes: [NoteAnswer] = []
  @Field("The ways to mend it, the likeliest first.") package var fixes: [FixAnswer] = []

  package init() {}

  /// - Parameters:
  ///   - positions: The places of the text that has the fault.
  ///   - encoding: How columns of other texts count.
  ///   - paths: The folders whose paths are kept from the caller.
  package init(
    _ fault: Diagnostic, _ positions: TextPositions, _ encoding: TextPosition.Encoding = .utf16,
    paths: ServerPaths = ServerPaths()
  ) {
    let range = fault.location?.range ?? 0..<0
    severity = fault.severity.rawValue
    message = paths.told(fault.message)
    from = PlaceAnswer(positions.position(of: range.lowerBound))
    to = PlaceAnswer(positions.position(of: range.upperBound))
    notes = fault.notes.map { note in
      var answer = NoteAnswer()
      answer.message = paths.told(note.message)
      if let place = note.location {
        let positions = TextPositions(place.source.bytes, encoding)
        answer.path = paths.told(place.source.name)
        answer.from = PlaceAnswer(positions.position(of: place.range.lowerBound))
        answer.to = PlaceAnswer(positions.position(of: place.range.upperBound))
      }
      return answer
    }
    fixes = fault.fixes.map { fix in
      var answer = FixAnswer()
      answer.title = paths.told(fix.title)
      answer.edits = fix.edits.map { EditAnswer($0, positions) }
      answer.isCertain = fix == fault.certainFix
      return answer
    }
  }
}

extension EditorService {
  /// How long an answer may take that checks a text again and again.
  private static let longestMending = TimeSpan.seconds(2)

  /// The edits of all fixes that `errand check --fix` makes, as far as they are found in time.
  package func mendingEditsInTime(of source: Source) -> [Diagnostic.Edit] {
    let time = SystemTime()
    let start = time.elapsed()
    return mendingEdits(of: source) { time.elapsed() - start < EditorService.longestMending }
  }
}

extension Completion {
  /// The edit where an editor doesn't choose how much it replaces: a completion of a word's beginning replaces the rest
  /// of the word too; any other completion is inserted.
  package var wholeEdit: Diagnostic.Edit {
    var edit = edit
    if !edit.range.isEmpty { edit.range = edit.range.lowerBound..<edit.range.upperBound + (rest ?? 0) }
    return edit
  }
}
