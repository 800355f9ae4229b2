import Basics
import PostgresClient
import RunState

/// The statements for PostgreSQL, and functions that decode their results.
enum SQL {
  /// Locks due runs that no worker holds, and reads their logs.
  static let due = """
    with due as (select id from run where owner is null and queue = any($1) and due_at <= least(clock_timestamp(), $5)
      and needs <@ $2 and (home is null or home = $3) order by due_at limit $4 for update skip locked)
    \(logs(where: "r.id in (select id from due)"))
    """

  /// Locks an open run, and returns its holder and its needs.
  static let locked = """
    select r.owner, coalesce(w.name, ''), r.needs, r.home from run r left join worker w on w.id = r.owner
    where r.id = $1 for update of r
    """

  static let log = logs(where: "r.id = $1")

  /// Frees what workers hold that are gone.
  static let freed = """
    update run set owner = null, has_news = true
    where owner is not null and not exists (select 1 from worker where id = owner)
    """

  /// Pauses runs whose logs can't be read, for a person to look at.
  static let park = """
    update run set status = 'paused', needs_person = true, has_news = false, wake_at = '9999-12-31T23:59:59Z'
    where id = any($1)
    """

  /// Whether some worker can claim a run.
  private static let hasTaker =
    """
    exists (select 1 from worker w where o.needs <@ w.offers and o.queue = any(w.queues) and not w.is_draining
      and (o.home is null or o.home = w.home))
    """

  /// Whether some worker can run what waits for a place, or holds it.
  private static let hasWorker = "(o.owner is not null or \(hasTaker))"

  static let places = """
    select w.name, array(select n from unnest(o.needs) n
        where not exists (select 1 from worker x where n = any(x.offers) and not x.is_draining) order by n), \(hasTaker),
      case when not exists (select 1 from worker x where o.home = x.home and not x.is_draining) then o.home end,
      case when not exists (select 1 from worker x where o.queue = any(x.queues) and not x.is_draining) then o.queue end,
      exists (select 1 from worker x where not x.is_draining), o.id
    from run o left join worker w on w.id = o.owner where o.id = any($1)
      and (not $2 or o.owner is null and o.due_at <= clock_timestamp() and not \(hasTaker))
    """

  /// The counts of open runs by status, and the last end of a run; any change of a run's place in lists changes one of
  /// them.
  static let pulse = """
    select coalesce((select string_agg(status || ' ' || count || ' ' || last, ',' order by status) from (
        select status, count(*) as count, max(id::text) as last from run group by status) as open), '')
      || (select coalesce(max(ended_at)::text, '') from finished)
    """

  /// A text that changes with the state.
  ///
  /// It has the pulse, which is up to date, and how many rows were ever written, as PostgreSQL counts it for its
  /// statistics: of each session a second later at the latest, or ten if it has nothing more to do. About the workers, it
  /// has what decides which runs they can claim.
  static let version = """
    select (\(pulse)) || ' ' || (select coalesce(string_agg(
        concat_ws(' ', id, is_draining, lease_until > clock_timestamp(), offers, queues), ',' order by id), '') from worker)
      || ' ' || coalesce(sum(pg_stat_get_tuples_inserted(oid) + pg_stat_get_tuples_updated(oid)
      + pg_stat_get_tuples_deleted(oid)), 0)
    from pg_class where relnamespace = 'errand'::regnamespace and relkind = 'r'
      and relname ~ '^(run|item|entry|slot|finished|line)(_|$)'
    """

  static let enter = """
    update run r set has_place = true where id = $1 and (has_place or $3 > (
      select count(*) from run o where o.group_name = $2 and o.id <> $1
        and (o.has_place or o.status = 'queued' and o.id < $1 and \(hasWorker))))
    returning id
    """

  static let wakeQueued = """
    with waiting as (
        select o.id, o.group_limit - (select count(*) from run p where p.group_name = o.group_name and p.has_place) as free,
          row_number() over (partition by o.group_name order by o.id) as place
        from run o where o.group_name is not null and o.status = 'queued' and not o.has_place and \(hasWorker)),
      told as (update run r set has_news = true from waiting w where r.id = w.id and w.place <= w.free
        and not r.has_news returning r.owner)
    select pg_notify('errand', coalesce(owner::text, 'due')) from (select distinct owner from told) as owners
    """

  /// Finds a worker's lease, and whether it is draining; keeps others from changing either meanwhile.
  static func lease(of worker: WorkerIdentity) -> PostgresStatement {
    PostgresStatement(
      "select is_draining from worker where id = $1 and lease_until > clock_timestamp() for share", .int64(worker.id))
  }

