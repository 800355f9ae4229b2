import Basics

// Our own library `stats`, over lists of int or of double. An empty list has no mean, which is an error; its sum is 0.
//
// Ints are added exactly, and doubles by their displayed decimals (`DecimalSum`), so ten times 0.1 is 1.0. The standard
// deviation is the sample's (divided by n - 1, like STDEV in spreadsheets). A percentile interpolates linearly between
// two items (like PERCENTILE.INC in spreadsheets and NumPy).

let statisticsFunctions: [FunctionDeclaration] =
  measure("mean", "The arithmetic mean.", "stats.mean([80, 90, 75]) > 81.6", mean)
  + measure("median", "The middle value, or the mean of the two in the middle.", "stats.median([3, 1, 2]) == 2.0") {
    percentile($0, 50)
  }
  + measure(
    "stddev", "The standard deviation of a sample (divided by n - 1).", "stats.stddev([2, 4, 4, 4, 5, 5, 7, 9]) > 2.1",
    atLeast: 2
  ) { numbers in
    let center = mean(numbers)
    return (sum(numbers.map { ($0 - center) * ($0 - center) }) / Double(numbers.count - 1)).squareRoot()
  }
  + extremes("min", "The smallest number.", "stats.min([3, 1, 2]) == 1", .less)
  + extremes("max", "The largest number.", "stats.max([3, 1, 2]) == 3", .greater)
  + [
    FunctionDeclaration(
      "stats.sum", parameters: [.list(.int)], result: .int, summary: "The sum; 0 for an empty list.",
      example: "stats.sum([1, 2, 3]) == 6"
    ) { arguments, context throws(EvaluationError) in
      let list = try arguments.list(0)
      try context.charge(steps: list.count >> 2)
      var total = 0
      for index in list.indices {
        let (sum, overflow) = total.addingReportingOverflow(try integer(list[index], index))
        guard !overflow else {
          throw EvaluationError("the sum of the \(counted(list.count, "item")) is too large for an int")
        }
        total = sum
      }
      return .int(total)
    },
    FunctionDeclaration(
      "stats.sum", parameters: [.list(.double)], result: .double, summary: "The sum; 0.0 for an empty list.",
      example: "stats.sum([0.1, 0.2, 0.3]) == 0.6"
    ) { arguments, context throws(EvaluationError) in .double(sum(try numbers(arguments.list(0), &context))) },
  ]
  + percentiles
  + [
    FunctionDeclaration(
      "stats.round", parameters: [.double, .int], result: .double,
      summary:
        "The number rounded to the given number of decimals, halves away from zero, as people round; -1 rounds to tens.",
      example: "stats.round(2.675, 2) == 2.68"
    ) { arguments, _ throws(EvaluationError) in .double(rounded(try arguments.double(0), places: try arguments.int(1)))
    },
    FunctionDeclaration(
      "stats.round", parameters: [.double], result: .double,
      summary: "The nearest whole number, halves away from zero.", example: "stats.round(2.5) == 3.0"
    ) { arguments, _ throws(EvaluationError) in .double(rounded(try arguments.double(0), places: 0)) },
  ]

/// A number rounded by its shortest decimal form, as people see it: 2.675 counts as a half, though the double is a little
/// less.
func rounded(_ number: Double, places: Int) -> Double {
  guard number.isFinite, number != 0 else { return number }
  let (digits, point) = shortestDigits(number.magnitude)
  let (kept, overflow) = point.addingReportingOverflow(places)
  guard !overflow else { return places > 0 ? number : 0 }
  // All digits are kept, or all are cut and the number isn't near a half.
  guard kept < digits.utf8.count else { return number }
  guard kept >= 0 else { return 0 }
  var result = Array(digits.utf8.prefix(kept))
  var carry = Array(digits.utf8)[kept] >= UInt8(ascii: "5")
  var index = kept - 1
  while carry, index >= 0 {
    carry = result[index] == UInt8(ascii: "9")
    result[index] = carry ? ASCII.zero : result[index] + 1
    index -= 1
  }
  let whole = (carry ? "1" : "") + String(decoding: result, as: UTF8.self)
  let magnitude = Double((whole.isEmpty ? "0" : whole) + "e\(point - kept)") ?? number.magnitude
  // A number may round up beyond the largest double.
  guard magnitude.isFinite else { return number }
  return number < 0 && magnitude != 0 ? -magnitude : magnitude
}

// MARK: Declarations

