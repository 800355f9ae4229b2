import ActionKit

enum UserList: Action {
  static let name = "userList"
  static let summary = "Lists the users of the school."
  static let effect = Effect.read
  static let examples = [Example("All users", "{}")]

  struct Input: FieldSet {}

  struct Output: FieldSet {
    @Field("The users.") var users: [Item]
  }

  struct Item: FieldSet {
    @Field("Key of the user, which owners and shares refer to.") var key: Int
    @Field("Name, given name first.") var name: String
    @Field("Name to log in with.") var loginID: String
    @Field("Address; empty if there is none.") var email: String
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    let answer = try await markbook.userList()
    return try Output { output in
      output.users = try answer.list.map { part in
        try Item {
          $0.key = part.key
          $0.name = part.name
          $0.loginID = part.loginID
          $0.email = part.email
        }
      }
    }
  }
}
