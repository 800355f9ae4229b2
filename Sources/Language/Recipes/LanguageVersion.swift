/// The version of the recipe language: the meaning of keys and expressions.
///
/// A run keeps the version that was current when it began, and with it the meaning of its recipe until it ends. A version
/// is added when a recipe that checked before would mean something else; what refers to `RecipeEnvironment.language`
/// then keeps the old meaning. There is one version so far.
package enum LanguageVersion {
  package static let current = 1
}
