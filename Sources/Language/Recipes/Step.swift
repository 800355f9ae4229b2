package import ActionKit
package import Basics
import Expressions

/// Steps that run one after another and share a scope.
package struct Block: Sendable {
  package var steps: [Step]
  /// How many variables are declared before the block; the block's own come after these.
  package var scopeSize: Int
  /// The type of the block's value: an object with its ids, or with the names of its `outputs`.
  package var type: ObjectType
}

/// One step: its work, and the modifiers around it.
///
/// The modifiers are nested from the outside in: `if`/`else`, `forEach`, `onError`, `timeout.total`, `repeat`, `retry`,
/// `timeout.attempt`, `shape`.
package final class Step: Sendable {
  package let id: String?
  package let name: String?
  /// The step's name in the paths of a run's records: its id, or `#` and its number in the block from 1.
  package let element: String
  package let location: Diagnostic.Location?
  package let condition: RecipeExpression?
  package let loop: Loop?
  package let onError: ErrorHandling?
  package let retry: RetryPolicy?
  package let timeout: TimeLimits
  package let repetition: Repetition?
  package let kind: Kind

  init(
    id: String?, name: String?, element: String, location: Diagnostic.Location?, condition: RecipeExpression?,
    loop: Loop?, onError: ErrorHandling?, retry: RetryPolicy?, timeout: TimeLimits, repetition: Repetition? = nil,
    kind: Kind
  ) {
    self.id = id
    self.name = name
    self.element = element
    self.location = location
    self.condition = condition
    self.loop = loop
    self.onError = onError
    self.retry = retry
    self.timeout = timeout
    self.repetition = repetition
    self.kind = kind
  }

  /// The kind of work that a step does.
  package indirect enum Kind: Sendable {
    case action(ActionCall)
    case bindings([NamedTemplate])
    case wait(Wait)
    case approval(Approval)
    case ask(Ask)
    case parallel([Branch])
    case block(Block, outputs: [NamedTemplate]?)
    case cases(Cases)
    case call(RecipeCall)
    case failure(ValueTemplate)

    /// The id of the action, or the key that the recipe has for this kind.
    var word: String {
      switch self {
      case .action(let call): call.action.id
      case .bindings: "let"
      case .wait: "wait"
      case .approval: "approve"
      case .ask: "ask"
      case .parallel: "parallel"
      case .block: "steps"
      case .cases(let cases): cases.isSwitch ? "switch" : "steps"
      case .call: "call"
      case .failure: "fail"
      }
    }
  }

  /// Whether a `let` step gives other values when it is computed at another instant.
  package var readsNow: Bool {
    guard case .bindings(let names) = kind else { return false }
    return names.contains { $0.template.reads("now") } || !(condition?.program.references("now").isEmpty ?? true)
  }

  /// The question to people that it asks; nil if it asks none.
  package var question: QuestionSettings? {
    switch kind {
    case .approval(let approval): approval.question
    case .ask(let ask): ask.question
    default: nil
    }
  }

  /// The words for the step in progress lines and messages.
  package var title: String { name ?? id ?? work }

  /// The same for a drawing, which shows the names of `let` and the recipe of `call` beside it.
  var shortTitle: String { name ?? id ?? kind.word }

  /// The id of the step's action, or the kind of step with the names or the recipe that it is about.
  package var work: String {
    switch kind {
    case .bindings(let names): "\(kind.word) \(names.map(\.name).joined(separator: ", "))"
    case .call(let call): "\(kind.word) \(call.path)"
    default: kind.word
    }
  }
}

/// One action with its input.
package final class ActionCall: Sendable {
  package let action: ActionDescriptor
  /// The name in `errand.yaml`; the plugin's own name is the default.
  package let connection: String
  package let input: ValueTemplate
  package let key: ValueTemplate?
  package let shape: Shape?

  init(action: ActionDescriptor, connection: String, input: ValueTemplate, key: ValueTemplate?, shape: Shape?) {
    self.action = action
    self.connection = connection
    self.input = input
    self.key = key
    self.shape = shape
  }

  /// The type of each output.
  package var outputType: ValueType { shape?.type ?? action.outputType }
}

/// Blocks that exclude each other: the cases of `if` and `else`, or of `switch`.
package final class Cases: Sendable {
  /// The expression that chooses: the condition of `if`, or the value of `switch`.
  package let subject: RecipeExpression
  package let list: [Case]
  package let isSwitch: Bool
  /// The type of the step's value, whichever case runs.
  package let type: ValueType

  init(subject: RecipeExpression, _ list: [Case], isSwitch: Bool, giving type: ValueType) {
    self.subject = subject
    self.list = list
    self.isSwitch = isSwitch
    self.type = type
  }

  /// The case that a value of the subject chooses; nil if there is none.
  package func chosen(by value: Value) -> Case? {
    list.first { $0.value?.isSameChoice(as: value) ?? true }
  }

  /// The case of a name.
  package subscript(name: String) -> Case? { list.first { $0.name.hasSameScalars(as: name) } }

  /// Why a value of the subject chooses nothing.
  package func refusal(of value: Value) -> String {
    isSwitch
      ? "'switch' has no case for \(value.shortened())" : "a condition must be a bool, but this is \(value.kindName)"
  }
}

