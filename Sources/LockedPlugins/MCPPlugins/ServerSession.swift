// How a server is met: the version of the protocol is agreed on, and its tools are listed.
//
// A server of 2026-07-28 answers `server/discover`. A refusal that names only unknown versions is an error. Any other
// answer means an older server, which needs a handshake first. So does silence for a moment, and so does a process that
// ended because of the question; it is started again. This is what the official clients do. If the lock has the version
// that the server spoke before, the server is greeted in that version at once.

import ActionKit
import Basics
import ModelContext

/// A server that was met.
struct ServerSession: Sendable {
  var link: any ServerLink
  var version: ProtocolVersion
  /// The server's own name, as it reports it, or the connection's.
  var serverName: String
  var serverVersion: String
  var summary: String?
  var tools: [Tool]
  /// The entries of its list that can't be called: names of tools, or places in the list, each with the reason.
  var leftOut: [(part: String, reason: String)] = []

  static let clientName = "errand"
  static let clientVersion = "1"

  /// How long an answer to the first question is waited for, before an older server is assumed.
  private static let moment = TimeSpan.seconds(2)
  private static let mostPages = 200
  private static let mostTools = 10_000

  /// Connects to a server, and lists its tools.
  ///
  /// - Parameters:
  ///   - limit: The time limit of each answer.
  ///   - known: The version that the server spoke before.
  ///   - connect: Starts the server, or returns a link to a running one.
  static func open(
    within limit: TimeSpan, speaking known: ProtocolVersion? = nil, time: any TimeSource,
    _ connect: () async throws(ServerFailure) -> any ServerLink
  ) async throws(ServerFailure) -> ServerSession {
    var link = try await connect()
    do throws(ServerFailure) {
      var greeting: Greeting?
      if known?.isStateless != false {
        greeting = try await discovered(link, within: known == nil ? min(limit, moment) : limit, time: time)
      }
      if greeting == nil {
        if !link.isUsable { link = try await connect() }
        greeting = try await shakenHands(link, within: limit, time: time)
      }
      guard let greeting else {
        throw ServerFailure(
          reason: .refused(.plugin, status: nil, retryAfter: nil),
          message: "'\(link.name)' answered neither 'server/discover' nor 'initialize'")
      }
      let (tools, leftOut) = try await tools(of: link, greeting.version, within: limit, time: time)
      return ServerSession(
        link: link, version: greeting.version, serverName: greeting.info?["name"]?.string?.safe ?? link.name,
        serverVersion: greeting.info?["version"]?.string?.safe ?? "",
        summary: (greeting.info?["description"] ?? greeting.info?["title"])?.string, tools: tools,
        leftOut: leftOut)
    } catch {
      link.close()
      throw error
    }
  }

  private typealias Greeting = (version: ProtocolVersion, info: Value?)

  /// The version and the name of a stateless server; nil for a server that needs a handshake.
  private static func discovered(
    _ link: any ServerLink, within limit: TimeSpan, time: any TimeSource
  ) async throws(ServerFailure) -> Greeting? {
    let result: ValueMap
    do throws(ServerFailure) {
      var request = ServerRequest(method: "server/discover", params: ValueMap(), version: .latest)
      request.isTrial = true
      result = try await answer(to: request, from: link, within: limit, time: time)
    } catch {
      switch error.reason {
      case .answered(let answer):
        let supported = answer.data?["supported"]?.list?.compactMap(\.string)
        if answer.code == ModelContextError.Code.unsupportedVersion.rawValue, let supported, !supported.isEmpty,
          !supported.contains(where: { ProtocolVersion(rawValue: $0) != nil })
        {
          throw unknown(supported, link)
        }
        return nil
      // The process ended, or an HTTP server of before knows nothing of requests outside of a session.
      case .lost(.plugin, _), .lost(.timeout, _), .refused(.plugin, _, _), .refused(.notFound, _, _): return nil
      case .lost, .refused, .unreachable, .unreadable, .expired, .cancelled: throw error
      }
    }
    let versions = (result["supportedVersions"]?.list ?? []).compactMap(\.string)
    guard let version = ProtocolVersion.stateless.last(where: { versions.contains($0.rawValue) }) else { return nil }
    return (version, result["_meta"]?[RequestEnvelope.Key.serverInfo] ?? result["serverInfo"])
  }

