import Basics

/// Builds the value from the events, with an explicit stack, and keeps to the limits while it does.
struct TreeBuilder {
  /// The document's value, once it is complete.
  private(set) var root: Value?
  /// Faults and warnings, in the order they were found.
  private(set) var diagnostics: [Diagnostic] = []
  /// The ranges of the nodes.
  private(set) var ranges = NodeRanges()

  /// More are not read, and a hostile text could make as many as it has bytes.
  private static let mostDiagnostics = 100

  private let source: Source
  private let limits: YAMLLimits
  private let quoting: QuoteAdvice
  private let cuts: CutScalars
  private var stack: [OpenNode] = []
  private var anchors: [String: Anchor] = [:]
  private var nodes = 0
  private var hasDocument = false
  private var isFinished = false
  /// Whether there were too many faults to continue.
  private var isFull = false
  /// Where an expression ends that YAML has cut, so that what it makes of the rest means nothing.
  private var tornUntil = 0

  /// A list or map that is still open.
  private struct OpenNode {
    enum Key {
      case awaited
      case read(Value)
      /// The key was refused, so its value is read and dropped.
      case refused
      /// `<<` in a text of others, whose value's members belong to the map.
      case merge
    }

    let isMap: Bool
    let isFlow: Bool
    let start: Int
    /// The number of its range.
    let number: Int
    let anchor: String?
    let nodesBefore: Int
    var items: [Value] = []
    var map = ValueMap()
    /// Maps whose members count where the map has none of their names.
    var merged: [ValueMap] = []
    var key = Key.awaited
    /// The levels below it.
    var height = 0
    /// Where its last item ends.
    var end: Int
    /// Whether a comma has torn apart what was one value, so that what follows means nothing.
    var isTorn = false
  }

  private struct Anchor {
    enum State {
      /// The node at that level of the stack is still open.
      case open(level: Int)
      case complete(Value, nodes: Int, height: Int)
    }

    let range: Range<Int>
    var state: State
    var isUsed = false
  }

  init(_ source: Source, limits: YAMLLimits) {
    self.source = source
    self.limits = limits
    quoting = QuoteAdvice(source)
    cuts = CutScalars(source, quoting)
  }

  mutating func read(_ events: inout EventStream) {
    while !isFinished {
      do throws(ScannerError) {
        handle(try events.next())
      } catch {
        addSyntaxFault(error)
        return
      }
    }
  }

  /// Adds what libyaml stumbled over, unless it is the consequence of a fault that is known already.
  private mutating func addSyntaxFault(_ error: ScannerError) {
    if error.offset < tornUntil { return }
    let fault = SyntaxFault(error, source, quoting).diagnostic
    let start = fault.location?.range.lowerBound
    if diagnostics.contains(where: { $0.severity == .error && $0.location?.range.lowerBound == start }) { return }
    add(fault)
  }

  private mutating func handle(_ event: Event) {
    switch event {
    case .documentStart(let offset):
      if hasDocument {
        let marker = source.bytes[offset...].starts(with: "---".utf8) ? 3 : 0
        fail(
          "a second document begins here, and a file holds one; move it into a file of its own",
          offset..<offset + marker)
        isFinished = true
      }
      hasDocument = true
    case .documentEnd:
      break
    case .scalar(let event):
      scalar(event)
    case .alias(let name, let range):
      alias(name, range)
    case .listStart(let event):
      open(event, isMap: false)
    case .mapStart(let event):
      open(event, isMap: true)
    case .end(let offset):
      close(at: offset)
    case .streamEnd:
      if !hasDocument { fail("the file is empty, or holds nothing but comments", 0..<0) }
      for anchor in anchors.values.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) { warnIfUnused(anchor) }
      isFinished = true
    }
  }
}

// MARK: Scalars

