// An operation of a document as an action.
//
// What an action takes are the operation's parameters, by their own names, and `body`. A name that two places have gets
// the place after it: `idQuery`. Cookies are left out, and so are header fields that the connection or the body says.
//
// What it gives is `status` and `body`. Of several answers of success with different bodies, nothing is known of the
// body; where one has none, or the operation is DELETE, which is done when nothing is there, it is optional. A body that
// isn't JSON is a text, or octets if its media type is that of no text.

import ActionKit
import Basics
import HTTPClient
import PluginLocks

struct OperationReader {
  let document: OpenAPIDocument
  private var given: SchemaReader
  private var got: SchemaReader
  private let schemes: [OpenAPIDocument.Scheme]
  /// What was read as if it weren't there, and why.
  private var ignored: [(part: String, reason: String)] = []
  private static let mostParameters = 200
  static let leadsNowhere = "it refers to what isn't in the document"
  /// What the client, the connection or the body says.
  private static let ownHeaders: Set = [
    "accept", "authorization", "connection", "content-length", "content-type", "cookie", "expect", "host",
    "transfer-encoding", "upgrade",
  ]

  init(_ document: OpenAPIDocument) {
    self.document = document
    given = SchemaReader(document.root, for: .given)
    got = SchemaReader(document.root, for: .got)
    schemes = document.schemes
  }

  /// The objects that have a name in the document.
  var named: [(name: String, type: FieldType)] { given.named + got.named }

  /// What of the operations so far counts for nothing, or for anything, and why.
  var leftOut: [(part: String, reason: String)] {
    var missing = given.missing
    for reference in got.missing where !missing.contains(reference) { missing.append(reference) }
    return ignored + missing.map { ($0, "it leads to nothing in the document, and is taken as anything") }
  }

  /// Why an operation is no action.
  struct LeftOut: Error {
    let reason: String
  }

  /// An operation that was read.
  struct Read {
    var summary: String
    var input: [FieldSchema]
    /// What is sent with a query, as the document has it, by the names of inputs.
    var querySchemas: [String: Value]
    var body: FieldSchema?
    /// The names of the answer's header fields, in small letters.
    var answerHeaders: Set<String>
    var call: OperationCall
    var effect: Effect
    var effectSource: LockedAction.EffectSource

    func action(named name: String) -> LockedAction {
      let status = FieldSchema("status", .int, "The HTTP status.")
      return LockedAction(
        name: name, summary: summary, effect: effect, from: effectSource, input: ObjectSchema(fields: input),
        output: ObjectSchema(fields: [status] + (body.map { [$0] } ?? [])), acceptsKey: call.keyHeader != nil,
        call: call.written)
    }
  }

  mutating func read(_ operation: OpenAPIDocument.Operation) throws(LeftOut) -> Read {
    if operation.hasOwnServer { throw LeftOut(reason: "it is at a server of its own") }
    var call = OperationCall(method: operation.method, path: operation.path)
    let inPath = try Self.names(inPath: operation.path)
    var parameters = try self.parameters(of: operation)
    for name in inPath where !parameters.contains(where: { $0.place == "path" && $0.name.hasSameScalars(as: name) }) {
      // Documents forget them, and what they are is plain.
      parameters.append(
        Found(
          place: "path", name: name,
          value: .object(["type": .string("string"), "schema": .object(["type": .string("string")])])))
    }
    parameters.removeAll { found in found.place == "path" && !inPath.contains { $0.hasSameScalars(as: found.name) } }

    var input: [FieldSchema] = []
    var taken: Set<String> = []
    let takesBody = !["GET", "HEAD"].contains(operation.method)
    if takesBody, let (body, field) = try self.body(of: operation, parameters) {
      call.body = body
      input.append(field)
      taken.insert(field.name)
    }
    var querySchemas: [String: Value] = [:]
    for place in [OperationCall.Parameter.Place.path, .query, .header] {
      for found in parameters where found.place == place.rawValue {
        if place == .header {
          let name = found.name.lowercased()
          if Self.ownHeaders.contains(name) || schemes.contains(.header(found.name)) { continue }
          if HTTPRequest.fault(ofHeader: found.name, "x") != nil { continue }
          if name == "idempotency-key" {
            if takesBody { call.keyHeader = found.name }
            continue
          }
        }
        // A key is given to the connection.
        if place == .query, schemes.contains(.query(found.name)) { continue }
        let isRequired = found.value["required"]?.bool == true || place == .path
        guard !found.name.isEmpty, found.name.utf8.count <= 100, found.name.safe.hasSameScalars(as: found.name) else {
          if isRequired { throw LeftOut(reason: "a parameter's name can't be written in a recipe") }
          continue
        }
        var name = found.name
        if taken.contains(name) { name += place.rawValue.prefix(1).uppercased() + place.rawValue.dropFirst() }
        name = name.free(among: &taken)
        let (field, style, schema) = try parameter(found, in: place, named: name, isRequired: isRequired)
        input.append(field)
        if place == .query { querySchemas[name] = schema }
        call.parameters.append(.init(place: place, name: found.name, input: name, style: style))
      }
    }

    let answer = answer(of: operation)
    call.answer = answer.form
    call.accept = answer.accept
    call.alsoDone = answer.alsoDone
    let (effect, source) = try effect(of: operation)
    return Read(
      summary: summary(of: operation), input: input, querySchemas: querySchemas, body: answer.body,
      answerHeaders: answer.headers, call: call, effect: effect, effectSource: source)
  }

