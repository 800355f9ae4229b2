// Finds the names in a file, and the symbols that they refer to.
//
// A `Symbol` is the place in a file where a name is declared; it is the same for every file that refers to it. Names
// occur as keys and values, which the YAML tree provides, and in expressions, where the check provides the scope of
// each text. A field after a step in an expression, such as `inner` in `steps.block.inner`, is resolved through blocks,
// branches, carried values and called recipes, as far as the types show it directly.

import ActionKit
import Basics
import Expressions
import Recipes
import YAMLReader

/// A declared name.
struct Symbol: Hashable {
  enum Kind {
    case input, step, output, branch, connection, secret, recipe
    /// A name of `let`, of a loop or of `carry`.
    case variable
    /// An entry of `on`.
    case entry
  }

  let kind: Kind
  let name: String
  /// The file that declares it; empty for secrets, which no file declares.
  let path: String
  /// The offset of the declaration in that file.
  let offset: Int
}

/// A place where a symbol is named.
struct Mention: Hashable {
  let symbol: Symbol
  /// The bytes of the name.
  let range: Range<Int>
  let isDeclaration: Bool
  /// Whether the symbol is used without being named.
  var isImplicit = false
}

extension EditedFiles {
  /// The symbol that is named at an offset.
  func mention(in file: EditedFile, at offset: Int) -> Mention? {
    let reader = MentionReader(self, file) { $0.lowerBound <= offset && offset <= $0.upperBound }
    reader.readTree()
    func fitting() -> Mention? {
      reader.found.filter { $0.range.lowerBound <= offset && offset <= $0.range.upperBound }.min {
        $0.range.count < $1.range.count
      }
    }
    if let mention = fitting() { return mention }
    reader.readExpressions(of: check(file).texts)
    return fitting()
  }

  /// The places where a symbol is named in a file, in the order of the text.
  func mentions(of symbol: Symbol, in file: EditedFile) -> [Mention] {
    let reader = MentionReader(self, file) { _ in true }
    reader.readTree()
    if symbol.kind != .recipe { reader.readExpressions(of: check(file).texts.filter { $0.mayHold(symbol.name) }) }
    return Set(reader.found.filter { $0.symbol == symbol }).sorted { $0.range.lowerBound < $1.range.lowerBound }
  }

  /// The declaration of a symbol that a file names.
  func declaration(of symbol: Symbol, from file: EditedFile) -> Diagnostic.Location? {
    switch symbol.kind {
    case .secret:
      let configuration = configuration(for: file.path)
      let key = configuration?.root["secrets"]?["commands"]?.key(symbol.name)
      return key.flatMap { configuration?.range(ofNameAt: $0) }.flatMap { configuration?.location($0) }
    case .recipe:
      guard let file = self.file(symbol.path) else { return nil }
      return file.location(file.root["recipe"].flatMap(file.range(ofNameAt:)) ?? 0..<0)
    default:
      guard let file = self.file(symbol.path) else { return nil }
      return file.range(ofNameAt: Value(.string(symbol.name), at: Place(offset: symbol.offset))).map(file.location)
    }
  }
}

extension EditedFile {
  /// The symbol that a key or value declares.
  func symbol(_ kind: Symbol.Kind, _ value: Value?) -> Symbol? {
    guard let value, let name = value.string, let offset = value.place.offset else { return nil }
    return Symbol(kind: kind, name: name, path: path, offset: offset)
  }

  func input(_ name: String) -> Symbol? { symbol(.input, root["inputs"]?.key(name)) }

  func output(_ name: String) -> Symbol? { symbol(.output, root["outputs"]?.key(name)) }

  func connection(_ name: String) -> Symbol? { symbol(.connection, root["connections"]?.key(name)) }

  func entry(_ id: String) -> Symbol? {
    symbol(
      .entry, root["on"]?.list?.lazy.compactMap { $0["id"] }.first { $0.string?.hasSameScalars(as: id) ?? false })
  }