extension TreeBuilder {
  private mutating func scalar(_ event: ScalarEvent) {
    var event = event
    let isOmitted = event.style == .plain && event.range.isEmpty && event.properties == nil
    if isOmitted {
      if !isAwaitingKey { warnIfNoColon(before: event.range.lowerBound) }
      event.range = rangeOfOmitted(event.range)
    }
    guard event.text.count <= limits.scalarBytes else {
      let size = "\(event.text.count) bytes long, more than \(limits.scalarBytes)"
      return stop("this text is \(size); keep it in a file of its own", event.range.lowerBound..<event.range.lowerBound)
    }
    guard count(1, at: event.range.lowerBound) else { return }
    let isBlock = event.style == .literal || event.style == .folded
    ranges.add(event.range, style: event.style, parentIndentation: isBlock ? parentIndentation : -1)

    let value = Value(content(of: event), at: Place(offset: event.range.lowerBound))
    if let anchor = event.properties?.anchor {
      define(anchor, at: event.properties, .complete(value, nodes: 1, height: 0))
    }
    if isOmitted, stack.isEmpty { return fail("the document is empty", event.range) }
    if event.style == .plain, !isOmitted {
      checkPlain(event)
      if isAwaitingKey, event.text.count == 2, event.text.elementsEqual("<<".utf8) {
        if limits.isOfOthers {
          stack[stack.count - 1].key = .merge
          return
        }
        let message: MessageText =
          "`<<` merges nothing: YAML 1.2 has no merge keys; write the keys out, or quote it: `\"<<\"`"
        fail(message, event.range)
        stack[stack.count - 1].key = .refused
        return
      }
    }
    attach(value, isBlock ? ranges.scalars.last?.trimmed(in: source) ?? event.range : event.range, height: 0)
  }

  /// The place of a value that is left out: after its colon or dash, or else after its key.
  ///
  /// Without a colon, libyaml gives the place of the next event, and that belongs to another value.
  private func rangeOfOmitted(_ range: Range<Int>) -> Range<Int> {
    let start = range.lowerBound
    guard let node = stack.last, start > 0, !":-?".utf8.contains(source.bytes[start - 1]) else { return range }
    return node.end..<node.end
  }

  private mutating func content(of event: ScalarEvent) -> Value.Content {
    var isText = event.style != .plain
    let coreTag = "tag:yaml.org,2002:"
    guard let properties = event.properties, let tag = properties.tag else {
      return isText ? string(event) : resolved(event)
    }
    // It isn't known how such a tag changes its value, so the value is read without it.
    if limits.isOfOthers, !tag.hasPrefix(coreTag) { return isText ? string(event) : resolved(event) }
    guard tag.hasPrefix(coreTag) else { return refuse(properties) }
    let kind = tag.dropFirst(coreTag.count)
    isText = kind == "str"
    if isText { return string(event) }
    guard ["null", "bool", "int", "float"].contains(kind) else {
      return limits.isOfOthers ? string(event) : refuse(properties)
    }
    let content = resolved(event)
    switch (kind, content) {
    case ("null", .null), ("bool", .bool), ("int", .int), ("float", .double): return content
    case ("float", .int(let number)): return .double(Double(number))
    default:
      fail("this is not what `!!\(kind)` before it says", event.range)
      return limits.isOfOthers ? string(event) : .null
    }
  }

  private func string(_ event: ScalarEvent) -> Value.Content {
    .string(String(decoding: event.text, as: UTF8.self))
  }

  private mutating func resolved(_ event: ScalarEvent) -> Value.Content {
    switch CoreSchema.resolve(event.text) {
    case .content(let content): return content
    case .overflow(let nearest, _) where limits.isOfOthers: return .double(nearest)
    case .overflow(_, isInteger: true):
      fail(quotable("this int does not fit into 64 bits; quote it if it is a text", event.range), event.range)
    case .overflow(_, isInteger: false):
      fail(quotable("this number is too large for a double; quote it if it is a text", event.range), event.range)
    }
    return .null
  }

  /// A message that advises to quote what is at a place.
  private func quotable(_ message: String, _ range: Range<Int>) -> MessageText {
    MessageText(message, quoting.advice(for: range).suggestions)
  }

  private mutating func refuse(_ properties: NodeProperties) -> Value.Content {
    let bytes = source.bytes
    // An anchor may precede the tag.
    let start = bytes[properties.start...].firstIndex(of: UInt8(ascii: "!")) ?? properties.start
    let end = bytes[start...].firstIndex(where: isBlankOrBreak) ?? bytes.count
    fail(
      "`!` begins a tag in YAML, and only core tags such as `!!str` are known; \(advice(at: start).tentative)",
      start..<end)
    return .null
  }

