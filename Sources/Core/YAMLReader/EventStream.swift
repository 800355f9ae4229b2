import Basics
import CLibYAML

/// The next event that libyaml found.
///
/// Texts are valid until the next event is asked for; offsets are bytes of the source.
enum Event {
  case documentStart(at: Int)
  case documentEnd
  case scalar(ScalarEvent)
  case listStart(ContainerEvent)
  case mapStart(ContainerEvent)
  /// The end of the innermost list or map, and the offset behind it, which means nothing for one in block style.
  case end(at: Int)
  case alias(String, Range<Int>)
  case streamEnd
}

/// The anchor and the tag before a node.
struct NodeProperties {
  var anchor: String?
  var tag: String?
  /// Where the first of them begins.
  var start: Int
}

/// A scalar.
struct ScalarEvent {
  var text: UnsafeBufferPointer<UInt8>
  var style: YAMLScalar.Style
  /// Nil for most scalars.
  var properties: NodeProperties?
  var range: Range<Int>
}

/// The beginning of a list or map.
struct ContainerEvent {
  var properties: NodeProperties?
  /// The offset of the bracket, or of the first item's dash or first key.
  var start: Int
  /// Whether it is written in brackets or braces.
  var isFlow: Bool
}

/// Where and why libyaml gave up.
struct ScannerError: Error {
  /// libyaml's words.
  var problem: String
  /// The parser's task at that moment, in libyaml's words; may be empty.
  var context: String
  var offset: Int
  /// Where what it was doing began.
  var contextOffset: Int
  /// Whether brackets or braces were open.
  var isInFlow = false
}

/// libyaml's parser over a text.
///
/// The text is borrowed, not copied: the stream must end before the buffer does.
struct EventStream: ~Copyable {
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let event: UnsafeMutablePointer<yaml_event_t>
  private let isReady: Bool
  private let isEmpty: Bool
  private let bytes: UnsafeBufferPointer<UInt8>
  private var marks: MarkCursor
  private let escapes: SurrogateEscapes?
  /// The text of the last scalar, if it isn't as libyaml made it.
  private var restored: UnsafeMutableBufferPointer<UInt8>?

  /// A stream over the text after an offset, the end of a byte order mark.
  ///
  /// - Parameter escapes: The changes made to the text, if there are any.
  init(
    _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, isASCII: Bool, escapes: SurrogateEscapes? = nil
  ) {
    self.bytes = bytes
    self.escapes = escapes
    marks = MarkCursor(bytes, from: start, isASCII: isASCII)
    parser = .allocate(capacity: 1)
    parser.initialize(to: yaml_parser_t())
    event = .allocate(capacity: 1)
    event.initialize(to: yaml_event_t())
    isReady = yaml_parser_initialize(parser) != 0
    let text = UnsafeBufferPointer(rebasing: bytes[start...])
    isEmpty = text.isEmpty
    if isReady, !isEmpty {
      yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
      yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }
  }

  deinit {
    yaml_event_delete(event)
    yaml_parser_delete(parser)
    event.deallocate()
    parser.deallocate()
    restored?.deallocate()
  }

  /// The next event.
  ///
  /// After the end of the stream, or after an error, none may be asked for.
  mutating func next() throws(ScannerError) -> Event {
    // libyaml takes no text that has no address.
    if isEmpty { return .streamEnd }
    while true {
      yaml_event_delete(event)
      guard isReady, yaml_parser_parse(parser, event) != 0 else { throw failure() }
      let start = marks.offset(of: event.pointee.start_mark)
      switch event.pointee.type {
      case YAML_SCALAR_EVENT:
        return .scalar(try scalar(from: start))
      case YAML_MAPPING_START_EVENT:
        let map = event.pointee.data.mapping_start
        let isFlow = map.style == YAML_FLOW_MAPPING_STYLE
        return .mapStart(container(from: start, anchor: map.anchor, tag: map.tag, isFlow: isFlow))
      case YAML_SEQUENCE_START_EVENT:
        let list = event.pointee.data.sequence_start
        let isFlow = list.style == YAML_FLOW_SEQUENCE_STYLE
        return .listStart(container(from: start, anchor: list.anchor, tag: list.tag, isFlow: isFlow))
      case YAML_MAPPING_END_EVENT, YAML_SEQUENCE_END_EVENT:
        return .end(at: marks.offset(of: event.pointee.end_mark))
      case YAML_ALIAS_EVENT:
        let name = string(event.pointee.data.alias.anchor) ?? ""
        return .alias(name, range(from: start))
      case YAML_DOCUMENT_START_EVENT:
        return .documentStart(at: start)
      case YAML_DOCUMENT_END_EVENT:
        return .documentEnd
      case YAML_STREAM_END_EVENT, YAML_NO_EVENT:
        return .streamEnd
      default:
        continue
      }
    }
  }

