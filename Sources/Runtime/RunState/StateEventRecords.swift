/// The JSON members of each event.
import Basics

extension StateEvent: RecordObject {
  package func write(to record: inout RecordWriter) {
    func write(_ kind: Kind, _ event: some Record) {
      record.set("event", kind.rawValue)
      event.write(to: &record)
    }
    switch self {
    case .runCreated(let event): write(.runCreated, event)
    case .runClaimed(let event): write(.runClaimed, event)
    case .runStatusChanged(let event): write(.runStatusChanged, event)
    case .cancelRequested(let event): write(.cancelRequested, event)
    case .stepBegan(let event): write(.stepBegan, event)
    case .attemptBegan(let event): write(.attemptBegan, event)
    case .attemptEnded(let event): write(.attemptEnded, event)
    case .stepEnded(let event): write(.stepEnded, event)
    case .runEnded(let event): write(.runEnded, event)
    case .runNoted(let event): write(.runNoted, event)
    case .runPlaced(let event): write(.runPlaced, event)
    case .valueSet(let event): write(.valueSet, event)
    case .valueRemoved(let event): write(.valueRemoved, event)
    case .stepWaits(let event): write(.stepWaits, event)
    case .decisionGiven(let event): write(.decisionGiven, event)
    case .answerGiven(let event): write(.answerGiven, event)
    case .linkMade(let event): write(.linkMade, event)
    case .linksEnded(let event): write(.linksEnded, event)
    case .eventReceived(let event): write(.eventReceived, event)
    case .eventConsumed(let event): write(.eventConsumed, event)
    case .eventsForgotten(let event): write(.eventsForgotten, event)
    case .eventGathered(let event): write(.eventGathered, event)
    case .failureDismissed(let event): write(.failureDismissed, event)
    case .filesSeen(let event): write(.filesSeen, event)
    case .scheduleSet(let event): write(.scheduleSet, event)
    case .scheduleRemoved(let event): write(.scheduleRemoved, event)
    case .schedulePaused(let event): write(.schedulePaused, event)
    case .scheduleReset(let event): write(.scheduleReset, event)
    case .slotDecided(let event): write(.slotDecided, event)
    case .connectionUsed(let event): write(.connectionUsed, event)
    case .tokenIssued(let event): write(.tokenIssued, event)
    case .tokenRevoked(let event): write(.tokenRevoked, event)
    case .sessionBegan(let event): write(.sessionBegan, event)
    case .sessionEnded(let event): write(.sessionEnded, event)
    case .accessUsed(let event): write(.accessUsed, event)
    }
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    func read<Event: Record>() throws(RecordError) -> Event { try Event(from: &record) }
    let name: String = try record.read("event")
    guard let kind = Kind(rawValue: name) else {
      throw RecordError("the event '\(name)' is not known to this version")
    }
    switch kind {
    case .runCreated: self = .runCreated(try read())
    case .runClaimed: self = .runClaimed(try read())
    case .runStatusChanged: self = .runStatusChanged(try read())
    case .cancelRequested: self = .cancelRequested(try read())
    case .stepBegan: self = .stepBegan(try read())
    case .attemptBegan: self = .attemptBegan(try read())
    case .attemptEnded: self = .attemptEnded(try read())
    case .stepEnded: self = .stepEnded(try read())
    case .runEnded: self = .runEnded(try read())
    case .runNoted: self = .runNoted(try read())
    case .runPlaced: self = .runPlaced(try read())
    case .valueSet: self = .valueSet(try read())
    case .valueRemoved: self = .valueRemoved(try read())
    case .stepWaits: self = .stepWaits(try read())
    case .decisionGiven: self = .decisionGiven(try read())
    case .answerGiven: self = .answerGiven(try read())
    case .linkMade: self = .linkMade(try read())
    case .linksEnded: self = .linksEnded(try read())
    case .eventReceived: self = .eventReceived(try read())
    case .eventConsumed: self = .eventConsumed(try read())
    case .eventsForgotten: self = .eventsForgotten(try read())
    case .eventGathered: self = .eventGathered(try read())
    case .failureDismissed: self = .failureDismissed(try read())
    case .filesSeen: self = .filesSeen(try read())
    case .scheduleSet: self = .scheduleSet(try read())
    case .scheduleRemoved: self = .scheduleRemoved(try read())
    case .schedulePaused: self = .schedulePaused(try read())
    case .scheduleReset: self = .scheduleReset(try read())
    case .slotDecided: self = .slotDecided(try read())
    case .connectionUsed: self = .connectionUsed(try read())
    case .tokenIssued: self = .tokenIssued(try read())
    case .tokenRevoked: self = .tokenRevoked(try read())
    case .sessionBegan: self = .sessionBegan(try read())
    case .sessionEnded: self = .sessionEnded(try read())
    case .accessUsed: self = .accessUsed(try read())
    }
  }
}
