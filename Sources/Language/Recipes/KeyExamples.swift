// A small example for every key, for the reference page and for `errand help`. Each is checked by a test, which also
// says which keys have none.

/// An example of some keys of one kind of mapping, as the part of a file that they stand in.
package struct KeyExample: Sendable {
  /// The part of the reference, as `KeyReference.title`.
  package let part: String
  /// The keys that it shows, each as `KeyReference.Key.name`.
  package let keys: [String]
  package let text: String

  private init(_ part: String, _ keys: String, _ text: String) {
    self.part = part
    self.keys = keys.split(separator: " ").map(String.init)
    self.text = text
  }

  package static let all: [KeyExample] =
    recipe + inputs + triggers + steps + policies + tests + configuration

  private static let recipe = [
    KeyExample(
      "Recipe", "recipe summary steps outputs",
      """
      recipe: clock
      summary: Tells the time.
      steps:
        - let: { line: "It is ${{ now }}." }
      outputs:
        line: ${{ line }}
      """),
    KeyExample(
      "Recipe", "inputs",
      """
      inputs:
        class: { type: string, summary: The class that is meant. }
        limit: { type: int, default: 10 }
      steps:
        - let: { title: "${{ inputs.class }}, ${{ inputs.limit }} at most" }
      """),
    KeyExample(
      "Recipe", "on zone",
      """
      zone: Europe/Berlin
      on:
        - cron: "30 17 * * FRI"
      """),
    KeyExample(
      "Recipe", "defaults defaults.retry defaults.timeout",
      """
      defaults:
        retry: { maxAttempts: 5 }
        timeout: 10m
      """),
    KeyExample(
      "Recipe", "mcp",
      """
      mcp: true
      summary: Tells the time.
      steps:
        - let: { line: "It is ${{ now }}." }
      outputs: { line: "${{ line }}" }
      """),
    KeyExample(
      "Recipe", "queue",
      """
      queue: nightly
      steps: [{ uses: file.write, with: { path: note.txt, text: done } }]
      """),
    KeyExample(
      "Recipe", "concurrencyGroup concurrencyGroup.name concurrencyGroup.limit concurrencyGroup.onLimit",
      """
      concurrencyGroup: { name: printer, limit: 1, onLimit: queue }
      """),
    KeyExample(
      "Recipe", "onFailure finally",
      """
      onFailure:
        - uses: notify.ntfy
          with: { message: "${{ run.recipe }} failed: ${{ error.message }} ${{ error.?detail.orValue('') }}" }
      finally:
        - uses: file.delete
          with: { path: work.txt }
      """),
  ]

  private static let inputs = [
    KeyExample(
      "Input", "type summary default min max",
      """
      inputs:
        limit: { type: int, default: 10, min: 1, max: 100, summary: How many rows. }
        names: { type: list(string), default: [Ada, Alan] }
      """),
    KeyExample(
      "Input", "choices pattern",
      """
      inputs:
        order: { type: string, choices: [name, mark], default: name }
        class: { type: string, pattern: "[0-9][A-Z]" }
      """),
    KeyExample(
      "Input", "secret",
      """
      inputs:
        token: { type: string, secret: true }    # given as -i token=@secret:TOKEN
      """),
  ]

  private static let triggers = [
    KeyExample(
      "Entry of `on`", "cron zone id",
      """
      on:
        - { id: week, cron: "0 7 * * MON-FRI", zone: Europe/Berlin }
        - { id: month, cron: "0 9 1 * *", zone: Europe/Berlin }
      """),
    KeyExample(
      "Entry of `on`", "every from jitter",
      """
      on:
        - { every: 6h, from: 2026-01-01T00:00:00Z, jitter: 10m }
      """),
    KeyExample(
      "Entry of `on`", "at",
      """
      on:
        - at: 2026-12-01T09:00:00+11:00
      """),
    KeyExample(
      "Entry of `on`",
      "calendar calendar.minute calendar.hour calendar.dayOfMonth calendar.month calendar.dayOfWeek",
      """
      on:
        - id: quarter
          calendar: { dayOfMonth: L, month: "3,6,9,12", hour: 18, minute: 30 }
          zone: Europe/Berlin
        - id: weekend
          calendar: { dayOfWeek: "SAT,SUN", hour: 10 }
          zone: Europe/Berlin
      """),
    KeyExample(
      "Entry of `on`", "event event.name event.type event.match inputs",
      """
      inputs:
        amount: { type: double }
      on:
        - event: { name: paid, type: { amount: double }, match: event.data.amount > 10.0 }
          inputs: { amount: "${{ event.data.amount }}" }
      """),
    KeyExample(
      "Entry of `on`", "batch batch.for batch.max",
      """
      inputs:
        parcels: { type: list(string) }
      on:
        - event: { name: delivered, type: { parcel: string } }
          batch: { for: 10m, max: 50 }
          inputs: { parcels: "${{ events.map(e, e.data.parcel) }}" }
      """),
    KeyExample(
      "Entry of `on`", "file file.path file.settle file.existing",
      """
      inputs:
        path: { type: string }
      on:
        - file: { path: inbox/*.csv, settle: 5s, existing: run }
          inputs: { path: "${{ event.path }}" }
      """),
    KeyExample(
      "Entry of `on`", "batch batch.for batch.max",
      """
      inputs:
        paths: { type: list(string) }
      on:
        - file: inbox/*.csv
          batch: { for: 1h, max: 100 }
          inputs: { paths: "${{ events.map(e, e.path) }}" }
      """),
    KeyExample(
      "Entry of `on`",
      "webhook webhook.path webhook.verify webhook.type webhook.match webhook.dedupeFor webhook.verify.stripe webhook.verify.tolerance",
      """
      inputs:
        customer: { type: string }
      on:
        - webhook:
            path: shop/paid
            verify: { stripe: "${{ secrets.STRIPE_WEBHOOK }}", tolerance: 5m }
            type: { type: string, data: { object: { customer: string } } }
            match: event.data.type == 'invoice.paid'
            dedupeFor: 14d
          inputs: { customer: "${{ event.data.data.object.customer }}" }
      """),
    KeyExample(
      "Entry of `on`", "webhook.headers webhook.verify.github",
      """
      inputs:
        branch: { type: string }
      on:
        - webhook:
            verify: { github: ["${{ secrets.GITHUB_NEW }}", "${{ secrets.GITHUB_OLD }}"] }
            type: { ref: string }
            headers: X-GitHub-Event
            match: event.headers['X-GitHub-Event'] == 'push'
          overlap: allowAll
          inputs: { branch: "${{ event.data.ref }}" }
      """),
    KeyExample(
      "Entry of `on`", "webhook.answer",
      """
      on:
        - webhook:
            verify: { github: "${{ secrets.HUB }}" }
            answer:
              - { when: event.data.zen != '', body: "${{ event.data.zen }}" }
      """),
    KeyExample(
      "Item of `answer`", "when unsigned get status body",
      """
      on:
        - webhook:
            verify: { github: "${{ secrets.HUB }}" }
            answer:
              - when: has(event.query.validationToken)
                unsigned: true
                body: ${{ event.query.validationToken }}
              - when: event.query['hub.verify_token'] == 'spring'
                get: true
                status: 200
                body: ${{ event.query['hub.challenge'] }}
      """),
    KeyExample(
      "Item of `answer`", "within type late late.status late.body",
      """
      on:
        - webhook:
            verify: { github: "${{ secrets.HUB }}" }
            answer:
              - within: 10s
                type: application/vnd.shop+json
                body: { reply: "${{ outputs.text }}" }
                late: { status: 202, body: "${{ 'Number ' + event.id }}" }
      steps: [{ let: { words: Thank you. } }]
      outputs: { text: "${{ words }}" }
      """),
    KeyExample(
      "Entry of `on`",
      "form form.path form.title form.text form.open form.fields form.match form.done",
      """
      inputs:
        who: { type: string }
        day: { type: date }
      on:
        - form:
            path: rooms
            title: Ask for a room
            text: You will get a mail within a day.
            open: login
            fields: { who: { type: string, max: 80 }, day: date, note: "string?" }
            match: event.data.who != 'test'
            done: "Thank you, ${{ event.data.who }}. Your number is ${{ event.id }}."
          inputs: { who: "${{ event.data.who }}", day: "${{ event.data.day }}" }
      """),
    KeyExample(
      "Entry of `on`", "form.limit form.limit.requests form.limit.per form.limit.perDay",
      """
      inputs:
        wish: { type: string, summary: What you would like. }
      on:
        - form:
            open: public
            limit: { requests: 3, per: 1h, perDay: 100 }
      """),
    KeyExample(
      "Entry of `on`", "webhook.signal webhook.verify.standard",
      """
      on:
        - webhook:
            verify: { standard: "${{ secrets.BANK }}" }
            signal: paid
      """),
    KeyExample(
      "Entry of `on`",
      "webhook.id webhook.verify.hmac webhook.verify.hmac.secret webhook.verify.hmac.header webhook.verify.hmac.encoding webhook.verify.hmac.prefix webhook.verify.hmac.timestampHeader webhook.verify.hmac.signed",
      """
      on:
        - webhook:
            verify:
              hmac:
                secret: "${{ secrets.CHAT }}"
                header: X-Chat-Signature
                encoding: hex
                prefix: v0=
                timestampHeader: X-Chat-Request-Timestamp
                signed: "v0:{timestamp}:{body}"
            type: { event_id: string }
            id: event.data.event_id
      """),
    KeyExample(
      "Entry of `on`", "webhook.verify.token webhook.verify.token.header webhook.verify.token.secret",
      """
      on:
        - webhook:
            verify: { token: { header: X-Gitlab-Token, secret: "${{ secrets.GITLAB }}" } }
      """),
    KeyExample(
      "Entry of `on`", "webhook.verify.none",
      """
      on:
        - webhook: { verify: { none: true } }
      """),
    KeyExample(
      "Entry of `on`", "afterRecipe afterRecipe.recipe afterRecipe.status",
      """
      on:
        - afterRecipe: { recipe: nightly-backup, status: [failed, timedOut] }
      """),
    KeyExample(
      "Entry of `on`", "overlap catchup catchupWindow catchupLimit",
      """
      on:
        - cron: "0 * * * *"
          zone: UTC
          overlap: bufferAll
          catchup: all
          catchupWindow: 1d
          catchupLimit: 24
      """),
    KeyExample(
      "Entry of `on`", "dstGap dstFold",
      """
      on:
        - { cron: "30 2 * * *", zone: Europe/Berlin, dstGap: skip, dstFold: last }
      """),
    KeyExample(
      "Entry of `on`", "start end except remainingRuns",
      """
      on:
        - cron: "0 8 * * MON-FRI"
          zone: Europe/Berlin
          start: 2026-09-01T00:00:00+02:00
          end: 2027-07-15T00:00:00+02:00
          except: [2026-10-03, 2026-12-25]
          remainingRuns: 100
      """),
    KeyExample(
      "Entry of `on`", "paused pauseOnFailure",
      """
      on:
        - { every: 1d, paused: Holidays., pauseOnFailure: true }
      """),
  ]

  private static let steps = [
    KeyExample(
      "Step", "id name uses with",
      """
      steps:
        - id: page
          name: Read the list
          uses: http.get
          with: { url: "https://example.org/items" }
      """),
    KeyExample(
      "Step", "if let fail",
      """
      inputs: { marks: list(double) }
      steps:
        - if: inputs.marks.size() == 0
          fail: There are no marks.
        - let: { mean: "${{ stats.mean(inputs.marks) }}" }
      outputs: { mean: "${{ mean }}" }
      """),
    KeyExample(
      "Step", "forEach as indexAs where maxParallel onItemError",
      """
      inputs: { names: list(string) }
      steps:
        - forEach: inputs.names
          as: name
          indexAs: i
          where: name != ''
          maxParallel: 4
          onItemError: continue
          uses: file.write
          with: { path: "letters/${{ i }}.txt", text: "Dear ${{ name }}," }
      """),
    KeyExample(
      "Step", "onError",
      """
      steps:
        - uses: http.get
          with: { url: "https://example.org/items" }
          onError:
            - uses: file.append
              with: { path: failures.txt, text: "${{ error.message }}\\n" }
        - uses: file.delete
          with: { path: work.txt }
          onError: continue
      """),
    KeyExample(
      "Step", "onError.steps onError.value",
      """
      steps:
        - id: rate
          steps:
            - { id: page, uses: http.get, with: { url: "https://example.org/rates" } }
          outputs: { eur: "${{ double(steps.page.body.eur) }}" }
          onError:
            steps:
              - uses: file.append
                with: { path: failures.txt, text: "${{ error.message }}\\n" }
            value: { eur: 1.0 }
      outputs: { eur: "${{ steps.rate.eur }}" }
      """),
    KeyExample(
      "Step", "retry timeout",
      """
      steps:
        - uses: http.get
          with: { url: "https://example.org/items" }
          retry: { maxAttempts: 5, initial: 2s }
          timeout: 2m
      """),
    KeyExample(
      "Step", "connection key",
      """
      steps:
        - uses: http.post
          connection: shop          # in errand.yaml: shop: { plugin: http, baseURL: … }
          key: order-${{ run.id }}
          with: { url: /orders, json: { name: Pencil } }
      """),
    KeyExample(
      "Step",
      "repeat repeat.until repeat.every repeat.factor repeat.maxEvery repeat.jitter repeat.timeout",
      """
      steps:
        - id: backup
          uses: markbook.downloadBackup
          with: { to: backup.zip }
          repeat:
            until: result.state != 'pending'
            every: 1m
            factor: 2
            maxEvery: 1h
            jitter: 10s
            timeout: 20h
      """),
    KeyExample(
      "Step", "repeat.carry repeat.next repeat.collect repeat.maxRounds",
      """
      steps:
        - id: orders
          uses: http.get
          with: { url: "https://example.org/orders?page=${{ page }}" }
          repeat:
            carry: { page: 1 }
            next: { page: "${{ page + 1 }}" }
            collect: ${{ result.body.items }}
            until: size(result.body.items) == 0
            maxRounds: 100
      """),
    KeyExample(
      "Step", "shape",
      """
      steps:
        - id: jobs
          uses: http.get
          with: { url: /jobs }
          shape: { body: [{ id: int, state: "choice(ready, failed)", doneAt: "timestamp?" }] }
      """),
    KeyExample(
      "Step", "wait wait.until wait.event wait.type wait.match wait.timeout wait.onTimeout",
      """
      steps:
        - wait: 90m
        - wait: { until: "time.next(now, '02:00', 'Europe/Berlin')" }
        - id: paid
          wait:
            event: paid
            type: { amount: double }
            match: event.data.amount > 10.0
            timeout: 30d
            onTimeout: continue
      """),
    KeyExample(
      "Step", "approve approve.prompt approve.by approve.timeout approve.onTimeout approve.onReject",
      """
      steps:
        - id: decision
          approve:
            prompt: Send the letters?
            by: [ann, bob]
            timeout: 2d
            onTimeout: fail
            onReject: continue
      outputs: { isApproved: "${{ steps.decision.approved }}" }
      """),
    KeyExample(
      "Step", "ask ask.prompt ask.fields ask.by ask.timeout ask.onTimeout",
      """
      steps:
        - id: room
          ask:
            prompt: Which room is free?
            fields: { room: string, seats: int, note: "string?" }
            by: [ann, bob]
            timeout: 2d
            onTimeout: fail
      outputs: { room: "${{ steps.room.fields.room }}" }
      """),
    KeyExample(
      "Field of `ask`", "type summary pattern default",
      """
      steps:
        - id: room
          ask:
            prompt: Which room is free?
            fields:
              room: { type: string, summary: "Room, such as B12.", pattern: "[A-Z][0-9]+" }
              from: { type: timestamp, default: "${{ now + duration('24h') }}" }
      """),
    KeyExample(
      "Field of `ask`", "choices min max",
      """
      steps:
        - id: day
          ask:
            prompt: When, and for how many?
            fields:
              day: { type: string, choices: [Monday, Tuesday] }
              seats: { type: int, min: 1, max: 200 }
      """),
    KeyExample(
      "Step", "ask.yes ask.link ask.link.for ask.tell",
      """
      steps:
        - id: room
          ask:
            prompt: Which room is free?
            fields: { room: string }
            yes: Enters the room in the calendar.
            link: { for: 7d }
            tell:
              - uses: file.write
                with: { path: ask-for-a-room.txt, text: "${{ question.prompt }} ${{ question.link }}" }
      """),
    KeyExample(
      "Step", "approve.yes approve.no approve.link approve.link.for approve.tell",
      """
      steps:
        - id: decision
          approve:
            prompt: Write 23 averages?
            by: [ann, bob]
            yes: Writes them into the markbook.
            no: Leaves the markbook as it is.
            link: { for: 7d }
            tell:
              - forEach: ${{ question.links }}
                as: person
                steps:
                  - uses: file.write
                    with: { path: "for-${{ person.name }}.txt", text: "${{ question.prompt }} ${{ person.link }}" }
      """),
    KeyExample(
      "Step", "parallel",
      """
      steps:
        - id: both
          parallel:
            left:
              - { id: a, uses: file.exists, with: { path: a.txt } }
            right:
              - { id: b, uses: file.exists, with: { path: b.txt } }
      outputs: { isThere: "${{ steps.both.left.a.exists }}" }
      """),
    KeyExample(
      "Step", "steps outputs",
      """
      steps:
        - id: letter
          timeout: 5m
          steps:
            - { id: file, uses: file.read, with: { path: letter.txt } }
          outputs: { size: "${{ steps.file.text.size() }}" }
      outputs: { size: "${{ steps.letter.size }}" }
      """),
    KeyExample(
      "Step", "else",
      """
      inputs: { isShort: bool }
      steps:
        - id: letter
          if: inputs.isShort
          steps: [{ id: note, uses: file.read, with: { path: note.txt } }]
          outputs: { text: "${{ steps.note.text }}" }
          else:
            steps: [{ id: whole, uses: file.read, with: { path: letter.txt } }]
            outputs: { text: "${{ steps.whole.text }}" }
      outputs: { text: "${{ steps.letter.text }}" }
      """),
    KeyExample(
      "Step", "switch cases default",
      """
      inputs: { colour: string }
      steps:
        - switch: inputs.colour
          cases:
            red: [{ uses: file.delete, with: { path: stop.txt } }]
            green: [{ uses: file.write, with: { path: go.txt, text: go } }]
          default: []
      """),
    KeyExample(
      "Case of `else` and `switch`", "steps outputs",
      """
      inputs: { count: int }
      steps:
        - id: size
          switch: inputs.count
          cases:
            0: { steps: [], outputs: { word: none } }
            1: { steps: [], outputs: { word: one } }
          default: { steps: [], outputs: { word: many } }
      outputs: { word: "${{ steps.size.word }}" }
      """),
    KeyExample(
      "Step", "call",
      """
      steps:
        - call: averages.yaml
          with: { class: 8B }
      """),
  ]

  private static let policies = [
    KeyExample(
      "`retry`", "maxAttempts initial factor maxInterval jitter on if",
      """
      steps:
        - uses: http.get
          with: { url: "https://example.org/items" }
          retry:
            maxAttempts: 5
            initial: 2s
            factor: 3
            maxInterval: 1m
            jitter: none
            on: [timeout, network, server]
            if: error.?retryAfter.orValue(duration('0s')) < duration('10m')
      """),
    KeyExample(
      "`timeout`", "attempt total",
      """
      steps:
        - uses: http.get
          with: { url: "https://example.org/items" }
          timeout: { attempt: 20s, total: 2m }
      """),
  ]

  private static let tests = [
    KeyExample(
      "Test file", "recipe start inputs secrets files sandboxes cases",
      """
      recipe: ../weekly-report.yaml
      start: 2026-03-01T12:00:00Z
      inputs: { markbook: 1207731 }
      secrets: { TOKEN: made-up }
      files: { notes.txt: "Exams begin on Monday." }
      sandboxes: { markbook: { fault: { kind: refuse, times: 2 } } }
      cases:
        - case: it runs
          do: [run]
      """),
    KeyExample(
      "Test file", "files.NAME.text files.NAME.encoding files.NAME.base64",
      """
      recipe: ../weekly-report.yaml
      inputs: { markbook: 1207731 }
      files:
        marks.csv: { text: "Zoë,9", encoding: windows-1252 }
        logo.png: { base64: iVBORw0KGgo= }
      cases:
        - case: it runs
          do: [run]
      """),
    KeyExample(
      "Test file", "replay",
      """
      recipe: ../stock-list.yaml
      replay: exchanges.json
      cases:
        - case: as it was recorded
          do: [run]
      """),
    KeyExample(
      "Case", "case start inputs secrets files sandboxes do",
      """
      recipe: ../weekly-report.yaml
      cases:
        - case: a service that is busy at first
          start: 2026-03-01T12:00:00Z
          inputs: { markbook: 1207731 }
          secrets: { TOKEN: made-up }
          files: { notes.txt: "Exams begin on Monday." }
          sandboxes: { markbook: { fault: { kind: refuse, times: 2 } } }
          do:
            - run
            - expect: { status: succeeded }
      """),
    KeyExample(
      "Case", "files.NAME.text files.NAME.encoding files.NAME.base64",
      """
      recipe: ../weekly-report.yaml
      cases:
        - case: files that aren't text in UTF-8
          inputs: { markbook: 1207731 }
          files:
            marks.csv: { text: "Zoë,9", encoding: windows-1252 }
            logo.png: { base64: iVBORw0KGgo= }
          do: [run]
      """),
    KeyExample(
      "Case", "replay",
      """
      recipe: ../stock-list.yaml
      cases:
        - case: as it was recorded
          replay: exchanges.json
          do: [run]
      """),
    KeyExample(
      "Item of `do`", "run serve advance advanceTo setClock stop restart expect",
      """
      recipe: ../weekly-report.yaml
      cases:
        - case: an agent that was away
          do:
            - run: { markbook: 1207731 }
              expect: { status: succeeded }
            - serve
            - advance: 1d
            - stop
            - advanceTo: 2026-11-23T07:00:00Z
            - restart
            - setClock: 2026-11-24T07:00:00Z
            - expect: { runs: [succeeded, succeeded] }
      """),
    KeyExample(
      "Item of `do`", "file.encoding file.base64",
      """
      recipe: ../weekly-report.yaml
      cases:
        - case: files that come
          do:
            - file: { path: inbox/marks.csv, text: "Zoë,9", encoding: windows-1252 }
            - file: { path: inbox/logo.png, base64: iVBORw0KGgo= }
      """),
    KeyExample(
      "Item of `do`", "signal signal.name signal.id signal.data file file.path file.text approve reject cancel trigger",
      """
      recipe: ../ask-and-remind.yaml
      cases:
        - case: what people and programs do
          do:
            - run
            - signal: { name: paid, id: order-17, data: { amount: 12.5 } }
            - file: { path: inbox/a.csv, text: "name,marks\n" }
            - approve
            - run
            - reject
            - run
            - cancel
            - serve
            - trigger
      """),
    KeyExample(
      "Item of `do`", "fault sandbox",
      """
      recipe: ../timetable-changes.yaml
      cases:
        - case: an outage, and a new timetable
          do:
            - sandbox: { timetable: { publish: {} } }
            - fault: { timetable: { kind: refuse, times: 2 } }
            - run
      """),
    KeyExample(
      "`approve` and `reject` of a test", "step by comment",
      """
      recipe: ../approved-command.yaml
      cases:
        - case: a yes
          do:
            - run
            - approve: { step: decision, by: ana, comment: As agreed. }
      """),
    KeyExample(
      "Item of `do`", "answer answer.step answer.fields answer.by answer.comment",
      """
      recipe: ../ask-for-a-room.yaml
      cases:
        - case: a room
          do:
            - run: { who: Ben }
            - answer: { step: room, fields: { room: B12 }, by: ann, comment: The one with the piano. }
      """),
    KeyExample(
      "`expect`", "status error error.kind error.message error.step",
      """
      recipe: ../commute-digest.yaml
      cases:
        - case: a stop that is not there
          do:
            - run: { stops: [Atlantis] }
              expect:
                status: failed
                error: { kind: validation, message: "No stop is called 'Atlantis'.", step: "places[0]/#2" }
      """),
    KeyExample(
      "`expect`", "error.status error.detail",
      """
      recipe: ../price-watch.yaml
      cases:
        - case: what the service said
          do:
            - run: { url: /nothing }
            - expect: { error: { status: 404, detail: "Not found: There is nothing at this address." } }
      """),
    KeyExample(
      "`expect`", "waitsUntil steps",
      """
      recipe: ../ask-and-remind.yaml
      cases:
        - case: it waits
          start: 2026-03-07T04:00:00Z
          do:
            - run
            - expect: { waitsUntil: 2026-03-08T04:00:00Z, steps: { ask: waiting, again: absent } }
      """),
    KeyExample(
      "`expect`", "outputs runs requests slots that",
      """
      recipe: ../price-watch.yaml
      cases:
        - case: an hour
          start: 2026-11-20T08:30:00Z
          do:
            - serve
            - advance: 1h
              expect:
                outputs: { price: 0.8 }
                runs: [succeeded]
                requests: [GET /items/1 200]
                slots: ["2026-11-20T09:00:00Z started"]
                that: outputs.price < 1.0
      """),
  ]

  private static let configuration = [
    KeyExample(
      "`errand.yaml`", "state zone recipes connections",
      """
      state: .errand
      zone: Europe/Berlin
      recipes: [recipes, more/recipes]
      connections:
        http:
          baseURL: https://shop.example/api
          token: ${{ secrets.SHOP_TOKEN }}
        archive: { plugin: http, baseURL: "https://archive.example" }
      """),
    KeyExample(
      "`errand.yaml`",
      "secrets secrets.environment secrets.files secrets.age secrets.age.files secrets.age.identity secrets.commands "
        + "secrets.commands.NAME.run secrets.commands.NAME.timeout secrets.commands.NAME.renew",
      """
      secrets:
        environment: false
        files: [secrets.yaml]
        age: { files: [secrets.age], identity: key.txt }
        commands:
          SHOP_TOKEN: [pass, show, shop]
          SLOW_TOKEN: { run: [vault-read, shop], timeout: 1m, renew: 50m }
      """),
    KeyExample(
      "`errand.yaml`",
      "postgres postgres.password postgres.rootCertificate postgres.answerWithin worker worker.name worker.queues "
        + "worker.capacity worker.sharedFolder",
      """
      state: postgres://errand@db1.example.org,db2.example.org/errand
      postgres:
        password: ${{ secrets.ERRAND_DB }}
        rootCertificate: ca.pem
        answerWithin: 5s
      worker: { name: lab-3, queues: [default, nightly], capacity: 100, sharedFolder: true }
      """),
    KeyExample(
      "`limits` of a connection", "maxParallel requests per",
      """
      connections:
        shop: { plugin: http, baseURL: "https://shop.example", limits: { maxParallel: 4, requests: 60, per: 1m } }
      """),
    KeyExample(
      "`errand.yaml`", "server server.listen server.publicURL server.allowRemote server.name server.contact",
      """
      server:
        listen: 127.0.0.1:7373
        publicURL: https://errand.example.org
        allowRemote: false
        name: School office
        contact: office@example.org
      """),
    KeyExample(
      "`errand.yaml`", "server.edit",
      """
      server: { listen: 127.0.0.1:7373, edit: true }
      """),
    KeyExample(
      "`errand.yaml`", "server.mcp server.mcp.recipes server.mcp.confirm",
      """
      server:
        mcp: { recipes: [report-*, order-received], confirm: person }
      """),
    KeyExample(
      "`errand.yaml`", "history history.keepRuns history.keepFor history.keepSlotsFor history.keepDataFor",
      """
      history: { keepRuns: 10000, keepFor: 90d, keepSlotsFor: 30d, keepDataFor: 14d }
      """),
    KeyExample(
      "`errand.yaml`", "onFailure",
      """
      onFailure: recipes/tell-me.yaml
      """),
  ]
}
