import ActionKit
import SandboxKit
import Synchronization

/// The shop that the sandbox plays.
final class SandboxShop: Sendable {
  private struct State {
    var items: [(id: Int, fields: ValueMap)]
    var nextID: Int
    /// The responses by Idempotency-Key.
    var answers: [String: Value] = [:]
  }

  /// The ids that a request may give to an item.
  private static let ids = 1...Int(Int32.max)

  private let state: Mutex<State>
  private let archive: [UInt8]

  init() {
    let items = [("Pencil", 0.8), ("Eraser", 1.2), ("Ruler", 2.4), ("Compass", 7.5), ("Chalk", 3.1)]
    state = Mutex(
      State(
        items: items.enumerated().map { ($0 + 1, ValueMap([("name", .string($1.0)), ("price", .double($1.1))])) },
        nextID: items.count + 1))
    var archive = StoredArchive()
    archive.add("report.txt", Array(repeating: "Nothing to report.\n", count: 400).flatMap { $0.utf8 })
    archive.add("empty.txt", [])
    self.archive = archive.finished()
  }

  func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
    let parts = request.path.split(separator: "/").map(String.init)
    switch (request.method, parts.first, parts.count) {
    case ("GET", "items", 1): return page(request)
    case ("POST", "items", 1): return made(request)
    case ("POST", "uploads", 1): return uploaded(request)
    case (_, "items", 2): return Int(parts[1]).map { one(request, $0) } ?? missing
    case ("GET", "cursor", 2): return cursored(request)
    case ("GET", "notes.txt", 1):
      return tagged(.text("Open from nine to five.\n"), Array("Open from nine to five.\n".utf8), request)
    case ("GET", "files", 2) where parts[1] == "report.zip": return file(archive, "application/zip", request)
    case ("GET", "files", 2) where parts[1] == "items.csv":
      var writer = CSVWriter(separator: ASCII.comma)
      writer.append(["id", "name", "price"])
      for item in items {
        writer.append([item["id"]?.csvField ?? "", item["name"]?.csvField ?? "", item["price"]?.csvField ?? ""])
      }
      return file(writer.bytes, "text/csv; charset=utf-8", request)
    default: return missing
    }
  }

  private var items: [Value] { state.withLock { $0.items.map { Self.value($0.id, $0.fields) } } }

  private static func value(_ id: Int, _ fields: ValueMap) -> Value {
    var map = ValueMap([("id", .int(id))])
    for member in fields.members where member.name != "id" { map[member.key] = member.value }
    return .map(map)
  }

  private var missing: HTTPServerResponse {
    .json(
      .object(["title": .string("Not found"), "detail": .string("There is nothing at this address.")]), status: 404)
  }

  private func refused(_ detail: String) -> HTTPServerResponse {
    .json(.object(["title": .string("Not accepted"), "detail": .string(detail)]), status: 422)
  }

  // MARK: Reading

  private func page(_ request: HTTPServerRequest) -> HTTPServerResponse {
    let items = items
    let limit = request.query.number("limit", in: 1...1000) ?? min(max(items.count, 1), 1000)
    let page = request.query.number("page", in: 1...1_000_000) ?? 1
    let start = min((page - 1) * limit, items.count)
    let end = min(start + limit, items.count)
    var answer = HTTPServerResponse.json(.list(Array(items[start..<end])))
    if end < items.count { answer.headers["Link"] = "</items?limit=\(limit)&page=\(page + 1)>; rel=\"next\"" }
    guard case .bytes(let bytes) = answer.body else { return answer }
    return tagged(answer, bytes, request)
  }

  private func cursored(_ request: HTTPServerRequest) -> HTTPServerResponse {
    let after = request.query.number("after", in: 0...Int.max) ?? 0
    let rest = items.filter { ($0["id"]?.int ?? 0) > after }
    let data = Array(rest.prefix(2))
    return .json(
      .object([
        "data": .list(data),
        "next": rest.count > data.count ? .string("\(data.last?["id"]?.int ?? 0)") : .null,
      ]))
  }

  private func tagged(_ answer: HTTPServerResponse, _ bytes: [UInt8], _ request: HTTPServerRequest)
    -> HTTPServerResponse
  {
    var answer = answer
    let tag = "\"\(bytes.reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 })\""
    answer.headers["ETag"] = tag
    answer.headers["Cache-Control"] = "max-age=0"
    return request.headers["If-None-Match"] == tag ? HTTPServerResponse(status: 304, headers: answer.headers) : answer
  }

  /// A file, or the part of it from a requested byte on.
  private func file(_ bytes: [UInt8], _ type: String, _ request: HTTPServerRequest) -> HTTPServerResponse {
    let tag = "\"\(bytes.count)\""
    var answer = HTTPServerResponse(
      headers: ["Content-Type": type, "ETag": tag, "Accept-Ranges": "bytes"], body: .bytes(bytes))
    guard let start = request.firstByte(ofFileWith: bytes.count), start > 0,
      request.headers["If-Range"].map({ $0 == tag }) ?? true
    else { return answer }
    answer.status = 206
    answer.headers["Content-Range"] = "bytes \(start)-\(bytes.count - 1)/\(bytes.count)"
    answer.body = .bytes(Array(bytes[start...]))
    return answer
  }

  // MARK: Writing

  private func fields(_ request: HTTPServerRequest) -> ValueMap? {
    if request.headers["Content-Type"]?.hasPrefix("application/x-www-form-urlencoded") == true {
      return ValueMap(request.form.items.map { ($0.name, .string($0.value)) })
    }
    return (try? JSON.parse(request.body))?.map
  }

  private func made(_ request: HTTPServerRequest) -> HTTPServerResponse {
    guard let fields = fields(request), fields["name"]?.string?.isEmpty == false else {
      return refused("An item needs a name.")
    }
    let item = state.withLock { state -> Value in
      let key = request.headers["Idempotency-Key"]
      if let key, let answer = state.answers[key] { return answer }
      let item = Self.value(state.nextID, fields)
      state.items.append((state.nextID, fields))
      state.nextID += 1
      if let key { state.answers[key] = item }
      return item
    }
    var answer = HTTPServerResponse.json(item, status: 201)
    answer.headers["Location"] = "/items/\(item["id"]?.int ?? 0)"
    return answer
  }

  /// Lists the parts of a form with files: the head and the size of each.
  private func uploaded(_ request: HTTPServerRequest) -> HTTPServerResponse {
    let mark = "multipart/form-data; boundary="
    guard let type = request.headers["Content-Type"], type.hasPrefix(mark) else {
      return refused("An upload is a form with files.")
    }
    let line = Array("\r\n--\(type.dropFirst(mark.count))".utf8)
    let body = Array("\r\n".utf8) + request.body
    // Each part begins after such a line, and ends before the next.
    var (starts, at) = ([Int](), 0)
    while at + line.count <= body.count {
      if body[at] == ASCII.carriageReturn, body[at..<at + line.count].elementsEqual(line) { starts.append(at) }
      at += 1
    }
    guard let last = starts.last, body[(last + line.count)...].elementsEqual("--\r\n".utf8) else {
      return refused("The form has no end.")
    }
    var parts: [Value] = []
    for (start, end) in zip(starts, starts.dropFirst()) {
      // A line ends with CR LF, and a part may be missing after it.
      let first = start + line.count + 2
      guard first <= end else { return refused("A part of the form is missing.") }
      let part = body[first..<end]
      let blank = part.indices.first { part[$0...].starts(with: "\r\n\r\n".utf8) } ?? part.startIndex
      let head = String(decoding: part[..<blank], as: UTF8.self)
      parts.append(.object(["head": .string(head), "bytes": .int(max(0, part.endIndex - blank - 4))]))
    }
    return .json(.object(["parts": .list(parts)]), status: 201)
  }

  private func one(_ request: HTTPServerRequest, _ id: Int) -> HTTPServerResponse {
    switch request.method {
    case "GET": return items.first { $0["id"]?.int == id }.map { .json($0) } ?? missing
    case "PUT":
      guard let fields = fields(request) else { return refused("An item is a map.") }
      // The next item gets a greater id, which must fit.
      guard Self.ids.contains(id) else { return refused("An item's id is a number from 1 to \(Self.ids.upperBound).") }
      let isNew = state.withLock { state -> Bool in
        if let index = state.items.firstIndex(where: { $0.id == id }) {
          state.items[index].fields = fields
          return false
        }
        state.items.append((id, fields))
        state.nextID = max(state.nextID, id + 1)
        return true
      }
      return .json(Self.value(id, fields), status: isNew ? 201 : 200)
    case "PATCH":
      guard let change = fields(request) else { return refused("A change is a map.") }
      let key = request.headers["Idempotency-Key"]
      return state.withLock { state -> HTTPServerResponse in
        guard let index = state.items.firstIndex(where: { $0.id == id }) else { return missing }
        if let key, let answer = state.answers[key] { return .json(answer) }
        // Null removes a member (RFC 7396); members are no maps here.
        for member in change.members {
          state.items[index].fields[member.key] = member.value.isNull ? nil : member.value
        }
        let item = Self.value(id, state.items[index].fields)
        if let key { state.answers[key] = item }
        return .json(item)
      }
    case "DELETE":
      let wasThere = state.withLock { state -> Bool in
        let count = state.items.count
        state.items.removeAll { $0.id == id }
        return state.items.count < count
      }
      return wasThere ? HTTPServerResponse(status: 204) : missing
    default: return .page("Method not allowed", status: 405)
    }
  }
}
