public import HTTPClient

/// A module that lets recipes use one service.
public protocol Plugin: Sendable {
  /// The client of the service; all actions use it.
  associatedtype Service: Sendable
  /// The settings of a connection in `errand.yaml`.
  associatedtype Configuration: FieldSet

  /// The name that recipes use before an action's.
  static var name: String { get }
  /// One sentence about the purpose of the service.
  static var summary: String { get }
  /// The actions, in the order of the pages.
  static var actions: [any Action<Service>.Type] { get }

  /// Creates a client without talking to the service: a wrong password is an error of the first action.
  static func connect(_ configuration: Configuration, in context: PluginContext) async throws -> Service
}

/// A plugin whose client is useful to other Swift programs.
public protocol ClientLibrary: Plugin {
  /// Some lines of Swift for the plugin's page that use the client, after the import of the plugin's module.
  static var usage: String { get }
}

/// The surroundings of a plugin's client: its connection, clocks, folders and the recording of its requests.
public struct PluginContext: Sendable {
  /// Returns a transport for a connection that replaces the network, and may use it.
  public typealias Interceptor = @Sendable (_ connection: String, _ network: any HTTPTransport) -> any HTTPTransport

  /// The connection's name in `errand.yaml`, for messages.
  public var connection: String
  /// The clocks, for sessions that expire.
  public var time: any TimeSource
  /// A folder to cache responses between programs, shared by all connections of the plugin.
  ///
  /// It may not exist yet, and may be emptied at any time. Nil if nothing is to be cached on disk.
  public var cacheFolder: String?
  /// The folder of `errand.yaml`, the base of relative paths in it; nil for the working folder.
  public var folder: String?
  /// Intercepts the requests between clients and the network, as a recording does; nil if nothing does.
  public var interceptor: Interceptor?
  /// Records each request of a client, for the step in whose task it is made.
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

/// The record of a request to a service, without bodies and secrets.
public struct ServiceRequest: Hashable, Sendable {
  /// The method, such as `GET`.
  public var method: String
  /// The address with its secrets redacted.
  public var redactedURL: String
  /// The status, if a response came.
  public var status: Int?
  /// The number of bytes of the response.
  public var bytes: Int
  /// The duration of the request.
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

/// A plugin that reaches the outside only by HTTP requests, made with the client of its context.
///
/// A recording holds those requests. For any other plugin, it holds the calls of all actions that do more than compute;
/// a replay answers these calls from the recording, so that nothing acts outside.
public protocol WebPlugin: Plugin {}

/// A plugin that reaches nothing outside this machine and its state, so it needs no sandbox.
///
/// With `--sandbox` it runs unchanged, with its default settings.
public protocol LocalPlugin: Plugin {}

/// A plugin with an in-memory service on a real port, so that every recipe can be tried without the real service.
public protocol SandboxedPlugin: Plugin {
  /// Starts the service, filled with believable made-up data.
  static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox
}

/// The options of a sandbox.
public struct SandboxOptions: Sendable {
  /// The port on the loopback interface; 0 for any free port.
  public var port: Int
  /// The clocks, so that a test can advance the service's days.
  public var time: any TimeSource
  /// The folder that the sandboxes of one run share, so that one plugin finds the files that another wrote.
  ///
  /// If it is nil, the sandbox creates a folder of its own, and deletes it when it stops.
  public var folder: String?

  /// Creates options.
  public init(port: Int = 0, time: any TimeSource, folder: String? = nil) {
    self.port = port
    self.time = time
    self.folder = folder
  }
}

/// A running sandbox.
public protocol RunningSandbox: Sendable {
  /// Its address, or the folder of its files, without a slash at the end.
  var baseURL: String { get }
  /// The address to order faults at (`/sandbox/fault`), without a slash at the end; `baseURL` if that is HTTP.
  var controlURL: String { get }
  /// The fields of the plugin's configuration that lead to the sandbox; they replace the connection's fields.
  var configuration: Value { get }
  /// Lines for people about the service's data and the requests that it received.
  func summaryLines() async -> [String]
  /// Stops the sandbox and discards its data.
  func stop() async
}

extension RunningSandbox {
  /// The address of a service that speaks HTTP.
  public var controlURL: String { baseURL }
}
