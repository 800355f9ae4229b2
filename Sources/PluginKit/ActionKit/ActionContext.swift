/// The context of one attempt of an action: its run, clocks and folders, and its channels for progress and printed
/// output.
public struct ActionContext: Sendable {
  /// The run's id.
  public var run: String
  /// The step, with the indexes of its loops: `put[3].write`.
  public var step: String
  /// The number of the attempt, from 1 on.
  public var attempt: Int
  /// The idempotency key: the same for each attempt of the same step of the same run, even after a crash.
  public var idempotencyKey: String
  /// Whether the step names that key, so that an attempt with an unknown outcome is repeated.
  public var isKeyNamed: Bool
  /// The step's instant, which its expressions see as `now`.
  public var now: Timestamp
  /// The clocks, for time limits and waiting.
  public var time: any TimeSource
  /// The folder that relative paths start from.
  public var folder: String
  /// The values that outlive runs; nil if there is no state.
  public var values: (any ValueStore)?
  /// The run's own notes; nil if there is no state.
  public var notes: (any RunNotes)?
  /// The baseline from before the first attempt, for an action that reconciles; nil for others.
  public var baseline: Value?
  /// The texts of its input that were computed from secrets; no request log, recording or message may show them.
  public var secrets: [String] = []
  /// The folder that all paths are redirected to, even full ones, in a run that touches nothing outside.
  package var confinement: String?
  /// Intercepts the action's file reads, in a run that is recorded or replayed.
  package var fileInterceptor: (any FileInterceptor)?
  /// The program's own files: actions can't change them, and may read only some of them.
  package var ownFiles = OwnFiles()
  /// Replaces folders by copies, in a run that changes nothing in the original ones.
  package var standIn: (any FolderStandIn)?
  private let onReport: @Sendable (Report) -> Void

  /// A message from a running action.
  package enum Report: Sendable {
    case progress(Progress)
    case printed([UInt8], PrintedStream)
  }

  /// The progress of an action.
  public struct Progress: Hashable, Sendable {
    /// The current activity, in a few words without full stop.
    public var message: String
    /// The number of finished units, if the action counts them.
    public var completed: Int?
    /// The total number of units, if it is known.
    public var total: Int?
    /// The unit of the numbers.
    public var unit: Unit

    /// The unit of progress, which determines how it is displayed.
    public enum Unit: String, Sendable {
      /// Items, pages, rows.
      case items
      /// Bytes, which are shown as `12.3 MB` and `4.1 MB/s`.
      case bytes
    }

    /// Creates a report.
    public init(_ message: String, completed: Int? = nil, of total: Int? = nil, unit: Unit = .items) {
      self.message = message
      self.completed = completed
      self.total = total
      self.unit = unit
    }
  }

  /// Creates a context; only runs and tests do.
  public init(
    run: String, step: String, attempt: Int = 1, idempotencyKey: String, isKeyNamed: Bool = false, now: Timestamp,
    time: any TimeSource, folder: String, values: (any ValueStore)? = nil, notes: (any RunNotes)? = nil,
    onProgress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) {
    self.init(
      run: run, step: step, attempt: attempt, idempotencyKey: idempotencyKey, isKeyNamed: isKeyNamed, now: now,
      time: time, folder: folder, values: values, notes: notes
    ) { report in
      if case .progress(let progress) = report { onProgress(progress) }
    }
  }

  /// Creates a context that reports progress and printed output to its run.
  package init(
    run: String, step: String, attempt: Int, idempotencyKey: String, isKeyNamed: Bool, now: Timestamp,
    time: any TimeSource, folder: String, values: (any ValueStore)?, notes: (any RunNotes)?,
    onReport: @escaping @Sendable (Report) -> Void
  ) {
    self.run = run
    self.step = step
    self.attempt = attempt
    self.idempotencyKey = idempotencyKey
    self.isKeyNamed = isKeyNamed
    self.now = now
    self.time = time
    self.folder = folder
    self.values = values
    self.notes = notes
    self.onReport = onReport
  }

  /// Reports progress to the run's followers, who see a bar, a rate and the remaining time if there are numbers.
  ///
  /// It is cheap and may be called often: followers get an update a few times a second, and always get the last report.
  /// Downloads, uploads and reads of large files are reported without this.
  public func report(
    _ message: String, completed: Int? = nil, of total: Int? = nil, unit: Progress.Unit = .items
  ) {
    onReport(.progress(Progress(message, completed: completed, of: total, unit: unit)))
  }

  /// Passes on the output of a program that the action runs, as it arrives: in pieces that end anywhere.
  ///
  /// The run shows it line by line to its followers and writes it to its log, both without secrets. May block for a
  /// moment, so that a program doesn't print faster than its output can be searched for secrets.
  public func printed(_ bytes: [UInt8], on stream: PrintedStream) {
    if !bytes.isEmpty { onReport(.printed(bytes, stream)) }
  }

  /// A path as the recipe gives it, made absolute.
  public func path(_ path: String) -> String {
    let path = path.hasPrefix("/") ? path : folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
    guard let confinement else { return path }
    return "\(confinement)/\(path.split(separator: "/").filter { $0 != ".." }.joined(separator: "/"))"
  }
}

/// Intercepts the file reads of actions that make HTTP requests, as a recording does.
package protocol FileInterceptor: Sendable {
  /// The content of the file of that full path.
  func read(
    _ path: String, _ perform: () async throws(ActionError) -> [UInt8]
  ) async throws(ActionError) -> [UInt8]
}

/// Replaces folders by copies: a run reads the original files, and writes to the copies.
package protocol FolderStandIn: Sendable {
  /// The path in the copy for a full path.
  func place(of path: String) -> String
  /// Makes sure that the copy contains the folders on a path from one of its folders, before they are read.
  ///
  /// - Parameter isWhole: Whether the whole content of the last folder is needed.
  func fill(_ root: String, _ names: [String], isWhole: Bool) throws(FileError)
}

/// The stream that a program prints to.
public enum PrintedStream: Sendable, Hashable, CaseIterable {
  /// Its standard output.
  case output
  /// Its standard error.
  case errors
}
