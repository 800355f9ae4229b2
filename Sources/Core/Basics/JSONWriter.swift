// The writer appends to one buffer. Texts are copied a word at a time as long as nothing in them needs an escape.
// Escaped are the quote, the backslash and the control characters below U+0020, as RFC 8259 asks, and nothing else.

/// Writes one value, or the parts of a text one by one for a caller that has no value.
package struct JSONWriter: ~Copyable {
  private(set) var output = ByteBuffer()
  private let style: JSON.Style
  /// How many lists and objects have begun part by part.
  private var depth = 0
  /// The keys and indexes that lead to a value that cannot be written, innermost first.
  private var path: [String] = []

  package init(_ style: JSON.Style) { self.style = style }

  /// Hands the text on in pieces as it is written, so that it is never whole in memory.
  ///
  /// - Parameter take: Takes each piece; the last one comes with `finish`.
  package init(_ style: JSON.Style, inPieces take: @escaping (UnsafeBufferPointer<UInt8>) -> Void) {
    self.style = style
    output = ByteBuffer(inPieces: take)
  }

  /// Hands on the rest of a text that is written in pieces.
  package mutating func finish() { output.handOn(keepingLast: false) }

  /// The text so far.
  package var bytes: [UInt8] { output.withBytes { Array($0) } }
  /// The number of bytes so far.
  package var count: Int { output.count }

  /// Removes and returns the text so far, except for its last byte, which tells the writer what may follow.
  package mutating func takeBytes() -> [UInt8] { output.takeFirst(max(output.count - 1, 0)) }

  package mutating func write(_ value: Value) throws(JSONError) {
    do {
      try write(value, depth: depth)
    } catch {
      let name = path.isEmpty ? "the value" : "'" + path.reversed().joined() + "'"
      throw JSONError(message: "\(name) cannot be written as JSON: \(error.reason)")
    }
  }

  /// Why a value cannot be written, without saying where it is.
  private struct ValueError: Error {
    var reason: String
  }

  private mutating func write(_ value: Value, depth: Int) throws(ValueError) {
    output.handOnIfLong()
    if style.isTotal, depth >= JSON.deepest {
      switch value.content {
      case .list, .map, .optional: return write("nested deeper than \(JSON.deepest) levels")
      default: break
      }
    }
    switch value.content {
    case .null: output.append("null")
    case .bool(let flag): write(flag)
    case .int(let number): write(number)
    case .uint(let number): write(number)
    case .double(let number):
      if number.isFinite {
        write(number)
      } else if style.isTotal {
        write(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
      } else {
        throw ValueError(reason: "it is \(number.isNaN ? "not a number" : "infinite")")
      }
    case .string(let text): write(text)
    case .bytes(let octets): write(base64: octets)
    case .timestamp(let instant): write(instant)
    case .duration(let span): write(span.description)
    case .list(let items): try write(items, depth: depth + 1)
    case .map(let map): try write(map, depth: depth + 1)
    case .optional(let wrapped):
      try checkDepth(depth + 1)
      try write(wrapped ?? .null, depth: depth + 1)
    case .type(let name): write(name)
    case .masked(let text): write(text.displayed)
    }
  }

  private func checkDepth(_ depth: Int) throws(ValueError) {
    if depth > JSON.deepest { throw ValueError(reason: "it is nested deeper than \(JSON.deepest) levels") }
  }

  private mutating func write(_ items: [Value], depth: Int) throws(ValueError) {
    try checkDepth(depth)
    output.append(ASCII.openBracket)
    for index in items.indices {
      separate(index, depth)
      do {
        try write(items[index], depth: depth)
      } catch {
        path.append("[\(index)]")
        throw error
      }
    }
    end(ASCII.closeBracket, isEmpty: items.isEmpty, depth)
  }

  private mutating func write(_ map: ValueMap, depth: Int) throws(ValueError) {
    try checkDepth(depth)
    output.append(ASCII.openBrace)
    let map = hasOtherKeys(map) ? try named(map) : map
    if style.sortsKeys {
      for (position, entry) in sorted(map).enumerated() { try write(map, entry.index, position, depth) }
    } else {
      for index in map.members.indices { try write(map, index, index, depth) }
    }
    end(ASCII.closeBrace, isEmpty: map.isEmpty, depth)
  }

  @inline(__always) private mutating func write(
    _ map: ValueMap, _ index: Int, _ position: Int, _ depth: Int
  ) throws(ValueError) {
    guard case .string(let name) = map.members[index].key.content else { return }
    separate(position, depth)
    write(name)
    output.append(ASCII.colon)
    if style.isIndented { output.append(ASCII.space) }
    do {
      try write(map.members[index].value, depth: depth)
    } catch {
      path.append(depth == 1 ? name : ".\(name)")
      throw error
    }
  }

  private func hasOtherKeys(_ map: ValueMap) -> Bool {
    for index in map.members.indices {
      guard case .string = map.members[index].key.content else { return true }
    }
    return false
  }

  /// The map with the texts of its keys.
  private func named(_ map: ValueMap) throws(ValueError) -> ValueMap {
    var named = ValueMap()
    for member in map.members {
      var name = try name(of: member.key)
      while style.isTotal || member.key.isMaskedText, named[name] != nil { name += " (\(member.key.kindName))" }
      // An int 1 and a string '1' are two keys of a map, and would be one of JSON.
      if named.insert(.init(key: .string(name), value: member.value)) != nil {
        throw ValueError(reason: "two of its keys are written '\(name)'")
      }
    }
    return named
  }

  /// The indexes of the members by the scalars of their names, each with the first eight bytes, which mostly decide.
  private func sorted(_ map: ValueMap) -> [(prefix: UInt64, index: Int)] {
    var order: [(prefix: UInt64, index: Int)] = []
    order.reserveCapacity(map.count)
    for index in map.members.indices {
      var name = map.members[index].name ?? ""
      let prefix = name.withUTF8 { bytes in
        if bytes.count >= 8 { return UInt64(bigEndian: bytes.word(at: 0)) }
        var prefix: UInt64 = 0
        for byte in bytes { prefix = prefix << 8 | UInt64(byte) }
        return prefix << (8 * UInt64(8 - bytes.count))
      }
      order.append((prefix, index))
    }
    order.sort { left, right in
      if left.prefix != right.prefix { return left.prefix < right.prefix }
      let (left, right) = (map.members[left.index].name ?? "", map.members[right.index].name ?? "")
      return left.precedesByScalars(right)
    }
    return order
  }

  private func name(of key: Value) throws(ValueError) -> String {
    switch key.content {
    case .string(let name): return name
    case .int(let number): return String(number)
    case .uint(let number): return String(number)
    case .bool(let flag): return flag ? "true" : "false"
    case .masked(let text): return text.displayed
    default: throw ValueError(reason: "\(key.kindName) isn't a key")
    }
  }

  private mutating func separate(_ index: Int, _ depth: Int) {
    if index > 0 { output.append(ASCII.comma) }
    if style.isIndented { output.appendLine(indentedBy: depth) }
  }

  private mutating func end(_ bracket: UInt8, isEmpty: Bool, _ depth: Int) {
    if style.isIndented, !isEmpty { output.appendLine(indentedBy: depth - 1) }
    output.append(bracket)
  }

  /// Writes the shortest digits that are read as the same double, always with a point or an exponent.
  ///
  /// Most doubles that people deal with are hundredths. Numbers of at most fifteen digits are all different as doubles,
  /// so if the hundredths give the double back, no shorter digits do.
  private mutating func write(_ number: Double) {
    let scaled = number.magnitude * 100
    guard scaled < 1e15, number.magnitude > 0, case let hundredths = UInt(scaled + 0.5),
      Double(hundredths) / 100 == number.magnitude
    else { return output.append(number.description) }
    if number < 0 { output.append(ASCII.minus) }
    let (whole, part) = hundredths.quotientAndRemainder(dividingBy: 100)
    write(whole)
    output.append(ASCII.dot)
    output.append(UInt8(truncatingIfNeeded: part / 10) + ASCII.zero)
    if part % 10 > 0 { output.append(UInt8(truncatingIfNeeded: part % 10) + ASCII.zero) }
  }

  private mutating func write(_ number: UInt) {
    // At most twenty digits, from the last to the first.
    var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
    withUnsafeMutableBytes(of: &digits) { digits in
      var number = number
      var start = digits.count
      repeat {
        start -= 1
        digits[start] = UInt8(truncatingIfNeeded: number % 10) + ASCII.zero
        number /= 10
      } while number > 0
      output.append(UnsafeRawBufferPointer(rebasing: digits[start...]))
    }
  }

  package mutating func write(_ number: Int) {
    if number < 0 { output.append(ASCII.minus) }
    write(number.magnitude)
  }

  package mutating func write(_ flag: Bool) { output.append(flag ? "true" : "false") }

  package mutating func write(_ instant: Timestamp) {
    output.append(ASCII.quote)
    output.append(atMost: Timestamp.mostBytes) { instant.write(to: $0) }
    output.append(ASCII.quote)
  }

  /// Writes a text as a JSON string.
  package mutating func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      output.append(ASCII.quote)
      output.reserve(upTo: bytes.count)
      var index = 0
      while index < bytes.count {
        let end = min(bytes.count, index + ByteBuffer.piece)
        index = output.appendPlain(bytes, index..<end)
        if index < end {
          escape(bytes[index])
          index += 1
        }
        output.handOnIfLong()
      }
      output.append(ASCII.quote)
    }
  }

  /// Writes octets as a JSON string in base64.
  package mutating func write(base64 octets: [UInt8]) {
    output.append(ASCII.quote)
    output.reserve(upTo: octets.count / 3 * 4 + 4)
    // Whole groups of three, so that the pieces fit together.
    let piece = ByteBuffer.piece / 4 * 3
    for start in stride(from: 0, to: octets.count, by: piece) {
      output.append(octets[start..<min(start + piece, octets.count)].base64)
      output.handOnIfLong()
    }
    output.append(ASCII.quote)
  }

  private mutating func escape(_ byte: UInt8) {
    switch byte {
    case ASCII.quote: output.append("\\\"")
    case ASCII.backslash: output.append("\\\\")
    case 0x08: output.append("\\b")
    case ASCII.formFeed: output.append("\\f")
    case ASCII.newline: output.append("\\n")
    case ASCII.carriageReturn: output.append("\\r")
    case ASCII.tab: output.append("\\t")
    default: output.append("\\u00" + hex(byte).lowercased())
    }
  }
}

