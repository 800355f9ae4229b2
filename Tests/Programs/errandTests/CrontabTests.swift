import Foundation
import Testing

@testable import errand

@Suite(.timeLimit(.minutes(3))) struct CrontabTests {
  /// What a crontab is read as: each job in a line, then each fault.
  private static func read(_ text: String, hasUsers: Bool = false) -> [String] {
    let crontab = Crontab(text, hasUsers: hasUsers)
    let jobs = crontab.jobs.map { job in
      var parts = ["\(job.line) [\(job.times)]"]
      parts += [job.user.map { "as \($0)" }, job.command, job.input.map { "< \($0.debugDescription)" }].compactMap {
        $0
      }
      parts += job.variables.map { "\($0.name)=\($0.value)" }
      return parts.joined(separator: " | ")
    }
    return jobs + crontab.faults.map { "\($0.line): \($0.message)" }
  }

  @Test(arguments: [
    ("", []),
    ("# a comment\n\n   \n", []),
    ("30 2 * * * backup.sh --all\n", ["1 [30 2 * * *] | backup.sh --all"]),
    ("  30\t2 *\t* MON-FRI   backup.sh  two   blanks", ["1 [30 2 * * MON-FRI] | backup.sh  two   blanks"]),
    ("@daily backup.sh", ["1 [@daily] | backup.sh"]),
    ("0 0 1 1 * x\n@hourly y", ["1 [0 0 1 1 *] | x", "2 [@hourly] | y"]),
    (
      "A=1\n* * * * * x\nB = 'two words'\n\"C\"=\"\"\nA=3\n@daily y",
      ["2 [* * * * *] | x | A=1", "6 [@daily] | y | B=two words | C= | A=3"]
    ),
    ("* * * * * mail -s a%one%two", ["1 [* * * * *] | mail -s a | < \"one\\ntwo\\n\""]),
    ("* * * * * date +\\%F%", ["1 [* * * * *] | date +%F | < \"\\n\""]),
    ("* * * * * A=b x --opt=1", ["1 [* * * * *] | A=b x --opt=1"]),
    ("0 1 * * * a\r\n0 2 * * * b\r\n", ["1 [0 1 * * *] | a", "2 [0 2 * * *] | b"]),
    ("* * * *", ["1: a line has five fields and a command"]),
    ("* * * * *", ["1: a line has five fields and a command"]),
    ("@daily", ["1: a line has a word such as @daily and a command"]),
  ])
  func `lines are read as crontab(5) says`(_ text: String, _ expected: [String]) {
    #expect(CrontabTests.read(text) == expected)
  }

  @Test func `a system's crontab has a user in each line`() {
    #expect(
      CrontabTests.read("17 * * * * root run-parts /etc/cron.hourly\n@daily ana x\n5 * * * * root", hasUsers: true) == [
        "1 [17 * * * *] | as root | run-parts /etc/cron.hourly", "2 [@daily] | as ana | x",
        "3: a line has five fields, a user and a command",
      ])
  }

  @Test(arguments: [
    ("/usr/local/bin/backup.sh --all", "backup"), ("cd /srv && ./build.sh", "build"), ("A=b python3 x.py", "python3"),
    ("\"/opt/my job\"", "my"), ("$HOME/x", "x"), ("((", "job"), ("\u{E9}\u{E9}", "job"),
  ])
  func `a recipe is named after its command`(_ command: String, _ name: String) {
    #expect(Crontab("* * * * * \(command)", hasUsers: false).jobs.first?.name == name)
  }

  @Test func `each line becomes a recipe that checks, and the others are named`() async throws {
    let program = try await Program()
    try program.write("zone: Europe/Berlin\n", to: "errand.yaml")
    try program.write(
      """
      MAILTO=ana@example.org
      SHELL=/bin/bash
      DB_PASSWORD=hunter2
      LANG=de_DE.UTF-8

      # Packs the notes.
      30 2 * * * backup.sh notes
      @weekly backup.sh \\%all%yes
      CRON_TZ=Asia/Tokyo
      SHELL=/bin/sh
      0 9 * * MON greet 'Ada & Alan'
      @reboot start.sh
      61 * * * * never.sh
      * * * * * echo ${{ x }}
      nonsense
      """, to: "crontab")
    let made = try await program.call("new", "recipe", "--from-crontab", "crontab")
    #expect(made.code == 1)
    #expect(made.out == "recipes/backup.yaml\nrecipes/backup-2.yaml\nrecipes/greet.yaml\n")
    let note = "note: cron mailed its output to ana@example.org; add 'onFailure' with mail.send or notify.ntfy"
    let secret = "note: the value of DB_PASSWORD was left out; put it where errand.yaml says under 'secrets'"
    #expect(
      made.error == """
        crontab:7: \(note)
        crontab:7: \(secret)
        crontab:8: \(note)
        crontab:8: \(secret)
        crontab:11: \(note)
        crontab:11: \(secret)
        crontab:12: error: nothing here starts when the machine does; let systemd run 'errand run RECIPE' after \
        errand.service
        crontab:13: error: 61 isn't a minute; write 0-59
        crontab:14: error: the command holds ${{, which begins an expression here
        crontab:15: error: a line has five fields and a command
        next: errand check recipes/backup.yaml recipes/backup-2.yaml recipes/greet.yaml
              errand serve, which runs them at their times; then take the lines out of the crontab

        """)
    func text(_ name: String) throws -> String {
      try String(contentsOf: program.folder.appending(path: "recipes/\(name).yaml"), encoding: .utf8)
    }
    #expect(
      try text("backup") == """
        recipe: backup
        summary: "Packs the notes."

        on:
          - cron: "30 2 * * *"
            zone: Europe/Berlin

        steps:
          # cron mailed its output to ana@example.org; add 'onFailure' with mail.send or notify.ntfy
          # the value of DB_PASSWORD was left out; put it where errand.yaml says under 'secrets'
          - uses: shell.run
            with:
              effect: write # idempotentWrite, if it does no harm twice: then it is tried again after a crash
              program: "/bin/bash"
              arguments: [-c, "backup.sh notes"]
              environment:
                LANG: "de_DE.UTF-8"
              secretEnvironment:
                DB_PASSWORD: ${{ secrets.DB_PASSWORD }}

        """)
    #expect(try text("backup-2").contains("      arguments: [-c, \"backup.sh %all\"]\n"))
    #expect(try text("backup-2").contains("      input: \"yes\\n\"\n"))
    #expect(try text("greet").contains("    zone: Asia/Tokyo\n"))
    #expect(try text("greet").contains("      script: \"greet 'Ada & Alan'\"\n"))
    let checked = try await program.call("check", environment: ["DB_PASSWORD": "x"])
    #expect(checked.code == 0, "\(checked.error)")
    let again = try await program.shell("echo '@daily greet' | '\(Program.binary.path)' new recipe --from-crontab -")
    #expect(again.code == 0, "\(again.error)")
    #expect(again.out == "recipes/greet-2.yaml\n")
    let empty = try await program.shell("echo | '\(Program.binary.path)' new recipe --from-crontab -")
    #expect(empty.code == 66)
    #expect(empty.error == "error: '-' has no line with a command\n")
    await program.remove()
  }
}