  /// The symbol of the recipe in the file.
  var recipe: Symbol {
    let stem = path.split(separator: "/").last?.split(separator: ".").first.map(String.init) ?? path
    return Symbol(kind: .recipe, name: root["recipe"]?.string ?? stem, path: path, offset: 0)
  }
}

/// Collects the names in a file's scalars.
final class MentionReader {
  private(set) var found: [Mention] = []
  private let files: EditedFiles
  private let file: EditedFile
  /// Whether to search a scalar, by its range.
  private let selects: (Range<Int>) -> Bool

  init(_ files: EditedFiles, _ file: EditedFile, selects: @escaping (Range<Int>) -> Bool) {
    self.files = files
    self.file = file
    self.selects = selects
  }

  // MARK: Keys and values

  func readTree() {
    switch file.kind {
    case .recipe: readRecipe()
    case .test: readTest()
    case .configuration: readConfiguration()
    }
  }

  private func declare(_ kind: Symbol.Kind, _ value: Value?) {
    guard let value else { return }
    add(file.symbol(kind, value), value, isDeclaration: true)
  }

  /// - Parameter part: The bytes of the value that contain the name, if it isn't the whole value.
  private func add(
    _ symbol: @autoclosure () -> Symbol?, _ value: Value, part: Range<Int>? = nil, isDeclaration: Bool = false,
    isImplicit: Bool = false
  ) {
    guard let scalar = file.document?.scalar(at: value.place), selects(scalar.range), let symbol = symbol(),
      let range = part.map({ scalar.location(of: $0).range }) ?? file.range(ofNameAt: value)
    else { return }
    found.append(Mention(symbol: symbol, range: range, isDeclaration: isDeclaration, isImplicit: isImplicit))
  }

  private func file(named value: Value) -> EditedFile? {
    value.string.flatMap { files.file(Recipe.path($0, besides: file.path)) }
  }

  private func readRecipe() {
    let root = file.root
    if let name = root["recipe"] { add(file.recipe, name, isDeclaration: true) }
    for key in root["inputs"].keys { declare(.input, key) }
    for key in root["outputs"].keys { declare(.output, key) }
    for entry in root["on"]?.list ?? [] {
      declare(.entry, entry["id"])
      for member in entry["inputs"]?.map?.members ?? [] {
        add(member.key.string.flatMap(file.input), member.key)
        readSecretName(member.value)
      }
      if let other = entry["afterRecipe"], let value = other.map == nil ? other : other["recipe"] {
        add(value.string.flatMap { files.recipe(named: $0, besides: file.path)?.recipe }, value)
      }
    }
    for step in file.steps { read(step) }
  }

  private func read(_ step: Value) {
    declare(.step, step["id"])
    for key in step["let"].keys { declare(.variable, key) }
    declare(.variable, step["as"])
    declare(.variable, step["indexAs"])
    let carry = step["repeat"]?["carry"]
    for key in carry.keys { declare(.variable, key) }
    for key in step["repeat"]?["next"].keys ?? [] {
      add(file.symbol(.variable, key.string.flatMap { carry?.key($0) }), key)
    }
    for key in step["parallel"].keys { declare(.branch, key) }
    if step["steps"] != nil, step["else"] == nil { for key in step["outputs"].keys { declare(.output, key) } }
    if let call = step["call"] {
      add(file(named: call)?.recipe, call)
      for key in step["with"].keys { add(file(named: call).flatMap { key.string.flatMap($0.input) }, key) }
    }
    if let name = step["connection"] {
      add(name.string.flatMap { files.configuration(for: file.path)?.connection($0) }, name)
    } else if let action = step["uses"] {
      let plugin = String(action.string?.prefix { $0 != "." } ?? "")
      add(
        files.configuration(for: file.path)?.connection(plugin), action, part: 0..<plugin.utf8.count, isImplicit: true)
    }
  }

  /// Reads `@secret:NAME`.
  private func readSecretName(_ value: Value) {
    guard let text = value.string, text.hasPrefix("@secret:") else { return }
    add(secret(String(text.dropFirst(8))), value, part: 8..<text.utf8.count)
  }

