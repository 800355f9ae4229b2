public import ActionKit

extension StorePlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: Configuration, in context: ActionContext
  ) -> Footprint {
    Footprint([input["name"]?.string.map { .own(name, $0) } ?? .own(name)])
  }
}
