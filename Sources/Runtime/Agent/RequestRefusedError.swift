package import Basics
package import Recipes
package import RunState

/// Why an agent refused a request.
package struct RequestRefusedError: Error, Sendable, Equatable {
  /// The reason, for programs to decide by.
  package enum Kind: String, Sendable, CaseIterable {
    /// The request is malformed.
    case request
    /// There is no such run, schedule or recipe.
    case notFound
    /// Several runs or steps match the beginning.
    case ambiguous
    /// The run or schedule is in a state that doesn't allow it; most often it has ended.
    case ended
    /// No step asks for a decision there.
    case notAsked
    /// The step asks other people to decide.
    case notAllowed
    /// The caller's token doesn't allow it.
    case forbidden
    /// The inputs don't match what the recipe declares.
    case inputs
    /// The key was used for another request.
    case usedKey
    /// The recipe, its connections or its secrets can't be used here.
    case configuration
    /// The run would differ from its plan, or it would fail.
    case planChanged
    /// Another request changed the same thing at the same moment.
    case conflict
    /// Only an agent that serves can do this.
    case notServing
    /// Another agent serves the folder already.
    case serving
    /// As much as the agent does at once is under way.
    case busy
    /// As much waits as may.
    case full
    /// The text or the file is too large.
    case tooLarge
    /// It took longer than the agent allows.
    case timeout
    /// The state can't be read or written.
    case state
  }

  package var kind: Kind
  /// The fault and the remedy, for people at the command line.
  package var message: String
  /// The same for programs that send JSON, if it differs.
  package var overHTTP: String?
  /// The faults of the inputs.
  package var faults: [Fault] = []
  /// The differences from the plan that the request names; the message has them, too, each on a line.
  package var changes: [String] = []
  /// The content that a file has now, if it isn't the one that was edited.
  package var current: CurrentText?
  /// The existing names to offer in place of an unknown one, at the end of the message.
  private var choice: Choice?

  /// One thing that is wrong in the body of a request.
  package struct Fault: Sendable, Equatable {
    package var message: String
    /// The place in the body, as a JSON pointer (RFC 6901).
    package var pointer: String

    package init(message: String, pointer: String) {
      self.message = message
      self.pointer = pointer
    }
  }

  /// The content of a file.
  package struct CurrentText: Sendable, Equatable {
    package var text: String
    /// The SHA-256 of its bytes.
    package var digest: String

    package init(text: String, digest: String) {
      self.text = text
      self.digest = digest
    }
  }

  /// Reads a refusal from another program, whose texts are safe for terminals from here on.
  package init(reading value: Value) throws(RecordError) {
    guard let kind = value["kind"]?.string.flatMap(Kind.init(rawValue:)), let message = value["message"]?.string else {
      throw RecordError("a refusal of an unknown kind: \(value["message"]?.string?.safe ?? "")")
    }
    self.init(kind, message.safeText())
    overHTTP = value["overHTTP"]?.string?.safeText()
    changes = (value["changes"]?.list ?? []).compactMap { $0.string?.safeText() }
    if let text = value["current"]?["text"]?.string, let digest = value["current"]?["digest"]?.string {
      current = CurrentText(text: text, digest: digest)
    }
    faults = (value["faults"]?.list ?? []).map { fault in
      Fault(message: (fault["message"]?.string ?? "").safeText(), pointer: (fault["pointer"]?.string ?? "").safeText())
    }
  }

  /// The refusal for another program, whole.
  package func encoded() -> Value {
    var map = ValueMap([("kind", .string(kind.rawValue)), ("message", .string(message))])
    map["overHTTP"] = overHTTP.map { .string($0) }
    if !changes.isEmpty { map["changes"] = .list(changes.map { .string($0) }) }
    if let current {
      map["current"] = .object(["text": .string(current.text), "digest": .string(current.digest)])
    }
    if !faults.isEmpty {
      map["faults"] = .list(
        faults.map { .object(["message": .string($0.message), "pointer": .string($0.pointer)]) })
    }
    return .map(map)
  }

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// An unknown name, with a guess, or else the existing names.
  ///
  /// - Parameters:
  ///   - names: The existing names, each with its recipe: to a caller who sees only some recipes, the others don't
  ///     exist (`displayed(to:)`).
  ///   - rest: The text when there is no guess; nil for all names.
  package init(
    _ what: String, meaning name: String, among names: [(name: String, recipe: String)], otherwise rest: String? = nil
  ) {
    kind = .notFound
    let choice = Choice(what: what, name: name, names: names.map { [$0.name, $0.recipe] }, rest: rest)
    message = choice.message { _ in true }
    self.choice = choice
  }

  /// The refusal for a caller, who may see only some recipes.
  package func displayed(to caller: AgentCaller) -> RequestRefusedError {
    guard let choice, !caller.recipes.isEmpty else { return self }
    var displayed = self
    displayed.message = choice.message { recipe in caller.recipes.contains { $0.hasSameScalars(as: recipe) } }
    return displayed
  }

  /// The refusal with other words, such as without the paths of the agent's machine.
  package func mapTexts(_ change: (String) -> String) -> RequestRefusedError {
    var changed = self
    changed.message = change(message)
    changed.overHTTP = overHTTP.map(change)
    changed.changes = changes.map(change)
    for index in faults.indices { changed.faults[index].message = change(faults[index].message) }
    return changed
  }

  /// A plan that no longer holds.
  package init(planChanged message: String, _ changes: [String]) {
    self.init(.planChanged, ([message] + changes).joined(separator: "\n"))
    overHTTP = message
    self.changes = changes
  }

  private struct Choice: Sendable, Equatable {
    var what: String
    var name: String
    /// Pairs of a name and its recipe.
    var names: [[String]]
    var rest: String?

    func message(_ sees: (String) -> Bool) -> String {
      let seen = names.filter { sees($0[1]) }.map { $0[0] }
      let guess = name.nearest(among: seen).map { "did you mean '\($0)'?" }
      let all = seen.isEmpty ? "there is none" : "there are \(seen.joined(separator: ", "))"
      return "\(what); \(guess ?? rest ?? all)"
    }
  }

  package init(_ error: StateError) {
    if let message = error.forCaller { self.init(.request, message) } else { self.init(.state, error.message) }
  }
}

