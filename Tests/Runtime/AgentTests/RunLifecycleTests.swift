import Basics
import RunState
import Testing

@testable import Agent

/// The effects of the events of a run's life, in every order.
@Suite struct RunLifecycleTests {
  typealias Life = RunLifecycle<String>

  /// An event of a run's life; the status is the run's status in the state at that moment.
  enum Event: Sendable {
    case proceed(RunStatus, isOverPause: Bool = false, isCancelled: Bool = false)
    case began(String)
    case still(RunStatus, isCancelled: Bool = false)
    case notBegun(isStopping: Bool = false)
    case asked(RunStatus)
    case resume
    case changed(RunStatus)
    case cancelled(RunStatus)
    case missed
    case left(RunStatus, kept: RunStatus?, isCancelled: Bool = false, isStopping: Bool = false)
    case failed
    case settled(RunStatus?, isStopping: Bool = false)
    case released
    case pause
    case pauseKept(RunStatus?, isCancelled: Bool = false, isStopping: Bool = false)
    case pauseFailed
    case resolving
    case resolutionEnded
    case resolved

    func happen(to life: inout Life) -> Life.Effect? {
      switch self {
      case .proceed(let status, let isOverPause, let isCancelled):
        return life.proceed(run(status, isCancelled), isOverPause: isOverPause)
      case .began(let walk): life.began(walk)
      case .still(let status, let isCancelled):
        return life.stillProceeds(run(status, isCancelled), isOverPause: false)
      case .notBegun(let isStopping): return life.beginningEnded(isStopping: isStopping)
      case .asked(let status): return life.proceed(run(status), isOverPause: true, isAsked: true)
      case .resume: life.resume()
      case .changed(let status): return life.changed(run(status))
      case .cancelled(let status): return life.cancelled(run(status, true))
      case .missed: life.missed()
      case .left(let status, let kept, let isCancelled, let isStopping):
        return life.walkLeft(run(status), kept: kept.map { run($0, isCancelled) }, isStopping: isStopping)
      case .failed: life.walkFailed()
      case .settled(let status, let isStopping): return life.settled(status.map { run($0) }, isStopping: isStopping)
      case .released: life.released()
      case .pause: return life.pause("no")
      case .pauseKept(let status, let isCancelled, let isStopping):
        return life.pauseKept(status.map { run($0, isCancelled) }, isStopping: isStopping)
      case .pauseFailed: return life.pauseFailed()
      case .resolving: life.resolving(by: Task { .success(()) })
      case .resolutionEnded: life.resolutionEnded()
      case .resolved: return life.resolved()
      }
      return nil
    }

    private func run(_ status: RunStatus, _ isCancelled: Bool = false) -> RunRecord {
      var run = RunRecord(
        RunCreated(
          run: "r1", at: .earliest, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
          program: "test"))
      run.status = status
      if isCancelled { run.pendingCancel = CancelRequested(run: "r1", at: .earliest, reason: nil) }
      return run
    }
  }

  static let walked: [Event] = [.proceed(.queued), .began("w")]

