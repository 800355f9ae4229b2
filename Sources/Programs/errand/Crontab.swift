import AgentRuntime
import Basics
import Calendars
import Glibc
import PluginLocks
import Recipes
import YAMLReader

// How a crontab is read, after crontab(5) of Debian's cron, and how each line becomes a recipe.
//
//     NAME = value                       a variable of the lines that follow; quotes around either part are removed
//     30 2 * * *  command                five fields, or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly
//     30 2 * * *  user  command          in the system's own crontabs, `/etc/crontab` and those of `/etc/cron.d`
//
// In a command, the first `%` ends the shell's text; the rest is its standard input, and further `%` in it are line
// breaks. `\%` is a plain percent sign. Three variables are special: CRON_TZ is the zone of the times, SHELL is the
// program that reads the command, and MAILTO gets its output. All others are the command's environment.
//
// Where cron's behaviour differs from Errand's, the recipe states it, with a comment: the command has no time-out,
// works in HOME with the umask 022 and cron's environment, is read by SHELL, may run beside itself, has no catch-up,
// and succeeds whatever its exit code is.

/// The lines of a crontab.
struct Crontab {
  /// One line that starts a command.
  struct Job {
    /// The number of the line, from 1.
    var line: Int
    /// The comment above it.
    var comment: String?
    /// The five fields, or a word such as `@daily`.
    var times: String
    var user: String?
    var command: String
    var input: String?
    var variables: [Variable]
  }

  /// A variable of the lines that follow it.
  struct Variable {
    /// The number of its line, from 1.
    var line: Int
    var name: String
    var value: String
  }

  private(set) var jobs: [Job] = []
  /// The lines that can't become recipes, by their numbers.
  private(set) var faults: [(line: Int, message: String)] = []

  /// - Parameter hasUsers: Whether each line names the user that it runs as.
  init(_ text: String, hasUsers: Bool) {
    var variables: [Variable] = []
    var comment: String?
    // Nothing else ends a line for cron, which takes a carriage return within one as a part of its command.
    let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    for (index, raw) in lines.enumerated() {
      let line = String(raw).trimmed
      if line.hasPrefix("#") {
        comment = String(line.drop { $0 == "#" }).trimmed
        continue
      }
      defer { comment = nil }
      if line.isEmpty { continue }
      if line.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" }) {
        faults.append((index + 1, "a control character is in the line"))
        continue
      }
      if let (name, value) = Crontab.variable(line) {
        variables.removeAll { $0.name == name }
        variables.append(Variable(line: index + 1, name: name, value: value))
        continue
      }
      let count = line.hasPrefix("@") ? 1 : 5
      var fields = Crontab.words(line, count: count + (hasUsers ? 1 : 0))
      let rest = fields.removeLast()
      guard fields.count == count + (hasUsers ? 1 : 0), !rest.isEmpty else {
        let form = (count == 1 ? "a word such as @daily" : "five fields") + (hasUsers ? ", a user" : "")
        faults.append((index + 1, "a line has \(form) and a command"))
        continue
      }
      let (command, input) = Crontab.parts(ofCommand: rest)
      jobs.append(
        Job(
          line: index + 1, comment: comment.flatMap { $0.isEmpty ? nil : $0 },
          times: fields.prefix(count).joined(separator: " "), user: hasUsers ? fields.last : nil, command: command,
          input: input, variables: variables))
    }
  }

  /// The first words of a line, and then the rest of it.
  private static func words(_ line: String, count: Int) -> [String] {
    var rest = line[...]
    var words: [String] = []
    while words.count < count {
      let word = rest.prefix { $0 != " " && $0 != "\t" }
      if word.isEmpty { break }
      words.append(String(word))
      rest = rest.dropFirst(word.count).drop { $0 == " " || $0 == "\t" }
    }
    return words + [String(rest)]
  }

  /// The variable that a line sets, if it sets one.
  private static func variable(_ line: String) -> (name: String, value: String)? {
    guard let sign = line.firstIndex(of: "=") else { return nil }
    let name = unquoted(String(line[..<sign]).trimmed)
    let isName = name.utf8.allSatisfy {
      ASCII.digits ~= $0 || ASCII.uppercase ~= $0 || ASCII.lowercase ~= $0 || $0 == ASCII.underscore
    }
    guard isName, let first = name.utf8.first, !(ASCII.digits ~= first) else { return nil }
    return (name, unquoted(String(line[line.index(after: sign)...]).trimmed))
  }

  private static func unquoted(_ text: String) -> String {
    guard text.count >= 2, let quote = text.first, quote == "\"" || quote == "'", text.last == quote else {
      return text
    }
    return String(text.dropFirst().dropLast())
  }

  /// The shell's text, and the command's standard input.
  private static func parts(ofCommand text: String) -> (command: String, input: String?) {
    var parts = [""]
    var characters = text[...]
    while let character = characters.popFirst() {
      if character == "\\", characters.first == "%" {
        characters.removeFirst()
        parts[parts.count - 1].append("%")
      } else if character == "%" {
        parts.append("")
      } else {
        parts[parts.count - 1].append(character)
      }
    }
    let input = parts.dropFirst().joined(separator: "\n")
    return (parts[0].trimmed, parts.count > 1 ? input + "\n" : nil)
  }
}