  /// Notes the server's timeline, and says how many microseconds ago the highest was noted; nothing if it is the first.
  static let sinceTakeover = """
    with noted as (insert into meta values ('timeline', \(PostgresTimeline.expression)::text)
        on conflict (key) do update set value = excluded.value where meta.value::int8 < excluded.value::int8 returning 1),
      since as (insert into meta select 'takenOver', (extract(epoch from clock_timestamp()) * 1000000)::int8::text from noted
        on conflict (key) do update set value = excluded.value returning 1)
    select case when exists (select 1 from since) then 0 else (select
      (extract(epoch from clock_timestamp()) * 1000000)::int8 - value::int8 from meta where key = 'takenOver') end
    """

  static let renew = """
    update worker set lease_until = clock_timestamp() + $2 * interval '1 microsecond'
    where id = $1 and lease_until > clock_timestamp()
    returning is_draining, exists (select 1 from worker where lease_until < clock_timestamp()
        or lease_until > clock_timestamp() + 2 * $2 * interval '1 microsecond'),
      (select count(*) from run where owner = $1)
    """

  /// Shortens leases that end later than a new one would: the database's clock was set back, or another server's is
  /// behind.
  static let shortened = """
    update worker set lease_until = clock_timestamp() + $1 * interval '1 microsecond'
    where lease_until > clock_timestamp() + 2 * $1 * interval '1 microsecond'
    """

  static let insert = """
    insert into entry (run, number, epoch, sum, events)
    select * from unnest($1::uuid[], $2::int8[], $3::int8[], $4::int8[], $5::text[])
    """

  /// The same for entries that follow one that is there, or begin a log.
  ///
  /// After a failover to a server that was behind, entries that were acknowledged may be missing.
  static let insertNext = """
    insert into entry (run, number, epoch, sum, events)
    select * from unnest($1::uuid[], $2::int8[], $3::int8[], $4::int8[], $5::text[]) as u(run, number, epoch, sum, events)
    where number = 1 or exists (select 1 from entry e where e.run = u.run and e.number = u.number - 1)
    """

  static let append = "\(insert) on conflict do nothing returning run"
  static let appendNext = "\(insertNext) on conflict do nothing returning run"
  static let appendChanging = changing(append)
  static let appendNextChanging = changing(appendNext)

  /// A run's row changes only with its entry.
  private static func changing(_ append: String) -> String {
    """
    with kept as (\(append)), changed as (
      update run r set status = u.status, wake_at = u.wake_at, needs_person = u.needs_person <> 0,
        waits_for = array(select jsonb_array_elements_text(u.waits_for::jsonb)), home = nullif(u.home, ''),
        needs = array(select jsonb_array_elements_text(u.needs::jsonb))
      from unnest($6::uuid[], $7::text[], $8::timestamptz[], $9::text[], $10::int4[], $11::text[], $12::text[])
        as u(id, status, wake_at, waits_for, needs_person, home, needs)
      where r.id = u.id and u.id in (select run from kept))
    select run from kept
    """
  }

  static func columns(_ entries: [LogEntry]) -> [PostgresValue] {
    [
      .uuids(entries.map(\.run)), .int64s(entries.map(\.number)), .int64s(entries.map(\.epoch)),
      .int64s(entries.map { Int(truncatingIfNeeded: $0.sum) }), .texts(entries.map(\.events)),
    ]
  }

  static func entry(_ row: PostgresRow) throws(PostgresError) -> LogEntry {
    LogEntry(
      run: try row.uuid(0), number: try row.int64(1), epoch: try row.int64(2),
      sum: UInt64(truncatingIfNeeded: try row.int64(3)), events: try row.text(4))
  }

  // MARK: Logs

  /// The logs of runs from where they were folded; the fold is sent once each.
  static func logs(where condition: String) -> String {
    """
    select r.id, coalesce(e.number, 0), coalesce(e.epoch, 0), coalesce(e.sum, 0), coalesce(e.events, ''), r.fold_number,
      r.fold_sum, case when row_number() over (partition by r.id order by e.number) = 1 then r.fold end, r.epoch,
      r.is_suspect, r.recipe, r.created_at
    from run r left join entry e on e.run = r.id and e.number > r.fold_number where \(condition)
    order by r.id, e.number
    """
  }

