// Renames a symbol.
//
// The places that name it are found in two ways. `Mentions` finds the places that show it by their form. The others are
// found by trial: the files are checked with the edits made so far, and a new error that marks exactly the old name is
// another place to rename. This finds fields whose types were passed on, far from where they are named, such as the id
// of a step in a block whose value a `let` passes on. Keys of expected outputs in tests are compared with the outputs'
// types, because the check doesn't compare them. If a new error remains, or if a loop variable in an expression would
// now capture the name, nothing is renamed, and the message says why.

import ActionKit
package import Basics
import Expressions
import Recipes
import YAMLReader

/// Why something can't be renamed, as a sentence without a full stop.
package struct RenameError: Error, Sendable {
  package let message: String
}

extension EditorService {
  /// The range of the name that would be renamed at an offset; nil if there is none.
  package func renameRange(in source: Source, at offset: Int) -> Range<Int>? {
    let files = EditedFiles(folder, [source])
    guard let file = files.file(Recipe.path(source.name, besides: "")),
      let mention = files.mention(in: file, at: offset), !mention.isImplicit, mention.symbol.kind != .recipe
    else { return nil }
    return mention.range
  }

  /// The edits in all files that rename the symbol at an offset.
  package func rename(in source: Source, at offset: Int, to name: String) throws(RenameError) -> [FileEdits] {
    let files = EditedFiles(folder, [source])
    guard let file = files.file(Recipe.path(source.name, besides: "")),
      let mention = files.mention(in: file, at: offset)
    else { throw RenameError(message: "nothing that can be renamed is named here") }
    let symbol = mention.symbol
    guard symbol.kind != .recipe else {
      throw RenameError(message: "a recipe isn't renamed here, because its runs are recorded under its name")
    }
    if symbol.name.hasSameScalars(as: name) { return [] }
    if let fault = files.keeper(ofNameOf: symbol, from: file) {
      throw RenameError(message: "'\(symbol.name)' can't be renamed here: \(fault)")
    }
    let renaming = Renaming(files, symbol, from: file)
    if let fault = renaming.fault(of: name) { throw RenameError(message: "'\(name)' \(fault)") }
    return try renaming.edits(to: name).map { FileEdits($0.file.source.name, $0.edits) }
  }
}

/// A symbol to rename or to find.
struct Renaming {
  typealias Edits = (file: EditedFile, edits: [Diagnostic.Edit])

  private let files: EditedFiles
  private let symbol: Symbol
  /// The places that name it, by file.
  private let mentions: [(file: EditedFile, list: [Mention])]

  init(_ files: EditedFiles, _ symbol: Symbol, from file: EditedFile) {
    self.files = files
    self.symbol = symbol
    let concerned: [EditedFile] =
      switch symbol.kind {
      case .secret, .connection: files.files(mentioning: symbol.name, besides: file.path)
      case .recipe:
        // A recipe's name and its file's name may differ.
        files.files(mentioning: "", declaredIn: symbol.path)
          + [files.configuration(for: symbol.path)].compactMap(\.self)
      default: files.files(mentioning: symbol.name, declaredIn: symbol.path)
      }
    mentions = concerned.map { ($0, files.mentions(of: symbol, in: $0)) }
  }

  /// The places that name it.
  func places(withDeclaration: Bool) -> [Diagnostic.Location] {
    // A trial finds more places.
    let edits = symbol.kind == .recipe ? nil : try? edits(to: unusedName)
    return mentions.flatMap { file, list in
      let edited = edits?.first { $0.file === file }?.edits.map(\.range) ?? list.map(\.range)
      let implicit = list.filter(\.isImplicit).map(\.range)
      return Set(edited + implicit).filter { range in
        withDeclaration || !list.contains { $0.isDeclaration && $0.range == range }
      }.sorted { $0.lowerBound < $1.lowerBound }.map(file.location)
    }
  }

  /// A name that doesn't occur in any file.
  private var unusedName: String {
    var name = "x\(symbol.name)"
    while mentions.contains(where: { $0.file.source.holds(name) }) { name += "x" }
    return name
  }

