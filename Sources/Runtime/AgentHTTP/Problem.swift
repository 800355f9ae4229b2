package import Agent
import Basics
package import HTTPServer

/// What is wrong with a request, as `application/problem+json` (RFC 9457).
///
/// The type is the path of a page that explains the kind; `kind` is the last part of it, for programs to decide by.
package struct Problem: Error, Sendable {
  /// The kinds, each with its status and its title.
  package enum Kind: Sendable, Hashable {
    /// Why the agent refuses.
    case refusal(RequestRefusedError.Kind)
    case unauthorized, forbidden, foreignHost, foreignOrigin, noSuchPath, method, mediaType, tooLarge, tooMany, fault

    package static let all: [Kind] =
      RequestRefusedError.Kind.allCases.map { .refusal($0) } + [
        .unauthorized, .forbidden, .foreignHost, .foreignOrigin, .noSuchPath, .method, .mediaType, .tooLarge, .tooMany,
        .fault,
      ]

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
        .refusal(.moved):
        409
      case .refusal(.notAllowed), .forbidden, .foreignOrigin: 403
      case .refusal(.inputs), .refusal(.configuration): 422
      case .refusal(.notServing), .refusal(.state): 503
      case .unauthorized: 401
      case .foreignHost: 421
      case .method: 405
      case .mediaType: 415
      case .tooLarge: 413
      case .tooMany, .refusal(.busy): 429
      case .refusal(.timeout): 504
      case .fault: 500
      }
    }

    package var title: String {
      switch self {
      case .refusal(.request): "The request isn't as the document of the API says."
      case .refusal(.notFound): "There is no such run, schedule or recipe."
      case .refusal(.ambiguous): "Several runs or steps match."
      case .refusal(.ended): "The run or schedule is in a state that doesn't allow it."
      case .refusal(.notAsked): "No step asks for a decision there."
      case .refusal(.notAllowed): "Other people are asked to decide."
      case .refusal(.inputs): "The inputs don't fit."
      case .refusal(.configuration): "The recipe, its connections or its secrets can't be used here."
      case .refusal(.moved): "The run would do something else than its plan says, or fail."
      case .refusal(.busy): "That is more than the agent does at once."
      case .refusal(.timeout): "It took too long."
      case .refusal(.conflict): "Another request changed the same thing."
      case .refusal(.notServing): "Only an agent that serves can do this."
      case .refusal(.serving): "The agent serves already."
      case .refusal(.state): "The state can't be read or written."
      case .unauthorized: "A valid token is needed."
      case .forbidden: "The token doesn't allow it."
      case .foreignHost: "The agent isn't known under this host."
      case .foreignOrigin: "Pages of other origins may not ask the agent."
      case .noSuchPath: "There is no such path."
      case .method: "The path takes other methods."
      case .mediaType: "The body has the wrong type."
      case .tooLarge: "The body is too large."
      case .tooMany: "Too many streams are open."
      case .fault: "The agent made a mistake."
      }
    }

    /// What to do about it, for the page of the kind.
    package var remedy: String {
      switch self {
      case .refusal(.request): "Compare the request with /openapi.json. The detail names the member that is wrong."
      case .refusal(.notFound):
        "List what there is: /api/v1/runs, /api/v1/schedules, /api/v1/recipes. A token that is limited to some recipes finds nothing of the others."
      case .refusal(.ambiguous): "Name the run by its whole id, or the step by its path; the detail lists what matches."
      case .refusal(.ended):
        "Look at the run first, GET /api/v1/runs/{run}: only an open run can be steered, and only an ended one retried. The detail says what can be done instead."
      case .refusal(.notAsked): "Look at what is asked: /api/v1/approvals. Another person may have decided already."
      case .refusal(.notAllowed):
        "The recipe lists in 'by' who may decide. A decision is recorded under the token's name."
      case .refusal(.inputs):
        "Compare the inputs with GET /api/v1/recipes/{recipe}. An Idempotency-Key with other inputs than before is refused too: use another key for another request."
      case .refusal(.configuration):
        "Run 'errand check' and 'errand doctor' on the agent's machine. The detail names the connection or the secret."
      case .refusal(.moved):
        "Make a new plan, look at it, and start the run with its digest. 'moves' says what is different now."
      case .refusal(.busy): "Wait as long as Retry-After says, and repeat the request."
      case .refusal(.timeout):
        "Repeat the request, or do the same with errand on the agent's machine, which waits longer."
      case .refusal(.conflict): "Look at it again, and repeat the request if it is still wanted."
      case .refusal(.notServing): "Start 'errand serve', or wait as long as Retry-After says."
      case .refusal(.serving): "Ask the agent that serves, or stop it first."
      case .refusal(.state):
        "The detail names the file and what is wrong with it; 'errand state' on the agent's machine checks all of them. Nothing that was acknowledged is lost."
      case .unauthorized:
        "Send 'Authorization: Bearer' with a token. 'errand token new NAME --scope SCOPE' makes one, 'errand token list' shows which have expired. A webhook wants its signature instead."
      case .forbidden: "Use a token with the scope that the detail names, and of the recipes that it is about."
      case .foreignHost:
        "Use the address that the agent listens on, or name the one that leads to it as 'publicURL' under 'server' in errand.yaml."
      case .foreignOrigin: "Ask from the agent's own pages, or from a program, which sends no Origin."
      case .noSuchPath: "The paths are in /openapi.json. An id in a path is percent-encoded: a slash is %2F."
      case .method: "The field Allow lists the methods of the path."
      case .mediaType: "Send the body as application/json."
      case .tooLarge: "Send less: a body has at most 4 MiB, a delivery to a webhook 1 MiB."
      case .tooMany: "Close a stream that isn't read, or wait as long as Retry-After says."
      case .fault: "Repeat the request. If it fails again, report it with the answer and the log of 'errand serve'."
      }
    }
  }

  /// One thing that is wrong in the body.
  package struct Fault: Sendable {
    package var message: String
    /// Where it stands in the body, as a JSON pointer (RFC 6901).
    package var pointer: String
  }

  package var kind: Kind
  /// What is wrong and what to do, for people.
  package var detail: String
  package var faults: [Fault] = []
  /// What has moved since a plan was made.
  package var moves: [String] = []
  /// More fields of the head, such as `Allow`.
  package var headers: HTTPHeaders = [:]

  package init(_ kind: Kind, _ detail: String, faults: [Fault] = [], headers: HTTPHeaders = [:]) {
    self.kind = kind
    self.detail = detail
    self.faults = faults
    self.headers = headers
  }

  /// - Parameter withData: Whether the caller may see what runs are about.
  package init(_ refusal: RequestRefusedError, withData: Bool = true) {
    self.init(.refusal(refusal.kind), refusal.message)
    if [.state, .notServing, .busy].contains(refusal.kind) { headers["Retry-After"] = "5" }
    if refusal.kind == .moved {
      var lines = refusal.message.split(separator: "\n").map { String($0) }
      detail = lines.removeFirst()
      if withData {
        moves = lines
      } else if !lines.isEmpty {
        detail += ". \(counted(lines.count, "difference")) can be seen with the scope 'data'"
      }
    }
  }

  /// The answer to the request.
  package var response: HTTPServerResponse {
    var body = ValueMap([
      ("type", .string(ProblemPage.root + kind.name)), ("title", .string(kind.title)), ("status", .int(kind.status)),
      ("detail", .string(detail)), ("kind", .string(kind.name)),
    ])
    if !faults.isEmpty {
      body["faults"] = .list(
        faults.map { .object(["message": .string($0.message), "pointer": .string($0.pointer)]) })
    }
    if !moves.isEmpty { body["moves"] = .list(moves.map { .string($0) }) }
    var response = HTTPServerResponse.text(
      JSON.shown(.map(body)), status: kind.status, type: "application/problem+json")
    response.headers.fields += headers.fields
    return response
  }
}
