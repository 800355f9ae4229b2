import Foundation

/// Creates a starter plugin: it builds, passes its tests, and has one action that checks whether the service answers.
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
      "  plugin(\"\(name)\", using: [\"HTTPClient\"], tests: [\"HTTPClient\"]),", into: "Package.swift",
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
      GeneratedFile(path: "\(folder)/Actions/GetStatus.swift", text: action),
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
      public static let actions: [any Action<\(name)Client>.Type] = [GetStatus.self]
      public static let usage = \"\"\"
        let client = \(name)Client(baseURL: "https://service.example")
        print(try await client.status())
        \"\"\"

      /// What a connection needs.
      public struct Configuration: FieldSet {
        @Field("Where the service is.", .pattern(.baseURL)) var baseURL: String

        public init() {}
      }

      public static func connect(_ configuration: Configuration, in context: PluginContext) -> \(name)Client {
        \(name)Client(baseURL: configuration.baseURL, http: context.httpClient())
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
      /// The HTTP status with which the service answers.
      func status() async throws(\(name)Error) -> Int
    }

    /// A client of \(name).
    public actor \(name)Client: \(name)ClientProtocol {
      private let baseURL: String
      private let http: HTTPClient

      /// Creates a client; nothing is sent before the first call.
      public init(baseURL: String, http: HTTPClient = HTTPClient()) {
        self.baseURL = baseURL
        self.http = http
      }

      public func status() async throws(\(name)Error) -> Int {
        do throws(HTTPError) {
          return try await http.send(HTTPRequest("GET", baseURL)).status
        } catch {
          throw \(name)Error(message: "Asking \(name) for its status failed. \\(error.message)", cause: error)
        }
      }
    }

    /// A call of \(name) that failed.
    public struct \(name)Error: ActionErrorConvertible, CustomStringConvertible {
      /// A sentence for people, which holds no secret.
      public let message: String
      /// Why no answer came.
      public let cause: HTTPError

      public var description: String { message }
      public var actionError: ActionError {
        ActionError(
          cause.errorKind, message, effect: cause.sent == .nothing ? ActionError.Effect.none : .unknown, cause: self)
      }
    }

    """
  }

  private var action: String {
    """
    import ActionKit

    enum GetStatus: Action {
      static let name = "getStatus"
      static let summary = "Asks whether the service answers."
      static let effect = Effect.read
      static let examples = [Example("Its status", "{}")]

      struct Input: FieldSet {}

      struct Output: FieldSet {
        @Field("The HTTP status of the answer.") var status: Int
      }

      static func run(_ input: Input, on service: \(name)Client, in context: ActionContext) async throws -> Output {
        let status = try await service.status()
        return try Output { $0.status = status }
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
      @Test func `is well formed`() { expectWellFormed(\(name)Plugin.self) }

      @Test func `tells how the service answers`() async throws {
        let transport = ScriptedTransport([.on("GET", "https://service.example", status: 204)])
        let client = \(name)Client(baseURL: "https://service.example", http: HTTPClient(transport: transport))
        #expect(try await client.status() == 204)
      }

      @Test func `says that nothing was sent when nobody answers`() async {
        let refused = HTTPError(.connect, "service.example refuses connections.", sent: .nothing)
        let transport = ScriptedTransport([.on("GET", "https://service.example", fail: refused)])
        let client = \(name)Client(baseURL: "https://service.example", http: HTTPClient(transport: transport))
        let error = await #expect(throws: \(name)Error.self) { try await client.status() }
        #expect(error?.actionError.effect == ActionError.Effect.none)
        #expect(error?.message == "Asking \(name) for its status failed. service.example refuses connections.")
      }
    }

    """
  }
}
