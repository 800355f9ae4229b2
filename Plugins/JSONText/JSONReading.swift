import ActionKit

/// Reads JSON for steps.
enum JSONReading {
  /// The value at a JSON pointer of a text; `what` names the text in messages.
  static func value(of text: String, at pointer: String, called what: String) throws(ActionError) -> Value {
    let value: Value
    do throws(JSONError) { value = try JSON.parse(text, allowing: .halfPairs) } catch {
      throw fault("\(what) isn't valid JSON: \(error.description)")
    }
    do throws(ValueError) { return try value.part(at: pointer, called: what) } catch {
      throw fault(error.description, .notFound)
    }
  }

  private static func fault(_ message: String, _ kind: ErrorKind = .validation) -> ActionError {
    let end = message.hasSuffix("?") ? "" : "."
    return ActionError(kind, message + end, effect: ActionError.Effect.none)
  }
}

/// A value to be written as JSON.
struct JSONContent: FieldSet {
  @Field("The value.") var value: Value
  @Field("Whether each item has its own line, or everything is on one line.") var layout = JSONLayout.pretty
  @Field("Whether to sort the keys of maps alphabetically; if not, they keep the value's order.") var sortKeys = false

  /// The value as text; with a layout for people it ends with a line break.
  func text() throws(ActionError) -> String {
    let isIndented = layout == .pretty
    do throws(JSONError) {
      let text = try JSON.text(value, JSON.Style(isIndented: isIndented, sortsKeys: sortKeys))
      return isIndented ? "\(text)\n" : text
    } catch {
      throw ActionError(.validation, "The value cannot be JSON: \(error.description).", cause: error)
    }
  }
}

/// The layout of JSON text.
enum JSONLayout: String, Choice {
  case pretty, compact
}