  /// The reason why a new name isn't allowed, as the end of a sentence that begins with the name; nil if it is.
  func fault(of name: String) -> String? {
    switch symbol.kind {
    case .secret:
      let isName =
        !name.isEmpty && !ASCII.digits.contains(name.utf8.first ?? 0)
        && name.utf8.allSatisfy {
          ASCII.lowercase.contains($0 | 0x20) || ASCII.digits.contains($0) || $0 == ASCII.underscore
        }
      return isName ? nil : "isn't a name of a secret: letters, digits and _"
    case .output: return Names.isWellFormed(name) ? nil : Names.form
    default: break
    }
    if let fault = Names.fault(in: name) { return fault.text }
    let declaring = files.file(symbol.path)
    switch symbol.kind {
    case .step: return declaring?.step(name) == nil ? nil : "is the id of another step"
    case .input: return declaring?.input(name) == nil ? nil : "is another input"
    case .connection:
      if files.folder.catalog.plugin(name) != nil { return "is a plugin; choose another name" }
      return declaring?.connection(name) == nil ? nil : "is another connection"
    default: return nil
    }
  }

  // MARK: Edits

  /// The maximum number of trial checks for more places.
  private static let mostTrials = 8

  /// The edits by file, without files that don't change.
  func edits(to name: String) throws(RenameError) -> [Edits] {
    if symbol.kind == .connection, mentions.contains(where: { $0.list.contains(where: \.isImplicit) }) {
      throw RenameError(
        message:
          "'\(symbol.name)' is the connection of the plugin of that name, and steps that name no connection use it")
    }
    // A place in a part that YAML can't parse would be missed.
    if let file = mentions.lazy.map(\.file).first(where: { holds($0.unreadable, symbol.name) }) {
      throw RenameError(
        message: "'\(symbol.name)' can't be renamed while '\(file.source.name)' isn't YAML; mend that first")
    }
    if let (file, offset) = mentions.lazy.compactMap({ unclearUse(in: $0.file) }).first {
      let tested = file.root["recipe"]?.string ?? "the recipe"
      throw RenameError(
        message: "'\(symbol.name)' can't be renamed while '\(tested)' has errors: "
          + "\(file.source.name):\(file.source.position(at: offset).line) may name it too")
    }
    var edits: [Edits] = mentions.map { file, list in
      (file, Set(list.filter { !$0.isImplicit }.map(\.range)).map { Diagnostic.Edit($0, name) })
    }
    let known = mentions.map { file, _ in
      Dictionary(grouping: files.check(file).errors) { $0.location?.range.lowerBound ?? -1 }
    }
    for _ in 0..<Renaming.mostTrials {
      let trial = Trial(files, edits, symbol, name)
      var remaining: (EditedFile, Diagnostic)?
      var isChanged = false
      for index in edits.indices {
        for error in trial.errors(index)
        where !isKnown(error, at: trial.old(error, index), among: known[index], edits[index], name) {
          if let range = trial.old(error, index).flatMap({ oldName(at: $0, edits[index]) }) {
            edits[index].edits.append(Diagnostic.Edit(range, name))
            isChanged = true
          } else {
            remaining = remaining ?? (edits[index].file, error)
          }
        }
        for range in expectedKeys(edits[index].file, in: trial, name).compactMap({ oldName(at: $0, edits[index]) }) {
          edits[index].edits.append(Diagnostic.Edit(range, name))
          isChanged = true
        }
      }
      if isChanged { continue }
      if let (file, error) = remaining {
        let line = error.location.map { ":\($0.source.position(at: $0.range.lowerBound).line)" } ?? ""
        throw RenameError(
          message: "'\(symbol.name)' can't become '\(name)': \(file.source.name)\(line): \(error.message)")
      }
      for index in edits.indices where trial.mentions(index) != mentions[index].list.filter({ !$0.isImplicit }).count {
        throw RenameError(message: "'\(name)' has another meaning where '\(symbol.name)' is read; choose another name")
      }
      break
    }
    return edits.filter { !$0.edits.isEmpty }
  }