  static func logs(_ result: PostgresResult) throws(PostgresError) -> [LoggedRun] {
    var runs: [LoggedRun] = []
    var next: (row: PostgresRow, id: String, folded: FoldedLog?, entries: [LogEntry])?
    func finish() throws(PostgresError) {
      guard let next else { return }
      do throws(StateError) {
        runs.append(try LoggedRun(next.id, folded: next.folded, entries: next.entries))
      } catch {
        runs.append(
          .unread(
            next.id, of: try next.row.text(10), createdAt: try next.row.timestamp(11), because: error.message))
      }
    }
    for row in result.rows {
      let id = try row.uuid(0)
      if next?.id != id {
        try finish()
        var folded: FoldedLog?
        if !(try row.isNull(7)) {
          folded = FoldedLog(
            number: try row.int64(5), sum: UInt64(truncatingIfNeeded: try row.int64(6)), text: try row.text(7))
        }
        next = (row, id, folded, [])
      }
      if try row.int64(1) > 0 { next?.entries.append(try entry(row)) }
    }
    try finish()
    return runs
  }

  // MARK: Reading what a batch needs

  /// Locks by names, in an order that all programs keep.
  static func locks(_ needs: StateNeeds) -> [PostgresStatement] {
    func sorted(_ names: Set<String>) -> [String] { names.sorted { $0.precedesByScalars($1) } }
    let names =
      sorted(needs.followed).map { "follow \($0)" } + needs.items.sorted().map { "\($0.kind.rawValue) \($0.name)" }
      + sorted(needs.eventNames).map { "came \($0)" }
    var statements: [PostgresStatement] = []
    if !names.isEmpty {
      statements.append(
        PostgresStatement(
          "select pg_advisory_xact_lock(hashtextextended(n, 0)) from unnest($1::text[]) as n", .texts(names)))
    }
    if !needs.followed.isEmpty {
      statements.append(
        PostgresStatement(
          """
          select pg_advisory_xact_lock(hashtextextended('schedule ' || name, 0)) from
            (select name from item where kind = 'schedule' and reference = any($1) order by name) as followers
          """, .texts(sorted(needs.followed))))
    }
    return statements
  }

  /// The statements to read the needs, always in the same order; `rows(of:)` decodes their results.
  static func reads(_ needs: StateNeeds) -> [PostgresStatement] {
    let items = Array(needs.items)
    return [
      PostgresStatement(logs(where: "r.id = any($1)"), .uuids(needs.runs.filter(\.isUUID))),
      PostgresStatement(
        """
        select i.kind, i.name, i.text, coalesce(i.reference, ''), coalesce(i.holder, ''),
          case when i.kind = 'key' and i.holder is not null
            then exists (select 1 from run where id = i.holder::uuid) else false end
        from item i where (i.kind, i.name) in (select * from unnest($1::text[], $2::text[]))
          or i.kind = 'schedule' and i.reference = any($3)
        """, .texts(items.map(\.kind.rawValue)), .texts(items.map(\.name)), .texts(Array(needs.followed))),
      PostgresStatement(
        "select distinct on (schedule) text from slot where schedule = any($1) order by schedule, id desc",
        .texts(Array(needs.ledgers))),
      PostgresStatement(
        "select distinct reference from item where kind = 'event' and holder is null and reference = any($1)",
        .texts(Array(needs.eventNames))),
    ]
  }

  static func rows(of results: [PostgresResult]) throws(PostgresError) -> DatabaseRows {
    var rows = DatabaseRows()
    guard results.count == 4 else { return rows }
    rows.runs = try logs(results[0])
    for row in results[1].rows {
      let item = try item(row)
      rows.items.append(item)
      if try row.bool(5), let holder = item.holder { rows.open.insert(holder) }
    }
    for row in results[2].rows {
      // To a row that can't be read nothing is added, so that the next slot begins another.
      if let slot = try? SlotRecord(text: try text(row)) { rows.slots.append(slot) }
    }
    for row in results[3].rows { rows.freeEvents.insert(try row.text(0)) }
    return rows
  }

  private static func text(_ row: PostgresRow) throws(RecordError) -> String {
    do throws(PostgresError) { return try row.text(0) } catch { throw RecordError(error.message) }
  }

  static func item(_ row: PostgresRow) throws(PostgresError) -> StoredItem {
    guard let kind = ItemKind(rawValue: try row.text(0)) else {
      throw PostgresError(.protocolError, "a newer version wrote to the database")
    }
    let (reference, holder) = (try row.text(3), try row.text(4))
    return StoredItem(
      ItemName(kind, try row.text(1)), text: try row.text(2), reference: reference.isEmpty ? nil : reference,
      holder: holder.isEmpty ? nil : holder)
  }

