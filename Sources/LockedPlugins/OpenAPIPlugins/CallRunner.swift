// Runs an action of a document: makes the request from the input, sends it, and fits the answer to the lock's types.
//
// Each parameter of a path is one segment: everything but letters, digits and `-._~` is percent-encoded, and an empty
// text, `.` and `..` are refused, so that no value leads to another path. The outcome of a write is reported as `http`
// reports it. An answer that doesn't match the lock is an error; after a write the error says that the write was done.

import ActionKit
import Basics
import HTTPClient
import HTTPPlugin
import LocalFiles
import PluginLocks

/// The service of a document, with the client of its connection.
final class OpenAPIService: Sendable {
  let client: WebClient
  let connection: String
  let needs: ServiceNeeds
  let hasCredentials: Bool

  init(client: WebClient, connection: String, needs: ServiceNeeds, hasCredentials: Bool) {
    self.client = client
    self.connection = connection
    self.needs = needs
    self.hasCredentials = hasCredentials
  }

  /// Adds advice to an error that the service gave because no credentials are set.
  fileprivate func advised(_ error: ActionError) -> ActionError {
    guard error.status == 401, !hasCredentials, let credentials = needs.credentials else { return error }
    var error = error
    error.message += " Set \(credentials) in connections.\(connection)."
    return error
  }
}

struct CallRunner: Sendable {
  private let call: OperationCall?
  private let input: ObjectSchema
  private let output: ObjectSchema
  /// Whether a call without an answer may have changed something.
  private let isWrite: Bool
  private let id: String
  private let plugin: String
  /// The advice to people when the service doesn't match the lock.
  private let advice: String

  init(_ action: LockedAction, of plugin: String) {
    call = OperationCall(action.call)
    input = action.input
    output = action.output
    isWrite = !action.effect.runsInPlan
    id = "\(plugin).\(action.name)"
    self.plugin = plugin
    advice = "if the service has changed, run 'errand plugin update \(plugin)'"
  }

  private func readable() throws(ActionError) -> OperationCall {
    guard let call else {
      throw ActionError(.configuration, "The lock doesn't say how '\(id)' is called; \(advice).")
    }
    return call
  }

  // MARK: Running

  func run(_ input: Value, on service: OpenAPIService, in context: ActionContext) async throws(ActionError) -> Value {
    do throws(ActionError) {
      let call = try readable()
      if let pages = call.pages { return try await readAll(call, pages, input, on: service, in: context) }
      let body = try await self.body(call, input, on: service, in: context)
      var request = try self.request(call, input, body: body, on: service, in: context)
      if let header = call.keyHeader { request.headers[header] = WebClient.headerText(context.idempotencyKey) }
      let response =
        isWrite ? try await service.client.write(request) : try await service.client.read(request).response
      let isDone =
        call.alsoDone.contains(response.status) && !response.followsWrite || call.method == "DELETE" && response.isGone
      if !isDone { try service.client.check(response, to: request, expecting: nil, isWrite: isWrite) }
      if isWrite, call.answer == nil, response.isPage, response.url != request.url || response.isHTML {
        throw ActionError(
          .plugin,
          "\(request.method) \(request.redactedURL) was answered with a web page"
            + (response.url == request.url ? "" : " at another address")
            + ", where no content was expected; it may ask to log in.", status: response.status, effect: .unknown)
      }
      return try self.answer(call, response, to: request, isDone: isDone)
    } catch {
      throw service.advised(error)
    }
  }

  private func answer(
    _ call: OperationCall, _ response: HTTPResponse, to request: HTTPRequest, isDone: Bool
  ) throws(ActionError) -> Value {
    var fields = ValueMap([("status", .int(response.status))])
    if let form = call.answer, !isDone, !response.body.isEmpty {
      switch form {
      case .bytes: fields["body"] = .bytes(response.body)
      case .text: fields["body"] = try AnswerFields.body(of: response, to: request, as: .text, isWrite: isWrite).0
      case .json:
        // Some services write a text without quotes where JSON is expected.
        let isAny: Bool =
          switch output.field(named: "body")?.type {
          case .string, .dyn: true
          default: false
          }
        let body = try AnswerFields.body(of: response, to: request, as: isAny ? .auto : .json, isWrite: isWrite).0
        // If the type is known, null counts as an empty answer, without the body that recipes rely on.
        if !body.isNull || output.field(named: "body")?.type.isDynamic == true { fields["body"] = body }
      }
    }
    return try fitted(.map(fields), answerTo: request, status: response.status)
  }

