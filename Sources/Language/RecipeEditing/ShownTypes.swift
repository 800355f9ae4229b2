import ActionKit
import Basics
import Expressions

// Types and fields in hovers: written as in the checker's messages, with the fields of objects.

extension ValueType {
  /// A hover's text for a value of the type: a line with its name, its description, and the fields of it or its items.
  func page(_ name: String, _ meaning: String..., fact: String? = nil) -> String {
    let lead = name + displayed + (fact.map { " (\($0))" } ?? "")
    return ([lead] + meaning.filter { !$0.isEmpty } + (displayedFields.map { [$0] } ?? [])).joined(separator: "\n\n")
  }

  /// The type in code, or in words if its fields are listed.
  private var displayed: String { displayedFields == nil ? "`\(inWords)`" : namedParts.lead }

  /// The fields of an object, or of the objects in a collection, one per line.
  private var displayedFields: String? {
    guard let object = namedParts.object, !object.fields.isEmpty else { return nil }
    let fields = object.fields.prefix(40).map { field in
      displayedField(field.name, field.type.inWords, field.isOptional ? "may be absent" : nil, field.summary)
    }
    return fields.joined(separator: "\n") + (object.fields.count > 40 ? "\n- …" : "")
  }

  /// The type in words and the type of the objects inside it, if it contains only objects of one type.
  private var namedParts: (lead: String, object: ObjectType?) {
    switch self {
    case .object(let object): ("an object", object)
    case .list(.object(let object)): ("a list of objects", object)
    case .map(_, .object(let object)): ("a map of objects", object)
    case .optional(.object(let object)): ("an optional object", object)
    case .list(let of), .map(_, let of), .optional(let of): ("`\(inWords)`, whose objects have", of.namedParts.object)
    default: ("", nil)
    }
  }

  /// The type in words, shortened if it is long.
  var shortened: String {
    let text = inWords
    return text.count > 60 ? "\(text.prefix(57))…" : text
  }

  /// The type as `description` writes it, except that an optional is written in words and an object only as `object`.
  var inWords: String {
    switch self {
    case .object: "object"
    case .list(let element): "list(\(element.inWords))"
    case .map(let key, let value): "map(\(key.inWords), \(value.inWords))"
    case .optional(let wrapped): "optional \(wrapped.inWords)"
    case .secret(let of): "secret(\(of.inWords))"
    default: description
    }
  }
}

extension FunctionDeclaration {
  /// The form's signature, with types in words.
  var signatureInWords: String {
    let list = parameters.map(\.inWords).joined(separator: ", ") + (isVariadic ? "…" : "")
    var owner = receiver.map { "\($0.inWords)." } ?? ""
    if case .optional(let wrapped)? = receiver { owner = "(optional \(wrapped.inWords))." }
    return "\(owner)\(name)(\(list)) -> \(result.inWords)"
  }
}

/// A line in a list of fields.
func displayedField(_ name: String, _ type: String, _ fact: String?, _ summary: String) -> String {
  let type = type.count > 60 ? "\(type.prefix(57))…" : type
  return "- `\(name)`: `\(type)`\(fact.map { ", \($0)" } ?? "")\(summary.isEmpty ? "" : ". \(summary)")"
}

extension FieldSchema {
  /// Whether an input field is required, or its default, in a few words.
  var fact: String? {
    if isRequired { return "required" }
    return type.isSecret ? nil : fallback.map { "default `\(JSON.displayed($0))`" }
  }

  /// The field's type, default and sentence.
  var page: String {
    let end = fact.map { " (\($0))" } ?? ""
    return ": `\(type.name)`\(end)\n\n\(summary)\(deprecation.map { "\n\nDeprecated: \($0)" } ?? "")"
  }
}

extension OtherRecipe.Input {
  private var fact: String? { isRequired ? "required" : fallback.map { "default `\($0)`" } }

  /// The input's type, default and sentence.
  var page: String { type.page(": ", summary, fact: fact) }

  /// The input as a line in a list.
  var line: String { displayedField(name, type.inWords, fact, summary) }
}