  private mutating func scalar(from start: Int) throws(ScannerError) -> ScalarEvent {
    let scalar = event.pointee.data.scalar
    let style: YAMLScalar.Style =
      switch scalar.style {
      case YAML_SINGLE_QUOTED_SCALAR_STYLE: .singleQuoted
      case YAML_DOUBLE_QUOTED_SCALAR_STYLE: .doubleQuoted
      case YAML_LITERAL_SCALAR_STYLE: .literal
      case YAML_FOLDED_SCALAR_STYLE: .folded
      default: .plain
      }
    var range = range(from: start)
    let properties = properties(anchor: scalar.anchor, tag: scalar.tag, from: start)
    if let properties { range = min(skip(properties), range.upperBound)..<range.upperBound }
    var text = UnsafeBufferPointer(start: UnsafePointer(scalar.value), count: scalar.length)
    if let whole = try escapes?.restored(text, at: range, of: bytes) {
      restored?.deallocate()
      let kept = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: whole.count)
      _ = kept.initialize(from: whole)
      restored = kept
      text = UnsafeBufferPointer(kept)
    }
    return ScalarEvent(text: text, style: style, properties: properties, range: range)
  }

  private func container(
    from start: Int, anchor: UnsafeMutablePointer<UInt8>?, tag: UnsafeMutablePointer<UInt8>?, isFlow: Bool
  ) -> ContainerEvent {
    let properties = properties(anchor: anchor, tag: tag, from: start)
    let contentStart = if let properties { skip(properties) } else { start }
    return ContainerEvent(properties: properties, start: contentStart, isFlow: isFlow)
  }

  private func properties(
    anchor: UnsafeMutablePointer<UInt8>?, tag: UnsafeMutablePointer<UInt8>?, from start: Int
  ) -> NodeProperties? {
    if anchor == nil, tag == nil { return nil }
    return NodeProperties(anchor: string(anchor), tag: string(tag), start: start)
  }

  /// The offset after an anchor and a tag, and after the blanks, line breaks and comments that follow each.
  private func skip(_ properties: NodeProperties) -> Int {
    var offset = properties.start
    for _ in 0..<(properties.anchor == nil ? 0 : 1) + (properties.tag == nil ? 0 : 1) {
      if let anchor = properties.anchor, offset < bytes.count, bytes[offset] == ASCII.ampersand {
        // A colon ends an anchor, without a blank.
        offset = min(offset + 1 + anchor.utf8.count, bytes.count)
      } else {
        while offset < bytes.count, !isBlankOrBreak(bytes[offset]) { offset += 1 }
      }
      while offset < bytes.count, isBlankOrBreak(bytes[offset]) || bytes[offset] == ASCII.hash {
        if bytes[offset] == ASCII.hash {
          while offset < bytes.count, !isBreak(bytes[offset]) { offset += 1 }
        } else {
          offset += 1
        }
      }
    }
    return offset
  }

  private mutating func range(from start: Int) -> Range<Int> {
    start..<max(start, marks.offset(of: event.pointee.end_mark))
  }

  private func string(_ text: UnsafeMutablePointer<UInt8>?) -> String? {
    text.map { String(cString: UnsafePointer($0)) }
  }

  private mutating func failure() -> ScannerError {
    let state = parser.pointee
    guard isReady, state.error != YAML_MEMORY_ERROR, let problem = state.problem else {
      return ScannerError(problem: "out of memory", context: "", offset: 0, contextOffset: 0)
    }
    let offset = marks.offset(of: state.problem_mark)
    return ScannerError(
      problem: String(cString: problem), context: state.context.map { String(cString: $0) } ?? "", offset: offset,
      contextOffset: state.context == nil ? offset : marks.offset(of: state.context_mark),
      isInFlow: state.flow_level > 0)
  }
}

/// Turns libyaml's marks, which count code points, into byte offsets.
///
/// Marks rarely go back, and then by little, so walking from the last one costs one pass over the text in all.
private struct MarkCursor {
  private let bytes: UnsafeBufferPointer<UInt8>
  private let start: Int
  private let isASCII: Bool
  private var index = 0
  private var offset: Int

  init(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, isASCII: Bool) {
    self.bytes = bytes
    self.start = start
    self.isASCII = isASCII
    offset = start
  }

  mutating func offset(of mark: yaml_mark_t) -> Int {
    if isASCII { return min(start + mark.index, bytes.count) }
    while index < mark.index, offset < bytes.count {
      offset += 1
      while offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
      index += 1
    }
    while index > mark.index, offset > start {
      offset -= 1
      while offset > start, bytes[offset] & 0xC0 == 0x80 { offset -= 1 }
      index -= 1
    }
    return offset
  }
}

/// Whether a byte is a space or a tab.
func isBlank(_ byte: UInt8) -> Bool { byte == ASCII.space || byte == ASCII.tab }

/// Whether a byte ends a line.
func isBreak(_ byte: UInt8) -> Bool { byte == ASCII.newline || byte == ASCII.carriageReturn }

/// Whether a byte is a space, a tab, or ends a line.
func isBlankOrBreak(_ byte: UInt8) -> Bool { isBlank(byte) || isBreak(byte) }
