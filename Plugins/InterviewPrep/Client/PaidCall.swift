import ActionKit
import HTTPClient

/// A call that is paid for: what is sent, and how its answer is read.
struct PaidCall<Content: Sendable>: Sendable {
  let path: String
  let body: [UInt8]
  let read: @Sendable ([UInt8]) throws(InterviewPrepError) -> Generated<Content>
}

extension PaidCall {
  /// The backend takes no more.
  static var mostBytes: Int { 1 << 20 }

  init(
    _ path: String, _ body: Value,
    read: @escaping @Sendable (_ answer: Value) throws(InterviewPrepError) -> Generated<Content>
  ) throws(InterviewPrepError) {
    self.path = path
    do throws(JSONError) { self.body = try JSON.write(body) } catch {
      throw InterviewPrepError(.invalidInput, "The request cannot be written: \(error).")
    }
    guard self.body.count <= Self.mostBytes else {
      throw InterviewPrepError(
        .invalidInput, "The request has \(self.body.count) bytes, and the backend takes \(Self.mostBytes) at most.")
    }
    self.read = { bytes throws(InterviewPrepError) in
      let answer: Value
      do throws(JSONBodyError) { answer = try HTTPResponse(body: bytes).json() } catch {
        throw .unreadable("it is \(error)")
      }
      return try read(answer)
    }
  }
}

extension PaidCall<WeekPlan> {
  static func routine(for profile: Profile) throws(InterviewPrepError) -> PaidCall {
    try PaidCall("/generate/routine", .object(["profile": profile.wire()])) { answer throws(InterviewPrepError) in
      let (answer, warnings) = withoutOddBlocks(answer, in: "plan")
      let plan = try RoutineAnswer(answer).plan
      guard let arranged = plan.arranged() else {
        throw .unreadable("'plan.weekOf' isn't a date, but '\(plan.weekOf.excerpt(40))'")
      }
      return Generated(content: arranged, isCanned: plan.isCanned, warnings: warnings)
    }
  }

  static func reroll(
    _ section: PlanSection, of plan: WeekPlan, for profile: Profile
  ) throws(InterviewPrepError) -> PaidCall {
    let (wire, sent, kept) = try plan.preparedForReroll()
    let body: Value = .object(["profile": try profile.wire(), "currentPlan": wire])
    return try PaidCall("/reroll/\(section.rawValue)", body) { answer throws(InterviewPrepError) in
      let (answer, warnings) = withoutOddBlocks(answer)
      var new = kept
      let isSame: Bool
      switch section {
      case .timeBlocks:
        new.timeBlocks = try TimeBlocksAnswer(answer).timeBlocks.arranged()
        isSame = new.timeBlocks == sent.timeBlocks
      case .resources:
        new.resources = try ResourcesAnswer(answer).resources
        isSame = new.resources == sent.resources
      case .dailyTasks:
        new.dailyTasks = try DailyTasksAnswer(answer).dailyTasks.arranged()
        isSame = new.dailyTasks == sent.dailyTasks
      }
      // A section that comes back unchanged wasn't generated anew, so the plan keeps its version.
      if isSame { return Generated(content: kept, isCanned: true) }
      new.version = sent.version < .max ? sent.version + 1 : sent.version
      return Generated(content: new, isCanned: false, warnings: warnings)
    }
  }
}

extension PaidCall<PrepPack> {
  static func prep(for profile: Profile) throws(InterviewPrepError) -> PaidCall {
    try PaidCall("/generate/prep", .object(["profile": profile.wire()])) { answer throws(InterviewPrepError) in
      let pack = try PrepAnswer(answer).prep
      return Generated(content: pack.arranged(), isCanned: pack.isCanned)
    }
  }
}

/// Returns an answer without the blocks of time that cannot be read, and one warning for each of them.
///
/// The whole answer is paid for, so one malformed block shouldn't cost the others. If no block can be read, the answer
/// is returned unchanged, and reading it throws an error about its faults.
private func withoutOddBlocks(_ answer: Value, in envelope: String? = nil) -> (answer: Value, warnings: [String]) {
  guard var members = answer.map else { return (answer, []) }
  if let envelope {
    let (content, warnings) = withoutOddBlocks(members[envelope] ?? .null)
    members[envelope] = content
    return warnings.isEmpty ? (answer, []) : (.map(members), warnings)
  }
  guard var days = members["timeBlocks"]?.map else { return (answer, []) }
  var warnings: [String] = []
  var kept = 0
  for day in days.members {
    guard let name = day.name, let blocks = day.value.list else { continue }
    var readable: [Value] = []
    for (index, block) in blocks.enumerated() {
      do throws(ValueError) {
        _ = try TimeBlock(answer: block, as: "timeBlocks.\(name)[\(index)]")
        readable.append(block)
      } catch {
        warnings.append("A block of time was left out: \(error.list.first?.message ?? "it cannot be read").")
      }
    }
    kept += readable.count
    days[name] = .list(readable)
  }
  guard kept > 0, !warnings.isEmpty else { return (answer, []) }
  members["timeBlocks"] = .map(days)
  return (.map(members), warnings)
}

// MARK: - Envelopes

private struct RoutineAnswer: FieldSet {
  @Field("The plan.") var plan: WeekPlan
}

private struct PrepAnswer: FieldSet {
  @Field("The pack.") var prep: PrepPack
}

private struct TimeBlocksAnswer: FieldSet {
  @Field("The section.") var timeBlocks: [String: [TimeBlock]]
}

private struct ResourcesAnswer: FieldSet {
  @Field("The section.") var resources: [Resource]
}

private struct DailyTasksAnswer: FieldSet {
  @Field("The section.") var dailyTasks: [String: [String]]
}

extension FieldSet {
  /// Reads an answer as the contract describes it, and ignores members that the contract doesn't name.
  fileprivate init(_ answer: Value) throws(InterviewPrepError) {
    do throws(ValueError) {
      try self.init(answer: answer, as: "answer")
    } catch {
      let more = error.list.count > 1 ? ", and \(error.list.count - 1) more" : ""
      throw .unreadable("\(error.list.first?.message ?? "it is another one")\(more)")
    }
  }
}
