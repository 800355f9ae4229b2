import HTTPServer

/// A problem as a page.
enum ProblemPage {
  static func response(of problem: Problem) -> HTTPServerResponse {
    var response = PageFrame(
      title: problem.kind.title, section: "", visitor: problem.kind == .unauthorized ? nil : "",
      content: .element("h1", [:], Markup(problem.kind.title))
        + .element("p", ["class": "notice fault", "role": "alert"], Markup(problem.detail))
        + .element("p", [:], Part.link("Back to the first page", to: "/"))
    ).response(status: problem.kind.status)
    response.headers.fields += problem.headers.fields
    return response
  }
}
