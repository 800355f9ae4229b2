import Foundation

/// Creates a starter plugin: it builds, passes its tests, and has an action, a client with an error for each kind of
/// refusal, and a sandbox that plays the service.
struct NewPlugin {
  private let name: String
  private let root: URL

  /// Prepares a plugin of that name.
  init(_ name: String, in root: URL) throws(ToolError) {
    let isName =
      name.first?.isUppercase == true && name.utf8.count <= 40
      && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } && !name.hasSuffix("Plugin")
    guard isName else {
      throw ToolError("'\(name)' isn't a plugin name: write it like Timetable, with letters and digits only")
    }
    guard !FileManager.default.fileExists(atPath: root.appending(path: "Plugins/\(name)").path) else {
      throw ToolError("Plugins/\(name) is there already")
    }
    self.name = name
    self.root = root
  }

  /// Writes all files, and gives their paths.
  func write() throws(ToolError) -> [String] {
    // Both changed files are read and edited before anything is written, so that a failure leaves nothing.
    let manifest = try inserting(
      "  plugin(\"\(name)\", using: [\"HTTPClient\", \"SandboxKit\"], tests: [\"HTTPClient\"]),", into: "Package.swift",
      after: "let plugins = [", before: "]")
    var list = try inserting(
      "  \(name)Plugin.self,", into: "Sources/Programs/PluginList/PluginList.swift", after: "package let everyPlugin",
      before: "]")
    list = GeneratedFile(
      path: list.path,
      text: list.text.replacing(
        "\n\n/// The plugins", with: "\nimport \(name)Plugin\n\n/// The plugins", maxReplacements: 1))
    let files = [manifest, list] + newFiles
    for file in files { try file.write(in: root) }
    return files.map(\.path)
  }

  /// A file with a line added to a list: after the line with that beginning, before the line that ends the list.
  private func inserting(
    _ line: String, into path: String, after beginning: String, before end: String
  ) throws(ToolError) -> GeneratedFile {
    var lines = try root.appending(path: path).text().components(separatedBy: "\n")
    guard let start = lines.firstIndex(where: { $0.hasPrefix(beginning) }),
      let place = lines[start...].firstIndex(of: end), place > start + 1
    else { throw ToolError("\(path) has no list that begins with '\(beginning)'") }
    if !lines[place - 1].hasSuffix(",") { lines[place - 1] += "," }
    lines.insert(line, at: place)
    return GeneratedFile(path: path, text: lines.joined(separator: "\n"))
  }

  /// The name that recipes use.
  private var recipeName: String { name.prefix(1).lowercased() + name.dropFirst() }

  private var newFiles: [GeneratedFile] {
    let folder = "Plugins/\(name)"
    let tests = "Tests/Plugins/\(name)PluginTests"
    return [
      GeneratedFile(path: "\(folder)/\(name)Plugin.swift", text: plugin),
      GeneratedFile(path: "\(folder)/\(name)Client.swift", text: client),
      GeneratedFile(path: "\(folder)/Client/\(name)Error.swift", text: error),
      GeneratedFile(path: "\(folder)/Actions/GetItem.swift", text: action),
      GeneratedFile(path: "\(folder)/Sandbox.swift", text: sandbox),
      GeneratedFile(path: "\(tests)/\(name)PluginTests.swift", text: test),
    ]
  }

  private var plugin: String {
    """
    public import ActionKit
    import HTTPClient

    /// Lets recipes use \(name).
    public enum \(name)Plugin: ClientLibrary, WebPlugin {
      public static let name = "\(recipeName)"
      public static let summary = "Uses the service \(name)."
      public static let actions: [any Action<\(name)Client>.Type] = [GetItem.self]
      public static let usage = \"\"\"
        let client = \(name)Client(baseURL: "https://service.example")
        print(try await client.item(1).name)
        \"\"\"

      /// What a connection needs.
      public struct Configuration: FieldSet {
        @Field("The service's address.", .pattern(.baseURL)) var baseURL: String
        @Field("The access token, if the service wants one.", .notEmpty) var token: Secret<String>?

        public init() {}
      }

      public static func connect(_ configuration: Configuration, in context: PluginContext) -> \(name)Client {
        \(name)Client(
          baseURL: configuration.baseURL, token: configuration.token?.reveal(), http: context.httpClient(),
          time: context.time)
      }
    }

    """
  }

  private var client: String {
    """
    public import ActionKit
    public import HTTPClient

    /// Everything that \(name) can be asked.
    ///
    /// Programs that want to be tested without the service take this protocol; `\(name)Client` is the real one.
    public protocol \(name)ClientProtocol: Sendable {
      /// Reads an item.
      func item(_ id: Int) async throws(\(name)Error) -> \(name)Item
    }

    /// An item of \(name).
    public struct \(name)Item: Sendable, Equatable {
      public var id: Int
      public var name: String
    }

    /// A client of \(name).
    public actor \(name)Client: \(name)ClientProtocol {
      private let baseURL: String
      private let token: String?
      private let http: HTTPClient
      private let time: any TimeSource

      /// Creates a client; nothing is sent before the first call.
      public init(
        baseURL: String, token: String? = nil, http: HTTPClient = HTTPClient(), time: any TimeSource = SystemTime()
      ) {
        self.baseURL = baseURL
        self.token = token
        self.http = http
        self.time = time
      }

      public func item(_ id: Int) async throws(\(name)Error) -> \(name)Item {
        let answer = try await get("/items/\\(id)", as: "Reading item \\(id) of \(name)")
        guard let name = answer["name"]?.string else {
          throw \(name)Error(.unreadable, "Item \\(id) of \(name) has no 'name'.")
        }
        return \(name)Item(id: id, name: name)
      }

      /// Asks for a value; `what` says what that is for, as the beginning of a sentence.
      private func get(_ path: String, as what: String) async throws(\(name)Error) -> Value {
        var headers = HTTPHeaders()
        if let token { headers["Authorization"] = "Bearer \\(token)" }
        let response: HTTPResponse
        do throws(HTTPError) {
          response = try await http.send(HTTPRequest("GET", baseURL + path, headers: headers))
        } catch {
          // A call that writes says `effect: error.sent == .maybe ? .unknown : .none` too.
          throw \(name)Error(.network(error), "\\(what) failed. \\(error.message)")
        }
        guard response.isSuccess else {
          let kind = \(name)ErrorKind(status: response.status)
          throw \(name)Error(
            kind, "\\(what) was refused with HTTP status \\(response.status)\\(kind.advice).", detail: response.reason,
            retryAfter: response.retryAfter(now: time.now()))
        }
        do throws(JSONError) { return try JSON.parse(response.body) } catch {
          throw \(name)Error(.unreadable, "\\(what) gave an answer that isn't JSON; check the 'baseURL' in errand.yaml.")
        }
      }
    }

    """
  }

  private var error: String {
    """
    public import ActionKit
    public import HTTPClient

    /// Why \(name) did not do what it was asked.
    public typealias \(name)Error = ServiceError<\(name)ErrorKind>

    /// What went wrong with \(name).
    public enum \(name)ErrorKind: ServiceErrorKind {
      /// No whole answer came.
      case network(HTTPError)
      /// The service wants another token (401).
      case unauthenticated
      /// The token doesn't allow it (403).
      case forbidden
      /// There is no such thing (404, 410).
      case notFound
      /// It is not as the call takes it for (409).
      case conflict
      /// Too many requests (429).
      case rateLimited
      /// The service failed (500 to 599).
      case server(Int)
      /// Any other status that is no success.
      case httpStatus(Int)
      /// The answer is not what the service promises.
      case unreadable

      init(status: Int) {
        switch status {
        case 401: self = .unauthenticated
        case 403: self = .forbidden
        case 404, 410: self = .notFound
        case 409: self = .conflict
        case 429: self = .rateLimited
        case 500...599: self = .server(status)
        default: self = .httpStatus(status)
        }
      }

      /// What to do, as the end of a sentence.
      var advice: String {
        switch self {
        case .unauthenticated, .forbidden: "; check the connection's 'token' in errand.yaml"
        case .rateLimited: "; too many requests were sent"
        default: ""
        }
      }

      public var errorKind: ErrorKind {
        switch self {
        case .network(let error): error.errorKind
        case .unauthenticated: .authentication
        case .forbidden: .authorization
        case .notFound: .notFound
        case .conflict: .conflict
        case .rateLimited: .rateLimited
        case .server: .server
        case .httpStatus(let status): ErrorKind(httpStatus: status)
        case .unreadable: .plugin
        }
      }

      public var status: Int? {
        switch self {
        case .network, .unreadable: nil
        case .unauthenticated: 401
        case .forbidden: 403
        case .notFound: 404
        case .conflict: 409
        case .rateLimited: 429
        case .server(let status), .httpStatus(let status): status
        }
      }
    }

    """
  }

  private var action: String {
    """
    import ActionKit

    enum GetItem: Action {
      static let name = "getItem"
      static let summary = "Reads an item."
      static let effect = Effect.read
      static let examples = [Example("The first item", "id: 1")]

      struct Input: FieldSet {
        @Field("Number of the item.", .min(1)) var id: Int
      }

      struct Output: FieldSet {
        @Field("Its name.") var name: String
      }

      static func run(_ input: Input, on service: \(name)Client, in context: ActionContext) async throws -> Output {
        let item = try await service.item(input.id)
        return try Output { $0.name = item.name }
      }
    }

    """
  }

  private var sandbox: String {
    """
    public import ActionKit
    import SandboxKit

    // The sandbox: a service with one item, on a loopback port. Beside what every sandbox has (`SandboxServer`):
    //
    //   /items/1       the item

    extension \(name)Plugin: SandboxedPlugin {
      public static func startSandbox(_ options: SandboxOptions) throws -> any RunningSandbox {
        try \(name)Sandbox(options)
      }
    }

    /// Plays \(name) on a loopback port.
    final class \(name)Sandbox: ServedSandbox {
      let server: SandboxServer

      init(_ options: SandboxOptions) throws {
        server = try SandboxServer(port: options.port, time: options.time) { request, _ in
          \(name)Sandbox.answer(request)
        }
      }

      /// The connection of a recipe that runs in the sandbox.
      var configuration: Value { .object(["baseURL": .string(baseURL)]) }

      private static func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
        switch (request.method, request.path) {
        case ("GET", "/items/1"): .json(.object(["id": .int(1), "name": .string("The first")]))
        default: .json(.object(["detail": .string("There is nothing at this address.")]), status: 404)
        }
      }
    }

    """
  }

  private var test: String {
    """
    import ActionKit
    import ActionTestKit
    import HTTPClient
    import Testing

    @testable import \(name)Plugin

    @Suite struct \(name)PluginTests {
      private static let address = "https://service.example/items/1"

      private func client(_ steps: [ScriptedTransport.Step]) -> \(name)Client {
        \(name)Client(
          baseURL: "https://service.example", token: "secret", http: HTTPClient(transport: ScriptedTransport(steps)))
      }

      @Test func `is well formed`() { expectWellFormed(\(name)Plugin.self) }

      @Test func `does in the sandbox what its examples say`() async { await expectExamplesRun(of: \(name)Plugin.self) }

      @Test func `reads an item`() async throws {
        let client = client([.on("GET", Self.address, #"{"id":1,"name":"One"}"#)])
        #expect(try await client.item(1) == \(name)Item(id: 1, name: "One"))
      }

      @Test(arguments: [
        (401, ErrorKind.authentication), (403, .authorization), (404, .notFound), (409, .conflict), (429, .rateLimited),
        (500, .server), (503, .server),
      ])
      func `names what a status means`(_ status: Int, _ kind: ErrorKind) async {
        let client = client([.on("GET", Self.address, status: status)])
        let error = await #expect(throws: \(name)Error.self) { try await client.item(1) }
        #expect(error?.actionError.kind == kind)
        #expect(error?.actionError.status == status)
        #expect(error?.message.hasPrefix("Reading item 1 of \(name) was refused with HTTP status \\(status)") == true)
      }

      @Test(arguments: ["[", "{}"]) func `an answer of another form is an error`(_ body: String) async {
        let client = client([.on("GET", Self.address, body)])
        let error = await #expect(throws: \(name)Error.self) { try await client.item(1) }
        #expect(error?.actionError.kind == .plugin)
      }

      @Test func `says that nothing was sent when nothing answers`() async {
        let refused = HTTPError(.connect, "service.example refuses connections.", sent: .nothing)
        let client = client([.on("GET", Self.address, fail: refused)])
        let error = await #expect(throws: \(name)Error.self) { try await client.item(1) }
        #expect(error?.actionError.effect == ActionError.Effect.none)
        #expect(error?.message == "Reading item 1 of \(name) failed. service.example refuses connections.")
      }
    }

    """
  }
}
