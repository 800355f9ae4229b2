// Reads an operation of a document as an action.
//
// The action's inputs are the operation's parameters, by their own names, and `body`. If two places have the same name,
// the second gets its place after it: `idQuery`. Header fields that the connection or the body sets aren't inputs. An
// input that can't be read is left out and reported; if it must be given, or nothing says whether it must, the
// operation is left out. A path parameter that the path doesn't contain is reported. If the path has no undeclared part
// that it may be meant for, the operation is left out.
//
// The output is `status` and `body`. If several successful answers have different bodies, the body can be anything. It
// is optional if one of the answers has none, and for DELETE, which also succeeds if nothing is there. A body that
// isn't JSON is a text, or octets if its media type isn't a text's.

import ActionKit
import Basics
import HTTPClient
import PluginLocks

struct OperationReader {
  let document: OpenAPIDocument
  private var given: SchemaReader
  private var got: SchemaReader
  private let schemes: Set<OpenAPIDocument.Scheme>
  /// The parts of the document that were ignored, each with the reason.
  private var ignored: [(part: String, reason: String)] = []
  private static let mostParameters = 200
  /// Header fields that the client, the connection or the body sets.
  private static let ownHeaders: Set = [
    "accept", "authorization", "connection", "content-length", "content-type", "cookie", "expect", "host",
    "transfer-encoding", "upgrade",
  ]

  init(_ document: OpenAPIDocument) {
    self.document = document
    given = SchemaReader(document.root, for: .given)
    got = SchemaReader(document.root, for: .got)
    schemes = Set(document.credentials.compactMap(\.credential.scheme))
  }

  /// The objects that have a name in the document.
  var named: [(name: String, type: FieldType)] { given.named + got.named }

  /// The parts of the operations so far that are ignored or taken as anything, each with the reason.
  var leftOut: [(part: String, reason: String)] {
    var missing = given.missing
    for reference in got.missing where !missing.contains(reference) { missing.append(reference) }
    return ignored
      + missing.map { reference in
        guard let fault = document.fault(of: reference) else {
          return (DocumentFiles.displayed(reference), "it leads to nothing in the document, and is taken as anything")
        }
        return (reference, "it leads to \(fault), and is taken as anything")
      }
  }

  /// Why an operation can't be an action.
  struct LeftOut: Error {
    let reason: String
  }

  /// An operation that was read.
  struct Read {
    var summary: String
    var input: [FieldSchema]
    /// The schemas of the parameters in the query, as the document has them, by the names of inputs.
    var querySchemas: [String: Value]
    var body: FieldSchema?
    /// The names of the answer's header fields, in lowercase.
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

  /// Notes the schemas of an operation that were read as anything.
  private mutating func noteUnread(of operation: OpenAPIDocument.Operation) {
    let all =
      given.takeUnread().map { ($0, operation.name) } + got.takeUnread().map { ($0, "the answer of \(operation.name)") }
    for (unread, whole) in all {
      let whole = unread.reference.map { DocumentFiles.displayed($0) } ?? whole
      let part = unread.path.isEmpty ? whole : "'\(unread.path.shortened(to: 100))' of \(whole)"
      if !ignored.contains(where: { $0 == (part, unread.reason) }) { ignored.append((part, unread.reason)) }
    }
  }