extension Crontab.Job {
  /// A name for the recipe, from the command's first word, with its letters converted to ASCII where possible.
  var name: String {
    var words = CrontabWords(command).words.drop { $0.contains("=") }
    // The command after `cd` says more than the folder.
    if words.first == "cd", words.count > 2 { words = words.dropFirst(2) }
    let file = words.first?.split(separator: "/").last ?? ""
    let stem = file.prefix { $0 != "." }
    var name = ""
    for scalar in ActionName.written(stem) {
      let part = scalar == " " ? "-" : String(scalar)
      if name.utf8.count < 60, Recipe.isName(part) { name += part }
    }
    return name.isEmpty ? "job" : name
  }

  /// The reason why it can't become a recipe; nil if it can.
  var obstacle: String? {
    if times.hasPrefix("@reboot") {
      return "nothing here starts when the machine does; let systemd run 'errand run RECIPE' after errand.service"
    }
    if ([command, input ?? ""] + variables.map(\.value)).contains(where: { $0.contains("${{") }) {
      return "the command holds ${{, which begins an expression here"
    }
    return command.isEmpty ? "there is no command" : nil
  }

  private var zone: String? { value("CRON_TZ").flatMap { $0.isEmpty ? nil : $0 } }

  private func value(_ name: String) -> String? { variables.last { $0.name == name }?.value }

  /// Remarks about differences from cron that the recipe can't remove, with the numbers of the lines.
  var remarks: [(line: Int, text: String)] {
    var remarks: [(line: Int, text: String)] = []
    if let user { remarks.append((line, "cron ran it as '\(user)'; commands run as the user that runs errand")) }
    if let address = value("MAILTO"), !address.isEmpty {
      remarks.append((line, "cron mailed its output to \(address); add 'onFailure' with mail.send or notify.ntfy"))
    }
    for secret in secrets {
      remarks.append(
        (secret.line, "the value of \(secret.name) was left out; put it where errand.yaml says under 'secrets'"))
    }
    if CrontabWords(command).holdsCredential || CrontabWords(input ?? "").holdsCredential {
      remarks.append(
        (
          line,
          "the command holds what looks like a secret; put it where errand.yaml says under 'secrets', and hand it over in "
            + "'secretEnvironment'"
        ))
    }
    return remarks
  }

  /// The variables that are secrets by their names or values, which do not belong in a recipe.
  private var secrets: [Crontab.Variable] {
    given.filter { variable in
      !variable.value.isEmpty && (variable.name.isNameOfSecret || CrontabWords.isCredential(variable.value))
    }
  }

  /// The variables that the crontab gives the command.
  private var given: [Crontab.Variable] {
    variables.filter { !["CRON_TZ", "MAILTO", "MAILFROM", "RANDOM_DELAY"].contains($0.name) }
  }

  /// The command's environment: cron's own variables, overridden and extended by the crontab's.
  private func environment(_ account: CronAccount) -> [(name: String, value: String, comment: String)] {
    var all = [
      ("HOME", account.home, ""), ("LANG", account.language, " # cron takes it from /etc/default/locale, or sets none"),
      ("LOGNAME", account.name, ""), ("PATH", "/usr/bin:/bin", ""), ("SHELL", "/bin/sh", ""),
    ]
    for variable in given {
      all.removeAll { $0.0 == variable.name }
      all.append((variable.name, variable.value, ""))
    }
    return all
  }

  /// A zone as the recipe has it; one that isn't known is quoted, for the check to refuse.
  private static func written(_ zone: String) -> String {
    (try? TimeZoneDatabase.system.rules(named: zone)) == nil ? JSON.quoted(zone) : zone
  }

