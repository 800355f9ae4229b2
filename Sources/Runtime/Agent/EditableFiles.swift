// The files that people may edit through an agent: errand.yaml, the recipes directly in its folders, and their tests there
// or in their folder `tests`. It is what `errand check` finds without arguments.
//
// A path counts from the folder of errand.yaml. It is opened folder by folder, and nothing on the way may be a symbolic
// link, so that no other file can take the place of the one that was meant. A file with a second name (a hard link) is
// refused, because a save would part the two. Only regular files are read.

package import Basics
import Glibc
package import RecipeEditing
import Recipes

/// A file that people may edit, whether it exists or not.
package struct EditableFile: Sendable, Equatable {
  /// The path from the folder of errand.yaml.
  package var path: String
  /// The path as the agent serves it.
  package var fullPath: String
  package var kind: EditedFileKind

  var name: String { path.split(separator: "/").last.map { String($0) } ?? path }
  /// The name of the recipe that it is about, as far as its own name says.
  var recipeName: String {
    let stem = name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
    return kind == .test && stem.hasSuffix(".test") ? String(stem.dropLast(5)) : stem
  }
  /// The path of its folder from the folder of errand.yaml; empty for that folder itself.
  var folder: String { String(path.dropLast(name.count).dropLast()) }
}

/// The content of a file, with the facts that a save keeps.
package struct EditableContent: Sendable {
  package var bytes: [UInt8]
  package var digest: String
  package var changedAt: Timestamp
  var mode: mode_t
  var owner: uid_t
  var group: gid_t

  package var text: String { String(decoding: bytes, as: UTF8.self) }
}

struct EditableFiles {
  /// The most bytes of a file that is edited.
  static let mostBytes = 256 << 10
  /// The most files of each folder that are listed.
  private static let mostFiles = 2000

  private let root: String
  private let configuration: String?
  /// The folders of recipes below the root, by their paths from there, as the agent serves them.
  private let folders: [(path: String, fullPath: String)]

  init(_ editing: FolderEditing) {
    root = editing.root
    configuration = editing.configuration.flatMap { path in
      EditableFiles.path(of: path, below: editing.root).flatMap {
        EditedFileKind(path: $0) == .configuration && !$0.contains("/") ? $0 : nil
      }
    }
    folders = editing.recipeFolders().compactMap { folder in
      EditableFiles.path(of: folder, below: editing.root).map { ($0, folder) }
    }
  }

  /// A full path as one from the root; nil if it leads elsewhere.
  private static func path(of path: String, below root: String) -> String? {
    guard let rest = Recipe.path(path, besides: "").rest(in: Recipe.path(root, besides: "")) else { return nil }
    return String(rest.drop { $0 == "/" })
  }

  /// The folder of new recipes; nil if it isn't below the root.
  var folderOfNew: String? { folders.first?.path }

  // MARK: Paths

