import ActionKit
import Basics
import Calendars
import Recipes

// The schema by which editors complete and check recipes while they are written: JSON Schema draft 07, which all of
// them know. It says what keys there are and what an action takes; names, types of expressions and all that is between
// the lines is for `errand check` to say.
//
// In a recipe's first line, `# yaml-language-server: $schema=recipe.schema.json` makes editors use it.

/// The schema of recipes that use these actions.
func recipeSchema(_ catalog: ActionCatalog) throws(Failure) -> String {
  do throws(JSONError) {
    var schema = try JSON.parse(frame).map ?? ValueMap()
    var definitions = schema["definitions"]?.map ?? ValueMap()
    var step = definitions["step"]?.map ?? ValueMap()
    var properties = step["properties"]?.map ?? ValueMap()
    let actions = catalog.plugins.flatMap(\.actions)
    properties["uses"] = .object([
      "description": .string("The action, as plugin.action."),
      "anyOf": .list(
        actions.map { .object(["const": .string($0.id), "description": .string($0.summary)]) }),
    ])
    step["properties"] = .map(properties)
    step["allOf"] = .list(actions.map(\.condition))
    definitions["step"] = .map(step)
    for action in actions {
      definitions["with.\(action.id)"] = .map(action.input.jsonSchema(allowsExpressions: true))
    }
    schema["definitions"] = .map(definitions)
    return try JSON.text(.map(schema), .pretty) + "\n"
  } catch {
    throw Failure("the frame of the recipes' schema is no JSON: \(error)")
  }
}

extension ActionDescriptor {
  /// What `with` is where `uses` names the action.
  fileprivate var condition: Value {
    var then = ValueMap()
    then["properties"] = .object(["with": .object(["$ref": .string("#/definitions/with.\(id)")])])
    if input.fields.contains(where: { $0.isRequired }) { then["required"] = .list([.string("with")]) }
    return .object([
      "if": .object([
        "properties": .object(["uses": .object(["const": .string(id)])]), "required": .list([.string("uses")]),
      ]),
      "then": .map(then),
    ])
  }
}

/// The cases of an enumeration, as the list after `enum`.
private func words<Choice: CaseIterable & RawRepresentable<String>>(_ type: Choice.Type) -> String {
  "[" + type.allCases.map { JSON.quoted($0.rawValue) }.joined(separator: ", ") + "]"
}