  /// The recipe.
  ///
  /// - Parameter remark: A remark for the reader about the zone; empty if there is none.
  func recipe(named name: String, file: String, zone: String, _ account: CronAccount, remark: String = "") -> String {
    var lines = ["recipe: \(name.asYAML)"]
    lines.append("summary: \(JSON.quoted(comment ?? "Runs the command of line \(line) of \(file)."))")
    lines += [
      "", "# Where cron differs from Errand, its behaviour is written out here, so that the command runs as it did.",
      "on:",
    ]
    lines.append("  - cron: \(JSON.quoted(times))")
    lines.append("    zone: \(self.zone.map(Crontab.Job.written) ?? zone + (remark.isEmpty ? "" : " # \(remark)"))")
    lines.append("    overlap: allowAll # as cron; 'skip' leaves out a time while the previous run is open")
    lines.append("    catchup: none # as cron; 'last' makes up for times without a running agent")
    if let minutes = value("RANDOM_DELAY").flatMap({ Int($0) }), minutes > 0 {
      lines.append("    jitter: \(minutes)m # cron's RANDOM_DELAY")
    }
    lines += ["", "steps:"] + remarks.map { "  # \($0.text)" }
    if value("MAILTO") == nil {
      lines.append("  # cron mailed its output to '\(account.name)'; here 'errand runs logs' shows it")
    }
    lines += [
      "  - uses: shell.run", "    timeout: 7d # cron has none; without this one it would be ended after 5m",
      "    with:",
    ]
    lines.append(
      "      effect: write # idempotentWrite, if it does no harm twice: then it is tried again after a crash")
    lines.append("      expect: [0] # cron ignores the exit code; any other fails the run")
    lines.append(
      "      # In HOME, with cron's umask, read by SHELL. More than 1 MiB of output fails the run: 'maxOutputBytes' of")
    lines.append("      # the connection raises that.")
    lines.append("      script: cd \"$HOME\" && umask 022 && exec \"$SHELL\" -c \"$1\"")
    lines.append("      arguments: [\(JSON.quoted(command))]")
    let secrets = secrets.map(\.name)
    lines.append("      environment:")
    for variable in environment(account) where !secrets.contains(variable.name) {
      lines.append("        \(variable.name.asYAML): \(JSON.quoted(variable.value))\(variable.comment)")
    }
    if !secrets.isEmpty {
      lines.append("      secretEnvironment:")
      lines += secrets.map { "        \($0.asYAML): ${{ secrets.\($0) }}" }
    }
    if let input { lines.append("      input: \(JSON.quoted(input))") }
    return lines.joined(separator: "\n") + "\n"
  }
}

/// The account whose command cron runs.
struct CronAccount {
  var name: String
  var home: String
  /// The locale of commands: the machine's, or Errand's own.
  var language: String

  /// The account that a line of a system crontab names, or this process's own.
  init(_ user: String?) {
    let entry = user.map { getpwnam($0) } ?? getpwuid(geteuid())
    let listed = entry.flatMap { $0.pointee.pw_dir }.map { String(cString: $0) }
    name = user ?? entry.flatMap { $0.pointee.pw_name }.map { String(cString: $0) } ?? "\(geteuid())"
    home = (user == nil ? String(environment: "HOME") : nil) ?? listed ?? "/"
    language = CronAccount.machineLanguage ?? "C.UTF-8"
  }

  /// The locale that the system's file names, which cron hands to commands.
  private static var machineLanguage: String? {
    guard let bytes = try? Files.read("/etc/default/locale", limit: 1 << 16) else { return nil }
    for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
      let text = String(line).trimmed
      guard text.hasPrefix("LANG=") else { continue }
      let value = text.dropFirst(5).filter { $0 != "\"" && $0 != "'" }
      if !value.isEmpty { return value }
    }
    return nil
  }
}

// Finds likely credentials in a crontab. It guesses: a find in a variable is taken out, and a find in a command is
// remarked. So a false one costs a line of errand.yaml or a look, and a missed one stays in the file.
//
// A name is a secret's if one of its parts says so, as in `MYSQL_PWD` and `AWS_ACCESS_KEY_ID`, unless its last part
// says that it only leads to one, as in `SSH_KEY_FILE`. A value is a secret if it is an address with a password, or
// begins like the tokens of a service. In a command, options and headers have names, too, and some programs have a form
// of their own for passwords.

