// The forms of recipes: `GET` and `POST /forms/PATH`.
//
// A form may be for everyone. So nothing but its own page sends it (`Origin`, and a key that the page made), a form that
// is sent twice counts once, an address may send it so often and all together so often, and a program that fills in
// every field starts nothing. The typed texts come back with each answer that asks to send it again.
import ActionKit
import Agent
import AgentPages
import Basics
import Glibc
import HTTPServer
import Operations
import Recipes
import RunState

struct FormHandler {
  let service: AgentParts
  let authenticator: Authenticator
  let login: LoginPage
  let isReady: Bool

  func answer(_ request: HTTPServerRequest) async throws(Problem) -> HTTPServerResponse {
    let unknown = Problem(.noSuchPath, "there is no form at this address")
    guard let entry = service.forms?.entry(at: String(request.rawPath.dropFirst(WebForm.root.count))) else {
      // The recipes aren't read yet.
      if !isReady {
        throw Problem(
          .refusal(.notServing),
          "the agent is starting, and nothing was sent; go back, where the form is as you filled it in, and send it again",
          headers: ["Retry-After": "5"])
      }
      throw unknown
    }
    if request.method == "POST", request.account == nil { try authenticator.checkIsOfPage(request) }
    guard request.body.count <= FormInbox.mostBytes else { throw Problem(.tooLarge, "a form has at most 64 KiB") }
    if entry.form.access == .login {
      let caller: AgentCaller
      switch try await authenticator.visit(of: request) {
      case .here(let visitor): caller = visitor
      case .away(let end): return login.answer(toUnknown: request, end)
      }
      guard caller.sees(recipe: entry.recipe) else { throw unknown }
      do throws(RequestRefusedError) { try caller.check([.start], "this form needs") } catch { throw Problem(error) }
    }
    let page = FormPage(entry.form, isSandbox: service.agent.isSandbox)
    if await service.forms?.isClosed(entry) == true { return page.refusing("This form is closed.", status: 403) }
    do throws(StateError) {
      return request.method == "POST"
        ? try await answer(toPost: request, entry, page) : try await show(request, entry, page)
    } catch {
      throw Problem(
        .refusal(.state), "the form can't be shown now; try again in a moment", headers: ["Retry-After": "5"])
    }
  }

  private func show(
    _ request: HTTPServerRequest, _ entry: FormInbox.Entry, _ page: FormPage
  ) async throws(StateError) -> HTTPServerResponse {
    var link: String?
    if entry.form.access == .link {
      link = request.query["link"]
      guard let link, try await service.forms?.isLink(link, to: entry.form) == true else {
        return page.refusing(FormHandler.noLink, status: 403)
      }
    }
    return page.asking(key: try await key(entry), link: link)
  }

  private func answer(
    toPost request: HTTPServerRequest, _ entry: FormInbox.Entry, _ page: FormPage
  ) async throws(StateError) -> HTTPServerResponse {
    let sent = request.form
    let link = sent["link"]
    if let fault = request.formFault {
      return page.asking(key: try await key(entry), link: link, objection: "This can't be read: \(fault).", status: 422)
    }
    let filled = FilledForm(sent, for: entry.form)
    func again(
      _ objection: String?, _ status: Int, after span: TimeSpan? = nil
    ) async throws(StateError) -> HTTPServerResponse {
      var response = page.asking(
        key: try await key(entry), link: link, filled: filled, objection: objection, status: status)
      if let span { response.headers["Retry-After"] = "\(max(1, Int(span.inSeconds.rounded(.up))))" }
      return response
    }
    guard let values = filled.values else { return try await again(nil, 422) }
    let later = "This can't be taken in now. What you typed is still here; send it again in a moment."
    guard isReady else { return try await again(later, 503, after: .seconds(5)) }
    let answer = await service.receive(
      FormInbox.Sent(
        values: values, key: sent["key"] ?? "", link: link, address: address(of: request),
        isOfRobot: sent[FormPage.trap]?.isEmpty == false), to: entry)
    switch answer {
    case .done(let text): return page.done(text)
    case .keyIsOld:
      return try await again("This page was open for more than a day. Look at it, and send it again.", 403)
    case .keyIsUsed:
      return try await again("You sent this page before, with other values. Send it again to send these, too.", 409)
    case .linkIsUsed: return page.refusing(FormHandler.noLink, status: 403)
    case .tooMany(let span):
      return try await again(
        "This form was sent too often. Send it again in \(span.rounded.inWords).", 429, after: span)
    case .full, .unavailable: return try await again(later, 503, after: .seconds(5))
    }
  }

  private static let noLink = "This form needs a link that wasn't used up and hasn't ended. Ask for a new one."

  private func key(_ entry: FormInbox.Entry) async throws(StateError) -> String {
    try await service.forms?.newKey(for: entry.form) ?? ""
  }

  /// Where a form comes from: the connection's other end, or the address that the proxy in front of `publicURL` saw.
  private func address(of request: HTTPServerRequest) -> String {
    let own = request.address ?? ""
    guard authenticator.settings.publicURL != nil,
      let forwarded = request.headers.values("X-Forwarded-For").last?.split(separator: ",").last
    else { return NetworkOfAddress.text(own) ?? own }
    return NetworkOfAddress.text(String(forwarded).trimmed) ?? NetworkOfAddress.text(own) ?? own
  }
}

/// The part of an address that belongs to one household: all of an IPv4 address, and the first half of an IPv6 address.
enum NetworkOfAddress {
  /// Nil if the text isn't an address.
  static func text(_ address: String) -> String? {
    var v4 = in_addr()
    if inet_pton(AF_INET, address, &v4) == 1 { return withUnsafeBytes(of: v4) { Array($0).hexadecimal } }
    var v6 = in6_addr()
    guard inet_pton(AF_INET6, address, &v6) == 1 else { return nil }
    let bytes = withUnsafeBytes(of: v6) { Array($0) }
    // An IPv4 address in the form of IPv6 (RFC 4291, section 2.5.5.2).
    let isMapped = bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
    return Array(isMapped ? bytes.suffix(4) : bytes.prefix(8)).hexadecimal
  }
}

extension TimeSpan {
  /// The span in whole minutes, or whole seconds below one, rounded up.
  fileprivate var rounded: TimeSpan {
    let seconds = max(1, Int(inSeconds.rounded(.up)))
    return .seconds(seconds <= 60 ? seconds : (seconds + 59) / 60 * 60)
  }
}
