import Basics

/// CEL's library `math`, as cel-go documents it.
let mathFunctions: [FunctionDeclaration] =
  extremes("greatest", "largest", "math.greatest(3, 10, 1) == 10", .greater)
  + extremes("least", "smallest", "math.least(3, 10, 1) == 1", .less)
  + [
    rounding("ceil", "The next whole number at or above.", "math.ceil(1.2) == 2.0", .up),
    rounding("floor", "The next whole number at or below.", "math.floor(-1.2) == -2.0", .down),
    rounding(
      "round", "The nearest whole number, halves away from zero; `stats.round` takes decimals.",
      "math.round(-1.5) == -2.0", .toNearestOrAwayFromZero),
    rounding("trunc", "The whole part.", "math.trunc(-1.8) == -1.0", .towardZero),

    FunctionDeclaration(
      "math.abs", parameters: [.int], result: .int, summary: "The number without its sign.",
      example: "math.abs(-11) == 11"
    ) { arguments, _ throws(EvaluationError) in
      let number = try arguments.int(0)
      guard number != .min else { throw EvaluationError("math.abs(\(number)) is too large for an int") }
      return .int(abs(number))
    },
    FunctionDeclaration(
      "math.abs", parameters: [.uint], result: .uint, summary: "The number itself."
    ) { arguments, _ throws(EvaluationError) in .uint(try arguments.uint(0)) },
    FunctionDeclaration(
      "math.abs", parameters: [.double], result: .double, summary: "The number without its sign."
    ) { arguments, _ throws(EvaluationError) in .double(try arguments.double(0).magnitude) },

    FunctionDeclaration(
      "math.sign", parameters: [.int], result: .int, summary: "-1, 0 or 1.", example: "math.sign(-42) == -1"
    ) { arguments, _ throws(EvaluationError) in .int(try arguments.int(0).signum()) },
    FunctionDeclaration(
      "math.sign", parameters: [.uint], result: .uint, summary: "0 or 1."
    ) { arguments, _ throws(EvaluationError) in .uint(try arguments.uint(0) == 0 ? 0 : 1) },
    FunctionDeclaration(
      "math.sign", parameters: [.double], result: .double, summary: "-1.0, 0.0, 1.0, or NaN for NaN."
    ) { arguments, _ throws(EvaluationError) in
      let number = try arguments.double(0)
      return .double(number > 0 ? 1 : number < 0 ? -1 : number.isNaN ? number : 0)
    },

    FunctionDeclaration(
      "math.sqrt", parameters: [.double], result: .double, summary: "The square root; NaN for a negative number.",
      example: "math.sqrt(81.0) == 9.0"
    ) { arguments, _ throws(EvaluationError) in .double(try arguments.double(0).squareRoot()) },
    FunctionDeclaration(
      "math.sqrt", parameters: [.int], result: .double, summary: "The square root; NaN for a negative number.",
      example: "math.sqrt(2) > 1.41"
    ) { arguments, _ throws(EvaluationError) in .double(Double(try arguments.int(0)).squareRoot()) },
    FunctionDeclaration(
      "math.sqrt", parameters: [.uint], result: .double, summary: "The square root."
    ) { arguments, _ throws(EvaluationError) in .double(Double(try arguments.uint(0)).squareRoot()) },

    asking("isNaN", "Whether the value is NaN, such as 0.0 / 0.0.", "math.isNaN(0.0 / 0.0)") { $0.isNaN },
    asking("isInf", "Whether the value is infinite, such as 1.0 / 0.0.", "math.isInf(1.0 / 0.0)") { $0.isInfinite },
    asking("isFinite", "Whether the value is a number and not infinite.", "math.isFinite(1.5)") { $0.isFinite },
  ]
  + bits("bitAnd", "The bits that are set in both.", "math.bitAnd(3, 5) == 1") { $0 & $1 }
  + bits("bitOr", "The bits that are set in either.", "math.bitOr(1, 2) == 3") { $0 | $1 }
  + bits("bitXor", "The bits that are set in exactly one of them.", "math.bitXor(3, 5) == 6") { $0 ^ $1 }
  + [
    FunctionDeclaration(
      "math.bitNot", parameters: [.int], result: .int, summary: "Every bit inverted.",
      example: "math.bitNot(1) == -2"
    ) { arguments, _ throws(EvaluationError) in .int(~(try arguments.int(0))) },
    FunctionDeclaration(
      "math.bitNot", parameters: [.uint], result: .uint, summary: "Every bit inverted."
    ) { arguments, _ throws(EvaluationError) in .uint(~(try arguments.uint(0))) },
  ]
  // Swift's smart shifts return 0 for 64 places and more, and they fill unsigned numbers with 0.
  + shifts("bitShiftLeft", "The bits shifted to the left.", "math.bitShiftLeft(1, 2) == 4") { $0 << $1 }
  + shifts(
    "bitShiftRight", "The bits shifted to the right; zeros replace them, also in a negative number.",
    "math.bitShiftRight(1024, 2) == 256"
  ) { $0 >> $1 }