private let frame = #"""
  {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$comment": "Made by '\#(GeneratedFile.command)' from the declarations in the code. Do not edit.",
    "title": "A recipe of errand",
    "type": "object",
    "required": ["steps"],
    "additionalProperties": false,
    "properties": {
      "recipe": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,100}$", "description": "The name; the file's stem if left out."},
      "summary": {"type": "string", "description": "One sentence that says what the recipe is for."},
      "zone": {"$ref": "#/definitions/zone"},
      "inputs": {
        "type": "object",
        "description": "What whoever starts the recipe gives.",
        "propertyNames": {"$ref": "#/definitions/name"},
        "additionalProperties": {"$ref": "#/definitions/input"}
      },
      "on": {"type": "array", "items": {"$ref": "#/definitions/trigger"}, "description": "What starts the recipe by itself."},
      "defaults": {
        "type": "object",
        "additionalProperties": false,
        "description": "For steps that say nothing themselves.",
        "properties": {"retry": {"$ref": "#/definitions/retry"}, "timeout": {"$ref": "#/definitions/timeout"}}
      },
      "concurrencyGroup": {
        "type": "object",
        "required": ["name"],
        "additionalProperties": false,
        "description": "Runs of all recipes that name the same group share its limit.",
        "properties": {
          "name": {"type": "string"},
          "limit": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 1},
          "onLimit": {"enum": \#(words(Recipe.ConcurrencyGroup.OnLimit.self)), "default": "queue"}
        }
      },
      "steps": {"$ref": "#/definitions/steps"},
      "outputs": {"$ref": "#/definitions/values", "description": "What the recipe gives."},
      "onFailure": {"$ref": "#/definitions/steps", "description": "Run when a step failed and nothing caught it; they see 'error'."},
      "finally": {"$ref": "#/definitions/steps", "description": "Run at the end, however the run ended."}
    },
    "definitions": {
      "name": {"type": "string", "pattern": "^[a-z][A-Za-z0-9]*$"},
      "zone": {"type": "string", "description": "A time zone of the IANA database, such as Europe/Bucharest."},
      "duration": {
        "type": "string",
        "pattern": "^([0-9]+(\\.[0-9]*)?(ns|us|µs|ms|s|m|h|d|w))+$",
        "description": "A length of time, such as 90s or 1h30m."
      },
      "instant": {"type": "string", "format": "date-time", "description": "An instant with its offset, such as 2026-11-20T09:30:00+02:00."},
      "expression": {"type": ["string", "boolean"], "description": "An expression in CEL, bare or as one ${{ … }}."},
      "values": {"type": "object", "propertyNames": {"$ref": "#/definitions/name"}},
      "steps": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/step"}},
      "input": {
        "anyOf": [
          {"type": "string", "description": "A type; short for {type: …}."},
          {
            "type": "object",
            "required": ["type"],
            "additionalProperties": false,
            "properties": {
              "type": {
                "type": ["string", "object", "array"],
                "description": "int, double, bool, string, bytes, timestamp, duration, list(T), map(string, T), or the fields of an object."
              },
              "summary": {"type": "string"},
              "default": {},
              "choices": {"type": "array", "minItems": 1},
              "min": {},
              "max": {},
              "pattern": {"type": "string", "description": "A regular expression in RE2's syntax."},
              "secret": {"type": "boolean", "default": false}
            }
          }
        ]
      },
      "trigger": {
        "type": "object",
        "additionalProperties": false,
        "oneOf": [
          {"required": ["cron"]}, {"required": ["every"]}, {"required": ["at"]}, {"required": ["calendar"]},
          {"required": ["webhook"]}, {"required": ["event"]}, {"required": ["afterRecipe"]}
        ],
        "properties": {
          "id": {"$ref": "#/definitions/name"},
          "cron": {"type": "string", "description": "Minute, hour, day of the month, month, day of the week."},
          "every": {"$ref": "#/definitions/duration"},
          "from": {"$ref": "#/definitions/instant"},
          "at": {"$ref": "#/definitions/instant"},
          "calendar": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "minute": {"type": ["string", "integer"]},
              "hour": {"type": ["string", "integer"]},
              "dayOfMonth": {"type": ["string", "integer"]},
              "month": {"type": ["string", "integer"]},
              "dayOfWeek": {"type": ["string", "integer"]}
            }
          },
          "webhook": {
            "type": "object",
            "required": ["secret"],
            "additionalProperties": false,
            "properties": {"path": {"type": "string"}, "secret": {"type": "string"}, "scheme": {"type": "string"}}
          },
          "event": {
            "anyOf": [
              {"type": "string"},
              {
                "type": "object",
                "required": ["name"],
                "additionalProperties": false,
                "properties": {"name": {"type": "string"}, "match": {"$ref": "#/definitions/expression"}}
              }
            ]
          },
          "afterRecipe": {
            "anyOf": [
              {"type": "string"},
              {
                "type": "object",
                "required": ["recipe"],
                "additionalProperties": false,
                "properties": {"recipe": {"type": "string"}, "status": {"type": ["string", "array"]}}
              }
            ]
          },
          "zone": {"$ref": "#/definitions/zone"},
          "overlap": {"enum": \#(words(Trigger.Overlap.self)), "default": "skip"},
          "catchup": {"enum": \#(words(Trigger.Catchup.self)), "default": "last"},
          "catchupWindow": {"$ref": "#/definitions/duration"},
          "catchupLimit": {"type": "integer", "minimum": 1, "maximum": 1000},
          "jitter": {"$ref": "#/definitions/duration"},
          "dstGap": {"enum": \#(words(CronExpression.DSTGap.self)), "default": "shift"},
          "dstFold": {"enum": \#(words(CronExpression.DSTFold.self)), "default": "first"},
          "start": {"$ref": "#/definitions/instant"},
          "end": {"$ref": "#/definitions/instant"},
          "except": {"type": ["string", "array"], "description": "Days that are left out, or an .ics file."},
          "inputs": {"type": "object"},
          "paused": {"type": ["boolean", "string"], "description": "Whether it is paused, or a note that says why it is."}
        }
      },
      "retry": {
        "type": "object",
        "additionalProperties": false,
        "properties": {
          "maxAttempts": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 3, "description": "Counts the first try."},
          "initial": {"$ref": "#/definitions/duration"},
          "factor": {"type": "number", "minimum": 1, "maximum": 100, "default": 2},
          "maxInterval": {"$ref": "#/definitions/duration"},
          "jitter": {"enum": \#(words(RetrySchedule.Jitter.self)), "default": "full"},
          "on": {"type": "array", "items": {"enum": \#(words(ErrorKind.self))}},
          "if": {"$ref": "#/definitions/expression"}
        }
      },
      "timeout": {
        "anyOf": [
          {"$ref": "#/definitions/duration"},
          {
            "type": "object",
            "additionalProperties": false,
            "properties": {"attempt": {"$ref": "#/definitions/duration"}, "total": {"$ref": "#/definitions/duration"}}
          }
        ]
      },
      "step": {
        "type": "object",
        "additionalProperties": false,
        "oneOf": [
          {"required": ["uses"]}, {"required": ["let"]}, {"required": ["wait"]}, {"required": ["approve"]},
          {"required": ["parallel"]}, {"required": ["steps"]}, {"required": ["call"]}, {"required": ["fail"]}
        ],
        "properties": {
          "id": {"$ref": "#/definitions/name"},
          "name": {"type": "string", "description": "What progress lines call the step."},
          "if": {"$ref": "#/definitions/expression"},
          "forEach": {"$ref": "#/definitions/expression", "description": "Does the step for each item of a list."},
          "as": {"$ref": "#/definitions/name"},
          "indexAs": {"$ref": "#/definitions/name"},
          "where": {"$ref": "#/definitions/expression"},
          "maxParallel": {"type": "integer", "minimum": 1, "maximum": 1024, "default": 1},
          "onItemError": {"enum": \#(words(Loop.OnItemError.self)), "default": "stop"},
          "onError": {"anyOf": [{"const": "continue"}, {"$ref": "#/definitions/steps"}]},
          "retry": {"$ref": "#/definitions/retry"},
          "timeout": {"$ref": "#/definitions/timeout"},
          "uses": {},
          "with": {"type": "object", "description": "The action's input, or the called recipe's inputs."},
          "connection": {"type": "string", "description": "Another connection of errand.yaml than the one named after the plugin."},
          "key": {"type": "string", "description": "The idempotency key, where the service honours one."},
          "repeat": {
            "type": "object",
            "required": ["until", "every"],
            "additionalProperties": false,
            "description": "Does it again until 'until' holds for 'result'.",
            "properties": {
              "until": {"$ref": "#/definitions/expression"},
              "every": {"$ref": "#/definitions/duration"},
              "factor": {"type": "number", "minimum": 1, "maximum": 100, "default": 1},
              "maxEvery": {"$ref": "#/definitions/duration"},
              "timeout": {"$ref": "#/definitions/duration"}
            }
          },
          "let": {"$ref": "#/definitions/values", "description": "Names for values, for the later steps of the block."},
          "wait": {
            "anyOf": [
              {"type": "string", "description": "A length of time, or an expression for one."},
              {
                "type": "object",
                "required": ["until"],
                "additionalProperties": false,
                "properties": {"until": {"$ref": "#/definitions/expression"}}
              },
              {
                "type": "object",
                "required": ["event"],
                "additionalProperties": false,
                "properties": {
                  "event": {"type": "string"},
                  "match": {"$ref": "#/definitions/expression"},
                  "timeout": {"$ref": "#/definitions/duration"},
                  "onTimeout": {"enum": \#(words(OnTimeout.self)), "default": "fail"}
                }
              }
            ]
          },
          "approve": {
            "type": "object",
            "required": ["prompt"],
            "additionalProperties": false,
            "properties": {
              "prompt": {"type": "string", "description": "The question that the person is asked."},
              "by": {"type": ["string", "array"]},
              "timeout": {"$ref": "#/definitions/duration"},
              "onTimeout": {"enum": \#(words(OnTimeout.self)), "default": "fail"},
              "onReject": {"enum": \#(words(Approval.OnReject.self)), "default": "end"}
            }
          },
          "parallel": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"$ref": "#/definitions/name"},
            "additionalProperties": {"$ref": "#/definitions/steps"}
          },
          "steps": {"$ref": "#/definitions/steps"},
          "outputs": {"$ref": "#/definitions/values", "description": "What the block gives."},
          "call": {"type": "string", "description": "The path of another recipe, from this one's folder."},
          "fail": {"type": "string", "description": "Ends the run with this message."}
        }
      }
    }
  }
  """#