  mutating func read(_ operation: OpenAPIDocument.Operation) throws(LeftOut) -> Read {
    defer { noteUnread(of: operation) }
    let template = PathTemplate(operation.path)
    var call = OperationCall(method: operation.method, path: template.path)
    let inPath = try Self.names(inPath: template.path)
    var parameters = try self.parameters(of: operation)
    for (name, key, isRequired) in template.query {
      // A parameter of the path's query may be declared as a parameter of the path.
      if parameters.contains(where: { $0.place == "query" && $0.name.hasSameScalars(as: key) }) { continue }
      let index = parameters.firstIndex { ["path", "query"].contains($0.place) && $0.name.hasSameScalars(as: name) }
      var found =
        index.map { parameters.remove(at: $0) } ?? Found(place: "query", name: name, value: Self.text(isRequired))
      found.place = "query"
      // An input keeps the name that the document has for it.
      found.sentAs = key
      parameters.append(found)
    }
    let isWhole = inPath.allSatisfy { name in
      parameters.contains { $0.place == "path" && $0.name.hasSameScalars(as: name) }
    }
    for name in inPath where !parameters.contains(where: { $0.place == "path" && $0.name.hasSameScalars(as: name) }) {
      // Documents forget to declare them, but a part of a path is always a text.
      parameters.append(Found(place: "path", name: name, value: Self.text(true)))
    }
    var input: [FieldSchema] = []
    var taken: Set<String> = []
    let takesBody = !["GET", "HEAD"].contains(operation.method)
    func ignore(_ part: String, _ reason: String) { ignored.append(("\(part) of \(operation.name)", reason)) }
    /// Leaves out a parameter, or the operation if it must be given.
    func leaveOut(_ found: Found, _ reason: String) throws(LeftOut) {
      let name = "the parameter '\(found.name.safe.shortened(to: 100))'"
      if found.isRequired { throw LeftOut(reason: "\(name) must be given, but \(reason)") }
      ignore(name, reason)
    }
    for found in parameters where found.place == "cookie" && !schemes.contains(.cookie(found.name)) {
      try leaveOut(found, "it is a cookie")
    }
    for found in parameters
    where found.place == "path" && !inPath.contains(where: { $0.hasSameScalars(as: found.name) }) {
      // Another name in the path may be meant for it.
      if isWhole {
        throw LeftOut(reason: "the path doesn't have its parameter '\(found.name.safe.shortened(to: 100))'")
      }
      ignore("the parameter '\(found.name.safe.shortened(to: 100))'", "the path doesn't have it")
    }
    parameters.removeAll { found in found.place == "path" && !inPath.contains { $0.hasSameScalars(as: found.name) } }
    for found in parameters where template.fixed.contains(where: { $0.hasSameScalars(as: found.name) }) {
      if found.place == "query" {
        ignore("the parameter '\(found.name.safe.shortened(to: 100))'", "the path has its value")
      }
    }
    parameters.removeAll { found in
      found.place == "query" && template.fixed.contains { $0.hasSameScalars(as: found.name) }
    }
    for found in parameters {
      guard let word = found.value["required"], word.bool == nil, !word.isNull else { continue }
      ignore("'required' of the parameter '\(found.name.safe.shortened(to: 100))'", Self.notBool(word))
    }
    for found in parameters where !takesBody && ["body", "formData"].contains(found.place) {
      try leaveOut(found, "it can't be sent with \(operation.method)")
    }
    if !takesBody, let body = operation.value["requestBody"] {
      if document.resolved(body)?["required"]?.bool == true {
        throw LeftOut(reason: "its body must be given, but can't be sent with \(operation.method)")
      }
      ignore("the body", "it can't be sent with \(operation.method)")
    }
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
          if HTTPRequest.fault(ofHeader: found.name, "x") != nil {
            if found.value["required"]?.bool == true {
              throw LeftOut(reason: "a header can't have the name of a parameter that must be given")
            }
            ignore("the parameter '\(found.name.safe.shortened(to: 100))'", "a header can't have that name")
            continue
          }
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
          ignore("the parameter '\(found.name.safe.shortened(to: 100))'", "its name can't be written in a recipe")
          continue
        }
        var name = found.name
        if taken.contains(name) { name += place.rawValue.prefix(1).uppercased() + place.rawValue.dropFirst() }
        name = name.free(among: &taken)
        let read: (field: FieldSchema, style: OperationCall.Style, schema: Value)
        do throws(LeftOut) {
          read = try parameter(found, in: place, named: name, isRequired: isRequired)
        } catch {
          if isRequired { throw LeftOut(reason: "the parameter '\(found.name.safe)' \(error.reason)") }
          ignore("the parameter '\(found.name.safe)'", "it \(error.reason)")
          continue
        }
        input.append(read.field)
        if place == .query { querySchemas[name] = read.schema }
        call.parameters.append(.init(place: place, name: found.sentAs ?? found.name, input: name, style: read.style))
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
    /// Its name in the request, if that is another one.
    var sentAs: String?

    var isRequired: Bool { value["required"]?.bool == true }
  }

  /// A parameter of a path that the document forgets to declare.
  private static func text(_ isRequired: Bool) -> Value {
    .object([
      "type": .string("string"), "schema": .object(["type": .string("string")]), "required": .bool(isRequired),
    ])
  }

