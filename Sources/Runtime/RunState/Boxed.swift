/// A value that most records lack, kept outside of the record, so that records without it are small: a run may have
/// thousands.
@propertyWrapper
package struct Boxed<Wrapped: Sendable & Equatable>: Sendable, Equatable {
  private indirect enum Box: Sendable, Equatable {
    case none
    case some(Wrapped)
  }

  private var box = Box.none

  package init(wrappedValue: Wrapped?) { self.wrappedValue = wrappedValue }

  package var wrappedValue: Wrapped? {
    get { if case .some(let value) = box { value } else { nil } }
    set { box = newValue.map { .some($0) } ?? .none }
  }
}
