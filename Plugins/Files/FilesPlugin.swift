public import ActionKit
public import LocalFiles

/// Lets recipes read and write files of this machine, inside the folders that their connection allows.
public enum FilesPlugin: FilePlugin {
  public static let name = "file"
  public static let summary = "Reads and writes files of this machine, inside allowed folders only."
  public static let actions: [any Action<LocalFiles>.Type] = [
    ReadText.self, ReadBytes.self, ListFiles.self, FileExists.self, WriteFile.self, AppendToFile.self, MoveFile.self,
    DeleteFile.self,
  ]
}
