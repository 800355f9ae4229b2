import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import SandboxKit
import Synchronization
import Testing

@testable import HTTPPlugin

/// Forms with files.
@Suite struct MultipartTests {
  /// A server that stores the bodies it receives.
  private final class Handler: Sendable {
    let sent = Mutex<(type: String, body: [UInt8])>(("", []))

    func service(_ more: String = "", _ body: (WebClient) async throws -> Void) async throws {
      let server = try HTTPServer { [self] request in
        sent.withLock { $0 = (request.headers["Content-Type"] ?? "", request.body) }
        return HTTPServerResponse(status: 201)
      }
      do {
        try await body(try HTTPPluginTests.service("{\"baseURL\":\"\(server.baseURL)\"\(more)}"))
      } catch {
        await server.stop()
        throw error
      }
      await server.stop()
    }
  }

  /// A folder that goes with the test, with two files.
  private static func folder() throws -> String {
    let folder = FileManager.default.temporaryDirectory.appending(path: "form-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data((0...255).map { UInt8($0) } + Array("\r\n--errand-\r\n".utf8)).write(to: folder.appending(path: "all.bin"))
    try Data("a,b\r\n".utf8).write(to: folder.appending(path: "t.csv"))
    return folder.path
  }

  private static let form = #"""
    {"url":"/","multipart":{"fields":{"title":"Ünï\r\nx","tag":["a",1],"none":null},
    "files":[{"field":"t","path":"t.csv"},{"field":"q\"f","path":"all.bin","name":"é \"1\"\r\n.bin","type":"text/x-own"}]}}
    """#

  @Test(arguments: ["post", "put", "patch"])
  func `Python's parser of mails finds in it what was sent`(_ name: String) async throws {
    let (handler, folder) = (Handler(), try Self.folder())
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await handler.service { service in
      _ = try await run(name, Self.form, on: service, in: .testing(folder: folder))
    }
    let (type, body) = handler.sent.withLock { $0 }
    let file = URL(filePath: "\(folder)/request")
    try (Data("Content-Type: \(type)\r\nMIME-Version: 1.0\r\n\r\n".utf8) + Data(body)).write(to: file)
    let program = """
      import email, email.policy, json, sys
      mail = email.message_from_bytes(open(sys.argv[1], 'rb').read(), policy=email.policy.HTTP)
      print(json.dumps([[p['Content-Disposition'].params.get('name'), p['Content-Disposition'].params.get('filename'),
                         p['Content-Type'], p.get_payload(decode=True).hex()] for p in mail.iter_parts()]))
      """
    guard let told = try await python(on: "forms", program, arguments: [file.path]) else { return }
    func part(_ name: String, _ fileName: String?, _ type: String?, _ bytes: [UInt8]) -> Value {
      .list([
        .string(name), fileName.map { .string($0) } ?? .null, type.map { .string($0) } ?? .null,
        .string(bytes.map { String(format: "%02x", $0) }.joined()),
      ])
    }
    #expect(
      try JSON.parse(told)
        == .list([
          part("title", nil, nil, Array("Ünï\r\nx".utf8)), part("tag", nil, nil, [0x61]), part("tag", nil, nil, [0x31]),
          part("t", "t.csv", "text/csv", Array("a,b\r\n".utf8)),
          part(
            "q%22f", "é %221%22%0D%0A.bin", "text/x-own",
            (0...255).map { UInt8($0) } + Array("\r\n--errand-\r\n".utf8)),
        ]))
  }

  @Test func `the same is sent in the same bytes, and something else between other lines`() async throws {
    let first = try WebBody.form([FormPart("a", "x"), FormPart("f", file: "f.txt", bytes: [1])])
    #expect(first.type == (try WebBody.form([FormPart("b", "x"), FormPart("f", file: "g", bytes: [1])])).type)
    #expect(first.type != (try WebBody.form([FormPart("a", "y"), FormPart("f", file: "f.txt", bytes: [1])])).type)
  }

  @Test func `files are in the connection's folder, and together no larger than it allows`() async throws {
    let (handler, folder) = (Handler(), try Self.folder())
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await handler.service(#","maxUploadBytes":273"#) { service in
      try await expectKeptInside { path, context in
        _ = try await run(
          "post", #"{"url":"/","multipart":{"files":[{"field":"f","path":"\#(path)"}]}}"#, on: service, in: context)
      }
      let error = try await failure("post", Self.form, on: service, in: .testing(folder: folder))
      #expect(
        error.message
          == "cannot read '\(folder)/all.bin': it has more than the 268 bytes that are allowed; raise 'maxUploadBytes' in "
          + "the connection if it should be read.")
      let type = try await failure(
        "post", #"{"url":"/","multipart":{"files":[{"field":"f","path":"t.csv","type":"a\r\nb"}]}}"#, on: service,
        in: .testing(folder: folder))
      #expect(type.message == "'a\r\nb' isn't a media type such as application/pdf.")
      #expect(type.effect == ActionError.Effect.none)
      // A plan reads no file, which an earlier step may have yet to write.
      let preview = try await action("put").preview(
        JSON.parse(#"{"url":"/x","multipart":{"fields":{"a":1},"files":[{"field":"f","path":"later.pdf"}]}}"#),
        on: service, in: .testing(folder: folder))
      #expect(preview?.map(\.after) == ["multipart/form-data, a, 'later.pdf'"])
    }
    #expect(handler.sent.withLock { $0.body }.isEmpty)
  }

  @Test(
    arguments: [
      ("--X\r\n--X--\r\n", "A part of the form is missing."), ("--X--\r\n", nil), ("--X", "The form has no end."),
      ("", "The form has no end."), ("--X\r\n\r\n--X--\r\n", nil), ("--X\r\n\r\n\r\n\r\n--X--\r\n", nil),
    ] as [(String, String?)])
  func `the sandbox refuses a form without its parts`(_ form: String, _ fault: String?) async throws {
    try await withShop { _, sandbox, _ in
      let answer = try await HTTPClient().send(
        HTTPRequest(
          "POST", "\(sandbox.baseURL)/uploads", headers: ["Content-Type": "multipart/form-data; boundary=X"],
          body: Array(form.utf8)))
      #expect(answer.status == (fault == nil ? 201 : 422))
      #expect(try JSON.parse(answer.body)["detail"]?.string == fault)
    }
  }

  @Test func `the sandbox says what it was handed`() async throws {
    try await withShop { service, _, _ in
      let output = try await run(
        "post", #"{"url":"/uploads","multipart":{"fields":{"a":"é"},"files":[{"field":"f","path":"notes.txt"}]}}"#,
        on: service)
      #expect(
        output["body"]?["parts"]
          == .list([
            .object(["head": .string("Content-Disposition: form-data; name=\"a\""), "bytes": .int(2)]),
            .object([
              "head": .string(
                "Content-Disposition: form-data; name=\"f\"; filename=\"notes.txt\"\r\nContent-Type: text/plain"),
              "bytes": .int(56),
            ]),
          ]))
    }
  }
}

/// The client as another program uses it.
@Suite struct WebClientTests {
  @Test func `a program asks, sends and downloads`() async throws {
    try await withShop { _, sandbox, time in
      let client: any WebClientProtocol = WebClient(
        baseURL: sandbox.baseURL + "/", headers: ["X-Own": "1"], token: "t", time: time)
      let two = try await client.get("/items", query: ["limit": "2"], headers: [:])
      #expect(try JSON.parse(two.body).list?.count == 2)
      for _ in 0..<2 {
        let made = try await client.send(
          "POST", "/items", query: [:], headers: [:], body: .form(["name": "Glue"]), key: "order 17")
        #expect(made.status == 201 && made.headers["Location"] == "/items/6")
      }
      let path = FileManager.default.temporaryDirectory.appending(path: "client-\(UUID().uuidString)").path
      defer { try? FileManager.default.removeItem(atPath: path) }
      let file = try await client.download("/files/items.csv", to: path, bytes: nil, sha256: nil)
      #expect(file.bytes == (try Data(contentsOf: URL(filePath: path))).count)
      await #expect {
        try await client.send("DELETE", "/items/99", query: [:], headers: [:], body: nil, key: nil)
      } throws: {
        let error = ActionError($0)
        return error.kind == .notFound && error.effect == ActionError.Effect.none
      }
      await #expect {
        try await client.get("https://elsewhere.example/", query: [:], headers: [:])
      } throws: {
        ActionError($0).message.hasPrefix("'https://elsewhere.example/' is not at \(sandbox.baseURL)")
      }
    }
  }
}
