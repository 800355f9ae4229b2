import Basics
import Expressions
import Testing

@Suite struct NumberLibraryTests {
  @Test(arguments: [
    ("math.greatest([1, 5, 3])", "5"), ("math.least(1.5, -2.0)", "-2.0"), ("math.greatest(1, 2.5, 2u)", "2.5"),
    ("string(math.sign(-0.0))", "'0'"), ("math.least([3, 2.5])", "2.5"),
    ("math.bitShiftRight(-1, 1)", "9223372036854775807"),
    ("math.round(2.5)", "3.0"), ("math.round(-0.4) == 0.0", "true"), ("math.sqrt(-1.0) == math.sqrt(-1.0)", "false"),
    ("[1, 2, 3, 4, 5].slice(0, 0)", "[]"), ("lists.range(0)", "[]"), ("[[1], [2, 3]].flatten()", "[1, 2, 3]"),
    ("[3, 1, 2].sort()", "[1, 2, 3]"), ("[true, false].sort()", "[false, true]"),
    ("['b', 'a', '©', 'B'].sort()", "['B', 'a', 'b', '©']"),
    ("[[1], [2], [1]].distinct()", "[[1], [2]]"), ("[1.5, 2.0, 1.5].distinct()", "[1.5, 2.0]"),
    ("['e\\u0301', '\\u00e9'].distinct().size()", "2"), ("sets.contains([1, 2], [])", "true"),
    ("sets.contains([], [1])", "false"),
    ("sets.intersects([[1]], [[2], [1]])", "true"), ("sets.equivalent(['a', 'b'], ['b', 'a', 'a'])", "true"),
    ("sets.contains([{'a': 1}], [{'a': 1}])", "true"),
    ("base64.decode('aGk') == b'hi'", "true"),
  ])
  func `computes`(_ text: String, _ result: String) {
    #expect(outcome(text) == result)
  }

  @Test(arguments: [
    // The shortest decimal form counts, a half goes away from zero.
    (2.675, 2, 2.68), (1.005, 2, 1.01), (0.285, 2, 0.29), (-2.5, 0, -3.0), (0.5, 0, 1.0), (0.49999999999999994, 0, 0.0),
    (9.995, 2, 10.0), (99.5, 0, 100.0), (1234.5, -2, 1200.0), (1250.0, -2, 1300.0), (55.0, -2, 100.0), (44.0, -2, 0.0),
    (44.0, -5, 0.0), (100.0, 0, 100.0), (1e22, 2, 1e22), (1.5e-10, 10, 2e-10), (0.004, 2, 0.0), (0.005, 2, 0.01),
    (.leastNonzeroMagnitude, 400, .leastNonzeroMagnitude), (.greatestFiniteMagnitude, -308, .greatestFiniteMagnitude),
    (123.456, 9_223_372_036_854_775_807, 123.456),
  ])
  func `rounds as people do`(_ number: Double, _ places: Int, _ expected: Double) throws {
    var scope = ExpressionScope()
    scope.declare("x", .double)
    scope.declare("n", .int)
    let program = try CompiledExpression.compile("stats.round(x, n)", in: scope).get()
    #expect(try program.evaluate([.double(number), .int(places)]) == .double(expected))
  }

  @Test(arguments: [
    ("stats.sum([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])", "1.0"),
    ("stats.sum([1e100, 1.0, -1e100])", "1.0"),
    ("stats.mean([1, 2])", "1.5"), ("stats.median([5.0, 1.0, 4.0, 2.0])", "3.0"),
    // As doubles, the first is 28.349999999999998 and rounds to 28.3.
    ("stats.mean([0.0, 45.0, 40.05])", "28.35"), ("stats.round(stats.mean([0.0, 45.0, 40.05]), 1)", "28.4"),
    ("stats.mean([-0.1, 0.00012, 12345678.9])", "4115226.2667066664"), ("stats.median([1.1, 2.2])", "1.65"),
    ("stats.stddev([1, 2, 3, 4])", "1.2909944487358056"),
    ("stats.percentile([1, 2, 3, 4], 50)", "2.5"), ("stats.percentile([15.0, 20.0, 35.0, 40.0, 50.0], 40.0)", "29.0"),
    ("stats.percentile([7], 100)", "7.0"), ("stats.min([2.5, 1.5])", "1.5"), ("stats.max(['a'].map(x, 3))", "3"),
    ("stats.round(-0.2)", "0.0"), ("stats.sum(json.parse('[1.5, 2.5]'))", "4.0"),
    ("stats.sum([1, 2].filter(x, x > 5))", "0"),
  ])
  func `measures lists`(_ text: String, _ result: String) {
    #expect(outcome(text) == result)
  }

  @Test(arguments: [
    (
      "stats.mean([1].filter(x, x > 1))",
      "ran: stats.mean() of an empty list has no value; test its size() first, as in `if: marks.size() > 0`"
    ),
    (
      "stats.max([1.0].filter(x, x > 1.0))",
      "ran: stats.max() of an empty list has no value; test its size() first, as in `if: marks.size() > 0`"
    ),
    ("stats.stddev([1].map(x, x))", "ran: stats.stddev() needs 2 numbers or more, and the list has 1"),
    ("stats.sum([9223372036854775807].map(x, x) + [1])", "ran: the sum of the 2 items is too large for an int"),
    ("stats.percentile([1].map(x, x), 101)", "checked: a percentile is from 0 to 100, and this is 101"),
    ("lists.range(size('abc') - 4)", "checked: lists.range() takes 0 or more, and -1 was given"),
    ("[1, 2].map(x, x).slice(1, 3)", "ran: slice() to index 3 is outside the list of 2 items"),
    ("base64.decode('a*')", "checked: 'a*' isn't base64"),
  ])
  func `says what the data did not allow`(_ text: String, _ message: String) {
    #expect(outcome(text) == message)
  }
}
