import Basics
import Foundation
import Glibc
import HTTPClient
import Testing

@testable import errand

/// `errand serve` as a process: its log, and how it handles signals, kills and edits.
@Suite(.timeLimit(.minutes(20))) struct ServeTests {
  static let done = "steps: [{ let: { x: 1 } }]\n"

  static func program(_ recipes: [String: String] = [:]) async throws -> Program {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    for (name, text) in recipes { try program.write(text, to: "recipes/\(name)") }
    return program
  }

  @Test func `runs detached runs, and shuts down cleanly`() async throws {
    let program = try await ServeTests.program(["done.yaml": ServeTests.done])
    let serve = try program.serve("serve")
    #expect(await serve.line(with: "serves") != nil, "\(serve.before)")
    #expect(serve.before.contains("1 recipe, "))
    let detached = try await program.call("run", "recipes/done.yaml", "--detach")
    #expect(detached.code == 0, "\(detached.error)")
    let id = detached.out.trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(await serve.line(with: "done \(id) succeeded") != nil)
    // A client that follows the run too late gets its end.
    let late = try JSON.parse(try await program.ask("resume", #"{"run":"\#(id)"}"#, isStream: true))
    #expect(late["ended"]?["status"]?.string == "succeeded", "\(late)")
    serve.signal(SIGTERM)
    #expect(await serve.line(with: "stopped") != nil)
    #expect(await serve.end() == 0)
    #expect(try await program.call("runs", "show", id, "--json").json["status"]?.string == "succeeded")
    await program.remove()
  }

  @Test func `without an agent a detached run is kept, and continues when one starts`() async throws {
    let program = try await ServeTests.program(["done.yaml": ServeTests.done])
    let detached = try await program.call("run", "recipes/done.yaml", "--detach")
    #expect(detached.code == 4)
    let id = detached.out.trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(detached.error.contains("errand runs resume \(id)"))
    let serve = try program.serve("serve")
    #expect(await serve.line(with: "done \(id) succeeded") != nil)
    serve.signal(SIGINT)
    #expect(await serve.end() == 0)
    await program.remove()
  }

  @Test func `clients that take every place over HTTP leave commands theirs, also with few files`() async throws {
    let program = try await ServeTests.program(["done.yaml": ServeTests.done])
    try program.write("server: { listen: 127.0.0.1:0 }\n", to: "errand.yaml")
    let words = "ulimit -n 64; exec '\(Program.binary.path)' --no-color serve"
    let serve = try program.serve(of: URL(filePath: "/bin/sh"), "-c", words)
    let address = await serve.line(with: "listens on http://127.0.0.1:")
    let port = try #require(address?.split(separator: ":").last.flatMap { UInt16($0) }, "\(serve.before)")
    #expect(await serve.line(with: "at most 64 files and connections may be open at once") != nil)
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    (place.sin_port, place.sin_addr.s_addr) = (port.bigEndian, UInt32(0x7F00_0001).bigEndian)
    let clients = (0..<80).map { _ in
      let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      withUnsafePointer(to: place) { place in
        place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          #expect(connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0)
        }
      }
      return client
    }
    let listed = try await program.call("runs", "list")
    #expect(listed.code == 0, "\(listed.error)")
    let run = try await program.call("run", "recipes/done.yaml")
    #expect(run.code == 0, "\(run.error)")
    for client in clients { close(client) }
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)
    await program.remove()
  }

  @Test func `a run that waits outlives a kill, and a signal ends its wait`() async throws {
    let text = "steps: [{ id: e, wait: { event: e } }]\noutputs: { got: \"${{ steps.e.event.data }}\" }\n"
    let program = try await ServeTests.program(["wait.yaml": text])
    var serve = try program.serve("serve")
    await serve.line(with: "serves")
    let id = try await program.call("run", "recipes/wait.yaml", "--detach").out.trimmingCharacters(in: .newlines)
    await serve.line(with: "wait \(id) waits: waits for the event 'e'")
    serve.signal(SIGKILL)
    #expect(await serve.end() == -SIGKILL)
    serve = try program.serve("serve")
    await serve.line(with: "serves")
    let follower = try program.start(["runs", "follow", id])
    try program.write("{\"got\": 7}", to: "data.json")
    try await program.ask("signal", #"{"id":"s1","name":"e","data":7}"#)
    #expect(await serve.line(with: "wait \(id) succeeded") != nil)
    let outcome = await follower.outcome()
    #expect(outcome.code == 0, "\(outcome.error)")
    #expect(outcome.out.contains("got: 7"), "\(outcome.out)")
    serve.signal(SIGTERM)
    _ = await serve.end()
    // A finished run is shown as a follower would have seen it.
    let late = try await program.call("runs", "follow", id)
    #expect(late.code == 0)
    #expect(late.out == outcome.out)
    await program.remove()
  }

  @Test func `a run in the foreground hands the folder over to serve, and is followed there`() async throws {
    let text = "steps: [{ id: e, wait: { event: e } }]\noutputs: { got: \"${{ steps.e.event.data }}\" }\n"
    let program = try await ServeTests.program(["wait.yaml": text])
    let run = try program.start(["run", "recipes/wait.yaml"])
    var open: [Value] = []
    while open.isEmpty {
      open = try await program.call("runs", "list", "--json").json["open"]?.list ?? []
      if open.first?["status"]?.string != "waiting" { open = [] }
    }
    let serve = try program.serve("serve")
    #expect(await serve.line(with: "serves") != nil, "\(serve.before)")
    try await program.ask("signal", #"{"id":"s1","name":"e","data":7}"#)
    let outcome = await run.outcome()
    #expect(outcome.code == 0, "\(outcome.error)")
    #expect(outcome.out.contains("got: 7"), "\(outcome.out)")
    #expect(outcome.error.contains("errand serve takes over and continues the run"), "\(outcome.error)")
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)
    await program.remove()
  }

  @Test func `slots are fired, and each is accounted for when the agent is killed in between`() async throws {
    let text = "on: [{ every: 1s, overlap: allowAll, catchup: all }]\n" + ServeTests.done
    let program = try await ServeTests.program(["tick.yaml": text])
    for _ in 0..<3 {
      let serve = try program.serve("serve")
      for _ in 0..<2 { #expect(await serve.line(with: "succeeded") != nil, "\(serve.before)") }
      serve.signal(SIGKILL)
      _ = await serve.end()
    }
    let serve = try program.serve("serve")
    #expect(await serve.line(with: "succeeded") != nil)
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)
    let log = try await program.call("schedule", "log", "tick", "-n", "1000", "--json").json.list ?? []
    let slots = log.reversed().compactMap { $0["slot"]?.string.flatMap { Timestamp($0) } }
    #expect(slots.count >= 7)
    for (slot, next) in zip(slots, slots.dropFirst()) { #expect(next.span(since: slot) == .seconds(1)) }
    #expect(log.allSatisfy { $0["outcome"]?.string == "started" })
    let runs = try await program.call("runs", "list", "-n", "1000", "--json").json
    #expect(runs["open"]?.list?.isEmpty == true)
    #expect(Set((runs["finished"]?.list ?? []).compactMap { $0["id"]?.string }).count == slots.count)
    await program.remove()
  }

  @Test func `a slot that waits for a run to end is in the ledger as well`() async throws {
    let text = "on: [{ every: 1s, zone: UTC, overlap: bufferOne }]\nsteps: [{ wait: 9h }]\n"
    let program = try await ServeTests.program(["slow.yaml": text])
    let serve = try program.serve("serve")
    #expect(await serve.line(with: ": dropped") != nil, "\(serve.before)")
    serve.signal(SIGKILL)
    _ = await serve.end()
    let log = try await program.call("schedule", "log", "--json").json.list ?? []
    #expect(log.suffix(3).map { $0["outcome"]?.string } == ["dropped", "buffered", "started"])
    let waiting = try #require(log.suffix(2).first?["slot"]?.string)
    #expect(log.suffix(2).first?["reason"]?.string == "waits for another run to end")
    let before = try await program.call("schedule", "log", "slow", "--to", waiting, "--json").json.list ?? []
    #expect(before.map { $0["outcome"]?.string } == ["started"])
    await program.remove()
  }

  @Test func `a run in the foreground that is left says what resumes it`() async throws {
    let program = try await ServeTests.program(["night.yaml": "steps: [{ wait: 9h }]\n"])
    let run = try program.serve("run", "recipes/night.yaml")
    #expect(await run.line(with: "waiting until") != nil, "\(run.before)")
    run.signal(SIGINT)
    let words = "To resume it, start 'errand serve', or: errand runs resume "
    #expect(await run.line(with: words) != nil)
    #expect(await run.end() == 130)
    await program.remove()
  }

  @Test func `notices recipes that are added, changed, broken and removed`() async throws {
    let program = try await ServeTests.program(["done.yaml": ServeTests.done])
    let serve = try program.serve("serve")
    await serve.line(with: "serves")
    try program.write("recipe: other\n" + ServeTests.done, to: "recipes/other.yaml")
    #expect(await serve.line(with: "recipe other of") != nil)
    try program.write("recipe: other\nsteps: [{ lett: { x: 1 } }]\n", to: "recipes/other.yaml")
    #expect(await serve.line(with: "the last valid version of 'other' is still used") != nil)
    #expect(serve.before.contains("did you mean 'let'?"), "\(serve.before)")
    try program.write("recipe: done\n" + ServeTests.done, to: "recipes/other.yaml")
    #expect(await serve.line(with: "other.yaml' has 1 error") != nil)
    #expect(serve.before.contains("the recipe 'done' is that of"), "\(serve.before)")
    try program.write("recipe: other\nsummary: Mended.\n" + ServeTests.done, to: "recipes/other.yaml")
    #expect(await serve.line(with: "recipe other is read again") != nil)
    try FileManager.default.removeItem(at: program.folder.appending(path: "recipes/other.yaml"))
    #expect(await serve.line(with: "recipe other was removed") != nil)
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)
    await program.remove()
  }

  @Test func `a plugin that is added or changed is read by itself`() async throws {
    let program = try await ServeTests.program(["done.yaml": ServeTests.done])
    let serve = try program.serve("serve")
    #expect(await serve.line(with: "recipe done") != nil)
    func document(_ field: String) -> String {
      """
      openapi: 3.1.0
      servers: [{ url: "http://127.0.0.1:9" }]
      paths: { /a: { get: { operationId: get, parameters: [{ name: \(field), in: query, schema: { type: string } }] } } }
      """
    }
    try program.write(document("one"), to: "shop.yaml")
    #expect(try await program.call("plugin", "add", "openapi", "shop", "shop.yaml").code == 0)
    #expect(await serve.line(with: "errand.yaml is read again") != nil)
    try program.write("steps: [{ uses: shop.get, with: { one: a }, retry: { maxAttempts: 1 } }]", to: "recipes/a.yaml")
    let run = try await program.call("run", "recipes/a.yaml")
    #expect(run.code == 1 && run.error.contains("refused the connection"), "\(run.error)")
    try program.write(document("two"), to: "shop.yaml")
    #expect(try await program.call("plugin", "update", "shop", "--force").code == 0)
    #expect(await serve.line(with: "errand.yaml is read again") != nil)
    try program.write("steps: [{ uses: shop.get, with: { two: a }, retry: { maxAttempts: 1 } }]", to: "recipes/b.yaml")
    let other = try await program.call("run", "recipes/b.yaml")
    #expect(other.code == 1 && other.error.contains("refused the connection"), "\(other.error)")
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)
    await program.remove()
  }

  @Test func `notifies systemd when it is ready, reloads and stops, and keeps the last valid errand.yaml`() async throws
  {
    let program = try await ServeTests.program(["done.yaml": ServeTests.done])
    let socket = NoticeSocket(program.folder.appending(path: "n").path)
    let serve = try program.serve(
      "serve", environment: ["NOTIFY_SOCKET": socket.path, "WATCHDOG_USEC": "100000"])
    #expect(await socket.next(but: "WATCHDOG=1").hasPrefix("READY=1\nSTATUS=1 recipe"))
    #expect(await socket.next() == "WATCHDOG=1")
    let good = try String(contentsOf: program.folder.appending(path: "errand.yaml"), encoding: .utf8)
    try program.write("stat: x\n", to: "errand.yaml")
    serve.signal(SIGHUP)
    #expect(await socket.next(but: "WATCHDOG=1").hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
    #expect(await serve.line(with: "errand.yaml is not reloaded") != nil)
    #expect(await socket.next(but: "WATCHDOG=1").hasPrefix("READY=1"))
    try program.write(good + "zone: Europe/Bucharest\n", to: "errand.yaml")
    serve.signal(SIGHUP)
    #expect(await serve.line(with: "errand.yaml is read again: 1 recipe") != nil)
    serve.signal(SIGTERM)
    while !(await socket.next().hasPrefix("STOPPING=1")) {}
    #expect(await serve.end() == 0)
    await program.remove()
  }

  /// A script that holds a socket as systemd does (sd_listen_fds(3)), and becomes the agent.
  private static func holding(_ address: String, _ first: String = "") -> String {
    """
    import os, socket, sys
    held = socket.socket()
    held.bind(("\(address)", 0))
    held.listen()
    \(first)
    os.dup2(held.fileno(), 3)
    os.set_inheritable(3, True)
    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
    os.execv(sys.argv[1], [sys.argv[1], "serve"])
    """
  }

  @Test func `a client of an address that systemd holds waits until the agent is ready`() async throws {
    let program = try await ServeTests.program(["done.yaml": ServeTests.done])
    try program.write(
      try program.read("errand.yaml") + "server: { listen: 127.0.0.1:7373 }\n", to: "errand.yaml")
    // The child asks before the agent has begun.
    let ask = """
      if os.fork() == 0:
          client = socket.create_connection(held.getsockname())
          client.sendall(b"GET /readyz HTTP/1.1\\r\\nHost: 127.0.0.1:7373\\r\\nConnection: close\\r\\n\\r\\n")
          print("answered", client.makefile().readline(), file=sys.stderr)
          os._exit(0)
      """
    let start = ServeTests.holding("127.0.0.1", ask)
    let serve = try program.serve(of: URL(filePath: Clients.systemPython), "-c", start, Program.binary.path)
    #expect(await serve.line(with: "listens on 1 socket of systemd") != nil, "\(serve.before)")
    // Either line may be the first.
    #expect(await serve.says("answered HTTP/1.1 200 "), "\(serve.before)")
    let link = try await program.call("open", "--print")
    #expect(link.out.hasPrefix("http://127.0.0.1:7373/login?link="), "\(link)")
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)
    await program.remove()
  }

  @Test func `a socket of systemd that other machines reach needs what such an address needs`() async throws {
    let program = try await ServeTests.program(["done.yaml": ServeTests.done])
    let start = ServeTests.holding("0.0.0.0")
    let serve = try program.serve(of: URL(filePath: Clients.systemPython), "-c", start, Program.binary.path)
    #expect(await serve.line(with: "error: other machines can reach 0.0.0.0:") != nil, "\(serve.before)")
    #expect(await serve.end() == 78)
    await program.remove()
  }

  @Test func `a second agent is refused, and told who the first is`() async throws {
    let program = try await ServeTests.program()
    let serve = try program.serve("serve")
    await serve.line(with: "serves")
    let second = try await program.call("serve")
    #expect(second.code == 75)
    #expect(second.error.contains("process \(serve.pid) serves '"), "\(second.error)")
    #expect(
      second.error.hasSuffix("' already; see what it does with: errand runs; stop it with: kill \(serve.pid)\n"),
      "\(second.error)")
    serve.signal(SIGTERM)
    _ = await serve.end()
    await program.remove()
  }

  @Test func `closing the terminal ends it cleanly, and any other hang-up reads errand.yaml again`() async throws {
    let program = try await ServeTests.program(["done.yaml": ServeTests.done])
    let outcome = try await program.shell(
      """
      TERM=xterm env --default-signal=HUP script -qefc "'\(Program.binary.path)' serve --no-color 2>log" /dev/null </dev/null >/dev/null 2>&1 &
      terminal=$!
      until grep -q ' serves ' log; do sleep 0.05; done
      held=$('\(Program.binary.path)' doctor | sed -n 's/^held by.*process \\([0-9]*\\).*/\\1/p')
      kill -HUP $held
      until grep -q 'is read again' log; do sleep 0.05; done
      kill -KILL $terminal
      until grep -q ' stopped; ' log; do sleep 0.05; done
      """)
    #expect(outcome.code == 0, "\(outcome.error)")
    let log = try String(contentsOf: program.folder.appending(path: "log"), encoding: .utf8)
    #expect(log.contains("finishing what is in flight"), "\(log)")
    await program.remove()
  }

  @Test func `says at a terminal what ends it`() async throws {
    let program = try await ServeTests.program()
    let outcome = try await program.shell(
      """
      TERM=xterm env --default-signal=HUP script -qefc "'\(Program.binary.path)' serve --no-color" shown </dev/null >/dev/null 2>&1 &
      terminal=$!
      until grep -q 'Ctrl-C' shown; do sleep 0.05; done
      kill -KILL $terminal
      cat shown
      """)
    #expect(
      outcome.out.contains(
        "Ctrl-C or closing this terminal ends it cleanly; to have it stay, see: errand serve --systemd-unit"),
      "\(outcome.out)")
    await program.remove()
  }

  /// Runs systemd's check of a unit; the result is empty if the unit has no faults.
  private static func verified(_ unit: String, in program: Program, isUsers: Bool) async throws -> String {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze") else {
      print("skipped: systemd-analyze is not installed (apt install systemd)")
      return ""
    }
    try program.write(unit, to: "errand.service")
    let outcome = try await program.shell(
      "export XDG_RUNTIME_DIR=\"$PWD\"; systemd-analyze verify\(isUsers ? " --user" : "") ./errand.service 2>&1")
    // Other lines are about this machine.
    return outcome.out.split(separator: "\n").filter { $0.contains("errand.service") }.joined(separator: "\n")
  }

  @Test func `a unit lets connections write into their folders, and says what it forbids`() async throws {
    let program = try await ServeTests.program()
    try program.write(
      """
        file: { folder: out, others: [/srv/more files, "/srv/100%"] }
        site: { plugin: http, baseURL: "https://site.example", token: "${{ secrets.TOKEN }}", folder: /srv/site }

      """, after: "errand.yaml")
    let folder = try #require(realpath(program.folder.path, nil).map { String(cString: $0) })
    let outcome = try await program.call("serve", "--systemd-unit")
    let lines = outcome.out.split(separator: "\n").map(String.init)
    #expect(
      lines.contains(
        "ReadWritePaths=-\(folder) -\(folder)/.errand -\(folder)/out -\"/srv/more files\" -\"/srv/100%%\" -/srv/site"))
    #expect(
      lines.contains("ReadOnlyPaths=-\(folder)/errand.yaml -\(folder)/plugins -\(folder)/recipes"), "\(outcome.out)")
    #expect(!lines.contains { $0.hasPrefix("MemoryDenyWriteExecute") })
    for word in ["systemctl edit errand", "ReadWritePaths=/srv/more", "sudo", "PrivateTmp=no", "PrivateDevices=no"] {
      #expect(lines.contains { $0.hasPrefix("#") && $0.contains(word) }, "\(word)")
    }
    #expect(try await Self.verified(outcome.out, in: program, isUsers: false) == "")
    await program.remove()
  }

  /// The content of errand.yaml, and the paths in the folder that the unit makes read-only.
  @Test(arguments: [
    ("recipes: [., more]", ["errand.yaml", "plugins", "more"]),
    ("secrets: { files: [own.env] }", ["errand.yaml", "plugins", "recipes", "own.env"]),
    ("connections: { file: { allowRecipes: true } }", ["errand.yaml", "plugins"]),
    ("state: recipes/state", ["errand.yaml", "plugins"]),
  ])
  func `a unit keeps what says what errand does from being written`(_ text: String, _ paths: [String]) async throws {
    let program = try await Program()
    try program.write(text + "\n", to: "errand.yaml")
    let folder = try #require(realpath(program.folder.path, nil).map { String(cString: $0) })
    let outcome = try await program.call("serve", "--systemd-unit")
    let line = "ReadOnlyPaths=" + paths.map { "-\(folder)/\($0)" }.joined(separator: " ")
    #expect(outcome.out.split(separator: "\n").contains { $0 == line }, "\(outcome.out)\(outcome.error)")
    await program.remove()
  }

  @Test func `a unit leaves open what people edit in the browser, and their repository`() async throws {
    let program = try await Program()
    try program.write("server: { edit: true }\nsecrets: { files: [own.env] }\n", to: "errand.yaml")
    let folder = try #require(realpath(program.folder.path, nil).map { String(cString: $0) })
    for name in ["recipes", ".git"] { try Files.makeFolder("\(folder)/\(name)") }
    let outcome = try await program.call("serve", "--systemd-unit")
    let lines = outcome.out.split(separator: "\n").map(String.init)
    #expect(lines.contains("ReadOnlyPaths=-\(folder)/plugins -\(folder)/own.env"), "\(outcome.out)\(outcome.error)")
    let open = ["", "/.errand", "/recipes", "/recipes/tests", "/.git"].map { "-\(folder)\($0)" }
    #expect(lines.contains("ReadWritePaths=" + open.joined(separator: " ")), "\(outcome.out)")
    #expect(lines.contains { $0.hasPrefix("#") && $0.contains("server: { edit: true }") })
    #expect(try await Self.verified(outcome.out, in: program, isUsers: false) == "")
    await program.remove()
  }

  @Test func `the package's units limit what this program's unit limits`() async throws {
    let program = try await Program()
    let own = try await program.call("serve", "--systemd-unit").out.split(separator: "\n").map(String.init)
    let folder = Program.root.appending(path: "Sources/Programs/errand/Packaging")
    let system = try String(contentsOf: folder.appending(path: "errand@.service"), encoding: .utf8)
    let users = try String(contentsOf: folder.appending(path: "errand.service"), encoding: .utf8)
    let limits = own.drop { $0 != "ProtectSystem=strict" }.filter { line in
      line.contains("=") && !line.hasPrefix("#") && !line.hasPrefix("ReadW") && !line.hasPrefix("ReadO")
        && !line.hasPrefix("Wanted")
    }
    #expect(limits.count > 15)
    for line in limits { #expect(system.contains("\n\(line)\n"), "\(line)") }
    #expect(
      system.contains("\nReadOnlyPaths=-/srv/errand/%i/errand.yaml -/srv/errand/%i/recipes -/srv/errand/%i/plugins\n"))
    let codes = try #require(own.first { $0.hasPrefix("RestartPreventExitStatus=") })
    #expect(system.contains("\n\(codes)\n") && users.contains("\n\(codes)\n"))
    await program.remove()
  }

  @Test func `a unit of a user asks for nothing that a user's systemd may not give`() async throws {
    let program = try await ServeTests.program()
    let outcome = try await program.call("serve", "--systemd-unit", "--user")
    #expect(outcome.code == 0)
    let lines = outcome.out.split(separator: "\n").map(String.init)
    #expect(lines.contains("WantedBy=default.target"))
    #expect(lines.contains("EnvironmentFile=-%h/.config/errand/secrets.env"))
    #expect(lines.contains("RestartPreventExitStatus=64 66 73 75 78"))
    #expect(!lines.contains { $0.hasPrefix("User=") || $0.hasPrefix("Protect") || $0.hasPrefix("Private") })
    #expect(try await Self.verified(outcome.out, in: program, isUsers: true) == "")
    #expect(try await program.call("serve", "--user").code == 64)
    await program.remove()
  }

  @Test func `prints a unit with this folder's paths`() async throws {
    let program = try await ServeTests.program()
    let outcome = try await program.call("serve", "--systemd-unit")
    #expect(outcome.code == 0)
    let lines = outcome.out.split(separator: "\n").map(String.init)
    let folder = try #require(realpath(program.folder.path, nil).map { String(cString: $0) })
    #expect(lines.contains("Type=notify"))
    #expect(lines.contains("WorkingDirectory=\(folder)"))
    #expect(lines.contains { $0.hasPrefix("ExecStart=/") && $0.hasSuffix("--state \(folder)/.errand") })
    await program.remove()
  }
}