  private func secret(_ name: String) -> Symbol { Symbol(kind: .secret, name: name, path: "", offset: 0) }

  private func readConfiguration() {
    for key in file.root["connections"].keys { declare(.connection, key) }
    for key in file.root["secrets"]?["commands"].keys ?? [] {
      add(key.string.map(secret), key, isDeclaration: true)
    }
    if let path = file.root["onFailure"] { add(file(named: path)?.recipe, path) }
  }

  private func readTest() {
    let root = file.root
    guard let name = root["recipe"], let recipe = file(named: name) else { return }
    add(recipe.recipe, name)
    for part in [root] + (root["cases"]?.list ?? []) {
      for member in part["inputs"]?.map?.members ?? [] {
        add(member.key.string.flatMap(recipe.input), member.key)
        readSecretName(member.value)
      }
      for key in part["secrets"].keys { add(key.string.map(secret), key) }
      for happening in part["do"]?.list ?? [] { read(happening, recipe) }
    }
  }

  private func read(_ happening: Value, _ recipe: EditedFile) {
    for member in happening["run"]?.map?.members ?? [] {
      add(member.key.string.flatMap(recipe.input), member.key)
      readSecretName(member.value)
    }
    if let id = happening["trigger"] { add(id.string.flatMap(recipe.entry), id) }
    let expected = happening["expect"]
    for key in expected?["outputs"].keys ?? [] { add(key.string.flatMap(recipe.output), key) }
    var paths = expected?["steps"].keys ?? []
    paths += [happening["approve"], happening["reject"], happening["answer"], expected?["error"]].compactMap {
      $0?["step"] ?? $0
    }
    for value in paths {
      for (symbol, range) in stepPath(value.string ?? "", of: recipe) { add(symbol, value, part: range) }
    }
  }

  /// The steps and branches in a record's path, such as `book/inner[2]`, with their ranges in the path.
  private func stepPath(_ text: String, of recipe: EditedFile) -> [(Symbol, Range<Int>)] {
    var found: [(Symbol, Range<Int>)] = []
    var recipe = recipe
    var outer: Value?
    var start = 0
    for part in text.split(separator: "/", omittingEmptySubsequences: false) {
      let name = String(part.prefix { !"[~!".contains($0) })
      let range = start..<start + name.utf8.count
      start += part.utf8.count + 1
      if let outer, let branch = recipe.symbol(.branch, outer["parallel"]?.key(name)) {
        found.append((branch, range))
      } else if let step = recipe.step(name), let symbol = recipe.symbol(.step, step["id"]) {
        found.append((symbol, range))
        outer = step
        if let path = step["call"]?.string, let called = files.file(Recipe.path(path, besides: recipe.path)) {
          (recipe, outer) = (called, nil)
        }
        continue
      }
      outer = nil
    }
    return found
  }

  // MARK: Expressions

  func readExpressions(of texts: [CheckObserver.Text]) {
    let recipe = file.kind == .test ? file.root["recipe"].flatMap(file(named:)) : file
    for text in texts {
      guard let range = text.range, selects(range) else { continue }
      var symbols: [Symbol] = []
      var ranges: [Range<Int>] = []
      for range in text.expressions {
        for part in text.parts(of: range) {
          for (symbol, range) in self.symbols(of: part, text, recipe) {
            symbols.append(symbol)
            ranges.append(range)
          }
        }
      }
      for (symbol, location) in zip(symbols, text.locations(of: ranges)) {
        if let location { found.append(Mention(symbol: symbol, range: location.range, isDeclaration: false)) }
      }
    }
  }

