// Finds the credentials that a document's operations need (OpenAPI 3.1, "Security Scheme Object", "Security Requirement
// Object"), and chooses one alternative for a connection.
//
// Each operation has alternatives, each of several credentials together. The connection gets the alternative that
// authorises most operations. The rest is reported with the number of its operations: other kinds, which another
// connection can give, and kinds that no connection can give.
//
// An API key in the header Authorization should be sent unchanged, but mostly the person has to put a word before it.
// Only the description says which: `Token token=<key>`, `Authorization: GenieKey KEY`.

import ActionKit
import Basics
import HTTPClient

extension OpenAPIDocument {
  /// A kind of credentials that a connection can give.
  enum Scheme: Hashable {
    case bearer
    case basic
    case header(String)
    case query(String)
    case cookie(String)
    /// A key in the header Authorization, after other words than `Bearer`.
    case authorization(String)

    /// The header that carries it, in lowercase; nil if it isn't sent in a header.
    var field: String? {
      switch self {
      case .bearer, .basic, .authorization: "authorization"
      case .header(let name): name.lowercased()
      case .query, .cookie: nil
      }
    }
  }

  /// The credentials that an operation may need: a scheme that a connection can give, or words for one that it can't.
  enum Credential: Hashable {
    case scheme(Scheme)
    case unsupported(String)

    var scheme: Scheme? { if case .scheme(let scheme) = self { scheme } else { nil } }
  }

  /// The document's definitions of schemes, by name.
  private var declared: Value? {
    isSwagger ? root["securityDefinitions"] : member("components", of: root)?["securitySchemes"]
  }

  /// The schemes of the document, each with the name that `security` uses.
  var credentials: [(name: String, credential: Credential)] {
    (declared.flatMap(resolved)?.map?.members ?? []).prefix(200).compactMap { member in
      guard let name = member.name else { return nil }
      guard let scheme = resolved(member.value) else {
        return (name, .unsupported("a scheme that refers to what isn't in the document (\(name))"))
      }
      return (name, Self.credential(scheme, named: name))
    }
  }

  private static func credential(_ scheme: Value, named name: String) -> Credential {
    let type = scheme["type"]?.string ?? ""
    let word = scheme["scheme"]?.string ?? ""
    switch (type.lowercased(), word.lowercased(), scheme["in"]?.string) {
    case ("basic", _, _), ("http", "basic", _): return .scheme(.basic)
    // Without its flows, OAuth is a token that something else got.
    case ("http", "bearer", _), ("oauth2", _, _), ("openidconnect", _, _): return .scheme(.bearer)
    case ("http", let known, _):
      // Credentials that are computed for each request can't be configured.
      let isComputed = [
        "digest", "negotiate", "ntlm", "hoba", "mutual", "scram-sha-1", "scram-sha-256", "oauth", "dpop", "hawk",
        "gnap",
        "concealed", "signature", "hmac", "aws4-hmac-sha256", "vapid", "privatetoken", "",
      ].contains(known)
      guard !isComputed, HTTPRequest.fault(ofHeader: word, "x") == nil else {
        return .unsupported("HTTP authentication '\(word)' (\(name))")
      }
      return .scheme(.authorization("\(word) "))
    case ("apikey", _, let place):
      guard let key = scheme["name"]?.string, !key.isEmpty, key.utf8.count <= 100, key.safe.hasSameScalars(as: key)
      else { break }
      switch place {
      case "query": return .scheme(.query(key))
      case "cookie" where HTTPRequest.fault(ofHeader: key, "x") == nil: return .scheme(.cookie(key))
      case "header" where key.lowercased() == "authorization":
        switch form(in: scheme["description"]?.string ?? "") {
        case nil: return .scheme(.bearer)
        case let form? where form.lowercased() == "bearer ": return .scheme(.bearer)
        case let form? where form.lowercased() == "basic ": return .scheme(.basic)
        case let form?: return .scheme(.authorization(form))
        }
      case "header" where HTTPRequest.fault(ofHeader: key, "x") == nil: return .scheme(.header(key))
      default: break
      }
    case ("mutualtls", _, _): return .unsupported("a client certificate, mutualTLS (\(name))")
    default: break
    }
    return .unsupported("a scheme of another form than the specification's (\(name))")
  }

