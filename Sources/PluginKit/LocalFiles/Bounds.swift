import ActionKit
import Glibc

// What belongs to errand itself, and is out of bounds for actions under every name that leads there: errand.yaml, the
// files of secrets and the key that opens them, the folder of the state, the locks of plugins, what errand.yaml and
// locks name, and recipes.
//
// A thing is known by the file system's number for it, so that links, `..`, bind mounts, another spelling and another
// connection's folder lead to the same refusal; and by its name in the folder that is to hold it, because it may not be
// there yet. Of the folders of recipes, only names are meant that have `.yaml` or `.yml` in them, as recipes, tests and
// what editors keep beside them have, with all that is below. No file may be made or moved that is named errand.yaml,
// because it would count for the recipes below its folder. Locks, and what else isn't secret, may be read. The recipe
// that is run and those that it calls are meant by themselves, wherever they lie.
//
// All is looked up anew for each call: it takes some dozens of calls of the system, and files come and go.

/// What actions leave alone.
struct Bounds {
  /// Which file of the machine something is.
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
  /// The paths and what they are.
  private let own: [(path: String, kind: OwnFiles.Kind)]
  /// What is there.
  private var things: [Identity: OwnFiles.Kind] = [:]
  /// What is to be there, as the names that follow from a folder that is.
  private var names: [(from: Identity, names: [String], kind: OwnFiles.Kind)] = []
  /// The folders that hold any of it, at any depth.
  private var above: Set<Identity> = []

  /// - Parameter isReading: Whether nothing is written, moved or removed.
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

  /// Notes the folders above a path, as it is written and where its links lead.
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

  /// What a folder that is open is or lies in; nil if it is free.
  func kind(ofOpen folder: borrowing Descriptor) -> OwnFiles.Kind? {
    guard !isEmpty, var here = Identity(folder) else { return nil }
    var found = things[here]
    var above = openat(folder.number, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    while above >= 0 {
      let folder = Descriptor(owning: above)
      // What lies in recipes may lie in something that is more than that.
      if let kind = found, kind != .recipes { return kind }
      guard let next = Identity(folder), next != here else { return found }
      found = things[next] ?? found
      here = next
      above = openat(folder.number, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    return found
  }

  /// What the names that follow from a folder lead to, whether or not it is there; nil if it is free.
  func kind(of rest: ArraySlice<String>, from folder: borrowing Descriptor) -> OwnFiles.Kind? {
    guard !names.isEmpty, let here = Identity(folder) else { return nil }
    let rest = rest.map { $0.lowercased() }
    return names.first { own in
      // A folder of recipes that is made is looked at then, but it may be one recipe.
      own.from == here && rest.starts(with: own.names) && (own.kind != .recipes || rest.count == own.names.count)
    }?.kind
  }

  /// What has a name, in a folder of recipes or not, be it there or not; nil if it is free.
  func kind(ofName name: String, amongRecipes: Bool) -> OwnFiles.Kind? {
    guard !isEmpty else { return nil }
    if amongRecipes, !allowsRecipes, Self.isRecipe(name) { return .recipes }
    return !isReading && name.lowercased() == "errand.yaml" ? .configuration : nil
  }

  /// What a file is, in a folder of recipes or not; nil if it is free.
  func kind(of status: stat, named name: String, amongRecipes: Bool) -> OwnFiles.Kind? {
    if let kind = things[Identity(status)], kind != .recipes { return kind }
    if let kind = kind(ofName: name, amongRecipes: amongRecipes) { return kind }
    if status.st_mode & S_IFMT == S_IFDIR { return nil }
    // Another name of the same file.
    guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 1 else { return nil }
    for (path, kind) in own where kind == .state || kind == .plugins || kind == .recipes && !allowsRecipes {
      if Self.holds(path, Identity(status), kind, depth: 4) { return kind }
    }
    return nil
  }

  /// Whether a folder holds what is out of bounds, so that it cannot be moved.
  func isAbove(_ status: stat) -> Bool { above.contains(Identity(status)) }

  /// Whether a name is that of a recipe or a test, or of what an editor keeps of one.
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