  // MARK: Writing what a batch changed

  /// Keeps that a transaction was done, unless the state was moved.
  ///
  /// Moving it keeps others from that until it is done.
  static let receipt = """
    insert into receipt (id) select $1 where not exists (select 1 from meta where key = 'moved')
    """

  static func writes(_ changes: DatabaseChanges) -> [PostgresStatement] {
    var statements = [PostgresStatement(receipt, .text(changes.receipt))]
    for row in changes.created {
      statements.append(
        PostgresStatement(
          """
          insert into run (id, recipe, status, created_at, wake_at, waits_for, group_name, retry_of, needs_person, queue,
            needs, owner, epoch, group_limit, home)
          values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, (select id from worker where id = $12 for share), $13, $14,
            $15)
          """, .uuid(row.id), .text(row.recipe), .text(row.status), .timestamp(row.createdAt),
          .timestamp(row.wakeAt ?? .latest), .texts(row.waitsFor), .text(row.group), .text(row.retryOf),
          .bool(row.needsPerson), .text(row.queue), .texts(row.needs), .int64(changes.holder(of: row.id)),
          .int64(changes.holder(of: row.id) == nil ? 0 : 1), .int64(row.groupLimit), .text(row.home)))
    }
    if changes.created.contains(where: { changes.holder(of: $0.id) == nil }) {
      statements.append(PostgresStatement("select pg_notify('errand', 'due')"))
    }
    if !changes.entries.isEmpty {
      var statement = PostgresStatement(insertNext)
      statement.values = columns(changes.entries)
      statements.append(statement)
    }
    for row in changes.changed {
      statements.append(
        PostgresStatement(
          """
          update run set status = $2, wake_at = $3, waits_for = $4, needs_person = $5, home = $6, needs = $7 where id = $1
          """, .uuid(row.id), .text(row.status), .timestamp(row.wakeAt ?? .latest), .texts(row.waitsFor),
          .bool(row.needsPerson), .text(row.home), .texts(row.needs)))
    }
    for row in changes.ended {
      let summary = row.summary
      statements.append(PostgresStatement("delete from run where id = $1", .uuid(summary.id)))
      statements.append(
        PostgresStatement(
          """
          insert into finished (id, recipe, status, created_at, ended_at, retry_of, summary, text, failure, schedule)
          values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
          """, .uuid(summary.id), .text(summary.recipe), .text(summary.status.rawValue), .timestamp(summary.createdAt),
          .timestamp(summary.endedAt), .text(summary.again), .text((try? summary.storedText) ?? ""), .text(row.text),
          .text(summary.failure?.group), .text(summary.schedule)))
    }
    for item in changes.items {
      statements.append(
        PostgresStatement(
          """
          insert into item values ($1, $2, $3, $4, $5, $6) on conflict (kind, name) do update set text = excluded.text,
            reference = excluded.reference, at = excluded.at, holder = excluded.holder
          """, .text(item.name.kind.rawValue), .text(item.name.name), .text(item.text), .text(item.reference),
          .timestamp(item.at), .text(item.holder)))
    }
    if !changes.removed.isEmpty {
      statements.append(
        PostgresStatement(
          "delete from item where (kind, name) in (select * from unnest($1::text[], $2::text[]))",
          .texts(changes.removed.map(\.kind.rawValue)), .texts(changes.removed.map(\.name))))
    }
    for slot in changes.slots {
      statements.append(
        PostgresStatement(
          "insert into slot (schedule, slot, until, settled_at, text) values ($1, $2, $3, $4, $5)",
          .text(slot.schedule), .timestamp(slot.slot), .timestamp(slot.until ?? slot.slot), .timestamp(slot.at),
          .text((try? slot.storedText) ?? "")))
    }
    for slot in changes.grown {
      statements.append(
        PostgresStatement(
          """
          update slot set until = $2, text = $3
          where schedule = $1 and id = (select max(id) from slot where schedule = $1)
          """, .text(slot.schedule), .timestamp(slot.until ?? slot.slot), .text((try? slot.storedText) ?? "")))
    }
    if !changes.told.isEmpty || !changes.came.isEmpty {
      statements.append(
        PostgresStatement(
          """
          with told as (update run set has_news = true where id = any($1) or waits_for && $2 returning owner)
          select pg_notify('errand', coalesce(owner::text, 'due')) from (select distinct owner from told) as owners
          """, .uuids(Array(changes.told)), .texts(Array(changes.came))))
    }
    if changes.concernsSchedules { statements.append(PostgresStatement("select pg_notify('errand', 'schedules')")) }
    // Last, so that all who lock it have their other locks.
    if changes.isSteering { statements.append(PostgresStatement("update leader set version = version + 1")) }
    return statements
  }