  /// The reason for ignoring an invalid `required`.
  private static func notBool(_ word: Value) -> String {
    "it can't be \(word.written.safe.shortened(to: 40)), and is taken as false"
  }

  private mutating func parameters(of operation: OpenAPIDocument.Operation) throws(LeftOut) -> [Found] {
    var parameters: [Found] = []
    let all = operation.parameters
    guard all.count <= Self.mostParameters else { throw LeftOut(reason: "it has \(all.count) parameters") }
    for value in all {
      guard let resolved = document.resolved(value) else {
        throw LeftOut(reason: document.absence(of: value, called: "a parameter"))
      }
      if resolved.isNull {
        ignored.append(("a parameter of \(operation.name)", "it is null"))
        continue
      }
      guard resolved.map != nil else { throw LeftOut(reason: "one of its parameters isn't an object") }
      let places = ["query", "header", "path"] + (document.isSwagger ? ["body", "formData"] : ["cookie"])
      guard let place = resolved["in"]?.string, let name = resolved["name"]?.string, places.contains(place) else {
        let name = resolved["name"]?.string.map { " '\($0.safe.shortened(to: 100))'" } ?? ""
        let word = resolved["in"]?.written.safe.shortened(to: 40)
        let reason =
          name.isEmpty || word == nil ? "it has no 'name' or no 'in'" : "its 'in' can't be \(word ?? "")"
        if let isRequired = resolved["required"], isRequired.bool != false, !isRequired.isNull {
          throw LeftOut(reason: "\(name.isEmpty ? "a parameter" : "the parameter\(name)") must be given, but \(reason)")
        }
        ignored.append(("\(name.isEmpty ? "a parameter" : "the parameter\(name)") of \(operation.name)", reason))
        continue
      }
      let value = resolved
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
  private static func names(inPath whole: String) throws(LeftOut) -> [String] {
    let path = String(whole.prefix { $0 != "?" })
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
  ) throws(LeftOut) -> (field: FieldSchema, style: OperationCall.Style, schema: Value) {
    var schema = found.value
    var isJSON = false
    if !document.isSwagger {
      if let own = found.value["schema"] {
        schema = own
      } else if let content = document.member("content", of: found.value)?.map?.members.first {
        schema = document.member("schema", of: content.value) ?? .map(ValueMap())
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
    var style = try style(of: found, field.type, in: place, isJSON: isJSON)
    style.allowsReserved = place == .query && !document.isSwagger && found.value["allowReserved"]?.bool == true
    return (field, style, document.resolved(schema) ?? schema)
  }

  private func style(
    of found: Found, _ type: FieldType, in place: OperationCall.Parameter.Place, isJSON: Bool
  ) throws(LeftOut) -> OperationCall.Style {
    let standard = OperationCall.Style.standard(in: place)
    if isJSON { return .init(word: .json, explodes: standard.explodes) }
    switch type {
    case .list, .map, .object, .dyn: break
    default:
      // Only the styles that begin with a sign change how a single value is written.
      if let word = found.value["style"]?.string, ["label", "matrix"].contains(word) { break }
      return standard
    }
    if document.isSwagger { return Self.style(ofCollection: found.value["collectionFormat"]?.string, in: place) }
    guard let word = (found.value["style"]?.string).map(OperationCall.Style.Word.init) ?? standard.word,
      word != .json, word != .tabDelimited, place == .query || word == .simple
    else {
      throw LeftOut(
        reason: "has the style \((found.value["style"] ?? .null).written.safe)")
    }
    let explodes = found.value["explode"]?.bool ?? (word == .form)
    if explodes, [.spaceDelimited, .pipeDelimited].contains(word) { return .form }
    return .init(word: word, explodes: word == .deepObject ? standard.explodes : explodes)
  }

  /// The style for a `collectionFormat` of version 2.0.
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
      throw LeftOut(reason: document.absence(of: written, called: "its body"))
    }
    // Without an object, nothing says whether the body must be given.
    guard request.map != nil || request.isNull else { throw LeftOut(reason: "its body isn't an object") }
    let content = (document.member("content", of: request)?.map?.members ?? []).filter { $0.name != nil }
    guard let (form, type, index) = MediaForm.preferred(content.map { $0.name ?? "" }) else {
      let types = content.prefix(5).map { "'\(($0.name ?? "").safe.shortened(to: 40))'" }.joined(separator: ", ")
      let reason = types.isEmpty ? "it has no media type" : "\(types) can't be sent"
      if request["required"]?.bool == true { throw LeftOut(reason: "its body must be given, but \(reason)") }
      ignored.append(("the body of \(operation.name)", reason))
      return nil
    }
    let media = document.resolved(content[index].value) ?? .null
    if media.map == nil, !content[index].value.isNull {
      let reason =
        media.isNull ? document.absence(of: content[index].value, called: "its content") : "its content isn't an object"
      ignored.append(("the body of \(operation.name)", "\(reason), and is taken as anything"))
    }
    if let word = request["required"], word.bool == nil, !word.isNull {
      ignored.append(("'required' of the body of \(operation.name)", Self.notBool(word)))
    }
    return body(
      form, type, media["schema"] ?? .map(ValueMap()), encoding: media["encoding"],
      summary: request["description"]?.string, isRequired: request["required"]?.bool ?? false)
  }

  private mutating func bodyOfSwagger(
    _ operation: OpenAPIDocument.Operation, _ parameters: [Found]
  ) throws(LeftOut) -> (OperationCall.Body, FieldSchema)? {
    let types = ((operation.value["consumes"] ?? document.root["consumes"])?.list ?? []).compactMap(\.string)
    if let found = parameters.first(where: { $0.place == "body" }) {
      if MediaForm.preferred(types) == nil, let type = types.first {
        ignored.append(
          ("what \(operation.name) consumes", "'\(type.safe.shortened(to: 40))' isn't a media type, and JSON is sent"))
      }
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
          form: .file, type: form == .bytes ? type : "application/octet-stream"),
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
      let places = NullPlaces(of: schema, as: field.type, in: document)
      body.filled = places.filled
      body.kept = places.kept
      return (body, field)
    }
    for property in given.properties(of: schema).prefix(500) {
      guard let name = property.name else { continue }
      if form == .multipart {
        if isBinary(property.value) || (document.resolved(property.value)?["items"]).map(isBinary) == true {
          body.files.insert(name)
        }
      } else if let said = encoding?[name],
        let word = said["style"]?.string.map(OperationCall.Style.Word.init) ?? .form, word != .simple, word != .json
      {
        let style = OperationCall.Style(
          word: word, explodes: said["explode"]?.bool ?? (word == .form),
          allowsReserved: said["allowReserved"]?.bool == true)
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

  /// Whether a schema describes raw octets.
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
    var answers: [(part: String, value: Value)] = []
    var standard: (part: String, value: Value)?
    var saysOther = false
    // The name of a status is a number in YAML.
    if let written = operation.value["responses"], !written.isNull, document.resolved(written)?.map == nil {
      let reason = document.resolved(written) == nil ? document.absence(of: written) : "they aren't a map"
      ignored.append(("the answers of \(operation.name)", reason))
    }
    for member in (document.member("responses", of: operation.value)?.map?.members ?? []).prefix(100) {
      guard let name = member.key.csvField else { continue }
      let part = "the answer \(name.safe.shortened(to: 10)) of \(operation.name)"
      guard let value = document.resolved(member.value) else {
        ignored.append((part, document.absence(of: member.value)))
        continue
      }
      if name.hasPrefix("2") {
        answers.append((part, value))
      } else if name == "default" {
        standard = (part, value)
      } else if name == "304", isWrite {
        answer.alsoDone = [304]
      } else if name.hasPrefix("1") || name.hasPrefix("3") {
        saysOther = true
      }
    }
    if answers.isEmpty, let standard { answers = [standard] }
    for (_, value) in answers {
      for member in (document.member("headers", of: value)?.map?.members ?? []).prefix(100) {
        if let name = member.name { answer.headers.insert(name.lowercased()) }
      }
    }
    if operation.method == "HEAD" { return answer }
    guard !answers.isEmpty else {
      // An operation that only redirects or changes the protocol has no body of its own.
      if saysOther { return answer }
      answer.form = .json
      answer.body = FieldSchema("body", .dyn, "What was answered, which the document doesn't say.", isOptional: true)
      return answer
    }
    for (part, value) in answers {
      guard let reason = fault(of: value, operation) else { continue }
      ignored.append((part, "\(reason), and is taken as anything"))
      answer.form = .json
      answer.body = FieldSchema("body", .dyn, "What was answered.", isOptional: true)
    }
    if answer.form != nil { return answer }
    var found: [(form: OperationCall.Answer, type: String, field: FieldSchema)] = []
    var isOptional = operation.method == "DELETE" || !answer.alsoDone.isEmpty
    for (_, value) in answers {
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

  /// The content of an answer; nil if it has none.
  private func content(
    of answer: Value, _ operation: OpenAPIDocument.Operation
  ) -> (MediaForm, type: String, schema: Value)? {
    if document.isSwagger {
      guard let schema = answer["schema"] else { return nil }
      let types = ((operation.value["produces"] ?? document.root["produces"])?.list ?? []).compactMap(\.string)
      let (form, type, _) = MediaForm.preferred(types) ?? (.json, "application/json", 0)
      return (form, type, schema)
    }
    let content = (document.member("content", of: answer)?.map?.members ?? []).filter { $0.name != nil }
    guard let (form, type, index) = MediaForm.preferred(content.map { $0.name ?? "" }) else { return nil }
    return (form, type, document.resolved(content[index].value)?["schema"] ?? .map(ValueMap()))
  }

  /// Why an answer's content can't be read; nil if it can, or if there is none.
  private func fault(of answer: Value, _ operation: OpenAPIDocument.Operation) -> String? {
    guard answer.map != nil else { return "it isn't an answer" }
    if !document.isSwagger, let written = answer["content"], !written.isNull {
      guard let content = document.resolved(written) else {
        return document.absence(of: written, called: "its content")
      }
      guard let map = content.map else { return "its content isn't a map" }
      if let (_, _, index) = MediaForm.preferred(map.members.compactMap(\.name)) {
        let written = map.members.filter { $0.name != nil }[index].value
        guard let media = document.resolved(written) else {
          return document.absence(of: written, called: "its content")
        }
        return media.map != nil || media.isNull ? nil : "its content isn't an object"
      }
    }
    var types = (document.member("content", of: answer)?.map?.members ?? []).compactMap(\.name)
    if document.isSwagger {
      types =
        answer["schema"] == nil
        ? []
        : (operation.value["produces"] ?? document.root["produces"])?.list?
          .compactMap(\.string) ?? []
    }
    return MediaForm.preferred(types) == nil
      ? types.first.map { "'\($0.safe.shortened(to: 40))' isn't a media type" } : nil
  }
}

/// A path with the query, the expression `{?page,size}` (RFC 6570) or the fragment that a document puts after it.
///
/// A fragment only tells operations at one path apart, and isn't sent.
private struct PathTemplate {
  /// The path, with the part of its query that is fixed: `/a?action=list`.
  private(set) var path: String
  /// The names that the fixed part of the query has.
  private(set) var fixed: [String] = []
  /// The names in braces that are in the query, and the parameters that they are.
  private(set) var query: [(name: String, key: String, isRequired: Bool)] = []

  init(_ written: String) {
    var rest = String(written.prefix { $0 != "#" })
    for sign in ["{?", "{&"] {
      while let start = rest.indices.first(where: { rest[$0...].hasPrefix(sign) }),
        let end = rest[start...].firstIndex(of: "}")
      {
        query += rest[start..<end].dropFirst(sign.count).split(separator: ",").map { name in
          let name = String(name.hasSuffix("*") ? name.dropLast() : name)
          return (name, name, false)
        }
        rest.removeSubrange(start...end)
      }
    }
    let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    path = parts.first ?? rest
    guard parts.count > 1 else { return }
    var fixed: [Substring] = []
    for item in parts[1].split(separator: "&") {
      let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if pair.count == 2, pair[1].hasPrefix("{"), pair[1].hasSuffix("}") {
        query.append((String(pair[1].dropFirst().dropLast()), String(pair[0]).percentDecoded ?? String(pair[0]), true))
      } else {
        fixed.append(item)
      }
    }
    if !fixed.isEmpty { path += "?\(fixed.joined(separator: "&"))" }
    self.fixed = fixed.map { item in
      let name = String(item.prefix { $0 != "=" })
      return name.percentDecoded ?? name
    }
  }
}

extension FieldType {
  /// The type as locks have it.
  fileprivate var written: String {
    var encoder = LockEncoder()
    return JSON.displayed(encoder.type(self))
  }
}
