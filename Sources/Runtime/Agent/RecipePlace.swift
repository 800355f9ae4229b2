import Basics
package import RunState

/// A step's place in its recipe, as the recipe was when the run began.
package struct RecipePlace: Record, Equatable {
  package var file: String
  /// From 1.
  package var line: Int
  /// The lines of the step, or the first of them.
  package var text: String
  /// The step's name, if the recipe gives it one.
  package var name: String?

  package init(file: String, line: Int, text: String, name: String? = nil) {
    self.file = file
    self.line = line
    self.text = text
    self.name = name
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    file = try member("file", record?.file)
    line = try member("line", record?.line)
    text = try member("text", record?.text)
    name = try member("name", record?.name)
  }
}