  // MARK: The leader of the schedules

  /// Notes a worker's clock.
  ///
  /// It is separate from `lead`, because transactions lock the two rows in the other order.
  static let noteClock = """
    update worker set clock_offset = (extract(epoch from $2::timestamptz - clock_timestamp()) * 1000000)::int8
    where id = $1
    """

  static let lead = """
    update leader set worker = $1, until = clock_timestamp() + $2 * interval '1 microsecond',
      epoch = epoch + case when worker is distinct from $1 then 1 else 0 end,
      version = version + case when worker is distinct from $1 then 1 else 0 end
    where (worker = $1 or until < clock_timestamp() or not exists (select 1 from worker where id = leader.worker))
      and exists (select 1 from worker where id = $1 and lease_until > clock_timestamp() and not is_draining)
      and abs(extract(epoch from $4::timestamptz - clock_timestamp()) * 1000000) <= $3
    returning epoch
    """

  static let beginVersion = "update leader set version = version + 1 where version = $1 returning version"

  // MARK: Removal of old rows

  /// Removes rows that are kept for a while only: receipts for as long as their transactions may be repeated.
  static let expired = [
    "delete from receipt where at < clock_timestamp() - interval '1 day'",
    "delete from item where kind in ('delivery', 'dismissal', 'link', 'session') and at < clock_timestamp()",
    """
    delete from item where kind = 'key' and at < clock_timestamp() - interval '\(RunKey.lifetime.nanoseconds / 1_000_000_000) s'
      and (holder is null or not exists (select 1 from run where id::text = holder))
    """,
  ]

  /// Now, and not long after the last run ended: a clock that is years ahead for a while must not remove everything.
  private static let present =
    "(select least(clock_timestamp(), max(ended_at) + interval '2 days') from finished)"

  /// Removes some of the finished runs and slots that need be kept no longer, by whole months where an age decides; each
  /// tells how many it removed.
  static func forgotten(_ retention: Retention, most: Int) -> [PostgresStatement] {
    func month(_ number: Int) -> String {
      "date_trunc('month', (\(present) - $\(number) * interval '1 microsecond') at time zone 'UTC') at time zone 'UTC'"
    }
    func runs(_ condition: String) -> String {
      """
      with gone as (delete from finished where (id, ended_at) in (
            select id, ended_at from finished where \(condition) order by ended_at, id limit $2) returning id),
        printed as (delete from line where run in (select id from gone))
      select count(*) from gone
      """
    }
    var statements: [PostgresStatement] = []
    if let age = retention.runsFor {
      statements.append(
        PostgresStatement(runs("ended_at < \(month(1))"), .int64(age.nanoseconds / 1000), .int64(most)))
    }
    if let count = retention.runs {
      let last = "select ended_at, id from finished order by ended_at desc, id desc offset $1 limit 1"
      statements.append(PostgresStatement(runs("(ended_at, id) <= (\(last))"), .int64(count), .int64(most)))
    }
    if let age = retention.slotsFor {
      statements.append(
        PostgresStatement(
          """
          with gone as (delete from slot where (id, settled_at) in (
            select id, settled_at from slot where settled_at < \(month(1)) order by settled_at limit $2) returning 1)
          select count(*) from gone
          """, .int64(age.nanoseconds / 1000), .int64(most)))
    }
    return statements
  }

  /// Some of the finished runs that ended so long ago that their data goes, oldest first, and the instant.
  static let aged = """
    select id, ended_at, text, clock_timestamp(), coalesce(blobs, '{}') from finished
    where not is_erased and ended_at < \(present) - $1 * interval '1 microsecond' and (ended_at, id) > ($3, $4)
    order by ended_at, id limit $2
    """

  /// Leaves of finished runs what their records say, and nothing else.
  static func erase(_ runs: [(row: FinishedRow, ended: Timestamp)]) -> [PostgresStatement] {
    let ids = PostgresValue.uuids(runs.map(\.row.summary.id))
    return [
      PostgresStatement(
        """
        update finished f set is_erased = true, text = u.text, summary = u.summary, failure = null
        from unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[]) as u(id, ended_at, text, summary)
        where f.id = u.id and f.ended_at = u.ended_at
        """, ids, .timestamps(runs.map(\.ended)), .texts(runs.map(\.row.text)),
        .texts(runs.map { (try? $0.row.summary.storedText) ?? "" })),
      PostgresStatement(emptied, ids), PostgresStatement(silenced, ids),
    ]
  }

