package import Glibc

/// A weakness that lets another user of this machine change a file or folder that this process trusts, such as
/// `errand.yaml`, whose commands it runs.
///
/// Root may change everything anyway. A group whose only member is the owner, as distributions make one for each
/// account, counts as the owner. In a folder for all, only owners may remove and rename files (the sticky bit). Nothing
/// in such a folder may be trusted by its name, since others may put recipes there, but a path through the folder may
/// be trusted.
package struct ForeignHold: Error, Hashable, CustomStringConvertible {
  /// The file or folder that another user holds.
  package let path: String
  /// Its owner.
  package let owner: uid_t
  /// Whether the owner is this process's user or root, so that only the mode is wrong.
  package let isOwn: Bool
  /// Whether it is a folder for all, such as `/tmp`, where users can't remove the files of others.
  private let isForAll: Bool

  private init(path: String, owner: uid_t, isOwn: Bool, isForAll: Bool = false) {
    self.path = path
    self.owner = owner
    self.isOwn = isOwn
    self.isForAll = isForAll
  }

  /// Who holds a path: the file or folder itself, the link that it is, or the folders that hold these; nil if no other
  /// user does, or if nothing is there.
  ///
  /// - Parameter folders: How many of the folders above it are looked at.
  package static func of(_ path: String, folders: Int = 1) -> ForeignHold? {
    // Each link on the way; the last one leads to the file.
    var paths = [path]
    while let next = target(of: paths[paths.count - 1]), paths.count < 40 { paths.append(next) }
    if paths.count > 1, let resolved = realpath(path, nil) {
      paths.append(String(cString: resolved))
      free(resolved)
    }
    for path in paths {
      // Who owns a link in the middle, or the folder that it is in, says where the rest leads.
      for end in path.utf8.indices.dropFirst() where path.utf8[end] == ASCII.slash {
        let link = String(path[..<end])
        guard target(of: link) != nil else { continue }
        if let hold = holder(of: link, isFolder: false, isForAll: true) { return hold }
        let slash = link.utf8.lastIndex(of: ASCII.slash)
        let folder = slash.map { $0 == link.startIndex ? "/" : String(link[..<$0]) } ?? "."
        if let hold = holder(of: folder, isFolder: true, isForAll: true) { return hold }
      }
      var path = path
      for level in 0...max(0, folders) {
        if let hold = holder(of: path, isFolder: level > 0, isForAll: level > 1) { return hold }
        guard path != "/", let slash = path.utf8.lastIndex(of: ASCII.slash) else { break }
        path = slash == path.startIndex ? "/" : String(path[..<slash])
      }
    }
    return nil
  }

  /// Where a link leads, as it is written; nil if it is none.
  private static func target(of path: String) -> String? {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return nil }
    var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &target, target.count)
    guard count > 0, let text = String(validating: target.prefix(count), as: UTF8.self) else { return nil }
    if text.hasPrefix("/") { return text }
    let folder = path.utf8.lastIndex(of: ASCII.slash).map { String(path[...$0]) } ?? ""
    return folder + text
  }

  /// - Parameters:
  ///   - isFolder: Whether it is checked as a folder that holds a file of the path.
  ///   - isForAll: Whether it is only passed through, so that a sticky bit is enough.
  private static func holder(of path: String, isFolder: Bool, isForAll mayBeForAll: Bool) -> ForeignHold? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    let isLink = status.st_mode & S_IFMT == S_IFLNK
    // For a link above the file, its target is checked; the link's own mode means nothing.
    if isLink, isFolder, stat(path, &status) != 0 { return nil }
    let isOwn = status.st_uid == 0 || status.st_uid == geteuid()
    guard isOwn else { return ForeignHold(path: path, owner: status.st_uid, isOwn: false) }
    if isLink, !isFolder { return nil }
    let isForAll = isFolder && status.st_mode & S_ISVTX != 0
    if isForAll, mayBeForAll { return nil }
    let isOpen = status.st_mode & S_IWOTH != 0 || status.st_mode & S_IWGRP != 0 && !isPrivate(status)
    return isOpen ? ForeignHold(path: path, owner: status.st_uid, isOwn: true, isForAll: isForAll) : nil
  }

  /// Whether the group is the owner's alone.
  private static func isPrivate(_ status: stat) -> Bool {
    guard status.st_uid != 0, let user = getpwuid(status.st_uid), let name = user.pointee.pw_name else { return false }
    let owner = String(cString: name)
    guard user.pointee.pw_gid == status.st_gid, let group = getgrgid(status.st_gid), let called = group.pointee.gr_name,
      String(cString: called) == owner
    else { return false }
    var member = group.pointee.gr_mem
    while let text = member?.pointee {
      if String(cString: text) != owner { return false }
      member = member.map { $0 + 1 }
    }
    return true
  }

  /// The command that takes the path out of the others' hands.
  package var remedy: String {
    isOwn
      ? "chmod go-w \(path.shellQuoted)" : "chown \(ForeignHold.name(of: geteuid()).shellQuoted) \(path.shellQuoted)"
  }

  /// Who holds it, as a clause.
  package var reason: String {
    isOwn
      ? "users other than its owner, \(ForeignHold.name(of: owner)), may write to '\(path.safe)'"
      : "'\(path.safe)' belongs to the user \(ForeignHold.name(of: owner)), and this is \(ForeignHold.name(of: geteuid()))"
  }

  package var description: String {
    if isForAll { return "\(reason); put it into a folder of your own" }
    return "\(reason); \(isOwn ? "forbid it" : "take it over") with: \(remedy)"
  }

  /// The name of an account, or its number.
  package static func name(of user: uid_t) -> String {
    guard let entry = getpwuid(user), let name = entry.pointee.pw_name else { return "\(user)" }
    return String(cString: name)
  }
}
