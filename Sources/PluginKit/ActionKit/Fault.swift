/// An error or a warning about a given value, with its place in the text that it was read from.
///
/// The kit checks values and doesn't have their texts; the reader of the text makes a `Diagnostic` of a fault.
public struct Fault: Hashable, Sendable {
  /// The severity.
  public var severity: Diagnostic.Severity
  /// The problem and its remedy: no full stop, lowercase.
  public var message: String
  /// The beginning of the value or key at fault.
  public var place: Place
  /// Replacements for the text at the place.
  package var suggestions: [Suggestion] = []

  /// Creates a fault.
  public init(_ message: String, at place: Place = .none, severity: Diagnostic.Severity = .error) {
    self.severity = severity
    self.message = message
    self.place = place
  }

  package init(_ text: MessageText, at place: Place, severity: Diagnostic.Severity = .error) {
    self.init(text.text, at: place, severity: severity)
    suggestions = text.suggestions
  }

  /// The fault as a diagnostic of its text; `range` returns the bytes of the key or value that begins at a place.
  public func diagnostic(in source: Source, range: (Place) -> Range<Int>? = { _ in nil }) -> Diagnostic {
    let location = place.offset.map { Diagnostic.Location(source, range(place) ?? $0..<$0) }
    return Diagnostic(MessageText(message, suggestions), at: location, severity: severity)
  }
}

/// All faults of a value.
public struct ValueError: Error, Hashable, Sendable {
  /// The faults, in the order of the text.
  public var list: [Fault]

  /// Creates a collection of faults.
  public init(_ list: [Fault]) { self.list = list }

  /// Creates a collection of one fault.
  public init(_ message: String, at place: Place = .none) { self.init([Fault(message, at: place)]) }
}

extension ValueError: CustomStringConvertible {
  /// The messages, one after another.
  public var description: String { list.map(\.message).joined(separator: "; ") }
}
