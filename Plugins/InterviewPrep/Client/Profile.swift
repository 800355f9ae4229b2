public import ActionKit

/// The person something is made for, in the words of the backend's own form.
public struct Profile: FieldSet, Equatable {
  @Field("A name, which goes to the language model and into logs; a made-up name is enough.", .notEmpty, .maxLength(60))
  public var name: String
  @Field("The career stage, such as '3rd Year', 'Recent Grad' or 'Career Changer'.", .minLength(2), .maxLength(40))
  public var stage: String
  @Field("The wanted role, such as 'Backend Engineer'.", .minLength(2), .maxLength(60))
  public var targetRole: String
  @Field("The hours of study on each available day.", .range(0.5...12)) public var timeBudgetHoursPerDay: Double
  @Field("The days with time to study.", .notEmpty) public var availableDays: [Weekday]
  @Field("Other constraints, such as preferred tools.", .each(.maxLength(100)))
  public var constraints: [String] = []

  public init() {}

  /// Creates a profile, or throws all that the backend would refuse in it.
  public init(
    name: String, stage: String, targetRole: String, hoursPerDay: Double, days: [Weekday], constraints: [String] = []
  ) throws {
    try self.init {
      $0.name = name
      $0.stage = stage
      $0.targetRole = targetRole
      $0.timeBudgetHoursPerDay = hoursPerDay
      $0.availableDays = days
      $0.constraints = constraints
    }
    _ = try Profile(checking: encoded(), as: "profile")
  }

  /// The profile as the backend takes it: nothing more, and no empty list of constraints.
  func wire() throws(InterviewPrepError) -> Value {
    var map: ValueMap
    do throws(ValueError) {
      let value = try encoded()
      // It may have been made field by field.
      _ = try Profile(checking: value, as: "profile")
      map = value.map ?? ValueMap()
    } catch {
      throw InterviewPrepError(.invalidInput, "The profile is not one that the backend takes: \(error).")
    }
    var days: [Weekday] = []
    for day in availableDays where !days.contains(day) { days.append(day) }
    map["availableDays"] = .list(days.map { .string($0.rawValue) })
    if constraints.isEmpty { map["constraints"] = nil }
    return .map(map)
  }
}

/// A day of the week as the backend writes it.
public enum Weekday: String, Choice {
  case mon = "Mon"
  case tue = "Tue"
  case wed = "Wed"
  case thu = "Thu"
  case fri = "Fri"
  case sat = "Sat"
  case sun = "Sun"

  /// The full name of the day, for canned answers.
  var fullName: String {
    switch self {
    case .mon: "Monday"
    case .tue: "Tuesday"
    case .wed: "Wednesday"
    case .thu: "Thursday"
    case .fri: "Friday"
    case .sat: "Saturday"
    case .sun: "Sunday"
    }
  }

  /// The day with a short or full name; nil if no day has it.
  init?(named name: String) {
    guard let day = Weekday.allCases.first(where: { name == $0.rawValue || name == $0.fullName }) else { return nil }
    self = day
  }
}
