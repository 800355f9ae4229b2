import ActionKit
import Basics
import ChildProcesses
import Glibc
import HTTPClient
import ModelContext

/// The settings in `errand.yaml` of a connection to a server that is a program of this machine.
struct ProgramSettings: ValidatedFieldSet {
  @Field("The program, in place of the lock's: a name to look up in `path`, or a path.", .notEmpty)
  var command: String?
  @Field("The program's arguments, in place of the lock's.") var arguments: [String]?
  @Field("The folders to search for programs: absolute paths, separated by colons.", .notEmpty)
  var path = MCPKind.searchPath
  @Field("Variables of the program's environment, beside PATH and LANG.") var environment: [String: String] = [:]
  @Field("Environment variables that hold secrets.") var secretEnvironment: [String: Secret<String>] = [:]
  @Field("Names of variables that the program inherits from errand's own environment, such as HOME.")
  var inherit: [String] = []
  @Field(
    "The folder that the program works in, relative to errand.yaml's folder; absent means errand.yaml's folder.",
    .notEmpty)
  var folder: String?
  @Field("How long the program is kept while no step uses it.", .min(.zero)) var idle = TimeSpan.seconds(60)
  @Field("How long the program may take to start, and to say what it offers.", .min(.milliseconds(1)))
  var requestTimeout = TimeSpan.seconds(30)
  @Field("The longest message that is read from the program, in bytes.", .range(1024...1 << 30))
  var maxMessageBytes = 16 << 20

  func conflicts() -> [Conflict] {
    var conflicts: [Conflict] = []
    let named = [
      ("environment", Array(environment.keys)), ("secretEnvironment", Array(secretEnvironment.keys)),
      ("inherit", inherit),
    ]
    for (field, names) in named {
      for name in names.sorted(by: { $0.precedesByScalars($1) })
      where name.isEmpty || name.utf8.contains(ASCII.equals) || name.utf8.contains(0) {
        conflicts.append(Conflict("has '\(name.safe)', which can't be the name of a variable", at: field))
      }
    }
    if let folder = path.split(separator: ":").first(where: { !$0.hasPrefix("/") }) {
      conflicts.append(Conflict("must name absolute folders, and '\(folder)' isn't one", at: "path"))
    }
    return conflicts
  }
}

/// The settings in `errand.yaml` of a connection to a server at an address.
struct AddressSettings: ValidatedFieldSet {
  @Field("The server's address, in place of the lock's.", .notEmpty) var url: String?
  @Field("A token, sent as `Authorization: Bearer`.", .notEmpty) var token: Secret<String>?
  @Field("Header fields of every request.") var headers: [String: String] = [:]
  @Field("Header fields that hold secrets, such as X-API-Key.") var secretHeaders: [String: Secret<String>] = [:]
  @Field("File with certificates, in PEM, that are trusted beside the system's.", .notEmpty)
  var certificateAuthorities: String?
  @Field("After how long without use the server is asked again what it offers.", .min(.zero))
  var idle = TimeSpan.seconds(60)
  @Field("How long the server may take to say what it offers.", .min(.milliseconds(1)))
  var requestTimeout = TimeSpan.seconds(30)
  @Field("The longest message that is read from the server, in bytes.", .range(1024...1 << 30))
  var maxMessageBytes = 16 << 20

  func conflicts() -> [Conflict] {
    var conflicts: [Conflict] = []
    if let url {
      if let address = HTTPURL(url) {
        if address.userInfo != nil {
          conflicts.append(Conflict("must not hold a name or password; write them into 'secretHeaders'", at: "url"))
        }
      } else {
        conflicts.append(Conflict("must begin with http:// or https://", at: "url"))
      }
    }
    if let token {
      for (field, names) in [("headers", Array(headers.keys)), ("secretHeaders", Array(secretHeaders.keys))]
      where names.contains(where: { $0.lowercased() == "authorization" }) {
        conflicts.append(Conflict("must not have 'Authorization' beside 'token'", at: field))
      }
      if token.reveal().lowercased().hasPrefix("bearer ") {
        conflicts.append(Conflict("must not begin with 'Bearer', which is added", at: "token"))
      }
    }
    return conflicts
  }
}

