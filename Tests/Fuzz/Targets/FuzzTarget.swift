import ActionKit
import Basics
import Calendars
import Expressions
import Foundation
import HTTPClient
import HTTPTypes
import OpenAPIPlugins
import PluginLocks
import Recipes
import YAMLReader

/// The code that an input is passed to, and the properties that must hold.
enum FuzzTarget: String, CaseIterable {
  /// The lexer, the parser and the checker: every fault lies within the text and says something.
  case check
  /// The evaluator with and without the checker before it: the same values give the same result, or the same error.
  case evaluate
  /// The templates of recipes: their segments cover the text, and an expression that checks can be evaluated.
  case template
  /// The reader of YAML: faults lie within the text, and so does every part of every scalar.
  case yaml
  /// The reader of JSON: a value that was read, written, and read again is the same.
  case json
  /// Cron's fields: faults lie within the text, and an expression without faults is due at increasing instants.
  case cron
  /// Whole recipes: faults lie within the text, and the same text has the same ones.
  case recipe
  /// A server's answers: fields, dates, encodings, and a cache's reading of them.
  case answer
  /// OpenAPI documents: every action of a lock made from one can be read.
  case document

  private static let variables: [(name: String, type: ValueType, value: Value)] = {
    let item = ObjectType(
      "item",
      fields: [.init("id", .int), .init("name", .string), .init("mark", .double, isOptional: true)])
    let first = Value.object(["id": .int(1), "name": .string("añ😀"), "mark": .double(0.5)])
    let second = Value.object(["id": .int(-7), "name": .string("")])
    return [
      ("n", .int, .int(3)), ("u", .uint, .uint(4)), ("d", .double, .double(-1.5)), ("s", .string, .string("a,b;ä")),
      ("b", .bool, .bool(true)), ("y", .bytes, .bytes([0, 255, 65])),
      ("now", .timestamp, .timestamp(.latest)),
      ("every", .duration, .duration(.seconds(5400))),
      ("item", .object(item), first), ("items", .list(.object(item)), .list([first, second])),
      ("counts", .map(.string, .int), .object(["k": .int(1), "l": .int(2)])),
      ("any", .dyn, .list([.null, .string("1"), first])),
    ]
  }()
  private static let values = variables.map(\.value)
  /// Small enough that no input takes long.
  private static let limits = EvaluationLimits(steps: 20_000, bytes: 1 << 20)

  private static func scope(_ rules: ExpressionScope.Rules) -> ExpressionScope {
    var scope = ExpressionScope(rules: rules)
    for variable in variables { scope.declare(variable.name, variable.type) }
    return scope
  }
  private static let scopes = [scope(.sound), scope(.plain), scope(.unchecked)]

  /// Takes one input of libFuzzer.
  func take(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let text = String(decoding: bytes, as: UTF8.self)
    switch self {
    case .check:
      for scope in Self.scopes {
        if case .failure(let faults) = CompiledExpression.compile(text, in: scope) {
          Self.expectPlaced(faults, in: text)
        }
      }
    case .evaluate:
      for scope in Self.scopes[..<2] {
        let isPlain = scope.rules == .plain
        let text = isPlain ? text : Self.withoutIntLiterals(bytes)
        guard case .success(let unchecked) = CompiledExpression.compile(text, in: Self.scopes[2]),
          case .success(let checked) = CompiledExpression.compile(text, in: scope)
        else { continue }
        Self.expectSame(checked, unchecked, isPlain: isPlain, text)
      }
    case .template:
      for template in [Template.parse(text), Template.parseExpression(text)] {
        switch template {
        case .failure(let faults): Self.expectPlaced(faults, in: text)
        case .success(let template):
          switch template.compile(in: Self.scopes[0]) {
          case .failure(let faults): Self.expectPlaced(faults, in: text)
          case .success(let compiled): _ = try? compiled.evaluate(Self.values, limits: Self.limits)
          }
        }
      }
    case .yaml: Self.read(yaml: Source(name: "a.yaml", bytes: bytes))
    case .json: Self.read(json: bytes)
    case .cron: Self.read(cron: text)
    case .recipe:
      let source = Source(name: "a.yaml", bytes: bytes)
      let first = Recipe.check(source, in: Self.environment).diagnostics
      Self.expectPlaced(first, in: bytes.count)
      let second = Recipe.check(source, in: Self.environment).diagnostics
      precondition(
        Diagnostics(first).rendered() == Diagnostics(second).rendered(), "two checks of one recipe say different things"
      )
    case .answer: Self.read(answer: bytes)
    case .document: Self.read(document: bytes)
    }
    return 0
  }