private func measure(
  _ name: String, _ summary: String, _ example: String, atLeast count: Int = 1,
  _ compute: @escaping @Sendable ([Double]) -> Double
) -> [FunctionDeclaration] {
  [ValueType.int, .double].map { type in
    FunctionDeclaration(
      "stats.\(name)", parameters: [.list(type)], result: .double, summary: summary,
      example: type == .int ? example : ""
    ) { arguments, context throws(EvaluationError) in
      let numbers = try numbers(arguments.list(0), &context)
      guard numbers.count >= count else { throw tooFew(name, numbers.count, count) }
      return .double(compute(numbers))
    }
  }
}

private func extremes(_ name: String, _ summary: String, _ example: String, _ wanted: Order) -> [FunctionDeclaration] {
  [ValueType.int, .double].map { type in
    FunctionDeclaration(
      "stats.\(name)", parameters: [.list(type)], result: type, summary: summary, example: type == .int ? example : ""
    ) { arguments, context throws(EvaluationError) in
      let list = try arguments.list(0)
      _ = try numbers(list, &context)
      guard var best = list.first else { throw tooFew(name, 0, 1) }
      for number in list where order(number, best) == wanted { best = number }
      return best
    }
  }
}

private let percentiles: [FunctionDeclaration] = [ValueType.int, .double].flatMap { type in
  [ValueType.int, .double].map { rank in
    FunctionDeclaration(
      "stats.percentile", parameters: [.list(type), rank], result: .double,
      summary:
        "The value that exceeds the given percentage of the numbers, from 0 (the smallest) to 100 (the largest).",
      example: type == .int && rank == .int ? "stats.percentile([10, 20, 30, 40, 50], 90) == 46.0" : "",
      literalCheck: { constants in
        guard let rank = constants[1].map(double), !(0...100).contains(rank) else { return nil }
        return LiteralFault(argument: 1, "a percentile is from 0 to 100, and this is \(written(rank))")
      }
    ) { arguments, context throws(EvaluationError) in
      let numbers = try numbers(arguments.list(0), &context)
      let rank = double(arguments[1])
      guard (0...100).contains(rank) else {
        throw EvaluationError("a percentile is from 0 to 100, and this is \(written(rank))")
      }
      guard !numbers.isEmpty else { throw tooFew("percentile", 0, 1) }
      return .double(percentile(numbers, rank))
    }
  }
}

private func tooFew(_ name: String, _ count: Int, _ wanted: Int) -> EvaluationError {
  EvaluationError(
    count == 0
      ? "stats.\(name)() of an empty list has no value; test its size() first, as in `if: marks.size() > 0`"
      : "stats.\(name)() needs \(wanted) numbers or more, and the list has \(count)")
}

// MARK: Numbers

private func integer(_ value: Value, _ index: Int) throws(EvaluationError) -> Int {
  if case .int(let number) = value.content { return number }
  throw EvaluationError("item \(index) is \(value.kindName), and all must be ints; write int(x) or double(x) for them")
}

private func double(_ value: Value) -> Double {
  switch value.content {
  case .int(let number): Double(number)
  case .double(let number): number
  default: .nan
  }
}

private func numbers(_ list: [Value], _ context: inout EvaluationContext) throws(EvaluationError) -> [Double] {
  try context.charge(steps: list.count >> 2)
  try context.charge(bytes: list.count * MemoryLayout<Double>.stride)
  for (index, value) in list.enumerated() {
    switch value.content {
    case .int, .double: continue
    default: throw EvaluationError("item \(index) is \(value.kindName), and all must be numbers")
    }
  }
  return list.map(double)
}

@Sendable private func mean(_ numbers: [Double]) -> Double {
  DecimalSum(numbers)?.divided(by: numbers.count) ?? sum(numbers) / Double(numbers.count)
}

private func sum(_ numbers: [Double]) -> Double {
  if let decimal = DecimalSum(numbers) { return decimal.divided(by: 1) }
  var total = 0.0
  var lost = 0.0
  for number in numbers {
    let next = total + number
    lost += total.magnitude >= number.magnitude ? (total - next) + number : (number - next) + total
    total = next
  }
  // An infinite sum needs no correction.
  return total.isFinite ? total + lost : total
}

private func percentile(_ numbers: [Double], _ rank: Double) -> Double {
  // NaN can't be ordered, so the result is NaN too.
  guard !numbers.contains(where: \.isNaN) else { return .nan }
  let sorted = numbers.sorted()
  let place = rank / 100 * Double(sorted.count - 1)
  let below = min(max(Int(place), 0), sorted.count - 1)
  let above = min(below + 1, sorted.count - 1)
  let share = place - Double(below)
  if share == 0.5 { return mean([sorted[below], sorted[above]]) }
  return share == 0 ? sorted[below] : sorted[below] + (sorted[above] - sorted[below]) * share
}