  private func fitted(_ value: Value, answerTo request: HTTPRequest, status: Int?) throws(ActionError) -> Value {
    do throws(ValueError) { return try output.taking(value, as: "") } catch {
      let advice =
        output.isLoosenedByText(error, in: value)
        ? "to read dates and times as texts, run 'errand plugin update \(plugin) --dates text'."
        : "\(advice). Neither --dates nor --only loosens this field, and an edited lock isn't used: if the document is "
          + "wrong, correct it in a copy, and run 'errand plugin update \(plugin) COPY'."
      throw .unusable(
        "The answer to \(request.method) \(request.redactedURL) isn't as the lock says: \(error.description); \(advice)"
          + (isWrite ? " The write itself was done." : ""), status: status, isWrite: isWrite)
    }
  }

  private func readAll(
    _ call: OperationCall, _ pages: OperationCall.Pages, _ input: Value, on service: OpenAPIService,
    in context: ActionContext
  ) async throws(ActionError) -> Value {
    let list = PagedList(
      try webCall(call, input, body: nil, in: context), items: pages.items, order: pages.order,
      maxPages: input["maxPages"]?.int ?? 100, maxItems: input["maxItems"]?.int ?? 10_000, advice: advice)
    let content = try await list.read(on: service.client, in: context)
    let value = Value.object([
      "items": .list(content.items), "pages": .int(content.pages), "isComplete": .bool(content.isComplete),
    ])
    return try fitted(value, answerTo: service.client.request(list.call), status: nil)
  }

  // MARK: The request

  private func request(
    _ call: OperationCall, _ input: Value, body: WebBody?, on service: OpenAPIService, in context: ActionContext
  ) throws(ActionError) -> HTTPRequest {
    try service.client.request(webCall(call, input, body: body, in: context))
  }

  private func webCall(
    _ call: OperationCall, _ input: Value, body: WebBody?, in context: ActionContext
  ) throws(ActionError) -> WebClient.Call {
    var headers = try ParameterText.headers(call, input)
    if let accept = call.accept { headers["Accept"] = accept }
    return WebClient.Call(
      method: call.method, url: try ParameterText.address(call, input), headers: headers, body: body,
      secrets: context.secrets)
  }

  private func body(
    _ call: OperationCall, _ input: Value, on service: OpenAPIService, in context: ActionContext
  ) async throws(ActionError) -> WebBody? {
    guard let body = call.body, let value = input[body.input], !value.isNull else { return nil }
    switch body.form {
    case .json:
      let type = self.input.field(named: body.input)?.type ?? .dyn
      var sent = try WebBody.json(body.shaped(value, as: type))
      sent.type = body.type
      return sent
    case .urlencoded:
      var items: [ParameterText.Item] = []
      for member in value.map?.members ?? [] {
        let name = member.name ?? ""
        let isNested =
          member.value.map != nil || member.value.list?.contains { $0.map != nil || $0.list != nil } == true
        let style =
          body.styles[name] ?? (isNested ? .init(word: .deepObject, explodes: true) : OperationCall.Style.form)
        items += try ParameterText.items(name, member.value, style)
      }
      return WebBody(type: body.type, bytes: Array(items.map(\.text).joined(separator: "&").utf8))
    case .multipart: return try await multipart(body, value, on: service, in: context)
    case .text:
      return .text(value.string ?? "", type: body.type.hasPrefix("text/") ? "\(body.type); charset=utf-8" : body.type)
    case .file:
      let file = try service.client.files.file(value.string ?? "", in: context)
      return WebBody(type: body.type, bytes: try await file.read(limit: service.client.maxUploadBytes))
    }
  }

  private func multipart(
    _ body: OperationCall.Body, _ value: Value, on service: OpenAPIService, in context: ActionContext
  ) async throws(ActionError) -> WebBody {
    var parts: [FormPart] = []
    var left = service.client.maxUploadBytes
    for member in value.map?.members ?? [] {
      let name = member.name ?? ""
      for item in member.value.list ?? [member.value] where !item.isNull {
        if body.files.contains(name), let path = item.string {
          parts.append(try await service.client.filePart(name, path, left: &left, in: context))
        } else if let text = item.csvField {
          parts.append(FormPart(name, text))
        } else {
          var part = FormPart(name, "")
          part.bytes = try WebBody.json(item).bytes
          part.type = "application/json"
          parts.append(part)
        }
      }
    }
    return try .form(parts)
  }

