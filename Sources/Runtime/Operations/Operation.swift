/// One thing that an agent does for a caller: its name, purpose, permission, inputs, answer and places, in one type.
///
/// The command line, the API and its document, the pages, the tools of assistants, the hand-over to a leader and the
/// page of requests read these declarations. `AgentParts.perform` is the only way to run an operation.
package import ActionKit
package import Agent
package import Basics
package import RunState

package protocol Operation: FieldSet {
  /// The thing it is about, which the frame finds only if the caller sees it.
  associatedtype Target: OperationTarget
  /// The answer, as errand itself reads it.
  associatedtype Answer: OperationAnswer
  /// The answer as the API has it.
  associatedtype View: FieldSet

  /// The name on the wire, and the `operationId`.
  static var name: String { get }
  /// One sentence.
  static var summary: String { get }
  /// The scopes that every caller needs.
  static var scopes: Scopes { get }
  /// More scopes that the inputs need.
  var moreScopes: Set<TokenScope> { get }
  /// Where it is found over HTTP; nil for errand's own.
  static var route: Route? { get }
  /// The command that asks it, without `errand`.
  static var command: String? { get }
  /// The page where people find it.
  static var page: String? { get }
  /// Why it has no command, route or page.
  static var absences: [Absence] { get }
  /// Why it may be refused, except for a malformed request and an unusable state.
  static var refusals: Set<RequestRefusedError.Kind> { get }
  /// Where it is done, if several programs share the state.
  static var place: Place { get }
  /// The meaning of the field Idempotency-Key.
  static var repeats: Repeats { get }
  /// The form of the body of the API's answer.
  static var media: Media { get }
  /// The body of an answer that the API gives in another form than its view.
  static func body(_ answer: Answer, for caller: AgentCaller) async throws(RequestRefusedError) -> MediaBody?
  /// Inputs that are refused without another one, by name.
  static var companions: [String: String] { get }
  /// How long texts may be whose length `run` checks, by name; for the document of the API.
  static var lengths: [String: ClosedRange<Int>] { get }

  /// The name of its target.
  var target: Target.Name { get }

  /// Does it.
  func run(
    on target: Target, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer

  /// The answer of the API; data of runs only for callers that see it.
  static func view(_ answer: Answer, for caller: AgentCaller) async throws(RequestRefusedError) -> View
  /// The answer's status and the fields of its head that follow from it.
  static func head(_ answer: Answer) -> ViewHead
}

/// An operation that also tells what happens to runs, one event after another, until it ends.
package protocol StreamingOperation: Operation {
  /// Does it, and tells what happens; all has been told when this returns.
  func run(
    on target: Target, in agent: AgentParts, for caller: AgentCaller, to events: any RunEvents
  ) async throws(RequestRefusedError)
}

/// An answer: it is written and read exactly, and can leave out the things that a caller doesn't see.
///
/// `limited(to:)` has no default for answers in general, so that a new one can't forget it.
package protocol OperationAnswer: Sendable {
  /// Reads what `exact` wrote.
  init(reading value: Value) throws(RecordError)
  /// The answer in the coding of records.
  func exact() async throws(RequestRefusedError) -> Value
  /// The answer without runs, slots, schedules and causes of recipes that the caller doesn't see.
  func limited(to recipes: VisibleRecipes) -> Self
  /// Whether it may be too long to be in memory as a text.
  var isLong: Bool { get }
  /// Writes what `exact` gives, piece by piece.
  func write(to writer: inout ExactWriter) async throws
}

extension OperationAnswer {
  package var isLong: Bool { false }
}

extension OperationAnswer where Self: Recordable {
  package func exact() -> Value { recorded(self) }
}

/// An answer without runs, slots, schedules and causes, so that nothing has to be left out.
package protocol UnlimitedAnswer: OperationAnswer {}

extension UnlimitedAnswer {
  package func limited(to recipes: VisibleRecipes) -> Self { self }
}

extension Operation {
  package static var route: Route? { nil }
  package static var command: String? { nil }
  package static var page: String? { nil }
  package static var absences: [Absence] { [] }
  package static var refusals: Set<RequestRefusedError.Kind> { [] }
  package static var place: Place { .here }
  package static var repeats: Repeats { .refused }
  package static var media: Media { .json }
  package static var companions: [String: String] { [:] }
  package static var lengths: [String: ClosedRange<Int>] { [:] }
  package static func head(_ answer: Answer) -> ViewHead { ViewHead() }
  package static func body(_ answer: Answer, for caller: AgentCaller) async throws(RequestRefusedError) -> MediaBody? {
    nil
  }
  package var moreScopes: Set<TokenScope> { [] }

  /// The type of the API's answer; nil if it has no body.
  package static var viewType: (any FieldSet.Type)? { View.self == NoContent.self ? nil : View.self }

  /// Whether the same request again does nothing a second time.
  package var mayBeRepeated: Bool {
    switch Self.repeats {
    case .key: exactInputs["key"] != nil
    case .eventID: exactInputs["id"] != nil
    case .harmless: true
    case .once: false
    case .refused: Self.scopes.token?.isSubset(of: [.read, .data, .metrics]) ?? false
    }
  }

  /// A request with its inputs given.
  package static func with(_ fill: (inout Self) -> Void) -> Self {
    var request = Self()
    fill(&request)
    return request
  }
}

extension Set where Element == RequestRefusedError.Kind {
  /// The refusals of a request about one schedule.
  static let ofSchedules: Self = [.notFound, .conflict, .timeout]
  /// The refusals of a request about one run.
  static let ofRuns: Self = [.notFound, .ambiguous]
}

// MARK: - What a declaration says

/// The permission that a caller needs.
package struct Scopes: Sendable, Equatable {
  /// The scopes of a token, all of them; nil if no token is enough.
  package var token: Set<TokenScope>?

  package static func token(_ scopes: TokenScope...) -> Scopes { Scopes(token: Set(scopes)) }
  /// Reserved for programs of the agent's own account.
  package static let own = Scopes(token: nil)

  /// The names, for people.
  package var names: [String] {
    token.map { scopes in TokenScope.allCases.filter(scopes.contains).map(\.rawValue) } ?? ["own"]
  }
}

/// Where an operation is found over HTTP, below `/api/v1`.
package struct Route: Sendable {
  package enum Method: String, Sendable { case get = "GET", post = "POST", delete = "DELETE" }

  package var method: Method
  /// The path, in which `{name}` is an input.
  package var path: String
  /// The status of a good answer; 202 where the agent works on it after the answer, 204 where the answer has no body.
  package var status: Int

  package static func get(_ path: String) -> Route { Route(method: .get, path: path, status: 200) }
  package static func post(_ path: String, status: Int = 200) -> Route {
    Route(method: .post, path: path, status: status)
  }
  package static func delete(_ path: String, status: Int = 204) -> Route {
    Route(method: .delete, path: path, status: status)
  }
}

/// Why an operation isn't found in one of the places, in a sentence.
package struct Absence: Sendable {
  package enum Place: String, Sendable { case command, route, page }

  package var place: Place
  package var reason: String

  package static func command(_ reason: String) -> Absence { Absence(place: .command, reason: reason) }
  package static func route(_ reason: String) -> Absence { Absence(place: .route, reason: reason) }
  package static func page(_ reason: String) -> Absence { Absence(place: .page, reason: reason) }
}

/// Where an operation is done, if several programs share the state.
package enum Place: Sendable {
  case here
  /// By the program that decides on the schedules.
  case leader
}

/// The meaning of the field Idempotency-Key of a repeated request.
package enum Repeats: Sendable, Equatable {
  /// It is the input `key`.
  case key
  /// It is the event's id, unless the body has one.
  case eventID
  /// It is taken and needless, because a repeated request makes nothing a second time; the sentence says why.
  case harmless(String)
  /// It is taken and needless, because a repeated request is refused as a conflict; the sentence says why. A client
  /// doesn't repeat the request unasked: it wouldn't get the answer.
  case once(String)
  /// A request that makes nothing: a key is refused.
  case refused
}

/// The form of the body of the API's answer.
package enum Media: Sendable {
  /// The view as JSON.
  case json
  /// JSON of any form.
  case value
  case text, csv, bytes

  /// The media type in the document of the API.
  package var type: String {
    switch self {
    case .json, .value: "application/json"
    case .text: "text/plain"
    case .csv: "text/csv"
    case .bytes: "application/octet-stream"
    }
  }

  /// The JSON Schema of an answer that isn't a view.
  package var schema: Value {
    switch self {
    case .json, .value: .object([:])
    case .text, .csv: .object(["type": .string("string")])
    case .bytes: .object(["type": .string("string"), "format": .string("binary")])
    }
  }
}

/// The parts of the API's answer besides its body.
package struct ViewHead: Sendable {
  /// The status, if it isn't the route's.
  package var status: Int?
  /// The path of the new thing, below `/api/v1`.
  package var location: String?
  /// The cursor of the next page.
  package var next: String?

  package init(status: Int? = nil, location: String? = nil, next: String? = nil) {
    self.status = status
    self.location = location
    self.next = next
  }
}

/// The most items that a list may be asked for at once; the rest comes with the next page.
enum ListLimit {
  static let most = 1_000_000
  /// Coming slots are computed, and have no end.
  static let mostComing = 10_000

  /// A limit from this process, whose inputs aren't checked.
  static func clamped(_ limit: Int, to most: Int = most) -> Int { min(max(0, limit), most) }
}

/// The view of an answer without a body.
package struct NoContent: FieldSet { package init() {} }

/// A set with its fields given.
package func filled<Fields: FieldSet>(_ fields: Fields, _ fill: (inout Fields) -> Void) -> Fields {
  var fields = fields
  fill(&fields)
  return fields
}
