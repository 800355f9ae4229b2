import ActionKit
package import Basics
import Expressions

/// The types that every recipe has, beside the types of its inputs and steps.
package enum RecipeTypes {
  /// The type of `error` in handlers and in `retry.if`: the one error shape.
  package static let error = ObjectType(
    "error",
    fields: [
      .init("kind", .choice(ErrorKind.allCases.map(\.rawValue)), summary: "The kind of the error."),
      .init("message", .string, summary: "The error's message, a sentence."),
      .init("detail", .string, isOptional: true, summary: "Further details from the service."),
      .init("status", .int, isOptional: true, summary: "The HTTP status, if there was one."),
      .init("step", .string, isOptional: true, summary: "The step that failed."),
      .init("attempt", .int, isOptional: true, summary: "The number of the attempt, from 1."),
      .init("retryable", .bool, summary: "Whether a retry may help."),
      .init("retryAfter", .duration, isOptional: true, summary: "How long the service asks the caller to wait."),
      .init("effect", .choice(["none", "done", "unknown"]), summary: "Whether the step had its effect outside."),
    ])

  /// The type of `run`.
  package static let run = ObjectType(
    "run",
    fields: [
      .init("id", .string, summary: "The run's id, a UUIDv7."),
      .init("recipe", .string, summary: "The recipe's name."),
      .init("startedAt", .timestamp, summary: "When the run was created."),
      .init("slot", .timestamp, isOptional: true, summary: "The due time of the schedule that started it."),
      .init("attempt", .int, summary: "The number of the run among this recipe's runs for the same slot, from 1."),
      .init(
        "url", .string, isOptional: true, summary: "The address of its page; absent without 'server' in errand.yaml."),
    ])

  /// The type of `run` before the run is accepted: it has no address yet.
  package static let startingRun = ObjectType(run.name, fields: run.fields.filter { $0.name != "url" })

  /// The type of an approval: `by` and `at` are optional if it may continue undecided.
  static func approval(mayTimeOut: Bool) -> ObjectType {
    ObjectType(
      "approval",
      fields: [
        .init("approved", .bool, summary: "Whether it was approved."),
        .init("by", .string, isOptional: mayTimeOut, summary: "The person who decided."),
        .init("at", .timestamp, isOptional: mayTimeOut, summary: "When the person decided."),
        .init(
          "via", .string, isOptional: mayTimeOut,
          summary: "How the decision came: `link`, `login`, `token`, `command` or `chat`."),
        .init("comment", .string, isOptional: true, summary: "The person's comment."),
      ])
  }

  /// The type of an answer to a question with these fields.
  static func answer(_ fields: ValueType) -> ObjectType {
    ObjectType(
      "answer",
      fields: [
        .init("fields", fields, summary: "The values, by name."),
        .init("by", .string, summary: "The person who answered."),
        .init("at", .timestamp, summary: "When the person answered."),
        .init("via", .string, summary: "How the answer came: `link`, `login`, `token`, `command` or `chat`."),
        .init("comment", .string, isOptional: true, summary: "The person's comment."),
      ])
  }

  /// The type of `question` in the steps of `tell`.
  static let question = ObjectType(
    "question",
    fields: [
      .init("prompt", .string, summary: "The question."),
      .init("by", .list(.string), summary: "The people who are asked; anyone if empty."),
      .init(
        "links",
        .list(
          .object(
            ObjectType(
              "link",
              fields: [
                .init("name", .string, summary: "The person; empty where anyone may answer."),
                .init("link", .string, summary: "The address that carries the person's right to answer."),
              ]))), summary: "A link for each person, which carries the right to answer."),
      .init("link", .string, summary: "The first of the links."),
      .init("url", .string, summary: "The address of the question's page, which needs a login."),
      .init("until", .timestamp, isOptional: true, summary: "Until when the question can be answered."),
    ])

  /// The type of one item's outcome in a loop with `onItemError: continue`.
  static func outcome(of output: ValueType) -> ObjectType {
    ObjectType(
      "outcome",
      fields: [
        .init("index", .int),
        .init("status", .choice(["succeeded", "failed", "timedOut", "skipped"])),
        .init("output", output, isOptional: true),
        .init("error", .object(error), isOptional: true),
      ])
  }
}

extension ValueType {
  /// The type of a value that may not be there.
  var asOptional: ValueType { if case .optional = self { self } else { .optional(self) } }

  /// The first place where the type differs from another, for types that messages show alike.
  func difference(from other: ValueType, at path: String) -> (path: String, one: ValueType, other: ValueType)? {
    switch (self, other) {
    case (.list(let one), .list(let other)), (.map(_, let one), .map(_, let other)),
      (.optional(let one), .optional(let other)):
      return one.difference(from: other, at: path)
    case (.object(let one), .object(let other)):
      for field in one.fields {
        guard let second = other[field.name] else { continue }
        if let found = field.type.difference(from: second.type, at: "\(path).\(field.name)") { return found }
      }
      return nil
    default:
      let joined = ValueType.joined([self, other])
      return joined == nil || joined?.mixedParts != nil ? (path, self, other) : nil
    }
  }

  /// The type as it follows "this is" in messages.
  var withArticle: String {
    switch self {
    case .object: return "an object"
    case .choice: return "\(self)"
    case .optional(let wrapped): return "\(wrapped.withArticle) that may be absent"
    default: break
    }
    let name = "\(self)"
    return "aeio".contains(name.first ?? "x") ? "an \(name)" : "a \(name)"
  }
}
