import Basics
import Glibc
import ProcessTestKit
import Testing

@testable import Agent

@Suite struct FolderLockTests {
  @Test func `names the holder of the folder to a second process`() throws {
    let folder = try TemporaryFolder()
    var lock: FolderLock? = try FolderLock.acquire(folder.path, program: "errand 0.1")
    #expect(FolderLock.holder(of: folder.path) == FolderLock.Holder(pid: Int(getpid()), program: "errand 0.1"))
    // Locks belong to open files, so a second lock in the same process is refused like another process's.
    let message =
      "the state in '\(folder.path)' is held by process \(getpid()) (errand 0.1); wait for it to end, or stop it, and try again"
    #expect(throws: AgentError(.held, message)) { try FolderLock.acquire(folder.path, program: "errand 0.1") }
    withExtendedLifetime(lock) {}
    lock = nil
    #expect(FolderLock.holder(of: folder.path) == nil)
    _ = try FolderLock.acquire(folder.path, program: "errand 0.1")
  }

  @Test func `takes over the folder of a killed process`() throws {
    let folder = try TemporaryFolder()
    try Files.write(Array("{\"pid\":1,\"program\":\"errand 0.0\"}\n".utf8), to: "\(folder.path)/agent.lock")
    let lock = try FolderLock.acquire(folder.path, program: "errand 0.1")
    #expect(FolderLock.holder(of: folder.path)?.pid == Int(getpid()))
    withExtendedLifetime(lock) {}
  }

  @Test func `names the file it cannot open`() throws {
    let folder = try TemporaryFolder()
    let message = "cannot open '\(folder.path)/no': no such file or folder (ENOENT)"
    #expect(throws: AgentError(.unavailable, message)) {
      try FolderLock.acquire("\(folder.path)/no", program: "errand 0.1")
    }
  }
}
