// How requests say which runs they are about: the inputs of a list's filter, and the query that they make.
package import ActionKit
import Agent
package import Basics
package import RunState

/// The inputs that choose runs.
package protocol RunFiltering: FieldSet {
  var recipe: String? { get set }
  var recipePart: String? { get set }
  var status: [Word<RunStatus>] { get set }
  var since: Timestamp? { get set }
  var until: Timestamp? { get set }
  var text: String? { get set }
  var input: [String] { get set }
  var cause: [Word<RunCause.Kind>] { get set }
  var failure: String? { get set }
}

/// The sentences about these inputs, once for all requests that have them.
enum FilterWords {
  static let recipe = "Only runs of this recipe."
  static let recipePart = "Only runs of recipes whose names contain this, in upper or lower case."
  static let status = "Only runs with one of these statuses."
  static let since = "Only runs created at this instant or later."
  static let until = "Only runs created before this instant."
  static let text =
    "Only runs whose reason, as lists show it, contains this, in upper or lower case; needs the scope data."
  static let input =
    "Only runs that were started with these inputs, each as `name=value`, the value as lists show it; needs the scope data."
  static let cause = "Only runs with one of these causes."
  static let failure = "Only runs that failed like the others of this group, which the list of failures names."
  /// The most characters of a text, and the most inputs.
  static let (longest, mostInputs) = (200, 16)
}

extension RunFiltering {
  /// The scopes that the inputs need: an answer tells whether the data of runs has a text.
  var scopesOfFilter: Set<TokenScope> { text == nil && input.isEmpty ? [] : [.data] }

  /// The query of a list with that filter; refused if an input isn't one.
  func query(limit: Int = 0) throws(RequestRefusedError) -> RunListQuery {
    var query = RunListQuery(
      limit: limit, recipe: recipe, statuses: status.map(\.word), since: since, until: until)
    query.failure = failure
    query.filter.recipePart = recipePart
    query.filter.text = text
    query.filter.causes = Set(cause.map(\.word))
    for given in input {
      guard let input = RunFilter.Input(given) else {
        throw RequestRefusedError(
          .request, "'\(given.shortened(to: 80))' isn't an input and its value; write name=value")
      }
      query.filter.inputs.append(input)
    }
    return query
  }

  /// Takes the inputs of a query.
  package mutating func fill(from query: RunListQuery) {
    recipe = query.recipe
    recipePart = query.filter.recipePart
    status = query.statuses.map { Word($0) }
    since = query.since
    until = query.until
    failure = query.failure
    text = query.filter.text
    input = query.filter.inputs.map { "\($0.name)=\($0.value)" }
    cause = RunCause.Kind.allCases.filter(query.filter.causes.contains).map { Word($0) }
  }
}

/// A filter as a part of a request.
package struct RunFilterInput: RunFiltering {
  @Field(FilterWords.recipe) package var recipe: String?
  @Field(FilterWords.recipePart, .minLength(1), .maxLength(FilterWords.longest)) package var recipePart: String?
  @Field(FilterWords.status) package var status: [Word<RunStatus>] = []
  @Field(FilterWords.since) package var since: Timestamp?
  @Field(FilterWords.until) package var until: Timestamp?
  @Field(FilterWords.text, .minLength(1), .maxLength(FilterWords.longest)) package var text: String?
  @Field(FilterWords.input, .maxLength(FilterWords.mostInputs)) package var input: [String] = []
  @Field(FilterWords.cause) package var cause: [Word<RunCause.Kind>] = []
  @Field(FilterWords.failure, .minLength(1), .maxLength(FilterWords.longest)) package var failure: String?

  package init() {}
}