private func extremes(_ name: String, _ word: String, _ example: String, _ wanted: Order) -> [FunctionDeclaration] {
  @Sendable func pick(_ numbers: [Value], _ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    try context.charge(steps: numbers.count)
    guard var best = numbers.first else {
      throw EvaluationError("math.\(name)() of an empty list has no value; test its size() first")
    }
    for (index, number) in numbers.enumerated() {
      switch number.content {
      case .int, .uint, .double: if order(number, best) == wanted { best = number }
      default: throw EvaluationError("math.\(name)() compares numbers, and item \(index) is \(number.kindName)")
      }
    }
    return best
  }
  let numbers: [ValueType] = [.int, .double, .uint, .mixed([.int, .double, .uint])]
  return numbers.map { type in
    FunctionDeclaration(
      "math.\(name)", parameters: [type], isVariadic: true, result: type,
      summary: type.mixedParts == nil ? "The \(word) of the numbers." : "The \(word) of numbers of several kinds.",
      example: type == .int ? example : ""
    ) { arguments, context throws(EvaluationError) in
      // A single list that the checker sees as `dyn` is replaced by its items.
      if arguments.count == 1, case .list(let items) = arguments[0].content { return try pick(items, &context) }
      return try pick(arguments.dropping(), &context)
    }
  }
    + numbers.map { type in
      FunctionDeclaration(
        "math.\(name)", parameters: [.list(type)], result: type, summary: "The \(word) of a list's numbers."
      ) { arguments, context throws(EvaluationError) in try pick(arguments.list(0), &context) }
    }
}

private func rounding(
  _ name: String, _ summary: String, _ example: String, _ rule: FloatingPointRoundingRule
) -> FunctionDeclaration {
  FunctionDeclaration(
    "math.\(name)", parameters: [.double], result: .double, summary: summary, example: example
  ) { arguments, _ throws(EvaluationError) in .double(try arguments.double(0).rounded(rule)) }
}

private func asking(
  _ name: String, _ summary: String, _ example: String, _ test: @escaping @Sendable (Double) -> Bool
) -> FunctionDeclaration {
  FunctionDeclaration(
    "math.\(name)", parameters: [.double], result: .bool, summary: summary, example: example
  ) { arguments, _ throws(EvaluationError) in .bool(test(try arguments.double(0))) }
}

private func bits(
  _ name: String, _ summary: String, _ example: String, _ combine: @escaping @Sendable (UInt, UInt) -> UInt
) -> [FunctionDeclaration] {
  [
    FunctionDeclaration(
      "math.\(name)", parameters: [.int, .int], result: .int, summary: summary, example: example
    ) { arguments, _ throws(EvaluationError) in
      let bits = combine(UInt(bitPattern: try arguments.int(0)), UInt(bitPattern: try arguments.int(1)))
      return .int(Int(bitPattern: bits))
    },
    FunctionDeclaration(
      "math.\(name)", parameters: [.uint, .uint], result: .uint, summary: summary
    ) { arguments, _ throws(EvaluationError) in .uint(combine(try arguments.uint(0), try arguments.uint(1))) },
  ]
}

private func shifts(
  _ name: String, _ summary: String, _ example: String, _ shift: @escaping @Sendable (UInt, Int) -> UInt
) -> [FunctionDeclaration] {
  @Sendable func places(_ arguments: Arguments) throws(EvaluationError) -> Int {
    let places = try arguments.int(1)
    guard places >= 0 else {
      throw EvaluationError("math.\(name)() moves by 0 places or more, and \(places) was given")
    }
    return places
  }
  return [
    FunctionDeclaration(
      "math.\(name)", parameters: [.int, .int], result: .int, summary: summary, example: example
    ) { arguments, _ throws(EvaluationError) in
      .int(Int(bitPattern: shift(UInt(bitPattern: try arguments.int(0)), try places(arguments))))
    },
    FunctionDeclaration(
      "math.\(name)", parameters: [.uint, .int], result: .uint, summary: summary
    ) { arguments, _ throws(EvaluationError) in .uint(shift(try arguments.uint(0), try places(arguments))) },
  ]
}
