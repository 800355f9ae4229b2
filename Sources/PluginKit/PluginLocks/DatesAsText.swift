// Types whose dates and times are texts.
//
// A date-time in an OpenAPI document is an RFC 3339 time with a zone, and becomes an instant. Some services leave out
// the zone. It can't be guessed, so a person may choose to read the texts unchanged.

package import ActionKit
package import Basics

extension ObjectSchema {
  package var withDatesAsText: ObjectSchema { ObjectSchema(fields: fields.map(\.withDatesAsText)) }
}

extension ObjectSchema {
  /// Whether an error about a field disappears if dates and times are texts.
  ///
  /// - Parameter error: The error of reading the value unchanged.
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
