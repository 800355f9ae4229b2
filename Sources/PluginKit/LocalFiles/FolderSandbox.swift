public import ActionKit

/// The sandbox of a plugin for files: a temporary folder of made-up files.
///
/// The plugins of one run share it, so that one reads the files that another wrote. No file outside of it is touched.
public final class FolderSandbox: RunningSandbox {
  private let folder: String

  /// Creates the folder, or uses the one that another plugin's sandbox has created.
  public init(_ options: SandboxOptions) async throws(ActionError) {
    let result: Result<String, FileError> = await onThread {
      Result { () throws(FileError) in
        let folder: String
        if let given = options.folder {
          guard try Files.kind(of: given) == nil else { return given }
          try Files.makeFolder(given, mode: 0o700)
          folder = given
        } else {
          folder = try Files.makeTemporaryFolder("errand-sandbox")
        }
        for (name, text) in Self.files {
          let path = "\(folder)/\(name)"
          if let slash = path.lastIndex(of: "/") { try Files.makeFolder(String(path[..<slash])) }
          try Files.write(Array(text.utf8), to: path)
        }
        return folder
      }
    }
    do throws(FileError) { folder = try result.get() } catch {
      throw ActionError(.configuration, "The sandbox has no folder: \(error.description).", cause: error)
    }
  }

  public var baseURL: String { folder }
  public var configuration: Value { .object(["folder": .string(folder)]) }

  public func summaryLines() async -> [String] {
    let listed = try? await LocatedFile(root: folder, names: [], rules: .init())
      .list(matching: "*", isRecursive: true, limit: 1000)
    return (listed?.files ?? []).filter { $0.status.kind == .file }.map { "\($0.path): \($0.status.bytes) bytes" }
  }

  public func stop() async {
    _ = await onThread { [folder] in Files.removeTree(folder) }
  }

  /// The initial files in the folder, for recipes and examples.
  private static let files: KeyValuePairs = [
    "marks.csv": """
    student,class,task,mark,born
    Ada Lovelace,8M,Essay,93.5,2012-12-10
    Alan Turing,8M,Essay,88,2012-06-23
    "Hopper, Grace",8N,Essay,,2012-12-09
    Mary Somerville,8N,Essay,71.25,2012-12-26

    """,
    "notes.txt": "Bring the projector to room 12.\nThe bus leaves at 8:15.\n",
    "classes.json": """
    {
      "classes": [
        {"name": "8M", "room": 12, "teacher": {"name": "E. Noether", "mail": "noether@school.example"}},
        {"name": "8N", "room": 14}
      ]
    }

    """,
    "archive/2025/marks.csv": "student,class,task,mark,born\nEmmy Noether,8M,Essay,97,2011-03-23\n",
  ]
}
