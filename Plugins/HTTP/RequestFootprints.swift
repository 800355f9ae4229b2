public import ActionKit
import HTTPClient
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

  /// The service that an address names; for an unknown address, all services that a step may ask.
  private static func service(_ url: String?, _ connection: Configuration) -> Resource {
    guard let base = connection.baseURL else { return url.map { .service($0) } ?? .everything }
    guard let url else { return connection.allowOtherHosts ? .everything : .service(base) }
    return url.isEmpty || url.hasPrefix("/") || url.hasPrefix("?") ? .service(base) : .service(url)
  }
}

extension HTTPPlugin: RefusingPlugin {
  public static func refusals(
    of action: String, _ input: StepInput, on connection: Configuration?, in context: ActionContext
  ) -> [Refusal] {
    let sent = input["multipart"]?["files"]?.list ?? []
    var refusals = LocalFiles.refusals(
      of: [action == "download" ? input["to"] : nil] + sent.map { $0["path"] },
      on: connection.map { LocalFiles(folder: $0.folder) }, in: context)
    for (name, fields) in [
      ("query", input["query"]), ("form", input["form"]), ("fields", input["multipart"]?["fields"]),
    ] { refusals += WebBody.refusals(of: fields, called: name, in: input) }
    // Paths need the connection's address; whole addresses can be checked without it.
    let isPath = input["url"]?.string.map { $0.hasPrefix("/") || $0.hasPrefix("?") } ?? true
    if let url = input["url"], let text = url.string, let settings = connection ?? (isPath ? nil : Configuration()) {
      do throws(ActionError) { _ = try WebClient.address(of: text, settings) } catch {
        refusals.append(Refusal(error, of: url))
      }
    }
    func check(_ value: Value?, _ check: (Value) throws(ActionError) -> Void) {
      guard let value, !value.isNull else { return }
      do throws(ActionError) { try check(value) } catch { refusals.append(Refusal(error, of: value)) }
    }
    for file in sent {
      check(file["type"]) { value throws(ActionError) in try WebBody.check(mediaType: value.string ?? "") }
    }
    var fields = (input["headers"]?.map?.members ?? []).map { ($0.name ?? "", $0.value, $0.key) }
    if let type = input["contentType"] { fields.append(("Content-Type", type, type)) }
    for (name, value, key) in fields {
      guard let fault = HTTPRequest.fault(ofHeader: name, value.string ?? "") else { continue }
      refusals.append(Refusal(ActionError(.validation, fault.message), of: fault.isOfName ? key : value))
    }
    return refusals
  }
}
