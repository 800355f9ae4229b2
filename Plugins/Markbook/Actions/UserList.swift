import ActionKit

enum UserList: Action {
  static let name = "userList"
  static let summary = "Lists the users of the school."
  static let effect = Effect.read
  static let examples = [Example("All users", "{}")]

  struct Input: FieldSet {}

  static func run(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> UserListResponse {
    try await markbook.userList()
  }
}