  private func summary(of operation: OpenAPIDocument.Operation) -> String {
    let said = ["summary", "description"].lazy.compactMap { operation.value[$0]?.string }
      .compactMap { SchemaReader.sentence(of: $0) }.first
    let sentence = said ?? "Sends \(operation.name)."
    return operation.value["deprecated"]?.bool == true ? "Deprecated: \(sentence)" : sentence
  }

  private func effect(
    of operation: OpenAPIDocument.Operation
  ) throws(LeftOut) -> (Effect, LockedAction.EffectSource) {
    if let word = operation.value["x-errand-effect"] {
      guard let effect = word.string.flatMap(Effect.init(written:)) else {
        throw LeftOut(reason: "its 'x-errand-effect' can't be \(word.written.safe.shortened(to: 40))")
      }
      return (effect, .document)
    }
    switch operation.method {
    case "GET", "HEAD": return (.read, .method)
    // RFC 9110, section 9.2.2.
    case "PUT", "DELETE": return (.idempotentWrite(within: .forever), .method)
    default: return (.write, .method)
    }
  }

  // MARK: Parameters

  /// A parameter as the document has it.
  private struct Found {
    var place: String
    var name: String
    var value: Value
  }

  private func parameters(of operation: OpenAPIDocument.Operation) throws(LeftOut) -> [Found] {
    var parameters: [Found] = []
    let all = operation.parameters
    guard all.count <= Self.mostParameters else { throw LeftOut(reason: "it has \(all.count) parameters") }
    for value in all {
      guard let value = document.resolved(value) else {
        throw LeftOut(reason: "a parameter refers to what isn't in the document")
      }
      guard let place = value["in"]?.string, let name = value["name"]?.string else { continue }
      let found = Found(place: place, name: name, value: value)
      if let index = parameters.firstIndex(where: { $0.place == place && $0.name.hasSameScalars(as: name) }) {
        parameters[index] = found
      } else {
        parameters.append(found)
      }
    }
    return parameters
  }

  /// The names in braces.
  private static func names(inPath path: String) throws(LeftOut) -> [String] {
    guard !path.utf8.contains(where: { $0 == ASCII.question || $0 == ASCII.hash }) else {
      throw LeftOut(reason: "its path has a query")
    }
    let steps = path.lowercased().replacing("%2e", with: ".").split(separator: "/")
    guard !steps.contains(where: { $0 == "." || $0 == ".." }) else {
      throw LeftOut(reason: "its path leads to another one, by '.' or '..'")
    }
    var names: [String] = []
    var rest = path.utf8[...]
    while let start = rest.firstIndex(of: ASCII.openBrace) {
      guard let end = rest[start...].firstIndex(of: ASCII.closeBrace) else { break }
      guard let name = String(rest[rest.index(after: start)..<end]), !name.isEmpty else { break }
      names.append(name)
      rest = rest[rest.index(after: end)...]
    }
    guard !rest.contains(ASCII.openBrace), names.count <= 50 else { throw LeftOut(reason: "its path isn't a template") }
    return names
  }

