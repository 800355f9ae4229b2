package import Basics

/// The result of a call of a tool: a text for the model, and a value that matches the tool's `outputSchema`.
package struct ToolResult: Sendable {
  /// The parts of the content that are texts.
  package var texts: [String]
  package var structured: Value?
  /// Whether the tool failed: the model reads why, and may try something else.
  package var isError: Bool
  /// The parts of the content, which may be images and links, too.
  package var content: [Value]

  package init(_ text: String, structured: Value? = nil, isError: Bool = false) {
    texts = [text]
    self.structured = structured
    self.isError = isError
    content = [.object(["type": .string("text"), "text": .string(text)])]
  }

  /// Says something else in the place of its texts.
  package mutating func setText(_ text: String) {
    let others = content.filter { $0["type"]?.string != "text" }
    texts = [text]
    content = [.object(["type": .string("text"), "text": .string(text)])] + others
  }

  /// Reads the result of `tools/call`.
  package init(reading result: ValueMap) {
    content = result["content"]?.list ?? []
    texts = content.compactMap { $0["type"]?.string == "text" ? $0["text"]?.string : nil }
    structured = result["structuredContent"]
    isError = result["isError"]?.bool ?? false
  }

  /// The member of a `tools/call` result that has the wrong type, with its place; nil if the result is valid.
  package static func fault(in result: ValueMap) -> String? {
    func fault(_ place: String, _ type: String, _ value: Value?) -> String {
      "'\(place)' must be \(type), but is \(value?.kindName ?? "missing")"
    }
    if let flag = result["isError"], !flag.isNull, flag.bool == nil { return fault("isError", "a bool", flag) }
    guard let content = result["content"], !content.isNull else { return nil }
    guard let parts = content.list else { return fault("content", "a list", content) }
    for (index, part) in parts.enumerated() {
      guard let type = part["type"]?.string else { return fault("content[\(index)].type", "a string", part["type"]) }
      if type == "text", part["text"]?.string == nil {
        return fault("content[\(index)].text", "a string", part["text"])
      }
    }
    return nil
  }

  package var members: ValueMap {
    var members = ValueMap([("content", .list(content))])
    if let structured { members["structuredContent"] = structured }
    if isError { members["isError"] = .bool(true) }
    return members
  }
}

/// A question to the person at the client: a form, and the message above it.
package struct Elicitation: Sendable {
  /// The word for it in the protocol, whichever way it is sent.
  package static let method = "elicitation/create"

  package var message: String
  /// The JSON Schema of the form, an object of plain fields.
  package var schema: Value

  package init(message: String, schema: Value) {
    self.message = message
    self.schema = schema
  }

  package var params: ValueMap {
    ValueMap([("mode", .string("form")), ("message", .string(message)), ("requestedSchema", schema)])
  }

  /// The person's answer.
  package enum Answer: Sendable {
    case accepted(ValueMap)
    case declined
    case cancelled

    package init?(reading value: Value) {
      switch value["action"]?.string {
      case "accept": self = .accepted(value["content"]?.map ?? ValueMap())
      case "decline": self = .declined
      case "cancel": self = .cancelled
      default: return nil
      }
    }
  }
}

/// The result of a request that needs answers of a person first, since 2026-07-28.
///
/// It has questions by name, and a state that the client sends back with the answers in its second request. Whoever reads
/// that state has to doubt it.
package struct InputRequired: Sendable {
  package var questions: [(name: String, Elicitation)]
  package var state: String

  package init(_ questions: [(name: String, Elicitation)], state: String) {
    self.questions = questions
    self.state = state
  }

  package var members: ValueMap {
    var requests = ValueMap()
    for (name, question) in questions {
      requests[name] = .object(["method": .string(Elicitation.method), "params": .map(question.params)])
    }
    return ValueMap([
      ("resultType", .string(InputRequired.type)), ("inputRequests", .map(requests)), ("requestState", .string(state)),
    ])
  }

  /// The type of such a result; all other results have the type `complete`.
  package static let type = "input_required"
  package static let complete = "complete"
}