extension RequestRefusedError {
  /// A run that can't be resumed.
  package init(_ error: RunRefusedError) { self.init(error.isAway ? .state : .configuration, error.message) }

  /// Inputs or fields that don't match the recipe's declaration.
  ///
  /// - Parameters:
  ///   - given: The values; a fault of one that was given as a text is in the body's member `texts`.
  ///   - values: The body's member with the others.
  package init(
    _ faults: [(name: String, fault: Diagnostic)], in given: [(name: String, input: GivenInput)] = [],
    of values: String = "inputs", saying message: String? = nil
  ) {
    let words = faults.map(\.fault.message).joined(separator: "\n")
    self.init(.inputs, message ?? words)
    overHTTP = words
    self.faults = faults.map { name, fault in
      var member = values
      for item in given where item.name.hasSameScalars(as: name) { if case .text = item.input { member = "texts" } }
      return Fault(message: fault.message, pointer: "/\(member)/\(name.asPointerPart)")
    }
  }
}

extension StateStore {
  /// The schedule with that id, or a refusal that guesses which one was meant.
  ///
  /// - Parameter caller: The caller, who finds only schedules of its own recipes; nil to find all.
  package func knownSchedule(
    _ id: String, to caller: AgentCaller? = nil
  ) async throws(RequestRefusedError) -> ScheduleRecord {
    func isSeen(_ schedule: ScheduleRecord) -> Bool { caller?.sees(recipe: schedule.recipe) ?? true }
    if let known = await schedule(id), known.id.hasSameScalars(as: id), isSeen(known) { return known }
    let others = await schedules().filter(isSeen)
    throw RequestRefusedError(
      "there is no schedule '\(id.shortened(to: 200))'", meaning: id, among: others.map { ($0.id, $0.recipe) },
      otherwise: others.isEmpty && caller?.recipes.isEmpty ?? true ? "no recipe that was served has an 'on'" : nil)
  }
}
