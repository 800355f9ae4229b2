import Basics
import Testing

@testable import Recipes

/// At run time the values of names lie in the order of their declaration; the tests lay them out by hand.
@Suite struct `Where names lie` {
  private static let first: [Value] = [
    .object(["n": .int(7)]), .object([:]), .object(["id": .string("r")]), .object([:]), .timestamp(.earliest),
  ]

  private func recipe(_ text: String) throws -> Recipe {
    let checked = Recipe.check(Source(name: "recipe.yaml", text: text), in: .test())
    #expect(Diagnostics(checked.diagnostics).rendered() == "")
    return try #require(checked.recipe)
  }

  private func error(_ message: String) -> Value { .object(["message": .string(message)]) }

  @Test func `An error inside the handling of another hides it, and only there`() throws {
    let recipe = try recipe(
      """
      inputs: { n: int }
      steps:
        - uses: desk.find
          onError:
            - let: { outer: "${{ error.message }}" }
            - uses: desk.find
              retry: { if: error.message == 'inner' }
              onError:
                - fail: ${{ error.message }} in ${{ outer }} of ${{ inputs.n }}
            - fail: ${{ error.message }}
      """)
    guard let outer = recipe.steps.steps[0].onError?.steps, let inner = outer.steps[1].onError?.steps,
      case .failure(let innermost) = inner.steps[0].kind, case .failure(let last) = outer.steps[2].kind
    else { return #expect(Bool(false), "the steps are not as written") }
    let environment = Self.first + [error("outer"), .string("outer")]
    #expect(try innermost.evaluate(in: environment + [error("inner")]) == .string("inner in outer of 7"))
    #expect(try last.evaluate(in: environment) == .string("outer"))
    let retry = try #require(outer.steps[1].retry)
    #expect(retry.scopeSize == environment.count)
    #expect(try retry.condition?.evaluate(in: environment + [error("inner")]) == .bool(true))
  }

  @Test func `Handlers see the names of the top level as optional, in their places`() throws {
    let recipe = try recipe(
      """
      inputs: { n: int }
      steps:
        - let: { one: 1 }
        - if: inputs.n > 5
          let: { two: "${{ one + 1 }}", three: 3 }
        - forEach: "[one]"
          as: item1
          indexAs: position
          uses: desk.stamp
          with: { key: "${{ item1 + position + three.orValue(0) }}" }
      onFailure:
        - fail: ${{ error.message }} ${{ one.orValue(0) }} ${{ two.orValue(0) }} ${{ three.orValue(0) }}
      """)
    #expect(recipe.topLevelNames == 3)
    guard case .failure(let message)? = recipe.onFailure?.steps[0].kind,
      case .action(let call) = recipe.steps.steps[2].kind, let loop = recipe.steps.steps[2].loop
    else { return #expect(Bool(false), "the steps are not as written") }
    let names: [Value] = [Value(.optional(.int(1))), Value(.optional(nil)), Value(.optional(.int(3)))]
    #expect(try message.evaluate(in: Self.first + names + [error("lost")]) == .string("lost 1 0 3"))
    let environment = Self.first + [.int(1), Value(.optional(.int(2))), Value(.optional(.int(3)))]
    #expect(loop.scopeSize == environment.count)
    #expect(loop.hasIndex)
    #expect(try call.input.evaluate(in: environment + [.int(10), .int(100)])["key"] == .int(113))
  }

  @Test func `A null that an expression gives is an absent field`() throws {
    let recipe = try recipe(
      """
      steps:
        - let: { value: "${{ json.parse('null') }}" }
        - uses: desk.find
          with: { words: "${{ value }}", limit: 5 }
      """)
    guard case .action(let call) = recipe.steps.steps[1].kind else { return #expect(Bool(false), "no action") }
    #expect(try JSON.text(call.input.evaluate(in: Self.first + [.null])) == #"{"limit":5}"#)
  }
}
