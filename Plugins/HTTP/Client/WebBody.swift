public import ActionKit
public import HTTPClient
import LocalFiles

/// The body of a request.
public struct WebBody: Sendable {
  /// Its media type.
  public var type: String
  /// The content.
  public var bytes: [UInt8]

  /// Creates a body of any kind.
  public init(type: String, bytes: [UInt8]) {
    self.type = type
    self.bytes = bytes
  }

  /// A text.
  public static func text(_ text: String, type: String = "text/plain; charset=utf-8") -> WebBody {
    WebBody(type: type, bytes: Array(text.utf8))
  }

  /// A text in the charset that its type names.
  static func text(_ text: String, writtenAs type: String?) throws(ActionError) -> WebBody {
    guard let type else { return .text(text) }
    let (bytes, fault) = written(text, as: type)
    if let fault { throw ActionError(.validation, "'contentType' \(fault).", effect: ActionError.Effect.none) }
    return WebBody(type: type, bytes: bytes)
  }

  /// The charset that a media type names, to encode a text; UTF-8 if it names none, nil if the charset is unknown.
  private static func charset(of type: String) -> Charset? {
    guard let name = ContentType(type).charset, !name.isEmpty else { return .utf8 }
    // A recipient that decodes strictly has no characters where windows-1252 adds some.
    let isLatin1 = ["iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "l1"].contains(name.lowercased())
    return isLatin1 ? .latin1 : Charset(named: name)
  }

  /// The reason why a text can't be sent as a media type says, as the end of a sentence about the type; nil if it can.
  static func fault(of text: String, writtenAs type: String) -> String? { written(text, as: type).fault }

  /// The bytes of a text in the charset of a media type, and the reason why they don't hold all of it, if so.
  private static func written(_ text: String, as type: String) -> (bytes: [UInt8], fault: String?) {
    let name = (ContentType(type).charset ?? "").excerpt(40)
    guard let charset = charset(of: type) else {
      return ([], "names the charset '\(name)', in which no text can be sent; use utf-8")
    }
    let (bytes, misfit) = charset.bytes(of: text)
    let fault = misfit.map { misfit in
      let code = String(misfit.value, radix: 16, uppercase: true)
      return "names the charset '\(name)', in which '\(misfit)' (U+\(code)) has no place; use utf-8"
    }
    return (bytes, fault)
  }

  /// A value as JSON, in the charset that its type names.
  static func json(_ value: Value, writtenAs type: String) throws(ActionError) -> WebBody {
    let body = try json(value)
    if charset(of: type) == .utf8 { return WebBody(type: type, bytes: body.bytes) }
    // Every charset contains ASCII, and JSON can escape every other character.
    var text = ""
    for unit in String(decoding: body.bytes, as: UTF8.self).utf16 {
      if let scalar = Unicode.Scalar(unit), scalar.isASCII {
        text.unicodeScalars.append(scalar)
      } else {
        let digits = String(unit, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return try .text(text, writtenAs: type)
  }

  /// A value as JSON.
  public static func json(_ value: Value) throws(ActionError) -> WebBody {
    do throws(JSONError) { return WebBody(type: "application/json", bytes: try JSON.write(value)) } catch {
      throw ActionError(.validation, "The body cannot be JSON: \(error.description).", cause: error)
    }
  }

  /// Fields as a web form without files sends them.
  public static func form(_ fields: HTTPQuery) -> WebBody {
    WebBody(type: "application/x-www-form-urlencoded", bytes: Array(fields.encoded.utf8))
  }

  /// A value to send, or one that a service has, as a plan shows it: in one line, shortened, with the step's secrets
  /// masked.
  package static func displayed(_ value: Value, in context: ActionContext) -> String {
    if value.isNull { return "nothing" }
    let seen = value.hiding(context.secrets)
    return (seen.string ?? JSON.displayed(seen)).safe.excerpt(2000)
  }

  /// The items of a query or a form: a list is one item for each of its values, null is none.
  static func items(of map: ValueMap, called what: String) throws(ActionError) -> [HTTPQuery.Item] {
    var items: [HTTPQuery.Item] = []
    for member in map.members {
      let name = member.name ?? ""
      for value in member.value.list ?? [member.value] where !value.isNull {
        guard let text = value.csvField else {
          throw misfit(name, what, value.kindName)
        }
        items.append(.init(name, text))
      }
    }
    return items
  }

  /// Which values cannot be items of a query or a form, known before anything is computed.
  static func refusals(of fields: Value?, called what: String, in input: StepInput) -> [Refusal] {
    (fields?.map?.members ?? []).compactMap { member in
      let type = input.type(of: member.value)
      let item = if case .list(let element)? = type { element } else { type }
      if let found = item?.csvMisfitKind {
        return Refusal(misfit(member.name ?? "", what, found), of: member.value)
      }
      do throws(ActionError) {
        _ = try items(of: ValueMap([(member.name ?? "", member.value)]), called: what)
        return nil
      } catch {
        return Refusal(error, of: member.value)
      }
    }
  }

  private static func misfit(_ name: String, _ what: String, _ found: String) -> ActionError {
    ActionError(.validation, "'\(name)' of '\(what)' is \(found), which it cannot hold.")
  }
}

extension Value {
  /// The value with each text that contains a secret masked.
  fileprivate func hiding(_ secrets: [String]) -> Value {
    if secrets.isEmpty { return self }
    switch content {
    case .string(let text):
      return secrets.contains { !$0.isEmpty && text.contains($0) } ? .string("•••") : self
    case .list(let items): return .list(items.map { $0.hiding(secrets) })
    case .map(let map): return .map(map.mapValues { $0.hiding(secrets) })
    default: return self
    }
  }
}
