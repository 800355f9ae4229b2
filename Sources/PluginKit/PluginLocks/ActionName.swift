/// Makes action names, in lowerCamelCase, from names that others chose.
///
/// Characters other than letters and digits separate words, and leading capitals become lowercase. Latin letters beyond
/// ASCII are spelled in ASCII, as in `groesse` and `eleves`, so that they can be typed on any keyboard. Letters of
/// other scripts are kept.
package enum ActionName {
  private static let longest = 80

  /// A text as a name; empty if the text has no letter or digit.
  package static func of(_ text: String) -> String {
    let words = written(text.prefix(500)).split { !isPart($0) }
    var name = String.UnicodeScalarView()
    for word in words {
      if name.isEmpty {
        name += lowered(Array(word))
      } else if let first = word.first {
        name += first.properties.uppercaseMapping.unicodeScalars
        name += word.dropFirst()
      }
    }
    guard let first = name.first else { return "" }
    var text = ""
    for scalar in name {
      guard text.utf8.count + UTF8.width(scalar) <= longest else { break }
      text.unicodeScalars.append(scalar)
    }
    return first.properties.numericType == nil ? text : "call\(text)"
  }

  /// Whether a scalar is a letter, a digit, or a combining mark.
  private static func isPart(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.properties.isAlphabetic || scalar.properties.numericType != nil }
    return switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
      .spacingMark, .decimalNumber, .letterNumber:
      true
    default: false
    }
  }

  /// `DAGRun` as `dagRun`, `ID` as `id`.
  private static func lowered(_ word: [Unicode.Scalar]) -> [Unicode.Scalar] {
    var lowered: [Unicode.Scalar] = []
    for index in word.indices {
      guard word[index].properties.isUppercase else { return lowered + word[index...] }
      if index > 0, index + 1 < word.count, word[index + 1].properties.isLowercase { return lowered + word[index...] }
      lowered += word[index].properties.lowercaseMapping.unicodeScalars
    }
    return lowered
  }

  /// A text with its Latin letters spelled in ASCII.
  package static func written(_ text: Substring) -> [Unicode.Scalar] {
    var written: [Unicode.Scalar] = []
    for scalar in text.unicodeScalars {
      // A combining mark belongs to the letter before it.
      if let last = written.last, last.isASCII, scalar.properties.generalCategory == .nonspacingMark { continue }
      guard !scalar.isASCII, let letters = letters[scalar] else {
        written.append(scalar)
        continue
      }
      written += letters.unicodeScalars
    }
    return written
  }

  /// The ASCII spellings of letters of Latin-1 and Latin Extended-A (Unicode, "Latin-ASCII" of CLDR; German and Danish
  /// letters by the rules of these languages).
  private static let letters: [Unicode.Scalar: String] = {
    var letters: [Unicode.Scalar: String] = [:]
    for (letter, scalars) in [
      ("A", "ÀÁÂÃĀĂĄ"), ("C", "ÇĆĈĊČ"), ("D", "ĎĐÐ"), ("E", "ÈÉÊËĒĔĖĘĚ"), ("G", "ĜĞĠĢ"), ("H", "ĤĦ"),
      ("I", "ÌÍÎÏĨĪĬĮİ"),
      ("J", "Ĵ"), ("K", "Ķ"), ("L", "ĹĻĽĿŁ"), ("N", "ÑŃŅŇŊ"), ("O", "ÒÓÔÕŌŎŐ"), ("R", "ŔŖŘ"), ("S", "ŚŜŞŠȘ"),
      ("T", "ŢŤŦȚ"), ("U", "ÙÚÛŨŪŬŮŰŲ"), ("W", "Ŵ"), ("Y", "ÝŶŸ"), ("Z", "ŹŻŽ"), ("Ae", "ÄÆ"), ("Aa", "Å"),
      ("Oe", "ÖØŒ"), ("Ue", "Ü"), ("Th", "Þ"), ("Ss", "ẞ"), ("a", "ª"), ("o", "º"), ("i", "ı"), ("k", "ĸ"), ("ss", "ß"),
      ("s", "ſ"), ("n", "ŉ"),
    ] {
      for scalar in scalars.unicodeScalars {
        letters[scalar] = letter
        let lower = scalar.properties.lowercaseMapping.unicodeScalars
        if lower.count == 1, let small = lower.first, small != scalar, !small.isASCII, letters[small] == nil {
          letters[small] = letter.lowercased()
        }
      }
    }
    return letters
  }()
}
