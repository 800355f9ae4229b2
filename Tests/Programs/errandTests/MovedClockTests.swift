import Basics
import Foundation
import HTTPClient
import Testing

/// The real binary with a wall clock set by libfaketime, killed during a night.
@Suite(.timeLimit(.minutes(20))) struct MovedClockTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The program's clock when the agent starts, on Sunday.
    var begins: String
    var isByHand: Bool
    /// The words of `why`: a schedule's run in the schedule's zone, another one in the caller's.
    var why: [String]
    var ledger: [String]
  }

  static let cases = [
    Case(
      testDescription: "by its schedule", begins: "2026-12-06T04:59:57Z", isByHand: false,
      why: [
        "markbook-backup succeeded on Mon 2026-12-07 02:30",
        "It ran for the slot of Sun 2026-12-06 16:00 AEDT of the schedule 'markbook-backup', and began on Sun 2026-12-06 16:00",
      ],
      ledger: ["2026-12-06T05:00:00Z started"]),
    Case(
      testDescription: "by hand", begins: "2026-12-06T05:30:00Z", isByHand: true,
      why: ["markbook-backup succeeded on Sun 2026-12-06 15:30", "Started by hand on Sun 2026-12-06 05:30 UTC."],
      ledger: []),
  ]

  @Test(arguments: cases)
  func `a backup that was begun before a kill is there after the night, once`(_ test: Case) async throws {
    let program = try await Program()
    guard let clock = try await MovableClock(in: program.folder) else { return await program.remove() }
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      at: Program.root.appending(path: "recipes/markbook-backup.yaml"),
      to: program.folder.appending(path: "recipes/markbook-backup.yaml"))

    let sunday = try #require(Timestamp(test.begins))
    try await program.moveSandbox(to: sunday)
    var serve = try program.serve("serve", environment: clock.showing(sunday))
    #expect(await serve.line(with: " serves ") != nil, "\(serve.before)")
    if test.isByHand {
      let run = try await program.call(
        "run", "recipes/markbook-backup.yaml", "--detach", environment: clock.showing(sunday))
      #expect(run.code == 0, "\(run.error)")
    }
    let waits = await serve.line(with: " waits")
    #expect(waits?.hasSuffix(" waits until Sun 2026-12-06 15:00 UTC") == true, "\(serve.before)")
    serve.signal(SIGKILL)
    #expect(await serve.end() == -SIGKILL)
    #expect(program.backups() == [])

    let monday = try #require(Timestamp("2026-12-06T15:30:00Z"))
    try await program.moveSandbox(to: monday)
    serve = try program.serve("serve", environment: clock.showing(monday))
    #expect(await serve.line(with: "succeeded") != nil, "\(serve.before)")
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)

    #expect(program.backups() == ["markbooks-2026-12-07.zip"])
    #expect(try await program.writes("schedulebackup") == ["2026": 1])
    let later = clock.showing(try #require(Timestamp("2026-12-06T20:00:00Z")))
    let runs = try await program.call("runs", "list", "--json", environment: later).json
    #expect(runs["open"]?.list?.isEmpty == true)
    #expect(runs["finished"]?.list?.count == 1)
    let run = try #require(runs["finished"]?.list?.first?["id"]?.string)
    let displayed = try await program.call("runs", "show", run, "--json", environment: later).json
    let zip = try Data(contentsOf: program.folder.appending(path: "backups/markbooks-2026-12-07.zip"))
    #expect(displayed["outputs"]?["bytes"]?.int == zip.count)
    // The action has compared the entries with their sums; the record that ends a zip says how many there are.
    #expect(zip.suffix(22).prefix(12) == Data([0x50, 0x4B, 5, 6, 0, 0, 0, 0, 2, 0, 2, 0]))
    for markbook in [1_207_731, 1_207_742] { #expect(zip.range(of: Data("\(markbook).csv".utf8)) != nil) }

    let why = try await program.call("why", run, environment: later)
    for part in test.why { #expect(why.out.contains(part), "\(why.out)") }
    let log = try await program.call("schedule", "log", "markbook-backup", "--json", environment: later).json.list ?? []
    #expect(log.map { "\($0["slot"]?.string ?? "") \($0["outcome"]?.string ?? "")" } == test.ledger)
    await program.remove()
  }
}

extension MovedClockTests {
  @Test func `schedules after a clock was ahead start nothing, which every command says, until a reset`()
    async throws
  {
    let program = try await Program()
    guard let clock = try await MovableClock(in: program.folder) else { return await program.remove() }
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write("on: [{ cron: '0 * * * *' }]\nsteps: [{ let: { x: 1 } }]\n", to: "recipes/tick.yaml")
    let ahead = clock.showing(try #require(Timestamp("2027-01-10T10:59:58Z")))
    var serve = try program.serve("serve", environment: ahead)
    #expect(await serve.line(with: "succeeded") != nil, "\(serve.before)")
    serve.signal(SIGKILL)
    _ = await serve.end()

    let now = clock.showing(try #require(Timestamp("2026-12-06T08:30:00Z")))
    serve = try program.serve("serve", environment: now)
    let warning = await serve.line(with: "tick starts nothing before Sun 2027-01-10 11:00 UTC")
    #expect(warning?.contains("errand schedule reset tick") == true, "\(serve.before)")
    _ = await serve.line(with: " serves ")
    func says(_ arguments: [String], _ text: String) async throws {
      let printed = try await program.start(arguments, environment: now).outcome()
      #expect((printed.out + printed.error).contains(text), "\(arguments): \(printed.out)\(printed.error)")
    }
    try await says(["schedule", "list"], "nothing before")
    try await says(["schedule", "next", "tick", "--json"], "2027-01-10T12:00:00Z")
    try await says(["why", "tick"], "errand schedule reset tick")
    try await says(["doctor"], "errand schedule reset tick")
    try await says(["schedule", "reset", "tick"], "tick decides its slots from now on again")
    try await says(["schedule", "next", "tick", "--json"], "2026-12-06T09:00:00Z")
    try await says(["schedule", "log", "tick"], "reset")
    serve.signal(SIGTERM)
    _ = await serve.end()
    await program.remove()
  }
}

extension MovedClockTests {
  @Test func `a page resets a schedule for as long as it is decided ahead of the clock`() async throws {
    let program = try await Program()
    guard let clock = try await MovableClock(in: program.folder) else { return await program.remove() }
    try program.write(try program.read("errand.yaml") + "server: { listen: 127.0.0.1:0 }\n", to: "errand.yaml")
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write("on: [{ cron: '0 * * * *' }]\nsteps: [{ let: { x: 1 } }]\n", to: "recipes/tick.yaml")
    var serve = try program.serve(
      "serve", environment: clock.showing(try #require(Timestamp("2027-01-10T10:59:58Z"))))
    #expect(await serve.line(with: "succeeded") != nil, "\(serve.before)")
    serve.signal(SIGKILL)
    _ = await serve.end()

    let now = clock.showing(try #require(Timestamp("2026-12-06T08:30:00Z")))
    serve = try program.serve("serve", environment: now)
    let line = try #require(await serve.line(with: "listens on http://"), "\(serve.before)")
    _ = await serve.line(with: " serves ")
    let made = try await program.call("token", "new", "ann", "--scope", "read", "--scope", "steer", environment: now)
    let headers: HTTPHeaders = [
      "Authorization": "Bearer \(made.out.trimmingCharacters(in: .newlines))", "Accept": "text/html",
      "Content-Type": "application/x-www-form-urlencoded",
    ]
    func ask(_ method: String, _ path: String) async throws -> (status: Int, text: String) {
      let answer = try await HTTPClient().send(
        HTTPRequest(
          method, "http://" + (line.components(separatedBy: "http://").last ?? "") + path, headers: headers,
          body: method == "POST" ? [] : nil, redirects: .none))
      return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }
    let ahead = try await ask("GET", "/schedules/tick").text
    #expect(ahead.contains("action=\"/schedules/tick/reset\""), "\(ahead)")
    #expect(ahead.contains("the slots until Sun 2027-01-10 11:00 UTC were decided then"), "\(ahead)")
    #expect(try await ask("POST", "/schedules/tick/reset").status == 303)
    let page = try await ask("GET", "/schedules/tick").text
    #expect(!page.contains("/schedules/tick/reset") && page.contains("s-reset"), "\(page)")
    #expect(try await ask("POST", "/schedules/tick/reset").status == 409)
    serve.signal(SIGTERM)
    _ = await serve.end()
    await program.remove()
  }
}

/// A wall clock for programs, which a test sets when they start, and which runs from there.
struct MovableClock {
  /// The libraries to load before a program's own (`LD_PRELOAD`).
  let libraries: String

  /// A library to load before libfaketime, which takes every absolute timer, and the end of every wait for a condition, for
  /// one of the wall clock.
  ///
  /// Swift's concurrency and `Monitor` use the clock that runs from the machine's start, and would never be woken, or at
  /// once; the shim passes these to the kernel and to the C library unchanged.
  private static let shim = """
    #include <dlfcn.h>
    #include <pthread.h>
    #include <sys/syscall.h>
    #include <sys/timerfd.h>
    #include <unistd.h>

    int timerfd_settime(int timer, int flags, const struct itimerspec *time, struct itimerspec *before) {
      return (int)syscall(SYS_timerfd_settime, timer, flags, time, before);
    }

    typedef int (*Wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

    int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
      return ((Wait)dlsym(dlopen("libc.so.6", RTLD_LAZY), "pthread_cond_timedwait"))(condition, mutex, until);
    }

    """

  /// Nil, with the reason printed, without libfaketime.
  init?(in folder: URL) async throws {
    let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
    let faketime = folders.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
      .first { FileManager.default.fileExists(atPath: $0) }
    guard let faketime else {
      print("skipped: there is no libfaketime; install it with: apt-get install libfaketime")
      return nil
    }
    let source = folder.appending(path: "timerfd.c").path
    try Data(MovableClock.shim.utf8).write(to: URL(filePath: source))
    let library = folder.appending(path: "timerfd.so").path
    // The compiler that Swift brings with it.
    try #require(await run("/usr/bin/env", "clang", "-shared", "-fPIC", "-o", library, source) == 0)
    libraries = "\(library):\(faketime)"
  }

  func showing(_ instant: Timestamp) -> [String: String] {
    variables("@" + instant.description.replacing("T", with: " ").replacing("Z", with: ""))
  }

  /// The machine's time and so many seconds.
  func running(off seconds: Int) -> [String: String] { variables(seconds < 0 ? "\(seconds)" : "+\(seconds)") }

  private func variables(_ time: String) -> [String: String] {
    ["LD_PRELOAD": libraries, "FAKETIME": time, "FAKETIME_DONT_FAKE_MONOTONIC": "1", "TZ": "UTC"]
  }
}

extension Program {
  /// Sets the sandbox's clock.
  fileprivate func moveSandbox(to instant: Timestamp) async throws {
    let now = try #require(try await control("clock?advance=0s")["now"]?.string.flatMap { Timestamp($0) })
    try await control("clock?advance=\(instant.seconds - now.seconds)s")
  }

  fileprivate func backups() -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "backups").path)) ?? []
  }
}