  /// Refuses a plain scalar that YAML has cut where its author meant it to continue.
  private mutating func checkPlain(_ event: ScalarEvent) {
    if limits.isOfOthers { return }
    if let cut = cuts.openExpression(in: event, isKey: isAwaitingKey) {
      add(cut)
      tornUntil = cuts.expressionEnd(after: event.range.upperBound)
    } else if case let top = stack.count - 1, top >= 0, stack[top].isFlow,
      let cut = cuts.openParenthesis(in: event, ofMap: stack[top].isMap)
    {
      add(cut)
      stack[top].isTorn = true
    }
    if let swallowed = cuts.swallowedItem(in: event) { add(swallowed) }
  }
}

// MARK: Lists and maps

extension TreeBuilder {
  private mutating func open(_ event: ContainerEvent, isMap: Bool) {
    let range = event.start..<event.start
    guard stack.count < limits.depth else {
      return stop("lists and maps are nested more than \(limits.depth) levels deep", range)
    }
    guard count(1, at: event.start) else { return }
    if let tag = event.properties?.tag, let properties = event.properties,
      !limits.isOfOthers, !tag.hasSameScalars(as: "tag:yaml.org,2002:\(isMap ? "map" : "seq")")
    {
      _ = refuse(properties)
    }
    if let anchor = event.properties?.anchor {
      define(anchor, at: event.properties, .open(level: stack.count))
    }
    stack.append(
      OpenNode(
        isMap: isMap, isFlow: event.isFlow, start: event.start, number: ranges.open(at: event.start),
        anchor: event.properties?.anchor, nodesBefore: nodes - 1, end: event.start))
  }

  private mutating func close(at offset: Int) {
    guard var node = stack.popLast() else { return }
    for map in node.merged {
      for member in map.members { _ = node.map.insert(member) }
    }
    let end = node.isFlow ? offset : node.end
    ranges.close(node.number, at: end)
    let content: Value.Content = node.isMap ? .map(node.map) : .list(node.items)
    let value = Value(content, at: Place(offset: node.start))
    let height = node.height + 1
    // A node inside may have taken the name over.
    if let name = node.anchor, case .open(stack.count)? = anchors[name]?.state {
      anchors[name]?.state = .complete(value, nodes: nodes - node.nodesBefore, height: height)
    }
    attach(value, node.start..<end, height: height)
  }

  /// Puts a complete node where it belongs.
  private mutating func attach(_ value: Value, _ range: Range<Int>, height: Int) {
    let top = stack.count - 1
    guard top >= 0 else {
      root = value
      return
    }
    stack[top].height = max(stack[top].height, height)
    stack[top].end = max(stack[top].end, range.upperBound)
    guard stack[top].isMap else {
      stack[top].items.append(value)
      return
    }
    switch stack[top].key {
    case .awaited:
      let key = limits.isOfOthers ? written(value, range) : value
      stack[top].key = isKey(key, range) ? .read(key) : .refused
    case .refused:
      stack[top].key = .awaited
    case .merge:
      stack[top].key = .awaited
      let maps = value.list ?? [value]
      stack[top].merged += maps.compactMap(\.map)
      if maps.contains(where: { $0.map == nil }) { fail("`<<` merges maps alone", range) }
    case .read(let key):
      stack[top].key = .awaited
      // Most maps have a few members.
      if stack[top].map.isEmpty { stack[top].map.reserveCapacity(4) }
      if let first = stack[top].map.insert(ValueMap.Member(key: key, value: value)) {
        refuseDuplicate(of: stack[top].map.members[first], ValueMap.Member(key: key, value: value))
        if limits.isOfOthers { stack[top].map[key] = value }
      }
    }
  }

  /// A key that is a number or nothing by its spelling, as the text that it is.
  private func written(_ key: Value, _ range: Range<Int>) -> Value {
    switch key.content {
    case .null where !range.isEmpty, .double, .uint:
      Value(.string(String(decoding: source.bytes[range], as: UTF8.self)), at: key.place)
    default: key
    }
  }