  /// Empties the logs of finished runs.
  ///
  /// The numbers stay, so that a program that believes to hold one adds nothing to it.
  static let emptied = """
    update entry set events = '[]', sum = 0 where run = any($1) and events <> '[]'
      and not exists (select 1 from run where id = entry.run)
    """

  /// Removes what finished runs printed.
  static let silenced =
    "delete from line where run = any($1) and not exists (select 1 from run where id = line.run)"

  /// Removes blobs that no record refers to, and returns their number; marks when the others were checked.
  ///
  /// A program refers to a blob within moments of storing it, and storing it again makes it new.
  private static func collect(_ which: String) -> String {
    """
    with old as (
        select sha256, encode(sha256, 'hex') as name from blob where part = 0 and \(which) order by put_at limit $1
        for update skip locked),
      named as (
        select sha256 from old where exists (select 1 from finished f where f.blobs @> array[old.name])
          or exists (select 1 from item i where i.blobs @> array[old.name])
          or exists (select 1 from run r where r.blobs @> array[old.name])
          or exists (select 1 from entry e join run r on r.id = e.run where e.blobs @> array[old.name])),
      kept as (update blob b set put_at = clock_timestamp() from named n where b.sha256 = n.sha256 and b.part = 0),
      gone as (delete from blob b using old o where b.sha256 = o.sha256 and o.sha256 not in (select sha256 from named)
        returning b.part)
    select count(*) filter (where part = 0) from gone
    """
  }

  static let collected = collect("put_at < clock_timestamp() - interval '1 hour'")

  /// The same for blobs of a run that is deleted, or whose data is.
  static let collectedOf = collect("put_at < clock_timestamp() - interval '1 minute' and sha256 = any($2)")

  // MARK: Looking at workers and steering them

  static let workers = """
    select w.id, w.name, w.host, w.pid, w.program, w.home, w.queues, w.offers, w.capacity,
      (select count(*) from run where owner = w.id), w.since, w.lease_until, w.lease_until <= clock_timestamp(),
      w.is_draining, exists (select 1 from leader where worker = w.id and until > clock_timestamp()), w.clock_offset
    from worker w order by w.name, w.id
    """

  /// Makes a worker drain or not, even when its lease is lost and its row removed.
  static let setDraining = """
    with changed as (update worker set is_draining = $2 where id = $1 returning 'draining ' || name || ' ' || home as key),
      kept as (insert into meta select key, '' from changed where $2 on conflict do nothing),
      gone as (delete from meta where not $2 and key in (select key from changed))
    select key from changed
    """

  static func worker(_ row: PostgresRow) throws(PostgresError) -> WorkerRecord {
    WorkerRecord(
      id: try row.int64(0), name: try row.text(1), host: try row.text(2), pid: Int(try row.int32(3)),
      program: try row.text(4), home: try row.text(5), queues: try row.texts(6).sorted { $0.precedesByScalars($1) },
      offers: try row.texts(7).sorted { $0.precedesByScalars($1) }, capacity: Int(try row.int32(8)),
      runs: try row.int64(9), since: try row.timestamp(10), until: try row.timestamp(11), isOver: try row.bool(12),
      isDraining: try row.bool(13), isLeading: try row.bool(14),
      clockOffset: try row.isNull(15) ? nil : .milliseconds(try row.int64(15) / 1000))
  }

  // MARK: Queries

  static let firstID = "00000000-0000-0000-0000-000000000000"
  static let lastID = "ffffffff-ffff-ffff-ffff-ffffffffffff"

  /// The least and the last id that begins with a text; nil if none can.
  private static func ids(from prefix: String?) -> (first: String?, last: String?)? {
    guard let prefix else { return (nil, nil) }
    let first = prefix + String(decoding: Array(firstID.utf8.dropFirst(prefix.utf8.count)), as: UTF8.self)
    let last = prefix + String(decoding: Array(lastID.utf8.dropFirst(prefix.utf8.count)), as: UTF8.self)
    return first.isUUID && last.isUUID ? (first, last) : nil
  }

