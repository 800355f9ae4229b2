/// Starter recipes, each cut down to its topic; `NAME` is replaced with the recipe's name.
enum RecipeExamples {
  static let all: [(name: String, text: String)] = [
    (
      "markbook-averages",
      """
      recipe: NAME
      summary: Puts every student's average into one task of a markbook.

      inputs:                                        # given with -i markbook=1207731
        markbook: { type: int, summary: Key of the markbook. }
        into: { type: string, default: Average, summary: Name of the task that receives the average. }

      steps:
        - id: book                                   # later steps see its result as steps.book
          uses: markbook.getMarkbook
          with: { markbookKey: "${{ inputs.markbook }}" }

        - let:
            found: ${{ steps.book.tasks.filter(t, t.name == inputs.into) }}
        - if: found.size() != 1                      # a guard: what follows knows that this does not hold
          fail: "${{ found.size() }} tasks are named '${{ inputs.into }}'; exactly one is needed."
        - let:
            target: ${{ found[0] }}

        - id: put
          forEach: steps.book.students
          as: student
          steps:
            - let:
                marks: ${{ student.results.map(r, has(r.percent) && r.taskKey != target.key, r.percent) }}
            - if: marks.size() > 0
              uses: markbook.putStudentResult
              with:
                markbookKey: ${{ inputs.markbook }}
                studentKey: ${{ student.key }}
                sid: ${{ student.sid }}
                taskKey: ${{ target.key }}
                taskName: ${{ target.name }}
                result: "${{ '%.1f'.format([stats.round(stats.mean(marks), 1)]) }}"
          outputs:
            sid: ${{ student.sid }}
            marks: ${{ marks.size() }}

      outputs:
        students: ${{ steps.put }}

      """
    ),
    (
      "markbook-backup",
      """
      recipe: NAME
      summary: Asks for a backup of the markbooks each Sunday, and downloads it the next day.

      on:
        - cron: "0 16 * * SUN"
          zone: Australia/Sydney

      steps:
        - uses: markbook.scheduleBackup
          with: { matching: "${{ time.format(now, '%Y', 'Australia/Sydney') }}" }

        - id: night                                  # the run waits in the state, and holds nothing else
          wait: { until: "time.next(now, '02:00', 'Australia/Sydney')" }

        - id: backup                                 # asked for again until it is there
          uses: markbook.downloadBackup
          repeat: { until: "result.state != 'pending'", every: 1h, timeout: 20h }
          with:
            to: backups/markbooks-${{ time.format(now, '%Y-%m-%d', 'Australia/Sydney') }}.zip
            verify: zip

        - if: "!has(steps.backup.path)"
          fail: The server holds no backup any more.

      outputs:
        path: ${{ steps.backup.path }}

      """
    ),
    (
      "approve-averages",
      """
      recipe: NAME
      summary: Asks a person before something is written.

      inputs:
        markbook: { type: int, summary: Key of the markbook. }
        name: { type: string, summary: The new name of the task. }

      steps:
        - id: book
          uses: markbook.getMarkbook
          with: { markbookKey: "${{ inputs.markbook }}" }

        - if: steps.book.tasks.size() == 0
          fail: The markbook has no task.

        - id: decision                               # errand runs approve RUN, or reject
          approve:
            prompt: "Write to ${{ steps.book.students.size() }} students that '${{ inputs.name }}' is marked?"
            timeout: 2d

      outputs:
        by: ${{ steps.decision.by }}

      """
    ),
    (
      "streak",
      """
      recipe: NAME
      summary: Counts how often it was run, in a value that outlives its runs.

      steps:
        - uses: store.increment
          with: { name: NAME/count }
        - id: count
          uses: store.get
          with: { name: NAME/count }

      outputs:
        count: ${{ steps.count.?value.orValue(0) }}

      """
    ),
  ]
}
