package import Basics
import Recipes

// Editors ask about every file of YAML, and other programs have files with keys like ours.

extension EditorService {
  /// Whether a text that may be of any program is a recipe, by its keys.
  ///
  /// It has more keys of a recipe than others, and if it has steps, one of them does something that only ours do: files of
  /// build services have `steps`, workflows of GitHub `on`, and templates any key.
  package func looksLikeRecipe(_ source: Source) -> Bool {
    let outline = TextOutline(source.bytes)
    let walk = SchemaWalk(folder.schemas[FileSchema.recipe.rawValue], outline)
    let keys = Set(outline.keys(in: 0))
    let own = Set(walk.members(of: walk.forms(of: 0)).map(\.name))
    guard keys.contains("steps") || keys.contains("on") || keys.contains("recipe"),
      keys.intersection(own).count > keys.subtracting(own).count, !outline.hasTemplates
    else { return false }
    guard let steps = outline.child("steps", of: 0) else { return true }
    let items = outline.nodes[steps].children.filter { outline.nodes[$0].kind == .item }
    let kinds = walk.kinds(in: walk.forms(of: steps).compactMap { $0["items"] }.flatMap { walk.expanded($0, nil) })
    // Of what has just been begun nothing is known.
    let areBegun = items.allSatisfy { outline.nodes[$0].children.isEmpty && outline.nodes[$0].value.isEmpty }
    return areBegun || items.contains { !kinds.isDisjoint(with: outline.keys(in: $0)) }
  }
}

extension TextOutline {
  /// Whether it is, or may become, a test of a recipe.
  package var looksLikeTest: Bool {
    let keys = keys(in: 0)
    return keys.isEmpty || keys.contains { ["recipe", "cases"].contains($0) }
  }
}

extension SchemaWalk {
  /// The keys of which a mapping of some forms has one.
  fileprivate func kinds(in forms: [Value]) -> Set<String> {
    Set(forms.flatMap { $0["oneOf"]?.list ?? [] }.compactMap { $0["required"]?.list?.first?.string })
  }
}

extension TextOutline {
  /// Whether a line begins with `{{` or `{%`: it makes a text of YAML and is none.
  fileprivate var hasTemplates: Bool {
    lineStarts.contains { start in
      let line = bytes[start...].drop { $0 == ASCII.space }
      return line.starts(with: "{{".utf8) || line.starts(with: "{%".utf8)
    }
  }
}
