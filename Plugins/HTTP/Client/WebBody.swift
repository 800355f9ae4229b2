public import ActionKit
public import HTTPClient

/// What is sent with a request.
public struct WebBody: Sendable {
  /// Its media type.
  public var type: String
  /// What it holds.
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

  /// What a plan shows of a value that would be sent, or that is there: in one line, shortened, and masked where a secret
  /// of the step is in it.
  package static func shown(_ value: Value, in context: ActionContext) -> String {
    if value.isNull { return "nothing" }
    let seen = value.hiding(context.secrets)
    return (seen.string ?? JSON.shown(seen)).safe.excerpt(2000)
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
  /// The value with its texts masked in which a secret is.
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
