public import ActionKit

extension InterviewPrepPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: Configuration, in context: ActionContext
  ) -> Footprint {
    Footprint(reads: [.service(connection.baseURL)])
  }
}
