import Basics
import Recipes

/// The names in another recipe that a file may use, as far as they are known.
///
/// The recipe may be faulty, because a recipe and its test are often written at the same time.
struct OtherRecipe {
  struct Input {
    var name: String
    var type: ValueType
    var summary: String
    var isRequired: Bool
    /// The text of the default, if it is on one line and isn't a secret.
    var fallback: String?
  }

  var summary = ""
  var inputs: [Input] = []
  /// The ids of its steps; `approvals` holds the ids of the approvals among them.
  var steps: [String] = []
  var approvals: [String] = []
  /// The ids of the questions for values among them.
  var asks: [String] = []
  var outputs: [String] = []

  func input(_ name: String) -> Input? { inputs.first { $0.name.hasSameScalars(as: name) } }
}

extension EditorService {
  /// The recipe at a path that a file names.
  func recipe(at path: String, besides source: Source) -> OtherRecipe? {
    guard let text = try? folder.environment(source.name).read(Recipe.path(path, besides: source.name)) else {
      return nil
    }
    return recipe(in: text)
  }

  /// The declarations in a recipe's text.
  func recipe(in text: Source) -> OtherRecipe {
    let whole = recovered(text)
    let outline = TextOutline(whole.bytes)
    var recipe = OtherRecipe()
    recipe.summary = outline.scalar("summary", of: 0) ?? ""
    let declarations = observed(whole).declarations.filter { $0.location.source === whole }
    // A block's steps are read before the block is declared.
    for declaration in declarations.sorted(by: { $0.location.range.lowerBound < $1.location.range.lowerBound }) {
      let node = outline.node(at: declaration.location.range.lowerBound)
      switch declaration.kind {
      case .input:
        recipe.inputs.append(input(declaration, outline))
      case .step:
        recipe.steps.append(declaration.name)
        // The node is the key `id`; the step's kind is a key beside it.
        if outline.child("approve", of: outline.nodes[node].parent) != nil { recipe.approvals.append(declaration.name) }
        if outline.child("ask", of: outline.nodes[node].parent) != nil { recipe.asks.append(declaration.name) }
      case .variable: break
      }
    }
    recipe.outputs = outline.child("outputs", of: 0).map(outline.keys) ?? []
    return recipe
  }

  /// An input that is declared in a recipe's text.
  func input(_ declaration: CheckObserver.Declaration, _ outline: TextOutline) -> OtherRecipe.Input {
    let node = outline.node(at: declaration.location.range.lowerBound)
    let fallback = outline.child("default", of: node)
    let text = fallback.map { outline.text(outline.nodes[$0].value) } ?? ""
    let isSecret =
      declaration.type.holdsSecret || declaration.name.namesSecret || outline.scalar("secret", of: node) == "true"
    let isShown = !text.isEmpty && !text.contains("\n") && !isSecret
    return OtherRecipe.Input(
      name: declaration.name, type: declaration.type, summary: outline.scalar("summary", of: node) ?? "",
      isRequired: fallback == nil, fallback: isShown ? text : nil)
  }

  /// The recipe that a test tests.
  func tested(by outline: TextOutline, _ source: Source) -> OtherRecipe? {
    outline.scalar("recipe", of: 0).flatMap { recipe(at: $0, besides: source) }
  }
}