  private mutating func isKey(_ value: Value, _ range: Range<Int>) -> Bool {
    switch value.content {
    case .string, .int, .bool: return true
    case .map, .list:
      let bytes = source.bytes
      if range.lowerBound > 0, bytes[range.lowerBound] == ASCII.openBrace,
        bytes[range.lowerBound - 1] == ASCII.openBrace
      {
        fail(
          MessageText(
            "`{{` begins a map inside a map; write an expression as `\"${{ … }}\"`", asExpression(range)), range)
      } else {
        fail("\(value.kindName) cannot be a key; \(quoting.generalAdvice) if it is a text", range)
      }
    case .null where range.isEmpty:
      fail("a key is missing before this `:`", range)
    default:
      fail(quotable("\(value.kindName) cannot be a key; quote it if it is a text", range), range)
    }
    return false
  }

  /// Replaces `{{ x }}` with the expression that it was meant for; `inner` is the range of the inner braces.
  private func asExpression(_ inner: Range<Int>) -> [Suggestion] {
    let bytes = source.bytes
    guard inner.count > 2, bytes[inner.upperBound...].first == ASCII.closeBrace, !bytes[inner].contains(where: isBreak)
    else { return [] }
    let text = QuoteAdvice.quoted("${\(String(decoding: bytes[inner], as: UTF8.self))}")
    return [
      .edits("write `\(text)`", [Diagnostic.Edit(inner.lowerBound - 1..<inner.upperBound + 1, text)])
    ]
  }

  private mutating func refuseDuplicate(of first: ValueMap.Member, _ second: ValueMap.Member) {
    let name = String(decoding: source.bytes[keyRange(second.key)], as: UTF8.self)
    if limits.isOfOthers {
      return fail("the key `\(name)` is in this map twice, and the last one counts", keyRange(second.key))
    }
    let note = Diagnostic.Note("the first is here", at: Diagnostic.Location(source, keyRange(first.key)))
    // Which of two is meant to stay, only their author knows.
    let isSame = first.value == second.value
    func removal(_ what: String, _ member: ValueMap.Member) -> Suggestion? {
      lines(of: member).map { lines in
        // A comment there is lost, which may be why the line is there.
        let isCommented = source.comment(in: lines) != nil
        return Suggestion(
          "remove \(what)", .edits([Diagnostic.Edit(lines, "")]), isTentative: isCommented || !isSame)
      }
    }
    let others = isSame ? nil : removal("the first one", first)
    let message = MessageText(
      "the key `\(name)` is in this map twice; remove or rename one",
      [removal("this one", second), others].compactMap { $0 })
    add(Diagnostic(message, at: Diagnostic.Location(source, keyRange(second.key)), notes: [note]))
  }

  /// The lines that a key with a scalar takes for itself.
  private func lines(of member: ValueMap.Member) -> Range<Int>? {
    let key = keyRange(member.key)
    guard stack.last?.isFlow == false, let place = member.value.place.offset, let value = ranges.scalar(at: place),
      place >= key.upperBound
    else { return nil }
    let start = source.lineStart(before: key.lowerBound)
    guard source.bytes[start..<key.lowerBound].allSatisfy({ $0 == ASCII.space }) else { return nil }
    let end = source.lineEnd(after: value.trimmed(in: source).upperBound)
    return start..<(source.bytes[end...].firstIndex(of: ASCII.newline).map { $0 + 1 } ?? end)
  }

  private func keyRange(_ key: Value) -> Range<Int> {
    key.place.offset.flatMap { ranges.scalar(at: $0)?.trimmed(in: source) } ?? 0..<0
  }

  private func advice(at offset: Int) -> MessageText {
    stack.last?.isFlow == true ? quoting.advice(inFlowAt: offset) : quoting.advice(at: offset)
  }

  private var isAwaitingKey: Bool {
    if let top = stack.indices.last, stack[top].isMap, case .awaited = stack[top].key { true } else { false }
  }

  /// The column of the innermost list or map; a block scalar counts its indentation from there.
  private var parentIndentation: Int {
    guard let node = stack.last else { return -1 }
    return node.start - source.lineStart(before: node.start)
  }

