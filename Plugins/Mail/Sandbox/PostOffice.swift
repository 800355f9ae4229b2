import ActionKit
import Glibc
import SandboxKit
import Synchronization

// A mail server on a loopback port that implements the parts of SMTP (RFC 5321) that a client needs, and keeps the
// mails it receives. It serves one client after another, on a thread that may block; a client that is silent for a
// minute is disconnected. Some addresses, at any host, cause faults:
//
//   refused@…   is refused permanently as a recipient (550)
//   later@…     is refused temporarily as a recipient (451)
//   full@…      is accepted, and the mail is then refused permanently (552)
//   lost@…      is accepted, and the connection ends after the mail has arrived, before the reply; the mail is kept
//   gone@…      is accepted, and the connection ends before the mail has arrived
//   silent@…    is accepted, and there is no reply to the mail until the client leaves; the mail is kept
//
// A control endpoint, if there is one, can order faults for some mails only.

/// A mail as the server received it.
struct DeliveredMail: Sendable {
  var sender: String
  var recipients: [String]
  /// The bytes, without the dots that the protocol adds.
  var bytes: [UInt8]

  /// The raw value of a header field of one line.
  func header(_ name: String) -> String? {
    for line in bytes.split(separator: ASCII.newline, omittingEmptySubsequences: false) {
      let text = String(decoding: line, as: UTF8.self).trimmed
      if text.isEmpty { return nil }
      if text.hasPrefix("\(name): ") { return String(text.dropFirst(name.count + 2)) }
    }
    return nil
  }
}

/// A mail server for one program.
final class PostOffice: Sendable {
  let port: Int
  private let listener: Int32
  private let mails = Mutex<[DeliveredMail]>([])
  private let current = Mutex<(isOpen: Bool, client: Int32)>((true, -1))
  /// The line that greets clients.
  private let greeting: String
  private let control: ControlEndpoint<MailFault>?

  /// The error of a server that couldn't start.
  struct NoPort: Error, CustomStringConvertible {
    var code: Int32
    var description: String { "the mail server of the sandbox cannot listen: \(systemErrorText(code))" }
  }

