import Basics
import Expressions
import Foundation

/// Compares expressions with other implementations of CEL that Python can import.
///
/// The peers are C++ (`cel-expr-python`), Rust (`common-expression-language`, which has no checker) and Python
/// (`cel-python`), called from Python, as their users do: each of their figures includes that call, which counts for
/// little where the expression goes through many items. To install them: `python3 -m venv V && V/bin/pip install
/// cel-expr-python common-expression-language cel-python`, then set `ERRAND_PYTHON=V/bin/python`.
struct ExpressionPeers {
  /// One measurement of ours, and its name in the peers' program.
  private struct Case {
    let name: String
    let what: String
    let run: () throws -> Double
  }

  func rows() throws -> [Row] {
    let peers = try measuredPeers()
    var rows: [Row] = []
    for test in try cases() {
      let known = peers.filter { $0.rates[test.name] != nil }
      if known.isEmpty { continue }
      let ours = try test.run()
      for peer in known {
        guard let theirs = peer.rates[test.name] else { continue }
        rows.append(
          Row(
            "\(test.what), beside a peer", ours / theirs, "×", .atLeast(1), of: "\(displayed(ours))/s",
            beside: "\(displayed(theirs))/s: \(peer.name)"))
      }
    }
    return rows
  }

  private static let text = "a.b + 1 > 2 && items.exists(x, x > 3)"
  private static let nested: String = {
    let list = "[\((1...32).map(String.init).joined(separator: ", "))]"
    return "\(list).all(x, \(list).all(y, x + y > 0))"
  }()

  private func cases() throws -> [Case] {
    var scope = ExpressionScope()
    scope.declare("a", .map(.string, .int))
    scope.declare("items", .list(.int))
    func evaluation(_ text: String, _ items: [Int]) throws -> () throws -> Double {
      let program: CompiledExpression
      switch CompiledExpression.compile(text, in: scope) {
      case .success(let compiled): program = compiled
      case .failure(let faults): throw NotMeasured(faults.list.map(\.message).joined(separator: "; "))
      }
      let values = [Value.object(["b": .int(7)]), .list(items.map { .int($0) })]
      return { 100 / (try processorSeconds { for _ in 0..<100 { _ = try program.evaluate(values) } }) }
    }
    let compiled = scope
    return [
      Case(name: "small", what: "small expression", run: try evaluation(Self.text, Array(1...5))),
      Case(
        name: "far", what: "the last of 1,001 items",
        run: try evaluation(Self.text, Array(repeating: 0, count: 1000) + [4])),
      Case(name: "nested", what: "nested loops, 32 × 32", run: try evaluation(Self.nested, [])),
      Case(
        name: "compile", what: "compile and check",
        run: { 100 / processorSeconds { for _ in 0..<100 { _ = CompiledExpression.compile(Self.text, in: compiled) } } }
      ),
    ]
  }

  // MARK: The peers

  private struct Peer: Decodable {
    let name: String
    /// Times a second, by the name of the case.
    let rates: [String: Double]
    /// Why it isn't measured.
    let missing: String?
  }

  /// Runs the peers one after the other, and says which are missing.
  private func measuredPeers() throws -> [Peer] {
    let python = ProcessInfo.processInfo.environment["ERRAND_PYTHON"] ?? "python3"
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [python, "-c", Self.program, Self.text, Self.nested]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw NotMeasured("\(python) does not run the peers") }
    let peers = try JSONDecoder().decode([Peer].self, from: text)
    for peer in peers {
      if let why = peer.missing { print("\(peer.name) is not measured: \(why) (ERRAND_PYTHON names another Python)") }
    }
    return peers
  }

  private static let program = #"""
    import json, sys, time

    SMALL, NESTED = sys.argv[1:]
    TEXTS = {"small": SMALL, "far": SMALL, "nested": NESTED}
    ITEMS = {"small": [1, 2, 3, 4, 5], "far": [0] * 1000 + [4], "nested": []}

    def rate(call):
        call()
        least, count, start = float("inf"), 1, time.process_time()
        while time.process_time() - start < 0.5:
            begin = time.process_time()
            for _ in range(count):
                call()
            taken = time.process_time() - begin
            least = min(least, taken / count)
            if taken < 0.001:
                count *= 2
        return 1 / least

    def cpp():
        from cel_expr_python import cel
        of = cel.Type
        env = cel.NewEnv(variables={"a": of.Map(of.STRING, of.INT), "items": of.List(of.INT)})
        def evaluation(text, data):
            program, activation = env.compile(text), env.Activation(data)
            assert program.eval(activation).value() is True
            return lambda: program.eval(activation)
        return evaluation, lambda: env.compile(SMALL)

    def rust():
        import cel
        def evaluation(text, data):
            program, context = cel.compile(text), cel.Context(data)
            assert program.execute(context) is True
            return lambda: program.execute(context)
        return evaluation, lambda: cel.compile(SMALL)

    def python():
        import celpy
        env = celpy.Environment()
        def evaluation(text, data):
            program = env.program(env.compile(text))
            values = {name: celpy.json_to_cel(value) for name, value in data.items()}
            assert program.evaluate(values)
            return lambda: program.evaluate(values)
        return evaluation, lambda: env.program(env.compile(SMALL))

    PEERS = {"cel-expr-python": cpp, "common-expression-language": rust, "cel-python": python}
    found = []
    for name, peer in PEERS.items():
        try:
            evaluation, compile = peer()
            rates = {case: rate(evaluation(TEXTS[case], {"a": {"b": 7}, "items": ITEMS[case]})) for case in TEXTS}
            found.append({"name": name, "rates": {**rates, "compile": rate(compile)}})
        except ImportError as error:
            found.append({"name": name, "rates": {}, "missing": str(error)})
    print(json.dumps(found))
    """#
}
