package import Basics

/// The steps of one run, by path and in the order in which they began.
///
/// The records are in one array in that order, because a run may have thousands, which are added one by one and changed
/// in place; a dictionary maps the paths to their places.
package struct StepRecords: Sendable, Equatable {
  /// The records in the order in which the steps began.
  package private(set) var inOrder: [StepRecord] = []
  private var places: [StepPath: Int] = [:]

  package init() {}

  private init(_ records: [StepPath: StepRecord]) {
    inOrder.reserveCapacity(records.count)
    places.reserveCapacity(records.count)
    for (path, record) in records.sorted(by: { $0.value.ordinal < $1.value.ordinal }) {
      places[path] = inOrder.count
      inOrder.append(record)
    }
  }

  package var count: Int { inOrder.count }
  package var isEmpty: Bool { inOrder.isEmpty }
  package subscript(path: StepPath) -> StepRecord? { places[path].map { inOrder[$0] } }

  /// The status of the step at a path, without a copy of its record.
  package func status(of path: StepPath) -> StepStatus? { places[path].map { inOrder[$0].status } }

  /// Changes the record of a path in place; nil if there is none.
  mutating func change<Outcome>(_ path: StepPath, _ body: (inout StepRecord) -> Outcome) -> Outcome? {
    places[path].map { body(&inOrder[$0]) }
  }

  /// Adds a step that begins, or replaces the record of one that starts again.
  package mutating func put(_ record: StepRecord) {
    if let place = places[record.path] {
      inOrder[place] = record
    } else {
      places[record.path] = inOrder.count
      inOrder.append(record)
    }
  }
}

/// An object with the records by their paths.
extension StepRecords: Recordable {
  package func encoded() -> Value { places.mapValues { inOrder[$0] }.encoded() }
  package func write(to text: inout RecordText) { text.writeObject(inOrder.map(\.path)) { self[$0] } }
  package init(reading value: Value) throws(RecordError) { self.init(try [StepPath: StepRecord](reading: value)) }
}
