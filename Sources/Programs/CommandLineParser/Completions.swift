// Completion scripts. All three work alike: a loop walks over the words before the cursor and keeps in `at` the command
// that they lead to, as its words, each after a blank (" runs list", empty for the program); a table says for each
// command and word where it leads, and which options swallow the word after them. A second table offers the words that
// may follow. Values that are paths are left to the shell.

/// A shell for which a completion script can be written.
package enum Shell: String, CaseIterable, Sendable {
  /// GNU Bash, for which the script is sourced.
  case bash
  /// Z shell, for which it is sourced, or stored as `_program` in a folder of `$fpath`.
  case zsh
  /// fish, for which it is sourced, or stored as `program.fish` in `~/.config/fish/completions`.
  case fish
}

extension Command {
  /// The script that completes this program's command line.
  package func completions(for shell: Shell) -> String {
    let script = CompletionScript(program: name, routes: Route(self).all())
    return switch shell {
    case .bash: script.bash
    case .zsh: script.zsh
    case .fish: script.fish
    }
  }
}

private struct CompletionScript {
  let program: String
  let routes: [Route]

  /// The name of the program's function: letters, digits and underscores.
  private var function: String {
    "_" + String(program.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
  }

  // MARK: Bash

  var bash: String {
    """
    # Completes \(program) in bash; made by '\(program) completions bash'.
    \(function)() {
      local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} at= index=1 words=
      COMPREPLY=()
      while (( index < COMP_CWORD )); do
        case "$at ${COMP_WORDS[index]}" in
    \(table(indent: 6, steps { "at=\(quoted($0))" }, skips: "(( index += 1 ))"))
        esac
        (( index += 1 ))
      done
      if (( COMP_CWORD > 1 )); then
        case "$at $previous" in
    \(table(indent: 6, values { bashValue($0) }))
        esac
      fi
      case "$at" in
    \(table(indent: 4, routes.map { route in
      let paths = takesPaths(route) ? "; [[ $current == -* ]] || \(bashPaths("-f"))" : ""
      return ([at(route)], "words=\(quoted(offers(route).map(\.name).joined(separator: " ")))\(paths)")
    }))
      esac
      COMPREPLY+=($(compgen -W "$words" -- "$current"))
    }
    complete -F \(function) \(program)
    """
  }

  private func bashValue(_ form: Command.Form) -> String {
    switch form {
    case .choice(let choices):
      "COMPREPLY=($(compgen -W \(quoted(choices.joined(separator: " "))) -- \"$current\")); return"
    case .file: "\(bashPaths("-f")); return"
    case .folder: "\(bashPaths("-d")); return"
    case .text, .int, .duration, .timestamp: "return"
    }
  }

  /// Names with blanks stay whole, and folders get their slash.
  private func bashPaths(_ kind: String) -> String {
    "{ compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen \(kind) -- \"$current\"); }"
  }

  // MARK: Zsh

  var zsh: String {
    """
    #compdef \(program)
    # Completes \(program) in zsh; made by '\(program) completions zsh'.
    \(function)() {
      local at= index=2
      local -a commands options
      while (( index < CURRENT )); do
        case "$at $words[index]" in
    \(table(indent: 6, steps { "at=\(quoted($0))" }, skips: "(( index += 1 ))"))
        esac
        (( index += 1 ))
      done
      if (( CURRENT > 2 )); then
        case "$at $words[CURRENT-1]" in
    \(table(indent: 6, values { zshValue($0) }))
        esac
      fi
      case "$at" in
    \(table(indent: 4, routes.map { route in
      let (commands, options) = (commandOffers(route), optionOffers(route))
      let paths = takesPaths(route) ? "; [[ $PREFIX == -* ]] || _files" : ""
      return ([at(route)], "commands=(\(zshList(commands))) options=(\(zshList(options)))\(paths)")
    }))
      esac
      if [[ $PREFIX == -* ]]; then
        _describe -o option options
      else
        (( $#commands )) && _describe command commands
      fi
      return 0
    }
    if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
      \(function) "$@"
    else
      compdef \(function) \(program)
    fi
    """
  }

  private func zshValue(_ form: Command.Form) -> String {
    switch form {
    case .choice(let choices): "compadd -- \(choices.map(quoted).joined(separator: " ")); return"
    case .file: "_files; return"
    case .folder: "_files -/; return"
    case .text, .int, .duration, .timestamp: "return"
    }
  }

  private func zshList(_ offers: [Offer]) -> String {
    offers.map { quoted("\($0.name.replacing(":", "\\:")):\($0.summary)") }.joined(separator: " ")
  }

  // MARK: Fish

  var fish: String {
    var lines = [
      """
      # Completes \(program) in fish; made by '\(program) completions fish'.
      function _\(function)_at
        set -l at
        set -l words (commandline -opc)
        set -e words[1]
        while set -q words[1]
          switch "$at $words[1]"
      \(fishTable(indent: 6))
          end
          set -e words[1]
        end
        test "$at" = "$argv[1]"
      end
      complete -c \(program) -f
      """
    ]
    for route in routes {
      let start = "complete -c \(program) -n \(fishQuoted("_\(function)_at \(fishQuoted(at(route)))"))"
      lines += commandOffers(route).map { "\(start) -a \($0.name) -d \(fishQuoted($0.summary))" }
      if takesPaths(route) { lines.append("\(start) -F") }
      lines += (route.options + [Command.help]).map { option in
        var line = "\(start) -l \(option.name)" + (option.short.map { " -s \($0)" } ?? "")
        switch option.value?.form {
        case nil: break
        case .choice(let choices): line += " -x -a \(fishQuoted(choices.joined(separator: " ")))"
        case .file: line += " -r -F"
        case .folder: line += " -x -a '(__fish_complete_directories)'"
        case .text, .int, .duration, .timestamp: line += " -x"
        }
        return line + " -d \(fishQuoted(option.summary))"
      }
    }
    return lines.joined(separator: "\n")
  }

  private func fishTable(indent: Int) -> String {
    let blanks = String(repeating: " ", count: indent)
    let rows = steps { "set at \(fishQuoted($0))" } + [(skipping, "set -e words[1]")]
    return rows.filter { !$0.0.isEmpty }
      .map { "\(blanks)case \($0.0.map(fishQuoted).joined(separator: " "))\n\(blanks)  \($0.1)" }
      .joined(separator: "\n")
  }

  // MARK: Tables

  /// The words that may be at the cursor.
  private struct Offer {
    var name: String
    var summary: String
  }

  private func at(_ route: Route) -> String { route.path.map { " " + $0 }.joined() }

  private func commandOffers(_ route: Route) -> [Offer] {
    route.command.subcommands.map { Offer(name: $0.name, summary: $0.summary) }
  }

  private func optionOffers(_ route: Route) -> [Offer] {
    (route.options + [Command.help]).map { Offer(name: "--\($0.name)", summary: $0.summary) }
  }

  private func offers(_ route: Route) -> [Offer] { commandOffers(route) + optionOffers(route) }

  private func takesPaths(_ route: Route) -> Bool {
    route.command.arguments.contains { argument in
      switch argument.form {
      case .file, .folder: true
      default: false
      }
    }
  }

  /// Rows that lead from one command to another.
  private func steps(_ action: (String) -> String) -> [([String], String)] {
    routes.dropFirst().map { ([at($0)], action(at($0))) }
  }

  /// The spellings of the options that have a value, each after its command.
  private func spellings(_ option: Command.Option, _ route: Route) -> [String] {
    (["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])).map { "\(at(route)) \($0)" }
  }

  private var skipping: [String] {
    routes.flatMap { route in route.options.filter { $0.value != nil }.flatMap { spellings($0, route) } }
  }

  /// Rows that offer the values of options; a name means the same below the command that declares it.
  private func values(_ action: (Command.Form) -> String) -> [([String], String)] {
    var rows: [(names: [String], action: String)] = []
    for route in routes {
      for option in route.options {
        guard let value = option.value else { continue }
        let action = action(value.form)
        if let row = rows.firstIndex(where: { $0.action == action }) {
          rows[row].names += spellings(option, route)
        } else {
          rows.append((spellings(option, route), action))
        }
      }
    }
    return rows.map { ($0.names, $0.action) }
  }

  /// The arms of a `case` in bash and zsh.
  private func table(indent: Int, _ rows: [([String], String)], skips: String? = nil) -> String {
    let blanks = String(repeating: " ", count: indent)
    return (rows + (skips.map { [(skipping, $0)] } ?? []))
      .filter { !$0.0.isEmpty }
      .map { "\(blanks)\($0.0.map(quoted).joined(separator: " | "))) \($0.1) ;;" }
      .joined(separator: "\n")
  }

  private func quoted(_ text: String) -> String { "'" + text.replacing("'", "'\\''") + "'" }

  private func fishQuoted(_ text: String) -> String {
    "'" + text.replacing("\\", "\\\\").replacing("'", "\\'") + "'"
  }
}

extension String {
  /// The text with each occurrence of a character replaced.
  fileprivate func replacing(_ character: Character, _ replacement: String) -> String {
    reduce(into: "") { $0 += $1 == character ? replacement : String($1) }
  }
}
