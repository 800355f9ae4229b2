package import Agent
import Basics
package import HTTPServer

/// A fault of a request, as `application/problem+json` (RFC 9457).
///
/// The type is the path of a page that explains the kind; `kind` is the last part of it, for programs to decide by.
package struct Problem: Error, Sendable {
  /// The kinds, each with its status and its title.
  package enum Kind: Sendable, Hashable {
    /// Why the agent refuses.
    case refusal(RequestRefusedError.Kind)
    case unauthorized, unverified, foreignHost, foreignOrigin, noSuchPath, method, mediaType, headTooLarge, tooMany,
      held, missingLibrary, fault

    package static let all: [Kind] =
      RequestRefusedError.Kind.allCases.map { .refusal($0) } + [
        .unauthorized, .unverified, .foreignHost, .foreignOrigin, .noSuchPath, .method, .mediaType, .headTooLarge,
        .tooMany, .held, .missingLibrary, .fault,
      ]

    package static let forbidden = Kind.refusal(.forbidden)
    package static let tooLarge = Kind.refusal(.tooLarge)

    package var name: String {
      switch self {
      case .refusal(let kind): kind.rawValue
      default: "\(self)"
      }
    }

    package var status: Int {
      switch self {
      case .refusal(.request): 400
      case .refusal(.notFound), .noSuchPath: 404
      case .refusal(.ambiguous), .refusal(.ended), .refusal(.notAsked), .refusal(.conflict), .refusal(.serving),
        .refusal(.planChanged), .held:
        409
      case .refusal(.notAllowed), .refusal(.forbidden), .foreignOrigin: 403
      case .refusal(.inputs), .refusal(.usedKey), .refusal(.configuration): 422
      case .refusal(.notServing), .refusal(.full), .refusal(.state), .missingLibrary: 503
      case .unauthorized, .unverified: 401
      case .foreignHost: 421
      case .method: 405
      case .mediaType: 415
      case .refusal(.tooLarge): 413
      case .headTooLarge: 431
      case .tooMany, .refusal(.busy): 429
      case .refusal(.timeout): 504
      case .fault: 500
      }
    }

    package var title: String {
      switch self {
      case .refusal(.request): "The request doesn't match the API."
      case .refusal(.notFound): "There is no such run, schedule, recipe, worker or token."
      case .refusal(.ambiguous): "Several runs, steps or workers match."
      case .refusal(.ended): "The run or schedule is in a state that doesn't allow it."
      case .refusal(.notAsked): "No step is waiting for this decision."
      case .refusal(.notAllowed): "Only other people may decide this."
      case .refusal(.inputs): "The inputs don't match what the recipe declares."
      case .refusal(.usedKey): "The key was used for another request."
      case .refusal(.configuration):
        "The recipe, its connections, its secrets or the state can't be used so."
      case .refusal(.planChanged): "The run would no longer do what its plan says, or would fail."
      case .refusal(.busy): "The agent is busy."
      case .refusal(.full): "Too much is waiting."
      case .refusal(.timeout): "The request timed out."
      case .refusal(.conflict): "Another request changed the same thing, or a thing of that name exists."
      case .refusal(.notServing): "'errand serve' isn't running, or is just starting or stopping."
      case .refusal(.serving): "Another agent serves this folder."
      case .refusal(.state): "The state can't be read or written."
      case .unauthorized: "The token is missing or not valid."
      case .unverified: "The signature of the delivery isn't valid."
      case .refusal(.forbidden): "The token doesn't allow this."
      case .foreignHost: "This host name isn't the agent's."
      case .foreignOrigin: "Pages of other sites can't send requests to the agent."
      case .noSuchPath: "This path doesn't exist."
      case .method: "This path doesn't accept this method."
      case .mediaType: "The body has the wrong type."
      case .refusal(.tooLarge): "The body, the text or the file is too large."
      case .headTooLarge: "The head of the request is too large."
      case .tooMany: "Too many streams are open."
      case .held: "The agent and the command don't fit together."
      case .missingLibrary: "The agent lacks the library that speaks HTTP."
      case .fault: "The agent failed because of a fault of its own."
      }
    }

    /// The fix, for the page of the kind.
    package var remedy: String {
      switch self {
      case .refusal(.request): "Compare the request with /openapi.json. The detail names the member that is wrong."
      case .refusal(.notFound):
        "List what exists: /api/v1/runs, /api/v1/schedules, /api/v1/recipes. A token that is limited to some recipes can't see the others."
      case .refusal(.ambiguous): "Use the whole id of the run, or the path of the step. The detail lists the matches."
      case .refusal(.ended):
        "Check the run's status with GET /api/v1/runs/{run}: only open runs can be paused, resumed or cancelled, and only ended runs can be retried. The detail says what you can do instead."
      case .refusal(.notAsked):
        "List the open decisions with GET /api/v1/approvals. Someone else may already have decided."
      case .refusal(.notAllowed):
        "'by' in the recipe lists who may decide. A decision is recorded under the token's name."
      case .refusal(.inputs):
        "Compare the inputs with GET /api/v1/recipes/{recipe}. 'faults' lists what is wrong, each with its place in the body."
      case .refusal(.usedKey):
        "Use a new Idempotency-Key for each request. Use one again only to repeat the same request with the same body."
      case .refusal(.configuration):
        "Run 'errand check' and 'errand doctor' on the agent's machine. The detail names the connection or the secret."
      case .refusal(.planChanged):
        "Make a new plan, check it, and start the run with its digest. 'changes' lists the differences."
      case .refusal(.busy): "Repeat the request after the seconds in Retry-After."
      case .refusal(.full):
        "Repeat the request after the seconds in Retry-After. 'errand schedule' shows what waits; runs of an entry start one after another unless its 'overlap' says otherwise."
      case .refusal(.timeout):
        "Repeat the request, or run the same command on the agent's machine, where it has no time limit."
      case .refusal(.conflict): "Fetch the current state, and repeat the request if you still want the change."
      case .refusal(.notServing): "Start 'errand serve', or repeat the request after the seconds in Retry-After."
      case .refusal(.serving): "Send the request to the agent that serves the folder, or stop it first."
      case .refusal(.state):
        "The detail names the file and the fault. Run 'errand doctor' on the agent's machine to check the whole state."
      case .unauthorized:
        "Send 'Authorization: Bearer' with a token. 'errand token new NAME --scope SCOPE' makes one; 'errand token list' shows which have expired."
      case .unverified:
        "Check that the sender and 'verify' of the webhook use the same secret and scheme, and that both clocks are right."
      case .refusal(.forbidden): "Use a token with the scope in the detail that isn't limited to other recipes."
      case .foreignHost:
        "Use the address in 'listen', or put the address that you use into errand.yaml: 'publicURL' under 'server'."
      case .foreignOrigin: "Use the agent's own pages, or a program that sends no Origin."
      case .noSuchPath: "/openapi.json lists the paths. Percent-encode ids in a path: a slash is %2F."
      case .method: "The header Allow lists the methods of this path."
      case .mediaType: "Send the body as application/json."
      case .refusal(.tooLarge):
        "Send less: at most 4 MiB, 1 MiB to a webhook, or 256 KiB of text to edit. 'errand run' reads a large input from a file: -i NAME=@FILE."
      case .headTooLarge: "Send fewer and shorter fields, and a shorter address: at most 16 KiB together."
      case .held: "Use one version of errand on both sides, and one errand.yaml. The detail says how."
      case .missingLibrary: "Install libmicrohttpd12 on the agent's machine. Its runs don't need it."
      case .tooMany: "Close a stream that you don't need, or repeat the request after the seconds in Retry-After."
      case .fault: "Repeat the request. If it fails again, report a bug with the answer and the log of 'errand serve'."
      }
    }
  }

  package typealias Fault = RequestRefusedError.Fault

  package var kind: Kind
  /// The status of the answer, if it isn't the kind's.
  var status: Int?
  /// The fault and the fix, for people.
  package var detail: String
  package var faults: [Fault] = []
  /// The differences from the plan that the request names.
  package var changes: [String] = []
  /// The content that a file has now, if it isn't the one that was edited.
  package var current: RequestRefusedError.CurrentText?
  /// More fields of the head, such as `Allow`.
  package var headers: HTTPHeaders = [:]

  package init(
    _ kind: Kind, _ detail: String, faults: [Fault] = [], headers: HTTPHeaders = [:], status: Int? = nil
  ) {
    self.kind = kind
    self.status = status
    self.detail = detail
    self.faults = faults
    self.headers = headers
  }

  /// - Parameter withData: Whether the caller may see what runs are about.
  package init(_ refusal: RequestRefusedError, withData: Bool = true) {
    self.init(.refusal(refusal.kind), refusal.overHTTP ?? refusal.message, faults: refusal.faults)
    current = refusal.current
    if [.state, .notServing, .busy, .full].contains(refusal.kind) { headers["Retry-After"] = "5" }
    if withData {
      changes = refusal.changes
    } else if !refusal.changes.isEmpty {
      detail += ". \(counted(refusal.changes.count, "difference")) can be seen with the scope 'data'"
    }
  }

  /// The answer to the request.
  package var response: HTTPServerResponse {
    var body = ValueMap([
      ("type", .string(ProblemPage.root + kind.name)), ("title", .string(kind.title)),
      ("status", .int(status ?? kind.status)),
      ("detail", .string(detail)), ("kind", .string(kind.name)),
    ])
    if !faults.isEmpty {
      body["faults"] = .list(
        faults.map { .object(["message": .string($0.message), "pointer": .string($0.pointer)]) })
    }
    if !changes.isEmpty { body["changes"] = .list(changes.map { .string($0) }) }
    if let current {
      body["current"] = .object(["text": .string(current.text), "digest": .string(current.digest)])
    }
    var response = HTTPServerResponse.json(
      JSON.displayed(.map(body)), status: status ?? kind.status, type: "application/problem+json")
    response.headers.fields += headers.fields
    return response
  }
}

extension HTTPServerResponse {
  /// An answer that is JSON; it ends its line, as terminals want it.
  package static func json(_ text: String, status: Int = 200, type: String = "application/json") -> HTTPServerResponse {
    .text(text + "\n", status: status, type: type)
  }
}

extension String {
  /// A text of a request, as a problem shows it.
  package var shortened: String { safe.shortened(to: 80) }
}
