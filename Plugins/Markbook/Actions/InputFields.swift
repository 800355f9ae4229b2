import ActionKit

// The inputs that several actions share.

struct MarkbookKey: FieldSet {
  @Field("Key of the markbook.") var markbookKey: Int
}

/// An action that reads one markbook.
protocol MarkbookReading: Action where Service == MarkbookClient, Input == MarkbookKey {}

extension MarkbookReading {
  static var effect: Effect { .read }
  static var examples: [Example] { [Example("One markbook", "markbookKey: 1207731")] }
}

/// A student of a markbook, as writes want to have them named.
struct StudentReference: FieldSet {
  @Field("Key of the markbook.") var markbookKey: Int
  @Field("Key of the student, from a fresh reading of the markbook.") var studentKey: Int
  @Field("The same student's id in the school's own system; the service checks that the two match.", .notEmpty)
  var sid: String

  /// Finds the student in a markbook that was read; throws if no student has this key and id.
  func student(in markbook: MarkbookResponse) throws(ActionError) -> MarkbookStudent {
    guard let student = student(ifIn: markbook) else {
      throw ActionError(
        .notFound, "Markbook '\(markbook.head.markbookName)' has no student with key \(studentKey) and id '\(sid)'.")
    }
    return student
  }

  /// The student in a markbook that was read, if the markbook shows them.
  func student(ifIn markbook: MarkbookResponse) -> MarkbookStudent? {
    markbook.students.first { $0.student.key == studentKey && $0.student.sid.hasSameScalars(as: sid) }?.student
  }
}

extension MarkbookHead {
  /// Finds the class with a key; throws if there is none.
  func homeClass(_ key: Int) throws(ActionError) -> MarkbookClass {
    guard let home = classes.first(where: { $0.key == key }) else {
      throw ActionError(.notFound, "Markbook '\(markbookName)' has no class with key \(key).")
    }
    return home
  }
}

extension MarkbookStudent {
  /// The student as plans name them.
  var label: String { "\(preferredName.isEmpty ? givenName : preferredName) \(familyName) (\(sid))" }
}
