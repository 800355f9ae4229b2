public import ActionKit
import Basics
import Glibc
public import Testing

/// Checks that an action can't leave the folder of its connection through a path.
///
/// Each of the ways out is tried: `..`, a full path, and a symbolic link that leads out. Every plugin must refuse all
/// of them with the same words, and nothing outside may be made, changed or removed.
///
/// - Parameters:
///   - setting: The connection's setting that the messages advise.
///   - prefix: The action's words before the messages.
///   - use: Runs the action on a path.
public func expectKeptInside(
  setting: String = "folder", after prefix: String = "", sourceLocation: SourceLocation = #_sourceLocation,
  _ use: (_ path: String, _ context: ActionContext) async throws -> Void
) async throws {
  let root = try Files.makeTemporaryFolder("errand-inside")
  defer { Files.removeTree(root) }
  let (inside, outside) = ("\(root)/inside", "\(root)/outside")
  for folder in [inside, outside] { try Files.makeFolder(folder) }
  try Files.write(Array("outside".utf8), to: "\(outside)/file.txt")
  guard symlink(outside, "\(inside)/link") == 0 else { throw FileError(.write, "\(inside)/link", .system(errno)) }
  let ways = [
    "../outside/file.txt":
      "'../outside/file.txt' has '..' in it; a path of this connection says where it leads without going up.",
    "\(outside)/file.txt":
      "'\(outside)/file.txt' is in no folder of this connection ('\(inside)'); name its folder under '\(setting)' in the "
      + "connection.",
    "link/file.txt":
      "'\(inside)/link/file.txt' leads through the symbolic link 'link', which is not followed; name the folder that it "
      + "leads to under '\(setting)' in the connection, and use its full path.",
  ]
  for (path, message) in ways {
    let error = await #expect(throws: ActionError.self, "\(path)", sourceLocation: sourceLocation) {
      do { try await use(path, .testing(folder: inside)) } catch { throw ActionError(error) }
    }
    #expect(error?.message == prefix + message, sourceLocation: sourceLocation)
    #expect(error?.kind == .validation, sourceLocation: sourceLocation)
  }
  #expect(try Files.list(outside) == ["file.txt"], sourceLocation: sourceLocation)
  #expect(try Files.list(inside) == ["link"], sourceLocation: sourceLocation)
  #expect(try Files.read("\(outside)/file.txt", limit: 100) == Array("outside".utf8), sourceLocation: sourceLocation)
}

/// The same of an action that works on files themselves; `P` in its input, as JSON, stands for the path.
public func expectKeptInside(
  _ action: ActionDescriptor?, on files: any Sendable, _ input: String,
  sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  let action = try #require(action, sourceLocation: sourceLocation)
  try await expectKeptInside(setting: "others", sourceLocation: sourceLocation) { path, context in
    _ = try await action.run(try JSON.parse(input.replacing("P", with: path)), on: files, in: context)
  }
}
