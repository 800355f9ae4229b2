/// A fault in something that a person wrote (recipe, configuration, input, expression), with its place and its fix.
///
/// Diagnostics are collected, never thrown one by one, so that the first fault does not hide the second.
public struct Diagnostic: Error, Sendable {
  /// How bad it is.
  public enum Severity: String, Sendable {
    /// The recipe cannot run.
    case error
    /// The recipe can run and probably does something else than meant.
    case warning
    /// The recipe runs as it is meant to, and could be simpler or safer.
    case hint
  }

  /// A part of a source, in bytes.
  public struct Location: Sendable {
    /// The text that holds it.
    public var source: Source
    /// The bytes that the caret and its tail mark; empty marks a point.
    public var range: Range<Int>

    /// Creates a location.
    public init(_ source: Source, _ range: Range<Int>) {
      self.source = source
      self.range = range
    }

    /// The location of one point.
    public init(_ source: Source, at offset: Int) {
      self.init(source, offset..<offset)
    }
  }

  /// A second place that belongs to the fault, such as the first of two equal keys.
  public struct Note: Sendable {
    /// The fact that the note points out there.
    public var message: String
    /// Where.
    public var location: Location?

    /// Creates a note.
    public init(_ message: String, at location: Location? = nil) {
      self.message = URLPasswords.masked(message)
      self.location = location
    }
  }

  /// A way to mend the fault by changing the text that has it, which a tool can apply.
  ///
  /// With its edits made, the fault is gone and no other has come.
  public struct Fix: Hashable, Sendable {
    /// The change as an order: `write 'to'`.
    public var title: String
    /// The changes to the source of the fault's location; no two of them overlap.
    public var edits: [Edit]
    /// Whether it puts in a value that only the author can choose, such as what stands for a missing one.
    public var isTentative: Bool

    /// Creates a fix.
    public init(_ title: String, _ edits: [Edit], isTentative: Bool = false) {
      self.title = URLPasswords.masked(title)
      self.edits = edits
      self.isTentative = isTentative
    }
  }

  /// A replacement of bytes of a text.
  public struct Edit: Hashable, Sendable {
    /// The bytes that are replaced; empty where something is put in.
    public var range: Range<Int>
    /// The replacement text.
    public var text: String

    /// Creates an edit.
    public init(_ range: Range<Int>, _ text: String) {
      self.range = range
      self.text = text
    }
  }

  /// How bad it is.
  public var severity: Severity
  /// The fault and, if a clause is enough to say it, how to fix it: no full stop, lower case.
  ///
  /// Passwords in URLs are masked.
  public var message: String
  /// Where it is.
  public var location: Location?
  /// Other places that belong to it.
  public var notes: [Note]
  /// How it can be mended, the likeliest way first; empty where only a person can tell.
  public var fixes: [Fix]

  /// The texts that the message suggests for its location; each becomes a fix once the text there is known.
  package var suggestions: [Suggestion] = []

  /// The fix that a tool may apply unasked: there is no other, and it chooses nothing for the author.
  public var certainFix: Fix? { fixes.count == 1 && !fixes[0].isTentative ? fixes[0] : nil }

  /// Creates a diagnostic.
  public init(
    _ message: String, at location: Location? = nil, severity: Severity = .error, notes: [Note] = [],
    fixes: [Fix] = []
  ) {
    self.severity = severity
    self.message = URLPasswords.masked(message)
    self.location = location
    self.notes = notes
    self.fixes = fixes
  }
}

extension [Diagnostic.Edit] {
  /// The text with the edits made; an edit that overlaps an earlier one is left out.
  public func applied(to bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var copied = 0
    for edit in sorted(by: { $0.range.lowerBound < $1.range.lowerBound })
    where edit.range.lowerBound >= copied && edit.range.upperBound <= bytes.count {
      result += bytes[copied..<edit.range.lowerBound]
      result += edit.text.utf8
      copied = edit.range.upperBound
    }
    return result + bytes[copied...]
  }
}

/// Faults that stop what was asked for, all of them.
public struct Diagnostics: Error, Sendable {
  /// The faults, in the order of the text.
  public var list: [Diagnostic]

  /// Creates a set of faults.
  public init(_ list: [Diagnostic]) { self.list = list }

  /// Whether any of them is an error.
  public var hasErrors: Bool { list.contains { $0.severity == .error } }
}
