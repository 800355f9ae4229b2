import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import SandboxKit
import Testing

@testable import InterviewPrepPlugin

/// A sample of the contract, from the folder of fixtures.
func fixture(_ name: String) throws -> [UInt8] {
  let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(name)")
  return try Array(Data(contentsOf: file))
}

func json(_ name: String) throws -> Value { try JSON.parse(fixture(name)) }

func sampleProfile(_ name: String = "profile.json") throws -> Profile {
  try Profile(checking: json(name), as: "profile")
}

func samplePlan(_ name: String = "plan.json") throws -> WeekPlan { try WeekPlan(answer: json(name), as: "plan") }

/// A client that is never offline, whose error is of the contract's.
func client(
  _ baseURL: String, attempt: TimeSpan = .seconds(60), maxBodyBytes: Int = 1 << 20, isOnline: Bool = true,
  paidCalls: PaidCalls = PaidCalls(), time: any TimeSource = TestTime()
) -> InterviewPrepClient {
  InterviewPrepClient(
    baseURL: baseURL, http: HTTPClient(configuration: HTTPClientConfiguration(proxy: .none)),
    limits: HTTPLimits(attempt: attempt, maxBodyBytes: maxBodyBytes), healthTimeout: attempt, time: time,
    paidCalls: paidCalls, isOnline: { isOnline })
}

/// A sandbox that ends with the test.
func withBackend(
  time: TestTime = TestTime(), _ test: (InterviewPrepSandbox, TestTime) async throws -> Void
) async throws {
  let sandbox = try InterviewPrepSandbox(SandboxOptions(time: time))
  let outcome: Result<Void, any Error>
  do { outcome = .success(try await test(sandbox, time)) } catch { outcome = .failure(error) }
  await sandbox.stop()
  try outcome.get()
}

/// The error of something that must fail.
func failure(_ body: () async throws -> some Sendable) async throws -> InterviewPrepError {
  do { _ = try await body() } catch let error as InterviewPrepError { return error }
  throw Unexpected(description: "it went well")
}

struct Unexpected: Error, CustomStringConvertible { var description: String }

/// A plan in short.
func short(_ answer: Generated<WeekPlan>) -> String {
  let days = answer.content.days
  let blocks = days.reduce(0) { $0 + $1.blocks.count }
  let tasks = days.reduce(0) { $0 + $1.tasks.count }
  let hours = days.reduce(0) { $0 + $1.hours }
  return "\(answer.content.weekOf), version \(answer.content.version): \(blocks) blocks of \(hours) h, \(tasks) tasks"
    + (answer.isCanned ? ", canned" : "")
}

func short(_ answer: Generated<PrepPack>) -> String {
  let pack = answer.content
  return "\(pack.prepOutline.count) subjects, \(pack.weeklyDrillPlan.map(\.day).joined(separator: " ")), "
    + "\(pack.starterQuestions.count) questions" + (answer.isCanned ? ", canned" : "")
}
