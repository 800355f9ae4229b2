package import Basics

/// A YAML text that has been read: its value, and the ranges of all values and keys.
package struct YAMLDocument: Sendable {
  /// The text.
  package let source: Source
  /// The document's value; every value and key in it has its place.
  ///
  /// A value from an alias has the place of the anchored node.
  package let root: Value
  /// Warnings about readable parts that are probably not meant.
  package let diagnostics: [Diagnostic]

  let ranges: NodeRanges

  init(source: Source, root: Value, diagnostics: [Diagnostic], ranges: NodeRanges) {
    self.source = source
    self.root = root
    self.diagnostics = diagnostics
    self.ranges = ranges
  }

  /// The scalar at a place as it is written in the text, or nil if no scalar begins there.
  package func scalar(at place: Place) -> YAMLScalar? {
    place.offset.flatMap { ranges.scalar(at: $0) }.map { YAMLScalar(source: source, entry: $0) }
  }

  /// The bytes of a value: of a scalar with its quotes, of a list or map to its bracket or the end of its last item.
  ///
  /// Empty at 0 for a value that is not from this text.
  package func range(of value: Value) -> Range<Int> {
    guard let start = value.place.offset else { return 0..<0 }
    switch value.content {
    case .list, .map: return start..<(ranges.containerEnd(at: start) ?? start)
    default: return ranges.scalar(at: start)?.trimmed(in: source) ?? start..<start
    }
  }

  /// Whether an offset is inside brackets or braces.
  func isInFlow(_ offset: Int) -> Bool { ranges.isInFlow(offset, in: source) }

  /// The location of a value, for a diagnostic.
  package func location(of value: Value) -> Diagnostic.Location { Diagnostic.Location(source, range(of: value)) }
}

/// The ranges of a text's nodes, in the order of their beginnings.
///
/// A block map begins where its first key does, so scalars and containers are kept apart.
struct NodeRanges: Sendable {
  struct Scalar {
    var start: UInt32
    var end: UInt32
    /// The column of the innermost list or map around a block scalar, where its indentation begins; -1 outside of any.
    var parentIndentation: Int32
    var style: YAMLScalar.Style

    var range: Range<Int> { Int(start)..<Int(end) }

    /// The range without the line breaks that end a block scalar.
    func trimmed(in source: Source) -> Range<Int> {
      guard style == .literal || style == .folded else { return range }
      var end = range.upperBound
      while end > range.lowerBound, isBlankOrBreak(source.bytes[end - 1]) { end -= 1 }
      return range.lowerBound..<min(source.lineEnd(after: end), range.upperBound)
    }
  }

  struct Container {
    var start: UInt32
    var end: UInt32
  }

  private(set) var scalars: [Scalar] = []
  private var containers: [Container] = []

  mutating func add(_ range: Range<Int>, style: YAMLScalar.Style, parentIndentation: Int) {
    scalars.append(
      Scalar(
        start: UInt32(clamping: range.lowerBound), end: UInt32(clamping: range.upperBound),
        parentIndentation: Int32(clamping: parentIndentation), style: style))
  }

  /// Records where a list or map begins, and returns the number that is needed to set its end.
  mutating func open(at start: Int) -> Int {
    let start = UInt32(clamping: start)
    containers.append(Container(start: start, end: start))
    return containers.count - 1
  }

  mutating func close(_ number: Int, at end: Int) { containers[number].end = UInt32(clamping: end) }

  func scalar(at offset: Int) -> Scalar? {
    NodeRanges.find(offset, in: scalars, by: \.start)
  }

  func containerEnd(at offset: Int) -> Int? {
    NodeRanges.find(offset, in: containers, by: \.start).map { Int($0.end) }
  }

  func isInFlow(_ offset: Int, in source: Source) -> Bool {
    containers.contains {
      $0.start < offset && offset < $0.end && "[{".utf8.contains(source.bytes[Int($0.start)])
    }
  }

  private static func find<Node>(_ offset: Int, in nodes: [Node], by start: (Node) -> UInt32) -> Node? {
    var low = 0
    var high = nodes.count
    while low < high {
      let middle = low + (high - low) / 2
      if Int(start(nodes[middle])) < offset { low = middle + 1 } else { high = middle }
    }
    return low < nodes.count && Int(start(nodes[low])) == offset ? nodes[low] : nil
  }
}
