import Basics
import CPageAssets
package import HTTPServer

/// The files that pages need, which are the same for all.
///
/// A page names each with a digest of its content, `/assets/errand.4f1c20ab.css`, so that browsers keep it for good and
/// ask for another one after an upgrade. Under its plain name, or with the digest of another version, a file is there
/// too, and isn't kept.
package enum PageAssets {
  private struct Asset: Sendable {
    let name: String
    let ending: String
    let type: String
    let digest: String
    /// Nil if it is kept compressed only.
    let plain: [UInt8]?
    let packed: [UInt8]?

    init(_ name: String, _ ending: String, _ type: String, _ file: cpageassets_file, isPacked: Bool = false) {
      let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
      (self.name, self.ending, self.type) = (name, ending, type)
      digest = String((SHA256.digest(of: bytes) ?? "").prefix(8))
      plain = isPacked ? nil : bytes
      packed = isPacked ? bytes : Gzip.packed(bytes, level: 9)
    }

    var path: String { "\(PageAssets.root)\(name).\(digest).\(ending)" }
  }

  private static let root = "/assets/"

  /// Compressed when they are needed first.
  private static let all = [
    Asset("errand", "css", "text/css; charset=utf-8", cpageassets_style),
    Asset("errand", "js", "text/javascript; charset=utf-8", cpageassets_script),
    Asset("errand", "svg", "image/svg+xml", cpageassets_icon),
    Asset("edit", "css", "text/css; charset=utf-8", cpageassets_editor_style),
    Asset("edit", "js", "text/javascript; charset=utf-8", cpageassets_editor_script),
    Asset("codemirror", "css", "text/css; charset=utf-8", cpageassets_component_style, isPacked: true),
    Asset("codemirror", "js", "text/javascript; charset=utf-8", cpageassets_component_script, isPacked: true),
    Asset("htmx", "js", "text/javascript; charset=utf-8", cpageassets_htmx, isPacked: true),
  ]

  /// The path of a file as pages name it.
  static func path(_ name: String) -> String { asset(root + name)?.path ?? root + name }

  private static func asset(_ path: String) -> Asset? {
    guard path.hasPrefix(root) else { return nil }
    let parts = path.dropFirst(root.count).split(separator: ".", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count) else { return nil }
    return all.first { $0.name == parts[0] && $0.ending == parts[parts.count - 1] }
  }

  /// Whether there is a file at a path.
  package static func has(_ path: String) -> Bool { asset(path) != nil }

  package static func answer(to request: HTTPServerRequest) -> HTTPServerResponse? {
    guard let asset = asset(request.rawPath) else { return nil }
    var headers: HTTPHeaders = ["Content-Type": asset.type, "Vary": "Accept-Encoding"]
    headers["Cache-Control"] =
      request.rawPath == asset.path ? "public, max-age=31536000, immutable" : "no-cache"
    if let packed = asset.packed, request.acceptsGzip || asset.plain == nil {
      headers["Content-Encoding"] = "gzip"
      return HTTPServerResponse(headers: headers, body: .bytes(packed))
    }
    return HTTPServerResponse(headers: headers, body: .bytes(asset.plain ?? []))
  }
}
