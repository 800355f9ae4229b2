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
      throw ActionError(
        .validation, "The body cannot be JSON: \(error.description).", effect: ActionError.Effect.none, cause: error)
    }
  }

  /// Fields as a web form without files sends them.
  public static func form(_ fields: HTTPQuery) -> WebBody {
    WebBody(type: "application/x-www-form-urlencoded", bytes: Array(fields.encoded.utf8))
  }

  /// The items of a query or a form: a list is one item for each of its values, null is none.
  static func items(of map: ValueMap, called what: String) throws(ActionError) -> [HTTPQuery.Item] {
    var items: [HTTPQuery.Item] = []
    for member in map.members {
      let name = member.name ?? ""
      for value in member.value.list ?? [member.value] where !value.isNull {
        guard let text = value.csvField else {
          throw ActionError(
            .validation, "'\(name)' of '\(what)' is \(value.kindName), which it cannot hold.",
            effect: ActionError.Effect.none)
        }
        items.append(.init(name, text))
      }
    }
    return items
  }
}