  /// The paths of files that are sent.
  func paths(in input: Value) -> [Value?] {
    guard let body = call?.body, let value = input[body.input] else { return [] }
    if body.form == .file { return [value] }
    return body.files.sorted { $0.precedesByScalars($1) }.flatMap { name -> [Value] in
      guard let part = value[name], !part.isNull else { return [] }
      return part.list ?? [part]
    }
  }

  /// The values of an input that are refused regardless of its other values.
  func refusals(of input: StepInput) -> [Refusal] {
    guard let call else { return [] }
    return call.parameters.compactMap { parameter in
      guard let value = input[parameter.input], !value.isNull, input.isKnown(value) else { return nil }
      do throws(ActionError) {
        try ParameterText.check(parameter, value)
        return nil
      } catch {
        return Refusal(error, of: value)
      }
    }
  }

  // MARK: Previews

  var previewReads: Bool { call?.hasGet == true }

  /// Whether a preview can't read the state before the change, so that a plan shows only the request.
  var previewsDeeds: Bool { call.map { !$0.hasGet && ($0.method == "POST" || $0.method == "PATCH") } ?? false }
  var sends: String? { call.map { "\($0.method) \($0.path)" } }

  /// The path of the only thing that it writes; nil for POST, PATCH and other methods, which may change anything of the
  /// service.
  func onlyPath(of input: Value) -> String? {
    guard let call, call.method == "PUT" || call.method == "DELETE",
      let address = try? ParameterText.address(call, input)
    else { return nil }
    return String(address.prefix { $0 != "?" })
  }

  func preview(
    _ input: Value, on service: OpenAPIService, in context: ActionContext
  ) async throws(ActionError) -> [Change] {
    let call = try readable()
    let request = try self.request(call, input, body: nil, on: service, in: context)
    let subject = "\(call.method) \(request.redactedURL)"
    for path in paths(in: input) { _ = try service.client.files.file(path?.string ?? "", in: context) }
    var there: Value?
    if call.hasGet {
      do throws(ActionError) {
        there = try await self.there(call, input, on: service, in: context)
      } catch  where error.kind == .notFound {
        if call.method == "DELETE" { return [] }
      }
    }
    if call.method == "DELETE" {
      return [Change(subject, from: there.map { WebBody.displayed($0, in: context) } ?? "there", to: nil)]
    }
    let sent = displayedBody(call, input)
    guard let there, let members = sent.map?.members else {
      return [
        Change(
          subject, from: there.map { WebBody.displayed($0, in: context) }, to: WebBody.displayed(sent, in: context))
      ]
    }
    // Show only the members that the request replaces.
    var before = ValueMap()
    for member in members { before[member.key] = there.map?[member.key] }
    return [
      Change(subject, from: WebBody.displayed(.map(before), in: context), to: WebBody.displayed(sent, in: context))
    ]
  }

  /// The content that GET returns at the path.
  private func there(
    _ call: OperationCall, _ input: Value, on service: OpenAPIService, in context: ActionContext
  ) async throws(ActionError) -> Value {
    var get = call
    get.method = "GET"
    get.parameters.removeAll { $0.place != .path }
    get.accept = nil
    let request = try self.request(get, input, body: nil, on: service, in: context)
    let response = try await service.client.read(request).response
    do throws(ActionError) {
      try service.client.check(response, to: request, expecting: nil, isWrite: false)
    } catch {
      throw service.advised(error)
    }
    do throws(ActionError) {
      return try AnswerFields.body(of: response, to: request, as: .auto, isWrite: false).0
    } catch {
      // Neither JSON nor a text.
      return .string("\(response.body.count) bytes")
    }
  }

  /// The body that is sent, as people see it.
  private func displayedBody(_ call: OperationCall, _ input: Value) -> Value {
    guard let body = call.body, let value = input[body.input], !value.isNull else { return .null }
    switch body.form {
    case .json: return body.shaped(value, as: self.input.field(named: body.input)?.type ?? .dyn)
    case .urlencoded, .multipart, .text: return value
    case .file: return .string("the file '\(value.string ?? "")'")
    }
  }
}

extension HTTPResponse {
  /// Whether it says that it is a web page.
  fileprivate var isHTML: Bool { headers["Content-Type"]?.lowercased().hasPrefix("text/html") == true }
}