  /// Whether the form of a key in the header Authorization isn't documented.
  func isAssumed(_ scheme: Scheme, of operations: [Operation]) -> Bool {
    guard scheme == .bearer else { return false }
    let bearers = credentials.filter { $0.credential == .scheme(.bearer) }.map(\.name)
    let wanted = Set(operations.flatMap { requirements(of: $0) }.flatMap { $0 })
    return bearers.filter(wanted.contains).allSatisfy { name in
      guard let scheme = declared.flatMap({ member(name, of: $0) }) else { return false }
      return scheme["type"]?.string?.lowercased() == "apikey"
        && Self.form(in: scheme["description"]?.string ?? "") == nil
    }
  }

  /// The words before the key in a header Authorization, as a description shows them: `Token token=`, `GenieKey `, or
  /// nothing; nil if the description doesn't show any.
  static func form(in description: String) -> String? {
    let text = String(description.prefix(2000))
    var spans: [Substring] = []
    // Tries the text after the header's name first, then quoted texts, then the text before a bracket.
    for line in text.split(whereSeparator: \.isNewline) {
      let header = "authorization:"
      if let start = line.indices.first(where: { line[$0...].prefix(header.count).lowercased() == header }) {
        spans.append(line[start...].dropFirst(header.count).drop { " `'\"*".contains($0) })
      }
    }
    for quote in ["`", "\"", "'"] as [Character] {
      let parts = text.split(separator: quote, omittingEmptySubsequences: false)
      for index in parts.indices where index % 2 == 1 { spans.append(parts[index]) }
    }
    for span in spans { if let form = form(ofSpan: span) { return form } }
    // The rest of the text describes the value: `Basic base64(user:password)`.
    if text.lowercased().contains("basic base64") { return "Basic " }
    for (index, character) in zip(text.indices, text) where "<{[".contains(character) {
      let before = text[..<index]
      let clause = before.split(omittingEmptySubsequences: false) { "\n.,:;`'\"()".contains($0) }.last ?? ""
      let words = clause.split(separator: " ").suffix(2)
      guard let last = words.last else { continue }
      let hasSpace = before.hasSuffix(" ")
      if !hasSpace, last.hasSuffix("="), let first = words.first, words.count == 2, isWord(first) {
        return "\(first) \(last)"
      }
      if hasSpace, isWord(last), last.first?.isUppercase == true { return "\(last) " }
    }
    return nil
  }

  /// The words before a placeholder, if a text is nothing else: `Token token=<API_KEY>`.
  private static func form(ofSpan span: Substring) -> String? {
    var span = span
    if let colon = span.firstIndex(of: ":"), span[..<colon].lowercased() == "authorization" {
      span = span[span.index(after: colon)...].drop { $0 == " " }
    }
    func isPlaceholder(_ text: Substring) -> Bool {
      guard let first = text.first else { return false }
      if "<{[$".contains(first) { return true }
      let word = text.prefix { !" `'\"".contains($0) }
      let name = word.lowercased()
      // An example: `eb243592-faa2-4ba2-a551`.
      let isExample =
        word.count >= 8 && word.contains(where: \.isNumber)
        && word.allSatisfy { $0.isLetter || $0.isNumber || "_-.".contains($0) }
      return isExample || name.hasPrefix("base64")
        || word.count > 2 && word.allSatisfy { $0.isUppercase || $0.isNumber || "_-".contains($0) }
        || ["your", "key", "token", "secret", "xxx", "..."].contains(where: name.contains) && !name.hasSuffix("=")
    }
    let words = span.split(separator: " ", maxSplits: 2)
    guard let first = words.first else { return nil }
    if "<{[$".contains(first.first ?? " ") { return "" }
    if words.count > 1, isWord(first) {
      if let equals = words[1].firstIndex(of: "=") {
        let rest = words[1][words[1].index(after: equals)...].drop { "\"'".contains($0) }
        if isWord(words[1][..<equals]), isPlaceholder(rest) { return "\(first) \(words[1][...equals])" }
      }
      let isSentence = words.count > 2 && !"<{[".contains(words[1].first ?? " ")
      return isPlaceholder(words[1]) && !isSentence ? "\(first) " : nil
    }
    if words.count == 1, let equals = first.firstIndex(of: "="), isWord(first[..<equals]),
      isPlaceholder(first[first.index(after: equals)...])
    {
      return String(first[...equals])
    }
    return nil
  }

