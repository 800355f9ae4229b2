import ActionKit
import ActionTestKit
import Basics
import Foundation
import HTTPClient
import HTTPServer
import PluginLocks
import SandboxKit
import Testing

@testable import OpenAPIPlugins

/// The requests that a document's actions send, and the outputs that they read from answers, over real HTTP.
@Suite struct OpenAPICallTests {
  private static let item = #"{"id": 1, "name": "Pen", "until": null, "more": true}"#

  @Test func `parameters go where they belong`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      json(#"{"data":[\#(Self.item)],"next_cursor":null}"#)
    } _: { (shop) async throws in
      let page = try await shop.run(
        "listItems",
        #"""
        {"limit": 2, "cursor": null, "tag": ["a", "b&c"], "csv": [1, 2], "pipes": ["x", "y"], "spaces": ["x", "y"],
         "filter": {"price": {"lt": 2.5}, "name": "Pen"}, "colour": {"R": 1}, "where": {"a": "b"}, "X-Trace": "t1"}
        """#)
      #expect(
        shop.peer.lines == [
          "GET /items?limit=2&tag=a&tag=b%26c&csv=1,2&pipes=x%7Cy&spaces=x%20y&filter[price][lt]=2.5&filter[name]=Pen"
            + "&R=1&where=%7B%22a%22%3A%22b%22%7D"
        ])
      #expect(shop.peer.requests.first?.headers["X-Trace"] == "t1")
      // Undeclared members are left out, and so are nulls.
      #expect(text(page) == #"{"body":{"data":[{"id":1,"name":"Pen"}]},"status":200}"#)
    }
  }

  @Test func `two parameters of one name are two inputs`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      json(Self.item)
    } _: { (shop) async throws in
      _ = try await shop.run("getItem", #"{"id": "a/b", "idQuery": 7}"#)
      #expect(shop.peer.lines == ["GET /items/a%2Fb?id=7"])
    }
  }

  @Test func `a body is sent as JSON, with null where it must be said`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      json(Self.item, status: 201)
    } _: { (shop) async throws in
      let made = try await shop.run("createItem", #"{"body": {"name": "Pen", "price": null, "note": null}}"#)
      _ = try await shop.run("createItem", #"{"body": {"name": "Pen", "price": 2, "until": "2026-11-20T09:30:00Z"}}"#)
      #expect(
        shop.peer.bodies == [
          #"{"name":"Pen","note":null,"until":null}"#, #"{"name":"Pen","price":2.0,"until":"2026-11-20T09:30:00Z"}"#,
        ])
      #expect(shop.peer.requests.first?.headers["Content-Type"] == "application/json")
      #expect(shop.peer.requests.first?.headers["Idempotency-Key"] == "test/step")
      #expect(made["status"] == .int(201))
    }
  }

  @Test func `a part of a resource is sent as its type says, and nothing if nothing is given`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      HTTPServerResponse(status: 204)
    } _: { (shop) async throws in
      #expect(text(try await shop.run("patchItem", #"{"id": "1", "body": {"note": null}}"#)) == #"{"status":204}"#)
      _ = try await shop.run("patchItem", #"{"id": "1"}"#)
      #expect(shop.peer.bodies == [#"{"note":null}"#, ""])
      #expect(shop.peer.requests.map { $0.headers["Content-Type"] } == ["application/merge-patch+json", nil])
    }
  }

  @Test func `forms are written as web pages write them`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      HTTPServerResponse(status: 204)
    } _: { (shop) async throws in
      _ = try await shop.run(
        "sendForm",
        #"{"body": {"name": "A&B", "tags": ["x", "y"], "card": {"number": "4 2", "months": [1, 2]}, "codes": [3, 4]}}"#)
      #expect(
        shop.peer.bodies == [
          "name=A%26B&tags=x&tags=y&card[number]=4%202&card[months][0]=1&card[months][1]=2&codes=3,4"
        ])
      #expect(shop.peer.requests.first?.headers["Content-Type"] == "application/x-www-form-urlencoded")
    }
  }

  @Test func `a time without a zone says how to read it as a text`() async throws {
    let lock = try lock(
      of: """
        openapi: 3.1.0
        paths:
          /a: { post: { responses: { '200': { content: { application/json: { schema:
            { properties: { at: { type: string, format: date-time }, n: { type: integer } } } } } } } } }
        """)
    for (answer, advice) in [
      (
        #"{"at": "2026-01-01T00:00:00"}"#,
        "to read dates and times as texts, run 'errand plugin update made --dates text'."
      ),
      (
        // The field that is named is the one that it helps.
        #"{"at": "2026-01-01T00:00:00", "n": "x"}"#,
        "to read dates and times as texts, run 'errand plugin update made --dates text'."
      ),
      (
        #"{"at": "2026-01-01T00:00:00Z", "n": "x"}"#,
        "if the service has changed, run 'errand plugin update made'. Neither --dates nor --only loosens this field, and an "
          + "edited lock isn't used: if the document is wrong, correct it in a copy, and run 'errand plugin update made COPY'."
      ),
    ] {
      try await withPeer(lock) { _ in
        json(answer)
      } _: { (made) async throws in
        let error = try await made.failure("postA", "{}")
        #expect(error.message.hasSuffix("\(advice) The write itself was done."), "\(error.message)")
      }
    }
    let texts = try OpenAPIKind.lock(
      name: "made",
      document: Array(
        "openapi: 3.1.0\npaths: { /a: { get: { responses: { '200': { content: { application/json: { schema: { properties: { at: { type: string, format: date-time } } } } } } } } } }"
          .utf8), source: "made.yaml", only: [], effects: [:], readsDatesAsText: true, file: "x")
    try await withPeer(texts) { _ in
      json(#"{"at": "2026-01-01T00:00:00"}"#)
    } _: { (made) async throws in
      #expect(text(try await made.run("getA", "{}")) == #"{"body":{"at":"2026-01-01T00:00:00"},"status":200}"#)
    }
  }

  @Test func `a list holds null where the document says so`() async throws {
    let lock = try lock(
      of: """
        openapi: 3.1.0
        paths:
          /a: { post: { requestBody: { content: { application/json: { schema:
            { properties: { l: { type: array, items: { type: [integer, 'null'] } } } } } } } } }
        """)
    try await withPeer(lock) { _ in
      json("{}")
    } _: { (made) async throws in
      let input = try JSON.parse(#"{"body": {"l": [1, null]}}"#)
      #expect(made.plugin.action("postA")?.input.check(input, as: "with").map(\.message) == [])
      _ = try await made.run("postA", JSON.text(input))
      #expect(made.peer.bodies == [#"{"l":[1,null]}"#])
    }
  }

  @Test func `files of the connection's folder are sent`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "openapi-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Files.write(Array("PNG".utf8), to: "\(folder)/a.png")
    let context = ActionContext.testing(folder: folder)
    try await withPeer(lock("shop.yaml")) { request in
      request.path == "/uploads"
        ? .text("17")
        : HTTPServerResponse(
          headers: ["Content-Type": "application/octet-stream"], body: .bytes(request.body + [0, 255]))
    } _: { (shop) async throws in
      let input = #"{"body": {"photo": "a.png", "more": ["a.png"], "title": "Me", "meta": {"width": 3}}}"#
      #expect(text(try await shop.run("upload", input, in: context)) == #"{"body":"17","status":200}"#)
      let sent = try #require(shop.peer.bodies.first)
      let boundary = try #require(sent.split(separator: "\r\n").first)
      #expect(
        sent.replacing(String(boundary), with: "B")
          == """
          B
          Content-Disposition: form-data; name="photo"; filename="a.png"
          Content-Type: image/png

          PNG
          B
          Content-Disposition: form-data; name="more"; filename="a.png"
          Content-Type: image/png

          PNG
          B
          Content-Disposition: form-data; name="title"

          Me
          B
          Content-Disposition: form-data; name="meta"
          Content-Type: application/json

          {"width":3}
          B--

          """.replacing("\n", with: "\r\n"))
      let raw = try await shop.run("uploadRaw", #"{"body": "a.png"}"#, in: context)
      #expect(raw["body"] == .bytes(Array("PNG".utf8) + [0, 255]))
      #expect(shop.peer.requests.last?.headers["Accept"] == "*/*")
      #expect(
        try await shop.failure("upload", #"{"body": {"photo": "../a.png"}}"#, in: context).message
          == "'../a.png' has '..' in it; a path of this connection says where it leads without going up.")
    }
  }

  @Test func `a text is a text, and asked for as its type`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      .text("a,b\n", type: "text/csv")
    } _: { (shop) async throws in
      let report = try await shop.run(
        "getReport", #"{"day": "2026-11-20", "parts": ["a", "b"], "X-Parts": ["c", "d"]}"#)
      #expect(text(report) == #"{"body":"a,b\n","status":200}"#)
      #expect(shop.peer.lines == ["GET /reports/2026-11-20/a,b"])
      #expect(shop.peer.requests.first?.headers["Accept"] == "text/csv, */*;q=0.5")
      #expect(shop.peer.requests.first?.headers["X-Parts"] == "c,d")
    }
  }

  @Test func `version 2 is spoken, too`() async throws {
    try await withPeer(lock("pets.json"), ["apiKey": .string("k&y")]) { request in
      request.method == "PUT"
        ? HTTPServerResponse(status: 304) : json(request.method == "GET" ? #"[{"name":"Rex"}]"# : "", status: 201)
    } _: { (pets) async throws in
      let found = try await pets.run("getPets", #"{"limit": 3, "tags": ["a", "b"], "ids": [1, 2], "status": "free"}"#)
      #expect(text(found) == #"{"body":[{"name":"Rex"}],"status":201}"#)
      _ = try await pets.run("postPets", #"{"body": {"name": "Rex", "owner": {"name": null}}}"#)
      #expect(
        text(try await pets.run("putPetsByPetId", #"{"petId": 7, "body": {"name": "Rex", "tags": ["a", "b"]}}"#))
          == #"{"status":304}"#)
      #expect(
        pets.peer.lines == [
          "GET /api/pets?limit=3&tags=a&tags=b&ids=1,2&status=free&api_key=k%26y", "POST /api/pets?api_key=k%26y",
          "PUT /api/pets/7?api_key=k%26y",
        ])
      #expect(pets.peer.bodies == ["", #"{"name":"Rex","owner":{"name":null}}"#, "name=Rex&tags=a,b"])
    }
  }

  // MARK: Credentials

  @Test(
    arguments: [
      (["token": .string("t0p")], "Bearer t0p", nil),
      (["username": .string("ann"), "password": .string("pw")], "Basic YW5uOnB3", nil),
      (["apiKey": .string("k3y")], nil, "k3y"),
    ] as [(KeyValuePairs<String, Value>, String?, String?)])
  func `credentials are those of the connection`(
    _ settings: KeyValuePairs<String, Value>, _ authorization: String?, _ key: String?
  ) async throws {
    try await withPeer(lock("shop.yaml"), settings) { _ in
      json(#"{"error":"t0p k3y"}"#, status: 401)
    } _: { (shop) async throws in
      let error = try await shop.failure("getItem", #"{"id": "1"}"#)
      #expect(error.message == "GET S/items/1 was answered with HTTP status 401.")
      #expect(error.kind == .authentication)
      #expect(shop.peer.requests.first?.headers["Authorization"] == authorization)
      #expect(shop.peer.requests.first?.headers["X-Key"] == key)
    }
  }

  @Test func `a refusal without credentials says which there are`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      json("", status: 401)
    } _: { (shop) async throws in
      #expect(
        try await shop.failure("getItem", #"{"id": "1"}"#).message
          == "GET S/items/1 was answered with HTTP status 401. Set 'token' in connections.shop.")
    }
    try await withPeer(lock("pets.json")) { _ in
      json("", status: 401)
    } _: { (pets) async throws in
      #expect(
        try await pets.failure("postPets", #"{"body": {"name": "x"}}"#).message
          == "POST S/api/pets was answered with HTTP status 401. Set 'username' and 'password', or 'apiKey' in connections.shop."
      )
    }
  }

  @Test func `a key in an address isn't displayed`() async throws {
    try await withPeer(lock("pets.json"), ["apiKey": .string("s3cret")]) { _ in
      json("", status: 500)
    } _: { (pets) async throws in
      #expect(
        try await pets.failure("getPets", "{}").message
          == "GET S/api/pets?api_key=••• was answered with HTTP status 500.")
    }
  }

  @Test func `settings that say too little are refused`() async throws {
    let lock = try lock(of: "openapi: 3.0.0\npaths: { /a: { get: {} } }")
    let written = try PluginLock(reading: lock.written(), of: lock.file)
    let plugin = PluginDescriptor(LockedPlugin(written, OpenAPIKind.self))
    let error = await #expect(throws: ActionError.self) {
      try await plugin.connect(.map(ValueMap()), in: PluginContext(connection: "made", time: TestTime()))
    }
    #expect(error?.message == "'connections.made' needs 'baseURL' (string): The service's address")
    #expect(!plugin.worksUnconfigured)
  }

  // MARK: Faults

  @Test func `a lost answer leaves a write uncertain, and says nothing of a read`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      json(Self.item, status: 201)
    } _: { (shop) async throws in
      for (action, input, effect) in [
        ("createItem", #"{"body": {"name": "Pen"}}"#, ActionError.Effect.unknown),
        ("putItem", #"{"id": "1", "body": {"name": "Pen"}}"#, .unknown), ("getItem", #"{"id": "1"}"#, .none),
      ] {
        shop.peer.add(ServiceFault(.lostAnswer))
        let error = try await shop.failure(action, input)
        #expect(error.effect == effect, "\(action)")
        #expect(error.kind == .network, "\(action)")
      }
      #expect(shop.plugin.action("createItem")?.retry == nil)
      #expect(shop.plugin.action("createItem")?.acceptsKey == true)
      #expect(shop.plugin.action("putItem")?.retry == .standard)
    }
  }

  @Test func `what uses something up is uncertain without its answer`() async throws {
    let lock = try lock(
      of: "openapi: 3.0.0\npaths: { /a: { get: { operationId: take, x-errand-effect: consume } } }")
    try await withPeer(lock) { _ in
      json("1")
    } _: { (made) async throws in
      made.peer.add(ServiceFault(.lostAnswer))
      #expect(try await made.failure("take", "{}").effect == .unknown)
      #expect(text(try await made.run("take", "{}")) == #"{"status":200,"body":1}"#)
    }
  }

  @Test func `an answer that isn't as the lock says is an error, and a write was done`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      json(#"{"id": "one", "name": "Pen"}"#)
    } _: { (shop) async throws in
      let read = try await shop.failure("getItem", #"{"id": "1"}"#)
      #expect(
        read.message
          == "The answer to GET S/items/1 isn't as the lock says: 'body.id' must be an int, but found 'one'; "
          + "if the service has changed, run 'errand plugin update shop'. Neither --dates nor --only loosens this field, and "
          + "an edited lock isn't used: if the document is wrong, correct it in a copy, and run 'errand plugin update shop "
          + "COPY'.")
      #expect(read.effect == ActionError.Effect.none)
      let write = try await shop.failure("createItem", #"{"body": {"name": "Pen"}}"#)
      #expect(write.effect == .done)
      #expect(write.kind == .validation)
    }
    try await withPeer(lock("shop.yaml")) { _ in
      json("null")
    } _: { (shop) async throws in
      let write = try await shop.failure("createItem", #"{"body": {"name": "Pen"}}"#)
      #expect(write.message.contains("'body' is missing (") && write.effect == .done, "\(write.message)")
    }
    try await withPeer(lock("shop.yaml")) { _ in
      json(#"{"name": "Pen"}"#)
    } _: { (shop) async throws in
      #expect(try await shop.failure("getItem", #"{"id": "1"}"#).message.contains("'body.id' is missing (int)"))
    }
  }

  @Test(arguments: [404, 410])
  func `what is gone is deleted`(_ status: Int) async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      json(#"{"error": "gone"}"#, status: status)
    } _: { (shop) async throws in
      #expect(text(try await shop.run("deleteItem", #"{"id": "1"}"#)) == #"{"status":\#(status)}"#)
    }
  }

  @Test func `what is refused for certain is refused by the check`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      json("")
    } _: { (shop) async throws in
      func refusals(_ action: String, _ input: String) throws -> [String] {
        shop.plugin.refusals(
          of: action, StepInput(try JSON.parse(input), computed: [:]), settings: nil, in: .testing()
        ).map(\.message)
      }
      #expect(try refusals("getItem", #"{"id": ".."}"#) == ["'id' can't be '..', which would lead to another address."])
      #expect(
        try refusals("upload", #"{"body": {"photo": "../x"}}"#) == [
          "'../x' has '..' in it; a path of this connection says where it leads without going up."
        ])
      #expect(try refusals("getItem", #"{"id": null}"#) == [])
    }
  }

  // MARK: Lists by pages

  @Test func `a list is read by cursors, numbers, offsets and links`() async throws {
    try await withPeer(lock("shop.yaml")) { request in
      let query = request.query
      switch request.path {
      case "/items":
        return json(
          query["cursor"] == nil
            ? #"{"data":[{"id":1,"name":"a"}],"next_cursor":"n&xt"}"#
            : #"{"data":[{"id":2,"name":"b"}],"next_cursor":null}"#)
      case "/pages":
        return json(["1": #"[{"id":1,"name":"a"}]"#, "2": #"[{"id":2,"name":"b"}]"#][query["page"] ?? ""] ?? "[]")
      case "/offsets":
        return json(["0": #"{"items":[1,2]}"#, "2": #"{"items":[3]}"#][query["offset"] ?? ""] ?? #"{"items":[]}"#)
      default:
        return query["p"] == nil ? json("[1]", headers: ["Link": "</links?p=2>; rel=next"]) : json("[2]")
      }
    } _: { (shop) async throws in
      let both = #"{"isComplete":true,"items":[{"id":1,"name":"a"},{"id":2,"name":"b"}],"pages":"#
      #expect(
        text(try await shop.run("listItemsAll", #"{"limit": 1, "tag": ["x"], "X-Trace": "t"}"#))
          == both + "2}")
      #expect(text(try await shop.run("listPagesAll", "{}")) == both + "3}")
      #expect(
        text(try await shop.run("listByOffsetAll", #"{"limit": 2}"#))
          == #"{"isComplete":true,"items":[1,2,3],"pages":3}"#)
      #expect(text(try await shop.run("listLinkedAll", "{}")) == #"{"isComplete":true,"items":[1,2],"pages":2}"#)
      #expect(
        text(try await shop.run("listByOffsetAll", #"{"maxItems": 1, "maxPages": 1}"#))
          == #"{"isComplete":false,"items":[1],"pages":1}"#)
      #expect(
        shop.peer.lines == [
          "GET /items?limit=1&tag=x", "GET /items?limit=1&tag=x&cursor=n%26xt", "GET /pages?page=1",
          "GET /pages?page=2",
          "GET /pages?page=3", "GET /offsets?limit=2&offset=0", "GET /offsets?limit=2&offset=2",
          "GET /offsets?limit=2&offset=3", "GET /links", "GET /links?p=2", "GET /offsets?offset=0",
        ])
      #expect(shop.peer.requests.prefix(2).map { $0.headers["X-Trace"] } == ["t", "t"])
    }
  }

  @Test func `a list that isn't where the lock says is an error`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      json(#"{"items":[]}"#)
    } _: { (shop) async throws in
      #expect(
        try await shop.failure("listItemsAll", "{}").message
          == "the answer to GET S/items has no 'data'; if the service has changed, run 'errand plugin update shop'.")
    }
  }

  // MARK: Previews

  @Test func `a plan shows what is sent, and what it replaces`() async throws {
    try await withPeer(lock("shop.yaml")) { request in
      switch request.path {
      case "/items/1": json(#"{"id":1,"name":"Pen","price":2,"secret":"x"}"#)
      case "/items/3": HTTPServerResponse(headers: ["Content-Type": "image/png"], body: .bytes([0xFF, 0xD8]))
      default: json("", status: 404)
      }
    } _: { (shop) async throws in
      #expect(
        try await shop.preview("createItem", #"{"body": {"name": "Ink"}}"#) == [
          Change("POST S/items", from: nil, to: #"{"name":"Ink","until":null}"#)
        ])
      #expect(
        try await shop.preview("putItem", #"{"id": "1", "body": {"name": "Ink", "price": 3, "kind": "pen"}}"#) == [
          Change(
            "PUT S/items/1", from: #"{"name":"Pen","price":2}"#,
            to: #"{"name":"Ink","price":3.0,"kind":"pen","until":null}"#)
        ])
      #expect(
        try await shop.preview("putItem", #"{"id": "2", "body": {"name": "Ink"}}"#) == [
          Change("PUT S/items/2", from: nil, to: #"{"name":"Ink","until":null}"#)
        ])
      #expect(
        try await shop.preview("deleteItem", #"{"id": "1"}"#) == [
          Change("DELETE S/items/1", from: #"{"id":1,"name":"Pen","price":2,"secret":"x"}"#, to: nil)
        ])
      #expect(try await shop.preview("deleteItem", #"{"id": "2"}"#) == [])
      #expect(
        try await shop.preview("deleteItem", #"{"id": "3"}"#) == [
          Change("DELETE S/items/3", from: "2 bytes", to: nil)
        ])
      #expect(try await shop.preview("getItem", #"{"id": "2"}"#) == nil)
      #expect(
        try await shop.preview("upload", #"{"body": {"photo": "a.png"}}"#) == [
          Change("POST S/uploads", from: nil, to: #"{"photo":"a.png"}"#)
        ])
      #expect(
        try await shop.preview("uploadRaw", #"{"body": "a.png"}"#) == [
          Change("POST S/uploads/raw", from: nil, to: "the file 'a.png'")
        ])
      #expect(!shop.peer.requests.contains { $0.method != "GET" })
      var context = ActionContext.testing()
      context.secrets = ["s3cret"]
      #expect(
        try await shop.preview("createItem", #"{"body": {"name": "a", "password": "s3cret"}}"#, in: context) == [
          Change("POST S/items", from: nil, to: #"{"name":"a","password":"•••","until":null}"#)
        ])
    }
  }

  @Test func `a step touches its service and its files`() async throws {
    try await withPeer(lock("shop.yaml")) { _ in
      json("")
    } _: { (shop) async throws in
      let input = try JSON.parse(#"{"body": {"photo": "a.png"}}"#)
      let settings = Value.object(["baseURL": .string("https://shop.example/api")])
      #expect(
        shop.plugin.footprint(of: "upload", input, settings: settings, in: .testing(folder: "/srv"))
          == Footprint(
            reads: [.service("https://shop.example"), .file("/srv/a.png")],
            changes: [.service("https://shop.example"), .own("shop", "anywhere")])
      )
    }
  }
}