  private mutating func parameter(
    _ found: Found, in place: OperationCall.Parameter.Place, named name: String, isRequired: Bool
  ) throws(LeftOut) -> (FieldSchema, OperationCall.Style, schema: Value) {
    var schema = found.value
    var isJSON = false
    if !document.isSwagger {
      if let own = found.value["schema"] {
        schema = own
      } else if let content = found.value["content"]?.map?.members.first {
        schema = content.value["schema"] ?? .map(ValueMap())
        isJSON = content.name.flatMap(MediaForm.init) == .json
      } else {
        schema = .object(["type": .string("string")])
      }
    }
    let summary = found.value["description"]?.string.flatMap { SchemaReader.sentence(of: $0) }
    var field = given.field(name, schema, summary: summary, isRequired: isRequired)
    if found.value["deprecated"]?.bool == true { field.deprecation = "the service deprecates it" }
    if place == .path {
      field.isOptional = false
      if case .string = field.type, !field.limits.contains(where: { if case .minLength = $0 { true } else { false } }) {
        field.limits.append(.minLength(1))
      }
    }
    return (field, try style(of: found, field.type, in: place, isJSON: isJSON), document.resolved(schema) ?? schema)
  }

  private func style(
    of found: Found, _ type: FieldType, in place: OperationCall.Parameter.Place, isJSON: Bool
  ) throws(LeftOut) -> OperationCall.Style {
    let standard = OperationCall.Style.standard(in: place)
    if isJSON { return .init(word: .json, explodes: standard.explodes) }
    switch type {
    case .list, .map, .object, .dyn: break
    default:
      // One text has no style but those that begin with a sign.
      if let word = found.value["style"]?.string, ["label", "matrix"].contains(word) { break }
      return standard
    }
    if document.isSwagger { return Self.style(ofCollection: found.value["collectionFormat"]?.string, in: place) }
    guard let word = (found.value["style"]?.string).map(OperationCall.Style.Word.init) ?? standard.word,
      word != .json, word != .tabDelimited, place == .query || word == .simple
    else {
      throw LeftOut(
        reason: "the parameter '\(found.name.safe)' has the style \((found.value["style"] ?? .null).written.safe)")
    }
    let explodes = found.value["explode"]?.bool ?? (word == .form)
    if explodes, [.spaceDelimited, .pipeDelimited].contains(word) { return .form }
    return .init(word: word, explodes: word == .deepObject ? standard.explodes : explodes)
  }

  /// What version 2.0 calls `collectionFormat`.
  private static func style(ofCollection format: String?, in place: OperationCall.Parameter.Place)
    -> OperationCall.Style
  {
    switch format {
    case "multi": place == .query ? .form : .simple
    case "ssv": .init(word: .spaceDelimited, explodes: false)
    case "tsv": .init(word: .tabDelimited, explodes: false)
    case "pipes": .init(word: .pipeDelimited, explodes: false)
    default: .init(word: place == .query ? .form : .simple, explodes: false)
    }
  }

  // MARK: Bodies

  private mutating func body(
    of operation: OpenAPIDocument.Operation, _ parameters: [Found]
  ) throws(LeftOut) -> (OperationCall.Body, FieldSchema)? {
    if document.isSwagger { return try bodyOfSwagger(operation, parameters) }
    guard let written = operation.value["requestBody"] else { return nil }
    guard let request = document.resolved(written) else {
      throw LeftOut(reason: "its body refers to what isn't in the document")
    }
    let content = (request["content"]?.map?.members ?? []).filter { $0.name != nil }
    guard let (form, type, index) = MediaForm.preferred(content.map { $0.name ?? "" }) else {
      let types = content.prefix(5).map { "'\(($0.name ?? "").safe.shortened(to: 40))'" }.joined(separator: ", ")
      let reason = types.isEmpty ? "it has no media type" : "\(types) can't be sent"
      if request["required"]?.bool == true { throw LeftOut(reason: "its body must be given, but \(reason)") }
      ignored.append(("the body of \(operation.name)", reason))
      return nil
    }
    return body(
      form, type, content[index].value["schema"] ?? .map(ValueMap()), encoding: content[index].value["encoding"],
      summary: request["description"]?.string, isRequired: request["required"]?.bool ?? false)
  }

