import ActionKit
import Basics
import Expressions
import Glibc
package import Recipes
import YAMLReader

/// A file of the folder, as a single request sees it.
final class EditedFile {
  /// The normalised path, so that two names of a file are equal.
  let path: String
  /// The original text; all positions refer to it.
  let source: Source
  /// The text with the parts blanked that YAML can't parse.
  let readable: Source
  let document: YAMLDocument?
  let kind: EditedFileKind

  init(_ path: String, _ source: Source) {
    self.path = path
    self.source = source
    readable = recovered(source)
    document = try? YAMLReader.read(readable)
    kind = EditedFileKind(path: path)
  }

  /// The bytes of the text that YAML can't parse.
  var unreadable: [UInt8] {
    readable === source ? [] : zip(source.bytes, readable.bytes).compactMap { $0 == $1 ? nil : $0 }
  }

  var root: Value { document?.root ?? .null }

  /// The steps of a recipe, including nested steps.
  private(set) lazy var steps: [Value] = {
    var found: [Value] = []
    var open = ["steps", "onFailure", "finally"].compactMap { root[$0]?.list }
    while let list = open.popLast() {
      for step in list {
        found.append(step)
        open += step.blocks.compactMap { $0.list ?? $0["steps"]?.list }
      }
    }
    return found
  }()

  private lazy var stepsByID: [String: Value] = Dictionary(
    steps.compactMap { step in step["id"]?.string.map { ($0, step) } }, uniquingKeysWith: { first, _ in first })

  /// The step with an id.
  func step(_ id: String) -> Value? { stepsByID[id] }

  /// The range of a scalar's text, without its quotes.
  func range(ofNameAt value: Value) -> Range<Int>? {
    guard let scalar = document?.scalar(at: value.place) else { return nil }
    switch scalar.style {
    case .plain: return scalar.range
    case .singleQuoted, .doubleQuoted:
      return scalar.range.count < 2 ? nil : scalar.range.lowerBound + 1..<scalar.range.upperBound - 1
    case .literal, .folded: return scalar.location(of: 0..<(value.string ?? "").utf8.count).range
    }
  }

  func location(_ range: Range<Int>) -> Diagnostic.Location { Diagnostic.Location(source, range) }
}

extension Value {
  /// The parts that contain a step's nested steps: lists, or mappings with a list under `steps`.
  var blocks: [Value] {
    ["steps", "else", "default", "onError"].compactMap { self[$0] } + ["cases", "parallel"].flatMap { self[$0].values }
      + [tell].compactMap { $0 }
  }

  /// The list of the steps that tell people of a step's question.
  var tell: Value? { (self["approve"] ?? self["ask"])?["tell"] }

  /// The key of a member, with its place.
  func key(_ name: String) -> Value? { keys.first { $0.string?.hasSameScalars(as: name) ?? false } }

  /// The keys of a mapping, with their places.
  var keys: [Value] { map?.members.map(\.key) ?? [] }
}

extension Value? {
  var keys: [Value] { self?.keys ?? [] }
  fileprivate var values: [Value] { self?.map?.members.map(\.value) ?? [] }
}

/// The files for a single request, each read once; given files replace the folder's.
final class EditedFiles {
  let folder: EditorFolder
  /// A connection whose name in these files differs from its name in the folder.
  var renamedConnection: (from: String, to: String)?
  private let given: [String: Source]
  private var known: [String: EditedFile?] = [:]
  private var checked: [String: Checked] = [:]

