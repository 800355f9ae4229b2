// Definitions of the schemas that aren't keys: the forms of texts and values that several keys share.

let sharedDefinitions = #"""
  {
    "name": {
      "type": "string", "pattern": "^[a-z][A-Za-z0-9]*$",
      "description": "A name that expressions can use: letters and digits, beginning with a lowercase letter."
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

let recipeDefinitions = #"""
  {
    "template": {"type": "string", "pattern": "\\$\\{\\{", "description": "An expression, as ${{ … }}."},
    "values": {
      "type": "object", "propertyNames": {"$ref": "#/definitions/name"},
      "description": "Values by name; a value may be an expression or contain expressions."
    },
    "steps": {
      "type": "array", "minItems": 1, "items": {"$ref": "#/definitions/step"},
      "description": "The steps, which run one after another."
    },
    "type": {
      "description": "int, double, bool, string, date, bytes, timestamp, duration, choice(A, B), list(T), map(string, T), dyn, or the fields of an object.",
      "anyOf": [
        {
          "type": "string",
          "pattern": "^ *((list *\\(|map *\\( *string *,) *)*(int|double|bool|string|date|bytes|timestamp|duration|dyn|choice *\\([^()]+\\))[ )]*\\??$"
        },
        {"type": "object", "additionalProperties": {"$ref": "#/definitions/type"}},
        {"type": "array", "minItems": 1, "maxItems": 1, "items": {"$ref": "#/definitions/type"}}
      ]
    },
    "cronField": {
      "type": ["string", "integer"], "pattern": "^\\S+$",
      "description": "One field of a cron expression, such as 0, 1-5 or */15."
    }
  }
  """#

let testDefinitions = #"""
  {
    "parameters": {
      "description": "The parameters of a command, or a list with the parameters of several calls.",
      "anyOf": [
        {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
        {"type": "array", "items": {"$ref": "#/definitions/parameters"}}
      ]
    }
  }
  """#
