import Basics

// How a crontab is read, after crontab(5) of Debian's cron, and what each line is as a recipe.
//
//     NAME = value                       a variable of the lines that follow; quotes around either part are removed
//     30 2 * * *  command                five fields, or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly
//     30 2 * * *  user  command          in the system's own crontabs, `/etc/crontab` and those of `/etc/cron.d`
//
// In a command the first `%` ends what the shell gets; what follows is its standard input, in which `%` is a line break.
// `\%` is a plain percent sign. Of the variables, CRON_TZ is the zone of the times, SHELL is the program that reads the
// command, and MAILTO gets its output; all others are the command's environment.

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
    var variables: [(name: String, value: String)]
  }

  private(set) var jobs: [Job] = []
  /// What can't be a recipe, by the numbers of the lines.
  private(set) var faults: [(line: Int, message: String)] = []

  /// - Parameter hasUsers: Whether each line names the user that it runs as.
  init(_ text: String, hasUsers: Bool) {
    var variables: [(name: String, value: String)] = []
    var comment: String?
    for (index, raw) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let line = String(raw).trimmed
      if line.hasPrefix("#") {
        comment = String(line.drop { $0 == "#" }).trimmed
        continue
      }
      defer { comment = nil }
      if line.isEmpty { continue }
      if let (name, value) = Crontab.variable(line) {
        variables.removeAll { $0.name == name }
        variables.append((name, value))
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

  /// What the shell gets, and what the command reads.
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
  /// A name for the recipe, from the command's first word.
  var name: String {
    var words = command.split { " \t;|&<>()\"'".contains($0) }.drop { $0.contains("=") }
    // What is done there says more than the folder.
    if words.first == "cd", words.count > 2 { words = words.dropFirst(2) }
    let word = words.first ?? ""
    let file = word.split(separator: "/").last.map(String.init) ?? ""
    let stem = file.firstIndex(of: ".").map { String(file[..<$0]) } ?? file
    let name = String(stem.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }.prefix(60))
    return name.isEmpty ? "job" : name
  }

  /// Why there is no recipe for it; nil if there can be one.
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

  /// Remarks about what is not the same as with cron.
  var remarks: [String] {
    var remarks: [String] = []
    if let user { remarks.append("cron ran it as '\(user)'; commands run as the user that runs errand") }
    if let address = value("MAILTO"), !address.isEmpty {
      remarks.append("cron mailed its output to \(address); add 'onFailure' with mail.send or notify.ntfy")
    }
    for name in secretNames {
      remarks.append("the value of \(name) was left out; put it where errand.yaml says under 'secrets'")
    }
    return remarks
  }

  /// The variables that are secrets by their names, which do not belong in a recipe.
  private var secretNames: [String] {
    environment.map(\.name).filter { name in
      ["PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "KEY"].contains(where: name.uppercased().hasSuffix)
    }
  }

  /// The variables of the command's environment.
  private var environment: [(name: String, value: String)] {
    variables.filter { !["CRON_TZ", "MAILTO", "MAILFROM", "SHELL", "RANDOM_DELAY"].contains($0.name) }
  }

  /// The recipe.
  func recipe(named name: String, file: String, zone: String) -> String {
    var lines = ["recipe: \(name)"]
    lines.append("summary: \(JSON.quoted(comment ?? "Runs the command of line \(line) of \(file)."))")
    lines += ["", "on:", "  - cron: \(JSON.quoted(times))", "    zone: \(self.zone ?? zone)", "", "steps:"]
    lines += remarks.map { "  # \($0)" }
    lines += ["  - uses: shell.run", "    with:"]
    lines.append(
      "      effect: write # idempotentWrite, if it does no harm twice: then it is tried again after a crash")
    let shell = value("SHELL") ?? "/bin/sh"
    if shell == "/bin/sh" {
      lines.append("      script: \(JSON.quoted(command))")
    } else {
      lines += ["      program: \(JSON.quoted(shell))", "      arguments: [-c, \(JSON.quoted(command))]"]
    }
    let secrets = secretNames
    let plain = environment.filter { !secrets.contains($0.name) }
    if !plain.isEmpty {
      lines.append("      environment:")
      lines += plain.map { "        \($0.name): \(JSON.quoted($0.value))" }
    }
    if !secrets.isEmpty {
      lines.append("      secretEnvironment:")
      lines += secrets.map { "        \($0): ${{ secrets.\($0) }}" }
    }
    if let input { lines.append("      input: \(JSON.quoted(input))") }
    return lines.joined(separator: "\n") + "\n"
  }
}
