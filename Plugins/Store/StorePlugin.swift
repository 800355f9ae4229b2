public import ActionKit

/// Lets recipes store named values that outlive their runs: a streak, the day of the last report, a copy to compare
/// with.
///
/// The values are in the state, beside the runs, and all recipes of a state share them. The plugin has no client and no
/// sandbox: with `--sandbox` the state is a temporary one, and the values are deleted with it.
public enum StorePlugin: LocalPlugin {
  public static let name = "store"
  public static let summary = "Stores named values that outlive a run, safely beside other runs."
  public static let actions: [any Action<Void>.Type] = [
    Get.self, Put.self, CompareAndSet.self, Increment.self, Delete.self, List.self,
  ]

  /// Empty, because the values are in the state.
  public struct Configuration: FieldSet {
    public init() {}
  }

  public static func connect(_ configuration: Configuration, in context: PluginContext) {}
}

extension ActionContext {
  /// The stored values, which every run has; a context that was created by hand may lack them.
  var storedValues: any ValueStore {
    get throws(ActionError) {
      guard let values else {
        throw ActionError(.internal, "there is no state to keep values in", effect: ActionError.Effect.none)
      }
      return values
    }
  }
}

/// The name of a value in plans.
func subject(_ name: String) -> String { "The stored value '\(name)'" }

/// A value as people read it, shortened if it is long.
func displayed(_ value: Value) -> String { JSON.displayed(value).excerpt(200) }
