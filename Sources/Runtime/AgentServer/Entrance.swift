// The parts of the API and the pages, by path, and how each authenticates its callers.
//
// Every request passes the same checks in the same order (`APIServer.answered`): host, origin, path and method,
// identity, scope, limit. The differences are declared here, so that a new part has to state how it authenticates its
// callers.
import Agent
import AgentPages
import HTTPServer
import Operations
import Recipes
import RunState

/// A part of the agent's HTTP interface.
enum Entrance: Hashable, CaseIterable {
  /// Deliveries to webhooks.
  case hooks
  /// The forms of recipes.
  case forms
  case health, readiness, document
  /// The pages that explain problems.
  case problems
  /// The style and the script of the pages.
  case assets
  case metrics
  /// Tools of assistants.
  case tools
  /// Operations in the exact form, for errand itself.
  case operations
  /// The requests of errand before 0.6.0, which had a protocol of their own.
  case requests
  /// The paths that operations declare.
  case api
  /// Logging in and out.
  case login
  /// Links that carry the right to answer a question.
  case links
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
      case "\(apiRoot)/requests": .requests
      case _ where path.hasPrefix(ExactForm.path): .operations
      case "/login", "/logout": .login
      case _ where path.hasPrefix(LinkKey.root): .links
      case _ where path.hasPrefix(Webhook.root): .hooks
      case _ where path.hasPrefix(WebForm.root): .forms
      case _ where path.hasPrefix("\(apiRoot)/"): .api
      case _ where ProblemPage.kind(at: path) != nil: .problems
      case _ where PageAssets.has(path): .assets
      default: .pages
      }
  }

  var identity: Identity {
    switch self {
    case .hooks, .forms, .health, .readiness, .document, .problems, .assets, .login, .links, .requests: .anyone
    case .metrics, .tools, .operations, .api: .token
    case .pages: .visitor
    }
  }

  /// The scope without which nothing is answered; a request to the agent has its own besides.
  var scope: TokenScope? {
    switch self {
    case .metrics: .metrics
    case .tools: .read
    default: nil
    }
  }

  /// The methods that are answered; nil where the path decides.
  var methods: [String]? {
    switch self {
    case .tools, .operations, .requests: ["POST"]
    case .health, .readiness, .document, .problems, .assets, .metrics: ["GET", "HEAD"]
    case .login, .forms, .links: ["GET", "HEAD", "POST"]
    case .hooks, .api, .pages: nil
    }
  }

  /// Whether its answers are compressed for clients that take it: not where an answer has a secret beside a text that a stranger
  /// may choose, and not for errand itself.
  var isCompressed: Bool {
    switch self {
    case .api, .document, .metrics, .pages, .problems: true
    // Assets are kept compressed.
    default: false
    }
  }

  /// Whether an agent answers that doesn't serve, such as one of a single command.
  var isOfEveryAgent: Bool {
    switch self {
    case .operations, .requests, .api, .health, .readiness, .document, .problems: true
    case .hooks, .forms, .assets, .metrics, .tools, .login, .links, .pages: false
    }
  }

  /// Whether the method is answered.
  func check(method: String) throws(Problem) {
    guard let methods, !methods.contains(method) else { return }
    let allowed = methods.joined(separator: ", ")
    throw Problem(.method, "this path takes \(allowed)", headers: ["Allow": allowed])
  }
}