  private static func read(document bytes: [UInt8]) {
    guard
      let lock = try? OpenAPIKind.lock(
        name: "made", document: bytes, source: "made.yaml", only: [], effects: [:], file: "made"),
      let written = try? lock.written()
    else { return }
    guard let read = try? PluginLock(reading: written, of: "made") else {
      preconditionFailure("a lock that was written can't be read")
    }
    let plugin = PluginDescriptor(LockedPlugin(read, OpenAPIKind.self))
    precondition(plugin.actions.count == plugin.actionNames.count, "an action of a lock can't be read")
    _ = OpenAPIKind.connectionSketch(read)
  }

  /// Every fault has a message and lies within the text.
  private static func expectPlaced(_ faults: ExpressionError, in text: String) {
    precondition(!faults.list.isEmpty, "a text is refused without a fault")
    for fault in faults.list {
      precondition(!fault.message.isEmpty, "a fault has no message")
      precondition(
        0 <= fault.range.lowerBound && fault.range.upperBound <= text.utf8.count, "a fault lies outside the text")
    }
  }

  /// The text with sums for its int literals, which a sound check would make doubles where only a double fits.
  private static func withoutIntLiterals(_ bytes: [UInt8]) -> String {
    var made: [UInt8] = []
    var digits: [UInt8] = []
    var isInWord = false
    for byte in bytes + [ASCII.space] {
      let isDigit = ASCII.digits.contains(byte)
      if isDigit, !isInWord {
        digits.append(byte)
        continue
      }
      let isOfWord = isDigit || ASCII.lowercase.contains(byte | 0x20) || byte == ASCII.underscore || byte == ASCII.dot
      made += digits.isEmpty || isOfWord ? digits : Array("(0+".utf8) + digits + Array(")".utf8)
      digits = []
      made.append(byte)
      isInWord = isOfWord
    }
    return String(decoding: made.dropLast(), as: UTF8.self)
  }

  /// Checks that the checker's decisions don't change a result: an expression that checks gives the same result
  /// unchecked.
  ///
  /// A sound check reads a null in an optional field as an absent one, so only values are compared for such an
  /// expression. An expression that checks never fails because of a type, unless a value comes in whose type nothing
  /// checks.
  private static func expectSame(
    _ checked: CompiledExpression, _ unchecked: CompiledExpression, isPlain: Bool, _ text: String
  ) {
    func outcome(_ program: CompiledExpression) -> (value: String?, error: EvaluationError?) {
      do throws(EvaluationError) { return ("\(try program.evaluate(values, limits: limits))", nil) } catch {
        return (nil, error)
      }
    }
    let (one, other) = (outcome(checked), outcome(unchecked))
    if let error = one.error, !isPlain, !text.contains("any"), !text.contains("parse") {
      for words in [" is needed here, and ", " does not take ", " has no fields", " has no items or keys"] {
        precondition(!error.message.contains(words), "it was checked, and fails for a type: \(error.message)")
      }
    }
    // An expression that is computed during the check costs nothing during evaluation.
    if [one, other].contains(where: { $0.error?.isLimit == true }) { return }
    if !isPlain, one.value == nil || other.value == nil { return }
    precondition(
      one.value == other.value, "checked it is \(one.value ?? "an error"), unchecked \(other.value ?? "an error")")
  }

  private static func expectPlaced(_ faults: [Diagnostic], in size: Int) {
    for fault in faults {
      precondition(!fault.message.isEmpty, "a fault has no message")
      guard let range = fault.location?.range else { continue }
      precondition(0 <= range.lowerBound && range.upperBound <= size, "a fault lies outside the text")
    }
    _ = Diagnostics(faults).rendered()
  }

