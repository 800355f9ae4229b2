// Types in which dates and times are texts.
//
// A date-time of a document is one of RFC 3339, with its zone, and an instant here. Some services leave out the zone. What
// they mean can't be guessed, so a person may say that the texts are to be taken as they are.

package import ActionKit
package import Basics

extension ObjectSchema {
  package var withDatesAsText: ObjectSchema { ObjectSchema(fields: fields.map(\.withDatesAsText)) }
}

extension ObjectSchema {
  /// Whether the field that an error names is right once dates and times are texts.
  ///
  /// - Parameter error: Why the value can't be taken as it is.
  package func isLoosenedByText(_ error: ValueError, in value: Value) -> Bool {
    do throws(ValueError) {
      _ = try withDatesAsText.taking(value, as: "")
      return true
    } catch let other {
      return other.description != error.description
    }
  }
}

extension FieldSchema {
  package var withDatesAsText: FieldSchema {
    var field = self
    field.type = type.withDatesAsText
    return field
  }
}

extension FieldType {
  package var withDatesAsText: FieldType {
    switch self {
    case .timestamp, .date: .string
    case .list(let element): .list(element.withDatesAsText)
    case .map(let element): .map(element.withDatesAsText)
    case .optional(let wrapped): .optional(wrapped.withDatesAsText)
    case .secret(let wrapped): .secret(wrapped.withDatesAsText)
    case .object(let schema): .object(schema.withDatesAsText)
    case .bool, .int, .uint, .double, .string, .bytes, .duration, .dyn, .choice: self
    }
  }
}
