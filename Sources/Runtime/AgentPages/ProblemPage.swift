package import Agent
import Basics
package import HTTPServer

/// A problem as a page, and the page about a kind of problem.
///
/// The type of a problem is the path of the latter.
package enum ProblemPage {
  /// Where the types of problems lead, before the name of the kind.
  package static let root = "/problems/"

  /// The kind that a path explains; nil if there is none.
  package static func kind(at path: String) -> Problem.Kind? {
    guard path.hasPrefix(root) else { return nil }
    let name = String(path.dropFirst(root.count))
    return Problem.Kind.all.first { $0.name == name }
  }

  /// The page of a kind.
  package static func response(of kind: Problem.Kind) -> HTTPServerResponse {
    PageFrame(
      title: kind.title, section: "", visitor: nil, isSandbox: false,
      content: .element("h1", [:], Markup(kind.title))
        + .element(
          "p", [:], "Answers with the kind ", Part.code(kind.name), " and the status \(kind.status) say this.")
        + .element("h2", [:], "What to do") + .element("p", [:], Markup(kind.remedy))
    ).response()
  }

  /// - Parameters:
  ///   - page: The path of the page that the request was made on, if it is known.
  ///   - isKnown: Whether it is known who asks.
  package static func response(
    of problem: Problem, page: String?, isKnown: Bool, isSandbox: Bool, clock: WallClock
  ) -> HTTPServerResponse {
    // The title is about the API.
    let title =
      switch problem.kind {
      case .refusal(.request): "The address or the form isn't valid."
      case .tooLarge: "The form is too large."
      default: problem.kind.title
      }
    var response = PageFrame(
      title: title, section: "", visitor: isKnown ? "" : nil, isSandbox: isSandbox,
      content: .element("h1", [:], Markup(title))
        + .element("p", ["class": "notice fault", "role": "alert"], Markup(clock.told(problem.detail)))
        + .element(
          "p", [:], page.map { Part.link("Back to the page", to: $0) + ", or " } ?? .nothing,
          Part.link(page == nil ? "Back to the first page" : "to the first page", to: "/"))
    ).response(status: problem.kind.status)
    response.headers.fields += problem.headers.fields
    return response
  }
}
