import ActionKit
import Basics
import Expressions

// Reads the keys that all steps that ask a person have in common.

extension StepReader {
  /// Reads the settings of a question; nil without a prompt, which is an error.
  func question(
    _ fields: Fields, scope: Scope, over: OverPaths, timeout: inout TimeLimits?
  ) -> QuestionSettings? {
    let prompt = fields.require("prompt", "the question that the person is asked").flatMap {
      compiler.text($0, of: "'prompt'", in: scope)
    }
    let (yes, no) = (consequence("yes", fields, scope), consequence("no", fields, scope))
    let (hasLink, lifetime) = link(fields)
    let tell = tell(fields, scope: scope, over: over)
    if hasLink || tell != nil, let place = fields["link"] ?? fields["tell"] { warn(of: place, sends: tell != nil) }
    let onTimeout = limit(fields, &timeout)
    return prompt.map {
      QuestionSettings(
        prompt: $0, by: fields.texts("by") ?? [], yes: yes, no: no, hasLink: hasLink, linkLifetime: lifetime,
        tell: tell, onTimeout: onTimeout)
    }
  }

  /// Whether the run may continue without an answer.
  func mayTimeOut(_ question: QuestionSettings?, _ fields: Fields) -> Bool {
    question.map { $0.onTimeout == .continue } ?? (fields["onTimeout"]?.string == OnTimeout.continue.rawValue)
  }

  private func consequence(_ name: String, _ fields: Fields, _ scope: Scope) -> ValueTemplate? {
    fields[name].flatMap { compiler.text($0, of: "'\(name)'", in: scope) }
  }

  private func link(_ fields: Fields) -> (isShown: Bool, lifetime: TimeSpan?) {
    guard let value = fields["link"], value.map != nil else { return (fields.bool("link") ?? false, nil) }
    guard let inner = Fields(value, of: "'link'", .questionLink, findings) else { return (true, nil) }
    let lifetime = inner.require("for", "how long a link carries the right, such as 7d").flatMap { _ in
      inner.duration("for")
    }
    if let lifetime, lifetime > QuestionSettings.longestLink, let place = inner["for"] {
      findings.error(
        "'for' must be at most \(QuestionSettings.longestLink.written), but is \(lifetime.written)", at: place)
    }
    return (true, lifetime)
  }

  /// Warns if links have no address, or one that leads nowhere from another machine.
  private func warn(of place: Value, sends: Bool) {
    if !environment.hasServer {
      findings.warning(
        "errand.yaml has no 'server', so the question has no address; add server: { listen: 127.0.0.1:7373 }", at: place
      )
    } else if sends, let base = environment.localBase {
      findings.warning(
        "the link would be \(base)/…, which works only on this machine; add 'publicURL' under 'server' in errand.yaml",
        at: place)
    }
  }

  private func tell(_ fields: Fields, scope: Scope, over: OverPaths) -> Block? {
    guard let value = fields["tell"] else { return nil }
    var inner = scope
    inner.declare("question", .object(RecipeTypes.question))
    let block = block(value, of: "'tell'", in: &inner, over: over.inside(QuestionSettings.tellPrefix))
    for step in Block.allSteps(in: [block]) {
      guard let fault = step.faultInTell else { continue }
      findings.add(Diagnostic(MessageText(fault), at: step.location))
    }
    return block
  }
}

extension Step {
  /// Why it isn't allowed in `tell`, which has to end soon; nil if it is.
  fileprivate var faultInTell: String? {
    switch kind {
    case .approval, .ask: return "'\(work)' isn't allowed in 'tell', whose steps tell people of a question"
    case .wait(.span(let span)) where span > QuestionSettings.longestWait:
      return "a step in 'tell' waits at most \(QuestionSettings.longestWait.written), but this is \(span.written)"
    case .wait(.event(let name, _, _, _)):
      let limit = [timeout.total, timeout.attempt].compactMap { $0 }.min()
      if let limit, limit <= QuestionSettings.longestWait { return nil }
      return
        "a step in 'tell' waits at most \(QuestionSettings.longestWait.written); give the wait for '\(name)' a timeout"
    case .call(let call):
      let fault = call.recipe.all.lazy.flatMap(\.allSteps).compactMap(\.faultInTell).first
      return fault.map { "\($0); '\(call.path)' has such a step" }
    default: return nil
    }
  }
}
