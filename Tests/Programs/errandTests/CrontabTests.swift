import Foundation
import Glibc
import Testing

@testable import errand

@Suite(.timeLimit(.minutes(20))) struct CrontabTests {
  /// The result of reading a crontab: each job in a line, then each fault.
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
    ("\"/opt/my job\"", "my-job"), ("$HOME/x", "x"), ("((", "job"), ("\u{E9}\u{E9}", "ee"),
    ("/usr/bin/gr\u{F6}\u{DF}e.sh", "groesse"), ("e\u{301}te\u{301}.py", "ete"), ("\u{65E5}\u{672C}", "job"),
    ("'/opt/my prog/run me.sh' x", "run-me"), ("/opt/run\\ me", "run-me"), ("A='b c' x", "x"), ("cd '/a b' && y", "y"),
    ("/opt/\u{141}\u{F3}d\u{17A}/\u{17B}\u{F3}\u{142}w.pl", "Zolw"),
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
    let cron = ["HOME": "/home/ada", "TZ": "Europe/Berlin"]
    let made = try await program.call("new", "recipe", "--from-crontab", "crontab", environment: cron)
    #expect(made.code == 1)
    #expect(made.out == "recipes/backup.yaml\nrecipes/backup-2.yaml\nrecipes/greet.yaml\n")
    let note = "note: cron mailed its output to ana@example.org; add 'onFailure' with mail.send or notify.ntfy"
    let secret = "note: the value of DB_PASSWORD was left out; put it where errand.yaml says under 'secrets'"
    #expect(
      made.error == """
        crontab:7: \(note)
        crontab:3: \(secret)
        crontab:8: \(note)
        crontab:11: \(note)
        crontab:12: error: nothing here starts when the machine does; let systemd run 'errand run RECIPE' after \
        errand.service
        crontab:13: error: 61 isn't a minute; write 0-59
        crontab:14: error: the command holds ${{, which begins an expression here
        crontab:15: error: a line has five fields and a command
        next: errand check recipes/backup.yaml recipes/backup-2.yaml recipes/greet.yaml
              errand serve, which runs them at their times; then take the lines out of the crontab
        3 recipes written, 4 lines not converted

        """)
    func text(_ name: String) throws -> String {
      try String(contentsOf: program.folder.appending(path: "recipes/\(name).yaml"), encoding: .utf8)
    }
    let user = try #require(getpwuid(geteuid())).pointee.pw_name.map { String(cString: $0) } ?? ""
    #expect(
      try text("backup") == """
        recipe: backup
        summary: "Packs the notes."

        # Where cron differs from Errand, its behaviour is written out here, so that the command runs as it did.
        on:
          - cron: "30 2 * * *"
            zone: Europe/Berlin
            overlap: allowAll # as cron; 'skip' leaves out a time while the previous run is open
            catchup: none # as cron; 'last' makes up for times without a running agent

        steps:
          # cron mailed its output to ana@example.org; add 'onFailure' with mail.send or notify.ntfy
          # the value of DB_PASSWORD was left out; put it where errand.yaml says under 'secrets'
          - uses: shell.run
            timeout: 7d # cron has none; without this one it would be ended after 5m
            with:
              effect: write # idempotentWrite, if it does no harm twice: then it is tried again after a crash
              expect: [0] # cron ignores the exit code; any other fails the run
              # In HOME, with cron's umask, read by SHELL. More than 1 MiB of output fails the run: 'maxOutputBytes' of
              # the connection raises that.
              script: cd "$HOME" && umask 022 && exec "$SHELL" -c "$1"
              arguments: ["backup.sh notes"]
              environment:
                HOME: "/home/ada"
                LOGNAME: "\(user)"
                PATH: "/usr/bin:/bin"
                SHELL: "/bin/bash"
                LANG: "de_DE.UTF-8"
              secretEnvironment:
                DB_PASSWORD: ${{ secrets.DB_PASSWORD }}

        """)
    #expect(try text("backup-2").contains("      arguments: [\"backup.sh %all\"]\n"))
    #expect(try text("backup-2").contains("      input: \"yes\\n\"\n"))
    #expect(try text("greet").contains("    zone: Asia/Tokyo\n"))
    #expect(try text("greet").contains("      arguments: [\"greet 'Ada & Alan'\"]\n"))
    let checked = try await program.call("check", environment: ["DB_PASSWORD": "x"])
    #expect(checked.code == 0, "\(checked.error)")
    let again = try await program.shell("echo '@daily greet' | '\(Program.binary.path)' new recipe --from-crontab -")
    #expect(again.error.hasSuffix("\n1 recipe written\n"), "\(again.error)")
    #expect(again.code == 0, "\(again.error)")
    #expect(again.out == "recipes/greet-2.yaml\n")
    let empty = try await program.shell("echo | '\(Program.binary.path)' new recipe --from-crontab -")
    #expect(empty.code == 66)
    #expect(empty.error == "error: '-' has no line with a command\n")
    await program.remove()
  }

  @Test func `names that are words of YAML make recipes that check`() async throws {
    let names = [
      "true", "false", "null", "TRUE", "Null", "12", "007", "1e3", "0x1F", "0o17", "1_000", "no", "off", "y", "n", "-",
      "--", "-1", "2026-11-20", "nan", "inf", "_",
    ]
    let program = try await Program()
    try program.write("zone: UTC\n", to: "errand.yaml")
    let lines = names.map { "0 3 * * * /opt/\($0) --all\n" }
    try program.write("null=1\ntrue=no\nON=off\n" + lines.joined(), to: "tab")
    let made = try await program.call("new", "recipe", "--from-crontab", "tab")
    #expect(made.code == 0, "\(made.error)")
    #expect(made.error.hasSuffix("\n\(names.count) recipes written\n"), "\(made.error)")
    let checked = try await program.call("check")
    #expect(checked.code == 0, "\(checked.error)")
    #expect(checked.error.hasSuffix("\(names.count) recipes checked, no faults\n"), "\(checked.error)")
    await program.remove()
  }

  /// A command gets cron's environment: HOME as its folder, cron's umask, PATH and shell, and no terminal.
  @Test func `a command runs as under cron`() async throws {
    let program = try await Program()
    let home = program.folder.appending(path: "home").path
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    try program.write("zone: UTC\n", to: "errand.yaml")
    let outer = FileManager.default.temporaryDirectory.appending(path: "errand-home-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: outer, withIntermediateDirectories: true)
    let words = #"echo "$PWD|$(umask)|$PATH|$SHELL|$HOME|$0" | sed 's/|00/|0/' > said"#
    try program.write(
      """
      0 1 * * * \(words)
      HOME=\(outer.path)
      SHELL=/bin/bash
      PATH=/opt/x:/usr/bin:/bin
      0 2 * * * exec 2>&1; \(words)
      """, to: "tab")
    let made = try await program.call("new", "recipe", "--from-crontab", "tab", environment: ["HOME": home])
    #expect(made.code == 0, "\(made.error)")
    for name in ["echo", "exec"] {
      let run = try await program.shell("umask 077; '\(Program.binary.path)' run recipes/\(name).yaml")
      #expect(run.code == 0, "\(run.error)")
    }
    #expect(
      try String(contentsOfFile: "\(home)/said", encoding: .utf8)
        == "\(home)|022|/usr/bin:/bin|/bin/sh|\(home)|/bin/sh\n")
    #expect(
      try String(contentsOf: outer.appending(path: "said"), encoding: .utf8)
        == "\(outer.path)|022|/opt/x:/usr/bin:/bin|/bin/bash|\(outer.path)|/bin/bash\n")
    try FileManager.default.removeItem(at: outer)
    await program.remove()
  }

  @Test func `what the machine's cron would do otherwise is said`() async throws {
    let program = try await Program()
    try program.write("zone: Asia/Tokyo\n", to: "errand.yaml")
    try program.write("RANDOM_DELAY=7\n0 1 * * * root x\n", to: "tab")
    let made = try await program.call(
      "new", "recipe", "--from-crontab", "tab", "--user-column", environment: ["TZ": "UTC"])
    #expect(made.code == 0, "\(made.error)")
    let text = try program.read("recipes/x.yaml")
    #expect(
      text.contains("    zone: UTC # the machine's, by which cron goes; that of errand.yaml is Asia/Tokyo\n"), "\(text)"
    )
    #expect(text.contains("    jitter: 7m # cron's RANDOM_DELAY\n"))
    #expect(text.contains("        HOME: \"/root\"\n"))
    #expect(text.contains("  # cron mailed its output to 'root'; here 'errand runs logs' shows it\n"))
    await program.remove()
  }

  /// The variables that are taken out of a recipe, and the lines that have a note, for a crontab.
  private static func secrets(_ text: String) -> [String] {
    Crontab(text, hasUsers: false).jobs.flatMap(\.remarks).filter { !$0.text.hasPrefix("cron ") }.map { remark in
      let words = remark.text.split(separator: " ")
      return "\(remark.line) \(words[1] == "value" ? String(words[3]) : "command")"
    }
  }

  @Test(arguments: [
    ("MYSQL_PWD=abc\n\n@daily x", ["1 MYSQL_PWD"]), ("PASS=1\nDB_PASS=2\n@daily x", ["1 PASS", "2 DB_PASS"]),
    ("AWS_ACCESS_KEY_ID=a\nAWS_SECRET_ACCESS_KEY=b\n@daily x", ["1 AWS_ACCESS_KEY_ID", "2 AWS_SECRET_ACCESS_KEY"]),
    ("BORG_PASSPHRASE=a b\n@daily x", ["1 BORG_PASSPHRASE"]),
    ("DATABASE_URL=postgres://u:pw@h/db\n@daily x", ["1 DATABASE_URL"]),
    ("REPO=https://ghp_abcdefghijklmnopqrstuvwxyz0123456789@github.com/x\n@daily x", ["1 REPO"]),
    ("HOOK=ghp_abcdefghijklmnopqrstuvwxyz0123456789\n@daily x", ["1 HOOK"]),
    ("PWD=/srv\nSSH_KEY_FILE=/k\nTOKEN=\nURL=https://ana@example.org:8080/a:b@c\n@daily x", []),
    ("KEYBOARD=de\nPASSENGERS=3\nTZ=UTC\n@daily x", []),
    ("\n@daily mysqldump -psecret db", ["2 command"]), ("@daily sshpass -pabc ssh h", ["1 command"]),
    ("@daily curl -H 'Authorization: Bearer abcdefghijkl' http://x", ["1 command"]),
    ("@daily curl -u ana:pw http://x", ["1 command"]), ("@daily curl http://u:pw@h/", ["1 command"]),
    ("@daily PASS=xyz123 run", ["1 command"]), ("@daily run --token=abcdef --x", ["1 command"]),
    ("@daily run --password abcdef", ["1 command"]), ("@daily x%postgres://u:pw@h/db", ["1 command"]),
    ("@daily mkdir -p /srv/a && ssh -p22 h", []), ("@daily curl -H \"Authorization: Bearer $TOKEN\" http://x", []),
    ("@daily PASS=$OTHER run --token=`cat t` --key=/etc/k --key 2", []), ("@daily docker run -u 1000:1000 x", []),
    ("@daily mysql -p$MYSQL_PWD db", []), ("@daily git clone ssh://git@github.com/x", []),
  ])
  func `what looks like a secret is taken out of variables, and remarked in commands`(
    _ text: String, _ expected: [String]
  ) {
    #expect(CrontabTests.secrets(text) == expected)
  }

  @Test func `a carriage return within a line ends nothing`() {
    let tab = Crontab("@daily a\r\n@daily /bin/rm -rf /old\r/keep\n@daily b", hasUsers: false)
    #expect(tab.jobs.map(\.command) == ["a", "b"])
    #expect(tab.faults.map { "\($0.line) \($0.message)" } == ["2 a control character is in the line"])
  }

  @Test(arguments: [
    ("Europe/Berlin", "UTC", "UTC # the machine's, by which cron goes; that of errand.yaml is Europe/Berlin"),
    ("UTC", "America/New_York", "America/New_York # the machine's, by which cron goes; that of errand.yaml is UTC"),
    ("Asia/Tokyo", "Asia/Tokyo", "Asia/Tokyo"),
  ])
  func `times are those of the machine's zone`(_ folder: String, _ machine: String, _ zone: String) async throws {
    let program = try await Program()
    try program.write("zone: \(folder)\n", to: "errand.yaml")
    try program.write("0 2 * * * hi\nCRON_TZ=Asia/Kolkata\n0 3 * * * ho\n", to: "tab")
    let made = try await program.call("new", "recipe", "--from-crontab", "tab", environment: ["TZ": machine])
    #expect(made.code == 0, "\(made.error)")
    #expect(try program.read("recipes/hi.yaml").contains("    zone: \(zone)\n"))
    #expect(try program.read("recipes/ho.yaml").contains("    zone: Asia/Kolkata\n"))
    await program.remove()
  }

  @Test func `a command that its shell expands has no warning`() async throws {
    let program = try await Program()
    try program.write("0 2 * * * echo $PATH ${HOME} \"$USER\"\n", to: "tab")
    let made = try await program.call("new", "recipe", "--from-crontab", "tab")
    #expect(made.code == 0, "\(made.error)")
    let checked = try await program.call("check")
    #expect(checked.error + checked.out == "1 recipe checked, no faults\n")
    await program.remove()
  }
}