  private static func shakenHands(
    _ link: any ServerLink, within limit: TimeSpan, time: any TimeSource
  ) async throws(ServerFailure) -> Greeting? {
    let params = ValueMap([
      ("protocolVersion", .string(ProtocolVersion.latestHandshake.rawValue)), ("capabilities", .map(ValueMap())),
      ("clientInfo", .object(["name": .string(clientName), "version": .string(clientVersion)])),
    ])
    let result: ValueMap
    do throws(ServerFailure) {
      result = try await answer(
        to: ServerRequest(method: "initialize", params: params), from: link, within: limit, time: time)
    } catch {
      // A server that answered the first question too late, or was updated since, has no handshake.
      let unknown: [ModelContextError.Code] = [.unsupportedVersion, .methodNotFound]
      guard case .answered(let answer) = error.reason, unknown.contains(where: { $0.rawValue == answer.code }),
        let greeting = try await discovered(link, within: limit, time: time)
      else { throw error }
      return greeting
    }
    let answered = result["protocolVersion"]?.string ?? ""
    guard let version = ProtocolVersion(rawValue: answered), !version.isStateless else {
      throw unknown([answered], link)
    }
    await link.tell("notifications/initialized", as: version)
    return (version, result["serverInfo"])
  }

  private static func unknown(_ versions: [String], _ link: any ServerLink) -> ServerFailure {
    ServerFailure(
      reason: .unreachable(.configuration),
      message: "'\(link.name)' speaks version \(versions.joined(separator: ", ").safe.shortened(to: 100)) of MCP, and "
        + "errand speaks \(ProtocolVersion.allCases.map(\.rawValue).joined(separator: ", "))")
  }

  private static func tools(
    of link: any ServerLink, _ version: ProtocolVersion, within limit: TimeSpan, time: any TimeSource
  ) async throws(ServerFailure) -> (tools: [Tool], leftOut: [(part: String, reason: String)]) {
    var tools: [Tool] = []
    var leftOut: [(part: String, reason: String)] = []
    var count = 0
    var cursor: String?
    for _ in 0..<mostPages {
      let params = cursor.map { ValueMap([("cursor", .string($0))]) } ?? ValueMap()
      let result = try await answer(
        to: ServerRequest(method: "tools/list", params: params, version: version), from: link, within: limit, time: time
      )
      guard let list = result["tools"]?.list else {
        throw ServerFailure(
          reason: .refused(.plugin, status: nil, retryAfter: nil),
          message: "'\(link.name)' answered 'tools/list' without a list 'tools'")
      }
      for entry in list {
        if let fault = fault(of: entry) {
          leftOut.append((entry["name"]?.string.flatMap { $0.isEmpty ? nil : $0 } ?? "tools[\(count)]", fault))
        } else if let tool = Tool(reading: entry) {
          tools.append(tool)
        }
        count += 1
      }
      guard count <= mostTools else { break }
      guard let next = result["nextCursor"]?.string, next != cursor else { return (tools, leftOut) }
      cursor = next
    }
    throw ServerFailure(
      reason: .refused(.plugin, status: nil, retryAfter: nil),
      message: "'\(link.name)' lists more than \(mostTools) tools, or more than \(mostPages) pages of them")
  }

  /// Why an entry of the list of tools can't be called; nil if it can.
  private static func fault(of entry: Value) -> String? {
    guard entry.map != nil else { return "it isn't a tool" }
    guard let name = entry["name"]?.string else { return "its name isn't a string" }
    if name.isEmpty { return "its name is empty" }
    guard let schema = entry["inputSchema"] else { return "it has no 'inputSchema'" }
    return schema.map == nil ? "its 'inputSchema' isn't an object" : nil
  }

  /// The result of a request that isn't a call, within a time limit.
  private static func answer(
    to request: ServerRequest, from link: any ServerLink, within limit: TimeSpan, time: any TimeSource
  ) async throws(ServerFailure) -> ValueMap {
    try await withTaskGroup(of: Result<ValueMap, ServerFailure>?.self) { group in
      group.addTask {
        do throws(ServerFailure) { return .success(try await link.ask(request)) } catch { return .failure(error) }
      }
      group.addTask {
        try? await time.sleep(for: limit)
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      if let first { return first }
      if !Task.isCancelled {
        return .failure(
          ServerFailure(
            reason: .lost(.timeout), message: "'\(link.name)' didn't answer \(request.what) within \(limit)"))
      }
      if let second = await group.next(), let result = second { return result }
      return .failure(
        ServerFailure(reason: .cancelled(mayHaveHappened: false), message: "'\(link.name)' was not asked"))
    }.get()
  }
}
