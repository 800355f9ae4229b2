import ActionKit
import ActionTestKit
import ProcessTestKit
import Basics
import Foundation
import PluginList
import Testing

/// Recipes against servers of other projects: Python's and OpenSSL's.
@Suite(.timeLimit(.minutes(20))) struct OutsideServersTests {
  private static func with(_ body: (Program) async throws -> Void) async throws {
    let program = try await Program()
    do { try await body(program) } catch {
      await program.remove()
      throw error
    }
    await program.remove()
  }

  /// Starts a server by a command that writes the number of its port once it listens, or a line with it at its end.
  static func serving(_ program: Program, _ command: String, _ body: (Int) async throws -> Void) async throws {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", "exec \(command)"]
    process.currentDirectoryURL = program.folder
    let output = launchPipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.startAlone()
    defer { kill(process.processIdentifier, SIGKILL) }
    let port = await aside { () -> Int? in
      var text = ""
      while true {
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { return nil }
        text += String(decoding: data, as: UTF8.self)
        guard text.hasSuffix("\n") else { continue }
        let digits = text.dropLast().reversed().prefix { $0.isNumber }
        if let port = Int(String(digits.reversed())) { return port }
      }
    }
    try await body(try #require(port))
  }

  private static let secureServer =
    "openssl s_server -www -accept 127.0.0.1:0 -cert certificate.pem -key key.pem"

  @Test func `an authority of one's own is trusted where a connection or the environment names it`() async throws {
    try await Self.with { program in
      try #require(makeCertificate(in: program.folder.path) != nil)
      try await Self.serving(program, Self.secureServer) { port in
        let recipe = """
          steps:
            - id: page
              uses: http.get
              with: { url: "https://localhost:\(port)/", answer: text }
          outputs: { status: "${{ steps.page.status }}" }
          """
        try program.write(recipe, to: "page.yaml")
        try program.write("", to: "errand.yaml")
        #expect(try await program.call("run", "page.yaml", "--json").code == 78)
        let authority = program.folder.appending(path: "certificate.pem").path
        let trusting = try await program.call("run", "page.yaml", "--json", environment: ["SSL_CERT_FILE": authority])
        #expect(trusting.code == 0, "\(trusting.out)")
        try program.write("connections:\n  http:\n    certificateAuthorities: certificate.pem\n", to: "errand.yaml")
        let configured = try await program.call("run", "page.yaml", "--json")
        #expect(configured.code == 0, "\(configured.out)\(configured.error)")
      }
    }
  }

  @Test(arguments: ["http", "interviewPrep", "markbook", "notify", "stationboard", "timetable", "transitData"])
  func `every connection over HTTP names authorities`(_ name: String) throws {
    let plugin = try #require(ActionCatalog(everyPlugin).plugin(name))
    #expect(plugin.configuration.field(named: "certificateAuthorities") != nil)
  }

  /// A separate network namespace whose `lo` has a public address, if this user may create one.
  private static let isNetworkMade = succeeds([
    "unshare", "-n", "sh", "-c", "ip link set lo up && ip addr add 8.8.4.4/32 dev lo",
  ])

  @Test(.enabled(if: isNetworkMade, "needs root, unshare and ip"), arguments: ["127.0.0.1", "localhost", "10.9.8.7"])
  func `a redirect from a public address leads to no private one`(_ target: String) async throws {
    try await Self.with { program in
      let server = """
        import http.server, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                open("asked.txt", "a").write(self.path + "\\n")
                if self.path == "/start":
                    self.send_response(302)
                    self.send_header("Location", "http://\(target):8080/inside")
                else: self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
        server = http.server.ThreadingHTTPServer(("0.0.0.0", 8080), Handler)
        open("ready.txt", "w").close()
        server.serve_forever()
        """
      try program.write(server, to: "server.py")
      try program.write("", to: "errand.yaml")
      try program.write("steps: [{ uses: http.get, with: { url: 'http://8.8.4.4:8080/start' } }]\n", to: "a.yaml")
      try program.write("steps: [{ uses: http.get, with: { url: 'http://127.0.0.1:8080/start' } }]\n", to: "b.yaml")
      let script = """
        ip link set lo up; ip addr add 8.8.4.4/32 dev lo; ip addr add 10.9.8.7/32 dev lo
        python3 server.py 2>/dev/null & s=$!
        until test -e ready.txt; do sleep 0.05; done
        '\(Program.binary.path)' run a.yaml --json >a.json; a=$?
        '\(Program.binary.path)' run b.yaml --json >b.json; b=$?
        kill $s; echo $a $b
        """
      try program.write(script, to: "all.sh")
      let end = try await program.shell("unshare -n sh all.sh")
      let asked = try await program.shell("cat asked.txt").out
      let printed = try await program.shell("cat a.json").out
      // A private address may redirect to another private one.
      #expect(end.out == "1 0\n", "\(printed)")
      #expect(asked == "/start\n/start\n/inside\n")
      #expect(printed.contains("redirects from a public address to a private one"), "\(printed)")
    }
  }
}