/// The words of a command.
struct CrontabWords {
  /// The words, without their quotes.
  let words: [String]

  /// Divides a command as a shell does, as far as its words count.
  init(_ command: String) {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var isEscaped = false
    for character in command {
      if isEscaped || quote.map({ $0 != character && (character != "\\" || $0 == "'") }) == true {
        word = (word ?? "") + String(character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if quote != nil {
        quote = nil
      } else if character == "\"" || character == "'" {
        quote = character
        word = word ?? ""
      } else if " \t;|&<>()".contains(character) {
        if let word { words.append(word) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    self.words = words + (word.map { [$0] } ?? [])
  }

  /// Whether a credential seems to be among them.
  var holdsCredential: Bool {
    let programs = Set(words.map { $0.split(separator: "/").last.map { String($0) } ?? "" })
    let takesPassword = !programs.isDisjoint(with: CrontabWords.takingPassword)
    var before = ""
    for word in words {
      defer { before = word }
      if CrontabWords.isCredential(word) { return true }
      if takesPassword, word.hasPrefix("-p"), word.dropFirst(2).isWrittenOut { return true }
      if programs.contains("curl"), ["-u", "--user"].contains(before), word.drop(while: { $0 != ":" }).count > 1,
        word.isWrittenOut
      {
        return true
      }
      let name = word.prefix { $0 != "=" && $0 != ":" }
      let isHeader = ["authorization", "cookie"].contains(name.lowercased())
      if isHeader || String(name).isNameOfSecret, word.dropFirst(name.count + 1).isLikeSecret { return true }
      if before.hasPrefix("--"), !before.contains("="), before.isNameOfSecret, word.isLikeSecret { return true }
    }
    return false
  }

  /// Programs whose `-p` has a password behind it.
  private static let takingPassword = [
    "mysql", "mysqldump", "mysqladmin", "mysqlcheck", "mysqlimport", "mysqlshow", "mariadb", "mariadb-dump",
    "mariadb-admin", "sshpass",
  ]

  /// How tokens of well-known services begin.
  private static let beginnings = [
    "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "sk-", "sk_live_", "AKIA", "eyJ",
  ]

  /// Whether a text is a token, or an address with a password or token in it.
  static func isCredential(_ text: String) -> Bool {
    if isToken(text) { return true }
    var rest = text[...]
    while let colon = rest.firstIndex(of: ":") {
      rest = rest[rest.index(after: colon)...]
      guard rest.hasPrefix("//") else { continue }
      let authority = rest.dropFirst(2).prefix { !"/?#".contains($0) }
      guard let sign = authority.lastIndex(of: "@") else { continue }
      let user = authority[..<sign]
      let password = user.firstIndex(of: ":").map { user[user.index(after: $0)...] }
      if password?.isWrittenOut == true || isToken(user) { return true }
    }
    return false
  }

  private static func isToken(_ text: some StringProtocol) -> Bool {
    text.utf8.count >= 20 && beginnings.contains { text.hasPrefix($0) }
      && text.utf8.allSatisfy {
        ASCII.lowercase.contains($0 | 0x20) || ASCII.digits.contains($0) || "_-.+/=".utf8.contains($0)
      }
  }
}

extension String {
  /// Whether a variable, an option or a header of that name is mostly a secret.
  var isNameOfSecret: Bool {
    let parts = uppercased().split { $0 == "_" || $0 == "-" }
    guard let last = parts.last, parts.count > 1 || !["PWD", "OLDPWD"].contains(last),
      !["FILE", "PATH", "DIR", "FOLDER", "COMMAND"].contains(last)
    else { return false }
    return parts.contains { ["PWD", "PASS", "KEY", "TOKEN", "SECRET"].contains($0) }
      || ["PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PWD", "KEY", "SECRET", "TOKEN"].contains { last.hasSuffix($0) }
  }
}

extension StringProtocol {
  /// Whether it is a value, not a reference to a variable or a command.
  fileprivate var isWrittenOut: Bool { !isEmpty && !contains("$") && !contains("`") }

  /// Whether it is a value as of a secret: neither short, such as a number, nor a path.
  fileprivate var isLikeSecret: Bool {
    let text = drop { $0 == " " }
    return text.isWrittenOut && text.utf8.count >= 4 && text.first.map { !"/~.".contains($0) } == true
  }
}
