import Basics
import Expressions
import Testing

@Suite struct StringLibraryTests {
  @Test(arguments: [
    // Code points, not grapheme clusters: e and a combining accent are two, a flag is two.
    ("'e\\u0301x'.charAt(1)", "'\u{301}'"), ("'🇷🇴!'.substring(2)", "'!'"), ("'ab'.charAt(2)", "''"),
    ("'©αT'.indexOf('T')", "2"), ("'abc'.indexOf('', 3)", "3"), ("'abc'.lastIndexOf('')", "3"),
    ("'aaaa'.lastIndexOf('aa')", "2"), ("'aaaa'.lastIndexOf('aa', 1)", "1"), ("'abcabc'.lastIndexOf('abc', 2)", "0"),
    ("'ab'.indexOf('abc')", "-1"), ("''.indexOf('')", "0"), ("'ababac'.indexOf('abac')", "2"),
    ("'ab'.replace('', '-')", "'-a-b-'"), ("'é©'.replace('', '-', 2)", "'-é-©'"), ("'aaa'.replace('aa', 'b')", "'ba'"),
    ("'abc'.replace('b', '')", "'ac'"), ("'abc'.replace('x', 'y')", "'abc'"), ("'aaa'.replace('a', 'b', 0)", "'aaa'"),
    ("''.split(',')", "['']"), ("''.split('')", "[]"), ("'a©b'.split('')", "['a', '©', 'b']"),
    ("'a©b'.split('', 2)", "['a', '©b']"), ("'a,b,c'.split(',', 2)", "['a', 'b,c']"),
    ("',a,'.split(',')", "['', 'a', '']"),
    ("'a,b'.split(',', 0)", "[]"), ("' \\u2003x\\u00a0'.trim()", "'x'"), ("'\\u200bx'.trim()", "'\u{200B}x'"),
    ("'   '.trim()", "''"), ("'e\\u0301x'.reverse()", "'x\u{301}e'"), ("['a'].join(', ')", "'a'"),
    // An e with an accent isn't an e, although Swift finds one in the other's clusters.
    ("'e\\u0301'.indexOf('e')", "0"), ("'\\u00e9'.indexOf('e')", "-1"),
  ])
  func `counts and finds by code points`(_ text: String, _ result: String) {
    #expect(outcome(text) == result)
  }

  @Test(arguments: [
    ("s.charAt(4)", "ran: position 4 is outside the text of 3 characters"),
    ("s.charAt(-1)", "ran: position -1 is outside the text of 3 characters"),
    ("s.substring(2, 1)", "ran: substring() from position 2 cannot end before it, at 1"),
    ("s.substring(1, 9)", "ran: position 9 is outside the text of 3 characters"),
    ("s.indexOf('a', 4)", "ran: position 4 is outside the text of 3 characters"),
    ("s.lastIndexOf('a', -1)", "ran: position -1 is outside the text of 3 characters"),
  ])
  func `names position and length`(_ text: String, _ message: String) {
    #expect(outcome(text, ["s": "a©b"]) == message)
  }

  @Test(.timeLimit(.minutes(20)))
  func `searching is linear in adverse texts`() {
    let long = String(repeating: "a", count: 400_000)
    let half = String(repeating: "a", count: 200_000)
    #expect(outcome("s.indexOf(t + 'b')", ["s": long, "t": half]) == "-1")
    #expect(outcome("s.lastIndexOf('b' + t)", ["s": long, "t": half]) == "-1")
    #expect(outcome("s.replace('a', 'b').size()", ["s": long, "t": half]) == "400000")
    #expect(outcome("s.split(t).size()", ["s": long, "t": half]) == "3")
  }

