// The environment for checks of texts from elsewhere, and findings as other programs read them.
package import ActionKit
package import Basics
package import Recipes
import RunState

extension ScheduleHost {
  /// The environment to check recipes from elsewhere in: they see only the files of served recipes.
  package func environmentOfTexts() -> RecipeEnvironment {
    var texts = ValueMap()
    for item in registry.items { for member in item.texts.members { texts[member.name ?? ""] = member.value } }
    var environment = registry.environment
    let (read, folders) = (Recipe.reader(of: .map(texts)), registry.folders)
    let known = texts
    environment.read = { path throws(FileError) in
      // A text from elsewhere has no place; it names files from the folder of the recipes, or from the one around it.
      let places = folders.flatMap { folder in
        [path, "../\(path)"].map { Recipe.path($0, besides: "\(folder)/recipe.yaml") }
      }
      return try read(known[path] == nil ? places.first { known[$0] != nil } ?? path : path)
    }
    environment.hasFolder = { _ in nil }
    return environment
  }
}

extension ActionDescriptor {
  /// The action as `errand actions --json` and the API show it.
  package var entry: Value {
    .object([
      "id": .string(id), "summary": .string(summary), "effect": .string(effect.name),
      "input": .map(input.jsonSchema(allowsExpressions: true)),
      "output": .map(output.jsonSchema(allowsExpressions: false)),
    ])
  }
}

extension Diagnostic {
  /// The fault as an object in JSON, with the place where it begins.
  package var members: ValueMap {
    var map = ValueMap()
    map["severity"] = .string(severity.rawValue)
    map["message"] = .string(message)
    if let location {
      let start = location.source.position(at: location.range.lowerBound)
      map["file"] = .string(location.source.name)
      map["line"] = .int(start.line)
      map["column"] = .int(start.column)
    }
    return map
  }

  /// The fault as `errand check --format json` and the API show it.
  package var entry: Value { FindingRecord(self).encoded() }
}
