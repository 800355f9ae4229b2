package import Basics
import CCurl
import HTTPClient
import Synchronization

/// A server that takes mail by SMTP (RFC 5321).
package struct SMTPServer: Sendable {
  /// Its address: `smtps://host:465`, encrypted from the start, or `smtp://host:587`.
  package var url: String
  /// Whether a connection that begins in the clear has to be encrypted before anything else is sent (RFC 3207).
  package var requiresSTARTTLS = false
  package var username: String?
  package var password: String?
  /// A file with certificates that are trusted in addition to the system's.
  package var certificateAuthorities: String?
  /// The time limits to connect, and to send one mail.
  package var connectTimeout = TimeSpan.seconds(10)
  package var sendTimeout = TimeSpan.seconds(120)

  package init(url: String) { self.url = url }
}

/// Sends one mail through libcurl, which blocks the thread that it is on.
// Only the thread of `run` uses the state that the callbacks change; a lock guards the request to end.
package final class SMTPTransfer: @unchecked Sendable {
  /// How a transfer ended.
  package enum End: Sendable {
    case done
    case unknownHost, noConnection, untrusted, noSTARTTLS, refusedLogin, timeout
    /// The peer isn't an SMTP server, or broke off its reply.
    case unreadable
    case failed

    fileprivate init(_ code: CURLcode) {
      self =
        switch code {
        case CURLE_OK: .done
        case CURLE_COULDNT_RESOLVE_HOST: .unknownHost
        case CURLE_COULDNT_CONNECT: .noConnection
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
          .untrusted
        case CURLE_USE_SSL_FAILED: .noSTARTTLS
        case CURLE_LOGIN_DENIED: .refusedLogin
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_WEIRD_SERVER_REPLY, CURLE_WRITE_ERROR: .unreadable
        default: .failed
        }
    }
  }

  /// How it went.
  package struct Outcome: Sendable {
    package var end: End
    /// libcurl's message.
    package var detail: String
    /// The server's last reply code; 0 if there was none.
    package var status: Int
    /// The server's last reply.
    package var reply: String
    /// Whether a login is wanted, and the server offers none.
    package var lacksLogin: Bool
    /// The recipient that the server refused, if it refused one.
    package var refusedRecipient: String?
    /// Whether libcurl has read the last byte of the mail, so that the server may have it.
    package var isHandedOver: Bool
    package var isCancelled: Bool
    package var elapsed: TimeSpan
  }

  private let server: SMTPServer
  private let sender: String
  private let recipients: [String]
  private let bytes: [UInt8]
  private var sent = 0
  private var isHandedOver = false
  private var reply: [UInt8] = []
  private var start = TimeSpan.zero
  private let end = Mutex<(isAsked: Bool, multi: Multi?)>((false, nil))

  /// The handle that wakes the thread of `run`; libcurl allows that from any thread.
  private struct Multi: @unchecked Sendable { var pointer: UnsafeMutableRawPointer }

  package init(_ server: SMTPServer, from sender: String, to recipients: [String], _ bytes: [UInt8]) {
    self.server = server
    self.sender = sender
    self.recipients = recipients
    self.bytes = bytes
  }

  /// Why libcurl is unavailable, in a sentence; nil if it is there.
  package static var unavailability: String? { ccurl_load().map { String(cString: $0) } }

  /// Ends the transfer as soon as its thread checks.
  package func cancel() {
    end.withLock { end in
      end.isAsked = true
      if let multi = end.multi { _ = ccurl.multi_wakeup(multi.pointer) }
    }
  }

  /// Sends the mail; nil if libcurl gives no handles or refuses a setting.
  package func run() -> Outcome? {
    guard let easy = ccurl.easy_init() else { return nil }
    defer { ccurl.easy_cleanup(easy) }
    guard let multi = ccurl.multi_init() else { return nil }
    defer { _ = ccurl.multi_cleanup(multi) }
    let message = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    message.pointee = 0
    defer { message.deallocate() }
    var list: UnsafeMutablePointer<curl_slist>?
    defer { ccurl.slist_free_all(list) }
    for recipient in recipients {
      guard let longer = ccurl.slist_append(list, "<\(recipient)>") else { return nil }
      list = longer
    }
    guard set(easy, message, list), ccurl.multi_add_handle(multi, easy) == CURLM_OK else { return nil }
    defer { _ = ccurl.multi_remove_handle(multi, easy) }
    end.withLock { $0.multi = Multi(pointer: multi) }
    defer { end.withLock { $0.multi = nil } }
    start = SystemTime().elapsed()
    var code: CURLcode?
    while code == nil, !isEndAsked {
      var running: Int32 = 0
      _ = ccurl.multi_perform(multi, &running)
      var left: Int32 = 0
      while let news = ccurl.multi_info_read(multi, &left) {
        if news.pointee.msg == CURLMSG_DONE { code = ccurl_result(news) }
      }
      if code == nil { _ = ccurl.multi_poll(multi, nil, 0, 60_000, nil) }
    }
    let isCancelled = isEndAsked && code != CURLE_OK
    if code == CURLE_ABORTED_BY_CALLBACK, !isCancelled { code = CURLE_OPERATION_TIMEDOUT }
    return Outcome(
      end: End(code ?? CURLE_ABORTED_BY_CALLBACK), detail: String(cString: message),
      status: Int(ccurl_get_long(easy, CURLINFO_RESPONSE_CODE)),
      reply: String(decoding: reply, as: UTF8.self).trimmed, lacksLogin: lacksLogin,
      refusedRecipient: refusedRecipient, isHandedOver: isHandedOver, isCancelled: isCancelled,
      elapsed: SystemTime().elapsed() - start)
  }

  private var isEndAsked: Bool { end.withLock { $0.isAsked } }

  /// Whether the caller no longer waits.
  ///
  /// libcurl calls this once a second while it waits for the answer to the mail, and to its QUIT; for the latter it has
  /// no other limit.
  private var isOver: Bool { isEndAsked || SystemTime().elapsed() - start > server.sendTimeout }

  /// Gives libcurl the settings; false if it doesn't know one.
  private func set(
    _ easy: UnsafeMutableRawPointer, _ message: UnsafeMutablePointer<CChar>,
    _ recipients: UnsafeMutablePointer<curl_slist>?
  ) -> Bool {
    let context = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    var codes = [
      ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, message),
      ccurl_set_text(easy, CURLOPT_URL, server.url),
      ccurl_set_text(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps"),
      ccurl_set_text(easy, CURLOPT_PROXY, ""),
      ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1),
      ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1),
      // Closed here, while the callback is called, rather than with the connections that libcurl keeps.
      ccurl_set_long(easy, CURLOPT_FORBID_REUSE, 1),
      ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(server.connectTimeout)),
      ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, milliseconds(server.sendTimeout)),
      ccurl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 1),
      ccurl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 2),
      ccurl_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
      ccurl_set_text(easy, CURLOPT_MAIL_FROM, "<\(sender)>"),
      ccurl_set_pointer(easy, CURLOPT_MAIL_RCPT, recipients),
      ccurl_set_long(easy, CURLOPT_UPLOAD, 1),
      ccurl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(bytes.count)),
      ccurl_set_pointer(easy, CURLOPT_READDATA, context),
      ccurl_set_receiver(easy, CURLOPT_READFUNCTION) { buffer, size, count, context in
        SMTPTransfer.of(context)?.give(buffer, size * count) ?? 0
      },
      ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context),
      ccurl_set_receiver(easy, CURLOPT_HEADERFUNCTION) { line, size, count, context in
        let line = UnsafeRawBufferPointer(start: line, count: size * count)
        return SMTPTransfer.of(context)?.receive(line) == true ? line.count : -1
      },
      ccurl_set_pointer(easy, CURLOPT_XFERINFODATA, context),
      ccurl_set_progress(easy) { context, _, _, _, _ in SMTPTransfer.of(context)?.isOver == false ? 0 : 1 },
      ccurl_set_receiver(easy, CURLOPT_WRITEFUNCTION) { _, size, count, _ in size * count },
    ]
    if server.requiresSTARTTLS {
      // The whole conversation or none of it.
      codes.append(ccurl_set_long(easy, CURLOPT_USE_SSL, Int(CURLUSESSL_ALL.rawValue)))
    }
    if let username = server.username, let password = server.password {
      codes.append(ccurl_set_text(easy, CURLOPT_USERNAME, username))
      codes.append(ccurl_set_text(easy, CURLOPT_PASSWORD, password))
    }
    if let file = server.certificateAuthorities ?? TrustedAuthorities.file {
      codes.append(ccurl_set_text(easy, CURLOPT_CAINFO, file))
    }
    if let folder = TrustedAuthorities.folder { codes.append(ccurl_set_text(easy, CURLOPT_CAPATH, folder)) }
    return codes.allSatisfy { $0 == CURLE_OK }
  }

  /// At least one, because libcurl reads zero as no limit, and no more than it supports.
  private func milliseconds(_ span: TimeSpan) -> Int { min(max(span.nanoseconds / 1_000_000, 1), Int(Int32.max)) }

  private static func of(_ context: UnsafeMutableRawPointer?) -> SMTPTransfer? {
    context.map { Unmanaged<SMTPTransfer>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Hands libcurl the next bytes; none at the end.
  private func give(_ buffer: UnsafeMutablePointer<CChar>?, _ room: Int) -> Int {
    let count = min(room, bytes.count - sent)
    guard let buffer, count > 0 else {
      isHandedOver = true
      return 0
    }
    UnsafeMutableRawBufferPointer(start: buffer, count: count).copyBytes(from: bytes[sent..<sent + count])
    sent += count
    if sent == bytes.count { isHandedOver = true }
    return count
  }

  /// Keeps a line of the server's last reply, or of the reply that refuses; false for a line that no mail server sends.
  private func receive(_ line: UnsafeRawBufferPointer) -> Bool {
    guard line.count >= 3, line.prefix(3).allSatisfy({ ASCII.digits.contains($0) }) else { return false }
    if !isContinued {
      // A reply after a refusal is a farewell.
      if let first = reply.first, first >= UInt8(ascii: "4") { return true }
      reply = []
    }
    // All lines of a reply but the last have a hyphen after the code.
    isContinued = line.count > 3 && line[3] == ASCII.minus
    if reply.count < 2000 { reply += line }
    if line.dropFirst(4).prefix(4).elementsEqual("AUTH".utf8) { offersLogin = true }
    return isContinued || follow(line.prefix(3))
  }

  /// Follows the conversation's progress; false if the mail must not be sent.
  ///
  /// libcurl sends without a login if a server offers none, and doesn't say which recipient a refusal is about.
  private func follow(_ code: Slice<UnsafeRawBufferPointer>) -> Bool {
    let isAccepted = code.first == UInt8(ascii: "2")
    switch stage {
    case .greeting:
      // The server accepts STARTTLS with another 220; afterwards it lists its extensions again.
      if code.elementsEqual("220".utf8) { greetings += 1 }
      guard code.elementsEqual("250".utf8), greetings > (server.requiresSTARTTLS ? 1 : 0) else {
        offersLogin = false
        return true
      }
      stage = .envelope(accepted: 0)
      lacksLogin = server.username != nil && !offersLogin
      return !lacksLogin
    case .envelope(let accepted):
      // A reply to a login says nothing about the mail.
      if code.elementsEqual("235".utf8) || code.first == UInt8(ascii: "3") && !code.elementsEqual("354".utf8) {
        return true
      }
      if isAccepted {
        stage = .envelope(accepted: accepted + 1)
      } else {
        // The sender is the first to be accepted.
        let index = accepted - 1
        if code.first != UInt8(ascii: "3"), recipients.indices.contains(index) { refusedRecipient = recipients[index] }
        stage = .over
      }
      return true
    case .over: return true
    }
  }

  /// The progress of the conversation, by the server's replies.
  private enum Stage {
    /// Until the server has said what it offers.
    case greeting
    /// The sender and the recipients are named, and some of them accepted.
    case envelope(accepted: Int)
    /// The mail itself is requested, or something was refused.
    case over
  }

  private var stage = Stage.greeting
  private var greetings = 0
  private var offersLogin = false
  private var lacksLogin = false
  private var refusedRecipient: String?
  private var isContinued = false
}
