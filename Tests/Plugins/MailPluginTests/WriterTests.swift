import ActionKit
import ActionTestKit
import Foundation
import Testing

@testable import MailPlugin

/// The parts that Python's email package finds in a mail; nil without Python.
private func opinion(on bytes: [UInt8]) async throws -> Value? {
  let script = """
    import sys, json, email, email.policy
    m = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
    def text(kind):
        part = m.get_body(preferencelist=(kind,))
        return part.get_content() if part is not None else None
    print(json.dumps({
        'headers': {k.lower(): str(v) for k, v in m.items()},
        'to': [[a.display_name, a.addr_spec] for a in (m['to'].addresses if m['to'] else [])],
        'date': m['date'].datetime.isoformat(),
        'text': text('plain'), 'html': text('html'),
        'files': [[a.get_filename(), a.get_content_type(), a.get_payload(decode=True).hex()] for a in m.iter_attachments()],
        'defects': [str(d) for p in m.walk() for d in p.defects] + [str(d) for v in m.values() for d in v.defects],
    }))
    """
  return try await python(on: "mail", script, input: bytes).map { try JSON.parse($0) }
}

private let ana = "Ana Ölkrug <ana@example.org>"

@Suite struct WriterTests {
  @Test func `a short text is a mail that anybody can read as it is`() throws {
    let mail = try Mail(
      from: "errand@example.org", to: ["Ana <ana@example.org>", "ben@example.org"], subject: "Done",
      text: "All is well.\n.\nBye\n")
    let bytes = MailWriter.bytes(of: mail, id: "1@example.org", date: TestTime.start)
    #expect(
      String(decoding: bytes, as: UTF8.self) == """
        Date: Fri, 20 Nov 2026 09:30:00 +0000\r
        From: errand@example.org\r
        To: "Ana"\r
         <ana@example.org>,\r
         ben@example.org\r
        Subject: Done\r
        Message-ID: <1@example.org>\r
        MIME-Version: 1.0\r
        Content-Type: text/plain; charset=utf-8\r
        Content-Transfer-Encoding: 7bit\r
        \r
        All is well.\r
        .\r
        Bye\r
        \r

        """)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var title: String
    var mail: @Sendable () throws -> Mail
    var testDescription: String { title }
  }

  static let cases = [
    Case(title: "a text") {
      try Mail(from: "errand@example.org", to: [ana], subject: "Done", text: "All is well.")
    },
    Case(title: "letters beyond ASCII in all places") {
      try Mail(
        from: "Büro 🏢 <b@example.org>", to: ["\"Ölkrug, Ana\" <ana@example.org>"], subject: "Résumé – 履歴書 🎉",
        text: "Ein längerer Text mit ä\u{301}, 漢字 und 🎉.\r\nZweite Zeile\n")
    },
    Case(title: "a long subject and a long line") {
      try Mail(
        from: "b@example.org", to: ["ana@example.org"], subject: String(repeating: "Über alles. ", count: 40).trimmed,
        text: String(repeating: "lang ", count: 300))
    },
    Case(title: "what looks like a header, a boundary and an encoded word") {
      try Mail(
        from: "b@example.org", to: ["\"a\\\"b\" <ana@example.org>"], subject: "=?utf-8?B?aGk=?= From: x",
        text: "--=_errand_0\nFrom me\nBcc: eve@example.org\n\n.\n..", html: "<p>--=_errand_1</p>")
    },
    Case(title: "text, HTML and files") {
      try Mail(
        from: "b@example.org", to: ["ana@example.org"], cc: ["c@example.org"], bcc: ["secret@example.org"],
        replyTo: "r@example.org", subject: "Files", text: "text ü", html: "<p>html ü</p>",
        attachments: [
          .init(name: "table.csv", bytes: Array("a,b\n1,2\n".utf8)),
          .init(
            name: "Übersicht 2026 – Klasse 7 \"b\", ganz lang, damit es mehrere Zeilen sind.pdf",
            bytes: [0, 255, 10, 13]),
          .init(name: "leer", type: "text/plain", bytes: []),
          .init(name: "größer.bin", bytes: (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }),
        ])
    },
    Case(title: "HTML alone, to somebody nobody else knows of") {
      try Mail(from: "b@example.org", to: [], bcc: ["secret@example.org"], subject: "x", html: "<p>ok</p>")
    },
  ]

  @Test(arguments: cases)
  func `Python reads what was written`(_ c: Case) async throws {
    let mail = try c.mail()
    let bytes = MailWriter.bytes(of: mail, id: "id.1@example.org", date: TestTime.start)
    #expect(bytes == MailWriter.bytes(of: mail, id: "id.1@example.org", date: TestTime.start))
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    #expect(lines.dropLast().allSatisfy { $0.last == 0x0D })
    #expect(lines.allSatisfy { $0.count <= 100 && $0.allSatisfy { $0 < 0x80 } })
    #expect(!String(decoding: bytes, as: UTF8.self).contains("secret@example.org"))
    guard let found = try await opinion(on: bytes) else { return }
    #expect(found["defects"] == .list([]))
    #expect(found["headers"]?["subject"]?.string == mail.subject)
    #expect(found["headers"]?["message-id"]?.string == "<id.1@example.org>")
    #expect(found["headers"]?["bcc"] == nil)
    #expect(found["date"]?.string == "2026-11-20T09:30:00+00:00")
    #expect(
      found["to"]
        == .list(mail.to.map { .list([.string($0.name?.replacing("\\\"", with: "\"") ?? ""), .string($0.address)]) })
        || mail.to.contains { $0.name?.contains("\\") == true })
    let lined = { (text: String?) in text?.replacing("\r\n", with: "\n").trimmed }
    #expect(lined(found["text"]?.string) == lined(mail.text))
    #expect(lined(found["html"]?.string) == lined(mail.html))
    let files = mail.attachments.map { file in
      Value.list([.string(file.name), .string(file.type), .string(file.bytes.hexadecimal)])
    }
    #expect(found["files"] == .list(files))
  }

  @Test(
    arguments: [
      ("ana@example.org", nil, "ana@example.org"), ("  ana@example.org ", nil, "ana@example.org"),
      ("Ana <ana@example.org>", "Ana", "ana@example.org"), ("<ana@example.org>", nil, "ana@example.org"),
      ("\"Ö, A\" <a.b+c@x-y.example>", "Ö, A", "a.b+c@x-y.example"),
    ] as [(String, String?, String)])
  func `a mailbox is an address with or without a name`(_ text: String, _ name: String?, _ address: String) throws {
    let mailbox = try #require(Mailbox(text))
    #expect(mailbox.name == name)
    #expect(mailbox.address == address)
  }

  @Test(arguments: [
    "", "ana", "@example.org", "ana@", "ana@@example.org", "ana@example.org\nBcc: eve@example.org",
    "ana@example.org\r\n", "Ana\r\nBcc: eve@example.org <ana@example.org>", "a b@example.org", "ana@exa mple.org",
    "Ana <ana@example.org> <eve@example.org>", "<ana@example.org", "ana@example.org>", ".ana@example.org",
    "ana@example..org", "änä@example.org", "ana@exämple.org", "ana@example.org,eve@example.org",
    "Ana\u{2028}Bcc: x <ana@example.org>", "ana@[127.0.0.1]", "\0ana@example.org",
  ])
  func `what could be two addresses, or a header, is none`(_ text: String) { #expect(Mailbox(text) == nil) }

  @Test(arguments: [
    (Case(title: "The mail has no recipient.") { try Mail(from: "a@b.c", to: [], subject: "s", text: "") }),
    (Case(title: "The mail has neither text nor HTML.") { try Mail(from: "a@b.c", to: ["a@b.c"], subject: "s") }),
    (Case(
      title: "The subject holds a line end or another control character, and has to be one line."
    ) { try Mail(from: "a@b.c", to: ["a@b.c"], subject: "s\r\nBcc: eve@example.org", text: "") }),
    (Case(
      title: "The name of an attachment holds a line end or another control character, and has to be one line."
    ) {
      try Mail(
        from: "a@b.c", to: ["a@b.c"], subject: "s", text: "", attachments: [.init(name: "a\nb", type: "a/b", bytes: [])]
      )
    }),
    (Case(title: "'text/plain\r\nX: y' isn't a media type such as application/pdf.") {
      try Mail(
        from: "a@b.c", to: ["a@b.c"], subject: "s", text: "",
        attachments: [.init(name: "a", type: "text/plain\r\nX: y", bytes: [])])
    }),
    (Case(
      title: "'eve@example.org··Bcc: x' isn't a mail address; write it as ana@example.org or Ana <ana@example.org>."
    ) { try Mail(from: "a@b.c", to: ["eve@example.org\r\nBcc: x"], subject: "s", text: "") }),
    (Case(title: "The mail has 101 recipients, and a server takes 100 at a time.") {
      try Mail(from: "a@b.c", to: (0...100).map { "a\($0)@b.c" }, subject: "s", text: "")
    }),
  ])
  func `what makes no mail is refused, and says why`(_ c: Case) {
    #expect { try c.mail() } throws: { ($0 as? MailError)?.message == c.title }
  }
}
