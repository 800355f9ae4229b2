// Completion scripts. A script has no words of its own: it passes the typed words to `program completions SHELL -- …`,
// and inserts the answer. So all shells offer the same, and a script stays right when the program is replaced.
//
// The first line of an answer names its kind: `words`, each on a line of its own; `open`, the same, but each word is
// only the beginning of an argument, so no blank follows it; or `files` and `folders`, which the shell finds. zsh and
// fish show a summary beside a word; a colon separates the two for zsh, and a tab for fish. A script evaluates nothing
// in an answer: names of runs and files are data, even if they look like commands. Words with control characters for
// terminals are left out.
//
// zsh and fish pass the words of the line without their quotes, and quote the words that they insert. bash passes the
// characters that it breaks words at, and the line, which is split here: bash replaces only the text after the last of
// these characters, or in an open quote, and inserts the answer unchanged.

import Basics

/// The shells that have a completion script.
package enum Shell: String, CaseIterable, Sendable {
  /// GNU Bash; it sources the script.
  case bash
  /// Z shell; it sources the script, or loads it as `_program` from a folder of `$fpath`.
  case zsh
  /// fish; it sources the script, or loads it as `program.fish` from `~/.config/fish/completions`.
  case fish
}

extension Command {
  /// The script that completes this program's command line.
  package func completions(for shell: Shell) -> String {
    // Letters, digits and underscores.
    let function = "_" + String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    let head = "# Completes \(name) in \(shell.rawValue); made by '\(name) completions \(shell.rawValue)'."
    return switch shell {
    case .bash:
      """
      \(head)
      \(function)() {
        local kind=
        COMPREPLY=()
        { IFS= read -r kind; mapfile -t COMPREPLY; } < <(
          command \(name) completions bash -- "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
        case $kind in
          files) compopt -o default ;;
          folders) compopt -o dirnames ;;
          open) compopt -o nospace -o nosort ;;
          words) compopt -o nosort ;;
        esac 2>/dev/null
      }
      complete -F \(function) \(name)
      """
    case .zsh:
      """
      #compdef \(name)
      \(head)
      \(function)() {
        local kind
        local -a answer
        answer=("${(@f)$(command \(name) completions zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
        kind=$answer[1]
        shift answer
        case $kind in
          files) compset -P '--*='; _files ;;
          folders) compset -P '--*='; _files -/ ;;
          open) _describe -V word answer -S '' ;;
          words) (( $#answer )) && _describe -V word answer ;;
        esac
      }
      if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
        \(function) "$@"
      else
        compdef \(function) \(name)
      fi
      """
    case .fish:
      """
      \(head)
      function _\(function)
        set -l words (commandline -opc)
        set -e words[1]
        set -l word (commandline -ct)
        switch "$word"
          case "'*" '"*'
            set word (string sub -s 2 -- "$word")
          case '*'
            set word (string unescape -- "$word")
        end
        set -l answer (command \(name) completions fish -- $words "$word" 2>/dev/null)
        set -l kind "$answer[1]"
        set -e answer[1]
        switch $kind
          case files folders
            set -l lead (string match -r -- '^--[^=]*=' "$word")
            set word (string replace -r -- '^--[^=]*=' '' "$word")
            if test $kind = files
              set answer (__fish_complete_path "$word")
            else
              set answer (__fish_complete_directories "$word")
            end
            printf '%s\\n' "$lead"$answer
          case '*'
            printf '%s\\n' $answer
        end
      end
      complete -c \(name) -f -k -a '(_\(function))'
      """
    }
  }
}

/// A script's request, and the form of the answer.
package struct ShellCompletion: Sendable {
  /// The words after the program's name; the last one is at the cursor.
  package let words: [String]
  private let shell: Shell
  private let line: BashLine?

  /// - Parameter given: The words that the script hands over.
  package init(_ shell: Shell, _ given: [String]) {
    self.shell = shell
    line = shell == .bash ? BashLine(given.last ?? "", breaks: given.dropLast().last ?? "") : nil
    words = Array((line?.words ?? given).dropFirst(line == nil ? 0 : 1))
  }

  /// The answer, with a line break at its end.
  ///
  /// - Parameter listed: The program's candidates for the name at the cursor.
  package func answer(_ listed: [Candidate], at unfinished: UnfinishedLine) -> String {
    let candidates = unfinished.offers + listed
    let fitting = candidates.filter { $0.word.hasPrefix(unfinished.value) }
    if fitting.isEmpty, let path = unfinished.path { return "\(path)\n" }
    // zsh and fish may also match candidates that don't begin with the value.
    let displayed = shell == .bash ? fitting : candidates
    let kind = displayed.contains { $0.isOpen } ? "open" : "words"
    let lines = displayed.compactMap { candidate -> String? in
      let word = unfinished.lead + candidate.word
      let summary = candidate.summary.safe
      guard word.safe.hasSameScalars(as: word) else { return nil }
      switch shell {
      case .bash: return line?.insertion(of: word)
      case .zsh: return word.escaping(["\\", ":"]) + (summary.isEmpty ? "" : ":\(summary)")
      case .fish: return word + (summary.isEmpty ? "" : "\t\(summary)")
      }
    }
    return ([kind] + lines).map { "\($0)\n" }.joined()
  }
}

/// A command line as bash has it, up to the cursor.
struct BashLine {
  /// The words without their quotes; the last is the one at the cursor.
  private(set) var words = [""]
  /// The quote that is open at the cursor, and how much was kept before it.
  private var quote: Character?
  private var keptBefore = 0
  /// How many characters of the last word stay on the line, before the replaced part.
  private var kept = 0

  init(_ text: String, breaks: String) {
    var isWord = false
    var isEscaped = false
    for character in text {
      if isEscaped {
        isEscaped = false
      } else if character == "\\", quote != "'" {
        // Within double quotes some backslashes stand for themselves, which no name here needs.
        isEscaped = true
        continue
      } else if let open = quote {
        if character == open {
          // A word with a closed quote is replaced as a whole, from the last unquoted break on.
          (quote, kept) = (nil, keptBefore)
          continue
        }
      } else if character == "'" || character == "\"" {
        quote = character
        isWord = true
        keptBefore = kept
        kept = words[words.count - 1].count
        continue
      } else if character.isWhitespace {
        if isWord {
          words.append("")
          kept = 0
        }
        isWord = false
        continue
      } else if breaks.contains(character) {
        kept = words[words.count - 1].count + 1
      }
      isWord = true
      words[words.count - 1].append(character)
    }
  }

  /// Returns the text that completes the line to a word, without the kept part; nil if the open quote can't contain it.
  func insertion(of word: String) -> String? {
    let rest = String(word.dropFirst(kept))
    switch quote {
    case "'": return rest.reduce(into: "") { $0 += $1 == "'" ? "'\\''" : String($1) }
    // The history would take the place of a `!`, which a backslash doesn't prevent without staying itself.
    case "\"": return rest.contains("!") ? nil : rest.escaping(["\\", "\"", "$", "`"])
    default:
      let plain = Set("_./:=@%+,-")
      return rest.reduce(into: "") { text, character in
        let isPlain = character.isLetter || character.isNumber || plain.contains(character)
        text += isPlain ? String(character) : "\\\(character)"
      }
    }
  }
}

extension String {
  /// The text with a backslash before some characters.
  fileprivate func escaping(_ characters: Set<Character>) -> String {
    reduce(into: "") { $0 += characters.contains($1) ? "\\\($1)" : String($1) }
  }
}
