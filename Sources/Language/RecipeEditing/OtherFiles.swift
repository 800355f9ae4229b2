package import Basics
import Recipes

// Editors send requests for every YAML file, and other programs have files with similar keys.

/// Guesses from a text's keys whether it is a recipe or the file of another program.
package struct LikelyRecipe {
  /// Whether it is a recipe: most of its keys belong to recipes, and a step has a kind that only recipes have.
  ///
  /// Files of build services have `steps`, GitHub workflows have `on`, and templates may have any key.
  package let isRecipe: Bool
  /// Whether it certainly is a file of another program, and not a recipe with mistakes.
  package let isForeign: Bool

  /// Keys at the top level of other programs' files that may also have `steps` or `on`.
  private static let foreignKeys: Set = [
    "jobs", "runs", "pool", "stages", "stage", "trigger", "kind", "apiVersion", "images", "services", "openapi",
    "pipeline", "agents", "when", "image",
  ]

  /// - Parameter schema: The schema of recipes.
  package init(_ source: Source, schema: Value) {
    let outline = TextOutline(source.bytes)
    let walk = SchemaWalk(schema, outline)
    let keys = Set(outline.keys(in: 0))
    let own = Set(walk.members(of: walk.forms(of: 0)).map(\.name))
    // In a file with the key `recipe`, other keys may be misspelled.
    func isOwn(_ key: String) -> Bool {
      own.contains(key) || keys.contains("recipe") && key.nearest(among: own) != nil
    }
    let isMostlyOwn = 2 * keys.count(where: isOwn) > keys.count
    let canBeRecipe =
      !outline.hasTemplates && isMostlyOwn && !keys.isDisjoint(with: ["steps", "on", "recipe"] as Set<String>)
    guard let steps = outline.child("steps", of: 0) else {
      isRecipe = canBeRecipe
      isForeign = !canBeRecipe && !keys.isDisjoint(with: LikelyRecipe.foreignKeys)
      return
    }
    let items = outline.nodes[steps].children.filter { outline.nodes[$0].kind == .item }
    let forms = walk.forms(of: steps).compactMap { $0["items"] }.flatMap { walk.expanded($0, nil) }
    let kinds = walk.kinds(in: forms)
    // Steps that were just started don't show anything yet.
    let areBegun = items.allSatisfy { outline.nodes[$0].children.isEmpty && outline.nodes[$0].value.isEmpty }
    let names = Set(items.flatMap { outline.keys(in: $0) })
    let known = Set(walk.members(of: forms).map(\.name))
    // `actions/checkout@v4` is an action of GitHub.
    let usesOthers = items.contains { item in
      outline.scalar("uses", of: item).map { $0.utf8.contains { $0 == ASCII.slash || $0 == ASCII.at } } ?? false
    }
    let isOfSteps =
      2 * names.intersection(known).count > names.count && !kinds.isDisjoint(with: names)
      || keys.contains("recipe") && !names.isEmpty
        && names.allSatisfy { known.contains($0) || $0.nearest(among: known) != nil }
    isRecipe = canBeRecipe && (areBegun || isOfSteps && !usesOthers)
    isForeign =
      !isRecipe
      && (!keys.isDisjoint(with: LikelyRecipe.foreignKeys) || usesOthers
        || !names.isSubset(of: known) && names.allSatisfy { !kinds.contains($0) && $0.nearest(among: kinds) == nil })
  }
}

extension EditorService {
  /// Whether a text from any program is a recipe.
  package func looksLikeRecipe(_ source: Source) -> Bool {
    LikelyRecipe(source, schema: folder.schemas[FileSchema.recipe.rawValue]).isRecipe
  }
}

extension TextOutline {
  /// Whether the text is a test of a recipe, or may become one.
  package var looksLikeTest: Bool {
    let keys = keys(in: 0)
    return keys.isEmpty || keys.contains { ["recipe", "cases"].contains($0) }
  }
}

extension SchemaWalk {
  /// The keys that distinguish the kinds of a mapping; it has one of them.
  fileprivate func kinds(in forms: [Value]) -> Set<String> {
    Set(forms.flatMap { $0["oneOf"]?.list ?? [] }.compactMap { $0["required"]?.list?.first?.string })
  }
}

extension TextOutline {
  /// Whether a line begins with `{{` or `{%`: then the text is a template for YAML, not YAML.
  fileprivate var hasTemplates: Bool {
    lineStarts.contains { start in
      let line = bytes[start...].drop { $0 == ASCII.space }
      return line.starts(with: "{{".utf8) || line.starts(with: "{%".utf8)
    }
  }
}
