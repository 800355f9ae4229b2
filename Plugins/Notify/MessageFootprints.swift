public import ActionKit

extension NotifyPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: Configuration, in context: ActionContext
  ) -> Footprint {
    Footprint([.service(action == "webhook" ? connection.webhookURL?.reveal() ?? "" : connection.ntfyURL)])
  }
}