  @Test(
    arguments: [
      (
        "a run is prepared, walked, and suspended", walked + [.left(.waiting, kept: .waiting), .settled(.waiting)],
        ["walk", "", "settle", "suspend"], "away"
      ),
      ("a walk ends the run", walked + [.left(.succeeded, kept: nil)], ["walk", "", "leave succeeded"], "away"),
      (
        "a walk is begun once, whoever asks again",
        walked + [.proceed(.running), .proceed(.running, isOverPause: true)],
        ["walk", "", "", ""], "walked w"
      ),
      ("a paused run is not walked", [.proceed(.paused)], ["park"], "away"),
      ("a person has a paused run go on", [.proceed(.paused, isOverPause: true)], ["walk"], "beginning"),
      (
        "a paused run that is cancelled goes on to its end", [.proceed(.paused, isCancelled: true)], ["walk"],
        "beginning"
      ),
      (
        "a run that is paused while it is prepared stays paused",
        [.proceed(.waiting), .still(.paused), .notBegun()], ["walk", "park", ""], "away"
      ),
      (
        "a run that is to be skipped isn't begun by another that finds a place for it",
        [.proceed(.queued), .proceed(.queued), .notBegun()], ["walk", "", "continue"], "away"
      ),
      (
        "a run that is queued while a place becomes free is looked at once more",
        [
          .proceed(.queued), .changed(.queued), .proceed(.queued), .notBegun(), .proceed(.queued), .still(.queued),
          .began("w"),
        ],
        ["walk", "continue", "", "continue", "walk", "walk", ""], "walked w"
      ),
      (
        "a run that a person resumes while it can't be prepared is tried once more",
        [.proceed(.waiting), .asked(.paused), .notBegun()], ["walk", "", "continue asked"], "away"
      ),
      (
        "a run that begins needs no second look", [.proceed(.queued), .proceed(.queued), .began("w"), .notBegun()],
        ["walk", "", "", ""], "walked w"
      ),
      (
        "a run that is paused while it is prepared doesn't begin, and the pause is kept",
        [.proceed(.waiting), .pause, .still(.waiting), .notBegun(), .pauseKept(.paused), .settled(.paused)],
        ["walk", "", "", "", "settle", "park"], "away"
      ),
      (
        "a resolution that comes while a run is prepared is kept before the run begins",
        [.proceed(.queued), .resolving, .still(.queued), .notBegun(), .resolutionEnded, .resolved],
        ["walk", "", "", "", "", "continue"], "away"
      ),
      (
        "a program that ends begins nothing", [.proceed(.queued), .proceed(.queued), .notBegun(isStopping: true)],
        ["walk", "", ""], "away"
      ),
      (
        "a program that ends leaves a run as it is",
        walked + [.left(.running, kept: .running, isStopping: true), .settled(.running, isStopping: true)],
        ["walk", "", "settle", "park"], "away"
      ),
      (
        "a program that ends sets no alarm",
        walked + [.left(.waiting, kept: .waiting, isStopping: true), .settled(.waiting, isStopping: true)],
        ["walk", "", "settle", "park"], "away"
      ),
      ("a state that fails ends the walk", walked + [.failed], ["walk", "", ""], "away"),
      (
        "what comes for a walked run is the walk's to see", walked + [.changed(.running)], ["walk", "", "poke w"],
        "walked w"
      ),
      ("what comes for a waiting run has it walked", [.changed(.waiting)], ["continue"], "away"),
      ("what comes for a paused run waits for a person", [.changed(.paused)], [""], "away"),
      ("what comes for an uncertain run waits for a person", [.changed(.uncertain)], [""], "away"),
      (
        "what comes after a walk has left and before that is known has the run walked once more",
        walked + [.changed(.running), .missed, .left(.waiting, kept: .waiting), .settled(.waiting)],
        ["walk", "", "poke w", "", "settle", "continue"], "away"
      ),
      (
        "what a walk has missed is over once another begins",
        walked + [
          .missed, .left(.waiting, kept: .waiting), .proceed(.waiting), .began("v"), .left(.waiting, kept: .waiting),
          .settled(.waiting),
        ],
        ["walk", "", "", "settle", "walk", "", "settle", "suspend"], "away"
      ),
      (
        "a walk that began while the one before was settled is left alone",
        walked + [.left(.waiting, kept: .waiting), .proceed(.waiting), .began("v"), .settled(.waiting)],
        ["walk", "", "settle", "walk", "", ""], "walked v"
      ),
      ("a cancelled run ends by its walk", walked + [.cancelled(.running)], ["walk", "", "end w"], "walked w"),
      ("a cancelled run that waits is walked to its end", [.cancelled(.waiting)], ["continue"], "away"),
      ("a cancelled run that is uncertain waits for a person", [.cancelled(.uncertain)], [""], "away"),
      (
        "a run that waits is paused", [.pause, .pauseKept(.paused), .settled(.paused)], ["", "settle", "park"], "away"
      ),
      ("no walk begins before a pause is kept", [.pause, .proceed(.waiting)], ["", ""], "keepingPause"),
      (
        "a run that is resumed while its pause is kept goes on",
        [.pause, .resume, .proceed(.waiting), .pauseKept(.paused)], ["", "", "", "continue asked"], "away"
      ),
      (
        "an event that comes while a pause is kept does not undo the pause",
        [.pause, .proceed(.waiting), .pauseKept(.paused), .settled(.paused)], ["", "", "settle", "park"], "away"
      ),
      (
        "a cancellation that comes while a pause is kept ends the run",
        [.pause, .pauseKept(.paused, isCancelled: true)], ["", "continue"], "away"
      ),
      (
        "a program that ends keeps a pause, whatever is asked",
        [.pause, .resume, .pauseKept(.paused, isStopping: true)], ["", "", "settle"], "away"
      ),
      (
        "a walk is halted before its pause is kept, and after",
        walked + [.pause, .pauseKept(.paused), .left(.running, kept: .paused), .settled(.paused)],
        ["walk", "", "halt w", "halt w", "settle", "park"], "away"
      ),
      (
        "a pause that comes after its walk has left is kept once",
        walked + [.pause, .left(.waiting, kept: .waiting), .pauseKept(.paused), .settled(.paused)],
        ["walk", "", "halt w", "", "settle", "park"], "away"
      ),
      (
        "a pause that a walk has written over is kept again",
        walked + [.pause, .pauseKept(.paused), .left(.waiting, kept: .waiting), .pauseKept(.paused)],
        ["walk", "", "halt w", "halt w", "keepPause no", "settle"], "away"
      ),
      (
        "a pause that a walk writes over while it is kept is kept again",
        walked + [.pause, .left(.waiting, kept: .waiting), .pauseKept(.waiting), .pauseKept(.paused)],
        ["walk", "", "halt w", "", "keepPause no", "settle"], "away"
      ),
      (
        "a resumed run is not halted by the pause that it was resumed from",
        walked + [
          .pause, .left(.waiting, kept: .waiting), .resume, .proceed(.waiting), .pauseKept(.paused),
          .proceed(.paused, isOverPause: true), .began("v"), .left(.waiting, kept: .waiting), .settled(.waiting),
        ],
        ["walk", "", "halt w", "", "", "", "continue asked", "walk", "", "settle", "suspend"], "away"
      ),
      (
        "a run goes on once each of two pauses is kept",
        [.pause, .pause, .resume, .pauseKept(.paused), .pauseKept(.paused)],
        ["", "", "", "", "continue asked"], "away"
      ),
      (
        "a pause that cannot be kept does not end another that can",
        [.pause, .pause, .pauseFailed, .pauseKept(.paused)], ["", "", "", "settle"], "away"
      ),
      (
        "a walk halts for one pause, though another cannot be kept",
        walked + [.pause, .pause, .pauseFailed, .pauseKept(.paused), .left(.waiting, kept: .paused)],
        ["walk", "", "halt w", "halt w", "", "halt w", "settle"], "away"
      ),
      (
        "a run whose pause cannot be kept waits on", walked + [.pause, .left(.waiting, kept: .waiting), .pauseFailed],
        ["walk", "", "halt w", "", "settle"], "away"
      ),
      (
        "an end overtakes a pause", walked + [.pause, .left(.succeeded, kept: nil), .pauseFailed],
        ["walk", "", "halt w", "leave succeeded", ""], "away"
      ),
      (
        "an uncertain step overtakes a pause that is on its way, which is put right after",
        walked + [.pause, .left(.uncertain, kept: .uncertain), .pauseKept(.paused), .settled(.uncertain)],
        ["walk", "", "halt w", "", "settle", "park"], "away"
      ),
      (
        "an uncertain step overtakes a pause that is kept",
        walked + [.pause, .pauseKept(.paused), .left(.uncertain, kept: .uncertain), .settled(.uncertain)],
        ["walk", "", "halt w", "halt w", "settle", "park"], "away"
      ),
      (
        "a run that is resumed before its walk has halted goes on",
        walked + [.pause, .resume, .left(.running, kept: .running), .pauseKept(.paused)],
        ["walk", "", "halt w", "", "", "continue asked"], "away"
      ),
      (
        "a run that is cancelled before its walk has halted goes on to its end",
        walked + [.pause, .left(.running, kept: .running, isCancelled: true), .pauseKept(.paused, isCancelled: true)],
        ["walk", "", "halt w", "", "continue"], "away"
      ),
      (
        "a walk that a pause halted goes on if the pause could not be kept",
        walked + [.pause, .pauseFailed, .left(.running, kept: .running), .settled(.running)],
        ["walk", "", "halt w", "", "settle", "continue"], "away"
      ),
      (
        "a pause that cannot be kept leaves the walk", walked + [.pause, .pauseFailed], ["walk", "", "halt w", ""],
        "walked w"
      ),
      (
        "a pause that cannot be kept holds back what came no longer", [.pause, .proceed(.waiting), .pauseFailed],
        ["", "", "continue"], "away"
      ),
      (
        "no walk begins beside a resolution, but after it",
        [.resolving, .proceed(.uncertain), .resolutionEnded, .resolved],
        ["", "", "", "continue"], "away"
      ),
      (
        "a run that only was resolved stays until a person has it go on", [.resolving, .resolutionEnded, .resolved],
        ["", "", ""], "away"
      ),
      (
        "the news is for the last of several resolutions",
        [.resolving, .proceed(.uncertain), .resolutionEnded, .resolving, .resolved, .resolutionEnded, .resolved],
        ["", "", "", "", "", "", "continue"], "away"
      ),
      (
        "no walk begins between two resolutions, when the second waits for the first",
        [
          .resolving, .resolving, .proceed(.uncertain), .resolutionEnded, .resolved, .proceed(.queued),
          .resolutionEnded,
          .resolved,
        ],
        ["", "", "", "", "", "", "", "continue"], "away"
      ),
      (
        "what a walk has missed is not lost to a resolution",
        walked + [
          .resolving, .missed, .resolutionEnded, .resolved, .left(.waiting, kept: .waiting), .settled(.waiting),
        ],
        ["walk", "", "", "", "", "", "settle", "continue"], "away"
      ),
    ] as [(String, [Event], [String], String)])
  func `gives the effects of each event`(
    _ name: String, _ events: [Event], _ effects: [String], _ phase: String
  ) {
    var life = Life()
    #expect(events.map { RunLifecycleTests.words($0.happen(to: &life)) } == effects, "\(name)")
    #expect(RunLifecycleTests.words(life.phase) == phase, "\(name)")
  }

  @Test func `nothing is remembered of a run that has left`() {
    var life = Life()
    #expect(life.isBlank)
    for event in [Event.proceed(.queued), .began("w"), .left(.succeeded, kept: nil)] { _ = event.happen(to: &life) }
    #expect(!life.isBlank)
    life.released()
    #expect(life.isBlank)
    _ = life.pause("no")
    #expect(!life.isBlank)
  }

  private static func words(_ effect: Life.Effect?) -> String {
    switch effect {
    case nil: ""
    case .walk: "walk"
    case .continueRun(let isAsked): isAsked ? "continue asked" : "continue"
    case .poke(let walk): "poke \(walk)"
    case .end(let walk): "end \(walk)"
    case .halt(let walk): "halt \(walk)"
    case .keepPause(let reason): "keepPause \(reason)"
    case .settle: "settle"
    case .suspend: "suspend"
    case .park: "park"
    case .leave(let run): "leave \(run.status)"
    }
  }

  private static func words(_ phase: Life.Phase) -> String {
    switch phase {
    case .away: "away"
    case .beginning: "beginning"
    case .walked(let walk): "walked \(walk)"
    case .pausing(let walk, _): "pausing \(walk)"
    case .keepingPause: "keepingPause"
    }
  }
}
