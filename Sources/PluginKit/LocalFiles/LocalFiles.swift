public import ActionKit

// Files inside some folders, and no way out of them.
//
// A connection has one folder, the base of its relative paths. It may name others, whose files are given by full paths.
// Each component of a path is opened relative to the previous one, and never through a symbolic link. A `..` in a path
// is refused as well. So no link leads outside, even one that is created meanwhile. The folders themselves are opened
// as they are named, links included: the author of errand.yaml may point anywhere.
//
// All paths that a recipe gives to actions go through here, including paths of files that other services write or send.
// The connections of such services have `folder` as their only setting about files.
//
// Names that begin with a dot are refused unless the connection allows them: repositories and keys have such names.
// Errand's own files are refused under any name (`Bounds`).
//
// The file system treats names as bytes. Names that aren't valid UTF-8 are listed but can't be used. Names in another
// Unicode form (NFC, NFD) are different names; listings return them unchanged, and patterns match any form.

/// The settings of a connection to files in `errand.yaml`.
public struct LocalFilesConfiguration: FieldSet {
  @Field(
    "The folder that paths start from and stay in, relative to errand.yaml's folder; absent means errand.yaml's folder.",
    .notEmpty)
  var folder: String?
  @Field("Full paths of other folders; steps may use their files, by full path.", .each(.pattern(.fullPath)))
  var others: [String] = []
  @Field("Whether steps may use files and folders whose names begin with a dot.") var hidden = false
  @Field("Whether steps may read and write recipes; they can never read or write errand's other files.")
  var allowRecipes = false
  @Field("The largest file that is read, in bytes.", .range(1...1 << 30)) var maxBytes = 64 << 20

  public init() {}
}

/// The files that a connection may use.
public struct LocalFiles: Sendable {
  private let folder: String?
  private let others: [String]
  /// The maximum size of a file that is read.
  package let maxBytes: Int
  let rules: Rules

  /// The rules for all paths, and the settings that a message may advise.
  struct Rules: Sendable {
    var allowsHidden = false
    var allowsRecipes = false
    /// The run's own files, which are refused.
    var own = OwnFiles()
    /// Intercepts the run's reads.
    var interceptor: (any FileInterceptor)?
    /// Replaces the folders by copies, in a run that changes nothing in them.
    var standIn: (any FolderStandIn)?
    /// Whether the connection has `others` and `hidden` beside `folder`.
    var hasOthers = false
    /// The setting that limits the size of files to read, if there is one.
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

  /// Creates access to the files in one folder, for a service whose connection has the setting `folder`.
  ///
  /// Without a folder, it is the folder of errand.yaml.
  ///
  /// - Parameter limit: The setting that limits the size of files to read; a message may advise to raise it.
  public init(folder: String?, limit: String? = nil) {
    self.folder = folder
    others = []
    maxBytes = 64 << 20
    rules = Rules(limit: limit)
  }

  /// Creates access to files below the folder of errand.yaml and below other folders, given by their full paths.
  package init(others: [String]) {
    folder = nil
    self.others = others
    maxBytes = 64 << 20
    rules = Rules()
  }

  /// The file at a recipe's path; it needn't exist.
  package func file(_ path: String, in context: ActionContext) throws(ActionError) -> LocatedFile {
    func place(_ path: String) -> String { context.standIn?.place(of: context.path(path)) ?? context.path(path) }
    let root = place(folder ?? ".").withoutDotsAtEnds
    let path = path.hasPrefix("/") ? place(path) : path
    var (start, rest) = (root, path[...])
    if path.hasPrefix("/") {
      // If the folders are nested, the innermost one counts, because links inside it aren't followed.
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

  /// The names in a path relative to its folder; throws if the path is invalid for any connection.
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
  /// A folder's path without redundant slashes and dots, to compare it with others.
  fileprivate var withoutDotsAtEnds: String {
    var parts = split(separator: "/", omittingEmptySubsequences: true)[...]
    parts.removeAll { $0 == "." }
    return "/" + parts.joined(separator: "/")
  }
}

extension TextPattern {
  /// A full path.
  fileprivate static let fullPath = TextPattern(
    "a full path such as /srv/files", regex: "^/.*$", accepted: ["/", "/srv/files"], refused: ["", "srv/files", "~/x"]
  ) { $0.hasPrefix("/") }
}

extension LocalFiles {
  /// The refusals of paths that are certain in any state of the file system.
  ///
  /// - Parameters:
  ///   - files: The connection's files; nil if the connection isn't known.
  ///   - operation: The operation on the files, which isn't possible on the connection's folder itself.
  ///   - isFolder: Whether the paths lead to folders; a folder may be used even if it contains errand's own files.
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

  /// The files at a recipe's paths, as resources; all of the folders if a path isn't known, or is invalid.
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
