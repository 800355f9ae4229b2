/// Something wrong in a value that was given, with its place in the text it was read from.
///
/// The kit checks values and knows no texts; who read the text makes a `Diagnostic` of it.
public struct Fault: Hashable, Sendable {
  /// How bad it is.
  public var severity: Diagnostic.Severity
  /// What is wrong and how to mend it: no full stop, lower case.
  public var message: String
  /// Where the value or key at fault begins.
  public var place: Place
  /// What to write at the place instead.
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

  /// The fault in its text; `range` tells the bytes of the key or value that begins at a place.
  public func diagnostic(in source: Source, range: (Place) -> Range<Int>? = { _ in nil }) -> Diagnostic {
    let location = place.offset.map { Diagnostic.Location(source, range(place) ?? $0..<$0) }
    return Diagnostic(MessageText(message, suggestions), at: location, severity: severity)
  }
}

/// All that is wrong in a value.
public struct ValueError: Error, Hashable, Sendable {
  /// The faults, in the order of the text.
  public var list: [Fault]

  /// Creates a collection of faults.
  public init(_ list: [Fault]) { self.list = list }

  /// Creates a collection of one.
  public init(_ message: String, at place: Place = .none) { self.init([Fault(message, at: place)]) }
}

extension ValueError: CustomStringConvertible {
  /// The messages, one after another.
  public var description: String { list.map(\.message).joined(separator: "; ") }
}
