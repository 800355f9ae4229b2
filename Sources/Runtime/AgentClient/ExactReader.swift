package import Agent
package import Basics
package import HTTPTypes
import Operations
import RunState
import Synchronization

/// Reads the answer to a request in the exact form as its bytes arrive, within bounds.
///
/// An answer is collected; events are passed on line by line. Beyond a bound nothing more is read, and the fault names
/// the bound. All of it comes from outside: texts of problems are safe for terminals from here on.
package final class ExactReader: Sendable {
  /// An answer that isn't in the exact form.
  package struct Problem: Sendable {
    package var status: Int
    /// The kind of a problem (RFC 9457) with its text; nil if it is none, so that another program has answered.
    package var kind: String?
    package var detail = ""
    package var changes: [String] = []
  }

  /// What came of a request.
  package enum Outcome: Sendable {
    case good(Good)
    case refusal(RequestRefusedError)
    case problem(Problem)
    case unreadable(String)

    package enum Good: Sendable {
      case answer(Value)
      /// All events have been passed on.
      case events
      /// The agent ended, or the connection was cut, before the answer was whole.
      case cut
    }
  }

  private enum Form { case answer, events, problem }

  private struct Content {
    var form = Form.problem
    var status = 0
    var headers = HTTPHeaders()
    var text: [UInt8] = []
    var lines = LineReader(limit: ExactForm.mostOfEvent)
    var outcome: Outcome?
    var isBegun = false
    var isWhole = false
  }

  private let content = Mutex(Content())
  private let take: (@Sendable (Value) throws(RecordError) -> Void)?

  /// - Parameter take: Takes each event; without it one answer is collected.
  init(_ take: (@Sendable (Value) throws(RecordError) -> Void)? = nil) { self.take = take }

  /// Whether the head of an answer has come.
  package var isBegun: Bool { content.withLock { $0.isBegun } }

  /// Takes the head of the answer.
  package func begin(_ status: Int, _ headers: HTTPHeaders) {
    content.withLock { content in
      (content.isBegun, content.status, content.headers) = (true, status, headers)
      switch headers["Content-Type"] {
      case ExactForm.answer: content.form = .answer
      case ExactForm.events where status == 200: content.form = .events
      default: content.form = .problem
      }
    }
  }

  /// Takes the next bytes of the body; the fault if nothing more is to be read.
  package func receive(_ bytes: UnsafeRawBufferPointer) -> String? {
    content.withLock { content in
      if case .unreadable(let fault) = content.outcome { return fault }
      switch content.form {
      case .events: for line in content.lines.take(bytes) { read(line, &content) }
      case .answer: collect(bytes, ExactForm.mostOfAnswer, "an answer", &content)
      case .problem: collect(bytes, ExactForm.mostOfProblem, "a problem", &content)
      }
      if case .unreadable(let fault) = content.outcome { return fault }
      return nil
    }
  }

  /// Says that the body is whole.
  package func end() { content.withLock { $0.isWhole = true } }

  /// What came of the request, once nothing more comes.
  package var outcome: Outcome {
    content.withLock { content in
      if let outcome = content.outcome { return outcome }
      guard content.isBegun, content.isWhole else { return .good(.cut) }
      switch content.form {
      case .events: return .good(.events)
      case .problem: return .problem(ExactReader.problem(content))
      case .answer: return ExactReader.answer(content)
      }
    }
  }

  private func collect(_ bytes: UnsafeRawBufferPointer, _ most: Int, _ what: String, _ content: inout Content) {
    guard bytes.count <= most - content.text.count else {
      let bound = most >= 1 << 20 ? "\(most >> 20) MiB" : "\(most >> 10) KiB"
      content.outcome = .unreadable("it is longer than \(bound), the most that is read of \(what)")
      return
    }
    content.text += bytes
  }

  private func read(_ line: LineReader.Line, _ content: inout Content) {
    guard content.outcome == nil else { return }
    guard case .line(let text) = line else {
      content.outcome = .unreadable(
        "it is longer than \(ExactForm.mostOfEvent >> 20) MiB, the most that is read of an event")
      return
    }
    if text.isBlankLine { return }
    do {
      let value = try JSON.parse(text, limits: ExactForm.limits(ExactForm.mostOfEvent))
      // A member of progress may be called like that, too.
      if value["progress"] == nil, let refused = value["failed"] {
        content.outcome = .refusal(try RequestRefusedError(reading: refused))
      } else {
        try take?(value)
      }
    } catch {
      content.outcome = .unreadable(ExactReader.fault(error))
    }
  }

  private static func fault(_ error: any Error) -> String {
    (error as? JSONError)?.message ?? (error as? RecordError)?.message ?? "\(error)"
  }

  private static func answer(_ content: Content) -> Outcome {
    do {
      let length = content.text.count - (content.text.last == ASCII.newline ? 1 : 0)
      // A refusal after the part of an answer that had been sent by then.
      let end = content.text[..<length].lastIndex(of: ASCII.newline)
      let last = try JSON.parse(
        end.map { Array(content.text[($0 + 1)...]) } ?? content.text, limits: ExactForm.limits(ExactForm.mostOfAnswer))
      if content.status != 200 || end != nil {
        guard let refused = last["failed"] else { return .unreadable("it has the status \(content.status)") }
        return .refusal(try RequestRefusedError(reading: refused))
      }
      return .good(.answer(last))
    } catch {
      return .unreadable(fault(error).safeText())
    }
  }

  private static func problem(_ content: Content) -> Problem {
    var problem = Problem(status: content.status)
    guard content.headers["Content-Type"] == ExactForm.problem, let body = try? JSON.parse(content.text),
      let kind = body["kind"]?.string, let detail = body["detail"]?.string
    else { return problem }
    (problem.kind, problem.detail) = (kind, detail.safeText())
    problem.changes = (body["changes"]?.list ?? []).compactMap { $0.string?.safeText() }
    return problem
  }
}
