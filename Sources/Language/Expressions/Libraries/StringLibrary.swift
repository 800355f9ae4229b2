import Basics

/// CEL's library `strings`, as cel-go documents it.
let stringFunctions: [FunctionDeclaration] = [
  FunctionDeclaration(
    "charAt", receiver: .string, parameters: [.int], result: .string,
    summary: "The character at a position from 0; the empty text just after the last.",
    example: "'tacocat'.charAt(3) == 'o'"
  ) { arguments, context throws(EvaluationError) in
    let text = try context.read(arguments.string(0))
    let start = try text.offset(arguments.int(1))
    let end = text.bytes[start...].dropFirst().firstIndex { $0 & 0xC0 != 0x80 } ?? text.bytes.count
    return try context.made(text.string(start..<end))
  },
  FunctionDeclaration(
    "indexOf", receiver: .string, parameters: [.string], result: .int,
    summary: "The position of the first occurrence of a text, or -1.", example: "'tacocat'.indexOf('ac') == 1"
  ) { arguments, context throws(EvaluationError) in
    let text = try context.read(arguments.string(0))
    return .int(text.first(try context.read(arguments.string(1))).map(text.count(before:)) ?? -1)
  },
  FunctionDeclaration(
    "indexOf", receiver: .string, parameters: [.string, .int], result: .int,
    summary: "The position of the first occurrence at or after a position, or -1.",
    example: "'tacocat'.indexOf('a', 3) == 5"
  ) { arguments, context throws(EvaluationError) in
    let text = try context.read(arguments.string(0))
    let start = try text.offset(arguments.int(2))
    return .int(text.first(try context.read(arguments.string(1)), from: start).map(text.count(before:)) ?? -1)
  },
  FunctionDeclaration(
    "lastIndexOf", receiver: .string, parameters: [.string], result: .int,
    summary: "The position of the last occurrence of a text, or -1.", example: "'tacocat'.lastIndexOf('at') == 5"
  ) { arguments, context throws(EvaluationError) in
    let text = try context.read(arguments.string(0))
    let found = text.last(try context.read(arguments.string(1)), upTo: text.bytes.count)
    return .int(found.map(text.count(before:)) ?? -1)
  },
  FunctionDeclaration(
    "lastIndexOf", receiver: .string, parameters: [.string, .int], result: .int,
    summary: "The position of the last occurrence that begins at or before a position, or -1.",
    example: "'tacocat'.lastIndexOf('a', 3) == 1"
  ) { arguments, context throws(EvaluationError) in
    let text = try context.read(arguments.string(0))
    let start = try text.offset(arguments.int(2))
    return .int(text.last(try context.read(arguments.string(1)), upTo: start).map(text.count(before:)) ?? -1)
  },
  FunctionDeclaration(
    "join", receiver: .list(.string), parameters: [], result: .string,
    summary: "The texts of a list, one after another.", example: "['x', 'y'].join() == 'xy'"
  ) { arguments, context throws(EvaluationError) in try join(arguments.list(0), "", &context) },
  FunctionDeclaration(
    "join", receiver: .list(.string), parameters: [.string], result: .string,
    summary: "The texts of a list with a text between them.", example: "['x', 'y'].join('-') == 'x-y'"
  ) { arguments, context throws(EvaluationError) in try join(arguments.list(0), arguments.string(1), &context) },
  FunctionDeclaration(
    "lowerAscii", receiver: .string, parameters: [], result: .string,
    summary: "The text with A to Z in lower case; `text.lower` converts other letters too.",
    example: "'TacoCÆt'.lowerAscii() == 'tacocÆt'"
  ) { arguments, context throws(EvaluationError) in
    let bytes = try context.read(arguments.string(0)).bytes
    return try context.made(
      String(decoding: bytes.map { ASCII.uppercase.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self))
  },
  FunctionDeclaration(
    "upperAscii", receiver: .string, parameters: [], result: .string,
    summary: "The text with a to z in upper case; `text.upper` converts other letters too.",
    example: "'tacoCαt'.upperAscii() == 'TACOCαT'"
  ) { arguments, context throws(EvaluationError) in
    let bytes = try context.read(arguments.string(0)).bytes
    return try context.made(
      String(decoding: bytes.map { ASCII.lowercase.contains($0) ? $0 & 0xDF : $0 }, as: UTF8.self))
  },
  FunctionDeclaration(
    "replace", receiver: .string, parameters: [.string, .string], result: .string,
    summary: "The text with every occurrence of one text replaced by another.",
    example: "'{0} days {0} hours'.replace('{0}', '2') == '2 days 2 hours'"
  ) { arguments, context throws(EvaluationError) in try replace(arguments, limit: -1, &context) },
  FunctionDeclaration(
    "replace", receiver: .string, parameters: [.string, .string, .int], result: .string,
    summary:
      "The text with at most the given number of occurrences replaced, from the first on; all of them if it is negative.",
    example: "'a-b-c'.replace('-', '+', 1) == 'a+b-c'"
  ) { arguments, context throws(EvaluationError) in try replace(arguments, limit: arguments.int(3), &context) },
  FunctionDeclaration(
    "reverse", receiver: .string, parameters: [], result: .string,
    summary: "The characters in reverse order.", example: "'gums'.reverse() == 'smug'"
  ) { arguments, context throws(EvaluationError) in
    let text = try arguments.string(0)
    try context.charge(reading: text.utf8.count)
    var reversed = String.UnicodeScalarView()
    reversed.append(contentsOf: text.unicodeScalars.reversed())
    return try context.made(String(reversed))
  },
  FunctionDeclaration(
    "split", receiver: .string, parameters: [.string], result: .list(.string),
    summary: "The parts between the occurrences of a text; the single characters if that text is empty.",
    example: "'a,b,c'.split(',') == ['a', 'b', 'c']"
  ) { arguments, context throws(EvaluationError) in try split(arguments, limit: -1, &context) },
  FunctionDeclaration(
    "split", receiver: .string, parameters: [.string, .int], result: .list(.string),
    summary:
      "At most the given number of parts, where the last one is the rest of the text; all parts if it is negative.",
    example: "'a,b,c'.split(',', 2) == ['a', 'b,c']"
  ) { arguments, context throws(EvaluationError) in try split(arguments, limit: arguments.int(2), &context) },
  FunctionDeclaration(
    "substring", receiver: .string, parameters: [.int], result: .string,
    summary: "The text from a position on.", example: "'tacocat'.substring(4) == 'cat'"
  ) { arguments, context throws(EvaluationError) in
    let text = try context.read(arguments.string(0))
    return try context.made(text.string(text.offset(arguments.int(1))..<text.bytes.count))
  },
  FunctionDeclaration(
    "substring", receiver: .string, parameters: [.int, .int], result: .string,
    summary: "The text from one position up to another, which isn't included.",
    example: "'tacocat'.substring(0, 4) == 'taco'"
  ) { arguments, context throws(EvaluationError) in
    let text = try context.read(arguments.string(0))
    let start = try text.offset(arguments.int(1))
    let end = try text.offset(arguments.int(2))
    guard start <= end else {
      throw EvaluationError(
        "substring() from position \(try arguments.int(1)) cannot end before it, at \(try arguments.int(2))")
    }
    return try context.made(text.string(start..<end))
  },
  FunctionDeclaration(
    "trim", receiver: .string, parameters: [], result: .string,
    summary: "The text without the white space at both ends.", example: "'  trim me\\n'.trim() == 'trim me'"
  ) { arguments, context throws(EvaluationError) in
    let text = try arguments.string(0)
    try context.charge(reading: text.utf8.count)
    let isSpace = { (scalar: Unicode.Scalar) in scalar.properties.isWhitespace }
    let scalars = text.unicodeScalars
    guard let start = scalars.firstIndex(where: { !isSpace($0) }), let end = scalars.lastIndex(where: { !isSpace($0) })
    else { return .string("") }
    return try context.made(String(scalars[start...end]))
  },
  FunctionDeclaration(
    "strings.quote", parameters: [.string], result: .string,
    summary: "The text in double quotes, with backslashes where a string literal needs them.",
    example: "strings.quote('say \"hi\"') == '\"say \\\\\"hi\\\\\"\"'"
  ) { arguments, context throws(EvaluationError) in
    let bytes = try context.read(arguments.string(0)).bytes
    var quoted: [UInt8] = [ASCII.quote]
    for byte in bytes {
      if let escape = escapes[byte] {
        quoted.append(ASCII.backslash)
        quoted.append(escape)
      } else {
        quoted.append(byte)
      }
    }
    quoted.append(ASCII.quote)
    return try context.made(String(decoding: quoted, as: UTF8.self))
  },
]

/// The letters after the backslash for characters that must be escaped in a string literal.
private let escapes: [UInt8: UInt8] = [
  0x07: UInt8(ascii: "a"), 0x08: UInt8(ascii: "b"), ASCII.formFeed: UInt8(ascii: "f"), ASCII.newline: UInt8(ascii: "n"),
  ASCII.carriageReturn: UInt8(ascii: "r"), ASCII.tab: UInt8(ascii: "t"), 0x0B: UInt8(ascii: "v"),
  ASCII.backslash: ASCII.backslash, ASCII.quote: ASCII.quote,
]

private func join(
  _ items: [Value], _ separator: String, _ context: inout EvaluationContext
) throws(EvaluationError) -> Value {
  var joined = ""
  for (index, item) in items.enumerated() {
    guard let text = item.string else {
      throw EvaluationError("join() takes texts, and item \(index) is \(item.kindName); write string(x) for it")
    }
    if index > 0 { joined += separator }
    try context.charge(bytes: text.utf8.count + separator.utf8.count)
    joined += text
  }
  return .string(joined)
}

private func replace(
  _ arguments: Arguments, limit: Int, _ context: inout EvaluationContext
) throws(EvaluationError) -> Value {
  let text = try context.read(arguments.string(0))
  let old = try context.read(arguments.string(1))
  let new = try context.read(arguments.string(2))
  let places = text.occurrences(of: old, atMost: limit < 0 ? .max : limit)
  guard !places.isEmpty else { return arguments[0] }
  let (added, overflow) = places.count.multipliedReportingOverflow(by: new.bytes.count)
  try context.charge(bytes: overflow ? .max : text.bytes.count + added)
  var result: [UInt8] = []
  result.reserveCapacity(text.bytes.count + added)
  var start = 0
  for place in places {
    result += text.bytes[start..<place]
    result += new.bytes
    start = place + old.bytes.count
  }
  result += text.bytes[start...]
  return .string(String(decoding: result, as: UTF8.self))
}

private func split(
  _ arguments: Arguments, limit: Int, _ context: inout EvaluationContext
) throws(EvaluationError) -> Value {
  let text = try context.read(arguments.string(0))
  let separator = try context.read(arguments.string(1))
  guard limit != 0 else { return .list([]) }
  var cuts: [Int]
  if separator.bytes.isEmpty {
    // Cut between the characters, but not at the ends.
    cuts = Array(text.occurrences(of: separator, atMost: limit < 0 ? .max : limit).dropFirst())
    if cuts.last == text.bytes.count { cuts.removeLast() }
    if text.bytes.isEmpty { return .list([]) }
  } else {
    cuts = text.occurrences(of: separator, atMost: limit < 0 ? .max : limit - 1)
  }
  try context.charge(bytes: (cuts.count + 1) * MemoryLayout<Value>.stride + text.bytes.count)
  var parts: [Value] = []
  parts.reserveCapacity(cuts.count + 1)
  var start = 0
  for cut in cuts {
    parts.append(.string(text.string(start..<cut)))
    start = cut + separator.bytes.count
  }
  parts.append(.string(text.string(start..<text.bytes.count)))
  return .list(parts)
}
