import Basics

/// Our own library `text`: functions for the names of files, columns and messages.
let textFunctions: [FunctionDeclaration] = [
  FunctionDeclaration(
    "text.lower", parameters: [.string], result: .string, summary: "The text in lower case, letters of every script.",
    example: "text.lower('ÉCOLE Α') == 'école α'"
  ) { arguments, context throws(EvaluationError) in
    let text = try arguments.string(0)
    try context.charge(reading: text.utf8.count)
    return try context.made(text.lowercased())
  },
  FunctionDeclaration(
    "text.upper", parameters: [.string], result: .string, summary: "The text in upper case, letters of every script.",
    example: "text.upper('straße') == 'STRASSE'"
  ) { arguments, context throws(EvaluationError) in
    let text = try arguments.string(0)
    try context.charge(reading: text.utf8.count)
    return try context.made(text.uppercased())
  },
  FunctionDeclaration(
    "text.lines", parameters: [.string], result: .list(.string),
    summary: "The lines, without their line breaks; a break at the end doesn't begin another line.",
    example: "text.lines('a\\r\\nb\\n') == ['a', 'b']"
  ) { arguments, context throws(EvaluationError) in
    let bytes = try context.read(arguments.string(0)).bytes
    var lines: [Value] = []
    var start = 0
    var index = 0
    while index < bytes.count {
      let isBreak = bytes[index] == ASCII.newline || bytes[index] == ASCII.carriageReturn
      let end = index
      if bytes[index] == ASCII.carriageReturn, index + 1 < bytes.count, bytes[index + 1] == ASCII.newline { index += 1 }
      index += 1
      guard isBreak else { continue }
      lines.append(try context.made(String(decoding: bytes[start..<end], as: UTF8.self)))
      start = index
    }
    if start < bytes.count { lines.append(try context.made(String(decoding: bytes[start...], as: UTF8.self))) }
    return try context.made(lines)
  },
  FunctionDeclaration(
    "text.truncate", parameters: [.string, .int], result: .string,
    summary:
      "The text, cut to at most the given number of characters; the last one is an ellipsis if any are left out.",
    example: "text.truncate('Introduction', 6) == 'Intro…'"
  ) { arguments, context throws(EvaluationError) in
    let text = try context.read(arguments.string(0))
    let limit = try arguments.int(1)
    guard limit >= 1 else { throw EvaluationError("text.truncate() takes a length from 1, and \(limit) was given") }
    guard text.count > limit else { return arguments[0] }
    return try context.made(text.string(0..<text.offset(limit - 1)) + "…")
  },
  padding("padLeft", "on the left", "text.padLeft('7', 3, '0') == '007'") { fill, text in fill + text },
  padding("padRight", "on the right", "text.padRight('7B', 4, '.') == '7B..'") { fill, text in text + fill },
  FunctionDeclaration(
    "text.slug", parameters: [.string], result: .string,
    summary:
      "The text as part of a file name or address: lower case, Latin letters without accents, everything else as single dashes.",
    example: "text.slug('Année 7: Été & co.') == 'annee-7-ete-co'"
  ) { arguments, context throws(EvaluationError) in
    let text = try arguments.string(0)
    try context.charge(reading: text.utf8.count)
    return try context.made(slug(text))
  },
]

private func padding(
  _ name: String, _ side: String, _ example: String,
  _ place: @escaping @Sendable (_ fill: String, _ text: String) -> String
) -> FunctionDeclaration {
  @Sendable func check(_ fill: String) throws(EvaluationError) {
    guard fill.unicodeScalars.count == 1 else {
      throw EvaluationError("text.\(name)() fills up with one character, and \(written(.string(fill))) was given")
    }
  }
  return FunctionDeclaration(
    "text.\(name)", parameters: [.string, .int, .string], result: .string,
    summary: "The text padded \(side) with a character, to the given number of characters.", example: example,
    literalCheck: checking((2, check))
  ) { arguments, context throws(EvaluationError) in
    let text = try context.read(arguments.string(0))
    let fill = try arguments.string(2)
    try check(fill)
    let missing = try arguments.int(1).subtractingReportingOverflow(text.count).partialValue
    guard missing > 0, try arguments.int(1) > 0 else { return arguments[0] }
    let (bytes, overflow) = missing.multipliedReportingOverflow(by: fill.utf8.count)
    try context.charge(bytes: overflow ? .max : bytes)
    return .string(place(String(repeating: fill, count: missing), try arguments.string(0)))
  }
}

private func slug(_ text: String) -> String {
  var slug: [UInt8] = []
  slug.reserveCapacity(text.utf8.count)
  var needsDash = false
  func append(_ letters: some Sequence<UInt8>) {
    if needsDash, !slug.isEmpty { slug.append(ASCII.minus) }
    needsDash = false
    slug += letters
  }
  for scalar in text.lowercased().unicodeScalars {
    switch scalar {
    case "a"..."z", "0"..."9": append(CollectionOfOne(UInt8(truncatingIfNeeded: scalar.value)))
    // An apostrophe doesn't separate words.
    case "'", "’": continue
    case _ where scalar.isASCII: needsDash = true
    default:
      if let plain = plainLetters[scalar] {
        append(plain.utf8)
      } else if scalar.properties.isAlphabetic {
        append(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      } else if scalar.properties.generalCategory != .nonspacingMark {
        // A combining accent belongs to the letter before it.
        needsDash = true
      }
    }
  }
  return String(decoding: slug, as: UTF8.self)
}

/// Lowercase Latin letters with accents, and their plain forms.
private let plainLetters: [Unicode.Scalar: String] = {
  let families = [
    "a": "àáâãäåāăąǎ", "ae": "æ", "c": "çćĉċč", "d": "ďđð", "e": "èéêëēĕėęě", "g": "ĝğġģ", "h": "ĥħ",
    "i": "ìíîïĩīĭįıǐ", "ij": "ĳ", "j": "ĵ", "k": "ķ", "l": "ĺļľŀł", "n": "ñńņňŋ", "o": "òóôõöøōŏőǒ", "oe": "œ",
    "r": "ŕŗř", "s": "śŝşšșſ", "ss": "ß", "t": "ţťŧț", "th": "þ", "u": "ùúûüũūŭůűųǔ", "w": "ŵ", "y": "ýÿŷ", "z": "źżž",
  ]
  var table: [Unicode.Scalar: String] = [:]
  for (plain, letters) in families {
    for letter in letters.unicodeScalars { table[letter] = plain }
  }
  return table
}()
