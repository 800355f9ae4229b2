import ActionKit
import ActionTestKit
import SandboxKit
import Testing

@testable import MarkbookPlugin

/// The results of reconciling a create whose answer was lost, by when it was done.
@Suite struct ReconcileTests {
  /// The events between the baseline and the reconciliation.
  enum Course: String, CaseIterable, Sendable {
    /// Our request never arrived.
    case neverArrived
    /// It was done, and the answer was lost.
    case doneUnheard
    /// It was done after the first reconciliation had looked.
    case doneLate
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String { action }
    var action: String
    var input: String
    /// The output of an earlier create with the same name or id, from the sandbox's own data.
    var done: String
  }

  static let cases = [
    Case(
      action: "createStudent",
      input:
        #"{"markbookKey":1207731,"sid":"007 +1","familyName":"Lee","givenName":"Su","gender":"other","classKey":4}"#,
      done: #"{"studentKey":36}"#),
    Case(
      action: "createClass",
      input: #"{"markbookKey":1207731,"name":"8GEO-É/1","teacherFamilyName":"F","teacherGivenName":"G"}"#,
      done: #"{"classKey":10}"#),
    // The service doesn't tell a student's class after the student is deleted.
    Case(
      action: "deleteStudent", input: #"{"markbookKey":1207731,"studentKey":13,"sid":"0047233"}"#,
      done: #"{"studentKey":13,"sid":"0047233","classKey":9}"#),
    // The name is taken, so that ours gets another and must not be mistaken for the one that was there.
    Case(
      action: "createMarkbook",
      input: #"{"markbookName":"Demo","markbookYear":"y","markbookCourse":"c","ownerKey":31,"shareList":[34],"#
        + #""classList":[{"key":1,"name":"C","teacherName1":"F","teacherName2":"G"}],"#
        + #""studentList":[{"key":1,"studentID":"s","familyName":"F","givenName":"G","classKey":1}]}"#,
      done: #"{"markbookKey":1300001,"markbookName":"Demo-1","isRenamed":true,"classCount":1,"studentCount":1,"#
        + #""shareCount":1,"isComplete":true}"#),
  ]

  @Test(arguments: cases, Course.allCases)
  func `tells what became of it`(_ c: Case, _ course: Course) async throws {
    let action = try #require(ActionCatalog([MarkbookPlugin.self]).action("markbook.\(c.action)"))
    let input = try JSON.parse(c.input)
    try await withSandbox { sandbox, client, time in
      let context = ActionContext.testing(time: time)
      let baseline = try #require(await action.baseline(input, on: client, in: context))
      let startedAt = time.now()
      if course == .neverArrived { sandbox.handler.add(MarkbookFault(.refuse, call: c.action.lowercased())) }
      if course == .doneUnheard { sandbox.handler.add(MarkbookFault(.lostAnswer, call: c.action.lowercased())) }
      if course != .doneLate {
        let error = await #expect(throws: ActionError.self) {
          _ = try await action.run(input, on: client, in: context)
        }
        #expect(error?.effect == .unknown)
      }
      // An hour later, the attempt has settled and one look is enough.
      if course == .neverArrived { time.advance(by: .seconds(3600)) }
      async let found = action.reconcile(input, with: baseline, startedAt: startedAt, on: client, in: context)
      if course == .doneLate {
        await time.waitForSleepers()
        _ = try await action.run(input, on: client, in: context)
        time.advance(by: ActionContext.settling)
      }
      switch (course, try await found) {
      case (.neverArrived, .notDone): break
      case (.doneUnheard, .done(let output)), (.doneLate, .done(let output)):
        #expect(output == (try JSON.parse(c.done)))
      case (_, let other): Issue.record("found \(other)")
      }
      #expect(sandbox.writes(c.action.lowercased()).values.reduce(0, +) == (course == .neverArrived ? 0 : 1))
    }
  }

  @Test func `somebody else's markbook of the same name is not taken for ours`() async throws {
    let action = try #require(ActionCatalog([MarkbookPlugin.self]).action("markbook.createMarkbook"))
    func input(_ sid: String) throws -> Value {
      try JSON.parse(
        #"{"markbookName":"New","markbookYear":"","markbookCourse":"","ownerKey":31,"#
          + #""classList":[{"key":1,"name":"C","teacherName1":"F","teacherName2":"G"}],"#
          + #""studentList":[{"key":1,"studentID":"\#(sid)","familyName":"","givenName":"","classKey":1}]}"#)
    }
    try await withSandbox { _, client, time in
      let context = ActionContext.testing(time: time)
      let (ours, theirs) = (try input("1"), try input("2"))
      let baseline = try #require(await action.baseline(ours, on: client, in: context))
      _ = try await action.run(theirs, on: client, in: context)
      guard
        case .unknown(let one) = try await action.reconcile(
          ours, with: baseline, startedAt: time.now(), on: client, in: context)
      else { throw Unexpected(description: "their markbook was taken for ours") }
      #expect(one == "Markbook 'New', key 1300001, is new and has students who were not sent; check who made it.")
      _ = try await action.run(ours, on: client, in: context)
      guard
        case .unknown(let two) = try await action.reconcile(
          ours, with: baseline, startedAt: time.now(), on: client, in: context)
      else { throw Unexpected(description: "one of two was taken for ours") }
      #expect(two == "2 new markbooks are named 'New', with or without a number.")
    }
  }

  struct Alike: Sendable, CustomTestStringConvertible {
    var testDescription: String { action }
    var action: String
    var wanted: String
    /// A similar record that appears unexpectedly.
    var found: String
    var words: String
  }

  @Test(arguments: [
    Alike(
      action: "createClass",
      wanted: #"{"markbookKey":1207731,"name":" 8GEO-W","teacherFamilyName":"F","teacherGivenName":"G"}"#,
      found: #"{"markbookKey":1207731,"name":"8Geo-W","teacherFamilyName":"F","teacherGivenName":"G"}"#,
      words: "Markbook 1207731 has a new class '8Geo-W', which differs from ' 8GEO-W'; check who made it."),
    Alike(
      action: "createStudent",
      wanted:
        #"{"markbookKey":1207731,"sid":"00a7 ","familyName":"Lee","givenName":"Su","gender":"other","classKey":4}"#,
      found:
        #"{"markbookKey":1207731,"sid":"00A7","familyName":"Lee","givenName":"Su","gender":"other","classKey":4}"#,
      words: "Markbook 1207731 has a new student with the id '00A7', which differs from '00a7 '; check who made it."),
    Alike(
      action: "createMarkbook",
      wanted: #"{"markbookName":"demo ","markbookYear":"","markbookCourse":"","ownerKey":31}"#,
      found: #"{"markbookName":"Demo","markbookYear":"","markbookCourse":"","ownerKey":31}"#,
      words: "Markbook 'Demo-1', key 1300001, is new, and differs from 'demo '; check who made it."),
  ])
  func `what the service may have trimmed or changed the case of is for a person to look at`(_ c: Alike) async throws {
    let action = try #require(ActionCatalog([MarkbookPlugin.self]).action("markbook.\(c.action)"))
    try await withSandbox { _, client, time in
      let context = ActionContext.testing(time: time)
      let wanted = try JSON.parse(c.wanted)
      let baseline = try #require(await action.baseline(wanted, on: client, in: context))
      let startedAt = time.now()
      _ = try await action.run(try JSON.parse(c.found), on: client, in: context)
      time.advance(by: .seconds(3600))
      guard
        case .unknown(let words) = try await action.reconcile(
          wanted, with: baseline, startedAt: startedAt, on: client, in: context)
      else { throw Unexpected(description: "something alike is neither ours for certain nor nobody's") }
      #expect(words == c.words)
    }
  }

  @Test(arguments: [
    ("Demo", true), ("Demo-1", true), ("Demo-12", true), ("Demo-", false), ("Demo-1a", false), ("Demo 1", false),
    ("demo", false), ("Dem", false), ("Demo-1-1", false), ("X Demo", false),
  ])
  func `knows the forms of a name that is taken`(_ name: String, _ isForm: Bool) {
    #expect(CreateMarkbook.isForm(name, of: "Demo") == isForm)
  }
}