extension JSONWriter {
  /// Begins a list or an object.
  package mutating func begin(_ bracket: Unicode.Scalar) {
    output.append(UInt8(ascii: bracket))
    depth += 1
  }

  /// Ends a list or an object.
  package mutating func end(_ bracket: Unicode.Scalar) {
    end(UInt8(ascii: bracket), isEmpty: !hasItem, depth)
    depth -= 1
  }

  /// Ends a line; a new text may begin after it.
  package mutating func endLine() { output.append(ASCII.newline) }

  /// Comes before each item of a list.
  package mutating func beginItem() { separate(hasItem ? 1 : 0, depth) }

  /// Whether the list or object that began last has an item: no value ends with an opening bracket.
  private var hasItem: Bool { output.last.map { $0 != ASCII.openBracket && $0 != ASCII.openBrace } ?? false }

  /// Comes before each member of an object.
  package mutating func beginMember(_ name: String) {
    beginItem()
    write(name)
    output.append(ASCII.colon)
    if style.isIndented { output.append(ASCII.space) }
  }
}

/// Bytes that are being written.
struct ByteBuffer: ~Copyable {
  private var base = UnsafeMutablePointer<UInt8>.allocate(capacity: 0)
  private var capacity = 0
  private(set) var count = 0
  /// Takes the bytes in pieces, if they are not to be kept.
  private let take: ((UnsafeBufferPointer<UInt8>) -> Void)?
  /// From how many bytes on they are handed on.
  private let long: Int

