public import HTTPClient

/// A module that lets recipes use one service.
public protocol Plugin: Sendable {
  /// The service's client, which all actions work on.
  associatedtype Service: Sendable
  /// What `errand.yaml` says of a connection.
  associatedtype Configuration: FieldSet

  /// The name that recipes use before an action's.
  static var name: String { get }
  /// One sentence that says what the service is good for.
  static var summary: String { get }
  /// The actions, in the order in which the pages show them.
  static var actions: [any Action<Service>.Type] { get }

  /// Makes a client. It does not talk to the service yet: a wrong password is the first action's error.
  static func connect(_ configuration: Configuration, in context: PluginContext) async throws -> Service
}

/// A plugin whose client is worth using from other Swift programs.
public protocol ClientLibrary: Plugin {
  /// Some lines of Swift that use the client, after the import of the plugin's module, as the plugin's page shows them.
  static var usage: String { get }
}

/// What a plugin's client needs from the program around it.
public struct PluginContext: Sendable {
  /// Gives what carries the exchanges of a connection in place of the network, which it may use.
  public typealias Interceptor = @Sendable (_ connection: String, _ network: any HTTPTransport) -> any HTTPTransport

  /// The connection's name in `errand.yaml`, for messages.
  public var connection: String
  /// The clocks, for sessions that expire.
  public var time: any TimeSource
  /// A folder for answers that are worth keeping between programs, shared by all connections of the plugin.
  ///
  /// It may not be there yet, and may be emptied at any time. Nil if nothing is to be kept on disk.
  public var cacheFolder: String?
  /// The folder of `errand.yaml`, which paths in it start from; nil for the working folder.
  public var folder: String?
  /// Stands between clients and the network, as a recording does; nil if nothing does.
  public var interceptor: Interceptor?
  /// Takes down each request that a client makes, with the step in whose task it is made.
  public var record: @Sendable (ServiceRequest) -> Void

  /// Creates a context.
  public init(
    connection: String, time: any TimeSource, cacheFolder: String? = nil,
    record: @escaping @Sendable (ServiceRequest) -> Void = { _ in }
  ) {
    self.connection = connection
    self.time = time
    self.cacheFolder = cacheFolder
    self.record = record
  }

  /// A path as the connection gives it, made absolute.
  public func path(_ path: String) -> String {
    guard let folder, !path.hasPrefix("/") else { return path }
    return "\(folder)/\(path)"
  }
}

/// What is kept of a request to a service: never a body, never a secret.
public struct ServiceRequest: Hashable, Sendable {
  /// The method, such as `GET`.
  public var method: String
  /// The address with its secrets redacted.
  public var redactedURL: String
  /// The status, if an answer came.
  public var status: Int?
  /// The number of bytes of the answer.
  public var bytes: Int
  /// How long it took.
  public var duration: TimeSpan

  /// Creates a record of a request.
  public init(method: String, redactedURL: String, status: Int?, bytes: Int, duration: TimeSpan) {
    self.method = method
    self.redactedURL = redactedURL
    self.status = status
    self.bytes = bytes
    self.duration = duration
  }
}

/// A plugin that reaches what is outside by HTTP requests alone, made with the client of its context.
///
/// A recording holds those requests. Of any other plugin it holds the calls of the actions that do more than compute, and
/// a run that is played again is answered from them, so that nothing acts outside.
public protocol WebPlugin: Plugin {}

/// A plugin that reaches nothing outside this machine and its state, so that it needs no sandbox.
///
/// With `--sandbox` it is used as it is, with the settings that it has without any.
public protocol LocalPlugin: Plugin {}

/// A plugin that brings an in-memory service on a real port, so that every recipe can be tried without the real one.
public protocol SandboxedPlugin: Plugin {
  /// Starts the service, filled with believable made-up data.
  static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox
}

/// How a sandbox is started.
public struct SandboxOptions: Sendable {
  /// The port on the loopback interface; 0 for any that is free.
  public var port: Int
  /// The clocks, so that a test can let the service's days pass.
  public var time: any TimeSource
  /// Where the sandboxes of one run keep files, so that one plugin finds what another wrote; nil for a folder of the
  /// sandbox's own, which goes with it.
  public var folder: String?

  /// Creates options.
  public init(port: Int = 0, time: any TimeSource, folder: String? = nil) {
    self.port = port
    self.time = time
    self.folder = folder
  }
}

/// A sandbox that is up.
public protocol RunningSandbox: Sendable {
  /// Where it answers, or keeps its files, without a slash at the end.
  var baseURL: String { get }
  /// Where it is told of trouble to come (`/sandbox/fault`), without a slash at the end; where it answers, if that is HTTP.
  var controlURL: String { get }
  /// The fields of the plugin's configuration that lead to it, which replace those of the connection.
  var configuration: Value { get }
  /// What the service holds now and was asked to do, as lines for people.
  func summaryLines() async -> [String]
  /// Ends it; what it held is gone.
  func stop() async
}

extension RunningSandbox {
  /// The address of a service that speaks HTTP.
  public var controlURL: String { baseURL }
}
