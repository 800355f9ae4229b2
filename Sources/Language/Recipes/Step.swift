package import ActionKit
package import Basics
import Expressions

/// Steps that run one after another and share a scope.
package struct Block: Sendable {
  package var steps: [Step]
  /// How many variables are declared where the block begins; what the block declares comes after.
  package var scopeSize: Int
  /// What the block gives: an object of its ids, or of what its `outputs` name.
  package var type: ObjectType
}

/// One step: what it does, and the modifiers around it.
///
/// The modifiers are nested from the outside in: `if`, `forEach`, `onError`, `retry`, `timeout`, `repeat`.
package final class Step: Sendable {
  package let id: String?
  package let name: String?
  /// What stands for the step in the paths of a run's records: its id, or `#` and its number in the block from 1.
  package let element: String
  package let location: Diagnostic.Location?
  package let condition: RecipeExpression?
  package let loop: Loop?
  package let onError: ErrorHandling?
  package let retry: RetryPolicy?
  package let timeout: TimeLimits
  package let kind: Kind

  init(
    id: String?, name: String?, element: String, location: Diagnostic.Location?, condition: RecipeExpression?,
    loop: Loop?, onError: ErrorHandling?, retry: RetryPolicy?, timeout: TimeLimits, kind: Kind
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
    self.kind = kind
  }

  /// What a step does.
  package indirect enum Kind: Sendable {
    case action(ActionCall)
    case bindings([NamedTemplate])
    case wait(Wait)
    case approval(Approval)
    case parallel([Branch])
    case block(Block, outputs: [NamedTemplate]?)
    case call(RecipeCall)
    case failure(ValueTemplate)
  }

  /// Whether a `let` step gives other values when it is computed at another instant.
  package var readsNow: Bool {
    guard case .bindings(let names) = kind else { return false }
    return names.contains { $0.template.reads("now") } || !(condition?.program.references("now").isEmpty ?? true)
  }

  /// The words for the step in progress lines and messages.
  package var title: String { name ?? id ?? work }

  /// What it does: the id of its action, or the kind of step that it is.
  package var work: String {
    switch kind {
    case .action(let call): call.action.id
    case .bindings(let names): "let \(names.map(\.name).joined(separator: ", "))"
    case .wait: "wait"
    case .approval: "approve"
    case .parallel: "parallel"
    case .block: "steps"
    case .call(let call): "call \(call.path)"
    case .failure: "fail"
    }
  }
}

/// One action with its input.
package final class ActionCall: Sendable {
  package let action: ActionDescriptor
  /// The name in `errand.yaml`; the plugin's own unless the step says otherwise.
  package let connection: String
  package let input: ValueTemplate
  package let key: ValueTemplate?
  package let repetition: Repetition?

  init(
    action: ActionDescriptor, connection: String, input: ValueTemplate, key: ValueTemplate?, repetition: Repetition?
  ) {
    self.action = action
    self.connection = connection
    self.input = input
    self.key = key
    self.repetition = repetition
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

/// `forEach` and what goes with it.
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

/// What catches a step's error.
package enum ErrorHandling: Sendable {
  case goOn
  /// Steps that see `error`, which is the first variable of their block.
  case steps(Block)
}

/// Waiting for time to pass, an instant, or an event.
package enum Wait: Sendable {
  case duration(RecipeExpression)
  case span(TimeSpan)
  case until(RecipeExpression)
  case event(name: String, match: RecipeExpression?, form: EventForm, onTimeout: OnTimeout)
}

/// Waiting for a person's decision.
package struct Approval: Sendable {
  package enum OnReject: String, CaseIterable, Sendable { case end, `continue` }

  package var prompt: ValueTemplate
  package var by: [String]
  package var onTimeout: OnTimeout
  package var onReject: OnReject
}
