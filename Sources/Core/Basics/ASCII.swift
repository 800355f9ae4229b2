/// The bytes that readers of text look for, by their names.
package enum ASCII {
  @inlinable package static var tab: UInt8 { 0x09 }
  @inlinable package static var newline: UInt8 { 0x0A }
  @inlinable package static var formFeed: UInt8 { 0x0C }
  @inlinable package static var carriageReturn: UInt8 { 0x0D }
  @inlinable package static var space: UInt8 { 0x20 }
  @inlinable package static var quote: UInt8 { UInt8(ascii: "\"") }
  @inlinable package static var hash: UInt8 { UInt8(ascii: "#") }
  @inlinable package static var dollar: UInt8 { UInt8(ascii: "$") }
  @inlinable package static var percent: UInt8 { UInt8(ascii: "%") }
  @inlinable package static var ampersand: UInt8 { UInt8(ascii: "&") }
  @inlinable package static var apostrophe: UInt8 { UInt8(ascii: "'") }
  @inlinable package static var asterisk: UInt8 { UInt8(ascii: "*") }
  @inlinable package static var plus: UInt8 { UInt8(ascii: "+") }
  @inlinable package static var comma: UInt8 { UInt8(ascii: ",") }
  @inlinable package static var minus: UInt8 { UInt8(ascii: "-") }
  @inlinable package static var dot: UInt8 { UInt8(ascii: ".") }
  @inlinable package static var slash: UInt8 { UInt8(ascii: "/") }
  @inlinable package static var zero: UInt8 { UInt8(ascii: "0") }
  @inlinable package static var colon: UInt8 { UInt8(ascii: ":") }
  @inlinable package static var semicolon: UInt8 { UInt8(ascii: ";") }
  @inlinable package static var less: UInt8 { UInt8(ascii: "<") }
  @inlinable package static var equals: UInt8 { UInt8(ascii: "=") }
  @inlinable package static var greater: UInt8 { UInt8(ascii: ">") }
  @inlinable package static var question: UInt8 { UInt8(ascii: "?") }
  @inlinable package static var at: UInt8 { UInt8(ascii: "@") }
  @inlinable package static var openBracket: UInt8 { UInt8(ascii: "[") }
  @inlinable package static var backslash: UInt8 { UInt8(ascii: "\\") }
  @inlinable package static var closeBracket: UInt8 { UInt8(ascii: "]") }
  @inlinable package static var underscore: UInt8 { UInt8(ascii: "_") }
  @inlinable package static var backtick: UInt8 { UInt8(ascii: "`") }
  @inlinable package static var openBrace: UInt8 { UInt8(ascii: "{") }
  @inlinable package static var closeBrace: UInt8 { UInt8(ascii: "}") }
  @inlinable package static var tilde: UInt8 { UInt8(ascii: "~") }

  @inlinable package static var digits: ClosedRange<UInt8> { 0x30...0x39 }
  @inlinable package static var uppercase: ClosedRange<UInt8> { 0x41...0x5A }
  @inlinable package static var lowercase: ClosedRange<UInt8> { 0x61...0x7A }
  @inlinable package static func isLetter(_ byte: UInt8) -> Bool { lowercase.contains(byte | 0x20) }
  /// Every character that has a shape, and the space.
  @inlinable package static var printable: ClosedRange<UInt8> { 0x20...0x7E }
}