  /// Columns hold microseconds, so an upper bound may equal the instant in the row.
  static let matches = """
    ($1::text is null or r.recipe = $1) and (cardinality($2::text[]) = 0 or r.recipe = any($2))
    and ($3::text is null or r.group_name = $3) and (cardinality($4::text[]) = 0 or r.status = any($4))
    and ($5::uuid is null or r.id between $5 and $6) and ($7::text is null or r.id::text like '%' || $7)
    and (cardinality($8::text[]) = 0 or r.retry_of = any($8)) and ($9::text is null or r.waits_for @> array[$9])
    and ($10::timestamptz is null or r.created_at >= $10) and ($11::timestamptz is null or r.created_at < $11)
    and ($12::uuid is null or r.id < $12) and ($13::bool is null or r.needs_person = $13)
    """

  static let openRuns = logs(
    where: "r.id in (select r.id from run r where \(matches) order by r.id desc limit $14)")

  static func conditions(_ query: OpenRunQuery) -> [PostgresValue]? {
    guard let ids = ids(from: query.idPrefix), query.statuses?.isEmpty != true else { return nil }
    if let before = query.idBefore, !before.isUUID { return nil }
    guard let suffix = suffix(query.idSuffix) else { return nil }
    return [
      .text(query.recipe), .texts(query.recipes), .text(query.group), .texts((query.statuses ?? []).map(\.rawValue)),
      .uuid(ids.first), .uuid(ids.last), .text(suffix), .texts(again(query.retriesOf, query.againOf)),
      .text(query.event),
      .timestamp(query.createdFrom), .timestamp(query.createdBefore), .uuid(query.idBefore), .bool(query.needsPerson),
    ]
  }

  /// The runs of which one is done again; the column has the run that a run retries or repeats.
  private static func again(_ retried: Set<String>, _ again: String?) -> [String] {
    retried.isEmpty ? again.map { [$0] } ?? [] : Array(retried)
  }

  /// A suffix without pattern characters; the inner nil means that none was requested, the outer that nothing can
  /// match.
  private static func suffix(_ suffix: String?) -> String?? {
    guard let suffix else { return .some(nil) }
    let isPlain = suffix.utf8.allSatisfy { byte in
      ASCII.digits.contains(byte) || ASCII.lowercase.contains(byte) || byte == ASCII.minus
    }
    return isPlain ? .some(suffix) : .none
  }

  static let finishedRuns = """
    select summary, ended_at, id, recipe, status, created_at from finished
    where ($1::text is null or recipe = $1) and (cardinality($2::text[]) = 0 or status = any($2))
    and ($3::uuid is null or id between $3 and $4) and ($5::text is null or id::text like '%' || $5)
    and ($6::timestamptz is null or created_at >= $6) and ($7::timestamptz is null or created_at <= $7)
    and ($8::timestamptz is null or ended_at >= $8) and ($9::timestamptz is null or ended_at <= $9)
    and (cardinality($10::text[]) = 0 or retry_of = any($10)) and ($11::text is null or failure = $11)
    and ($12::text is null or strpos(lower(recipe collate "C"), $12) > 0)
    and not exists (select 1 from unnest($13::text[]) as needle where strpos(summary, needle) = 0)
    and not exists (select 1 from unnest($14::text[]) as needle where strpos(lower(summary collate "C"), needle) = 0)
    and (ended_at, id) < ($15::timestamptz, $16::uuid) order by ended_at desc, id desc limit $17
    """

  /// A finished run; of one that can't be read, what its row tells of it.
  static func summary(_ row: PostgresRow) throws(PostgresError) -> RunSummary {
    do throws(RecordError) { return try RunSummary(text: try text(row)) } catch {
      var run = RunRecord(unread: try row.uuid(2), of: try row.text(3), createdAt: try row.timestamp(5))
      run.status = RunStatus(rawValue: try row.text(4)) ?? .failed
      run.endedAt = try row.timestamp(1)
      run.reason = "its record can't be read: \(error.message)"
      return RunSummary(run)
    }
  }

  static func conditions(_ query: HistoryQuery) -> [PostgresValue]? {
    guard let ids = ids(from: query.idPrefix), query.statuses?.isEmpty != true,
      let suffix = suffix(query.idSuffix), query.filter.recipePart?.utf8.contains(0) != true
    else { return nil }
    return [
      .text(query.recipe), .texts((query.statuses ?? []).map(\.rawValue)), .uuid(ids.first), .uuid(ids.last),
      .text(suffix), .timestamp(query.createdFrom), .timestamp(query.createdBefore), .timestamp(query.endedFrom),
      .timestamp(query.endedBefore), .texts(again(query.retriesOf, query.againOf)), .text(query.failure),
      .text(query.filter.foldedRecipePart), .texts(query.filter.needles), .texts(query.filter.foldedNeedles),
    ]
  }

