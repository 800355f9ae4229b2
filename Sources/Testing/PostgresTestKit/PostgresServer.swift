import Basics
import Foundation
package import PostgresClient
import ProcessTestKit
import Synchronization

// Real servers of Debian's package `postgresql`, for tests.
//
// All servers of a process are in one temporary folder. A shell that was let go (`setsid -f`) holds the other end of a
// pipe: when this process has ended, also by SIGKILL, it ends the servers and removes the folder. A server belongs to
// nobody, too; as root it runs as the user `postgres`, because the server refuses to be root.

/// A server that a test starts, ends, stops and copies.
///
/// Its superuser is `errand`, who needs no password on this machine, unless `access` says otherwise.
package final class PostgresServer: Sendable {
  package let port: Int
  /// The folder of its data.
  package let folder: String

  private init(folder: String, port: Int) {
    self.folder = folder
    self.port = port
  }

  /// Where the programs of the newest server are that is installed; nil if there is none.
  private static let programs: String? = {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    guard let newest = versions.compactMap({ Int($0) }).max() else { return nil }
    let folder = "\(root)/\(newest)/bin"
    return FileManager.default.isExecutableFile(atPath: "\(folder)/postgres") ? folder : nil
  }()

  /// Whether servers can be started; tests that need them are skipped otherwise.
  package static var isInstalled: Bool { programs != nil }

  /// How a database of it is reached, by TCP.
  package func settings(_ database: String = "postgres") -> PostgresSettings {
    var settings = PostgresSettings(host: "127.0.0.1", database: database, user: "errand")
    settings.port = port
    // Other tests keep it busy.
    settings.answerWithin = .seconds(60)
    return settings
  }

  // MARK: Making

  private static let shared = Mutex<Task<PostgresServer, any Error>?>(nil)

  /// A new, empty database on the server that all tests of this process share.
  package static func database() async throws -> PostgresSettings {
    let making = shared.withLock { making in
      // Ends with the server's start; it is never cancelled.
      let task = making ?? Task { try await PostgresServer.start() }
      making = task
      return task
    }
    let server = try await making.value
    let name = "d\(serial.add(1, ordering: .relaxed).newValue)"
    let connection = try await PostgresConnection.open(server.settings())
    defer { connection.close() }
    try await connection.run("create database \(name)")
    return server.settings(name)
  }

  /// Starts a server with an empty cluster.
  ///
  /// - Parameters:
  ///   - lines: Settings, as in `postgresql.conf`.
  ///   - access: The contents of `pg_hba.conf`; without it, every user of this machine is trusted.
  ///   - prepare: Puts files into the folder of its data.
  package static func start(
    _ lines: [String] = [], access: String? = nil, prepare: @Sendable (String) throws -> Void = { _ in }
  ) async throws -> PostgresServer {
    let server = try make()
    try await call("cp", "-a", try await template(), server.folder)
    if let access { try Data(access.utf8).write(to: URL(filePath: "\(server.folder)/pg_hba.conf")) }
    try prepare(server.folder)
    try server.configure(lines)
    try await server.start()
    return server
  }

  /// Starts a standby of it, which follows it from now on.
  ///
  /// - Parameter isSynchronous: Whether the server's commits wait for it from now on.
  package func standby(isSynchronous: Bool) async throws -> PostgresServer {
    let standby = try PostgresServer.make()
    let name = "standby\(standby.port)"
    try await PostgresServer.call(
      "pg_basebackup", "-D", standby.folder, "-R", "-c", "fast", "-d",
      "host=127.0.0.1 port=\(port) user=errand application_name=\(name)")
    try standby.configure([])
    try await standby.start()
    let connection = try await PostgresConnection.open(settings())
    defer { connection.close() }
    if isSynchronous {
      try await connection.run("alter system set synchronous_standby_names = 'ANY 1 (\(name))'")
      try await connection.run("select pg_reload_conf()")
    }
    let states = isSynchronous ? "('quorum', 'sync')" : "('async')"
    try await PostgresServer.wait("the standby doesn't follow") {
      try await !connection.run(
        "select from pg_stat_replication where application_name = $1 and state = 'streaming' and sync_state in \(states)",
        .text(name)
      ).isEmpty
    }
    return standby
  }

  private static let serial = Atomic(0)

  private static func make() throws -> PostgresServer {
    let folder = try root.get()
    return PostgresServer(
      folder: "\(folder)/\(serial.add(1, ordering: .relaxed).newValue)", port: try freePort())
  }

  private static func freePort() throws -> Int {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(number) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(number, address, size) == 0 && getsockname(number, address, &size) == 0
      }
    }
    guard code else { throw Fault("no port is free") }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  private func configure(_ lines: [String]) throws {
    let all =
      [
        "", "port = \(port)", "listen_addresses = '127.0.0.1'", "unix_socket_directories = '..'",
        "dynamic_shared_memory_type = mmap", "jit = off", "shared_buffers = 32MB", "wal_keep_size = 256MB",
        "wal_retrieve_retry_interval = 500ms",
      ] + lines
    let file = "\(folder)/postgresql.conf"
    let text = try String(contentsOfFile: file, encoding: .utf8) + all.joined(separator: "\n") + "\n"
    try Data(text.utf8).write(to: URL(filePath: file))
    if let user = PostgresServer.user {
      guard succeeds(["chown", "-R", "\(user):", folder]) else { throw Fault("chown fails") }
    }
  }

  // MARK: Faults

  /// Starts it, or starts it again, and waits until it accepts connections.
  package func start() async throws {
    let log = "\(folder).log"
    if !FileManager.default.fileExists(atPath: log) { try Data().write(to: URL(filePath: log)) }
    let file = try FileHandle(forWritingTo: URL(filePath: log))
    try file.seekToEnd()
    // The files of a killed server would say that it is ready, or still running.
    for left in ["postmaster.pid", "../.s.PGSQL.\(port).lock"] {
      try? FileManager.default.removeItem(atPath: "\(folder)/\(left)")
    }
    try PostgresServer.letGo(
      PostgresServer.asUser + ["\(PostgresServer.programs ?? "")/postgres", "-D", folder],
      input: FileHandle.nullDevice, output: file)
    do { try await PostgresServer.wait("") { self.status(7).hasPrefix("ready") } } catch {
      let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
      throw Fault("the server doesn't start: \(text.suffix(2000))")
    }
  }

  /// Starts a detached program, with no descriptor but its input and its output.
  ///
  /// A program that lives as long as this process must not hold descriptors that other threads opened while it was
  /// being started: a caller that waits for the end of a pipe, or of a program, would wait for the end of this process.
  private static func letGo(_ command: [String], input: Any, output: Any) throws {
    let closing = """
      for fd in /proc/$$/fd/*; do number=${fd##*/}; if ((number > 2)); then eval "exec $number>&-"; fi; done
      exec setsid -f "$@"
      """
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["bash", "-c", closing, "bash"] + command
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
    // In a folder that any user may be in.
    process.currentDirectoryURL = URL(filePath: "/")
    try process.startAlone()
    guard process.awaitEnd() == 0 else { throw Fault("\(command.joined(separator: " ")) can't be started") }
  }

  /// Kills all its processes, as if the power went.
  package func kill() async { await end(SIGKILL) }

  /// Makes it end its sessions and then itself.
  package func stop() async { await end(SIGINT) }

  /// Stops all its processes where they are, as a machine that freezes.
  package func pause() { signal(SIGSTOP) }

  /// Lets them continue.
  package func unpause() { signal(SIGCONT) }

  /// Makes a standby a server of its own.
  package func promote() async throws { try await PostgresServer.call("pg_ctl", "promote", "-w", "-D", folder) }

  /// Ends it and removes its data.
  package func remove() async {
    signal(SIGCONT)
    await end(SIGQUIT)
    try? FileManager.default.removeItem(atPath: folder)
  }

  private func end(_ number: Int32) async {
    guard let first else { return }
    let segment = status(6).split(separator: " ").last.flatMap { Int32($0) }
    let all = [first] + children(of: first)
    if number == SIGKILL { signal(number) } else { _ = Foundation.kill(first, number) }
    try? await PostgresServer.wait("the server doesn't end") { !all.contains(where: self.isRunning) }
    // Servers detect by this segment of shared memory whether they are alone; a server that is killed leaves it.
    if number == SIGKILL, let segment { shmctl(segment, IPC_RMID, nil) }
  }

  /// The server's first process, if it runs.
  private var first: pid_t? { pid_t(status(0)).flatMap { isRunning($0) ? $0 : nil } }

  /// Whether a process is the server's; the number of one that has ended may be another's.
  private func isRunning(_ process: pid_t) -> Bool {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/cwd")) == folder
  }

  /// A line of the server's `postmaster.pid`, counted from 0; empty if it doesn't run.
  private func status(_ line: Int) -> String {
    let text = (try? String(contentsOfFile: "\(folder)/postmaster.pid", encoding: .utf8)) ?? ""
    return text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(line).first.map { String($0) } ?? ""
  }

  /// Sends a signal to the server's first process and to its children.
  private func signal(_ number: Int32) {
    guard let first else { return }
    _ = Foundation.kill(first, number)
    for child in children(of: first) { _ = Foundation.kill(child, number) }
  }

  private func children(of process: pid_t) -> [pid_t] {
    let text = (try? String(contentsOfFile: "/proc/\(process)/task/\(process)/children", encoding: .utf8)) ?? ""
    return text.split(separator: " ").compactMap { pid_t($0) }
  }

  // MARK: The folder

  /// The user that runs servers; nil if this one does.
  private static let user: String? = geteuid() == 0 ? "postgres" : nil

  private static let asUser = user.map { ["setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []

  /// The folder of all servers, and the program that removes it.
  private static let root = Result<String, any Error> {
    let folder = try Files.makeTemporaryFolder("errand-postgres")
    chmod(folder, 0o755)
    if let user { _ = succeeds(["chown", user, folder]) }
    let script = """
      trap '' HUP INT TERM
      read -r line
      pids=
      for data in "$0"/*/; do
        pid=$(head -n 1 "$data/postmaster.pid" 2> /dev/null) || continue
        [ "$(readlink "/proc/$pid/cwd")/" = "$data" ] || continue
        pids="$pids $pid $(cat "/proc/$pid/task/$pid/children")"
        kill -CONT $pids; kill -QUIT "$pid"
      done
      tries=0
      for pid in $pids; do
        while kill -0 "$pid" && [ $((tries += 1)) -lt 30 ]; do sleep 0.1; done
      done
      kill -KILL $pids
      # What is just ending may still write.
      until rm -rf "$0" || [ $((tries += 1)) -gt 60 ]; do sleep 0.1; done
      """
    let pipe = launchPipe()
    try letGo(["sh", "-c", script, folder], input: pipe, output: FileHandle.nullDevice)
    // Open until this process ends.
    lifeline.withLock { $0 = pipe }
    return folder
  }

  private static let lifeline = Mutex<Pipe?>(nil)

  private static let cluster = Mutex<Task<String, any Error>?>(nil)

  /// A cluster that was never started, to be copied.
  private static func template() async throws -> String {
    let making = cluster.withLock { making in
      // Ends with the folder; it is never cancelled.
      let task =
        making
        ?? Task {
          let folder = "\(try root.get())/template"
          try await call(
            "initdb", "-D", folder, "-U", "errand", "-k", "--auth=trust", "--no-sync", "--encoding=UTF8",
            "--locale=C.UTF-8")
          return folder
        }
      making = task
      return task
    }
    return try await making.value
  }

  // MARK: Programs

  /// A condition of a test that couldn't be met.
  private struct Fault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  /// Runs a program as the server's user, one of the server's if it has it.
  private static func call(_ name: String, _ arguments: String...) async throws {
    let own = "\(programs ?? "")/\(name)"
    let words = asUser + [FileManager.default.isExecutableFile(atPath: own) ? own : name] + arguments
    // In a folder that the user may be in.
    guard await onThread({ succeeds(["-C", "/"] + words) }) else {
      throw Fault("\(words.joined(separator: " ")) fails")
    }
  }

  /// Looks again and again, because other processes don't say when they are ready.
  private static func wait(_ complaint: String, until isTrue: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try await !isTrue() {
      guard ContinuousClock.now < end else { throw Fault(complaint) }
      try await Task.sleep(for: .milliseconds(10))
    }
  }
}
