import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Recipes

extension Dispatch {
  /// Applies the fixes that leave no doubt to recipes and tests, and shows them as a diff.
  ///
  /// - Returns: The texts that files have or, if nothing may be written, would have; and why files weren't written.
  func mend(_ paths: [String], _ workspace: Workspace) -> (texts: [String: Source], problems: [Diagnostic]) {
    let isTrial = parsed["dry-run"].isGiven
    var texts: [String: Source] = [:]
    var problems: [Diagnostic] = []
    var count = 0
    // A test is checked against its recipe.
    let (tests, recipes) = (paths.filter(RecipeTestFile.isName), paths.filter { !RecipeTestFile.isName($0) })
    for path in recipes + tests {
      let environment = workspace.environmentOfChecks(of: path, with: texts)
      // What can't be read is told where it is checked.
      guard let source = try? environment.read(path) else { continue }
      let mending = Mending(source.bytes) { Dispatch.faults(of: Source(name: path, bytes: $0), in: environment) }
      guard mending.text != source.bytes else { continue }
      if !isTrial {
        do throws(FileError) {
          guard try Files.replace(source.bytes, with: mending.text, at: path) else {
            problems.append(Diagnostic("'\(path)' has changed while it was checked, so nothing is written to it"))
            continue
          }
        } catch {
          problems.append(Diagnostic("\(error)"))
          continue
        }
      }
      texts[path] = Source(name: path, bytes: mending.text)
      count += mending.applied.count
      let isText = parsed["format"].text ?? "text" == "text"
      let diff = UnifiedDiff(source.bytes, mending.text, path: path)
        .rendered(colour: isText ? console.colourOut : console.colourError)
      if isText { console.out(diff) } else { console.error(diff) }
    }
    if !texts.isEmpty {
      let fixes = count == 1 ? "1 fix" : "\(count) fixes"
      let files = texts.count == 1 ? "1 file" : "\(texts.count) files"
      console.say(isTrial ? "\(fixes) would change \(files)" : "\(fixes) changed \(files)")
    }
    return (texts, problems)
  }

  /// What is at fault in the text of a recipe or a test itself.
  private static func faults(of source: Source, in environment: RecipeEnvironment) -> [Diagnostic] {
    let found =
      RecipeTestFile.isName(source.name)
      ? RecipeTestFile.check(source, in: environment).diagnostics : Recipe.check(source, in: environment).diagnostics
    return found.filter { $0.location.map { $0.source.name == source.name } ?? true }
  }
}

extension Diagnostic {
  /// Says why `--fix` has left what it has fixes for.
  mutating func explainUnappliedFixes() {
    guard let first = fixes.first else { return }
    let reason =
      if fixes.count > 1 {
        "several fixes are as likely: \(fixes.map(\.title).joined(separator: "; "))"
      } else if first.isTentative {
        "only you can tell whether this is meant: \(first.title)"
      } else {
        "something else would be at fault with this: \(first.title)"
      }
    notes.append(Note("not fixed, because \(reason)"))
  }

  /// The fault as `errand check --format json` shows it.
  var entryWithFixes: Value {
    guard let location, !fixes.isEmpty, var entry = self.entry.map else { return self.entry }
    entry["fixes"] = .list(
      fixes.map { fix in
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
          "artifactLocation": .object(["uri": .string(source.name)]), "replacements": .list(replacements),
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
