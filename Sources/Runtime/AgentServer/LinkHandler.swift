// Links that carry the right to answer a question: `/d/edl_…`.
//
// Scanners of mail and previews of links fetch them, follow redirections and run scripts, so fetching one decides and
// writes nothing. A decision is a form that is posted from the agent's own page, with the digest of the question that
// the page showed. The fault of a link isn't told: one that never was, that was ended or that is old has one
// answer.
import Agent
import AgentPages
import Basics
import HTTPServer
import Operations
import Recipes
import RunState
import Synchronization

/// Counts the links that an address tried and that weren't valid.
final class LinkLimit: Sendable {
  private struct Tries {
    var since: TimeSpan
    var count: Int
  }

  /// How many an address may try in a minute.
  private static let most = 30
  private static let span = TimeSpan.seconds(60)
  /// How many addresses are remembered at most; beyond, all begin anew.
  private static let mostAddresses = 10_000

  private let tries = Mutex<[String: Tries]>([:])

  /// Counts a try; whether it is one too many.
  func isExceeded(by address: String, at now: TimeSpan) -> Bool {
    tries.withLock { tries in
      if tries.count >= LinkLimit.mostAddresses, tries[address] == nil {
        tries = tries.filter { now - $0.value.since < LinkLimit.span }
        if tries.count >= LinkLimit.mostAddresses { tries = [:] }
      }
      var known = tries[address] ?? Tries(since: now, count: 0)
      if now - known.since >= LinkLimit.span { known = Tries(since: now, count: 0) }
      known.count = min(known.count + 1, LinkLimit.most + 1)
      tries[address] = known
      return known.count > LinkLimit.most
    }
  }
}

/// Answers requests for links.
struct LinkHandler {
  let service: AgentParts
  let authenticator: Authenticator
  let limit: LinkLimit
  let clock: WallClock

  /// The most characters of a name and of a comment.
  private static let mostOfName = 80
  private static let mostOfComment = 4000

  private var pages: LinkPages {
    LinkPages(
      name: authenticator.settings.name, contact: authenticator.settings.contact,
      isSandbox: service.agent.isSandbox, clock: clock)
  }

  /// A link that is known, with its question.
  private struct Known {
    var link: String
    var right: LinkedQuestion
    var run: RunRecord
    var step: StepRecord
  }

  func answer(_ request: HTTPServerRequest) async throws(Problem) -> HTTPServerResponse {
    let isPost = request.method == "POST"
    if isPost { try authenticator.checkIsOfPage(request) }
    guard let known = try await known(String(request.rawPath.dropFirst(LinkKey.root.count))) else {
      let isExceeded = limit.isExceeded(by: authenticator.address(of: request), at: authenticator.time.elapsed())
      return isExceeded ? pages.tooMany() : pages.unknown()
    }
    if !isAsking(known) { return ended(known, isPost ? request.form : nil) }
    if clock.now >= known.right.until { return pages.expired(known.right.until, status: isPost ? 409 : 410) }
    guard isPost else { return pages.question(known.run, known.step, to: known.right.name, query: request.query) }
    return try await decide(known, request)
  }

  /// The question of a link that carries a right, or did until a week ago.
  private func known(_ text: String) async throws(Problem) -> Known? {
    guard text.utf8.count <= 64, text.hasPrefix(LinkKey.mark) else { return nil }
    do throws(StateError) {
      guard let right = try await service.store.right(of: text),
        let run = try await service.store.keptRun(right.run), let step = run.steps[right.step]
      else { return nil }
      let known = Known(link: try LinkKey.digest(of: text), right: right, run: run, step: step)
      if isAsking(known) { return known }
      let end = step.decision?.at ?? step.endedAt ?? run.endedAt ?? right.until
      return clock.now < end.advanced(by: LinkKey.remembered) ?? .latest ? known : nil
    } catch {
      throw Problem(RequestRefusedError(error).mapTexts(service.agent.told))
    }
  }

  private func isAsking(_ known: Known) -> Bool { !known.run.status.isEnded && known.step.asksPerson }

  /// The page of a question that is open no longer; the same decision or answer again is only told of.
  ///
  /// - Parameter sent: The form that was sent; nil for the page alone.
  private func ended(_ known: Known, _ sent: HTTPQuery?) -> HTTPServerResponse {
    guard let decision = known.step.decision, decision.link == known.link,
      // A link without a name is anyone's, so its page alone says who decided.
      sent.map({ isSame($0, as: decision, known) }) ?? !known.right.name.isEmpty
    else { return pages.ended(known.run, known.step, status: sent == nil ? 200 : 409) }
    return pages.recorded(known.run, known.step, decision)
  }

