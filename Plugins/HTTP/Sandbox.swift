public import ActionKit
import SandboxKit
import LocalFiles

// The sandbox: a small shop on a loopback port. Beside the paths that every sandbox has (`SandboxServer`), it serves:
//
//   /items          a list, by pages (`limit`, `page`) with Link headers and ETags; POST adds an item, also from a form
//   /items/1        one item: GET, PUT, DELETE
//   /uploads        receives a form with files by POST, and lists its parts
//   /cursor/items   the list as `{"data": […], "next": "…"}`, by the cursor `after`
//   /notes.txt      a text
//   /files/…        items.csv and report.zip, which can be downloaded in parts

extension HTTPPlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try await HTTPSandbox(options)
  }
}

/// A shop that answers on a loopback port, and a folder for downloads.
final class HTTPSandbox: ServedSandbox {
  let server: SandboxServer
  private let folder: FolderSandbox

  init(_ options: SandboxOptions) async throws {
    let shop = SandboxShop()
    server = try SandboxServer(port: options.port, time: options.time) { request, _ in shop.answer(request) }
    folder = try await FolderSandbox(options)
  }

  var configuration: Value {
    .object([
      "baseURL": .string(baseURL), "folder": .string(folder.baseURL), "honoursIdempotencyKey": .bool(true),
    ])
  }

  func stop() async {
    await server.stop()
    await folder.stop()
  }
}
