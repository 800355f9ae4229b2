import ActionKit
import ActionTestKit
import Testing

/// A plugin with every fault that a compiler doesn't find.
private enum FaultyPlugin: Plugin {
  static let name = "Faulty-plugin"
  static let summary = "does nothing well"
  static let actions: [any Action<Int>.Type] = [First.self, Second.self, Third.self]

  struct Configuration: FieldSet {
    @Field("Where it is.", .pattern(.date)) var baseURL = "tomorrow"
  }

  static func connect(_ configuration: Configuration, in context: PluginContext) async throws -> Int { 0 }

  private static let even = TextPattern(
    "an even number", regex: "^[0-9]+$", accepted: ["2", "3", "-4"], refused: ["6", "x"]
  ) { text in Int(text).map { $0.isMultiple(of: 2) } ?? false }

  enum First: PreviewingAction, KeyedAction, TimedAction {
    static let name = "do_it"
    static let summary = "Does it."
    static let effect = Effect.read
    static let timeout = TimeSpan.zero
    static let examples = [
      Example("An unknown field.", "kye: 3"), Example("Bad YAML", "key: [1"), Example("Old", "key: 1\nold: true"),
      Example("An expression", "key: ${{ steps.find.key }}"), Example("A text", "key: \"1\""),
    ]

    struct Input: FieldSet {
      @Field("The key of it.") var key: Int
      @Field("not a sentence", .pattern(even)) var text: String?
      @Field("Something old.", deprecated: "no sentence") var old: Bool?
      @Field("Numbers.") var numbers: [Int?] = []
      @Field("Too many.", .max(3)) var many = 4
      @Field("Parts of it.") var parts: [Part] = []
      var forgotten = 3
    }

    struct Part: FieldSet {
      @Field("A key.", aliases: ["Weight"]) var weight: Int
      @Field("A secret.") var secret: Secret<String>?
    }

    struct Output: FieldSet {
      @Field("A part.") var part: Part
      @Field("Whether it is in.") var `in`: Bool
    }

    static func run(_ input: Input, on service: Int, in context: ActionContext) async throws -> Output { Output() }
    static func preview(_ input: Input, on service: Int, in context: ActionContext) async throws -> [Change] { [] }
  }

  enum Second: RenamedAction, RetryingAction {
    static let name = "second"
    static let formerNames = ["do_it", "third"]
    static let summary = "Writes."
    static let effect = Effect.write
    static let retry = RetrySchedule(maxAttempts: 0, delays: .listed([]))
    static let examples: [Example] = []

    struct Input: FieldSet {}
    struct Output: FieldSet {}

    static func run(_ input: Input, on service: Int, in context: ActionContext) async throws -> Output { Output() }
  }

  enum Third: Action {
    static let name = "third"
    static let summary = "Writes\nagain."
    static let effect = Effect.idempotentWrite(within: .span(.zero))
    static let examples = [Example("Nothing", "")]

    struct Input: FieldSet {}
    struct Output: FieldSet {}

    static func run(_ input: Input, on service: Int, in context: ActionContext) async throws -> Output { Output() }
  }
}

@Suite struct PluginReviewTests {
  @Test func `finds what no compiler sees`() {
    let expected = """
      the plugin's name, 'Faulty-plugin', is not in lowerCamelCase
      the summary of the plugin is not a sentence on one line: 'does nothing well'
      Configuration, field 'baseURL': 'default.baseURL' must be a date such as 2026-11-20, but is 'tomorrow'
      the name of 'Faulty-plugin.do_it' is not in lowerCamelCase
      'Faulty-plugin.do_it' is read and offers an idempotency key, which only a write has
      'Faulty-plugin.do_it' is read and offers a preview, which only a write has
      'Faulty-plugin.do_it' has no time to run
      'Faulty-plugin.do_it', input: the property 'forgotten' is not declared with @Field
      'Faulty-plugin.do_it', input, field 'text': the text is not a sentence on one line: 'not a sentence'
      'Faulty-plugin.do_it', input, field 'text': the pattern refuses its own sample '3'
      'Faulty-plugin.do_it', input, field 'text': the pattern's regular expression refuses its own sample '-4'
      'Faulty-plugin.do_it', input, field 'text': the pattern accepts '6', which it should refuse
      'Faulty-plugin.do_it', input, field 'old': the deprecation is not a sentence on one line: 'no sentence'
      'Faulty-plugin.do_it', input, field 'numbers': a list or map cannot hold optionals
      'Faulty-plugin.do_it', input, field 'many': 'default.many' must be at most 3, but is 4
      'Faulty-plugin.do_it', input, field 'parts'[], field 'weight': 'Weight' is not in lowerCamelCase
      'Faulty-plugin.do_it', output, field 'part', field 'weight': 'Weight' is not in lowerCamelCase
      'Faulty-plugin.do_it', output, field 'part', field 'secret': an output, which is kept in the state, cannot \
      hold a secret
      'Faulty-plugin.do_it', output, field 'in': expressions cannot read a field of that name
      'Faulty-plugin.do_it', example 'An unknown field.': the title is a heading, without full stop
      'Faulty-plugin.do_it', example 'An unknown field.': 'with' has no field 'kye'; did you mean 'key'?
      'Faulty-plugin.do_it', example 'Bad YAML': example:1:6: error: this `[` is never closed; add `]`
      'Faulty-plugin.do_it', example 'Old': 'with.old' should not be given any more: no sentence
      'Faulty-plugin.do_it', example 'A text': 'with.key' must be an int, but found a string; write it without \
      quotes, 1
      two actions are or were named 'Faulty-plugin.do_it'
      'Faulty-plugin.second' is tried again, and is a write that neither accepts a key nor reconciles
      'Faulty-plugin.second' is never tried
      'Faulty-plugin.second' has no example
      two actions are or were named 'Faulty-plugin.third'
      the summary of 'Faulty-plugin.third' is not a sentence on one line: 'Writes
      again.'
      'Faulty-plugin.third' can be repeated for no time at all
      """
    #expect(faults(of: FaultyPlugin.self).joined(separator: "\n") == expected)
  }

  @Test func `reports each as an issue of the test`() {
    withKnownIssue { expectWellFormed(FaultyPlugin.self) }
  }
}
