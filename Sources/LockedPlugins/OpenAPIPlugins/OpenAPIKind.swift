package import ActionKit
package import Basics
import HTTPClient
import HTTPPlugin
import LocalFiles
package import PluginLocks

/// Plugins from OpenAPI documents.
package enum OpenAPIKind {
  package static let name = "openapi"

  /// Makes the lock of a plugin of a document.
  ///
  /// - Parameters:
  ///   - bytes: The document, JSON or YAML, in version 2.0, 3.0 or 3.1.
  ///   - description: Where it is from, a path or an address, which `update` reads again.
  ///   - only: The operations that become actions: the action's name, the operation's id, a path such as `/pets/*`, or a
  ///     tag such as `tag:pets`, where `*` stands for anything; none for all of them.
  ///   - effects: The effects that a person gave to actions; they count before the document's.
  ///   - readsDatesAsText: Whether dates and times are texts, because the service writes them otherwise than RFC 3339 does.
  ///   - files: Reads files that the document refers to, by their paths from its folder on; what it throws follows the
  ///     reference in messages. nil to read none.
  ///   - file: The lock's name in messages.
  package static func lock(
    name: String, document bytes: [UInt8], source description: String, only: [String], effects: [String: Effect],
    readsDatesAsText: Bool = false, files: ((String) throws(PluginLockError) -> [UInt8])? = nil, file: String
  ) throws(PluginLockError) -> PluginLock {
    let document = try OpenAPIDocument(bytes, called: description, files: files)
    let (operations, unread) = try document.operations()
    guard !operations.isEmpty else {
      throw PluginLockError(
        "\(description) has no operations\(unread.first.map { ": \($0.part): \($0.reason)" } ?? "")")
    }
    let names = ActionNames.of(operations)
    let chosen = try OperationFilter(only).choose(operations, named: names, of: description)

    var reader = OperationReader(document)
    var taken = Set(names)
    var actions: [LockedAction] = []
    var done: [OpenAPIDocument.Operation] = []
    var leftOut = document.oddities + (only.isEmpty ? unread : [])
    let server = document.server(for: operations)
    let here = operations.filter { document.isAt(server, $0) }
    let readable = Set(here.filter(document.looksUp).map(\.path))
    for (operation, name) in chosen {
      do throws(OperationReader.LeftOut) {
        guard document.isAt(server, operation) else {
          throw OperationReader.LeftOut(reason: "it is at a server of its own")
        }
        var read = try reader.read(operation)
        read.call.hasGet = ["PUT", "DELETE"].contains(operation.method) && readable.contains(operation.path)
        if readsDatesAsText {
          read.input = read.input.map(\.withDatesAsText)
          read.body = read.body?.withDatesAsText
        }
        if let effect = effects[name] {
          read.effect = effect
          read.effectSource = .person
        }
        actions.append(read.action(named: name))
        done.append(operation)
        guard var all = PageGuess.action(named: ActionNames.whole(name), of: read), taken.insert(all.name).inserted
        else {
          continue
        }
        if let effect = effects[all.name] {
          all.effect = effect
          all.effectSource = .person
        }
        actions.append(all)
      } catch {
        leftOut.append((operation.name, error.reason))
      }
    }
    leftOut += reader.leftOut
    for name in effects.keys.sorted(by: { $0.precedesByScalars($1) })
    where !actions.contains(where: { $0.name.hasSameScalars(as: name) }) {
      let guess =
        names.contains { $0.hasSameScalars(as: name) }
        ? only.isEmpty ? ", for it was left out" : ", for what was chosen leaves it out"
        : name.nearest(among: actions.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
      throw PluginLockError("\(description) has no action '\(name.safe)' to give an effect\(guess)")
    }
    guard !actions.isEmpty else {
      throw PluginLockError(
        "\(description) has no operation that can be an action\(leftOut.first.map { ": \($0.part): \($0.reason)" } ?? "")"
      )
    }

    var encoder = LockEncoder()
    for (name, type) in reader.named { encoder.name(readsDatesAsText ? type.withDatesAsText : type, name) }
    let entries = actions.map { (name: $0.name, entry: $0.entry(&encoder)) }
    var source = ValueMap([("document", .string(description))])
    if !document.title.isEmpty { source["title"] = .string(document.title) }
    if !document.version.isEmpty { source["version"] = .string(document.version) }
    if !only.isEmpty { source["only"] = .list(only.map(Value.string)) }
    if !effects.isEmpty {
      source["effects"] = .map(
        ValueMap(effects.sorted { $0.key.precedesByScalars($1.key) }.map { ($0.key, .string($0.value.written)) }))
    }
    if readsDatesAsText { source["dates"] = .string("text") }
    source.setLeftOut(leftOut)
    let info = document.root["info"]
    let summary =
      info?["summary"]?.string.flatMap { SchemaReader.sentence(of: $0) }
      ?? (document.title.isEmpty ? "Calls \(name)." : "Calls \(document.title).")
    let lock = try PluginLock(
      name: name, kind: Self.name, summary: summary, source: source,
      connection: ServiceNeeds(document, from: description, at: server, for: done).written, types: encoder.types,
      actions: entries, file: file)
    let size = try lock.written().count
    guard size <= PluginLock.mostBytes else {
      throw PluginLockError(
        "\(description) has too much for one lock (\(size) bytes, more than \(PluginLock.mostBytes)); "
          + "name with '--only' what you need")
    }
    return lock
  }

  /// Makes a lock again, from the present document and with the choices that a person made before.
  ///
  /// Effects that a person gave to actions that don't exist any more are dropped.
  ///
  /// - Parameters:
  ///   - only: The operations to choose instead of the earlier choice; nil to keep that.
  ///   - readsDatesAsText: Replaces the earlier choice; nil to keep that.
  ///   - given: Effects that replace those given earlier; nil for an action removes its effect.
  ///   - moved: The document's new address or path; nil if that hasn't changed.
  package static func updated(
    _ lock: PluginLock, document bytes: [UInt8], only: [String]? = nil, readsDatesAsText: Bool? = nil,
    giving given: [String: Effect?] = [:], from moved: String? = nil,
    files: ((String) throws(PluginLockError) -> [UInt8])? = nil
  ) throws(PluginLockError) -> PluginLock {
    let description = moved ?? lock.source["document"]?.string ?? lock.file
    let names = ActionNames.of(try OpenAPIDocument(bytes, called: description, files: files).operations().read)
    let known = Set(names + names.map(ActionNames.whole))
    var effects: [String: Effect] = [:]
    for member in lock.source["effects"]?.map?.members ?? [] {
      guard let name = member.name, let effect = member.value.string.flatMap(Effect.init(written:)) else { continue }
      if known.contains(name) { effects[name] = effect }
    }
    try effects.give(given)
    return try self.lock(
      name: lock.name, document: bytes, source: description,
      only: only ?? (lock.source["only"]?.list ?? []).compactMap(\.string), effects: effects,
      readsDatesAsText: readsDatesAsText ?? (lock.source["dates"]?.string == "text"), files: files, file: lock.file)
  }

  /// Whether the operations of the lock ask for credentials.
  package static func asksForCredentials(_ lock: PluginLock) -> Bool { ServiceNeeds(lock).asksForCredentials }

  /// The lines to put under `connections:` in errand.yaml, with the document's facts about the service.
  package static func connectionSketch(_ lock: PluginLock) -> String { ServiceNeeds(lock).sketch(lock.name) }

  /// The operations that this connection doesn't authorise, in a sentence or two for each kind of credentials.
  package static func connectionNotes(_ lock: PluginLock) -> [String] { ServiceNeeds(lock).notes(lock.name) }
}

extension OpenAPIKind: LockKind {
  package static let reach = PluginReach.web

  package static func configuration(of lock: PluginLock) -> ObjectSchema { ServiceNeeds(lock).configuration }

  package static func calls(of action: LockedAction, in lock: PluginLock) -> ActionDescriptor.Calls {
    let runner = CallRunner(action, of: lock.name)
    var calls = ActionDescriptor.Calls { input, service, context in
      try await runner.run(input, on: Self.service(service), in: context)
    }
    if action.effect.isWrite {
      calls.previewing = { input, service, context in
        try await runner.preview(input, on: Self.service(service), in: context)
      }
      calls.previewReads = runner.previewReads
      calls.previewsDeeds = runner.previewsDeeds
      calls.sends = runner.sends
    }
    return calls
  }

  private static func service(_ service: any Sendable) throws(ActionError) -> OpenAPIService {
    guard let service = service as? OpenAPIService else {
      throw ActionError(
        .internal, "An action of a document was handed \(type(of: service)).", effect: ActionError.Effect.none)
    }
    return service
  }

  package static func connect(
    _ lock: PluginLock, _ configuration: Value, in context: PluginContext
  ) async throws -> any Sendable {
    let needs = ServiceNeeds(lock)
    let settings: HTTPPlugin.Configuration
    do throws(ValueError) {
      settings = try needs.settings(configuration, as: "connections.\(context.connection)")
    } catch {
      throw ActionError(.configuration, error.description, cause: error)
    }
    return OpenAPIService(
      client: HTTPPlugin.connect(settings, in: context), connection: context.connection, needs: needs,
      hasCredentials: settings.hasCredentials)
  }

  package static func footprint(
    of action: LockedAction, in lock: PluginLock, _ input: Value, settings: Value, in context: ActionContext
  ) -> Footprint {
    guard let settings = try? ServiceNeeds(lock).settings(settings, as: ""), let base = settings.baseURL else {
      return .everything
    }
    let runner = CallRunner(action, of: lock.name)
    let service = Resource.service(base)
    let files = runner.paths(in: input)
    // The values before and after a PUT or DELETE stay valid until something writes at its path, or at an unknown one.
    let elsewhere = Resource.own(lock.name, "anywhere")
    let path = runner.onlyPath(of: input).map { Resource.own(lock.name, "paths").part(at: $0) }
    return Footprint(
      reads: (path.map { [$0, elsewhere] } ?? [service])
        + (files.isEmpty ? [] : LocalFiles(folder: settings.folder).resources(files, in: context)),
      changes: [service, path ?? elsewhere])
  }

  package static func refusals(
    of action: LockedAction, in lock: PluginLock, _ input: StepInput, settings: Value?, in context: ActionContext
  ) -> [Refusal] {
    let runner = CallRunner(action, of: lock.name)
    let known = settings.flatMap { try? ServiceNeeds(lock).settings($0, as: "") }
    if settings != nil, known == nil { return [] }
    return LocalFiles.refusals(
      of: runner.paths(in: input.value), on: known.map { LocalFiles(folder: $0.folder) }, in: context)
      + runner.refusals(of: input)
  }
}
