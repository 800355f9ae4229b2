import Foundation
import Glibc
import Testing

/// The backtrace and mark of the real binary when it crashes.
@Suite(.timeLimit(.minutes(20))) struct CrashTraceTests {
  @Test func `a crashing program prints its backtrace, and its symbols name the functions`() async throws {
    let program = try await ServeTests.program()
    let serve = try program.serve("serve")
    await serve.line(with: "serves")
    serve.signal(SIGSEGV)
    let head = try #require(await serve.line(with: "crashed: "), "\(serve.before)")
    #expect(
      head.hasPrefix("errand ") && head.contains("signal 11 (SIGSEGV, sent by another process), build "), "\(head)")
    let line = try #require(await serve.line(with: "llvm-symbolizer --obj=errand.debug 0x"))
    #expect(await serve.end() == -SIGSEGV)
    let addresses = line.split(separator: " ").filter { $0.hasPrefix("0x") }.joined(separator: " ")
    let symbols = try await program.shell("llvm-symbolizer --obj='\(Program.binary.path)' \(addresses)")
    // Any thread may receive the signal, also one in a library. Values that look like addresses are reported there,
    // too.
    let known = symbols.out.split(separator: "\n").filter { !$0.hasPrefix("??") }
    #expect(!known.isEmpty && !addresses.isEmpty, "\(line)\n\(symbols.out)")
    // A signal from another process isn't blamed on the runs.
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: ".errand/agent.crashed").path))
    await program.remove()
  }
}