  init(_ folder: EditorFolder, _ sources: [Source]) {
    self.folder = folder
    given = Dictionary(
      sources.map { (Recipe.path($0.name, besides: ""), $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The text of a file.
  func source(_ path: String) -> Source? {
    given[path] ?? (try? folder.environment(path).read(path))
  }

  func file(_ path: String) -> EditedFile? {
    if let known = known[path] { return known }
    let file = source(path).map { EditedFile(path, $0) }
    known[path] = file
    return file
  }

  /// The paths of all recipes and tests, both in the folder and among the given files.
  private(set) lazy var paths: [String] = {
    let listed = folder.files().map { Recipe.path($0, besides: "") }
    return listed + given.keys.filter { !listed.contains($0) && EditedFileKind(path: $0) != .configuration }.sorted()
  }()

  /// The paths of all recipes and tests, including files beside a file.
  private func paths(besides path: String) -> [String] {
    let known = Set(paths)
    return paths + folder.filesBeside(path).map { Recipe.path($0, besides: "") }.filter { !known.contains($0) }
  }

  /// The `errand.yaml` that applies to a file: the nearest one above it.
  func configuration(for path: String) -> EditedFile? {
    if EditedFileKind(path: path) == .configuration { return file(path) }
    var parts = path.split(separator: "/", omittingEmptySubsequences: false)
    while !parts.isEmpty {
      parts.removeLast()
      for name in ["errand.yaml", "errand.yml"] {
        if let file = file((parts + [Substring(name)]).joined(separator: "/")) { return file }
      }
    }
    return nil
  }

  /// The recipe with a name; files beside a given file are searched first.
  func recipe(named name: String, besides path: String) -> EditedFile? {
    for ending in ["yaml", "yml"] {
      if let file = file(Recipe.path("\(name).\(ending)", besides: path)) { return file }
    }
    return paths.lazy.filter { EditedFileKind(path: $0) == .recipe }.compactMap(file).first {
      $0.root["recipe"]?.string?.hasSameScalars(as: name) ?? false
    }
  }

  /// The files that contain a text and may refer to a declaration: the declaring file itself, and the files that name
  /// it directly or through other files.
  func files(mentioning text: String, declaredIn path: String) -> [EditedFile] {
    ([path] + paths(leadingTo: path)).filter { source($0)?.holds(text) ?? false }.compactMap(file)
  }

  /// The paths of the files that name a file, directly or through other files.
  func paths(leadingTo path: String) -> [String] {
    var found: [String] = []
    var open = [path]
    var rest = paths(besides: path)
    while let next = open.popLast() {
      let stem = next.split(separator: "/").last?.split(separator: ".").first.map(String.init) ?? next
      let naming = rest.filter { $0 != path && source($0)?.holds(stem) ?? false }
      rest.removeAll(where: naming.contains)
      found += naming
      open += naming
    }
    return found
  }

  /// All files that contain a text, including the configuration.
  func files(mentioning text: String, besides path: String) -> [EditedFile] {
    let configuration = configuration(for: path).map { [$0] } ?? []
    return configuration.filter { $0.source.holds(text) }
      + paths(besides: path).filter { other in
        (source(other)?.holds(text) ?? false) && self.configuration(for: other)?.path == configuration.first?.path
      }.compactMap(file)
  }

  /// The results of the check of a file.
  struct Checked {
    /// The type of a recipe's outputs, if it has no errors.
    var outputs: ValueType?
    var texts: [CheckObserver.Text]
    /// The errors in the file itself.
    var errors: [Diagnostic]
  }

  /// The results of the check of a file, which runs only once.
  func check(_ file: EditedFile) -> Checked {
    if let known = checked[file.path] { return known }
    let found = checkAnew(file)
    checked[file.path] = found
    return found
  }

  private func checkAnew(_ file: EditedFile) -> Checked {
    let observer = CheckObserver()
    var environment = folder.environment(file.path)
    let (given, read) = (given, environment.read)
    environment.read = { path throws(FileError) in
      if let source = given[Recipe.path(path, besides: "")] { return source }
      return try read(path)
    }
    environment.observer = observer
    if let (from, to) = renamedConnection {
      environment.refusals = nil
      let (plugin, settings) = (environment.connections?[from], environment.settings?[from])
      environment.connections?[to] = plugin
      environment.settings?[to] = settings
      environment.limits[to] = environment.limits[from]
      environment.connections?[from] = nil
    }
    let found = folder.check(file.readable, in: environment)
    return Checked(
      outputs: found.recipe?.outputType, texts: observer.texts.filter { $0.source === file.readable },
      errors: found.diagnostics.filter { $0.severity == .error && $0.location?.source === file.readable })
  }
}

extension Source {
  /// Whether the source contains a text.
  func holds(_ text: String) -> Bool { RecipeEditing.holds(bytes, text) }
}

extension CheckObserver.Text {
  /// The expressions in the text; the last one may lack its `}}`.
  package var expressions: [Range<Int>] {
    let text = String(decoding: value, as: UTF8.self)
    for ending in ["", "}}"] {
      guard case .success(let template) = isBare ? Template.parseExpression(text) : Template.parse(text + ending) else {
        continue
      }
      return template.segments.compactMap { if case .expression(let range) = $0 { range } else { nil } }
    }
    return []
  }

  /// Whether the text may contain a name.
  func mayHold(_ name: String) -> Bool { RecipeEditing.holds(value, name) }
}

/// Whether bytes contain a text.
func holds(_ bytes: [UInt8], _ text: String) -> Bool {
  let wanted = Array(text.utf8)
  guard let first = wanted.first else { return true }
  return bytes.withUnsafeBytes { bytes in
    guard var next = bytes.baseAddress, bytes.count >= wanted.count else { return false }
    let last = next + (bytes.count - wanted.count)
    while next <= last, let found = memchr(next, Int32(first), last - next + 1).map({ UnsafeRawPointer($0) }) {
      if memcmp(found, wanted, wanted.count) == 0 { return true }
      next = found + 1
    }
    return false
  }
}
