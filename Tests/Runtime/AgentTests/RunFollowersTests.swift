import Basics
import RunState
import Runs
import Synchronization
import Testing

@testable import Agent
@testable import Operations

/// The updates for followers of a run, and the memory that holds them.
@Suite(.timeLimit(.minutes(20))) struct RunFollowersTests {
  @Test func `a follower that reads slowly holds a bounded number of updates, and is told what it missed`() async throws
  {
    let followers = RunFollowers()
    let updates = followers.updates(of: "r1")
    let count = 100 * RunUpdateQueue.limit
    for number in 0..<count {
      followers.send(.progress(.loopAdvanced(path: "a", done: number, count: count)), to: "r1")
      #expect(updates.queue.count <= RunUpdateQueue.limit)
    }
    followers.send(.left(run(.succeeded)), to: "r1")
    followers.finish("r1")
    var told: [String] = []
    for await update in updates { told.append(RunFollowersTests.words(update)) }
    #expect(
      told.first == "\(count - told.count + 2) reports of progress were missed, because they were read too slowly")
    #expect(told.suffix(2) == ["\(count - 1)", "left succeeded"])
    #expect(told.count <= RunUpdateQueue.limit + 2)
  }

  @Test func `the last wait and the end arrive, however much comes between`() async throws {
    let followers = RunFollowers()
    let updates = followers.updates(of: "r1")
    for round in 0..<3 {
      followers.send(.waits(run(.waiting, "wait \(round)")), to: "r1")
      for number in 0..<2 * RunUpdateQueue.limit {
        followers.send(.progress(.reported(path: "a", text: "\(number)")), to: "r1")
      }
    }
    followers.send(.left(run(.paused)), to: "r1")
    followers.finish("r1")
    var told: [String] = []
    for await update in updates { told.append(RunFollowersTests.words(update)) }
    #expect(told.filter { $0.hasPrefix("wait") || $0.hasPrefix("left") } == ["wait 2", "left paused"])
  }

  @Test func `of what programs print a bounded part is held, and the rest of the progress stays`() async throws {
    let followers = RunFollowers()
    let updates = followers.updates(of: "r1")
    let text = String(repeating: "x", count: 60_000)
    for number in 0..<200 {
      if number % 20 == 0 { followers.send(.progress(.reported(path: "a", text: "\(number)")), to: "r1") }
      let line = PrintedLine(step: "a", attempt: 1, stream: .output, at: .earliest, text: text)
      followers.send(.progress(.printed(line)), to: "r1")
      #expect(updates.queue.printedBytes <= RunUpdateQueue.mostPrinted + text.utf8.count)
    }
    followers.finish("r1")
    var told: [String] = []
    for await update in updates { told.append(RunFollowersTests.words(update)) }
    #expect(told.filter { Int($0) != nil } == (0..<10).map { "\($0 * 20)" })
    let missed = 200 - told.count { $0 == "progress" }
    #expect(told.first == "\(missed) reports of progress were missed, because they were read too slowly")
  }

  @Test func `a follower that is told at once is told everything, in order`() async throws {
    let followers = RunFollowers()
    let told = Mutex<[String]>([])
    let following = followers.follow("r1") { update in told.withLock { $0.append(RunFollowersTests.words(update)) } }
    let count = 3 * RunUpdateQueue.limit
    for number in 0..<count { followers.send(.progress(.reported(path: "a", text: "\(number)")), to: "r1") }
    followers.send(.left(run(.failed)), to: "r1")
    followers.finish("r1")
    #expect(await following.end()?.status == .failed)
    #expect(told.withLock { $0 } == (0..<count).map { "\($0)" })
  }

  @Test func `a follower that goes away is forgotten`() async throws {
    let followers = RunFollowers()
    do {
      let updates = followers.updates(of: "r1", first: .waits(run(.waiting, "wait")))
      #expect(followers.followed == ["r1"])
      for await update in updates {
        #expect(RunFollowersTests.words(update) == "wait")
        break
      }
    }
    #expect(followers.followed.isEmpty)
  }

  @Test func `what a run waits for comes with the address of the decision`() throws {
    var asking = run(.waiting, "waits for a decision: Send?")
    let url = "https://errand.example.org/approvals/r1/ask"
    let wait = WaitRecord(.approval, prompt: "Send?", url: url)
    try asking.apply(.stepWaits(StepWaits(run: "r1", at: .earliest, step: "ask", now: .earliest, wait: wait)))
    #expect(
      JSON.displayed(RunWait(of: asking).encoded())
        == #"{"status":"waiting","reason":"waits for a decision: Send?","url":"\#(url)"}"#)
  }

  private func run(_ status: RunStatus, _ reason: String? = nil) -> RunRecord {
    var run = RunRecord(
      RunCreated(
        run: "r1", at: .earliest, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
        program: "test"))
    run.status = status
    run.reason = reason
    return run
  }

  private static func words(_ update: RunUpdate) -> String {
    switch update {
    case .progress(.loopAdvanced(_, let done, _, _, _)): "\(done)"
    case .progress(.reported(_, let text, _)): text
    case .progress: "progress"
    case .waits(let run): run.reason ?? ""
    case .left(let run): "left \(run.status)"
    }
  }
}
