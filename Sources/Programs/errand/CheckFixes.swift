import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import Recipes

extension Dispatch {
  /// Applies the fixes that leave no doubt to recipes and tests, and shows them as a diff.
  ///
  /// - Returns: The texts that files have or, if nothing may be written, would have; and why files weren't written.
  func mend(_ paths: [String], _ workspace: Workspace) -> MendedFiles {
    let isTrial = parsed["dry-run"].isGiven
    var result = MendedFiles()
    var (fixCount, fileCount) = (0, 0)
    /// What was read of each file, by its path without links, because one may be named twice.
    var known: [String: [UInt8]] = [:]
    // A test is checked against its recipe.
    let (tests, recipes) = (paths.filter(RecipeTestFile.isName), paths.filter { !RecipeTestFile.isName($0) })
    for path in recipes + tests {
      let place = Dispatch.realPath(path) ?? path
      if let text = known[place] {
        result.texts[path] = Source(name: path, bytes: text)
        continue
      }
      let environment = workspace.environmentOfChecks(of: path, with: result.texts)
      // What can't be read is told where it is checked.
      guard let source = try? environment.read(path) else { continue }
      // A pipe can't be read again.
      (result.texts[path], known[place]) = (source, source.bytes)
      let time = SystemTime()
      let start = time.elapsed()
      let mending = Mending(source.bytes) {
        time.elapsed() - start < Dispatch.longestMending
      } check: {
        Dispatch.faults(of: Source(name: path, bytes: $0), in: environment)
      }
      if !mending.isComplete { result.unfinished.insert(path) }
      guard mending.text != source.bytes else { continue }
      if !isTrial {
        do throws(FileError) {
          guard try Files.replace(source.bytes, with: mending.text, at: path) else {
            result.problems.append(
              Diagnostic("'\(path)' has changed while it was checked, so nothing is written to it"))
            result.unwritten.insert(path)
            continue
          }
        } catch {
          result.problems.append(Diagnostic("\(error)"))
          result.unwritten.insert(path)
          continue
        }
      }
      (result.texts[path], known[place]) = (Source(name: path, bytes: mending.text), mending.text)
      fixCount += mending.applied.count
      fileCount += 1
      let isText = parsed["format"].text ?? "text" == "text"
      let diff = UnifiedDiff(
        Dispatch.hidingSecrets(of: source, in: environment),
        Dispatch.hidingSecrets(of: Source(name: path, bytes: mending.text), in: environment),
        path: path, context: mending.isReadable ? 3 : 0
      ).rendered(colour: isText ? console.colourOut : console.colourError)
      if isText { console.out(diff) } else { console.error(diff) }
    }
    if fileCount > 0 {
      let fixes = fixCount == 1 ? "1 fix" : "\(fixCount) fixes"
      let files = fileCount == 1 ? "1 file" : "\(fileCount) files"
      console.say(isTrial ? "\(fixes) would change \(files)" : "\(fixes) changed \(files)")
    }
    return result
  }

  /// How long fixes of one file are tried; many that bring other faults could take minutes.
  private static let longestMending = TimeSpan.seconds(2)

  private static func realPath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The same text, of which a diff doesn't show the secrets.
  private static func hidingSecrets(of source: Source, in environment: RecipeEnvironment) -> Source {
    var environment = environment
    let observer = CheckObserver()
    environment.observer = observer
    _ = faults(of: source, in: environment)
    return source.hiding(observer.secrets(in: source))
  }

  /// What is at fault in the text of a recipe or a test itself.
  private static func faults(of source: Source, in environment: RecipeEnvironment) -> [Diagnostic] {
    let found =
      RecipeTestFile.isName(source.name)
      ? RecipeTestFile.check(source, in: environment).diagnostics : Recipe.check(source, in: environment).diagnostics
    return found.filter { $0.location.map { $0.source.name == source.name } ?? true }
  }
}

/// What `errand check --fix` has made of files.
struct MendedFiles {
  /// The texts that were checked, as they are now or, if nothing may be written, would be.
  var texts: [String: Source] = [:]
  /// Files that have fixes, but couldn't be written.
  var unwritten: Set<String> = []
  /// Files whose fixes couldn't all be tried in the time for it.
  var unfinished: Set<String> = []
  /// Why files couldn't be written.
  var problems: [Diagnostic] = []
}

extension Diagnostic {
  /// Says why `--fix` has left what it has fixes for.
  mutating func explainUnappliedFixes(of files: MendedFiles) {
    guard let first = fixes.first else { return }
    let reason =
      if fixes.count > 1 {
        "several fixes are as likely: \(fixes.map(\.title).joined(separator: "; "))"
      } else if first.isTentative {
        "only you can tell whether this is meant: \(first.title)"
      } else if let name = location?.source.name, files.unwritten.contains(name) {
        "the file could not be written: \(first.title)"
      } else if let name = location?.source.name, files.texts[name] == nil {
        "only the files that were named are changed: \(first.title)"
      } else if let name = location?.source.name, files.unfinished.contains(name) {
        "there was no time to try it: \(first.title)"
      } else {
        "other faults would show with this: \(first.title)"
      }
    notes.append(Note("not fixed, because \(reason)"))
  }

  /// The fault as `errand check --format json` shows it.
  var entryWithFixes: Value {
    guard let location, !shownFixes.isEmpty, var entry = self.entry.map else { return self.entry }
    entry["fixes"] = .list(
      shownFixes.map { fix in
        .object([
          "title": .string(fix.title),
          "edits": .list(
            fix.edits.map { edit in
              var edited = edit.region(in: location.source)
              edited["text"] = .string(edit.text)
              return .map(edited)
            }),
        ])
      })
    return .map(entry)
  }
}

extension Diagnostic {
  /// The fixes that don't write a password in a URL once more.
  var shownFixes: [Fix] {
    fixes.filter { fix in fix.edits.allSatisfy { URLPasswords.masked($0.text) == $0.text } }
  }
}

extension Diagnostic.Fix {
  /// The fix in SARIF 2.1.0, section 3.55.
  func sarif(in source: Source) -> Value {
    let replacements = edits.map { edit -> Value in
      .object([
        "deletedRegion": .map(edit.region(in: source)), "insertedContent": .object(["text": .string(edit.text)]),
      ])
    }
    return .object([
      "description": .object(["text": .string(title)]),
      "artifactChanges": .list([
        .object([
          "artifactLocation": .object(["uri": .string(source.name.asURIPath)]), "replacements": .list(replacements),
        ])
      ]),
    ])
  }
}

extension Diagnostic.Edit {
  /// The lines and columns of what is replaced; it ends before the last.
  fileprivate func region(in source: Source) -> ValueMap {
    let (start, end) = (source.position(at: range.lowerBound), source.position(at: range.upperBound))
    return ValueMap([
      ("startLine", .int(start.line)), ("startColumn", .int(start.column)), ("endLine", .int(end.line)),
      ("endColumn", .int(end.column)),
    ])
  }
}

extension String {
  /// The path as a part of a URI (RFC 3986, section 3.3).
  var asURIPath: String {
    let digits = Array("0123456789ABCDEF".utf8)
    var text: [UInt8] = []
    for byte in utf8 {
      switch byte {
      case ASCII.digits, ASCII.uppercase, ASCII.lowercase, ASCII.slash, ASCII.minus, ASCII.dot, ASCII.underscore,
        UInt8(ascii: "~"):
        text.append(byte)
      default: text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
