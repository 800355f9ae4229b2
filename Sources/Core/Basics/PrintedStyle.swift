// How a program wants a part of its output to look: "Select graphic rendition" of ECMA-48 (section 8.3.117), with the 256
// colours and the direct colours of xterm.
//
// A colour becomes one of twelve hues or grey, because on a page it has to be readable on a light and on a dark ground;
// black and white are the colours of the text.

/// A part of a printed line.
package struct PrintedPart: Equatable, Sendable {
  package var text: String
  package var style = PrintedStyle()
}

/// The look of a printed text.
package struct PrintedStyle: Equatable, Sendable {
  /// A hue from 0 (red) over 4 (green) and 8 (blue) to 11, or 12 for grey; nil for the usual colour.
  package private(set) var colour: UInt8?
  package private(set) var ground: UInt8?
  package private(set) var isBold = false
  package private(set) var isFaint = false
  package private(set) var isItalic = false
  package private(set) var isUnderlined = false
  package private(set) var isInverse = false

  /// Grey among the colours.
  package static let grey: UInt8 = 12
  /// How many colours there are.
  package static let count = 13

  package init() {}

  /// Follows the parameters of a sequence; an unknown one changes nothing.
  mutating func set(_ parameters: Substring) {
    var codes = parameters.utf8.split(separator: ASCII.semicolon, omittingEmptySubsequences: false)
      .flatMap(PrintedStyle.codes)[...]
    while let code = codes.popFirst() {
      switch code {
      case 0: self = PrintedStyle()
      case 1: isBold = true
      case 2: isFaint = true
      case 3: isItalic = true
      case 4: isUnderlined = true
      case 7: isInverse = true
      case 22: (isBold, isFaint) = (false, false)
      case 23: isItalic = false
      case 24: isUnderlined = false
      case 27: isInverse = false
      case 30...37: colour = PrintedStyle.colour(of: code - 30)
      case 38: colour = PrintedStyle.colour(&codes)
      case 39: colour = nil
      case 40...47: ground = PrintedStyle.ground(of: code - 40)
      case 48: ground = PrintedStyle.colour(&codes)
      case 49: ground = nil
      case 90...97: colour = PrintedStyle.colour(of: code - 82)
      case 100...107: ground = PrintedStyle.ground(of: code - 92)
      default: break
      }
    }
  }

  /// The numbers of a parameter, which may have parts after colons.
  private static func codes(_ parameter: Substring.UTF8View) -> [Int] {
    var codes = parameter.split(separator: ASCII.colon, omittingEmptySubsequences: false).map {
      $0.isEmpty ? 0 : Int(Substring($0)) ?? -1
    }
    // The parts of an underline are its shapes, and 0 is none; a colour's third part is its space.
    if codes.count > 1, codes[0] == 4 { return [codes[1] == 0 ? 24 : 4] }
    if codes.count > 5, codes[1] == 2 { codes.remove(at: 2) }
    return codes
  }

  /// A colour by its number or by its parts.
  private static func colour(_ codes: inout ArraySlice<Int>) -> UInt8? {
    switch codes.popFirst() {
    case 5:
      let number = codes.popFirst() ?? 0
      switch number {
      case 0...15: return colour(of: number)
      case 16...231:
        let levels = [0, 95, 135, 175, 215, 255]
        return colour(levels[(number - 16) / 36], levels[(number - 16) / 6 % 6], levels[(number - 16) % 6])
      case 232...255: return grey
      default: return nil
      }
    case 2:
      guard codes.count >= 3 else {
        codes = []
        return nil
      }
      let parts = codes.prefix(3).map { min(max($0, 0), 255) }
      codes.removeFirst(3)
      return colour(parts[0], parts[1], parts[2])
    default: return nil
    }
  }

  /// One of the sixteen colours: black, red, green, yellow, blue, magenta, cyan, white, and the same bright.
  private static func colour(of number: Int) -> UInt8? {
    let hues: [UInt8?] = [nil, 0, 4, 2, 8, 10, 6, nil, grey, 0, 4, 2, 8, 10, 6, nil]
    return hues.indices.contains(number) ? hues[number] : nil
  }

  /// The same as a ground, where black and white are grey.
  private static func ground(of number: Int) -> UInt8? { colour(of: number) ?? grey }

  /// The hue of a colour, or grey for one that has little.
  private static func colour(_ red: Int, _ green: Int, _ blue: Int) -> UInt8 {
    let (most, least) = (max(red, green, blue), min(red, green, blue))
    let spread = most - least
    if spread < 40 { return grey }
    // In degrees, from 0 up to 360.
    let degrees: Int
    if most == red {
      degrees = (360 + 60 * (green - blue) / spread) % 360
    } else if most == green {
      degrees = 120 + 60 * (blue - red) / spread
    } else {
      degrees = 240 + 60 * (red - green) / spread
    }
    return UInt8(truncatingIfNeeded: (degrees + 15) / 30 % 12)
  }
}
