import ActionKit
import Basics
import Calendars

// The meanings of words that keys take, for editors. Words that explain themselves have no sentence.

/// A word that a key takes, with its meaning.
protocol DescribedWord {
  /// A sentence.
  var meaning: String { get }
}

extension Trigger.Overlap: DescribedWord {
  var meaning: String {
    switch self {
    case .skip: "The slot starts nothing."
    case .bufferOne: "The slot starts a run when the open one has ended; only one slot waits, and others are dropped."
    case .bufferAll: "The slot starts a run in its turn, after all before it."
    case .cancelOther: "The open run is asked to end, and the slot starts one when it has ended."
    case .terminateOther: "The slot starts a run at once, and the open one is ended by force."
    case .allowAll: "The slot starts a run beside the open one."
    }
  }
}

extension Trigger.Catchup: DescribedWord {
  var meaning: String {
    switch self {
    case .none: "Starts nothing that is more than a minute late."
    case .last: "Starts the newest missed slot, and records the others as superseded."
    case .all: "Starts each missed slot, up to 'catchupLimit'; goes with bufferAll or allowAll."
    }
  }
}

extension Trigger.Existing: DescribedWord {
  var meaning: String {
    switch self {
    case .ignore: "They start nothing."
    case .run: "Each starts a run."
    }
  }
}

extension CronExpression.DSTGap: DescribedWord {
  var meaning: String {
    switch self {
    case .shift: "The slot is due at the first instant after the gap."
    case .skip: "The slot is left out."
    }
  }
}

extension CronExpression.DSTFold: DescribedWord {
  var meaning: String {
    switch self {
    case .first: "The slot is due when the clock shows the time first."
    case .last: "The slot is due when the clock shows the time again."
    case .both: "A slot is due each time."
    }
  }
}

extension Recipe.ConcurrencyGroup.OnLimit: DescribedWord {
  var meaning: String {
    switch self {
    case .queue: "It waits until there is a place."
    case .skip: "It ends as skipped."
    case .cancelOldest: "The oldest open runs are cancelled until there is a place."
    }
  }
}

extension Loop.OnItemError: DescribedWord {
  var meaning: String {
    switch self {
    case .stop: "No more items begin, and the step fails."
    case .continue: "The other items run nevertheless."
    }
  }
}

extension OnTimeout: DescribedWord {
  var meaning: String {
    switch self {
    case .fail: "The step fails as timed out."
    case .continue: "The run goes on with the next step."
    }
  }
}

extension Approval.OnReject: DescribedWord {
  var meaning: String {
    switch self {
    case .end: "The run ends as rejected."
    case .continue: "The run goes on, and steps.ID.approved is false."
    }
  }
}

extension RetrySchedule.Jitter: DescribedWord {
  var meaning: String {
    switch self {
    case .full: "Any time from nothing up to the computed delay."
    case .none: "The computed delay exactly."
    }
  }
}

extension ErrorKind: DescribedWord {
  var meaning: String {
    switch self {
    case .configuration: "The connection or the agent is set up wrongly."
    case .validation: "The input makes no sense, to the action or to the service."
    case .expression: "An expression failed on the data it got."
    case .authentication: "The service doesn't accept the credentials."
    case .authorization: "The credentials are good, but not enough for this."
    case .notFound: "What the input names isn't there."
    case .conflict: "It is there already, or another client has changed it meanwhile."
    case .rateLimited: "The service asks to wait."
    case .timeout: "No answer came in time."
    case .network: "The service can't be reached, or the connection broke."
    case .server: "The service answered that it failed."
    case .cancelled: "It was cancelled."
    case .plugin: "The service's answer isn't what its contract says."
    case .internal: "A fault in Errand or a plugin."
    case .uncertain: "A write may or may not have happened, and a person has to look."
    }
  }
}