  /// Listens on a port of the loopback interface; 0 means any free port.
  init(port wanted: Int = 0, greeting: String = "220 sandbox ESMTP", control: ControlEndpoint<MailFault>? = nil)
    throws(NoPort)
  {
    self.greeting = greeting
    self.control = control
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard listener >= 0 else { throw NoPort(code: errno) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: wanted).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    guard isListening else {
      let code = errno
      close(listener)
      throw NoPort(code: code)
    }
    self.listener = listener
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  /// The received mails, oldest first.
  var delivered: [DeliveredMail] { mails.withLock { $0 } }

  /// Serves clients until it is stopped; blocks.
  func serve() {
    while true {
      let client = accept(listener, nil, nil)
      if client < 0, errno == EINTR || errno == ECONNABORTED { continue }
      let isOpen = current.withLock { current in
        if current.isOpen, client >= 0 { current.client = client }
        return current.isOpen
      }
      guard client >= 0 else { break }
      if isOpen { serve(client) }
      current.withLock { $0.client = -1 }
      close(client)
      if !isOpen { break }
    }
    close(listener)
  }

  /// Stops the server, and closes the connections that it serves.
  func stop() {
    current.withLock { current in
      // After it was stopped, its file descriptor may have been reused.
      guard current.isOpen else { return }
      current.isOpen = false
      if current.client >= 0 { shutdown(current.client, Int32(SHUT_RDWR)) }
      shutdown(listener, Int32(SHUT_RDWR))
    }
  }

  // MARK: One client

  private func serve(_ client: Int32) {
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var lines = Lines(client)
    var (sender, recipients) = ("", [String]())
    guard control?.strike([.refuse]) == nil, say(greeting, to: client) else { return }
    while let line = lines.next() {
      let words = String(decoding: line, as: UTF8.self)
      let verb = String(words.prefix(4)).uppercased()
      var answer = "502 5.5.1 not here"
      switch verb {
      case "EHLO": answer = "250-sandbox\r\n250-8BITMIME\r\n250-AUTH PLAIN\r\n250 SIZE 52428800"
      // Every login succeeds: the sandbox doesn't know the real server's accounts.
      case "AUTH":
        if words.utf8.count <= "AUTH PLAIN".utf8.count {
          guard say("334 ", to: client), lines.next() != nil else { return }
        }
        answer = "235 2.7.0 ok"
      case "HELO", "NOOP": answer = "250 ok"
      case "RSET":
        (sender, recipients) = ("", [])
        answer = "250 ok"
      case "QUIT":
        _ = say("221 bye", to: client)
        return
      case "MAIL":
        (sender, recipients) = (address(in: words), [])
        answer = control?.strike([.busy]).map { "\($0.status) 4.3.2 busy, try again later" } ?? "250 2.1.0 ok"
      case "RCPT":
        let recipient = address(in: words)
        if recipient.hasPrefix("refused@") {
          answer = "550 5.1.1 nobody of that name"
        } else if recipient.hasPrefix("later@") {
          answer = "451 4.2.1 try again later"
        } else if let fault = control?.strike([.recipient], [recipient]) {
          answer = "\(fault.status) 5.1.1 nobody of that name"
        } else {
          recipients.append(recipient)
          answer = "250 2.1.5 ok"
        }
      case "DATA":
        if recipients.contains(where: { $0.hasPrefix("gone@") }) { return }
        for recipient in recipients { control?.count(recipient) }
        if control?.strike([.cutOff], recipients) != nil { return }
        guard say("354 go on", to: client), let bytes = lines.mail() else { return }
        if recipients.contains(where: { $0.hasPrefix("full@") }) {
          answer = "552 5.2.2 mailbox full"
          break
        }
        mails.withLock { $0.append(DeliveredMail(sender: sender, recipients: recipients, bytes: bytes)) }
        if recipients.contains(where: { $0.hasPrefix("lost@") }) { return }
        if control?.strike([.lostAnswer], recipients) != nil { return }
        if recipients.contains(where: { $0.hasPrefix("silent@") }) {
          while lines.next() != nil {}
          return
        }
        answer = "250 2.0.0 taken"
      default: break
      }
      guard say(answer, to: client) else { return }
    }
  }

  private func address(in line: String) -> String {
    guard let open = line.utf8.firstIndex(of: ASCII.less),
      let close = line.utf8.firstIndex(of: ASCII.greater),
      open < close
    else { return "" }
    return String(line[line.utf8.index(after: open)..<close])
  }

  private func say(_ line: String, to client: Int32) -> Bool {
    let bytes = Array("\(line)\r\n".utf8)
    return send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }

  /// Reads a client's input line by line.
  private struct Lines {
    private let client: Int32
    private var bytes: [UInt8] = []
    private static let mostBytes = 64 << 20

    init(_ client: Int32) { self.client = client }

    /// The next line without its end; nil if the client has left, or sends too much.
    mutating func next() -> [UInt8]? {
      var searched = 0
      while true {
        if let end = bytes[searched...].firstIndex(of: ASCII.newline) {
          var line = Array(bytes[..<end])
          bytes.removeFirst(end + 1)
          if line.last == ASCII.carriageReturn { line.removeLast() }
          return line
        }
        searched = bytes.count
        var chunk = [UInt8](repeating: 0, count: 1 << 14)
        let count = recv(client, &chunk, chunk.count, 0)
        guard count > 0, bytes.count + count <= Lines.mostBytes else { return nil }
        bytes += chunk[..<count]
      }
    }

    /// The lines up to one with a single dot, without dot stuffing (RFC 5321, section 4.5.2).
    mutating func mail() -> [UInt8]? {
      var mail: [UInt8] = []
      while let line = next() {
        if line == [ASCII.dot] { return mail }
        mail += line.first == ASCII.dot ? line.dropFirst() : line[...]
        mail += [ASCII.carriageReturn, ASCII.newline]
        if mail.count > Lines.mostBytes { return nil }
      }
      return nil
    }
  }
}