  private static func isWord(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.count <= 40 && HTTPRequest.fault(ofHeader: String(text), "x") == nil
      && text.first?.isLetter == true
  }

  // MARK: Needs of operations

  /// The alternatives of an operation, by names; none if it needs no credentials, and one without names if none can be
  /// read.
  private func requirements(of operation: Operation) -> [[String]] {
    guard let written = operation.value["security"] ?? root["security"], !written.isNull else { return [] }
    let alternatives = written.list ?? [written]
    let all = alternatives.prefix(50).compactMap(\.map).map { $0.members.compactMap(\.name) }
    if all.isEmpty, !alternatives.isEmpty { return [[]] }
    return all.contains(where: \.isEmpty) ? [] : all
  }

  /// The distinct alternatives of the operations, each with the operations that have them, in the document's order.
  func wanted(by operations: [Operation]) -> [(alternatives: [[Credential]], operations: [Operation])] {
    let credentials = credentials
    let known = Dictionary(credentials.map { ($0.name, $0.credential) }) { first, _ in first }
    var found: [(alternatives: [[Credential]], operations: [Operation])] = []
    var places: [[[String]]: Int] = [:]
    for operation in operations {
      var names = requirements(of: operation)
      // Parameters that describe credentials count only if nothing else does.
      if names.isEmpty, operation.value["security"] == nil {
        let own = keysAmongParameters(of: operation, credentials)
        if !own.isEmpty { names = [own] }
      }
      if names.isEmpty { continue }
      if let place = places[names] {
        found[place].operations.append(operation)
        continue
      }
      places[names] = found.count
      let alternatives = names.map { names -> [Credential] in
        if names.isEmpty { return [.unsupported("a 'security' of another form than the specification's")] }
        var all: [Credential] = []
        for name in names {
          let credential = known[name] ?? .unsupported("a scheme that the document doesn't define (\(name))")
          if !all.contains(credential) { all.append(credential) }
        }
        let fields = all.compactMap { $0.scheme?.field }
        if let doubled = fields.first(where: { field in fields.count { $0 == field } > 1 }) {
          let field = doubled == "authorization" ? "Authorization" : doubled
          return [.unsupported("several values of the header \(field) (\(names.joined(separator: ", ")))")]
        }
        return all
      }
      found.append((alternatives, [operation]))
    }
    return found
  }

  /// The names of the schemes that an operation's parameters are.
  private func keysAmongParameters(
    of operation: Operation, _ keys: [(name: String, credential: Credential)]
  ) -> [String] {
    if keys.isEmpty { return [] }
    return operation.parameters.compactMap { parameter in
      guard let parameter = resolved(parameter), parameter["required"]?.bool == true,
        let name = parameter["name"]?.string
      else { return nil }
      let scheme: Scheme? =
        switch parameter["in"]?.string {
        case "header": .header(name)
        case "query": .query(name)
        default: nil
        }
      return scheme.flatMap { scheme in keys.first { $0.credential == .scheme(scheme) }?.name }
    }
  }
}