  /// Whether an error existed before the edits; at a renamed place, the messages are compared with the new name in
  /// both.
  ///
  /// - Parameter known: The errors before the edits, by their start offsets.
  private func isKnown(
    _ error: Diagnostic, at range: Range<Int>?, among known: [Int: [Diagnostic]], _ edits: Edits, _ name: String
  ) -> Bool {
    guard let offset = range?.lowerBound, let before = known[offset] else { return false }
    guard edits.edits.contains(where: { $0.range.contains(offset) }) else { return true }
    func renamed(_ error: Diagnostic) -> String { error.message.replacing("'\(symbol.name)'", with: "'\(name)'") }
    return before.contains { renamed($0) == renamed(error) }
  }

  /// The keys in a test's expected outputs that have the new name in a trial's types.
  private func expectedKeys(_ test: EditedFile, in trial: Trial, _ name: String) -> [Range<Int>] {
    let expected = test.expectedOutputs.filter { $0.key(inside: symbol.name) != nil }
    guard !expected.isEmpty, let (old, new) = trial.outputs(of: test, before: files) else { return [] }
    var found: [Value] = []
    var open = expected.map { ($0, old, new) }
    while let (value, old, new) = open.popLast() {
      switch (old, new) {
      case (.optional(let old), .optional(let new)), (.secret(let old), .secret(let new)):
        open.append((value, old, new))
      case (.list(let old), .list(let new)): open += (value.list ?? []).map { ($0, old, new) }
      case (.map(_, let old), .map(_, let new)): open += (value.map?.members ?? []).map { ($0.value, old, new) }
      case (.object(let old), .object(let new)):
        for member in value.map?.members ?? [] {
          guard let key = member.key.string, let field = old[key] else { continue }
          if let same = new[key] {
            open.append((member.value, field.type, same.type))
          } else if key.hasSameScalars(as: symbol.name), let renamed = new[name] {
            found.append(member.key)
            open.append((member.value, field.type, renamed.type))
          }
        }
      default: break
      }
    }
    return found.compactMap(test.range(ofNameAt:))
  }

  /// A place where a test may name the symbol in an output's value, whose type isn't known while the recipe has errors.
  private func unclearUse(in test: EditedFile) -> (EditedFile, Int)? {
    guard [.step, .output, .branch, .variable].contains(symbol.kind), test.kind == .test,
      let recipe = files.recipe(testedBy: test), files.reaches(symbol.path, from: recipe),
      files.check(recipe).outputs == nil
    else { return nil }
    for value in test.expectedOutputs.flatMap({ $0.map?.members.map(\.value) ?? [] }) {
      if let offset = value.key(inside: symbol.name)?.place.offset { return (test, offset) }
    }
    for text in files.check(test).texts where text.mayHold(symbol.name) {
      for part in text.expressions.flatMap(text.parts) where part.name.hasSameScalars(as: symbol.name) {
        guard case .field = part.kind, part.path.count != 2,
          text.value[part.range].starts(with: "outputs".utf8),
          let location = text.locations(of: [text.nameRange(part.mark)]).first ?? nil
        else { continue }
        return (test, location.range.lowerBound)
      }
    }
    return nil
  }

  /// The range of the old name, if only that name is marked, with or without quotes.
  private func oldName(at range: Range<Int>, _ edits: Edits) -> Range<Int>? {
    let bytes = edits.file.source.bytes
    let quotes = [ASCII.quote, ASCII.apostrophe, ASCII.backtick]
    var range = range
    if range.count > 2, quotes.contains(bytes[range.lowerBound]), bytes[range.upperBound - 1] == bytes[range.lowerBound]
    {
      range = range.lowerBound + 1..<range.upperBound - 1
    }
    let isFree = !edits.edits.contains { $0.range.overlaps(range) }
    return isFree && bytes[range].elementsEqual(symbol.name.utf8) ? range : nil
  }
}

/// Files to be checked with the edits applied.
private struct Trial {
  private let edited: [EditedFile]
  private let all: [Renaming.Edits]
  private let files: EditedFiles
  private let symbol: Symbol

  init(_ files: EditedFiles, _ edits: [Renaming.Edits], _ symbol: Symbol, _ name: String) {
    all = edits.map { file, edits in (file, edits.sorted { $0.range.lowerBound < $1.range.lowerBound }) }
    let sources = all.map { Source(name: $0.file.path, bytes: $0.edits.applied(to: $0.file.readable.bytes)) }
    let trial = EditedFiles(files.folder, sources)
    if symbol.kind == .connection { trial.renamedConnection = (symbol.name, name) }
    self.files = trial
    edited = all.compactMap { trial.file($0.file.path) }
    let moved = all.first { $0.file.path == symbol.path }.map { file, edits in
      edits.prefix { $0.range.lowerBound < symbol.offset }.reduce(symbol.offset) {
        $0 + $1.text.utf8.count - $1.range.count
      }
    }
    self.symbol = Symbol(kind: symbol.kind, name: name, path: symbol.path, offset: moved ?? symbol.offset)
  }