/// One of several blocks.
package struct Case: Sendable {
  /// The case's name in the step's record: `if`, `else`, `case2`, `default`.
  package var name: String
  /// The value that chooses it; nil for the case that takes all other values.
  package var value: Value?
  package var block: Block
  package var outputs: [NamedTemplate]?

  /// The part of the paths of its steps that follows the path of the step around; nil for none.
  package var element: String? { name == "if" ? nil : "#\(name)" }
  /// The prefix of these paths after the path of the step around.
  package var prefix: String { element.map { "/\($0)/" } ?? "/" }
  /// The case's name for people: `if`, `else`, `default`, or the value.
  package var label: String { name.hasPrefix("case") ? value?.plainText ?? name : name }
}

extension Value {
  /// Whether `switch` takes both for the same.
  func isSameChoice(as other: Value) -> Bool {
    switch (content, other.content) {
    case (.string(let one), .string(let other)): one.hasSameScalars(as: other)
    case (.int(let one), .int(let other)): one == other
    case (.bool(let one), .bool(let other)): one == other
    default: false
    }
  }
}

/// Another recipe, run as one step.
package struct RecipeCall: Sendable {
  package var path: String
  package var recipe: Recipe
  package var inputs: ValueTemplate
}

/// One named branch of `parallel`.
package struct Branch: Sendable {
  package var name: String
  package var block: Block
}

/// A `forEach` with its options.
package final class Loop: Sendable {
  package enum OnItemError: String, CaseIterable, Sendable { case stop, `continue` }

  package let items: RecipeExpression
  package let condition: RecipeExpression?
  package let maxParallel: Int
  package let onItemError: OnItemError
  /// How many variables are declared outside; the item comes next, then its index if it has a name.
  package let scopeSize: Int
  package let itemName: String
  package let indexName: String?

  init(
    items: RecipeExpression, condition: RecipeExpression?, maxParallel: Int, onItemError: OnItemError, scopeSize: Int,
    itemName: String, indexName: String?
  ) {
    self.items = items
    self.condition = condition
    self.maxParallel = maxParallel
    self.onItemError = onItemError
    self.scopeSize = scopeSize
    self.itemName = itemName
    self.indexName = indexName
  }

  package var hasIndex: Bool { indexName != nil }
}

/// The handling of a step's error.
package struct ErrorHandling: Sendable {
  /// Steps that see `error`, which is the first variable of their block; nil if the error is ignored.
  package var steps: Block?
  /// The value that the step returns instead; nil if its value is then absent.
  package var value: Fallback?
}

/// The value that a failed step returns in the place of its own.
package struct Fallback: Sendable {
  /// Sees what the handler's block declared.
  package var template: ValueTemplate
  package let location: Diagnostic.Location?
  /// The fields of the step's own value.
  let schema: ObjectSchema
  /// The fields that hold CEL's optional values.
  let optionals: [String]

  /// A computed value in the form of the step's value.
  ///
  /// - Throws: If it doesn't fit the step's type; only a value of unknown type can fail.
  package func fitted(_ value: Value) throws(ValueError) -> Value {
    let faults = schema.check(value, as: "value").filter { $0.severity == .error }
    guard faults.isEmpty else { throw ValueError(faults) }
    return wrapped(schema.restored(value))
  }

  /// The same for a value of a plan, which may have unknown parts.
  package func fitted(asFarAsKnown value: Value) throws(ValueError) -> Value {
    value.firstUnknown == nil ? try fitted(value) : wrapped(value)
  }

  private func wrapped(_ value: Value) -> Value {
    guard var map = value.map else { return value }
    for name in optionals { map[name] = Value(.optional(map[name])) }
    return .map(map)
  }
}

/// Waiting for time to pass, an instant, or an event.
package enum Wait: Sendable {
  case duration(RecipeExpression)
  case span(TimeSpan)
  case until(RecipeExpression)
  case event(name: String, match: RecipeExpression?, form: EventForm, onTimeout: OnTimeout)
}

/// A question to people, as every step that asks has it.
package struct QuestionSettings: Sendable {
  package var prompt: ValueTemplate
  package var by: [String]
  /// The consequences, for the person who decides.
  package var yes: ValueTemplate?
  package var no: ValueTemplate?
  /// Whether the question is shown with its address.
  package var hasLink: Bool
  /// How long a link carries the right to answer; as long as the question is open if nil, at most 30 days.
  package var linkLifetime: TimeSpan?
  /// Steps that run once the question is asked; they see `question`, which is the first variable of their block.
  package var tell: Block?
  package var onTimeout: OnTimeout

  /// The part of paths between the step and the steps of `tell`.
  package static let tellPrefix = "/#tell/"
  /// How long a link may carry the right at most.
  package static let longestLink = TimeSpan.seconds(30 * 86_400)
  /// How long a step in `tell` may wait at most.
  package static let longestWait = TimeSpan.seconds(3600)
}

/// Waiting for a person's decision.
package struct Approval: Sendable {
  package enum OnReject: String, CaseIterable, Sendable { case end, `continue` }

  package var question: QuestionSettings
  package var onReject: OnReject
}

/// Asking a person for typed values.
package struct Ask: Sendable {
  package var question: QuestionSettings
  package var fields: [AskedField]
  /// The type of the answer.
  package let type: ValueType

  /// The most fields of a question.
  static let mostFields = 40
}

/// A value that a person is asked for.
package struct AskedField: Sendable {
  /// The declaration; a computed default is null.
  let input: Recipe.Input
  /// The declaration as the recipe has it, without a computed default.
  let written: Value
  /// The default, if it is computed when the question is asked: a mapping with `default`.
  let fallback: ValueTemplate?

  package var name: String { input.name }
}
