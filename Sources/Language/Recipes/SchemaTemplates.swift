// What the schemas say that no declaration of a plugin does: the keys of recipes, of their tests and of errand.yaml, with
// the words that editors show for each. `FileSchema` puts in which keys go together.
import ActionKit
import Basics
import Calendars

let sharedDefinitions = #"""
  {
    "name": {
      "type": "string", "pattern": "^[a-z][A-Za-z0-9]*$",
      "description": "A name that expressions can use: letters and digits, beginning with a small letter."
    },
    "zone": {"type": "string", "description": "A time zone of the IANA database, such as Europe/Bucharest."},
    "duration": {
      "type": "string",
      "pattern": "^\\+?(0|([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|ms|s|m|h|d|w))+$",
      "description": "A length of time, such as 90s or 1h30m."
    },
    "instant": {
      "type": "string", "format": "date-time",
      "description": "An instant with its offset, such as 2026-11-20T09:30:00+02:00."
    },
    "expression": {"type": ["string", "boolean"], "description": "An expression in CEL, bare or as one ${{ … }}."},
    "texts": {
      "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
      "description": "A text, or a list of texts."
    }
  }
  """#

let recipeTemplate = #"""
  {
    "recipe": {
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
            "name": {"type": "string", "description": "The group's name, by which other recipes join it."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 1, "description": "How many runs may be open at once."},
            "onLimit": {
              "enum": \#(words(Recipe.ConcurrencyGroup.OnLimit.self)), "default": "queue",
              "description": "What becomes of a run that would be one too many."
            }
          }
        },
        "steps": {"$ref": "#/definitions/steps"},
        "outputs": {"$ref": "#/definitions/values", "description": "What the recipe gives."},
        "onFailure": {"$ref": "#/definitions/steps", "description": "Run when a step failed and nothing caught it; they see 'error'."},
        "finally": {"$ref": "#/definitions/steps", "description": "Run at the end, however the run ended."}
      }
    },
    "template": {"type": "string", "pattern": "\\$\\{\\{", "description": "An expression, as ${{ … }}."},
    "values": {
      "type": "object", "propertyNames": {"$ref": "#/definitions/name"},
      "description": "Names for values, which may be or hold expressions."
    },
    "steps": {
      "type": "array", "minItems": 1, "items": {"$ref": "#/definitions/step"},
      "description": "What is done, one after another."
    },
    "type": {
      "description": "int, double, bool, string, bytes, timestamp, duration, list(T), map(string, T), or the fields of an object.",
      "anyOf": [
        {
          "type": "string",
          "pattern": "^ *((list *\\(|map *\\( *string *,) *)*(int|double|bool|string|bytes|timestamp|duration)[ )]*\\??$"
        },
        {"type": "object", "additionalProperties": {"$ref": "#/definitions/type"}},
        {"type": "array", "minItems": 1, "maxItems": 1, "items": {"$ref": "#/definitions/type"}}
      ]
    },
    "input": {
      "if": {"type": "object"},
      "then": {
        "required": ["type"],
        "additionalProperties": false,
        "properties": {
          "type": {"$ref": "#/definitions/type"},
          "summary": {"type": "string", "description": "One sentence that says what the input is."},
          "default": {"description": "What it is when it is left out; without one, it has to be given."},
          "choices": {
            "type": "array", "minItems": 1, "items": {"type": "string"}, "description": "The texts that it may be."
          },
          "min": {"type": ["number", "string"], "description": "The least value."},
          "max": {"type": ["number", "string"], "description": "The greatest value."},
          "pattern": {"type": "string", "description": "A regular expression in RE2's syntax, which all of it has to match."},
          "secret": {
            "type": "boolean", "default": false,
            "description": "Whether it is given by the name of a secret, and never shown or kept."
          }
        }
      },
      "else": {"$ref": "#/definitions/type"}
    },
    "cronField": {
      "type": ["string", "integer"], "pattern": "^\\S+$",
      "description": "One field of a cron expression, such as 0, 1-5 or */15."
    },
    "trigger": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "id": {"$ref": "#/definitions/name", "description": "What tells it from the other entries."},
        "cron": {
          "type": "string", "pattern": "^\\s*(@[A-Za-z]+|\\S+(\\s+\\S+){4})\\s*$",
          "description": "Minute, hour, day of the month, month, day of the week."
        },
        "every": {"$ref": "#/definitions/duration", "description": "How far apart the slots are, such as 6h."},
        "from": {"$ref": "#/definitions/instant", "description": "The instant from which 'every' counts."},
        "at": {"$ref": "#/definitions/instant", "description": "The one instant that it is due at."},
        "calendar": {
          "type": "object",
          "additionalProperties": false,
          "description": "Days and times; all of the fields have to match.",
          "properties": {
            "minute": {"$ref": "#/definitions/cronField", "description": "0 to 59; 0 if left out."},
            "hour": {"$ref": "#/definitions/cronField", "description": "0 to 23; 0 if left out."},
            "dayOfMonth": {"$ref": "#/definitions/cronField", "description": "1 to 31; L is the last day, L-1 the one before."},
            "month": {"$ref": "#/definitions/cronField", "description": "1 to 12, or JAN to DEC."},
            "dayOfWeek": {"$ref": "#/definitions/cronField", "description": "0 to 7, or SUN to SAT."}
          }
        },
        "event": {
          "description": "Due when an event comes that no run waits for.",
          "anyOf": [
            {"type": "string"},
            {
              "type": "object",
              "required": ["name"],
              "additionalProperties": false,
              "properties": {
                "name": {"type": "string", "description": "The event's name."},
                "match": {"$ref": "#/definitions/expression", "description": "A condition on 'event'."}
              }
            }
          ]
        },
        "afterRecipe": {
          "description": "Due when a run of another recipe has ended.",
          "anyOf": [
            {"type": "string"},
            {
              "type": "object",
              "required": ["recipe"],
              "additionalProperties": false,
              "properties": {
                "recipe": {"type": "string", "description": "The other recipe's name."},
                "status": {"$ref": "#/definitions/ends", "description": "How it has to have ended; succeeded if left out."}
              }
            }
          ]
        },
        "zone": {"$ref": "#/definitions/zone"},
        "overlap": {
          "enum": \#(words(Trigger.Overlap.self)), "default": "skip",
          "description": "What becomes of a slot that is due while a run of the schedule is open."
        },
        "catchup": {
          "enum": \#(words(Trigger.Catchup.self)), "default": "last",
          "description": "Which slots are made up for that fell due while nobody served."
        },
        "catchupWindow": {"$ref": "#/definitions/duration", "description": "How late a slot may still start a run."},
        "catchupLimit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many slots are made up for."},
        "jitter": {"$ref": "#/definitions/duration", "description": "How far the slots are spread, by chance."},
        "dstGap": {
          "enum": \#(words(CronExpression.DSTGap.self)), "default": "shift",
          "description": "What becomes of a time that the clocks leave out."
        },
        "dstFold": {
          "enum": \#(words(CronExpression.DSTFold.self)), "default": "first",
          "description": "Which one counts of a time that the clocks show twice."
        },
        "start": {"$ref": "#/definitions/instant", "description": "Nothing is due before it."},
        "end": {"$ref": "#/definitions/instant", "description": "Nothing is due from then on."},
        "except": {"$ref": "#/definitions/texts", "description": "Days that are left out, or an .ics file."},
        "pauseOnFailure": {"type": "boolean", "default": false, "description": "Whether a run that fails pauses the entry."},
        "remainingRuns": {"type": "integer", "minimum": 1, "description": "How many slots may start a run."},
        "inputs": {"type": "object", "description": "What its runs are given; values may be computed from `run`, `now` and `event` when a run starts."},
        "paused": {"type": ["boolean", "string"], "description": "Whether it is paused, or a note that says why it is."}
      }
    },
    "ends": {
      "description": "How a run ended.",
      "anyOf": [{"$ref": "#/definitions/end"}, {"type": "array", "items": {"$ref": "#/definitions/end"}}]
    },
    "end": {"enum": \#(words(RecipeTestReader.ends)), "description": "How a run ended."},
    "retry": {
      "type": "object",
      "additionalProperties": false,
      "description": "When and how often it is tried again if it fails.",
      "properties": {
        "maxAttempts": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 3, "description": "Counts the first try."},
        "initial": {"$ref": "#/definitions/duration", "description": "How long before the second try; 1s if left out."},
        "factor": {"type": "number", "minimum": 1, "maximum": 100, "default": 2, "description": "How much longer before each further try."},
        "maxInterval": {"$ref": "#/definitions/duration", "description": "The longest time between two tries; 100s if left out."},
        "jitter": {"enum": \#(words(RetrySchedule.Jitter.self)), "default": "full", "description": "How chance shortens the time between tries."},
        "on": {
          "type": "array", "items": {"enum": \#(words(ErrorKind.self))},
          "description": "The kinds of errors that are worth a try."
        },
        "if": {"$ref": "#/definitions/expression", "description": "A condition on 'error'; if it does not hold, the error stands."}
      }
    },
    "timeout": {
      "description": "How long it may take, with all its tries.",
      "anyOf": [
        {"$ref": "#/definitions/duration"},
        {
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "attempt": {"$ref": "#/definitions/duration", "description": "How long one try may take."},
            "total": {"$ref": "#/definitions/duration", "description": "How long all tries may take."}
          }
        }
      ]
    },
    "onTimeout": {
      "enum": \#(words(OnTimeout.self)), "default": "fail", "description": "What happens when the time has run out."
    },
    "step": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "id": {"$ref": "#/definitions/name", "description": "The name under which later steps see what it gives, as steps.ID."},
        "name": {"type": "string", "description": "What progress lines call the step."},
        "if": {"$ref": "#/definitions/expression", "description": "The step is left out unless it holds."},
        "forEach": {"$ref": "#/definitions/expression", "description": "Does the step for each item of a list."},
        "as": {"$ref": "#/definitions/name", "description": "What the item is called; 'item' if left out."},
        "indexAs": {"$ref": "#/definitions/name", "description": "What the item's number is called, from 0."},
        "where": {"$ref": "#/definitions/expression", "description": "Items for which it does not hold are left out."},
        "maxParallel": {
          "type": "integer", "minimum": 1, "maximum": 1024, "default": 1, "description": "How many items are done at once."
        },
        "onItemError": {
          "enum": \#(words(Loop.OnItemError.self)), "default": "stop",
          "description": "Whether the other items are done when one fails."
        },
        "onError": {
          "description": "Catches a failure: 'continue', or steps that see 'error'.",
          "if": {"type": "array"}, "then": {"$ref": "#/definitions/steps"}, "else": {"const": "continue"}
        },
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
            "until": {"$ref": "#/definitions/expression", "description": "A condition on 'result'."},
            "every": {"$ref": "#/definitions/duration", "description": "How long to wait before doing it again."},
            "factor": {"type": "number", "minimum": 1, "maximum": 100, "default": 1, "description": "How much longer each time."},
            "maxEvery": {"$ref": "#/definitions/duration", "description": "The longest time between two rounds."},
            "jitter": {"$ref": "#/definitions/duration", "description": "How much longer or shorter, by chance."},
            "timeout": {"$ref": "#/definitions/duration", "description": "How long before it fails as timedOut."}
          }
        },
        "let": {"$ref": "#/definitions/values", "description": "Names for values, for the later steps of the block."},
        "wait": {
          "description": "Waits for a length of time, an instant or an event.",
          "if": {"type": "object"},
          "then": {
            "additionalProperties": false,
            "oneOf": [{"required": ["until"]}, {"required": ["event"]}],
            "dependencies": {"match": ["event"], "timeout": ["event"], "onTimeout": ["event"]},
            "properties": {
              "until": {"$ref": "#/definitions/expression", "description": "The instant."},
              "event": {"type": "string", "description": "The event's name."},
              "match": {"$ref": "#/definitions/expression", "description": "A condition on 'event'."},
              "timeout": {"$ref": "#/definitions/duration", "description": "How long at most."},
              "onTimeout": {"$ref": "#/definitions/onTimeout"}
            }
          },
          "else": {"anyOf": [{"$ref": "#/definitions/duration"}, {"$ref": "#/definitions/template"}]}
        },
        "approve": {
          "type": "object",
          "required": ["prompt"],
          "additionalProperties": false,
          "description": "Waits for a person's decision.",
          "properties": {
            "prompt": {"type": "string", "description": "The question that the person is asked."},
            "by": {"$ref": "#/definitions/texts", "description": "Who may decide; anybody if left out."},
            "timeout": {"$ref": "#/definitions/duration", "description": "How long at most."},
            "onTimeout": {"$ref": "#/definitions/onTimeout"},
            "onReject": {
              "enum": \#(words(Approval.OnReject.self)), "default": "end",
              "description": "Whether a no ends the run as rejected, or steps.ID.approved tells."
            }
          }
        },
        "parallel": {
          "type": "object",
          "minProperties": 1,
          "description": "Named branches, each a list of steps, which are done at once.",
          "propertyNames": {"$ref": "#/definitions/name"},
          "additionalProperties": {"$ref": "#/definitions/steps"}
        },
        "steps": {"$ref": "#/definitions/steps", "description": "A block of steps with one loop, retry or handler around it."},
        "outputs": {"$ref": "#/definitions/values", "description": "What the block gives; the object of its ids if left out."},
        "call": {"type": "string", "description": "The path of another recipe, from this one's folder."},
        "fail": {"type": "string", "description": "Ends the run with this message."}
      }
    }
  }
  """#

/// What a file and each of its cases may say, as the end of a mapping.
private let sharedInTests = #"""
  "start": {"$ref": "#/definitions/instant", "description": "What the clock shows at first."},
  "inputs": {"type": "object", "description": "The inputs of each run."},
  "secrets": {
    "type": "object", "additionalProperties": {"type": "string"},
    "description": "Made-up secrets, by their names."
  },
  "sandboxes": {"$ref": "#/definitions/sandboxes", "description": "What the sandboxes are told before anything happens."},
  "replay": {"type": "string", "description": "A recording that answers in place of every service, relative to the file."}
  """#

let testTemplate = #"""
  {
    "testFile": {
      "type": "object",
      "required": ["recipe", "cases"],
      "additionalProperties": false,
      "not": {"required": ["replay", "sandboxes"]},
      "properties": {
        "recipe": {"type": "string", "description": "The recipe that is tested, relative to the file."},
        \#(sharedInTests),
        "cases": {
          "type": "array", "minItems": 1, "items": {"$ref": "#/definitions/case"},
          "description": "Each with an agent, a state and services of its own."
        }
      }
    },
    "case": {
      "type": "object",
      "required": ["case", "do"],
      "additionalProperties": false,
      "not": {"required": ["replay", "sandboxes"]},
      "properties": {
        "case": {"type": "string", "description": "What is tested, in a few words."},
        \#(sharedInTests),
        "do": {
          "type": "array", "description": "What happens, in order, and what has to come of it.",
          "items": {
            "if": {"type": "string"},
            "then": {"enum": \#(words(RecipeTestReader.bare))},
            "else": {"$ref": "#/definitions/happening"}
          }
        }
      }
    },
    "happening": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "run": {"type": "object", "description": "A person starts the recipe, with these inputs beside those of the file."},
        "serve": {"type": "boolean", "description": "The agent fires schedules from now on."},
        "advance": {"$ref": "#/definitions/duration", "description": "Time passes."},
        "advanceTo": {"$ref": "#/definitions/instant", "description": "Time passes until then."},
        "setClock": {"$ref": "#/definitions/instant", "description": "Somebody sets the clock, and no time passes."},
        "stop": {"type": "boolean", "description": "The agent ends."},
        "restart": {"type": "boolean", "description": "An agent begins where the last one ended."},
        "signal": {
          "description": "An event comes.",
          "anyOf": [
            {"type": "string"},
            {
              "type": "object",
              "required": ["name"],
              "additionalProperties": false,
              "properties": {
                "name": {"type": "string", "description": "What the event is called."},
                "id": {"type": "string", "description": "What makes it one of its kind."},
                "data": {"description": "What it carries."}
              }
            }
          ]
        },
        "approve": {"$ref": "#/definitions/decision", "description": "A person approves what the run asks."},
        "reject": {"$ref": "#/definitions/decision", "description": "A person rejects what the run asks."},
        "cancel": {"type": "boolean", "description": "A person cancels the run."},
        "trigger": {"type": "string", "description": "A schedule starts a run out of turn."},
        "fault": {
          "type": "object",
          "description": "A sandbox fails from now on, as in { markbook: { kind: refuse, times: 2 } }.",
          "propertyNames": {"$ref": "#/definitions/plugin"},
          "additionalProperties": {"$ref": "#/definitions/parameters"}
        },
        "sandbox": {"$ref": "#/definitions/sandboxes"},
        "expect": {"$ref": "#/definitions/expectation"}
      }
    },
    "decision": {
      "description": "The step that asks, or who decides what and why.",
      "anyOf": [
        {"type": "string"},
        {
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "step": {"type": "string", "description": "The path of the step that asks."},
            "by": {"type": "string", "description": "Who decides."},
            "comment": {"type": "string", "description": "What they say about it."}
          }
        }
      ]
    },
    "sandboxes": {
      "type": "object",
      "description": "Commands of sandboxes with their parameters, by plugin.",
      "propertyNames": {"$ref": "#/definitions/plugin"},
      "additionalProperties": {"type": "object", "additionalProperties": {"$ref": "#/definitions/parameters"}}
    },
    "parameters": {
      "description": "What goes with a command, or a list of that for as many calls.",
      "anyOf": [
        {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
        {"type": "array", "items": {"$ref": "#/definitions/parameters"}}
      ]
    },
    "expectation": {
      "type": "object",
      "additionalProperties": false,
      "description": "What has to hold afterwards.",
      "properties": {
        "status": {"enum": \#(words(RecipeTestReader.states)), "description": "How the last run stands."},
        "error": {
          "type": "object",
          "additionalProperties": false,
          "description": "The last run's error, by its members.",
          "properties": {
            "kind": {"enum": \#(words(ErrorKind.self)), "description": "What went wrong, as a word."},
            "message": {"type": "string", "description": "What went wrong, as a sentence."},
            "detail": {"type": "string", "description": "What the service said beyond that."},
            "status": {"type": "integer", "description": "The HTTP status."},
            "step": {"type": "string", "description": "The path of the step that failed."}
          }
        },
        "waitsUntil": {"$ref": "#/definitions/instant", "description": "When the last run goes on by itself."},
        "steps": {
          "type": "object",
          "additionalProperties": {"enum": \#(words(RecipeTestReader.stepStates))},
          "description": "The status of steps of the last run, by their paths."
        },
        "outputs": {"type": "object", "description": "What the last run gave, by its names."},
        "runs": {"type": "array", "items": {"type": "string"}, "description": "Every run's status, in the order of their beginning."},
        "requests": {"type": "array", "items": {"type": "string"}, "description": "Every request, as GET /catalog.json 200."},
        "slots": {
          "type": "array", "items": {"type": "string"},
          "description": "What became of every slot, as 2026-11-20T09:00:00Z started."
        },
        "that": {
          "description": "Conditions on run, runs, steps, outputs, requests, slots and now.",
          "if": {"type": "array"},
          "then": {"items": {"$ref": "#/definitions/expression"}},
          "else": {"$ref": "#/definitions/expression"}
        }
      }
    }
  }
  """#

let configurationTemplate = #"""
  {
    "configuration": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "state": {"type": "string", "description": "The folder of the state, from this file's folder; .errand if left out."},
        "zone": {"$ref": "#/definitions/zone", "description": "The zone of schedules that name none."},
        "recipes": {"$ref": "#/definitions/texts", "description": "The folders of the recipes; recipes if left out."},
        "secrets": {
          "type": "object",
          "additionalProperties": false,
          "description": "Where secrets come from.",
          "properties": {
            "environment": {"type": "boolean", "default": true, "description": "Whether environment variables are secrets of their names."},
            "files": {"$ref": "#/definitions/texts", "description": "Files that only you can read, each a mapping from names to secrets."},
            "age": {
              "type": "object",
              "required": ["files", "identity"],
              "additionalProperties": false,
              "description": "Such files, encrypted with age.",
              "properties": {
                "files": {"$ref": "#/definitions/texts", "description": "The files that age encrypted."},
                "identity": {"type": "string", "description": "The file of the identity that opens them, of mode 0600."}
              }
            },
            "commands": {
              "type": "object",
              "description": "Programs that print one secret each, by the secret's name.",
              "additionalProperties": {
                "if": {"type": "object"},
                "then": {
                  "required": ["run"],
                  "additionalProperties": false,
                  "properties": {
                    "run": {"$ref": "#/definitions/command"},
                    "timeout": {"$ref": "#/definitions/duration", "description": "How long it may take; 30s if left out."}
                  }
                },
                "else": {"$ref": "#/definitions/command"}
              }
            }
          }
        },
        "connections": {"$ref": "#/definitions/connections"},
        "history": {
          "type": "object",
          "additionalProperties": false,
          "description": "How long what is over is kept.",
          "properties": {
            "keepRuns": {
              "anyOf": [{"const": "forever"}, {"type": "integer", "minimum": 100, "maximum": 1000000000}],
              "default": "forever", "description": "How many finished runs at most."
            },
            "keepFor": {"$ref": "#/definitions/keeping", "description": "How long finished runs are kept; 365d if left out."},
            "keepSlotsFor": {"$ref": "#/definitions/keeping", "description": "How long slots are kept; 90d if left out."}
          }
        }
      }
    },
    "command": {
      "type": "array", "minItems": 1, "items": {"type": "string"},
      "description": "The program and each argument, such as [pass, show, school]; no shell reads them."
    },
    "keeping": {
      "anyOf": [{"const": "forever"}, {"$ref": "#/definitions/duration"}],
      "description": "A length of time of at least a day, or forever."
    },
    "connections": {
      "type": "object",
      "description": "The services, each under a name: that of its plugin, or another one beside 'plugin'.",
      "propertyNames": {"$ref": "#/definitions/name"},
      "additionalProperties": {"$ref": "#/definitions/connection"}
    },
    "connection": {
      "type": "object",
      "required": ["plugin"],
      "description": "A service with its settings.",
      "properties": {}
    }
  }
  """#