extension Program {
  /// The program with its version, as its requests name it.
  static let identity = "errand \(errand.version)"

  /// Asks the folder's agent over its socket, in the exact form, and returns the body of the answer.
  ///
  /// - Parameter isStream: Whether the events of the operation are wanted.
  @discardableResult
  func ask(_ operation: String, _ inputs: String = "{}", isStream: Bool = false) async throws -> String {
    let configuration = try #require(realpath(folder.path, nil).map { String(cString: $0) }) + "/errand.yaml"
    let answer = try await exchange(
      "POST", "/api/v1/operations/\(operation)", inputs,
      headers: [
        "Accept": "application/vnd.errand.exact+json\(isStream ? "l" : "")", "Errand-Program": Program.identity,
        "Errand-Configuration": PercentEncoding.encode(configuration),
      ])
    #expect(answer.status == 200, "\(operation): \(answer)")
    return answer.text
  }

  /// Sends a request to the folder's agent over its socket, and returns the status and the body of the answer.
  func exchange(
    _ method: String, _ path: String, _ body: String = "", headers: HTTPHeaders = [:]
  ) async throws -> (status: Int, text: String) {
    let socket = folder.appending(path: ".errand/api.sock").path
    var lines = ["\(method) \(path) HTTP/1.1", "Host: errand", "Connection: close"]
    if method == "POST" { lines += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"] }
    lines += headers.fields.map { "\($0.name): \($0.value)" }
    let request = Array("\(lines.joined(separator: "\r\n"))\r\n\r\n\(body)".utf8)
    let answer = await aside { Program.answer(to: request, over: socket) }
    let end = try #require(answer.firstRange(of: Array("\r\n\r\n".utf8)), "\(method) \(path) has no answer")
    let head = String(decoding: answer[..<end.lowerBound], as: UTF8.self)
    var content = Array(answer[end.upperBound...])
    if head.lowercased().contains("\r\ntransfer-encoding: chunked") { content = Program.joined(content) }
    let status = try #require(head.split(separator: " ").dropFirst().first.flatMap { Int($0) }, "\(head)")
    return (status, String(decoding: content, as: UTF8.self).trimmingCharacters(in: .newlines))
  }

  /// Sends a request over a Unix socket, and reads until the other side closes it.
  private static func answer(to request: [UInt8], over path: String) -> [UInt8] {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    NoticeSocket.with(path) { #expect(connect(descriptor, $0, $1) == 0) }
    #expect(send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
    var answer: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &bytes, bytes.count, 0)
      guard count > 0 else { return answer }
      answer += bytes[..<count]
    }
  }

  /// The body that came in chunks (RFC 9112, section 7.1).
  private static func joined(_ chunks: [UInt8]) -> [UInt8] {
    var body: [UInt8] = []
    var rest = chunks[...]
    while let end = rest.firstIndex(of: 0x0A) {
      let line = String(decoding: rest[..<end], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
      rest = rest[(end + 1)...]
      guard let size = Int(line, radix: 16), size > 0, size <= rest.count else { break }
      body += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
    return body
  }
}

/// A socket that receives notices in place of systemd.
final class NoticeSocket: Sendable {
  let path: String
  private let descriptor: Int32

  init(_ path: String) {
    self.path = path
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    self.descriptor = descriptor
    NoticeSocket.with(path) { #expect(bind(descriptor, $0, $1) == 0) }
  }

  deinit { close(descriptor) }

  static func with(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    #expect(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// The next datagram other than a given one.
  func next(but other: String = "") async -> String {
    let descriptor = descriptor
    while true {
      let text = await aside {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
      }
      if text != other { return text }
    }
  }
}