  private mutating func bodyOfSwagger(
    _ operation: OpenAPIDocument.Operation, _ parameters: [Found]
  ) throws(LeftOut) -> (OperationCall.Body, FieldSchema)? {
    let types = ((operation.value["consumes"] ?? document.root["consumes"])?.list ?? []).compactMap(\.string)
    if let found = parameters.first(where: { $0.place == "body" }) {
      let (form, type, _) = MediaForm.preferred(types) ?? (.json, "application/json", 0)
      return body(
        form, type, found.value["schema"] ?? .map(ValueMap()), encoding: nil,
        summary: found.value["description"]?.string, isRequired: found.value["required"]?.bool ?? false)
    }
    let fields = parameters.filter { $0.place == "formData" }
    guard !fields.isEmpty else { return nil }
    var properties = ValueMap()
    var required: [Value] = []
    var styles: [String: OperationCall.Style] = [:]
    var hasFiles = false
    for field in fields {
      var map = field.value.map ?? ValueMap()
      if map["required"]?.bool == true { required.append(.string(field.name)) }
      map["required"] = nil
      if map["type"]?.string == "file" {
        hasFiles = true
        map["type"] = .string("string")
        map["format"] = .string("binary")
      }
      if map["type"]?.string == "array" {
        let style = Self.style(ofCollection: map["collectionFormat"]?.string, in: .query)
        if style != .form { styles[field.name] = style }
      }
      properties[field.name] = .map(map)
    }
    let isMultipart =
      hasFiles || types.contains { MediaForm($0) == .multipart } && !types.contains { MediaForm($0) == .urlencoded }
    let schema = Value.object([
      "type": .string("object"), "properties": .map(properties), "required": .list(required),
    ])
    var (body, field) = body(
      isMultipart ? .multipart : .urlencoded,
      isMultipart ? "multipart/form-data" : "application/x-www-form-urlencoded", schema, encoding: nil, summary: nil,
      isRequired: !required.isEmpty)
    body.styles = styles
    return (body, field)
  }

  private mutating func body(
    _ form: MediaForm, _ type: String, _ schema: Value, encoding: Value?, summary: String?, isRequired: Bool
  ) -> (OperationCall.Body, FieldSchema) {
    let summary = summary.flatMap { SchemaReader.sentence(of: $0) }
    if form == .bytes || form == .json && isBinary(schema) {
      return (
        OperationCall.Body(
          form: .file, type: form == .bytes && type != "application/*" ? type : "application/octet-stream"),
        FieldSchema(
          "body", .string,
          [summary ?? "", "Path of a file in the connection's folder, which is sent."].filter { !$0.isEmpty }
            .joined(separator: " "), isOptional: !isRequired, limits: [.minLength(1)])
      )
    }
    if form == .text {
      let field = FieldSchema("body", .string, summary ?? "What is sent, as \(type).", isOptional: !isRequired)
      return (OperationCall.Body(form: .text, type: type), field)
    }
    var field = given.field("body", schema, summary: summary, isRequired: isRequired)
    var body = OperationCall.Body(
      form: form == .json ? .json : form == .urlencoded ? .urlencoded : .multipart, type: type)
    switch field.type {
    case .dyn, .map(.dyn): field.secrecy = .possible
    default: break
    }
    if form == .json {
      let places = NullPlaces(of: schema, in: document)
      body.filled = places.filled
      body.kept = places.kept
      return (body, field)
    }
    for property in properties(of: schema).prefix(500) {
      guard let name = property.name else { continue }
      if form == .multipart {
        if isBinary(property.value) || (document.resolved(property.value)?["items"]).map(isBinary) == true {
          body.files.insert(name)
        }
      } else if let said = encoding?[name],
        let word = said["style"]?.string.map(OperationCall.Style.Word.init) ?? .form, word != .simple, word != .json
      {
        let style = OperationCall.Style(word: word, explodes: said["explode"]?.bool ?? (word == .form))
        if style != .form { body.styles[name] = style }
      }
    }
    if case .object(var object) = field.type, !body.files.isEmpty {
      for index in object.fields.indices where body.files.contains(object.fields[index].name) {
        let sentence = object.fields[index].summary
        object.fields[index].summary =
          "\(sentence.isEmpty ? "" : "\(sentence) ")Path of a file in the connection's folder."
      }
      field.type = .object(object)
    }
    return (body, field)
  }

  /// The properties of an object, also of one that is made of others.
  private func properties(of schema: Value) -> [ValueMap.Member] {
    var properties: [ValueMap.Member] = []
    var parts = [schema]
    var visits = 0
    while let part = parts.popLast(), visits < 100 {
      visits += 1
      guard let schema = document.resolved(part) else { continue }
      properties += schema["properties"]?.map?.members ?? []
      parts += (schema["allOf"]?.list ?? []).prefix(20).reversed()
    }
    return properties
  }