/// How a server is met, by the source of a lock and the settings of a connection.
enum ServerSettings: Sendable {
  case program([String], ProgramSettings)
  case address(String, AddressSettings)

  init(_ server: MCPSource.Server, _ settings: Value, connection: String) throws(ValueError) {
    let path = "connections.\(connection)"
    switch server {
    case .command(let words): self = .program(words, try ProgramSettings(checking: settings, as: path))
    case .url(let url): self = .address(url, try AddressSettings(checking: settings, as: path))
    }
  }

  var idle: TimeSpan {
    switch self {
    case .program(_, let settings): settings.idle
    case .address(_, let settings): settings.idle
    }
  }

  private var requestTimeout: TimeSpan {
    switch self {
    case .program(_, let settings): settings.requestTimeout
    case .address(_, let settings): settings.requestTimeout
    }
  }

  /// Connects to the server, and lists its tools.
  ///
  /// - Parameter version: The version that the server spoke before.
  func open(
    in context: PluginContext, speaking version: ProtocolVersion? = nil
  ) async throws(ServerFailure) -> ServerSession {
    try await ServerSession.open(within: requestTimeout, speaking: version, time: context.time) {
      () throws(ServerFailure) in
      switch self {
      case .program(let words, let settings):
        return StdioServer.start(
          try command(words, settings, context), named: context.connection,
          longestMessage: settings.maxMessageBytes, time: context.time)
      case .address(let url, let settings): return link(url, settings, context)
      }
    }
  }

  // MARK: A program

  private func command(
    _ words: [String], _ settings: ProgramSettings, _ context: PluginContext
  ) throws(ServerFailure) -> StdioServer.Command {
    func fault(_ message: String) -> ServerFailure {
      ServerFailure(reason: .unreachable(.configuration), message: message)
    }
    let program = settings.command ?? words.first ?? ""
    let arguments = settings.arguments ?? Array(words.dropFirst())
    let root = context.path(".")
    let folder = settings.folder.map { context.path($0) } ?? root
    if let given = settings.folder, (try? Files.kind(of: "\(folder)/.")) != .folder {
      throw fault("'folder' of connection '\(context.connection)' is '\(given.safe)', which isn't a folder")
    }
    guard let file = ChildProcess.file(of: program, in: settings.path, from: root) else {
      throw fault(
        program.utf8.contains(ASCII.slash)
          ? "'\(context.path(program))' isn't a program: it is missing, or not executable"
          : "no program is named '\(program)' in \(settings.path.replacing(":", with: ", ")); give its path, or add its "
            + "folder to the 'path' of connection '\(context.connection)'")
    }
    var environment = ["PATH": settings.path, "LANG": "C.UTF-8"]
    for name in settings.inherit {
      environment[name] = getenv(name).map { String(cString: $0) }
    }
    for (name, value) in settings.environment { environment[name] = value }
    for (name, value) in settings.secretEnvironment { environment[name] = value.reveal() }
    for (name, value) in environment where value.utf8.contains(0) {
      throw fault("the value of '\(name.safe)' contains a NUL character")
    }
    if ([program] + arguments).contains(where: { $0.utf8.contains(0) }) {
      throw fault("an argument of '\(program.safe)' contains a NUL character")
    }
    return StdioServer.Command(path: file, words: [program] + arguments, environment: environment, folder: folder)
  }

  // MARK: An address

  private func link(_ url: String, _ settings: AddressSettings, _ context: PluginContext) -> HTTPServerLink {
    var headers = settings.headers.sorted { $0.key.precedesByScalars($1.key) }.map { ($0.key, $0.value) }
    let secrets = settings.secretHeaders.sorted { $0.key.precedesByScalars($1.key) }.map { ($0.key, $0.value.reveal()) }
    headers += secrets
    if let token = settings.token { headers.append(("Authorization", "Bearer \(token.reveal())")) }
    var context = context
    // A recording holds the calls of tools, not their HTTP requests.
    context.interceptor = nil
    return HTTPServerLink(
      settings.url ?? url, context.httpClient(trusting: settings.certificateAuthorities), named: context.connection,
      headers: headers,
      secrets: secrets.map(\.1) + (settings.token.map { [$0.reveal()] } ?? []),
      longestMessage: settings.maxMessageBytes, patience: settings.requestTimeout, time: context.time)
  }
}
