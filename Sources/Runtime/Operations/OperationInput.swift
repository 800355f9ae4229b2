/// The inputs of operations, as documents, paths and pages of requests describe them.
package import ActionKit
import Basics

package struct OperationInput: Sendable {
  package var name: String
  /// Its purpose, in a sentence or two.
  package var summary: String
  package var isRequired: Bool
  package var type: FieldType
  /// How many characters a text may have, as far as what reads it limits that.
  package var length: ClosedRange<Int>?
  /// The regular expression of a text, likewise.
  package var pattern: String?
  /// The input without which it is refused.
  package var companion: String?

  init(_ field: FieldSchema, companion: String?, length: ClosedRange<Int>?) {
    name = field.name
    summary = field.summary
    isRequired = field.isRequired
    type = field.type
    self.companion = companion
    var (least, most): (Int?, Int?)
    for limit in field.limits {
      switch limit {
      case .minLength(let length): least = length
      case .maxLength(let length): most = length
      case .pattern(let text): pattern = text.regex
      default: break
      }
    }
    self.length = length
    if length == nil, least != nil || most != nil { self.length = (least ?? 0)...(most ?? .max) }
  }
}

extension Operation {
  package static var parameters: [OperationInput] {
    schema.fields.map { OperationInput($0, companion: companions[$0.name], length: lengths[$0.name]) }
  }
}
