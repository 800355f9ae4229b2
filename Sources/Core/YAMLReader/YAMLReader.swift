// How a YAML text becomes a value.
//
// libyaml (0.2.5) splits the text into events; everything that gives them a meaning is here, because libyaml knows
// YAML 1.1 only and checks nothing that needs a tree:
//
// 1. TextCheck looks at the bytes first: UTF-8, control characters, byte order marks, line separators that YAML 1.1
//    takes for line breaks and YAML 1.2 does not. libyaml decodes a text that passes without an error.
// 2. EventStream wraps libyaml and turns its marks, which count code points, into byte offsets.
// 3. TreeBuilder builds the value without recursion and enforces the limits on each event, so that a hostile text
//    is refused before it costs time or memory. libyaml's time grows with the square of the depth, an alias costs
//    nothing here but counts for all that it stands for.
// 4. CoreSchema gives plain scalars their type by YAML 1.2, chapter 10.3.
// 5. SyntaxFault explains libyaml's errors in plain words, and says what to write instead.
//
// Stricter than YAML, because a recipe is read by people: one document, keys that are strings, ints or bools and
// never twice the same, no `<<`, no tags but the core ones, numbers within 64 bits (an int with a sign, a uint without).

package import Basics

/// How much a YAML text may demand.
package struct YAMLLimits: Sendable {
  /// The bytes of the whole text.
  package var bytes: Int
  /// How deeply lists and maps may be nested, aliases followed.
  package var depth: Int
  /// Scalars, keys, lists and maps together, each alias counted as all that it stands for.
  package var nodes: Int
  /// The bytes of one scalar's value.
  package var scalarBytes: Int
  /// Whether the text is a document of other programs, which isn't refused for one detail.
  ///
  /// Only faults of syntax and exceeded limits are errors. All others are warnings, and are read as most readers do: a
  /// number that neither 64 bits nor a double hold is the nearest double, a doubled key has its last value, `<<`
  /// merges, tags other than the core ones are ignored, and a byte that isn't text or half a surrogate pair becomes
  /// U+FFFD.
  package var isOfOthers: Bool

  /// Creates limits.
  package init(bytes: Int, depth: Int, nodes: Int, scalarBytes: Int, isOfOthers: Bool = false) {
    self.bytes = bytes
    self.depth = depth
    self.nodes = nodes
    self.scalarBytes = scalarBytes
    self.isOfOthers = isOfOthers
  }

  /// The limits for a recipe or a configuration.
  package static let recipe = YAMLLimits(bytes: 1 << 20, depth: 64, nodes: 100_000, scalarBytes: 256 << 10)
}

/// Reads YAML texts.
package enum YAMLReader {
  /// Reads one document, or throws every fault that was found, warnings included, in the order of the text.
  package static func read(_ source: Source, limits: YAMLLimits = .recipe) throws(Diagnostics) -> YAMLDocument {
    guard source.bytes.count <= limits.bytes else {
      let fault = "the file is \(source.bytes.count) bytes long, more than \(limits.bytes); split it"
      throw Diagnostics([Diagnostic(fault, at: Diagnostic.Location(source, at: 0))])
    }
    let check = TextCheck(source)
    guard check.errors.isEmpty else {
      guard limits.isOfOthers, let mended = TextCheck.mended(source) else { throw Diagnostics(check.errors) }
      let document = try read(mended, limits: limits)
      let warnings = check.errors.map { fault in
        var fault = fault
        fault.severity = .warning
        return fault
      }
      return YAMLDocument(
        source: mended, root: document.root, diagnostics: warnings + document.diagnostics, ranges: document.ranges)
    }

    var builder = TreeBuilder(source, limits: limits)
    let escapes = SurrogateEscapes(source.bytes, replacesHalves: limits.isOfOthers)
    (escapes?.bytes ?? source.bytes).withUnsafeBufferPointer { bytes in
      var events = EventStream(bytes, from: check.start, isASCII: check.isASCII, escapes: escapes)
      builder.read(&events)
    }
    let diagnostics = Diagnostics(check.warnings + builder.diagnostics).sorted()
    guard let root = builder.root, !diagnostics.hasErrors else { throw diagnostics }
    return YAMLDocument(source: source, root: root, diagnostics: diagnostics.list, ranges: builder.ranges)
  }
}
