import Basics
import CPageAssets
package import HTTPServer

/// The files that pages need, which are the same for all.
package enum PageAssets {
  package static func answer(_ path: String) -> HTTPServerResponse? {
    let asset: (file: cpageassets_file, type: String)
    var headers: HTTPHeaders = ["Cache-Control": "public, max-age=3600"]
    switch path {
    case "/assets/errand.css": asset = (cpageassets_style, "text/css; charset=utf-8")
    case "/assets/errand.js": asset = (cpageassets_script, "text/javascript; charset=utf-8")
    case "/assets/errand.svg": asset = (cpageassets_icon, "image/svg+xml")
    case "/assets/htmx.js":
      asset = (cpageassets_htmx, "text/javascript; charset=utf-8")
      headers["Content-Encoding"] = "gzip"
    default: return nil
    }
    headers["Content-Type"] = asset.type
    return HTTPServerResponse(
      headers: headers, body: .bytes(Array(UnsafeBufferPointer(start: asset.file.bytes, count: asset.file.count))))
  }
}
