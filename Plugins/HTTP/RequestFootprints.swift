public import ActionKit
import LocalFiles

extension HTTPPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: Configuration, in context: ActionContext
  ) -> Footprint {
    let files = LocalFiles(folder: connection.folder)
    let service = service(input["url"]?.string, connection)
    if action == "download" {
      let file = files.resources([input["to"]], in: context)
      return Footprint(reads: [service] + file, changes: file)
    }
    let sent = input["multipart"]?["files"]?.list ?? []
    return Footprint(
      reads: [service] + (sent.isEmpty ? [] : files.resources(sent.map { $0["path"] }, in: context)), changes: [service]
    )
  }

  /// What is at an address; at one that is not known, all that a step may ask.
  private static func service(_ url: String?, _ connection: Configuration) -> Resource {
    guard let base = connection.baseURL else { return url.map { .service($0) } ?? .everything }
    guard let url else { return connection.allowOtherHosts ? .everything : .service(base) }
    return url.isEmpty || url.hasPrefix("/") || url.hasPrefix("?") ? .service(base) : .service(url)
  }
}
