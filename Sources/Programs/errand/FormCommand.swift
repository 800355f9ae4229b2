import ActionKit
import Agent
import Operations
import AgentRuntime
import Basics
import CommandLineParser

/// `errand form`: makes links that let people send a form that is open to links only.
struct FormCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let session = try await dispatch.session()
    let span = parsed["for"].text.map { TimeSpan($0) } ?? IssueFormLink.lifetime
    guard let span, span > .zero, span <= IssueFormLink.longest,
      let end = session.time.now().advanced(by: span)
    else {
      let text = parsed["for"].text ?? ""
      throw RuntimeError(
        .usage,
        "--for takes a length of time up to \(IssueFormLink.longest.written), such as 7d, not '\(text.safe)'")
    }
    return try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      let answer = try await requests.ask(
        IssueFormLink.with {
          $0.id = parsed["schedule"].text ?? ""
          $0.uses = parsed["uses"].int ?? 1
          $0.until = end
        })
      console.out(answer.link)
      return .done
    }
  }
}
