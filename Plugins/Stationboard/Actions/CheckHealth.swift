import ActionKit

enum CheckHealth: Action {
  static let name = "checkHealth"
  static let summary = "Checks the health of the service; fails only if the service doesn't answer."
  static let effect = Effect.read
  static let examples = [Example("The health now", "{}")]

  struct Input: FieldSet {}

  typealias Output = Health

  static func run(_ input: Input, on service: StationboardClient, in context: ActionContext) async throws -> Health {
    try await service.health()
  }
}