  /// About how many bytes are handed on at a time; a multiple of four.
  static let piece = 96 << 10

  init() {
    take = nil
    long = .max
  }

  init(inPieces take: @escaping (UnsafeBufferPointer<UInt8>) -> Void) {
    self.take = take
    long = ByteBuffer.piece
  }

  deinit { base.deallocate() }

  /// The byte written last.
  var last: UInt8? { count > 0 ? base[count - 1] : nil }

  /// Lends the bytes written so far.
  func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    body(UnsafeBufferPointer(start: base, count: count))
  }

  @inline(__always) mutating func handOnIfLong() {
    if count >= long { handOn(keepingLast: true) }
  }

  /// Hands the buffered bytes to the receiver.
  ///
  /// - Parameter keepingLast: Keeps the last byte, which tells the writer what may follow it.
  mutating func handOn(keepingLast: Bool) {
    guard let take, count > 0 else { return }
    let kept = keepingLast ? 1 : 0
    take(UnsafeBufferPointer(start: base, count: count - kept))
    if keepingLast { base[0] = base[count - 1] }
    count = kept
  }

  /// Makes room for a long text at once, as far as it is kept.
  @inline(__always) mutating func reserve(upTo more: Int) { reserve(min(more, long)) }

  /// Takes the first bytes out.
  mutating func takeFirst(_ most: Int) -> [UInt8] {
    let taken = Array(UnsafeBufferPointer(start: base, count: most))
    base.update(from: base + most, count: count - most)
    count -= most
    return taken
  }

  @inline(__always) mutating func reserve(_ more: Int) {
    if count + more > capacity { grow(more) }
  }

  private mutating func grow(_ more: Int) {
    capacity = max(capacity * 2, count + more, 1024)
    let wider = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    wider.update(from: base, count: count)
    base.deallocate()
    base = wider
  }

  @inline(__always) mutating func append(_ byte: UInt8) {
    reserve(1)
    base[count] = byte
    count += 1
  }

  @inline(__always) mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    reserve(bytes.count)
    UnsafeMutableRawPointer(base + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
  }

  /// Appends the bytes that a body writes, which gives their number.
  @inline(__always) mutating func append(atMost most: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Int) {
    reserve(most)
    count += body(UnsafeMutableBufferPointer(start: base + count, count: most))
  }

  /// Appends bytes up to the first that needs an escape in a JSON string, and gives its index, or the end of the range.
  @inline(__always) mutating func appendPlain(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Int {
    reserve(range.count)
    var index = range.lowerBound
    while index + 8 <= range.upperBound {
      let word = bytes.word(at: index)
      let hits = special(UInt64(littleEndian: word))
      if hits != 0 { break }
      UnsafeMutableRawPointer(base + count).storeBytes(of: word, as: UInt64.self)
      index += 8
      count += 8
    }
    while index < range.upperBound, case let byte = bytes[index], byte >= 0x20, byte != ASCII.quote,
      byte != ASCII.backslash
    {
      base[count] = byte
      index += 1
      count += 1
    }
    return index
  }

  mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  mutating func appendLine(indentedBy levels: Int) {
    append(ASCII.newline)
    for _ in 0..<levels * 2 { append(ASCII.space) }
  }
}