  @Test func `what would grow too large ends with the limit`() {
    let long = String(repeating: "a", count: 100_000)
    #expect(
      outcome("s.replace('', s).size()", ["s": long])
        == "ran: the expression makes more than 64 MiB of texts, lists and maps on its way")
    #expect(
      outcome("text.padLeft(s, 9223372036854775807, '-').size()", ["s": long])
        == "ran: the expression makes more than 64 MiB of texts, lists and maps on its way")
  }

  // MARK: format

  @Test(arguments: [
    ("'%.1f'.format([0.25])", "'0.2'"), ("'%.1f'.format([0.35])", "'0.3'"), ("'%.0f'.format([2.5])", "'2'"),
    ("'%.2f'.format([7])", "'7.00'"), ("'%f'.format([-0.0])", "'-0.000000'"), ("'%e'.format([0])", "'0.000000e+00'"),
    ("'%x %X %o %b'.format([-255, 255u, 8, -5])", "'-ff FF 10 -101'"), ("'%d%%'.format([93])", "'93%'"),
    ("'%s'.format([{'b': [1, 2.5], 'a': null}])", "'{a: null, b: [1, 2.5]}'"),
    ("'%s'.format([duration('90s')])", "'90s'"), ("'%s|%s'.format(['e\\u0301', b'xyz'])", "'e\u{301}|xyz'"),
    ("'%.20f'.format([0.1])", "'0.10000000000000000555'"), ("'%f'.format([1e300]).size()", "308"),
    // Extra values aren't a fault, as in cel-go.
    ("'a'.format([1])", "'a'"),
  ])
  func `formats values`(_ text: String, _ result: String) {
    #expect(outcome(text) == result)
  }

  @Test(arguments: [
    (
      "'%a'.format([1])",
      "the format has no clause '%a'; there are %s %d %f %e %x %X %o %b, and '%%' for a percent sign"
    ),
    ("'100%'.format([])", "the format ends inside a clause; write '%%' for a percent sign"),
    ("'%.d'.format([1])", "the format needs a number of decimals after '%.', as in '%.2f'"),
    ("'%.2d'.format([1])", "the clause '%.2d' takes no decimals; only %f and %e do"),
    ("'%.99999f'.format([1.0])", "the format needs a number of decimals after '%.', as in '%.2f'"),
    ("'%d %d'.format([1])", "the format has 2 clauses and the list 1 value"),
    (
      "'%d'.format([1.5])",
      "the clause '%d' takes an int, and a double was given; write %.0f, or int(x) for the whole part"
    ),
    ("'%d'.format(['x'])", "the clause '%d' takes an int, and a string was given; %s takes any value"),
    ("'%f'.format(['x'])", "the clause '%f' takes a number, and a string was given"),
  ])
  func `constant formats are read when checked`(_ text: String, _ message: String) {
    #expect(outcome(text) == "checked: \(message)")
  }

  @Test func `formats that are computed fail when they run`() {
    #expect(outcome("f.format([1])", ["f": "%s and %s"]) == "ran: the format has 2 clauses and the list 1 value")
    #expect(
      outcome("f.format([b'\\xff'])", ["f": "%s"])
        == "ran: the bytes for '%s' aren't valid UTF-8; write %x for their digits")
  }

  // MARK: regex

  @Test(arguments: [
    ("regex.replace('banana', 'a', 'x', 0)", "'banana'"), ("regex.replace('abc', '', '-')", "'-a-b-c-'"),
    ("regex.replace('©x', 'x*', '-')", "'-©-'"), ("regex.replace('ab', '(a)(b)', r'\\2\\1\\0')", "'baab'"),
    ("regex.replace('a.b', r'\\.', r'\\\\')", "'a\\b'"), ("regex.replace('ab', '(x)?b', r'[\\1]')", "'a[]'"),
    ("regex.extract('abc', 'x')", "optional.none()"), ("regex.extract('abc', '(x)?c')", "optional.none()"),
    ("regex.extract('abc', 'b(.?)')", "optional.of('c')"), ("regex.extractAll('abab', 'a')", "['a', 'a']"),
    ("regex.extractAll('abc', 'x')", "[]"), ("regex.extractAll('e\\u0301', '.').size()", "2"),
  ])
  func `matches with RE2`(_ text: String, _ result: String) {
    #expect(outcome(text) == result)
  }

  @Test(arguments: [
    ("regex.replace('a', '(', '')", "checked: the pattern cannot be read: missing ): ("),
    (
      "regex.extract('a', '(a)(b)')",
      "checked: the pattern has 2 groups, and only one can be extracted; write (?:…) for the others"
    ),
    ("regex.replace('a', '(a)', r'\\2')", "checked: the replacement names group \\2, and the pattern has 1 group"),
    (
      "regex.replace('a', 'a', r'\\n')",
      "checked: the replacement has a backslash without a group; write \\1 to \\9, or \\\\ for a backslash"
    ),
  ])
  func `constant patterns are read when checked`(_ text: String, _ message: String) {
    #expect(outcome(text) == message)
  }
}
