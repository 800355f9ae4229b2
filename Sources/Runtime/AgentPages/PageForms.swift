// The actions of the pages' forms. Each that changes something ends with a redirection, so that loading a page again
// repeats nothing; a new token is the exception, because its text is shown once.
import Agent
import Operations
import Basics
import HTTPServer
import RunState
import Runs

extension Pages {
  static func act(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse? {
    if let fault = request.http.formFault { throw Problem(.refusal(.request), fault) }
    let form = request.http.form
    guard request.parts.count == 3 else {
      switch request.parts[0] {
      case "check": return try await check(request, form)
      case "runs": return try await steer(request, form)
      case "tokens": return try await issueToken(request, form)
      default: return nil
      }
    }
    let (kind, name, verb) = (request.parts[0], request.parts[1], request.parts[2])
    func text(_ field: String) -> String? { form[field].flatMap { $0.trimmed.isEmpty ? nil : $0.trimmed } }
    switch (kind, verb) {
    case ("recipes", "start"): return try await start(request, name, form)
    case ("recipes", "plan"): return try await start(request, name, form, isPlan: true)
    case ("plans", "run"): return try await runPlan(request, name, key: form["key"])
    case ("plans", "again"): return try await planAgain(request, name)
    case ("runs", "pause"):
      _ = try await request.ask(
        PauseRun.with {
          $0.run = name
          $0.reason = text("reason")
        })
    case ("runs", "resume"): _ = try await request.ask(ResumeRun.with { $0.run = name })
    case ("runs", "cancel"):
      _ = try await request.ask(
        CancelRun.with {
          $0.run = name
          $0.reason = text("reason")
        })
    case ("runs", "retry"):
      let retried = try await request.ask(
        RetryRun.with {
          $0.run = name
          $0.key = text("key")
        })
      return redirect(pagePath("runs", retried.accepted))
    case ("runs", "delete"):
      _ = try await request.ask(DeleteRun.with { $0.run = name })
      return redirect("/runs")
    case ("runs", "answer"): return try await answer(request, name, form)
    case ("runs", "decide"):
      guard let choice = form["choice"], choice == "approve" || choice == "reject" else {
        throw Problem(.refusal(.request), "choose to approve or to reject")
      }
      do throws(Problem) {
        _ = try await request.ask(
          DecideStep.with {
            $0.run = name
            $0.step = text("step")
            $0.approved = choice == "approve"
            $0.comment = text("comment")
            $0.question = text("question")
          })
      } catch {
        return try await refused(request, error, name, text("step"), form)
      }
      if let step = text("step") { return redirect(pagePath("approvals", name, step)) }
    case ("runs", "unlink"):
      let step = text("step")
      _ = try await request.ask(
        UnlinkStep.with {
          $0.run = name
          $0.step = step
        })
      if let step { return redirect(pagePath("approvals", name, step)) }
    case ("runs", "events"), ("runs", "resolve"):
      let kind: RefusedRunForm.Kind = verb == "events" ? .event : .resolution
      do throws(Problem) {
        if kind == .event { try await send(request, name, form) } else { try await resolve(request, name, form) }
      } catch {
        let refused = RefusedRunForm(
          kind: kind, subject: form[kind == .event ? "name" : "step"] ?? "", text: form[kind.rawValue] ?? "",
          problem: error)
        guard [.refusal(.request), .refusal(.ended)].contains(error.kind),
          refused.isWanted(by: try await displayed(request, name))
        else { throw error }
        var response = try await run(request, name, refused)
        response.status = 422
        return response
      }
    case ("failures", "dismiss"):
      let seen = text("seen")
      _ = try await request.ask(
        DismissFailure.with {
          $0.group = name
          $0.seen = seen.flatMap { Timestamp($0) }
          $0.note = text("note")
        })
      return redirect("/")
    case ("failures", "retry"): return try await retryAll(request, name, form)
    case ("schedules", "pause"):
      _ = try await request.ask(
        PauseSchedule.with {
          $0.id = name
          $0.note = text("note")
        })
    case ("schedules", "resume"): _ = try await request.ask(ResumeSchedule.with { $0.id = name })
    case ("schedules", "trigger"): return try await trigger(request, name, form)
    case ("schedules", "backfill"): return try await backfill(request, name, form)
    case ("schedules", "reset"): _ = try await request.ask(ResetSchedule.with { $0.id = name })
    case ("state", "choose"): return try await chooseZone(request, form)
    case ("state", "end"): return try await endLogins(request, form)
    case ("state", "reload"): return try await reloadConfiguration(request)
    case ("workers", "drain"):
      _ = try await request.ask(
        DrainWorker.with {
          $0.name = name
          $0.undo = form["undo"] == "true"
        })
      return redirect("/workers")
    case ("workers", "evict"):
      _ = try await request.ask(
        EvictWorker.with {
          $0.name = name
          $0.force = form["force"] == "true"
        })
      return redirect("/workers")
    case ("tokens", "revoke"):
      _ = try await request.ask(RevokeToken.with { $0.name = name })
      return redirect("/tokens")
    default: return nil
    }
    return redirect(pagePath(kind, name))
  }

  /// Sends a run the event of a form.
  private static func send(_ request: PageRequest, _ name: String, _ form: HTTPQuery) async throws(Problem) {
    let data = try json(form["data"], "the data")
    let key = form["key"].flatMap { $0.trimmed.isEmpty ? nil : $0.trimmed }
    // The same form sent twice is one event; with other data, for a wait that didn't take the first, it is another.
    let id = key.flatMap { SHA256.digest(of: Array("\($0)\n\(form["data"] ?? "")".utf8)) }
    _ = try await request.ask(
      SendEvent.with {
        $0.name = form["name"] ?? ""
        $0.run = name
        $0.id = id.map { "form-\($0)" }
        $0.data = data
      })
  }

  /// Records the decision of a form on an uncertain step.
  private static func resolve(_ request: PageRequest, _ name: String, _ form: HTTPQuery) async throws(Problem) {
    guard let outcome = form["as"].flatMap({ ResolveStep.Outcome(rawValue: $0) }) else {
      throw Problem(.refusal(.request), "choose what happened: done, retry or fail")
    }
    let output = outcome == .done ? try json(form["output"], "the output") : nil
    let reason = form["reason"].flatMap { $0.trimmed.isEmpty ? nil : $0.trimmed }
    _ = try await request.ask(
      ResolveStep.with {
        $0.run = name
        $0.step = form["step"] ?? ""
        $0.as = Word(outcome)
        $0.output = output
        $0.reason = reason
      })
  }

  /// The value of a field that is JSON; nil if it is empty.
  private static func json(_ text: String?, _ what: String) throws(Problem) -> Value? {
    guard let text, !text.trimmed.isEmpty else { return nil }
    do throws(JSONError) { return try JSON.parse(text) } catch {
      throw Problem(.refusal(.request), "\(what) isn't valid JSON: \(error.message)")
    }
  }
}
