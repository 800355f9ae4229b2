public import ActionKit

// Files inside some folders, and no way out of them.
//
// A connection has one folder, from which its paths start, and may name others, whose files are reached by their full
// paths. A path is walked one component after another, each opened below the one before and none through a symbolic
// link, so that neither `..`, which is refused as it is written, nor a link that lies there or is put there meanwhile
// leads anywhere else. The folders themselves are opened as they are named, links included: who wrote errand.yaml may
// point where they like.
//
// Every path that a recipe gives to an action goes through here, also those of services that write or send files. Their
// connections have the folder as their only setting.
//
// Names that begin with a dot are left alone unless the connection says otherwise: repositories and keys have such
// names. What belongs to errand itself is out of bounds under any name (`Bounds`).
//
// Names are bytes to the file system. Names that aren't valid UTF-8 are listed and cannot be used; those in
// other Unicode forms (NFC, NFD) are other names, which listings give as they are and find by a pattern in any form.

/// What `errand.yaml` says of a connection to files.
public struct LocalFilesConfiguration: FieldSet {
  @Field("The folder that paths start from and stay in, from that of errand.yaml on; absent means that one.", .notEmpty)
  var folder: String?
  @Field("Full paths of other folders whose files may be used, by their full paths.", .each(.pattern(.fullPath)))
  var others: [String] = []
  @Field("Whether files and folders may be used whose names begin with a dot.") var hidden = false
  @Field("Whether recipes may be read and written; errand's other files never are.") var allowRecipes = false
  @Field("The largest file that is read, in bytes.", .range(1...1 << 30)) var maxBytes = 64 << 20

  public init() {}
}

/// The files that a connection may use.
public struct LocalFiles: Sendable {
  private let folder: String?
  private let others: [String]
  /// The largest file that is read.
  package let maxBytes: Int
  let rules: Rules

  /// What holds for every path, and which settings a message may advise.
  struct Rules: Sendable {
    var allowsHidden = false
    var allowsRecipes = false
    /// What is out of bounds in the run.
    var own = OwnFiles()
    /// What sits between the run and what it reads.
    var interceptor: (any FileInterceptor)?
    /// What stands in for the folders, in a run that changes nothing in them.
    var standIn: (any FolderStandIn)?
    /// Whether the connection has `others` and `hidden` beside `folder`.
    var hasOthers = false
    /// The setting that bounds what is read, if there is one.
    var limit: String?
  }

  /// Creates access to the files that a configuration allows.
  public init(_ configuration: LocalFilesConfiguration) {
    folder = configuration.folder
    others = configuration.others
    maxBytes = configuration.maxBytes
    rules = Rules(
      allowsHidden: configuration.hidden, allowsRecipes: configuration.allowRecipes, hasOthers: true, limit: "maxBytes")
  }

  /// Creates access to the files in one folder, or in that of errand.yaml, for a service whose connection has the
  /// setting `folder`.
  ///
  /// - Parameter limit: The connection's setting that bounds what is read, which a message may advise to raise.
  public init(folder: String?, limit: String? = nil) {
    self.folder = folder
    others = []
    maxBytes = 64 << 20
    rules = Rules(limit: limit)
  }

  /// What a path of a recipe leads to, which need not be there.
  package func file(_ path: String, in context: ActionContext) throws(ActionError) -> LocatedFile {
    func place(_ path: String) -> String { context.standIn?.place(of: context.path(path)) ?? context.path(path) }
    let root = place(folder ?? ".").withoutDotsAtEnds
    let path = path.hasPrefix("/") ? place(path) : path
    var (start, rest) = (root, path[...])
    if path.hasPrefix("/") {
      // Of folders inside each other the inner one, whose own links lead no further.
      let roots = ([root] + others.map { place($0).withoutDotsAtEnds }).filter { path.rest(in: $0) != nil }
      guard let found = roots.max(by: { $0.utf8.count < $1.utf8.count }) else {
        throw LocalFiles.refusal(
          "'\(path)' is in no folder of this connection (\(([root] + others).map { "'\($0)'" }.joined(separator: ", "))); "
            + "name its folder under '\(rules.hasOthers ? "others" : "folder")' in the connection")
      }
      start = found
      rest = path.rest(in: found) ?? ""
    }
    let names = try LocalFiles.names(in: rest, of: path)
    if !rules.allowsHidden, names.contains(where: { $0.hasPrefix(".") }) {
      throw LocalFiles.refusal(
        rules.hasOthers
          ? "'\(path)' is hidden; say 'hidden: true' in the connection to use files whose names begin with a dot"
          : "'\(path)' is hidden; give it a name that does not begin with a dot")
    }
    var rules = rules
    rules.own = context.ownFiles
    rules.interceptor = context.fileInterceptor
    rules.standIn = context.standIn
    return LocatedFile(root: start, names: names, rules: rules)
  }

  /// The names in a path from its folder on, or why it leads nowhere on any connection.
  fileprivate static func names(in rest: Substring, of path: String) throws(ActionError) -> [String] {
    guard !path.isEmpty else { throw refusal("the path is empty") }
    guard !path.utf8.contains(0) else { throw refusal("'\(path.replacing("\0", with: "␀"))' isn't a path") }
    let names = rest.split(separator: "/").filter { $0 != "." }.map(String.init)
    guard !names.contains("..") else {
      throw refusal("'\(path)' has '..' in it; a path of this connection says where it leads without going up")
    }
    return names
  }

  private static func refusal(_ message: String) -> ActionError {
    ActionError(.validation, "\(message).")
  }
}

extension String {
  /// A folder's path without slashes and dots that say nothing, so that others can be compared with it.
  fileprivate var withoutDotsAtEnds: String {
    var parts = split(separator: "/", omittingEmptySubsequences: true)[...]
    parts.removeAll { $0 == "." }
    return "/" + parts.joined(separator: "/")
  }
}

extension TextPattern {
  /// A path from the root of the file system on.
  fileprivate static let fullPath = TextPattern(
    "a full path such as /srv/files", regex: "^/.*$", accepted: ["/", "/srv/files"], refused: ["", "srv/files", "~/x"]
  ) { $0.hasPrefix("/") }
}

extension LocalFiles {
  /// Which paths are refused in every state of the file system.
  ///
  /// - Parameters:
  ///   - files: Those of the connection; nil if it is not known.
  ///   - operation: What is done with the files, which cannot be done with the connection's folder itself.
  ///   - isFolder: Whether they lead to folders, which are used though there are files of errand's own in them.
  package static func refusals(
    of paths: [Value?], on files: LocalFiles?, in context: ActionContext, for operation: FileError.Operation? = nil,
    isFolder: Bool = false
  ) -> [Refusal] {
    paths.compactMap { value in
      guard let value, let path = value.string else { return nil }
      do throws(ActionError) {
        guard let files else {
          _ = try names(in: path[...], of: path)
          return nil
        }
        let file = try files.file(path, in: context)
        if isFolder { return nil }
        return (operation.flatMap { file.refusal(of: $0) } ?? file.ownFileRefusal(for: operation ?? .inspect)).map {
          Refusal($0, of: value)
        }
      } catch {
        return Refusal(error, of: value)
      }
    }
  }

  /// What paths of a recipe lead to: all of the folders if one is not known, or leads nowhere.
  package func resources(_ paths: [Value?], in context: ActionContext) -> [Resource] {
    var found: [Resource] = []
    for path in paths {
      guard let path = path?.string, let file = try? file(path, in: context) else {
        return [folder ?? "."].map { .file(context.path($0)) } + others.map { .file($0) }
      }
      found.append(.file(file.path))
    }
    return found
  }
}
