// The parts of the API and the pages, by path, and how each authenticates its callers.
//
// Every request passes the same checks in the same order (`APIServer.answered`): host, origin, path and method,
// identity, scope, limit. The differences are declared here, so that a new part has to state how it authenticates its
// callers.
import Agent
import HTTPServer
import Recipes
import RunState

/// A part of the agent's HTTP interface.
enum Entrance: Hashable, CaseIterable {
  /// Deliveries to webhooks.
  case hooks
  case health, readiness, document
  /// The pages that explain problems.
  case problems
  /// The style and the script of the pages.
  case assets
  case metrics
  /// Tools of assistants.
  case tools
  /// The requests of the command line from elsewhere.
  case lines
  /// The paths that verbs declare.
  case api
  /// Logging in and out.
  case login
  case pages

  /// How a caller is known.
  enum Identity {
    /// Anyone may ask; a delivery is verified where it is read.
    case anyone
    /// By the account at the other end of a Unix socket, or by a token.
    case token
    /// The same, or by the cookie of a browser that has logged in.
    case visitor
  }

  init(path: String) {
    self =
      switch path {
      case "/healthz": .health
      case "/readyz": .readiness
      case "/openapi.json", "\(apiRoot)/openapi.json": .document
      case "/metrics": .metrics
      case ToolHandler.path: .tools
      case RequestDoor.path: .lines
      case "/login", "/logout": .login
      case _ where path.hasPrefix(Webhook.root): .hooks
      case _ where path.hasPrefix("\(apiRoot)/"): .api
      case _ where ProblemPage.kind(at: path) != nil: .problems
      case _ where PageAssets.answer(path) != nil: .assets
      default: .pages
      }
  }

  var identity: Identity {
    switch self {
    case .hooks, .health, .readiness, .document, .problems, .assets, .login: .anyone
    case .metrics, .tools, .lines, .api: .token
    case .pages: .visitor
    }
  }

  /// The scope without which nothing is answered; a request to the agent has its own besides.
  var scope: TokenScope? {
    switch self {
    case .metrics: .metrics
    case .tools: .read
    case .lines: .data
    default: nil
    }
  }

  /// The things that need the scope, as the end of a refusal.
  var need: String { self == .lines ? "'errand --remote' needs for every command" : "this needs" }

  /// The methods that are answered; nil where the path decides.
  var methods: [String]? {
    switch self {
    case .tools, .lines: ["POST"]
    case .health, .readiness, .document, .problems, .assets, .metrics: ["GET", "HEAD"]
    case .login: ["GET", "HEAD", "POST"]
    case .hooks, .api, .pages: nil
    }
  }

  /// Whether the method is answered.
  func check(method: String) throws(Problem) {
    guard let methods, !methods.contains(method) else { return }
    let allowed = methods.joined(separator: ", ")
    throw Problem(.method, "this path takes \(allowed)", headers: ["Allow": allowed])
  }
}
