// The schedules of a state that several programs share.
//
// One of the programs leads: it fires slots, and takes events that no run takes. It sees in the state when a run ends,
// wherever the run was held. It sees changes of other programs by the version of the schedules: a decision that was
// made without knowing of a change is refused. It looks when it gets a hint, and every few seconds in any case. The
// other programs show the schedules as the state has them.
import Basics
import Recipes
import RunState
import Scheduler

extension ScheduleHost {
  /// The longest time without a look.
  private static let patience = TimeSpan.seconds(4)

  /// The most events that are offered to the schedules before they get the next ends of runs.
  private static let mostOffered = 20

  /// Whether another program may decide on the schedules now.
  package var isElsewhere: Bool { sharing != nil && !isLeading }

  /// Fires slots while this program leads, and checks for changes of other programs; `stop` cancels the tasks.
  ///
  /// - Parameter hasBegun: Whether it leads already, so that the stream's first element is skipped.
  func watch(_ sharing: any ScheduleSharing, leads hasBegun: Bool) -> [Task<Void, Never>] {
    [
      Task {
        for await leads in sharing.leading.dropFirst(hasBegun ? 1 : 0) where isServing {
          if leads { await lead(sharing) } else { end() }
        }
      },
      Task { for await _ in sharing.scheduleHints { await look(sharing) } },
      Task {
        while !Task.isCancelled {
          do { try await time.sleep(for: ScheduleHost.patience) } catch { return }
          await look(sharing)
        }
      },
    ]
  }

  func lead(_ sharing: any ScheduleSharing) async {
    await begin()
    await look(sharing)
  }

  /// Fires nothing, because another program leads that this one has not heard of yet.
  func follow(_ sharing: any ScheduleSharing) async -> Bool {
    end()
    return false
  }

  // MARK: Changes of other programs

  /// Checks for changes of other programs, if this program leads; returns when this is done, or another call is doing
  /// it.
  func look(_ sharing: any ScheduleSharing) async {
    wantsLook = true
    if isLooking { return }
    isLooking = true
    defer { isLooking = false }
    while wantsLook {
      wantsLook = false
      guard isLeading else { return }
      // If it fails now, the next look repeats it.
      do throws(StateError) {
        try await lookOnce(sharing)
        // Requests that come while the schedules are read again wait until that is done.
        if isLeading, term != nil {
          for request in try await sharing.takeRequests() {
            // Who waits for an answer that can't be kept is told that there was none.
            try? await sharing.answer(request.id, with: await perform(request, self))
          }
        }
      } catch { return }
      if isLeading {
        host.inbox.awaitSchedules(false)
        await host.planForgetting()
      }
      planAlarm()
    }
  }

  private func lookOnce(_ sharing: any ScheduleSharing) async throws(StateError) {
    guard let found = await sharing.term(), found.isLeading else { return }
    // With it this program's decisions until then are known.
    _ = await keeping?.value
    guard let term else { return }
    if found.version > term.version { return makeAgain(because: "another program changed the schedules") }
    // First the ends that the scheduler was made with, so that only other ends are left in the state.
    await carryOut(decide { $0.due(at: time.now()) })
    let (generation, settings) = (generation, settings)
    func isStale() -> Bool { !isLeading || generation != self.generation || settings != self.settings }
    let open = scheduler.openRuns
    _ = await keeping?.value
    if isStale() { return }
    if !open.isEmpty {
      let rest = try await sharing.openRuns(among: open)
      for id in open.subtracting(rest).sorted(by: { $0.precedesByScalars($1) }) {
        let run = try await store.finishedRun(id)
        if isStale() { return }
        // Its data was deleted meanwhile; its schedule knows.
        guard let run else { return makeAgain(because: "the run \(id) was deleted") }
        await carryOut(decide { $0.ownRunEnded(run, at: time.now()) })
        await lookForCrowded(run)
        if isStale() { return }
      }
    }
    let followed = scheduler.followedRecipes
    for record in followed.isEmpty ? [] : try await sharing.schedules(following: followed) {
      for end in record.endsToFollow where !scheduler.isWaiting(end, before: record.id) {
        var outputs: Result<Value?, StateError> = .success(nil)
        if let recipe = record.follows, scheduler.readsOutputs(of: recipe) {
          outputs = await self.outputs(of: try await store.keptRun(end.run))
        }
        if isStale() { return }
        await carryOut(decide { $0.runEnded(end, outputs: outputs, before: record.id, at: time.now()) })
        if isStale() { return }
      }
    }
    let isFirst = offered.isEmpty
    let free = try await sharing.freeEvents()
    offered.formIntersection(free.map(\.id))
    missing = missing.filter { offered.contains($0.key) }
    for (id, last) in missing where time.elapsed() - last >= ScheduleHost.untilOffered { offered.remove(id) }
    var new = TurnQueue<String>()
    for event in free where !offered.contains(event.id) { new.add(event.id, to: event.name) }
    for _ in 0..<ScheduleHost.mostOffered {
      guard let id = new.next() else { return }
      if isStale() { return }
      offered.insert(id)
      if await !offer(id), !isFirst { tell(.untaken(event: id)) }
    }
    // Runs may have ended meanwhile that starts wait for.
    wantsLook = true
  }

  // MARK: Lists of schedules

  /// The schedules as the state has them.
  func schedulesElsewhere() async -> [KnownSchedule] {
    var known: [KnownSchedule] = []
    for record in await store.schedules() { known.append(KnownSchedule(record, await inForce(record)?.1)) }
    return known
  }

  func upcomingElsewhere(_ query: SlotQuery, at now: Timestamp) async -> [UpcomingSlot] {
    let from = max(query.from ?? now, now)
    let start = from.advanced(by: .zero - TimeSpan(nanoseconds: 1)) ?? from
    var found: [UpcomingSlot] = []
    for known in await schedulesElsewhere() where known.record.pause == nil {
      let record = known.record
      if let id = query.schedule, !id.hasSameScalars(as: record.id) { continue }
      if !query.recipes.isEmpty, !query.recipes.contains(where: record.recipe.hasSameScalars) { continue }
      for slot in known.upcoming(query.isFirst ? 1 : query.limit, after: start) {
        if let before = query.before, slot >= before { break }
        found.append(UpcomingSlot(schedule: record.id, slot: slot))
      }
    }
    found.sort { $0.slot == $1.slot ? $0.schedule.precedesByScalars($1.schedule) : $0.slot < $1.slot }
    return Array(found.prefix(query.limit))
  }
}
