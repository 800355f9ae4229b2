import Basics

/// CEL's library `regex`, as cel-go documents it, over RE2.
let regexFunctions: [FunctionDeclaration] = [
  FunctionDeclaration(
    "regex.replace", parameters: [.string, .string, .string], result: .string,
    summary:
      "The text with every match of a pattern replaced; in the replacement, \\1 to \\9 are the matches of the groups, and \\0 is the whole match.",
    example: "regex.replace('John Smith', r'(\\w+) (\\w+)', r'\\2, \\1') == 'Smith, John'",
    literalCheck: { checkPattern($0) ?? checkReplacement($0) }
  ) { arguments, context throws(EvaluationError) in try replace(arguments, limit: -1, &context) },
  FunctionDeclaration(
    "regex.replace", parameters: [.string, .string, .string, .int], result: .string,
    summary:
      "The text with at most the given number of matches replaced, from the first on; all of them if it is negative.",
    example: "regex.replace('banana', 'a', 'x', 2) == 'bxnxna'",
    literalCheck: { checkPattern($0) ?? checkReplacement($0) }
  ) { arguments, context throws(EvaluationError) in try replace(arguments, limit: arguments.int(3), &context) },
  FunctionDeclaration(
    "regex.extract", parameters: [.string, .string], result: .optional(.string),
    summary: "The first match of a pattern, or of its group if it has one; an empty optional if nothing matches.",
    example: "regex.extract('item-42', r'item-(\\d+)').orValue('') == '42'",
    literalCheck: checkGroups
  ) { arguments, context throws(EvaluationError) in
    let text = try arguments.string(0)
    let pattern = try compiled(arguments.string(1), atMostOneGroup: true, &context)
    try context.charge(reading: text.utf8.count)
    guard let match = pattern.firstMatch(in: text), let range = match[match.count - 1] else {
      return Value(.optional(nil))
    }
    return Value(.optional(try context.made(String(decoding: Array(text.utf8)[range], as: UTF8.self))))
  },
  FunctionDeclaration(
    "regex.extractAll", parameters: [.string, .string], result: .list(.string),
    summary: "All matches of a pattern, or of its group if it has one.",
    example: "regex.extractAll('id:123, id:456', r'id:(\\d+)') == ['123', '456']",
    literalCheck: checkGroups
  ) { arguments, context throws(EvaluationError) in
    let text = try context.read(arguments.string(0))
    let pattern = try compiled(arguments.string(1), atMostOneGroup: true, &context)
    var found: [Value] = []
    for match in try matches(pattern, try arguments.string(0), limit: -1, &context) {
      if let range = match[match.count - 1] { found.append(try context.made(text.string(range))) }
    }
    return try context.made(found)
  },
]

private func compiled(
  _ text: String, atMostOneGroup: Bool = false, _ context: inout EvaluationContext
) throws(EvaluationError) -> Pattern {
  let pattern = try context.pattern(text)
  if atMostOneGroup, let message = tooManyGroups(pattern) { throw EvaluationError(message) }
  return pattern
}

private func tooManyGroups(_ pattern: Pattern) -> String? {
  pattern.groupCount <= 1
    ? nil : "the pattern has \(pattern.groupCount) groups, and only one can be extracted; write (?:…) for the others"
}

private func checkPattern(_ constants: [Value?]) -> LiteralFault? {
  guard let text = constants[1]?.string else { return nil }
  do {
    _ = try Pattern(text)
    return nil
  } catch {
    return LiteralFault(argument: 1, "the pattern cannot be read: \(error.message)")
  }
}

private func checkGroups(_ constants: [Value?]) -> LiteralFault? {
  if let fault = checkPattern(constants) { return fault }
  guard let text = constants[1]?.string, let pattern = try? Pattern(text), let message = tooManyGroups(pattern) else {
    return nil
  }
  return LiteralFault(argument: 1, message)
}

private func checkReplacement(_ constants: [Value?]) -> LiteralFault? {
  guard let text = constants[2]?.string else { return nil }
  // Without the pattern, the number of its groups isn't known.
  let groups = constants[1]?.string.flatMap { try? Pattern($0) }?.groupCount ?? 9
  do {
    _ = try Replacement(text, groups: groups)
    return nil
  } catch {
    return LiteralFault(argument: 2, error.message)
  }
}

/// All matches that don't overlap, at most `limit` if it isn't negative.
private func matches(
  _ pattern: Pattern, _ text: String, limit: Int, _ context: inout EvaluationContext
) throws(EvaluationError) -> [[Range<Int>?]] {
  let bytes = Array(text.utf8)
  var found: [[Range<Int>?]] = []
  var start = 0
  var previousEnd: Int?
  while limit < 0 || found.count < limit, let match = pattern.firstMatch(in: text, from: start), let all = match[0] {
    // A search reads the text from its start to the match.
    try context.charge(steps: 1 + (all.upperBound - start) >> 6)
    // An empty match right after another match doesn't count, as in Go.
    if !(all.isEmpty && all.lowerBound == previousEnd) { found.append(match) }
    previousEnd = all.upperBound
    start = all.upperBound
    if all.isEmpty {
      start += 1
      while start < bytes.count, bytes[start] & 0xC0 == 0x80 { start += 1 }
    }
    guard start <= bytes.count else { break }
  }
  return found
}

private func replace(
  _ arguments: Arguments, limit: Int, _ context: inout EvaluationContext
) throws(EvaluationError) -> Value {
  let text = try context.read(arguments.string(0))
  let pattern = try compiled(arguments.string(1), &context)
  let replacement = try Replacement(arguments.string(2), groups: pattern.groupCount)
  var result: [UInt8] = []
  var start = 0
  for match in try matches(pattern, try arguments.string(0), limit: limit, &context) {
    guard let all = match[0] else { continue }
    let before = result.count
    result += text.bytes[start..<all.lowerBound]
    for part in replacement.parts {
      switch part {
      case .bytes(let bytes): result += bytes
      case .group(let group): if let range = match[group] { result += text.bytes[range] }
      }
    }
    try context.charge(bytes: result.count - before)
    start = all.upperBound
  }
  result += text.bytes[start...]
  return try context.made(String(decoding: result, as: UTF8.self))
}

/// A parsed replacement.
private struct Replacement {
  enum Part {
    case bytes([UInt8])
    case group(Int)
  }

  var parts: [Part] = []

  init(_ text: String, groups: Int) throws(EvaluationError) {
    var literal: [UInt8] = []
    var bytes = Array(text.utf8)[...]
    while let byte = bytes.popFirst() {
      guard byte == ASCII.backslash else {
        literal.append(byte)
        continue
      }
      switch bytes.popFirst() {
      case ASCII.backslash: literal.append(ASCII.backslash)
      case .some(let digit) where ASCII.digits.contains(digit):
        let group = Int(digit - ASCII.zero)
        guard group <= groups else {
          throw EvaluationError(
            "the replacement names group \\\(group), and the pattern has \(counted(groups, "group"))")
        }
        if !literal.isEmpty { parts.append(.bytes(literal)) }
        literal = []
        parts.append(.group(group))
      default:
        throw EvaluationError(
          "the replacement has a backslash without a group; write \\1 to \\9, or \\\\ for a backslash")
      }
    }
    if !literal.isEmpty { parts.append(.bytes(literal)) }
  }
}
