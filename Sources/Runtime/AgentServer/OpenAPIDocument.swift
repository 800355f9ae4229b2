// The document of the API (OpenAPI 3.1), made from the declarations of the operations.
import ActionKit
import Agent
import AgentPages
import Operations
import Basics
import HTTPServer
import RunState

package enum OpenAPIDocument {
  /// The document as JSON.
  ///
  /// - Parameters:
  ///   - program: The program with its version.
  ///   - servers: The URLs of the API, if they are known.
  package static func text(program: String, servers: [String] = []) -> String {
    JSON.displayed(value(program: program, servers: servers), .pretty)
  }

  static func value(program: String, servers: [String]) -> Value {
    var schemas = ValueMap([("Problem", problem)])
    var paths = ValueMap()
    for declared in OperationList.all {
      guard let route = declared.route else { continue }
      var operations = paths[apiRoot + route.path]?.map ?? ValueMap()
      operations[route.method.rawValue.lowercased()] = operation(declared, route, &schemas)
      paths[apiRoot + route.path] = .map(operations)
    }
    var document = ValueMap([
      ("openapi", .string("3.1.0")),
      (
        "info",
        .object([
          "title": .string("Errand"),
          "version": .string(program.split(separator: " ").last.map { String($0) } ?? program),
          "description": .string(
            "The HTTP API of an Errand agent. A request that creates something can be repeated with the same Idempotency-Key. Errors are problem documents (RFC 9457)."
          ),
        ])
      ),
    ])
    if !servers.isEmpty { document["servers"] = .list(servers.map { .object(["url": .string($0)]) }) }
    document["security"] = .list([.object(["token": .list([])])])
    document["paths"] = .map(paths)
    document["components"] = .object([
      "securitySchemes": .object([
        "token": .object([
          "type": .string("http"), "scheme": .string("bearer"),
          "description": .string("A token, made with `errand token new`. Each request names the scope that it needs."),
        ])
      ]),
      "schemas": .map(schemas),
    ])
    return .map(document)
  }

  // MARK: Operations

  private static func operation(_ declared: any Operation.Type, _ route: Route, _ schemas: inout ValueMap) -> Value {
    let inPath = Set(Routes.segments(of: route.path).compactMap(Routes.parameter(in:)))
    let routed = RoutedOperation(operation: declared, route: route, parts: inPath.sorted().map { ($0, "") })
    var parameters = declared.parameters.filter { inPath.contains($0.name) }.map { parameter($0, in: "path") }
    let others = routed.others
    var operation = ValueMap([
      ("operationId", .string(declared.name)), ("summary", .string(declared.summary)),
      ("description", .string(declared.scopes.sentence)),
    ])
    if route.method == .get {
      parameters += others.map { parameter($0, in: "query") }
    } else if !others.isEmpty {
      var content = ValueMap([("application/json", .object(["schema": body(of: others)]))])
      if declared is SendEvent.Type { content["application/cloudevents+json"] = .object(["schema": cloudEvent]) }
      operation["requestBody"] = .object([
        "required": .bool(others.contains { $0.isRequired }), "content": .map(content),
      ])
    }
    if let summary = routed.keySummary {
      parameters.append(
        .object([
          "name": .string("Idempotency-Key"), "in": .string("header"), "required": .bool(false),
          "description": .string(summary),
          "schema": .object([
            "type": .string("string"), "minLength": .int(1), "maxLength": .int(RunKey.mostCharacters),
            "pattern": .string("^[!-~]+$"),
          ]),
        ]))
    }
    if !parameters.isEmpty { operation["parameters"] = .list(parameters) }
    operation["responses"] = .map(responses(declared, route, hasBody: !others.isEmpty, &schemas))
    return .map(operation)
  }

  /// An event in the JSON format of CloudEvents 1.0.
  private static let cloudEvent: Value = .object([
    // Generators of clients name their types after it.
    "title": .string("CloudEvent"), "type": .string("object"),
    "properties": .object([
      "specversion": .object(["const": .string("1.0")]),
      "id": .object([
        "type": .string("string"), "minLength": .int(1),
        "description": .string("The event's id."),
      ]),
      "source": .object([
        "type": .string("string"), "minLength": .int(1), "pattern": .string(TextPattern.withoutBlanks.regex),
      ]),
      "type": .object([
        "type": .string("string"), "minLength": .int(1), "description": .string("The name of the event."),
      ]),
      "data": .object(["description": .string("The event's data.")]),
      "data_base64": .object(["not": .object([:]), "description": .string("Not accepted: the data must be JSON.")]),
    ]),
    "required": .list(["specversion", "id", "source", "type"].map { .string($0) }),
  ])

  private static func parameter(_ parameter: OperationInput, in place: String) -> Value {
    .object([
      "name": .string(parameter.name), "in": .string(place), "required": .bool(parameter.isRequired),
      "description": .string(parameter.summary), "schema": schema(of: parameter),
    ])
  }

  private static func body(of parameters: [OperationInput]) -> Value {
    var properties = ValueMap()
    for parameter in parameters {
      var schema = schema(of: parameter).map ?? ValueMap()
      schema["description"] = .string(parameter.summary)
      properties[parameter.name] = .map(schema)
    }
    var schema = ValueMap([("type", .string("object")), ("properties", .map(properties))])
    let required = parameters.filter(\.isRequired).map { Value.string($0.name) }
    if !required.isEmpty { schema["required"] = .list(required) }
    let companions = parameters.compactMap { parameter in
      parameter.companion.map { (parameter.name, Value.list([.string($0)])) }
    }
    if !companions.isEmpty { schema["dependentRequired"] = .map(ValueMap(companions)) }
    schema["additionalProperties"] = .bool(false)
    return .map(schema)
  }

  private static func schema(of parameter: OperationInput) -> Value {
    var schema = parameter.type.jsonSchema
    if let bounds = parameter.bounds {
      schema["minimum"] = .int(bounds.lowerBound)
      schema["maximum"] = .int(bounds.upperBound)
    }
    schema["pattern"] = parameter.pattern.map { .string($0) } ?? schema["pattern"]
    if let length = parameter.length {
      let isList = if case .list = parameter.type { true } else { false }
      if length.lowerBound > 0 { schema[isList ? "minItems" : "minLength"] = .int(length.lowerBound) }
      if length.upperBound < Int.max { schema[isList ? "maxItems" : "maxLength"] = .int(length.upperBound) }
    }
    return .map(schema)
  }

  private static func responses(
    _ declared: any Operation.Type, _ route: Route, hasBody: Bool, _ schemas: inout ValueMap
  ) -> ValueMap {
    var responses = ValueMap()
    var good = ValueMap([("description", .string(declared.summary))])
    if let answer = declared.viewType {
      let name = String(describing: answer)
      schemas[name] = .map(answer.schema.jsonSchema(allowsExpressions: false))
      good["content"] = .object([
        "application/json": .object(["schema": .object(["$ref": .string("#/components/schemas/\(name)")])])
      ])
    }
    if declared.media != .json {
      good["content"] = .object([declared.media.type: .object(["schema": declared.media.schema])])
    }
    // No schema describes events: `snapshot` and `ended` bring a run, others what happens.
    if declared.isStream { good["content"] = .object(["text/event-stream": .object([:])]) }
    responses["\(route.status)"] = .map(good)
    if declared is StartRun.Type, responses["200"] == nil {
      schemas["RunAnswer"] = .map(RunAnswer.schema.jsonSchema(allowsExpressions: false))
      responses["200"] = .object([
        "description": .string("With `Prefer: wait=SECONDS`: the run, if it ended in time."),
        "content": .object([
          "application/json": .object(["schema": .object(["$ref": .string("#/components/schemas/RunAnswer")])])
        ]),
      ])
    }
    if declared is SendEvent.Type, let good = responses["202"] { responses["200"] = good }
    var kinds: Set<Problem.Kind> = [
      .unauthorized, .forbidden, .foreignHost, .refusal(.request), .refusal(.state), .fault,
    ]
    if hasBody { kinds.formUnion([.mediaType, .tooLarge]) }
    if declared.isStream { kinds.insert(.tooMany) }
    for refusal in declared.refusals { kinds.insert(.refusal(refusal)) }
    // A token may be limited to some recipes, and finds nothing of the others.
    kinds.insert(.refusal(.notFound))
    for status in Set(kinds.map(\.status)).sorted() {
      let titles = kinds.filter { $0.status == status }.sorted { $0.name < $1.name }.map(\.title)
      responses["\(status)"] = .object([
        "description": .string(titles.joined(separator: " ")),
        "content": .object([
          "application/problem+json": .object(["schema": .object(["$ref": .string("#/components/schemas/Problem")])])
        ]),
      ])
    }
    return responses
  }

  private static let problem: Value = .object([
    "type": .string("object"),
    "description": .string("What is wrong with the request (RFC 9457)."),
    "properties": .object([
      "type": .object(["type": .string("string"), "format": .string("uri-reference")]),
      "title": .object(["type": .string("string")]),
      "status": .object(["type": .string("integer")]),
      "detail": .object(["type": .string("string"), "description": .string("What is wrong, and how to fix it.")]),
      "kind": .object([
        "enum": .list(Problem.Kind.all.map { .string($0.name) }), "description": .string("The kind, for programs."),
      ]),
      "changes": .object([
        "type": .string("array"), "items": .object(["type": .string("string")]),
        "description": .string("The differences from the plan; with the kind planChanged."),
      ]),
      "current": .object([
        "type": .string("object"),
        "description": .string("The content that a file has now, if it isn't the one that was edited."),
        "properties": .object([
          "text": .object(["type": .string("string")]),
          "digest": .object(["type": .string("string"), "description": .string("The SHA-256 of its bytes.")]),
        ]),
        "required": .list([.string("text"), .string("digest")]),
      ]),
      "faults": .object([
        "type": .string("array"),
        "items": .object([
          "type": .string("object"),
          "properties": .object([
            "message": .object(["type": .string("string")]),
            "pointer": .object(["type": .string("string"), "description": .string("A JSON pointer into the body.")]),
          ]),
          "required": .list([.string("message"), .string("pointer")]),
        ]),
      ]),
    ]),
    "required": .list(["type", "title", "status", "detail", "kind"].map { .string($0) }),
  ])
}

extension Operation {
  /// Whether the answer is a stream of server-sent events.
  static var isStream: Bool { self is any StreamingOperation.Type && route?.method == .get }
}

extension Scopes {
  /// The sentence about the scopes that are needed.
  fileprivate var sentence: String {
    let names = names.map { "`\($0)`" }
    return "Needs the scope\(names.count == 1 ? "" : "s") \(joined(names))."
  }
}