  /// The file that a path means.
  func file(_ path: String) throws(RequestRefusedError) -> EditableFile {
    func refused(_ reason: String) -> RequestRefusedError { EditableFiles.refused(path, reason) }
    guard !path.isEmpty, path.utf8.count <= 500 else { throw refused("a path has 1 to 500 bytes") }
    guard path.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
      throw refused("a path has no line breaks and no other control characters")
    }
    guard !path.hasPrefix("/") else { throw refused("paths begin at the folder of errand.yaml, without a slash") }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
    guard !parts.contains(where: { ["", ".", ".."].contains($0) }) else {
      throw refused("a path has no '.', no '..' and no empty part")
    }
    if let configuration, path.hasSameScalars(as: configuration) {
      return EditableFile(path: path, fullPath: "\(root)/\(path)", kind: .configuration)
    }
    let name = parts[parts.count - 1]
    let folder = parts.dropLast().joined(separator: "/")
    let isTest = RecipeTestFile.isName(name)
    guard EditedFileKind(path: path) != .configuration, name.hasSuffix(".yaml") || name.hasSuffix(".yml"),
      let found = folders.first(where: { other in
        folder.hasSameScalars(as: other.path)
          || isTest && folder.hasSameScalars(as: EditableFiles.tests(in: other.path))
      })
    else {
      let names = folders.map { $0.path.isEmpty ? "the folder of errand.yaml" : "'\($0.path)'" }
      throw refused(
        "only errand.yaml, the recipes directly in \(names.isEmpty ? "the recipe folders" : joined(names)) and their tests are"
      )
    }
    let isBelow = !folder.hasSameScalars(as: found.path)
    return EditableFile(
      path: path, fullPath: "\(found.fullPath)/\(isBelow ? "tests/" : "")\(name)", kind: isTest ? .test : .recipe)
  }

  /// The file with a full path; nil if it isn't one of these.
  func file(at fullPath: String) -> EditableFile? {
    EditableFiles.path(of: fullPath, below: root).flatMap { path in try? file(path) }
  }

  private static func tests(in folder: String) -> String { folder.isEmpty ? "tests" : "\(folder)/tests" }

  /// Refuses a name that no new file may have.
  func checkNew(_ file: EditableFile) throws(RequestRefusedError) {
    let stem = file.name.hasSuffix(".yaml") ? Array(file.name.utf8.dropLast(5)) : []
    let isSound = stem.allSatisfy { byte in
      switch byte {
      case ASCII.digits, ASCII.uppercase, ASCII.lowercase, ASCII.minus, ASCII.dot, ASCII.underscore: true
      default: false
      }
    }
    let isFit = stem.first.map { $0 != ASCII.minus && $0 != ASCII.dot && $0 != ASCII.underscore } ?? false
    guard file.kind != .configuration, isSound, isFit, stem.count <= 64 else {
      throw EditableFiles.refused(
        file.path,
        "a new file's name has 1 to 64 letters, digits, dots, '-' and '_', begins with a letter or a digit, and ends with .yaml"
      )
    }
  }

  /// The files that exist and may be edited: errand.yaml, then recipes and tests by their paths.
  func list() -> [(file: EditableFile, content: EditableContent)] {
    var paths: [String] = []
    for folder in folders {
      for place in [folder.path, EditableFiles.tests(in: folder.path)] {
        let names = (try? Files.list(place.isEmpty ? root : "\(root)/\(place)")) ?? []
        paths += names.prefix(EditableFiles.mostFiles).map { place.isEmpty ? $0 : "\(place)/\($0)" }
      }
    }
    var seen: Set<String> = []
    return ([configuration].compactMap(\.self) + paths.sorted { $0.precedesByScalars($1) }).compactMap { path in
      guard seen.insert(path).inserted, let file = try? file(path), let content = try? content(of: file) else {
        return nil
      }
      return (file, content)
    }
  }

  // MARK: Reading

  /// The open folder of a file; nil if it doesn't exist.
  func place(of file: EditableFile) throws(RequestRefusedError) -> FilePlace? {
    var folder: Descriptor
    do throws(FileError) { folder = try Descriptor(.read, root, O_RDONLY | O_DIRECTORY) } catch {
      throw EditableFiles.refused(file.path, EditableFiles.reason(error.code ?? EIO))
    }
    for part in file.folder.split(separator: "/") {
      let number = retried { openat(folder.number, String(part), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
      if number < 0 {
        let code = errno
        if code == ENOENT { return nil }
        let isLink = code == ELOOP || code == ENOTDIR
        throw EditableFiles.refused(
          file.path, isLink ? "'\(part)' in it is a symbolic link, or no folder" : EditableFiles.reason(code))
      }
      folder = Descriptor(owning: number)
    }
    return FilePlace(folder, file.name, path: file.path)
  }

  /// The content of a file; nil if it doesn't exist.
  func content(of file: EditableFile) throws(RequestRefusedError) -> EditableContent? {
    guard let place = try place(of: file) else { return nil }
    return try content(of: file, in: place)
  }

  func content(of file: EditableFile, in place: FilePlace) throws(RequestRefusedError) -> EditableContent? {
    func refused(_ reason: String) -> RequestRefusedError { EditableFiles.refused(file.path, reason) }
    let number = place.open(place.name, O_RDONLY | O_NONBLOCK)
    if number < 0 {
      switch errno {
      case ENOENT: return nil
      case ELOOP: throw refused("it is a symbolic link")
      case ENXIO: throw refused("it isn't a regular file")
      case let code: throw refused(EditableFiles.reason(code))
      }
    }
    let opened = Descriptor(owning: number)
    var status = stat()
    guard fstat(opened.number, &status) == 0 else { throw refused(EditableFiles.reason(errno)) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw refused("it isn't a regular file") }
    guard status.st_nlink == 1 else {
      throw refused("it has \(status.st_nlink) names (hard links), and a save would change only one of them")
    }
    guard status.st_size <= EditableFiles.mostBytes else { throw EditableFiles.tooLarge(Int(status.st_size)) }
    let bytes: [UInt8]
    do throws(FileError) { bytes = try opened.readAll(file.path, limit: EditableFiles.mostBytes) } catch {
      throw refused(error.code.map(EditableFiles.reason) ?? "it grows while it is read")
    }
    guard String(validating: bytes, as: UTF8.self) != nil else { throw refused("it isn't valid UTF-8") }
    return EditableContent(
      bytes: bytes, digest: try EditableFiles.digest(bytes),
      changedAt: Timestamp(seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec) ?? .earliest,
      mode: status.st_mode & 0o7777, owner: status.st_uid, group: status.st_gid)
  }

  // MARK: Writing

  /// Creates or replaces a file in one step; when this returns, the bytes survive power loss.
  ///
  /// The file keeps its mode and its owner. A new one is LF-terminated as it is given, and gets the mode that the
  /// process's mask leaves.
  /// - Parameters:
  ///   - old: The content that the file has to have still; nil if there has to be none.
  ///   - isWritten: Called when the bytes are on the disk and only the rename is left.
  /// - Returns: Whether the file had the old content, and has the new one.
  func write(
    _ bytes: [UInt8], to file: EditableFile, in place: FilePlace, replacing old: EditableContent?
  ) throws(RequestRefusedError) -> Bool {
    EditableFiles.removeLeft(beside: file, in: root)
    let temporary = "\(file.name).\(getpid())-\(EditableFiles.serial()).new"
    let number = retried {
      openat(place.number, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, old == nil ? 0o644 : 0o600)
    }
    guard number >= 0 else { throw unwritable(file, errno) }
    let opened = Descriptor(owning: number)
    do throws(RequestRefusedError) {
      do throws(FileError) { try opened.write(bytes, file.path) } catch { throw unwritable(file, error.code ?? EIO) }
      if let old {
        var status = stat()
        guard fstat(opened.number, &status) == 0 else { throw unwritable(file, errno) }
        let isSame = status.st_uid == old.owner && status.st_gid == old.group
        // The owner first, because a change of it takes bits from the mode.
        guard isSame || fchown(opened.number, old.owner, old.group) == 0, fchmod(opened.number, old.mode) == 0 else {
          throw RequestRefusedError(
            .conflict,
            "'\(file.path)' belongs to another account or group, which a new text of the agent's couldn't: \(systemErrorText(errno)); give the file to the agent's account"
          )
        }
      }
      guard fsync(opened.number) == 0 else { throw unwritable(file, errno) }
      // The slow part is done, so hardly anything can happen between this check and the rename.
      guard try content(of: file, in: place)?.bytes == old?.bytes else {
        place.remove(temporary)
        return false
      }
      guard place.replace(by: temporary) else { throw unwritable(file, errno) }
    } catch {
      place.remove(temporary)
      throw error
    }
    guard place.sync() else { throw unwritable(file, errno) }
    return true
  }

  /// Opens the folder of a file, which is made if it is the folder of tests.
  func placeToWrite(_ file: EditableFile) throws(RequestRefusedError) -> FilePlace {
    if let place = try place(of: file) { return place }
    do throws(FileError) { try Files.makeFolder(file.folder.isEmpty ? root : "\(root)/\(file.folder)") } catch {
      throw unwritable(file, error.code ?? EIO)
    }
    guard let place = try place(of: file) else { throw unwritable(file, ENOENT) }
    return place
  }

  /// Removes what saves of a file left that were killed.
  private static func removeLeft(beside file: EditableFile, in root: String) {
    Files.removeLeft(beside: "\(root)/\(file.path)")
  }

  private static func serial() -> UInt32 { UInt32.random(in: 0...999_999_999) }

  // MARK: Refusals

  static func refused(_ path: String, _ reason: String) -> RequestRefusedError {
    RequestRefusedError(.forbidden, "'\(path.safe.shortened(to: 120))' can't be edited here: \(reason)")
  }

  static func tooLarge(_ bytes: Int) -> RequestRefusedError {
    RequestRefusedError(.tooLarge, "a text of \(bytes) bytes can't be edited here; it may have 256 KiB")
  }

  private static func reason(_ code: Int32) -> String { systemErrorText(code) }

  static func digest(_ bytes: [UInt8]) throws(RequestRefusedError) -> String {
    guard let digest = SHA256.digest(of: bytes) else {
      throw RequestRefusedError(.state, "libcrypto, which makes hashes, can't be used here")
    }
    return digest
  }

  /// The refusal of a save whose folder the agent may not write.
  private func unwritable(_ file: EditableFile, _ code: Int32) -> RequestRefusedError {
    let folder = file.folder.isEmpty ? "the folder of errand.yaml" : "the folder '\(file.folder)'"
    let fix = "; a unit of systemd needs the line 'ReadWritePaths="
    func message(_ path: String) -> String {
      "\(folder) can't be written: \(systemErrorText(code))\(fix)\(path)', which errand serve --systemd-unit writes with 'edit: true'"
    }
    let rest = file.folder.isEmpty ? "" : "/\(file.folder)"
    var refusal = RequestRefusedError(.conflict, message("\(root)\(rest)"))
    // Where the folder lies stays on the machine.
    refusal.overHTTP = message("FOLDER\(rest)") + " (FOLDER is the folder of errand.yaml)"
    return refusal
  }
}

/// Makes a call again until no signal interrupts it.
private func retried(_ call: () -> Int32) -> Int32 {
  while true {
    let number = call()
    if number >= 0 || errno != EINTR { return number }
  }
}
