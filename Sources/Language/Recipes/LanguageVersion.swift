/// The version of the recipe language: the meaning of keys and expressions.
///
/// A run keeps the version that was current when it began, and with it the meaning of its recipe until it ends. A
/// version is added when a valid recipe would otherwise change its meaning; code that uses `RecipeEnvironment.language`
/// then keeps the old meaning.
///
/// 1. `event` was the event's data itself.
/// 2. `event` is an object that has it: `event.data` (`EventForm`).
package enum LanguageVersion {
  package static let current = 2
}
