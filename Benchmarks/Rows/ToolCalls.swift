import ActionKit
import Foundation
import MCPPlugins
import PluginLocks

/// Calls of a tool of an MCP server that is a child process, against the same program asked through plain pipes.
struct ToolCalls {
  /// The argument that makes this program the server.
  static let word = "tool"

  /// Answers each line at once, until the standard input ends.
  static func serve() -> Never {
    while let line = readLine() {
      let id = line.split(separator: "\"id\":").last.map { $0.prefix { $0.isNumber } } ?? "0"
      let result =
        if line.contains("server/discover") {
          #""supportedVersions":["2026-07-28"]"#
        } else if line.contains("tools/list") {
          #""tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]"#
        } else {
          #""content":[{"type":"text","text":"here it is"}]"#
        }
      print(#"{"jsonrpc":"2.0","id":\#(id),"result":{\#(result),"resultType":"complete"}}"#)
      fflush(nil)
    }
    exit(0)
  }

  func rows() async throws -> [Row] {
    let count = 2000
    let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
    let own = try Self.seconds(program, count)

    var context = PluginContext(connection: "bench", time: SystemTime())
    context.folder = "/"
    let written = try await MCPKind.lock(
      name: "bench", source: MCPSource(.command([program, Self.word]), effects: ["echo": .read]), in: context
    ).written()
    let lock = try PluginLock(reading: written, of: "plugins/bench.lock.json")
    let plugin = PluginDescriptor(LockedPlugin(lock, MCPKind.self))
    let service = try await plugin.connect(.map(ValueMap()), in: context)
    guard let action = plugin.action("echo") else { throw NotMeasured("the server has no tool") }
    let call = ActionContext(
      run: "bench", step: "call", idempotencyKey: "key", now: SystemTime().now(), time: SystemTime(), folder: "/")
    let input = Value.object(["text": .string("some words")])
    _ = try await action.run(input, on: service, in: call)
    let spent = try await spent {
      for _ in 0..<count { _ = try await action.run(input, on: service, in: call) }
    }
    return [
      .processor(
        "1,000 calls of a tool of a child process: processor", spent.processor * 1000 / Double(count), .atMost(1000),
        beside: "\(displayedTime(spent.wall / Double(count))): wall time of one; \(displayedTime(own)): plain pipes")
    ]
  }

  /// The time for one answer of the program over plain pipes, without anything around it.
  private static func seconds(_ program: String, _ count: Int) throws -> Double {
    let (process, input, output) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(filePath: program)
    process.arguments = [word]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    defer {
      try? input.fileHandleForWriting.close()
      process.waitUntilExit()
    }
    let line = Array(#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#.utf8) + [0x0A]
    var bytes = [UInt8](repeating: 0, count: 4096)
    let start = ContinuousClock.now
    for _ in 0..<count {
      guard write(input.fileHandleForWriting.fileDescriptor, line, line.count) == line.count,
        read(output.fileHandleForReading.fileDescriptor, &bytes, bytes.count) > 0
      else { throw NotMeasured("the server doesn't answer") }
    }
    return start.duration(to: .now).seconds / Double(count)
  }
}