  /// Whether a schema is that of octets, as they are.
  private func isBinary(_ schema: Value) -> Bool {
    guard let schema = document.resolved(schema) else { return false }
    if schema["format"]?.string == "binary" || schema["type"]?.string == "file" { return true }
    guard let type = schema["contentMediaType"]?.string, schema["contentEncoding"] == nil else { return false }
    return MediaForm(type) == .bytes
  }

  // MARK: Answers

  private struct Answer {
    var form: OperationCall.Answer?
    var accept: String?
    var alsoDone: [Int] = []
    var body: FieldSchema?
    var headers: Set<String> = []
  }

  private mutating func answer(of operation: OpenAPIDocument.Operation) -> Answer {
    var answer = Answer()
    let isWrite = !["GET", "HEAD"].contains(operation.method)
    var answers: [Value] = []
    var standard: Value?
    var saysOther = false
    // The name of a status is a number in YAML.
    for member in (operation.value["responses"]?.map?.members ?? []).prefix(100) {
      guard let name = member.key.csvField else { continue }
      guard let value = document.resolved(member.value) else {
        ignored.append(("the answer \(name.safe.shortened(to: 10)) of \(operation.name)", Self.leadsNowhere))
        continue
      }
      if name.hasPrefix("2") {
        answers.append(value)
      } else if name == "default" {
        standard = value
      } else if name == "304", isWrite {
        answer.alsoDone = [304]
      } else if name.hasPrefix("1") || name.hasPrefix("3") {
        saysOther = true
      }
    }
    if answers.isEmpty, let standard { answers = [standard] }
    for value in answers {
      for member in (value["headers"]?.map?.members ?? []).prefix(100) {
        if let name = member.name { answer.headers.insert(name.lowercased()) }
      }
    }
    if operation.method == "HEAD" { return answer }
    guard !answers.isEmpty else {
      // What only redirects or changes the protocol has no body of its own.
      if saysOther { return answer }
      answer.form = .json
      answer.body = FieldSchema("body", .dyn, "What was answered, which the document doesn't say.", isOptional: true)
      return answer
    }
    var found: [(form: OperationCall.Answer, type: String, field: FieldSchema)] = []
    var isOptional = operation.method == "DELETE" || !answer.alsoDone.isEmpty
    for value in answers {
      guard let (media, type, schema) = content(of: value, operation) else {
        isOptional = true
        continue
      }
      let form: OperationCall.Answer
      var field: FieldSchema
      let summary = value["description"]?.string.flatMap { SchemaReader.sentence(of: $0) } ?? "What was answered."
      switch media {
      case .json where !isBinary(schema):
        form = .json
        field = got.field("body", schema, summary: summary, isRequired: true)
      case .text, .urlencoded:
        form = .text
        field = FieldSchema("body", .string, summary)
      default:
        form = .bytes
        field = FieldSchema("body", .bytes, summary)
      }
      if field.isOptional { isOptional = true }
      found.append((form, type, field))
    }
    guard let first = found.first else { return answer }
    answer.form = first.form
    answer.body = first.field
    let isSame = found.dropFirst().allSatisfy {
      $0.form == first.form && $0.field.type.written == first.field.type.written
    }
    if !isSame {
      if Set(found.map(\.form)).count > 1 { answer.form = .json }
      answer.body = FieldSchema("body", .dyn, "What was answered.")
    } else if first.type != "application/json" {
      answer.accept = first.type == "application/octet-stream" ? "*/*" : "\(first.type), */*;q=0.5"
    }
    answer.body?.isOptional = isOptional
    return answer
  }

  /// What an answer holds; nil if it is nothing.
  private func content(
    of answer: Value, _ operation: OpenAPIDocument.Operation
  ) -> (MediaForm, type: String, schema: Value)? {
    if document.isSwagger {
      guard let schema = answer["schema"] else { return nil }
      let types = ((operation.value["produces"] ?? document.root["produces"])?.list ?? []).compactMap(\.string)
      let (form, type, _) = MediaForm.preferred(types) ?? (.json, "application/json", 0)
      return (form, type, schema)
    }
    let content = (answer["content"]?.map?.members ?? []).filter { $0.name != nil }
    guard let (form, type, index) = MediaForm.preferred(content.map { $0.name ?? "" }) else { return nil }
    return (form, type, content[index].value["schema"] ?? .map(ValueMap()))
  }
}

extension FieldType {
  /// The type as locks have it.
  fileprivate var written: String {
    var encoder = LockEncoder()
    return JSON.shown(encoder.type(self))
  }
}
