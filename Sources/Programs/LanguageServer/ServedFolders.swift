import Basics
import RecipeEditing

/// Finds the folder that each file belongs to: the nearest one upwards with an errand.yaml.
///
/// An errand.yaml is read once, until it changes.
final class ServedFolders {
  private let program: ServerProgram
  private let files: OpenFiles
  /// The folders that the client has open.
  var roots: [String] = []
  private var served: [String: ServedFolder] = [:]
  /// Those whose errand.yaml had no faults: what holds while it is being written.
  private var sound: [String: ServedFolder] = [:]
  /// The errand.yaml of each folder that was asked for.
  private var located: [String: String?] = [:]

  init(_ program: ServerProgram, _ files: OpenFiles) {
    self.program = program
    self.files = files
  }

  /// Forgets what was read, because an errand.yaml has changed, come or gone.
  func forget() { (served, located) = ([:], [:]) }

  func isConfiguration(_ path: String) -> Bool {
    path == program.configuration || path.hasSuffix("/errand.yaml") || path.hasSuffix(".lock.json")
  }

  /// The folder of a file.
  func folder(of path: String) -> ServedFolder {
    let folder = FileAddress.folder(of: path)
    let configuration = configuration(of: folder)
    let root = configuration.map(FileAddress.folder) ?? root(of: folder)
    let key = configuration ?? root + "/"
    if let known = served[key] { return known }
    var opened = program.open(configuration, root, files)
    if !opened.isFaulty { sound[key] = opened } else if let earlier = sound[key] { opened = earlier }
    served[key] = opened
    return opened
  }

  /// Every folder that a file was opened of.
  var all: [ServedFolder] { served.sorted { $0.key.precedesByScalars($1.key) }.map(\.value) }

  /// Whether a text is a file of ours: by its name, its folder or its keys.
  func treats(_ document: Document) -> Bool {
    switch document.kind {
    case .configuration: return true
    case .test: return TextOutline(document.source.bytes).looksLikeTest
    case .recipe:
      let folder = FileAddress.folder(of: document.path)
      let served = self.folder(of: document.path)
      return folder.hasSuffix("/recipes")
        || served.recipeFolders.contains { FileAddress.resolve($0, in: "/") == folder }
        || EditorService(served.editor).looksLikeRecipe(document.source)
    }
  }

  private func configuration(of folder: String) -> String? {
    if let given = program.configuration { return given }
    if let known = located[folder] { return known }
    var (place, found) = (folder, nil as String?)
    while found == nil {
      let path = place == "/" ? "/errand.yaml" : "\(place)/errand.yaml"
      if files.exists(path) { found = path }
      if place == "/" { break }
      place = FileAddress.folder(of: place)
    }
    located[folder] = .some(found)
    return found
  }

  private func root(of folder: String) -> String {
    let holding = roots.filter { folder == $0 || $0 == "/" || folder.hasPrefix($0 + "/") }
    return holding.max { $0.utf8.count < $1.utf8.count } ?? folder
  }
}
