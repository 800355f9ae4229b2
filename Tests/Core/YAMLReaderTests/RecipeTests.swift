import Basics
import Testing
import YAMLReader

@Suite struct RecipeTests {
  @Test func `reads a whole recipe, and finds an expression in it`() throws {
    let text = #"""
      recipe: markbook-averages
      summary: Puts every student's average over the marked tasks into one task of a markbook.

      inputs:
        markbook: { type: int, summary: Key of the markbook. }
        into: { type: string, default: Average, summary: Name of the task that receives the average. }

      on:
        - cron: "30 17 * * FRI"
          zone: Australia/Sydney
          inputs: { markbook: 1207731 }

      steps:
        - id: book
          uses: markbook.getMarkbook
          with:
            markbookKey: ${{ inputs.markbook }}

        - let:
            found: ${{ steps.book.tasks.filter(t, t.name == inputs.into) }}
        - if: found.size() != 1
          fail: "${{ found.size() }} tasks are named '${{ inputs.into }}'; exactly one is needed."
        - let:
            target: ${{ found[0] }}

        - id: put
          forEach: ${{ steps.book.students }}
          as: student
          steps:
            - let:
                marks: ${{ student.results.map(r, has(r.percent) && r.taskKey != target.key, r.percent) }}
            - id: write
              if: marks.size() > 0
              uses: markbook.putStudentResult
              with:
                markbookKey: ${{ inputs.markbook }}
                studentKey: ${{ student.key }}
                sid: ${{ student.sid }}
                taskKey: ${{ target.key }}
                taskName: ${{ target.name }}
                result: ${{ '%.1f'.format([stats.round(stats.mean(marks), 1)]) }}

      outputs:
        written: ${{ steps.put.filter(s, has(s.write)).size() }}
      """#
    let source = Source(name: "markbook-averages.yaml", text: text)
    let document = try YAMLReader.read(source)
    #expect(document.diagnostics.isEmpty)
    #expect(document.root.at(["inputs", "into", "default"]) == .string("Average"))
    #expect(document.root.at(["on", "0", "inputs", "markbook"]) == .int(1_207_731))

    let path = ["steps", "2", "fail"]
    let value = try #require(document.root.at(path))
    let words = try #require(value.string)
    #expect(words == "${{ found.size() }} tasks are named '${{ inputs.into }}'; exactly one is needed.")
    let name = try #require(words.firstRange(of: "inputs.into"))
    let start = words.utf8.distance(from: words.startIndex, to: name.lowerBound)
    let scalar = try #require(document.scalar(at: value.place))
    let fault = Diagnostic("no input has this name", at: scalar.location(of: start..<start + 11))
    #expect(
      fault.rendered() == #"""
        markbook-averages.yaml:22:53: error: no input has this name
              fail: "${{ found.size() }} tasks are named '${{ inputs.into }}'; exactly one is needed."
                                                              ^~~~~~~~~~~
        """#)
  }
}
