import ActionKit
import Foundation
import ProcessTestKit
import Glibc
import Testing

/// The processes of `shell.run`: the files they may read, and their end.
@Suite(.timeLimit(.minutes(20))) struct ShellCommandTests {
  /// Whether a process exists and isn't a zombie.
  private static func isAlive(_ pid: Int32) -> Bool {
    guard kill(pid, 0) == 0 || errno == EPERM else { return false }
    let status = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    return !status.isEmpty && !status.contains(") Z ")
  }

  private static func pid(_ name: String, in program: Program) async -> Int32 {
    while !Task.isCancelled {
      let text = (try? String(contentsOf: program.folder.appending(path: name), encoding: .utf8)) ?? ""
      if text.hasSuffix("\n"), let pid = Int32(text.dropLast()) { return pid }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return -1
  }

  /// A program whose folder belongs to a user who is not root.
  private static func ofNobody() async throws -> Program? {
    guard getuid() == 0 else {
      print("skipped: only root becomes another user")
      return nil
    }
    let program = try await Program()
    return program
  }

  /// Runs a recipe as a user who is not root.
  private static func runAsNobody(_ program: Program, _ secret: String = "sesame") async throws -> Program.Outcome {
    try await program.shell(
      "chown -R 65534:65534 . && exec env SESAME=\(secret) setpriv --reuid=65534 --regid=65534 --clear-groups "
        + "\(Program.binary.path) run try.yaml --json")
  }

  @Test func `a command reads no process's environment above it`() async throws {
    guard let program = try await Self.ofNobody() else { return }
    // Every ancestor process, up to the tests, which run as root.
    try program.write(
      """
      steps:
        - id: spy
          uses: shell.run
          with:
            effect: read
            script: |
              p=$PPID
              while [ "$p" -gt 1 ]; do
                if grep -q sesame "/proc/$p/environ" 2>/dev/null; then echo "read $p"; fi
                p=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$p/status")
              done
              echo looked
      outputs: { found: "${{ steps.spy.output }}" }
      """, to: "try.yaml")
    let outcome = try await Self.runAsNobody(program)
    #expect(outcome.code == 0, "\(outcome.error)")
    #expect(outcome.json["outputs"]?["found"]?.string == "looked")
    await program.remove()
  }

  @Test func `a command's children end with it, also in a session of their own`() async throws {
    let program = try await Program()
    try program.write(
      """
      steps:
        - uses: shell.run
          with:
            effect: write
            script: |
              setsid sh -c 'echo $$ > left; exec sleep 1000' > /dev/null 2>&1 &
              while [ ! -s left ]; do sleep 0.01; done
      """, to: "try.yaml")
    let outcome = try await program.call("run", "try.yaml")
    #expect(outcome.code == 0, "\(outcome.error)")
    let left = await Self.pid("left", in: program)
    #expect(!Self.isAlive(left))
    if left > 0 { kill(left, SIGKILL) }
    await program.remove()
  }

  @Test func `children of a killed agent's command do not run beside its second attempt`() async throws {
    let program = try await Program()
    try program.write(
      """
      steps:
        - id: work
          uses: shell.run
          with:
            effect: idempotentWrite
            script: |
              if [ -e left ]; then
                for name in own left; do
                  if [ -e "/proc/$(cat $name)" ] && ! grep -q ') Z ' "/proc/$(cat $name)/stat"; then echo "$name runs"; fi
                done
                exit 0
              fi
              setsid sh -c 'echo $$ > left; exec sleep 1000' > /dev/null 2>&1 &
              echo $$ > own
              exec sleep 1000
      outputs: { found: "${{ steps.work.output }}" }
      """, to: "try.yaml")
    let call = try program.start(["run", "try.yaml"])
    let (own, left) = (await Self.pid("own", in: program), await Self.pid("left", in: program))
    call.signal(SIGKILL)
    // The second agent starts at once, even if the first left processes.
    _ = await aside { call.process.awaitEnd() }
    let outcome = try await program.call("runs", "resume")
    #expect(outcome.code == 0, "\(outcome.error)")
    let displayed = try await program.call("runs", "list", "--json")
    let run = try await program.call("runs", "show", "last", "--json")
    #expect(run.json["outputs"]?["found"]?.string == "", "\(run.out)\(displayed.out)")
    #expect(!Self.isAlive(own))
    #expect(!Self.isAlive(left))
    for pid in [own, left] where pid > 0 { kill(pid, SIGKILL) }
    await program.remove()
  }

  @Test func `processes that cannot be ended are named`() async throws {
    guard let program = try await Self.ofNobody() else { return }
    // Runs as a user that errand's user may not signal, and writes where all users may.
    let made = try await program.shell(
      "cp /usr/bin/setpriv become && mkdir -m 1777 drop && setpriv --reuid=1 --regid=1 --clear-groups test -w \"$PWD/drop\""
    )
    guard made.code == 0 else {
      Issue.record(
        "all users must be able to enter the folder of temporary files (TMPDIR), and setpriv has to be there")
      return await program.remove()
    }
    try program.write(
      """
      steps:
        - id: work
          uses: shell.run
          with:
            effect: write
            script: |
              ./become --reuid=1 --regid=1 --clear-groups sh -c 'echo $$ > drop/left; exec sleep 1000' > errors 2>&1 &
              while [ ! -s drop/left ]; do
                [ -e /proc/$! ] || { cat errors >&2; exit 1; }
                sleep 0.01
              done
              cat drop/left > left
      outputs: { work: "${{ steps.work }}" }
      """, to: "try.yaml")
    let outcome = try await program.shell(
      "chown -R 65534:65534 . && chown 0:0 become && chmod 4755 become && exec setpriv --reuid=65534 --regid=65534 "
        + "--clear-groups \(Program.binary.path) run try.yaml --json")
    try #require(outcome.code == 0, "\(outcome.error)")
    let left = await Self.pid("left", in: program)
    #expect(Self.isAlive(left))
    #expect(outcome.json["outputs"]?["work"]?["unended"]?.list?.compactMap(\.string) == ["\(left) sleep"])
    if left > 0 { kill(left, SIGKILL) }
    await program.remove()
  }
}