  // MARK: Sums of finished runs

  /// The sums from a day on, by day if that is asked for.
  static let runSums = """
    select recipe, status, case when $3 then (day - date '1970-01-01')::int8 end as number, sum(count)::int8,
      sum(took)::int8
    from run_sum where day >= date '1970-01-01' + $1::int4 and ($2::text is null or recipe = $2)
    group by recipe, status, number having sum(count) > 0
    """

  /// The latest finished runs of each of some recipes.
  static let latestResults = """
    select f.summary, f.ended_at, f.id, f.recipe, f.status, f.created_at from unnest($1::text[]) as r(name)
      cross join lateral (select * from finished where recipe = r.name and ended_at >= $2
        order by ended_at desc, id desc limit $3) as f
    """

  /// The latest failure of each group, how many there are, and whether the recipe has succeeded since: by the same
  /// schedule, or by a retry.
  static let failures = """
    with groups as (
      select failure, sum(count)::int8 as count from run_sum
      where failure is not null and day >= date '1970-01-01' + $1::int4 group by failure having sum(count) > 0)
    select f.summary, f.ended_at, f.id, f.recipe, f.status, f.created_at, g.count,
      exists (select 1 from finished s where s.recipe = f.recipe and s.status = 'succeeded' and s.ended_at > f.ended_at
        and (s.schedule is not distinct from f.schedule or s.retry_of is not null))
    from groups g cross join lateral (
      select * from finished where failure = g.failure order by ended_at desc, id desc limit 1) as f
    order by f.ended_at desc, f.id desc limit $2
    """

  /// Joins the sums of the same runs, so that there is one for each day, recipe, status and group again.
  static let summed = """
    with several as (
        select day, recipe, status, failure from run_sum group by 1, 2, 3, 4 having count(*) > 1 or sum(count) = 0),
      old as (select s.id from run_sum s join several t on s.day = t.day and s.recipe = t.recipe
          and s.status = t.status and s.failure is not distinct from t.failure
        order by s.id limit $1 for update of s skip locked),
      gone as (delete from run_sum where id in (select id from old) returning *)
    insert into run_sum (day, recipe, status, failure, count, took)
      select day, recipe, status, failure, sum(count), sum(took) from gone group by 1, 2, 3, 4
      having sum(count) <> 0 or sum(took) <> 0
    """

  /// A settled slot; of one that can't be read, what its row tells of it.
  static func slot(_ row: PostgresRow) throws(PostgresError) -> SlotRecord {
    do throws(RecordError) { return try SlotRecord(text: try text(row)) } catch {
      return SlotRecord(
        schedule: try row.text(2), slot: try row.timestamp(3), outcome: .refused, at: try row.timestamp(4),
        cause: RunCause(.slot), reason: "its record can't be read: \(error.message)")
    }
  }

  /// Selects columns of the items that match.
  static func items(_ query: ItemQuery, _ columns: String, _ order: String = "") -> PostgresStatement {
    var statement = PostgresStatement(
      """
      select \(columns) from item
      where kind = $1 and ($2::text is null or reference = $2) and ($3::text is null or holder = $3)
        and (not $4 or holder is null) and ($5::timestamptz is null or at >= $5) \(order)
      """)
    statement.values = [
      .text(query.kind.rawValue), .text(query.reference), .text(query.holder), .bool(query.isFree),
      .timestamp(query.since),
    ]
    return statement
  }

  static let slots = """
    select text, id, schedule, slot, settled_at from slot where ($1::text is null or schedule = $1)
    and ($2::timestamptz is null or until >= $2) and ($3::timestamptz is null or slot <= $3)
    and ($4::timestamptz is null or settled_at <= $4) and id < $5 order by id desc limit $6
    """
}

extension OpenRunRow {
  /// The names of events as a list of JSON.
  var waitsForText: String { (try? waitsFor.storedText) ?? "[]" }
  /// The needs as a JSON list.
  var needsText: String { (try? needs.storedText) ?? "[]" }
}

extension String {
  /// Whether it is a UUID in its usual form.
  var isUUID: Bool {
    utf8.count == 36
      && utf8.enumerated().allSatisfy { index, byte in
        [8, 13, 18, 23].contains(index)
          ? byte == ASCII.minus
          : ASCII.digits.contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
      }
  }
}
