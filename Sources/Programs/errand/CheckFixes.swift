import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import RecipeEditing
import Recipes

extension Dispatch {
  /// Whether a path is a configuration's, by its name.
  static func isConfiguration(_ path: String) -> Bool { path == "errand.yaml" || path.hasSuffix("/errand.yaml") }

  /// Applies the fixes that leave no doubt to errand.yaml.
  ///
  /// - Parameter isNamed: Whether the file itself may be changed, or only files beside it.
  /// - Returns: The text that it has or, if nothing may be written, would have; nil if it isn't there.
  func mendConfiguration(
    besides place: String?, isNamed: Bool, _ result: inout MendedFiles
  ) throws(RuntimeError) -> Source? {
    try refuseUnwritable()
    let given = parsed["config"].text
    guard isNamed, let path = try Workspace.configurationFile(given, besides: place),
      let bytes = try? Files.read(path, limit: 1 << 20)
    else { return nil }
    let source = Source(name: given ?? path, bytes: bytes)
    mend(source, at: path, &result) { Configuration.read($0, catalog: catalog, observer: $1).diagnostics }
    return result.texts[source.name]
  }

  /// Refuses to change what isn't a file, such as standard input.
  private func refuseUnwritable() throws(RuntimeError) {
    guard !parsed["dry-run"].isGiven else { return }
    for path in parsed["recipe"].texts where path == "-" || (try? Files.kind(of: path)) == .other {
      throw RuntimeError(
        .usage, "--fix can't change '\(path)', which isn't a file; name a file, or add --dry-run to see the changes")
    }
  }

  /// Applies the fixes that leave no doubt to recipes and tests, and shows them as a diff.
  func mend(_ paths: [String], _ workspace: Workspace, _ result: inout MendedFiles) {
    /// The fixed texts of the files, by paths without links, because a file may be named twice.
    var known: [String: [UInt8]] = [:]
    // A test is checked against its recipe.
    let schema = FileSchema.recipe.document(catalog)
    let (tests, recipes) = (paths.filter(RecipeTestFile.isName), paths.filter { !RecipeTestFile.isName($0) })
    for path in recipes + tests {
      let place = Dispatch.realPath(path) ?? path
      if let text = known[place] {
        result.texts[path] = Source(name: path, bytes: text)
        continue
      }
      let environment = workspace.environmentOfChecks(with: result.texts)
      // The check reports a file that can't be read.
      guard let source = try? environment.read(path) else { continue }
      if !RecipeTestFile.isName(path), LikelyRecipe(source, schema: schema).isForeign {
        result.foreign.insert(source.name)
        continue
      }
      mend(source, at: path, &result) { Dispatch.faults(of: $0, in: environment, $1) }
      known[place] = result.texts[path]?.bytes
    }
  }

  /// Applies the fixes of a file and shows them, and notes the text that the file has or, if nothing may be written,
  /// would have.
  ///
  /// - Parameter check: Returns the faults of a text, and reports secrets in it to the observer.
  private func mend(
    _ source: Source, at path: String, _ result: inout MendedFiles,
    check: @escaping (_ text: Source, _ observer: CheckObserver?) -> [Diagnostic]
  ) {
    let name = source.name
    // A pipe can't be read again.
    result.texts[name] = source
    let time = SystemTime()
    var start: TimeSpan?
    let search = FixSearch(source.bytes) {
      // All fixes together are tried however long the first check took.
      let now = time.elapsed()
      defer { start = start ?? now }
      return start.map { now - $0 < Dispatch.longestMending } ?? true
    } check: {
      check(Source(name: name, bytes: $0), nil)
    }
    if !search.isComplete { result.unfinished.insert(name) }
    guard search.text != source.bytes else { return }
    if !parsed["dry-run"].isGiven {
      do throws(FileError) {
        guard try Files.replace(source.bytes, with: search.text, at: path) else {
          result.problems.append(
            Diagnostic("'\(name)' has changed while it was checked, so nothing is written to it"))
          result.unwritten.insert(name)
          return
        }
      } catch {
        result.problems.append(Diagnostic("\(error)"))
        result.unwritten.insert(name)
        return
      }
    }
    let text = Source(name: name, bytes: search.text)
    result.texts[name] = text
    result.fixCount += search.applied.count
    result.fileCount += 1
    func hidingSecrets(of text: Source) -> Source {
      let observer = CheckObserver()
      _ = check(text, observer)
      return text.hiding(observer.secrets(in: text))
    }
    let isText = parsed["format"].text ?? "text" == "text"
    let diff = UnifiedDiff(
      hidingSecrets(of: source), hidingSecrets(of: text), path: Workspace.displayed(name),
      context: search.isReadable ? 3 : 0
    ).rendered(colour: isText ? console.colourOut : console.colourError)
    console.show(patch: diff, isAside: !isText)
  }

  /// Reports how many fixes were applied.
  func tellCounts(of files: MendedFiles) {
    guard files.fileCount > 0 else { return }
    let fixes = files.fixCount == 1 ? "1 fix" : "\(files.fixCount) fixes"
    let count = counted(files.fileCount, "file")
    console.say(parsed["dry-run"].isGiven ? "\(fixes) would change \(count)" : "\(fixes) changed \(count)")
  }

  /// How long fixes of one file are tried; many that bring other faults could take minutes.
  private static let longestMending = TimeSpan.seconds(2)

  private static func realPath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The faults in the text of a recipe or a test itself.
  private static func faults(
    of source: Source, in environment: RecipeEnvironment, _ observer: CheckObserver?
  ) -> [Diagnostic] {
    var environment = environment
    environment.observer = observer
    let found =
      RecipeTestFile.isName(source.name)
      ? RecipeTestFile.check(source, in: environment).diagnostics : Recipe.check(source, in: environment).diagnostics
    return found.of(source.name)
  }
}

/// The results of `errand check --fix`.
struct MendedFiles {
  /// How many fixes were applied.
  var fixCount = 0
  /// How many files they changed.
  var fileCount = 0
  /// The texts that were checked, as they are now or, if nothing may be written, would be.
  var texts: [String: Source] = [:]
  /// Files that have fixes, but couldn't be written.
  var unwritten: Set<String> = []
  /// Files of other programs.
  var foreign: Set<String> = []
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
      if let name = location?.source.name, files.foreign.contains(name) {
        "the file looks like one of another program"
      } else if fixes.count > 1 {
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
    guard let location, !displayedFixes.isEmpty, var entry = self.entry.map else { return self.entry }
    entry["fixes"] = .list(
      displayedFixes.map { fix in
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
  var displayedFixes: [Fix] {
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
  /// The lines and columns of the replaced text; the end is exclusive.
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
