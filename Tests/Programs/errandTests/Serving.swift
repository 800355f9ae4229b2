import ProcessTestKit
import Foundation
import Glibc
import Synchronization

/// A program that keeps running, and whose lines on standard error a test awaits.
final class Serving: @unchecked Sendable {
  // Process is used by one task at a time: its output is read on a thread of its own.
  private let process: Process
  private let lines: AsyncStream<String>
  private let printed = Mutex<[String]>([])
  private let ended: Task<Int32, Never>

  init(_ process: Process) throws {
    self.process = process
    let pipe = launchPipe()
    process.standardError = pipe
    process.standardOutput = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    self.lines = lines
    try process.startAlone()
    let descriptor = pipe.fileHandleForReading.fileDescriptor
    Thread.detachNewThread {
      var line: [UInt8] = []
      var bytes = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { break }
        for byte in bytes[..<count] {
          if byte == 0x0A {
            continuation.yield(String(decoding: line, as: UTF8.self))
            line = []
          } else {
            line.append(byte)
          }
        }
      }
      continuation.finish()
      withExtendedLifetime(pipe) {}
    }
    ended = Task { await aside { process.awaitEnd() } }
  }

  var isRunning: Bool { process.isRunning }
  var pid: Int32 { process.processIdentifier }

  /// Returns the next line that contains a text; the earlier lines are in `before`.
  @discardableResult
  func line(with text: String) async -> String? {
    for await line in lines {
      printed.withLock { $0.append(line) }
      if line.contains(text) { return line }
    }
    return nil
  }

  /// Whether a line contains a text, one of those so far or one that comes.
  func says(_ text: String) async -> Bool {
    if printed.withLock({ $0.contains { $0.contains(text) } }) { return true }
    return await line(with: text) != nil
  }

  /// All lines so far.
  var before: String { printed.withLock { $0.joined(separator: "\n") } }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// The exit code, or the negative number of the signal that killed it.
  ///
  /// When the test's time is up it is killed, so that no test waits for a program without end.
  func end() async -> Int32 {
    await withTaskCancellationHandler {
      await ended.value
    } onCancel: {
      signal(SIGKILL)
    }
  }
}