  private func isSame(_ sent: HTTPQuery, as decision: DecisionRecord, _ known: Known) -> Bool {
    let name = known.right.name.isEmpty ? LinkHandler.name(sent) : known.right.name
    guard name == decision.by else { return false }
    guard let fields = decision.fields else { return sent["choice"] == (decision.isApproved ? "approve" : "reject") }
    guard let texts = LinkPages.texts(sent, for: known.step) else { return false }
    return known.step.wait?.values(of: texts).map { JSON.displayed($0) } == JSON.displayed(fields)
  }

  /// The name that a person gave in a form, as it is recorded.
  private static func name(_ form: HTTPQuery) -> String { (form["name"] ?? "").trimmed + DecisionRecord.byLink }

  private func decide(_ known: Known, _ request: HTTPServerRequest) async throws(Problem) -> HTTPServerResponse {
    if let fault = request.formFault { throw Problem(.refusal(.request), fault) }
    let form = request.form
    func again(_ faults: [FormFault] = []) -> HTTPServerResponse {
      pages.question(
        known.run, known.step, to: known.right.name, query: request.query, given: form, faults: faults, status: 422)
    }
    let choice = form["choice"]
    let isAnswer = known.step.wait?.kind == .ask
    guard isAnswer || choice == "approve" || choice == "reject" else {
      return again([FormFault("Choose to approve or to reject.")])
    }
    var name = known.right.name
    if name.isEmpty {
      let given = (form["name"] ?? "").trimmed
      guard (1...LinkHandler.mostOfName).contains(given.count), given.unicodeScalars.allSatisfy({ $0.value >= 0x20 })
      else { return again([FormFault("Give your name, in 1 to \(LinkHandler.mostOfName) characters.", at: "name")]) }
      name = LinkHandler.name(form)
    }
    let comment = (form["comment"] ?? "").trimmed
    guard comment.count <= LinkHandler.mostOfComment else {
      return again([FormFault("The comment has at most \(LinkHandler.mostOfComment) characters.", at: "comment")])
    }
    guard let texts = isAnswer ? LinkPages.texts(form, for: known.step) : [:] else { return again() }
    var decision = DecisionRecord(
      isApproved: isAnswer || choice == "approve", by: name, at: authenticator.time.now(),
      comment: comment.isEmpty ? nil : comment, via: .link, link: known.link)
    do throws(RequestRefusedError) {
      let seen = form["question"] ?? ""
      if isAnswer {
        try await service.answer(known.run.id, known.step.path, texts, decision, seeing: seen)
        // The page says that an answer is recorded.
        decision.fields = .map(ValueMap())
      } else {
        try await service.decide(known.run.id, known.step.path, decision, seeing: seen)
      }
    } catch {
      if error.kind == .inputs { return again(LinkPages.faults(of: error)) }
      guard [.notAsked, .ended, .conflict].contains(error.kind), let now = try await settled(request, after: error)
      else { throw Problem(error) }
      // Another person was faster, or the same one pressed twice.
      if !isAsking(now) { return ended(now, form) }
      return pages.another(now.run, now.step, to: now.right.name, query: request.query, given: form)
    }
    return pages.recorded(known.run, known.step, decision)
  }
}

extension LinkHandler {
  /// How often a decision that is on its way to the state is looked for, and how long after each look.
  private static let (mostLooks, pause) = (100, TimeSpan.milliseconds(20))

  /// The question after a refusal, once the decision that led to it is in the state.
  private func settled(
    _ request: HTTPServerRequest, after refusal: RequestRefusedError
  ) async throws(Problem) -> Known? {
    let text = String(request.rawPath.dropFirst(LinkKey.root.count))
    var now = try await known(text)
    guard refusal.kind == .notAsked else { return now }
    for _ in 0..<LinkHandler.mostLooks where now.map(isAsking) ?? false {
      try? await authenticator.time.sleep(for: LinkHandler.pause)
      now = try await known(text)
    }
    return now
  }
}

extension Authenticator {
  /// The address that a request comes from: behind a proxy, the one that the proxy adds last.
  func address(of request: HTTPServerRequest) -> String {
    let forwarded = settings.publicURL == nil ? nil : request.headers.values("X-Forwarded-For").last
    return forwarded?.split(separator: ",").last.map { String($0).trimmed.shortened(to: 64) } ?? request.address ?? ""
  }
}
