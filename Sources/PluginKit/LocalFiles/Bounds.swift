import ActionKit
import Glibc

// Errand's own files, which actions can't access under any name: errand.yaml, files of secrets and their key, the state
// folder, the plugins' locks, files that errand.yaml and locks name, and recipes.
//
// A file is identified by its device and inode, so that links, `..`, bind mounts, another spelling and another
// connection's folder are all refused. Because it may not exist yet, it is also identified by its name in the folder
// that will contain it. In folders of recipes, only names that contain `.yaml` or `.yml` are refused, with everything
// below them: recipes, tests and the files that editors keep beside them. No file named errand.yaml may be created or
// moved, because it would apply to the recipes below its folder. Locks and other files without secrets may be read. The
// running recipe and the recipes that it calls are refused in any folder.
//
// Everything is looked up again for each call: that takes some dozens of system calls, and files come and go.

/// The files that actions can't access.
struct Bounds {
  /// Identifies a file of the machine.
  struct Identity: Hashable {
    var device: dev_t
    var number: ino_t

    init(_ status: stat) {
      device = status.st_dev
      number = status.st_ino
    }

    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      self.init(status)
    }

    init?(_ folder: borrowing Descriptor) {
      var status = stat()
      guard fstat(folder.number, &status) == 0 else { return nil }
      self.init(status)
    }
  }

  private let allowsRecipes: Bool
  private let isReading: Bool
  /// The paths and their kinds.
  private let own: [(path: String, kind: OwnFiles.Kind)]
  /// The existing files and folders.
  private var things: [Identity: OwnFiles.Kind] = [:]
  /// The missing ones, as names relative to an existing folder.
  private var names: [(from: Identity, names: [String], kind: OwnFiles.Kind)] = []
  /// The folders that contain any of them, at any depth.
  private var above: Set<Identity> = []

  /// - Parameter isReading: Whether the operation only reads.
  init(_ own: OwnFiles, allowsRecipes: Bool, isReading: Bool) {
    self.own = own.all(isReading: isReading)
    self.allowsRecipes = allowsRecipes
    self.isReading = isReading
    for (path, kind) in self.own where kind != .recipe || !allowsRecipes {
      if let thing = Identity(path) {
        things[thing] = kind
        if kind == .recipes { above.insert(thing) }
      }
      holdersAbove(of: path)
      if kind == .recipes, isReading || allowsRecipes || Identity(path) != nil { continue }
      var parts = path.split(separator: "/").filter { $0 != "." }.map(String.init)
      var rest: [String] = []
      while let last = parts.popLast() {
        rest.insert(last.lowercased(), at: 0)
        guard let folder = Identity("/" + parts.joined(separator: "/")) else { continue }
        names.append((folder, rest, kind))
        above.insert(folder)
        break
      }
    }
  }

  /// Adds the folders above a path, both of the path as written and of its real path.
  private mutating func holdersAbove(of path: String) {
    var paths = [path]
    if let real = realpath(path, nil) {
      paths.append(String(cString: real))
      free(real)
    }
    for path in paths {
      var parts = path.split(separator: "/")[...]
      while parts.popLast() != nil {
        if let folder = Identity("/" + parts.joined(separator: "/")) { above.insert(folder) }
      }
    }
  }

  var isEmpty: Bool { things.isEmpty && names.isEmpty }

  // MARK: Judging

  /// The kind of an open folder, or of the own folder that contains it; nil if it isn't errand's own.
  func kind(ofOpen folder: borrowing Descriptor) -> OwnFiles.Kind? {
    guard !isEmpty, var here = Identity(folder) else { return nil }
    var found = things[here]
    var above = openat(folder.number, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    while above >= 0 {
      let folder = Descriptor(owning: above)
      // A folder among recipes may also be in one of a more restrictive kind.
      if let kind = found, kind != .recipes { return kind }
      guard let next = Identity(folder), next != here else { return found }
      found = things[next] ?? found
      here = next
      above = openat(folder.number, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    return found
  }

  /// The kind of a path relative to a folder, whether or not it exists; nil if it isn't errand's own.
  func kind(of rest: ArraySlice<String>, from folder: borrowing Descriptor) -> OwnFiles.Kind? {
    guard !names.isEmpty, let here = Identity(folder) else { return nil }
    let rest = rest.map { $0.lowercased() }
    return names.first { own in
      // Paths in a folder of recipes are checked once the folder exists; but the path itself may be a recipe.
      own.from == here && rest.starts(with: own.names) && (own.kind != .recipes || rest.count == own.names.count)
    }?.kind
  }

  /// The kind of a name, in a folder of recipes or not, whether or not it exists; nil if it isn't errand's own.
  func kind(ofName name: String, amongRecipes: Bool) -> OwnFiles.Kind? {
    guard !isEmpty else { return nil }
    if amongRecipes, !allowsRecipes, Self.isRecipe(name) { return .recipes }
    return !isReading && name.lowercased() == "errand.yaml" ? .configuration : nil
  }

  /// The kind of an existing file, in a folder of recipes or not; nil if it isn't errand's own.
  func kind(of status: stat, named name: String, amongRecipes: Bool) -> OwnFiles.Kind? {
    if let kind = things[Identity(status)], kind != .recipes { return kind }
    if let kind = kind(ofName: name, amongRecipes: amongRecipes) { return kind }
    if status.st_mode & S_IFMT == S_IFDIR { return nil }
    // A hard link to one of errand's own files.
    guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 1 else { return nil }
    for (path, kind) in own where kind == .state || kind == .plugins || kind == .recipes && !allowsRecipes {
      if Self.holds(path, Identity(status), kind, depth: 4) { return kind }
    }
    return nil
  }

  /// Whether a folder contains own files, so that it can't be moved.
  func isAbove(_ status: stat) -> Bool { above.contains(Identity(status)) }

  /// Whether a name is the name of a recipe, of a test, or of a file that an editor keeps beside one.
  static func isRecipe(_ name: String) -> Bool {
    let name = name.lowercased()
    return name.contains(".yaml") || name.contains(".yml")
  }

  private static func holds(_ folder: String, _ wanted: Identity, _ kind: OwnFiles.Kind, depth: Int) -> Bool {
    for name in (try? Files.list(folder)) ?? [] {
      var status = stat()
      guard lstat("\(folder)/\(name)", &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR {
        if depth > 0, holds("\(folder)/\(name)", wanted, kind, depth: depth - 1) { return true }
      } else if Identity(status) == wanted, kind != .recipes || isRecipe(name) {
        return true
      }
    }
    return false
  }
}
