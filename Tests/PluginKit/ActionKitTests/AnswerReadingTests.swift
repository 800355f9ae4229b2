import ActionKit
import Testing

@Suite struct AnswerReadingTests {
  struct Shelf: FieldSet {
    @Field("Its name.", .notEmpty) var name: String
    @Field("Its floor.") var floor: Int?
    @Field("Whether it is open.") var isOpen = true
    @Field("The books.") var books: [Book]
    @Field("Copies by branch.") var branches: [String: Book]
    @Field("Anything.") var note: Value
  }

  struct Book: FieldSet {
    @Field("Its title.") var title: String
  }

  @Test func `passes over what is not declared, at every depth`() throws {
    let answer = try JSON.parse(
      #"{"new":1,"name":"A","floor":null,"isOpen":null,"books":[{"title":"T","pages":3}],"#
        + #""branches":{"x":{"title":"U","y":[]}},"note":{"kept":null}}"#)
    let shelf = try Shelf(answer: answer, as: "shelf")
    #expect(shelf.floor == nil)
    #expect(shelf.isOpen)
    #expect(shelf.books.map(\.title) == ["T"])
    #expect(shelf.branches["x"]?.title == "U")
    #expect(shelf.note["kept"]?.isNull == true)
  }

  @Test(arguments: [
    (#"{"name":"","books":[],"branches":{},"note":1}"#, "'shelf.name' must not be empty"),
    (
      #"{"name":"A","books":[{"titel":"T"}],"branches":{},"note":1}"#,
      "'shelf.books[0]' needs 'title' (string): Its title"
    ),
    (#"{"name":"A","books":null,"branches":{},"note":1}"#, "'shelf.books' is empty (list(object)): The books"),
    (#"{"name":"A","books":[],"branches":{"x":{"title":1}},"note":1}"#, "'shelf.branches.x.title' must be a string"),
    ("[]", "'shelf' takes a map of fields, but found a list"),
  ])
  func `says what is not as it was declared`(_ text: String, _ message: String) throws {
    let faults = #expect(throws: ValueError.self) { _ = try Shelf(answer: try JSON.parse(text), as: "shelf") }
    #expect(faults?.list.first?.message.hasPrefix(message) == true, "\(faults?.description ?? "")")
  }
}
