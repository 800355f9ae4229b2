// The actions of the pages' forms. Each ends with a redirection, so that loading a page again repeats nothing.
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
    let (kind, name, verb) = (request.parts[0], request.parts[1], request.parts[2])
    func text(_ field: String) -> String? { form[field].flatMap { $0.trimmed.isEmpty ? nil : $0.trimmed } }
    switch (kind, verb) {
    case ("recipes", "start"): return try await start(request, name, form)
    case ("recipes", "plan"): return try await start(request, name, form, isPlan: true)
    case ("plans", "run"): return try await runPlan(request, name, key: form["key"])
    case ("plans", "again"): return try await planAgain(request, name)
    case ("runs", "pause"): _ = try await request.ask(.pause(run: name, reason: text("reason")))
    case ("runs", "resume"): _ = try await request.ask(.resume(run: name, isDetached: true))
    case ("runs", "cancel"): _ = try await request.ask(.cancel(run: name, reason: text("reason")))
    case ("runs", "retry"):
      if case .retried(_, let id, _) = try await request.ask(.retry(run: name, key: text("key"))) {
        return redirect(pagePath("runs", id))
      }
    case ("runs", "delete"):
      _ = try await request.ask(.delete(run: name))
      return redirect("/runs")
    case ("runs", "decide"):
      guard let choice = form["choice"], choice == "approve" || choice == "reject" else {
        throw Problem(.refusal(.request), "choose to approve or to reject")
      }
      do throws(Problem) {
        _ = try await request.ask(
          .decide(run: name, step: text("step"), isApproved: choice == "approve", comment: text("comment")))
      } catch {
        guard [.refusal(.notAsked), .refusal(.ended)].contains(error.kind), let step = text("step") else { throw error }
        // Another person was faster.
        var response = settled(request, try await shown(request, name), step)
        response.status = error.kind.status
        return response
      }
    case ("runs", "resolve"):
      _ = try await request.ask(
        .resolve(run: name, step: form["step"] ?? "", as: try resolution(form["as"], text("output"), text("reason"))))
    case ("schedules", "pause"): _ = try await request.ask(.pauseSchedule(id: name, note: text("note")))
    case ("schedules", "resume"): _ = try await request.ask(.resumeSchedule(id: name))
    case ("schedules", "trigger"): return try await trigger(request, name, key: text("key"))
    default: return nil
    }
    return redirect(pagePath(kind, name))
  }

  /// Starts a run of a schedule, and shows it if it began at once.
  private static func trigger(
    _ request: PageRequest, _ id: String, key: String?
  ) async throws(Problem) -> HTTPServerResponse {
    do throws(Problem) {
      let slots = try await request.ask(.trigger(id: id, overlap: nil, key: key)) {
        if case .slots(let slots) = $0 { slots } else { nil }
      }
      let run = slots.first { $0.outcome == .started }?.run
      return redirect(run.map { pagePath("runs", $0) } ?? pagePath("schedules", id))
    } catch {
      guard error.kind == .refusal(.inputs), let said = error.detail.utf8Parts(around: "; send \"inputs\": ") else {
        throw error
      }
      throw Problem(error.kind, "\(said.before); start the recipe on its own page instead, where they can be given")
    }
  }

  private static func resolution(
    _ choice: String?, _ output: String?, _ reason: String?
  ) throws(Problem) -> Resolution {
    switch choice {
    case "done":
      guard let output else { return .done(nil) }
      do throws(JSONError) { return .done(try JSON.parse(output)) } catch {
        throw Problem(.refusal(.request), "the output isn't valid JSON: \(error.message)")
      }
    case "retry": return .retry
    case "fail": return .fail(reason)
    default: throw Problem(.refusal(.request), "choose what happened: done, retry or fail")
    }
  }
}
