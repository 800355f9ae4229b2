import ActionKit

/// The program, study year and group of a timetable.
public struct TimetableSelection: Hashable, Sendable {
  /// The academic year, `2025-2026`.
  public var academicYear: String
  /// The program's id in the catalog; case matters.
  public var programId: String
  /// The study year, 1 for the first.
  public var year: Int
  /// The group.
  public var group: Int

  /// Creates a selection.
  public init(academicYear: String, programId: String, year: Int, group: Int) {
    self.academicYear = academicYear
    self.programId = programId
    self.year = year
    self.group = group
  }

  /// The fault of the selection as a sentence, or nil; checked before a request is sent.
  var fault: String? {
    guard TextPattern.academicYear.matches(academicYear) else {
      return "'\(academicYear)' isn't an academic year; write it like 2025-2026."
    }
    // It becomes one segment of a path, which must not lead elsewhere.
    guard !programId.isEmpty, programId != ".", programId != "..",
      programId.unicodeScalars.allSatisfy({
        !"/\\?#".unicodeScalars.contains($0) && $0.properties.generalCategory != .control
      })
    else { return "'\(programId)' isn't the id of a program; take one from the catalog." }
    guard year >= 1 else { return "\(year) isn't a study year; the first is 1." }
    guard group >= 1 else { return "\(group) isn't a group; take one from the catalog." }
    return nil
  }

  /// The path of its file below the base address.
  var path: String { "/\(academicYear)/\(programId.percentEncoded)/y\(year)/g\(group).json" }

  /// The selection as a title for people.
  public var title: String { "\(academicYear) \(programId) year \(year) group \(group)" }

  /// Whether a timetable says that it is this selection's.
  func isEchoed(by timetable: GroupTimetable) -> Bool {
    timetable.academicYear.hasSameScalars(as: academicYear) && timetable.programId.hasSameScalars(as: programId)
      && timetable.year == year && timetable.group == group
  }
}

extension Catalog {
  /// Returns a sentence for each part of a selection that the catalog lacks, with the nearest one that it has; empty if
  /// it has all.
  ///
  /// A selection without faults may still have no timetable: groups are listed for all academic years together.
  public func faults(in selection: TimetableSelection) -> [String] {
    var faults: [String] = []
    if !academicYears.contains(where: { $0.hasSameScalars(as: selection.academicYear) }) {
      faults.append(
        "There is no academic year '\(selection.academicYear)'; there \(listed(academicYears)).")
    }
    guard let program = programs.first(where: { $0.id.hasSameScalars(as: selection.programId) }) else {
      let near = selection.programId.nearest(among: programs.map(\.id))
      let hint = near.map { "did you mean '\($0)'?" } ?? "there \(listed(programs.map(\.id)))."
      return faults + ["There is no program '\(selection.programId)'; \(hint)"]
    }
    guard let year = program.years.first(where: { $0.year == selection.year }) else {
      return faults + [
        "Program '\(program.id)' has no study year \(selection.year); there \(listed(program.years.map { "\($0.year)" }))."
      ]
    }
    if !year.groups.contains(selection.group) {
      faults.append(
        "Year \(year.year) of program '\(program.id)' has no group \(selection.group); there "
          + "\(listed(year.groups.map { "\($0)" })).")
    }
    return faults
  }

  private func listed(_ names: [String]) -> String {
    switch names.count {
    case 0: "is none"
    case 1: "is \(names[0])"
    default: "are \(names.joined(separator: ", "))"
    }
  }
}