  /// The symbols that a part of an expression names, with their ranges in the text.
  private func symbols(
    of part: ExpressionPart, _ text: CheckObserver.Text, _ recipe: EditedFile?
  ) -> [(Symbol, Range<Int>)] {
    let range = text.nameRange(part.mark)
    switch part.kind {
    case .variable(isLocal: false):
      guard let place = text.declaration(of: part.name) else { return [] }
      let symbol = Symbol(kind: .variable, name: part.name, path: file.path, offset: place.range.lowerBound)
      return [(symbol, range)]
    case .field where part.path.count > 1: break
    default: return []
    }
    let name = part.path[1]
    switch (part.path[0], file.kind) {
    case ("secrets", _): return part.path.count == 2 ? [(secret(name), range)] : []
    case ("inputs", .recipe):
      return part.path.count == 2 ? recipe?.input(name).map { [($0, range)] } ?? [] : []
    case ("outputs", .test):
      return part.path.count == 2 ? recipe?.output(name).map { [($0, range)] } ?? [] : []
    case ("steps", .recipe): return symbol(of: part.path.dropFirst()).map { [($0, range)] } ?? []
    case ("steps", .test):
      // If the path is written with escapes, its offsets differ from the text's.
      guard part.path.count == 2, let recipe, text.value[range].elementsEqual(name.utf8) else { return [] }
      return stepPath(name, of: recipe).map { symbol, part in
        (symbol, range.lowerBound + part.lowerBound..<range.lowerBound + part.upperBound)
      }
    default: return []
    }
  }

  /// The symbol for a path of names after `steps`.
  private func symbol(of path: ArraySlice<String>) -> Symbol? {
    guard let first = path.first, let step = file.step(first) else { return nil }
    var (symbol, owner): (Symbol?, Owner?) = (file.symbol(.step, step["id"]), .step(step))
    for name in path.dropFirst() { (symbol, owner) = owner.map { member(name, of: $0) } ?? (nil, nil) }
    return symbol
  }

  /// A step or a list of steps, whose members can be accessed by name.
  private enum Owner {
    case step(Value)
    case list([Value])
  }

  private func member(_ name: String, of owner: Owner) -> (Symbol?, Owner?) {
    switch owner {
    case .list(let steps):
      guard let step = steps.first(where: { $0["id"]?.string?.hasSameScalars(as: name) ?? false }) else {
        return (nil, nil)
      }
      return (file.symbol(.step, step["id"]), .step(step))
    case .step(let step):
      if step["forEach"] != nil { return (nil, nil) }
      if step["repeat"]?["carry"] != nil || step["repeat"]?["collect"] != nil {
        return (file.symbol(.variable, step["repeat"]?["carry"]?.key(name)), nil)
      }
      if let call = step["call"] { return (file(named: call)?.output(name), nil) }
      if let branches = step["parallel"] {
        return (file.symbol(.branch, branches.key(name)), branches[name]?.list.map { .list($0) })
      }
      if step["else"] == nil, let outputs = step["outputs"] { return (file.symbol(.output, outputs.key(name)), nil) }
      let unseen = [step["onError"]?.place, step.tell?.place]
      let lists = step.blocks.filter { !unseen.contains($0.place) && $0["outputs"] == nil }.compactMap {
        $0.list ?? $0["steps"]?.list
      }
      return member(name, of: .list(Array(lists.joined())))
    }
  }
}

extension CheckObserver.Text {
  /// The parts of an expression; if it can't be parsed, the parts before its last, possibly incomplete tokens.
  func parts(of range: Range<Int>) -> [ExpressionPart] {
    let parts = names.parts(of: value, range)
    if !parts.isEmpty { return parts }
    return ExpressionToken.read(value, range).suffix(4).reversed().lazy.map { token in
      names.parts(of: value, range.lowerBound..<token.range.lowerBound)
    }.first { !$0.isEmpty } ?? []
  }

  /// The bytes of a name in a part of the text, without quotes or backticks.
  func nameRange(_ mark: Range<Int>) -> Range<Int> {
    let bytes = value[mark]
    guard let quote = bytes.firstIndex(where: { [ASCII.quote, ASCII.apostrophe, ASCII.backtick].contains($0) }) else {
      return mark
    }
    let count = bytes[quote...].starts(with: [bytes[quote], bytes[quote], bytes[quote]]) ? 3 : 1
    guard quote + 2 * count <= mark.upperBound else { return mark }
    return quote + count..<mark.upperBound - count
  }
}
