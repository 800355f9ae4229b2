import ActionKit
import LocalFiles

enum Run: StepEffectAction, DoingAction {
  static let name = "run"
  static let summary =
    "Runs a program with arguments that no shell expands, or a script with '/bin/sh -c', and ends all processes it started."
  static let effect = Effect.write
  static let examples = [
    Example("A program", "effect: pure\nprogram: echo\narguments: [\"what it costs: $5 & more\"]"),
    Example(
      "A script, which takes values as arguments",
      "effect: idempotentWrite\nscript: mkdir -p \"$1\" && date > \"$1/stamp\"\narguments: [/tmp/errand-example]"),
    Example(
      "Standard input, and the output as lines",
      "effect: pure\nprogram: tr\narguments: [a-z, A-Z]\ninput: '[1, null, true]'\nas: lines"),
  ]

  struct Input: ValidatedFieldSet {
    @Field("The command's effect outside, which decides how the step is planned, repeated and tried again.")
    var effect: StepEffect
    @Field("A program: a path, or a name to look up in the connection's path.", .notEmpty)
    var program: String?
    @Field("A script for '/bin/sh -c'; pass values as arguments, which are its $1, $2 and so on.", .notEmpty)
    var script: String?
    @Field("The arguments of the program or script, passed as they are: nothing in them is expanded.")
    var arguments: [String] = []
    @Field("Environment variables, beside PATH, LANG and the ones that the connection lets commands inherit.")
    var environment: [String: String] = [:]
    @Field("Environment variables that hold secrets.")
    var secretEnvironment: [String: Secret<String>] = [:]
    @Field("The working folder, inside the connection's folder; absent means the connection's folder.", .notEmpty)
    var folder: String?
    @Field("The text for its standard input.", .mayHoldSecret) var input = ""
    @Field("The exit codes that mean success.", .notEmpty, .each(.range(0...255))) var expect = [0]
    @Field("The form of its output, beside the text: lines, or the value of its JSON.") var `as` = OutputForm.text
    @Field("The encoding of its output; auto means UTF-8. Invalid bytes become U+FFFD, since the command is done.")
    var encoding = ReadEncoding.auto

    func conflicts() -> [Conflict] {
      switch (program, script) {
      case (nil, nil): [Conflict("needs 'program' or 'script'")]
      case (.some, .some): [Conflict("goes without 'program'", at: "script")]
      default: []
      }
    }
  }

  struct Output: FieldSet {
    @Field("The exit code.") var exitCode: Int
    @Field("Its standard output, without line ends at the end, as in a shell's $(…).")
    var output: String
    @Field("Its standard error, likewise.") var errors: String
    @Field("The lines of the output, with 'as: lines'.") var lines: [String]?
    @Field("The value of the output, with 'as: json'.") var json: Value?
    @Field("Whether the connection let it run; in a sandbox, commands that write don't run.") var isRun: Bool
    @Field(
      "Processes that it left running and that couldn't be ended, as number and name: `4711 sudo`; absent if there are none."
    )
    var unended: [String]?
  }

  static func run(_ input: Input, on service: ShellService, in context: ActionContext) async throws -> Output {
    let folder = try await service.files.file(input.folder ?? ".", in: context).openedFolder()
    let command = command(input, in: folder)
    let name = input.program ?? "sh"
    let code = try await service.faults?.code(for: command, called: name, words(of: input))
    guard code == nil, service.runs == .all || !input.effect.effect.isWrite else {
      return try Output {
        $0.exitCode = code ?? input.expect.first ?? 0
        $0.output = ""
        $0.errors = ""
        $0.lines = input.as == .lines ? [] : nil
        $0.isRun = false
      }
    }
    let result = try await service.client.run(command) { context.printed($0, on: $1) }
    let text = input.encoding.printedText(of: result.output)
    var json: Value?
    if input.as == .json {
      do throws(JSONError) { json = try JSON.parse(text, allowing: .halfPairs) } catch {
        throw ActionError.unusable(
          "the output of '\(name)' isn't valid JSON: \(error)", isWrite: input.effect.effect.isWrite)
      }
    }
    return try Output {
      $0.exitCode = result.exitCode
      $0.output = text
      $0.errors = input.encoding.printedText(of: result.errors)
      $0.lines = input.as == .lines ? lines(of: text) : nil
      $0.json = json
      $0.isRun = true
      $0.unended = result.unended.isEmpty ? nil : result.unended
    }
  }

  static func preview(_ input: Input, on service: ShellService, in context: ActionContext) -> [Change] {
    [Change("This machine", from: nil, to: "would run \(displayed(words(of: input)))")]
  }

  private static func words(of input: Input) -> [String] {
    input.program.map { [$0] + input.arguments } ?? ["sh", "-c", input.script ?? "", "sh"] + input.arguments
  }

  private static func command(_ input: Input, in folder: FilePlace) -> ShellCommand {
    var command = ShellCommand(
      input.program.map { .program($0) } ?? .script(input.script ?? ""), input.arguments,
      environment: input.environment, secretEnvironment: input.secretEnvironment.mapValues { $0.reveal() },
      folder: folder.path, input: Array(input.input.utf8),
      expectedCodes: input.expect)
    command.place = folder
    return command
  }

  private static func lines(of text: String) -> [String] {
    text.isEmpty
      ? []
      : text.utf8.split(separator: ASCII.newline, omittingEmptySubsequences: false).map {
        String(decoding: $0, as: UTF8.self)
      }
  }
}

enum OutputForm: String, Choice { case text, lines, json }