  /// The errors of a file, including errors that prevent parsing, such as a duplicate key.
  func errors(_ index: Int) -> [Diagnostic] {
    guard edited.indices.contains(index) else { return [] }
    do throws(Diagnostics) { _ = try YAMLReader.read(edited[index].source) } catch {
      return error.list.filter { $0.severity == .error }
    }
    return files.check(edited[index]).errors
  }

  /// The types of the outputs of a test's recipe, before and after the edits; nil if one isn't known.
  func outputs(of test: EditedFile, before: EditedFiles) -> (ValueType, ValueType)? {
    guard let old = before.recipe(testedBy: test), let new = files.recipe(testedBy: test),
      let before = before.check(old).outputs, let after = files.check(new).outputs
    else { return nil }
    return (before, after)
  }

  /// The number of places that name the symbol in a file.
  func mentions(_ index: Int) -> Int {
    guard edited.indices.contains(index) else { return 0 }
    return files.mentions(of: symbol, in: edited[index]).filter { !$0.isImplicit }.count
  }

  /// The range of an error in the file before the edits; nil if the error has no location.
  func old(_ error: Diagnostic, _ index: Int) -> Range<Int>? {
    guard let range = error.location?.range else { return nil }
    let start = old(range.lowerBound, index)
    return start..<max(start, old(range.upperBound, index))
  }

  private func old(_ offset: Int, _ index: Int) -> Int {
    var moved = 0
    for edit in all[index].edits {
      let start = edit.range.lowerBound + moved
      if offset <= start { break }
      if offset < start + edit.text.utf8.count { return edit.range.lowerBound }
      moved += edit.text.utf8.count - edit.range.count
    }
    return offset - moved
  }
}

extension EditedFile {
  /// The outputs that a test expects.
  fileprivate var expectedOutputs: [Value] {
    (root["cases"]?.list ?? []).flatMap { $0["do"]?.list ?? [] }.compactMap { $0["expect"]?["outputs"] }
  }
}

extension EditedFiles {
  /// The reason why a name can't change: something outside these files refers to it.
  fileprivate func keeper(ofNameOf symbol: Symbol, from file: EditedFile) -> String? {
    switch symbol.kind {
    case .secret where configuration(for: file.path)?.root["secrets"]?["commands"]?.key(symbol.name) == nil:
      return "the secret's value is stored under this name, and no command of 'secrets' in errand.yaml gives it"
    case .input:
      guard let configuration = configuration(for: symbol.path), let told = configuration.root["onFailure"]?.string,
        Recipe.path(told, besides: configuration.path) == symbol.path
      else { return nil }
      return "'onFailure' in errand.yaml names this recipe, which is given its inputs by these names"
    default: return nil
    }
  }

  fileprivate func recipe(testedBy test: EditedFile) -> EditedFile? {
    test.root["recipe"]?.string.flatMap { file(Recipe.path($0, besides: test.path)) }
  }

  /// Whether a recipe is at a path, or calls the recipe there directly or through others.
  fileprivate func reaches(_ path: String, from recipe: EditedFile) -> Bool {
    var (open, seen) = ([recipe], Set([recipe.path]))
    while let next = open.popLast() {
      if next.path == path { return true }
      for called in next.steps.compactMap({ $0["call"]?.string }) {
        guard let file = file(Recipe.path(called, besides: next.path)), seen.insert(file.path).inserted else {
          continue
        }
        open.append(file)
      }
    }
    return false
  }
}

extension Value {
  /// A key with a name, anywhere inside the value.
  fileprivate func key(inside name: String) -> Value? {
    var open = [self]
    while let value = open.popLast() {
      if let key = value.key(name) { return key }
      open += value.list ?? value.map?.members.map(\.value) ?? []
    }
    return nil
  }
}