  private static func read(yaml source: Source) {
    do throws(Diagnostics) {
      let document = try YAMLReader.read(source)
      expectPlaced(document.diagnostics, in: source.bytes.count)
      look(at: document.root, in: document)
    } catch {
      expectPlaced(error.list, in: source.bytes.count)
    }
  }

  private static func look(at value: Value, in document: YAMLDocument) {
    let size = document.source.bytes.count
    precondition(document.range(of: value).upperBound <= size, "a value ends outside the text")
    switch value.content {
    case .string(let text):
      guard let scalar = document.scalar(at: value.place) else { return }
      let count = text.utf8.count
      let parts = [0..<count, count..<count, count / 2..<count, 0..<min(1, count)]
      for (part, together) in zip(parts, scalar.locations(of: parts)) {
        let alone = scalar.location(of: part).range
        precondition(alone == together.range, "a place depends on what is asked with it")
        precondition(scalar.range.lowerBound <= alone.lowerBound && alone.upperBound <= size, "a part lies outside")
      }
    case .list(let items): for item in items { look(at: item, in: document) }
    case .map(let map):
      for member in map.members {
        look(at: member.key, in: document)
        look(at: member.value, in: document)
      }
    default: break
    }
  }

  private static func read(json bytes: [UInt8]) {
    guard let value = try? JSON.parse(bytes) else { return }
    for style in [JSON.Style.compact, .prettySorted] {
      guard let written = try? JSON.write(value, style) else {
        // A number that is too large for a double is read as an infinite one, which JSON can't say.
        precondition(JSON.displayed(value).contains("Infinity"), "what was read cannot be written")
        return
      }
      precondition((try? JSON.parse(written)) == value, "what was written is read as something else")
    }
    precondition((try? JSON.text(value)) == JSON.displayed(value), "what can be written is shown as something else")
  }

  private static func read(cron text: String) {
    for form in [CronExpression.Form.cron, .calendar] {
      let (expression, faults) = CronExpression.parse(text, as: form)
      for fault in faults {
        precondition(
          0 <= fault.range.lowerBound && fault.range.upperBound <= text.utf8.count, "a fault lies outside the text")
      }
      guard let expression else {
        precondition(!faults.isEmpty, "a text is refused without a fault")
        continue
      }
      let recurrence = Recurrence(.cron(expression), zone: .utc)
      guard recurrence.isEverDue else { continue }
      var instant = Timestamp(seconds: 1_795_165_200) ?? .earliest
      for _ in 0..<3 {
        guard let next = recurrence.next(after: instant) else { break }
        precondition(next > instant, "what is due comes no later than what was due before")
        instant = next
      }
    }
  }

  private static let environment = RecipeEnvironment(catalog: ActionCatalog([])) { path throws(FileError) in
    throw FileError(.read, path, .system(2))
  }

  /// A status, lines of fields, an empty line and the body, which answer two requests through a cache.
  private static func read(answer bytes: [UInt8]) {
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    let status = lines.first.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 200
    let head = lines.dropFirst().prefix { !$0.isEmpty }
    let fields = head.map { line in
      let parts = line.split(separator: 0x3A, maxSplits: 1)
      return HTTPHeaders.Field(
        String(decoding: parts.first ?? [], as: UTF8.self),
        String(decoding: parts.dropFirst().first ?? [], as: UTF8.self))
    }
    for field in fields {
      if let instant = HTTPDate.read(field.value) {
        precondition(HTTPDate.read(HTTPDate.text(instant)) == instant, "a date is read as another")
      }
      _ = HTTPQuery(decoding: field.value)
      _ = HTTPURL(field.value)
    }
    let body = Array(lines.dropFirst(head.count + 2).joined(separator: [0x0A]))
    let transport = ScriptedTransport(
      (0..<2).map { _ in
        .on("GET", "https://a.example/…") { request throws(HTTPError) in
          HTTPResponse(status: status, headers: HTTPHeaders(fields), body: body, url: request.url)
        }
      })
    let done = DispatchSemaphore(value: 0)
    Task {
      let client = HTTPClient(transport: transport)
      let cache = HTTPCache(folder: nil)
      for _ in 0..<2 {
        let answer = try? await client.send(HTTPRequest("GET", "https://a.example/x"), through: cache)
        _ = try? answer?.response.json()
      }
      done.signal()
    }
    done.wait()
  }
}
