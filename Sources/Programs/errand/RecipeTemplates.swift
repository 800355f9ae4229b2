// Made by 'make generate' from the files in recipes. Do not edit.

/// Recipes to start from.
enum RecipeTemplates {
  static let all: [(name: String, text: String)] = [
    (
      "hello",
      #"""
      recipe: hello
      summary: Greets a name as often as you like; a first recipe, which needs no service.

      inputs:
        name: { type: string, default: world, summary: The name to greet. }
        times: { type: int, default: 2, min: 1, max: 10, summary: The number of greetings. }

      steps:
        - id: greet
          forEach: ${{ lists.range(inputs.times) }}
          as: i
          steps:
            - let: { line: "Hello ${{ inputs.name }}, number ${{ i + 1 }}." }
          outputs: { line: "${{ line }}" }

      outputs:
        greetings: ${{ steps.greet.map(g, g.line) }}

      """#
    ),
    (
      "nightly-backup",
      #"""
      recipe: nightly-backup
      summary: Packs a folder each night with a command, retries if that fails, and reports the result.

      # In errand.yaml: the topic of ntfy that your phone subscribes to.
      #
      #   connections:
      #     notify:
      #       topic: ${{ secrets.NTFY_TOPIC }}

      inputs:
        folder: { type: string, default: notes, summary: The folder that is packed. }
        to: { type: string, default: backups, summary: The folder of the archives. }
        report: { type: string, choices: [phone, file, none], default: phone, summary: The place where a backup is reported. }

      zone: Europe/Berlin

      on:
        - cron: "30 2 * * *"

      steps:
        - let:
            archive: ${{ inputs.to }}/${{ time.format(now, '%Y-%m-%d') }}.tar.gz

        # The archive appears under its name only when it is whole, so that doing it twice does no harm.
        - id: pack
          uses: shell.run
          with:
            effect: idempotentWrite
            script: mkdir -p "$2" && tar -czf "$3.part" "$1" && mv "$3.part" "$3"
            arguments: ["${{ inputs.folder }}", "${{ inputs.to }}", "${{ archive }}"]
          retry: { maxAttempts: 3, initial: 1m }
          timeout: 12h # with all attempts; without it, the command would be ended after 5m

        - switch: inputs.report
          cases:
            phone:
              - uses: notify.ntfy
                with:
                  title: Backup done
                  message: ${{ archive }} is written.
                  priority: low
            file:
              - uses: file.append
                with: { path: "${{ inputs.to }}/log.txt", text: "${{ archive }}\n" }
            none: []

      # Removes a half-packed archive, however the run ended.
      finally:
        - if: archive.hasValue()
          uses: file.delete
          with: { path: "${{ archive.value() }}.part" }

      # A failure always goes to the phone, with its reason: 'detail' holds the command's standard error.
      onFailure:
        - let:
            reason: ${{ [error.message, error.?detail.orValue('')].join('\n').trim() }}
        - uses: notify.ntfy
          with:
            title: Backup failed
            message: ${{ reason.substring(0, math.least(reason.size(), 1000)) }}
            priority: high
            tags: [warning]

      outputs:
        archive: ${{ archive }}

      """#
    ),
    (
      "price-watch",
      #"""
      recipe: price-watch
      summary: Asks an API each hour, and notifies your phone if the answer differs from the last one.

      # In errand.yaml:
      #
      #   connections:
      #     http:
      #       baseURL: https://shop.example/api
      #     notify:
      #       topic: ${{ secrets.NTFY_TOPIC }}

      inputs:
        url: { type: string, default: /items/1, summary: The URL of the request. }

      on:
        - cron: "0 * * * *"
          zone: UTC

      steps:
        - id: page
          uses: http.get
          with: { url: "${{ inputs.url }}" }

        - let:
            price: ${{ double(steps.page.body.price) }}

        # Later runs find the value that a run stores.
        - id: last
          uses: store.get
          with: { name: price-watch/price }
        - let:
            before: ${{ steps.last.?value.orValue(price) }}

        - if: before != price
          uses: notify.ntfy
          with:
            title: A price has changed
            message: ${{ steps.page.body.name }} costs ${{ price }}, and no longer ${{ before }}.

        # Stored last: if the message fails, the next run sends it.
        - uses: store.put
          with: { name: price-watch/price, value: "${{ price }}" }

      outputs:
        price: ${{ price }}
        changed: ${{ before != price }}

      """#
    ),
    (
      "weekly-mail",
      #"""
      recipe: weekly-mail
      summary: Fetches a list each Monday, makes a table of it, and sends it by mail with the list as CSV.

      # In errand.yaml:
      #
      #   connections:
      #     http:
      #       baseURL: https://shop.example/api
      #     mail:
      #       host: smtp.example.org
      #       username: reports
      #       password: ${{ secrets.SMTP_PASSWORD }}

      inputs:
        from: { type: string, default: Reports <reports@example.org>, summary: The sender. }
        to: { type: list(string), default: [ana@example.org], summary: The recipients. }

      zone: Europe/Berlin

      on:
        - cron: "0 7 * * MON"

      steps:
        - id: items
          uses: http.getAll
          with: { url: /items, query: { limit: 2 } }
          shape: { items: [{ id: int, name: string, price: double }] }

        - id: table
          uses: text.table
          with:
            rows: ${{ steps.items.items }}
            columns: [{ key: name, title: Item }, { key: price, title: Price }]
            style: plain

        - id: file
          uses: csv.write
          with:
            path: reports/items.csv
            rows: ${{ steps.items.items }}
            columns: [id, name, price]

        - id: mail
          uses: mail.send
          with:
            from: ${{ inputs.from }}
            to: ${{ inputs.to }}
            subject: ${{ steps.items.items.size() }} items, ${{ time.format(now, '%-d %B %Y') }}
            text: ${{ steps.table.text }}
            attachments: [{ path: reports/items.csv }]

      outputs:
        recipients: ${{ steps.mail.recipients }}
        items: ${{ steps.file.rows }}

      """#
    ),
    (
      "order-received",
      #"""
      recipe: order-received
      summary: Starts when another program reports an order, and adds the order to a table; each event starts one run.

      # Another program sends the event; the same --id counts only once:
      #
      #   errand runs signal any order --data '{"number": 17, "total": 12.5}' --id order-17

      inputs:
        number: { type: int, default: 17, summary: Number of the order. }
        total: { type: double, default: 12.5, summary: The total price. }

      on:
        - event: { name: order, type: { number: int, total: double }, match: event.data.total > 0.0 }
          inputs:
            number: ${{ event.data.number }}
            total: ${{ event.data.total }}

      steps:
        - id: total
          uses: store.increment
          with: { name: orders/count }

        - id: line
          uses: file.append
          with:
            path: orders/${{ time.format(now, '%Y-%m', 'UTC') }}.csv
            text: "${{ inputs.number }},${{ inputs.total }}\n"

      outputs:
        number: ${{ inputs.number }}
        orders: ${{ steps.total.value }}

      """#
    ),
    (
      "inbox-import",
      #"""
      recipe: inbox-import
      summary: Adds the rows of each table in inbox/ to one list, and moves the table to imported/.

      # While errand serve runs, put tables into inbox/, such as
      #
      #   item,price
      #   pens,12.5

      inputs:
        path: { type: string, default: inbox/orders.csv, summary: The table. }

      on:
        - file: { path: inbox/*.csv, settle: 5s, existing: run }
          inputs: { path: "${{ event.path }}" }

      steps:
        - id: table
          uses: csv.read
          with:
            path: ${{ inputs.path }}
            columns: { item: string, price: double }

        - id: total
          uses: store.increment
          with: { name: inbox-import/rows, by: "${{ steps.table.rows.size() }}" }

        - id: add
          if: steps.table.rows.size() > 0
          uses: file.append
          with:
            path: imported.csv
            text: "${{ steps.table.rows.map(r, r.item + ',' + string(r.price) + '\\n').join('') }}"

        # A table of the same name may come again.
        - id: move
          uses: file.move
          with:
            from: ${{ inputs.path }}
            to: imported/${{ time.format(now, '%Y-%m-%dT%H%M%SZ', 'UTC') }}-${{ inputs.path.split('/')[inputs.path.split('/').size() - 1] }}

      outputs:
        rows: ${{ steps.table.rows.size() }}
        total: ${{ steps.total.value }}

      """#
    ),
    (
      "parcel-digest",
      #"""
      recipe: parcel-digest
      summary: Sends one mail about the parcels delivered in ten minutes, at most 50, instead of a mail for each.

      # Another program sends an event for each parcel:
      #
      #   errand runs signal any delivered --data '{"parcel": "A 17", "to": "Ana"}' --id parcel-17
      #
      # In errand.yaml:
      #
      #   connections:
      #     mail:
      #       host: smtp.example.org
      #       username: parcels
      #       password: ${{ secrets.SMTP_PASSWORD }}

      inputs:
        lines: { type: list(string), default: [A 17 for Ana], summary: A line for each parcel. }
        from: { type: string, default: Parcels <parcels@example.org>, summary: The sender. }
        to: { type: list(string), default: [ana@example.org], summary: The recipients. }

      on:
        - event: { name: delivered, type: { parcel: string, to: string? } }
          batch: { for: 10m, max: 50 }
          inputs:
            lines: ${{ events.map(e, e.data.parcel + ' for ' + e.data.?to.orValue('nobody')) }}

      steps:
        - id: mail
          uses: mail.send
          with:
            from: ${{ inputs.from }}
            to: ${{ inputs.to }}
            subject: "Delivered: ${{ inputs.lines.size() }}"
            text: ${{ inputs.lines.join('\n') }}

      outputs:
        count: ${{ inputs.lines.size() }}
        last: ${{ inputs.lines[inputs.lines.size() - 1] }}

      """#
    ),
    (
      "approved-command",
      #"""
      recipe: approved-command
      summary: Previews a command, asks a person, and runs the command after a yes.

      inputs:
        folder: { type: string, default: site, summary: The folder that is published. }
        to: { type: string, default: published, summary: Where it is published. }

      steps:
        - id: files
          uses: shell.run
          with:
            effect: read
            script: if [ -d "$1" ]; then find "$1" -type f | sort; fi
            arguments: ["${{ inputs.folder }}"]
            as: lines

        # The run waits here, in the state alone: errand runs approve RUN, or reject.
        - id: decision
          approve:
            prompt: |-
              Publish these ${{ steps.files.?lines.orValue([]).size() }} files to ${{ inputs.to }}?
              ${{ steps.files.output }}
            timeout: 2d

        - id: publish
          uses: shell.run
          with:
            effect: idempotentWrite
            script: mkdir -p "$2" && cp -R "$1/." "$2"
            arguments: ["${{ inputs.folder }}", "${{ inputs.to }}"]

      outputs:
        by: ${{ steps.decision.by }}
        isPublished: ${{ steps.publish.isRun }}

      """#
    ),
    (
      "ask-and-remind",
      #"""
      recipe: ask-and-remind
      summary: Asks a question each Friday, asks the head after a day without an answer, and treats silence as a no.

      # In errand.yaml:
      #
      #   connections:
      #     notify:
      #       topic: ${{ secrets.NTFY_TOPIC }}

      inputs:
        question: { type: string, default: Are the hours of this week entered?, summary: The question. }

      on:
        - cron: "0 15 * * FRI"
          zone: Europe/Berlin

      steps:
        - id: ask
          approve: { prompt: "${{ inputs.question }}", timeout: 1d, onTimeout: continue, onReject: continue }

        # A decision has a name; without one the time ran out.
        - let:
            isDecided: ${{ has(steps.ask.by) }}

        - if: "!isDecided"
          uses: notify.ntfy
          with:
            title: "For the head: still open"
            message: "${{ inputs.question }} errand runs approve ${{ run.id }}"

        - id: again
          if: "!isDecided"
          approve:
            prompt: ${{ inputs.question }}
            by: [head] # who decides in the end; anyone who may approve, if left out
            timeout: 2d
            onTimeout: continue
            onReject: continue

      outputs:
        answer: ${{ steps.ask.approved || steps.?again.?approved.orValue(false) }}
        wasReminded: ${{ !isDecided }}

      """#
    ),
    (
      "ask-for-a-room",
      #"""
      recipe: ask-for-a-room
      summary: Asks the school office which room is free, and goes on without one after two days.

      inputs:
        who: { type: string, default: the choir, summary: Who needs a room. }
        people: { type: int, min: 1, default: 12, summary: How many people come. }

      steps:
        # The run waits here, in the state alone: errand runs answer RUN -f room=B12.
        - id: room
          ask:
            prompt: Which room is free for ${{ inputs.who }} (${{ inputs.people }} people)?
            fields:
              room: { type: string, pattern: "[A-Z][0-9]+", summary: "The room, such as B12." }
              seats: { type: int, min: 1, max: 200, default: "${{ inputs.people }}", summary: How many people fit. }
              note: { type: "string?", summary: What one should know. }
            by: [ann, bob] # who may answer; anyone who may approve, if left out
            timeout: 2d
            onTimeout: continue

      outputs:
        # Without an answer, steps.room is absent.
        room: "${{ has(steps.room) ? steps.room.fields.room : 'none' }}"
        isLargeEnough: ${{ has(steps.room) && steps.room.fields.seats >= inputs.people }}
        note: "${{ has(steps.room) && has(steps.room.fields.note) ? steps.room.fields.note : '' }}"

      """#
    ),
    (
      "incremental-sync",
      #"""
      recipe: incremental-sync
      summary: Fetches the new items of a service since the last run, and adds only those to a file.

      # In errand.yaml:
      #
      #   connections:
      #     http:
      #       baseURL: https://shop.example/api
      #       limits: { requests: 60, per: 1m }  # over all runs; requests that come too early are queued

      inputs:
        file: { type: string, default: sync/items.csv, summary: The file that grows. }

      on:
        - every: 15m

      # Two runs at once would add the same twice.
      concurrencyGroup: { name: incremental-sync, limit: 1 }

      steps:
        - id: mark
          uses: store.get
          with: { name: incremental-sync/last }
        - let:
            last: ${{ int(steps.mark.?value.orValue(0)) }}

        - id: items
          uses: http.getAll
          with:
            url: /cursor/items
            query: { after: "${{ last }}" }
            items: /data
            cursor: { at: /next, parameter: after }

        - let:
            fresh: ${{ steps.items.items.filter(i, int(i.id) > last) }}

        - if: fresh.size() > 0
          steps:
            - id: lines
              uses: csv.format
              with: { rows: "${{ fresh }}", columns: [id, name, price], header: false }
            - uses: file.append
              with: { path: "${{ inputs.file }}", text: "${{ steps.lines.text }}" }
            # The mark moves when the lines are written, never before.
            - uses: store.put
              with: { name: incremental-sync/last, value: "${{ math.greatest(fresh.map(i, int(i.id))) }}" }

      outputs:
        added: ${{ fresh.size() }}

      """#
    ),
    (
      "orders-by-cursor",
      #"""
      recipe: orders-by-cursor
      summary: Fetches a list page by page, where each page names the next one, and writes it to a file.

      # In errand.yaml:
      #
      #   connections:
      #     http:
      #       baseURL: https://shop.example/api

      inputs:
        file: { type: string, default: orders.csv, summary: The file with the whole list. }

      steps:
        - id: orders
          uses: http.get
          with:
            url: /cursor/items
            query: { after: "${{ cursor.orValue('0') }}" }
          # Each round fetches one page. A run that is interrupted continues at the page that it was at.
          repeat:
            carry: { cursor: { type: "string?" } }
            next: { cursor: "${{ result.body.?next }}" }
            collect: ${{ result.body.data }}
            until: "!cursor.hasValue()"
            maxRounds: 500

        - id: lines
          uses: csv.format
          with: { rows: "${{ steps.orders.collected }}", columns: [id, name, price] }
        - uses: file.write
          with: { path: "${{ inputs.file }}", text: "${{ steps.lines.text }}" }

      outputs:
        orders: ${{ steps.orders.collected.size() }}
        pages: ${{ steps.orders.rounds }}

      """#
    ),
    (
      "verified-download",
      #"""
      recipe: verified-download
      summary: Downloads an archive, verifies it, keeps it under its date, and removes archives beyond a number.

      # In errand.yaml:
      #
      #   connections:
      #     http:
      #       baseURL: https://downloads.example
      #       folder: downloads

      inputs:
        url: { type: string, default: /files/report.zip, summary: The URL of the archive. }
        keep: { type: int, default: 7, min: 1, max: 1000, summary: The number of archives to keep. }

      zone: UTC

      on:
        - cron: "15 4 * * *"

      steps:
        # The file appears whole and checked, or not at all; an interrupted download continues.
        - id: file
          uses: http.download
          with:
            url: ${{ inputs.url }}
            to: archives/${{ time.format(now, '%Y-%m-%d') }}.zip
            verify: zip
          retry: { maxAttempts: 5, initial: 30s, on: [timeout, network, server] }

        - id: archives
          uses: file.list
          with: { folder: archives, pattern: "*.zip" }
        - let:
            names: ${{ steps.archives.entries.map(e, e.path).sort() }}

        - id: removed
          forEach: ${{ names.slice(0, math.greatest(0, names.size() - inputs.keep)) }}
          as: path
          uses: file.delete
          with: { path: "${{ path }}" }

      outputs:
        sha256: ${{ steps.file.sha256 }}
        bytes: ${{ steps.file.bytes }}
        removed: ${{ steps.removed.size() }}

      """#
    ),
    (
      "test-matrix",
      #"""
      recipe: test-matrix
      summary: Runs a command for every combination of two lists, several at once, and reports all failures.

      inputs:
        systems: { type: list(string), default: [bookworm, trixie], summary: The first list. }
        versions: { type: list(string), default: ["5.9", "6.2", "6.3"], summary: The second list. }
        without: { type: list(string), default: [bookworm-6.3], summary: "Combinations that are left out, as system-version." }

      steps:
        - let:
            cells: "${{ inputs.systems.map(s, inputs.versions.map(v, {'system': s, 'version': v})).flatten() }}"

        - id: test
          forEach: ${{ cells }}
          as: cell
          where: "!(cell.system + '-' + cell.version in inputs.without)"
          maxParallel: 2
          onItemError: continue # the others run nevertheless
          uses: shell.run
          with:
            effect: pure
            script: echo "testing on $1 with $2"
            arguments: ["${{ cell.system }}", "${{ cell.version }}"]
          timeout: 10m

        - let:
            failed: ${{ steps.test.filter(t, t.status == 'failed').size() }}
        - if: failed > 0
          fail: ${{ failed }} of ${{ steps.test.size() }} combinations failed.

      outputs:
        passed: ${{ steps.test.filter(t, t.status == 'succeeded').size() }}
        reports: ${{ steps.test.map(t, has(t.output), t.output.output) }}

      """#
    ),
    (
      "streak",
      #"""
      recipe: streak
      summary: Counts how many days in a row it has run, in values that outlive its runs.

      # Run it once a day: errand run recipes/streak.yaml. The state keeps the values, next to the runs.

      inputs:
        zone: { type: string, default: UTC, summary: The time zone of the days. }

      steps:
        - let:
            today: ${{ time.format(now, '%Y-%m-%d', inputs.zone) }}
            yesterday: ${{ time.format(time.plusDays(now, -1, inputs.zone), '%Y-%m-%d', inputs.zone) }}
        - { id: last, uses: store.get, with: { name: streak/day } }
        - let:
            lastDay: ${{ steps.last.?value.orValue('') }}

        # A gap ends the streak; the same day twice adds nothing.
        - if: lastDay != today && lastDay != yesterday
          uses: store.delete
          with: { name: streak/days }
        - if: lastDay != today
          uses: store.increment
          with: { name: streak/days }
        - uses: store.put
          with: { name: streak/day, value: "${{ today }}" }
        - { id: days, uses: store.get, with: { name: streak/days } }

      outputs:
        days: ${{ steps.days.?value.orValue(0) }}

      """#
    ),
    (
      "timetable-changes",
      #"""
      recipe: timetable-changes
      summary: Reports the changes in a group's timetable each morning, since the copy of the day before, and keeps the new one.

      inputs:
        programId: { type: string, default: informatica-maghiara, summary: Id of the program in the catalog. }
        year: { type: int, default: 1, min: 1, summary: Study year. }
        group: { type: int, default: 511, min: 1, summary: Group. }
        copy: { type: string, default: timetable/copy.json, summary: Path of the copy. }

      on:
        - cron: "30 8 * * *"
          zone: Europe/Bucharest

      steps:
        - id: changes
          uses: timetable.compareWithCopy
          with:
            selection: { programId: "${{ inputs.programId }}", year: "${{ inputs.year }}", group: "${{ inputs.group }}" }
            copy: ${{ inputs.copy }}

        # Only the publisher's current answer replaces the copy, never a cached one.
        - id: save
          if: >-
            steps.changes.available && !steps.changes.freshness.isStale
            && (!steps.changes.hasCopy || steps.changes.changes.size() > 0)
          uses: timetable.saveCopy
          with:
            copy: ${{ inputs.copy }}
            days: ${{ steps.changes.days }}

      outputs:
        changed: ${{ steps.changes.changes.size() }}
        message: >-
          ${{ !steps.changes.available ? 'No timetable is published any more.' :
          !steps.changes.hasCopy ? 'The first copy is saved.' :
          steps.changes.changes.size() == 0 ? 'Nothing has changed.' :
          steps.changes.changes.map(c, c.text).join('\n') }}

      """#
    ),
    (
      "markbook-averages",
      #"""
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
                average: "${{ marks.size() > 0 ? '%.1f'.format([stats.round(stats.mean(marks), 1)]) : '' }}"
            - id: write
              if: average != ''
              uses: markbook.putStudentResult
              with:
                markbookKey: ${{ inputs.markbook }}
                studentKey: ${{ student.key }}
                sid: ${{ student.sid }}
                taskKey: ${{ target.key }}
                taskName: ${{ target.name }}
                result: ${{ average }}
          outputs:
            student: ${{ student.givenName }} ${{ student.familyName }}
            class: ${{ student.className }}
            marks: ${{ marks.size() }}
            average: ${{ average }}
            written: ${{ has(steps.write) }}

      outputs:
        averages: ${{ steps.put }}
        written: ${{ steps.put.filter(s, s.written).size() }}

      """#
    ),
    (
      "approve-averages",
      #"""
      recipe: approve-averages
      summary: Computes every student's average, shows the changes, and writes them after an approval.

      inputs:
        markbook: { type: int, summary: Key of the markbook. }
        into: { type: string, default: Average, summary: Name of the task that receives the average. }

      on:
        - cron: "0 15 * * FRI"
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

        # The new averages, next to the old ones. They are written as approved, even if marks change meanwhile.
        - let:
            computed: >-
              ${{ steps.book.students.map(s, {
                'key': s.key,
                'sid': s.sid,
                'name': s.givenName + ' ' + s.familyName,
                'before': s.results.filter(r, r.taskKey == target.key).map(r, r.raw).join(),
                'after': cel.bind(marks, s.results.map(r, has(r.percent) && r.taskKey != target.key, r.percent),
                  marks.size() > 0 ? '%.1f'.format([stats.round(stats.mean(marks), 1)]) : '')
              }) }}
        - let:
            changes: ${{ computed.filter(c, c.after != '' && c.after != c.before) }}

        - id: decision
          if: changes.size() > 0
          approve:
            prompt: >-
              ${{ 'Write %d averages into %s of %s?\n'.format([changes.size(), target.name, steps.book.markbookName])
              + changes.map(c, c.name + ': ' + (c.before == '' ? 'none' : c.before) + ' → ' + c.after).join('\n') }}
            timeout: 2d

        - id: put
          forEach: ${{ changes }}
          as: change
          uses: markbook.putStudentResult
          with:
            markbookKey: ${{ inputs.markbook }}
            studentKey: ${{ change.key }}
            sid: ${{ change.sid }}
            taskKey: ${{ target.key }}
            taskName: ${{ target.name }}
            result: ${{ change.after }}

      outputs:
        written: ${{ changes.size() }}
        by: ${{ steps.?decision.?by.orValue('no approval was needed') }}

      """#
    ),
    (
      "markbook-backup",
      #"""
      recipe: markbook-backup
      summary: Schedules a backup of this year's markbooks each Sunday and downloads it the next day.

      zone: Australia/Sydney

      on:
        - cron: "0 16 * * SUN"

      steps:
        - id: ask
          uses: markbook.scheduleBackup
          with: { matching: "${{ time.format(now, '%Y') }}" }

        # It is built at about 1 AM.
        - id: night
          wait: { until: "time.next(now, '02:00')" }

        # Asks for the address and downloads at once, and again at once if that fails, because the zip is deleted an hour after
        # the first request. A server that is down may take longer to come back than the first tries last. It gives up
        # before the next night: the backup that is built then belongs to another request.
        - id: backup
          uses: markbook.downloadBackup
          repeat: { until: "result.state != 'pending'", every: 1h, timeout: 20h }
          retry: { maxAttempts: 16, initial: 1s, maxInterval: 1h, jitter: none, on: [timeout, network, server] }
          with:
            to: backups/markbooks-${{ time.format(now, '%Y-%m-%d') }}.zip
            verify: zip

        - if: "!has(steps.backup.path)"
          fail: The server holds no backup any more; it may have been downloaded or replaced.

      outputs:
        path: ${{ steps.backup.path }}
        bytes: ${{ steps.backup.bytes }}

      """#
    ),
  ]
}
