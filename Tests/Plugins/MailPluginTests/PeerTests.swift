import ActionKit
import ActionTestKit
import ProcessTestKit
import Foundation
import Testing

@testable import MailPlugin

/// PyPI's aiosmtpd as the other side: a server that others wrote, with TLS and a login.
@Suite(.timeLimit(.minutes(20))) struct PeerTests {
  /// A server that reports each mail in one line of JSON.
  private final class Peer {
    let port: Int
    let authority: String
    private let process = Process()
    private let output = launchPipe()
    private let folder: URL

    /// - Parameter mode: `tls`, `startTLS` or `none`.
    init(_ python: String, mode: String) throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "peer-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let made = try #require(makeCertificate(in: folder.path))
      authority = made.certificate
      process.executableURL = URL(filePath: python)
      process.arguments = ["-u", "-c", Self.script, mode, authority, made.key]
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.startAlone()
      port = try #require(Int(Self.line(of: output)))
    }

    deinit {
      // It blocks whatever signals the thread did that started it.
      kill(process.processIdentifier, SIGKILL)
      try? FileManager.default.removeItem(at: folder)
    }

    /// The next mail that was submitted.
    func next() throws -> Value { try JSON.parse(Array(Self.line(of: output).utf8)) }

    private static func line(of pipe: Pipe) -> String {
      var line: [UInt8] = []
      while let byte = try? pipe.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0A { line.append(byte) }
      return String(decoding: line, as: UTF8.self)
    }

    private static let script = """
      import asyncio, json, ssl, sys
      from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
      mode, certificate, key = sys.argv[1:]
      context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
      context.load_cert_chain(certificate, key)
      class Handler:
          async def handle_DATA(self, server, session, envelope):
              print(json.dumps({'from': envelope.mail_from, 'to': envelope.rcpt_tos, 'tls': server.transport.get_extra_info('ssl_object') is not None,
                                'login': bool(session.authenticated), 'mail': envelope.content.decode('ascii')}))
              return '250 taken'
      def login(server, session, envelope, mechanism, data):
          good = isinstance(data, LoginPassword) and (data.login, data.password) == (b'ana', 's3cret ü'.encode())
          return AuthResult(success=good, handled=good)
      class Bare(SMTP):
          async def smtp_EHLO(self, hostname):
              self._set_rset_state()
              self.session.host_name, self.session.extended_smtp = hostname, True
              await self.push('250-peer\\r\\n250 8BITMIME')
      def protocol():
          if mode == 'bare': return Bare(Handler(), hostname='peer')
          return SMTP(Handler(), hostname='peer', authenticator=login, auth_required=mode != 'none',
                      auth_require_tls=mode == 'startTLS', require_starttls=mode == 'startTLS',
                      tls_context=context if mode == 'startTLS' else None)
      async def main():
          server = await asyncio.get_running_loop().create_server(
              protocol, '127.0.0.1', 0, ssl=context if mode == 'tls' else None)
          print(server.sockets[0].getsockname()[1])
          await server.serve_forever()
      asyncio.run(main())
      """
  }

  /// The Python that has aiosmtpd, and an openssl beside it to make certificates.
  private static func python() async -> String? {
    guard succeeds(["openssl", "version"]) else {
      print("Tests with aiosmtpd are skipped: there is no openssl")
      return nil
    }
    return await pythonInterpreter(with: [PythonPackage("aiosmtpd", "1.4.6")])
  }

  @Test func `aiosmtpd is handed what was written, encrypted and by who logged in`() async throws {
    guard let python = await PeerTests.python() else { return }
    for (mode, security) in [("tls", MailSecurity.tls), ("startTLS", .startTLS), ("none", .none)] {
      let peer = try Peer(python, mode: mode)
      var settings = MailSettings(host: "localhost", security: security)
      settings.port = peer.port
      if security != .none {
        (settings.username, settings.password) = ("ana", "s3cret ü")
        settings.certificateAuthorities = peer.authority
      }
      let mail = try Mail(
        from: "Büro <b@example.org>", to: ["ana@example.org", "ben@example.org"], bcc: ["c@example.org"],
        subject: "Résumé", text: ".dot\n\nä", html: "<p>ä</p>", attachments: [.init(name: "ö.bin", bytes: [0, 1, 2])])
      try await MailClient(settings).send(mail, id: "1@example.org", date: TestTime.start)
      let found = try peer.next()
      #expect(found["from"]?.string == "b@example.org", "\(mode)")
      #expect(
        found["to"] == .list(["ana@example.org", "ben@example.org", "c@example.org"].map { .string($0) }), "\(mode)")
      #expect(found["tls"] == .bool(security != .none), "\(mode)")
      #expect(found["login"] == .bool(security != .none), "\(mode)")
      let bytes = MailWriter.bytes(of: mail, id: "1@example.org", date: TestTime.start)
      #expect(found["mail"]?.string == String(decoding: bytes, as: UTF8.self), "\(mode)")
    }
  }

  @Test func `a wrong password and an authority that nobody knows are refused`() async throws {
    guard let python = await PeerTests.python() else { return }
    let peer = try Peer(python, mode: "tls")
    var settings = MailSettings(host: "localhost", username: "ana", password: "wrong-s3cret")
    settings.port = peer.port
    let mail = try Mail(from: "a@example.org", to: ["b@example.org"], subject: "s", text: "t")
    func failure() async -> MailError? {
      do throws(MailError) { try await MailClient(settings).send(mail, id: "1@x", date: TestTime.start) } catch {
        return error
      }
      return nil
    }
    let untrusted = await failure()
    #expect(untrusted?.kind == .untrusted)
    #expect(untrusted?.message.hasPrefix("No trusted encrypted way to localhost at port \(peer.port): ") == true)
    settings.certificateAuthorities = peer.authority
    let refused = await failure()
    #expect(refused?.kind == .refusedLogin)
    #expect(refused?.message == "The mail server localhost refused the login of 'ana'; check the password.")
    #expect(refused?.effect == OutsideEffect.none)
    #expect("\(refused?.message ?? "") \(refused?.detail ?? "")".contains("s3cret") == false)
    // Another name than the certificate's.
    settings.host = "127.0.0.1"
    let misnamed = await failure()
    #expect(misnamed?.kind == .untrusted)
  }

  @Test func `a login that the server does not offer fails, and nothing is sent without it`() async throws {
    guard let python = await PeerTests.python() else { return }
    let peer = try Peer(python, mode: "bare")
    var settings = MailSettings(host: "127.0.0.1", security: .none, username: "ana", password: "word")
    settings.port = peer.port
    func send(_ subject: String) async -> MailError? {
      do throws(MailError) {
        let mail = try Mail(from: "a@example.org", to: ["b@example.org"], subject: subject, text: "t")
        try await MailClient(settings).send(mail, id: "1@x", date: TestTime.start)
        return nil
      } catch {
        return error
      }
    }
    let error = await send("first")
    #expect(error?.kind == .refusedLogin)
    #expect(
      error?.message
        == "The mail server 127.0.0.1 offers no login at port \(peer.port), and 'username' asks for one; check "
        + "'security' and 'port', or leave out 'username' and 'password'.")
    #expect(error?.effect == OutsideEffect.none)
    (settings.username, settings.password) = (nil, nil)
    #expect(await send("second") == nil)
    // The first one was never handed over.
    #expect(try peer.next()["mail"]?.string?.contains("Subject: second") == true)
  }
}
