// The schemas that editors use to complete and check files: JSON Schema draft 07, which all editors support. They list
// the keys, the inputs of actions and settings of connections, and the keys that go together. Names, types of
// expressions and relations between lines are checked by `errand check` only.
//
// In a recipe's first line, `# yaml-language-server: $schema=recipe.schema.json` makes editors use one. The schema of
// recipes takes tests of recipes too, so that one line does for both.
package import ActionKit
package import Basics
import Calendars

/// The kinds of files that people write; each has a schema.
package enum FileSchema: String, CaseIterable, Sendable {
  case recipe, test, errand

  /// The schema of files that use these plugins.
  package func document(_ catalog: ActionCatalog) -> Value {
    var schema = ValueMap([
      ("$schema", .string("http://json-schema.org/draft-07/schema#")),
      ("$comment", .string("Made by 'errand schema \(rawValue)' from the declarations in the code. Do not edit.")),
    ])
    var definitions = template(sharedDefinitions)
    switch self {
    case .recipe:
      schema["title"] = .string("A recipe of errand, or a test of one")
      schema["if"] = .object(["required": .list([.string("cases")])])
      schema["then"] = reference("testFile")
      schema["else"] = reference("recipe")
      definitions.merge(recipeDefinitions(catalog))
      definitions.merge(testDefinitions(catalog))
    case .test:
      schema["title"] = .string("A test of a recipe of errand")
      schema["allOf"] = .list([reference("testFile")])
      definitions.merge(testDefinitions(catalog))
    case .errand:
      schema["title"] = .string("The configuration of errand")
      schema["allOf"] = .list([reference("configuration")])
      definitions.merge(configurationDefinitions(catalog))
    }
    schema["definitions"] = .map(definitions)
    return .map(schema)
  }
}

// MARK: Recipes

private func recipeDefinitions(_ catalog: ActionCatalog) -> ValueMap {
  var definitions = template(recipeDefinitions)
  definitions.add(recipeDefinitionKeys)
  let actions = catalog.plugins.flatMap(\.actions)
  edit(&definitions, "step") { step in
    step["allOf"] = .list(actions.map(\.condition))
    edit(&step, "properties") { properties in
      let current = actions.map { named($0.id, $0.summary) }
      let former = actions.flatMap { action in
        action.formerIDs.map { named($0, "\(action.summary) Called '\(action.id)' now.") }
      }
      properties["uses"] = .object([
        "description": .string("The action, as plugin.action."), "anyOf": .list(current + former),
      ])
    }
  }
  for action in actions {
    definitions["with.\(action.id)"] = .map(action.input.jsonSchema(allowsExpressions: true))
  }
  return definitions
}

extension ActionDescriptor {
  /// The schema of `with` for a `uses` that names the action.
  fileprivate var condition: Value {
    var then = ValueMap()
    then["properties"] = .object(["with": reference("with.\(id)")])
    if input.fields.contains(where: { $0.isRequired }) { then["required"] = .list([.string("with")]) }
    let name: Value =
      formerIDs.isEmpty ? .object(["const": .string(id)]) : .object(["enum": wordList([id] + formerIDs)])
    return .object([
      "if": .object(["properties": .object(["uses": name]), "required": .list([.string("uses")])]),
      "then": .map(then),
    ])
  }
}

// MARK: Tests of recipes

private func testDefinitions(_ catalog: ActionCatalog) -> ValueMap {
  var definitions = template(testDefinitions)
  definitions.add(testDefinitionKeys)
  edit(&definitions, "happening") { happening in
    // An expectation may be the only key.
    let alone = Value.object(["required": wordList(["expect"]), "maxProperties": .int(1)])
    happening["oneOf"] = .list((happening["oneOf"]?.list ?? []) + [alone])
  }
  definitions["plugin"] = .object([
    "type": .string("string"), "enum": wordList(catalog.plugins.map(\.name)),
    "description": .string("A plugin that the recipe uses."),
  ])
  return definitions
}

// MARK: errand.yaml

private func configurationDefinitions(_ catalog: ActionCatalog) -> ValueMap {
  var definitions = ValueMap()
  definitions.add(configurationDefinitionKeys)
  let plugins = catalog.plugins
  for plugin in plugins {
    var settings = plugin.configuration.jsonSchema(allowsExpressions: true)
    edit(&settings, "properties") {
      $0["plugin"] = named(plugin.name, plugin.summary)
      $0["limits"] = reference("limits")
    }
    definitions["settings.\(plugin.name)"] = .map(settings)
  }
  var own = ValueMap()
  for plugin in plugins {
    own[plugin.name] = .object([
      "description": .string(plugin.summary), "allOf": .list([reference("settings.\(plugin.name)")]),
    ])
  }
  edit(&definitions, "connections") { $0["properties"] = .map(own) }
  definitions["connection"] = .object([
    "type": .string("object"), "required": wordList(["plugin"]), "description": .string("A service with its settings."),
    "properties": .object([
      "plugin": .object([
        "description": .string("The connection's plugin."),
        "anyOf": .list(plugins.map { named($0.name, $0.summary) }),
      ])
    ]),
    "allOf": .list(
      plugins.map { plugin in
        .object([
          "if": .object([
            "properties": .object(["plugin": .object(["const": .string(plugin.name)])]),
            "required": wordList(["plugin"]),
          ]),
          "then": reference("settings.\(plugin.name)"),
        ])
      }),
  ])
  return definitions
}

// MARK: Parts of schemas

private func reference(_ name: String) -> Value { .map(Form.definition(name).schema) }

private func named(_ name: String, _ summary: String) -> Value {
  .object(["const": .string(name), "description": .string(summary)])
}

private func edit(_ map: inout ValueMap, _ name: String, _ change: (inout ValueMap) -> Void) {
  var inner = map[name]?.map ?? ValueMap()
  change(&inner)
  map[name] = .map(inner)
}

extension ValueMap {
  /// Adds definitions that follow from declarations.
  fileprivate mutating func add(_ definitions: [Key]) {
    for definition in definitions { self[definition.name] = definition.schema }
  }

  fileprivate mutating func merge(_ other: ValueMap) {
    for member in other.members { self[member.key] = member.value }
  }
}

/// A text of ours as a map.
private func template(_ text: String) -> ValueMap {
  do throws(JSONError) {
    return try JSON.parse(text).map ?? ValueMap()
  } catch {
    // The texts are constants of this module, and a test reads each of them.
    preconditionFailure("a template of the schemas is no JSON: \(error)")
  }
}
