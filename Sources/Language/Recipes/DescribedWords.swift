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
    case .bufferAll: "The slot starts a run in its turn, after all slots before it."
    case .cancelOther: "The open run is cancelled, and the slot starts a run when it has ended."
    case .terminateOther: "The slot starts a run immediately, and the open run is ended by force."
    case .allowAll: "The slot starts a run beside the open one."
    }
  }
}

extension Trigger.Catchup: DescribedWord {
  var meaning: String {
    switch self {
    case .none: "Starts nothing that is more than a minute late."
    case .last: "Starts the newest missed slot, and records the others as superseded."
    case .all: "Starts each missed slot, up to 'catchupLimit'; needs bufferAll or allowAll."
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
    case .queue: "The run waits until a place is free."
    case .skip: "The run ends as skipped."
    case .cancelOldest: "The oldest open runs are cancelled until a place is free."
    }
  }
}

extension Loop.OnItemError: DescribedWord {
  var meaning: String {
    switch self {
    case .stop: "No further item begins, and the step fails."
    case .continue: "The other items still run."
    }
  }
}

extension OnTimeout: DescribedWord {
  var meaning: String {
    switch self {
    case .fail: "The step fails as timed out."
    case .continue: "The run continues with the next step."
    }
  }
}

extension Approval.OnReject: DescribedWord {
  var meaning: String {
    switch self {
    case .end: "The run ends as rejected."
    case .continue: "The run continues, and steps.ID.approved is false."
    }
  }
}

extension RetrySchedule.Jitter: DescribedWord {
  var meaning: String {
    switch self {
    case .full: "A random delay, from zero to the computed delay."
    case .none: "Exactly the computed delay."
    }
  }
}

extension ErrorKind: DescribedWord {
  var meaning: String {
    switch self {
    case .configuration: "The connection or the agent isn't set up correctly."
    case .validation: "The action or the service considers the input invalid."
    case .expression: "An expression failed on its data."
    case .authentication: "The service doesn't accept the credentials."
    case .authorization: "The credentials are valid, but don't permit this."
    case .notFound: "The thing that the input names doesn't exist."
    case .conflict: "It exists already, or another client has changed it in the meantime."
    case .rateLimited: "The service asks the caller to wait."
    case .timeout: "No answer arrived in time."
    case .network: "The service can't be reached, or the connection broke."
    case .server: "The service reported that it failed."
    case .cancelled: "It was cancelled."
    case .plugin: "The service's answer doesn't match its contract."
    case .internal: "A fault in Errand or a plugin."
    case .uncertain: "A write may or may not have happened, and a person must check."
    }
  }
}

extension WebForm.Access: DescribedWord {
  var meaning: String {
    switch self {
    case .public: "Everyone who reaches the address may send it."
    case .link: "Those with a link of 'errand form link' may send it."
    case .login: "Those who are logged in with the scope 'start' may send it."
    }
  }
}