  /// Warns of `{ a, b }`, which is two keys without values and was often meant as one text.
  private mutating func warnIfNoColon(before offset: Int) {
    guard let node = stack.last, node.isFlow, !node.isTorn, case .read(let key) = node.key else { return }
    // A map that is a key is refused as a whole.
    if let outer = stack.dropLast().last, outer.isMap, case .awaited = outer.key { return }
    let range = keyRange(key)
    guard range.upperBound <= offset, !source.bytes[range.upperBound..<offset].contains(ASCII.colon) else {
      return
    }
    let name = String(decoding: source.bytes[range], as: UTF8.self)
    warn(
      "`\(name)` has no value; write `\(name): null` if none is meant, or, if this is a text, \(quoting.generalAdvice)",
      range)
  }
}

// MARK: Anchors and aliases

extension TreeBuilder {
  private mutating func define(_ name: String, at properties: NodeProperties?, _ state: Anchor.State) {
    guard let start = properties?.start,
      let sign = source.bytes[start...].firstIndex(of: ASCII.ampersand)
    else { return }
    if let earlier = anchors[name] { warnIfUnused(earlier) }
    anchors[name] = Anchor(range: sign..<sign + 1 + name.utf8.count, state: state)
  }

  private mutating func alias(_ name: String, _ range: Range<Int>) {
    guard let anchor = anchors[name] else {
      fail(
        "`*` begins an alias in YAML, but no anchor `&\(name)` comes before it; \(advice(at: range.lowerBound).tentative)",
        range
      )
      return attach(.null, range, height: 0)
    }
    anchors[name]?.isUsed = true
    switch anchor.state {
    case .open:
      let note = Diagnostic.Note("the anchor is here", at: Diagnostic.Location(source, anchor.range))
      let message = "`*\(name)` is inside its own anchor; remove it"
      add(Diagnostic(message, at: Diagnostic.Location(source, range), notes: [note]))
      attach(.null, range, height: 0)
    case .complete(let value, let nodes, let height):
      guard stack.count + height <= limits.depth else {
        return stop("lists and maps are nested more than \(limits.depth) levels deep, aliases followed", range)
      }
      guard count(nodes, at: range.lowerBound) else { return }
      attach(value, range, height: height)
    }
  }

  private mutating func warnIfUnused(_ anchor: Anchor) {
    if anchor.isUsed { return }
    warn(
      "`&` begins an anchor in YAML, and no alias uses this one; remove it, or \(quoting.advice(at: anchor.range.lowerBound).tentative)",
      anchor.range)
  }
}

// MARK: Limits and faults

extension TreeBuilder {
  /// Counts nodes and says whether there is room for them.
  private mutating func count(_ more: Int, at offset: Int) -> Bool {
    let (sum, overflow) = nodes.addingReportingOverflow(more)
    if overflow || sum > limits.nodes {
      stop("this makes more than \(limits.nodes) values, aliases counted as what they refer to", offset..<offset)
      return false
    }
    nodes = sum
    return true
  }

  /// Reports a fault behind which reading on would cost too much or mean nothing.
  private mutating func stop(_ message: MessageText, _ range: Range<Int>) {
    add(Diagnostic(message, at: Diagnostic.Location(source, range)))
    isFinished = true
  }

  private mutating func fail(_ message: MessageText, _ range: Range<Int>) {
    let severity: Diagnostic.Severity = limits.isOfOthers ? .warning : .error
    add(Diagnostic(message, at: Diagnostic.Location(source, range), severity: severity))
  }

  /// Warns the author, whom a text of others hasn't.
  private mutating func warn(_ message: MessageText, _ range: Range<Int>) {
    if limits.isOfOthers { return }
    add(Diagnostic(message, at: Diagnostic.Location(source, range), severity: .warning))
  }

  private mutating func add(_ diagnostic: Diagnostic) {
    if diagnostics.count < TreeBuilder.mostDiagnostics { return diagnostics.append(diagnostic) }
    if limits.isOfOthers, diagnostic.severity == .error { return diagnostics.append(diagnostic) }
    if isFull || limits.isOfOthers { return }
    isFull = true
    isFinished = true
    let message = "reading ends here, after \(diagnostics.count) faults and warnings; mend those first"
    diagnostics.append(Diagnostic(message, at: diagnostic.location))
  }
}
