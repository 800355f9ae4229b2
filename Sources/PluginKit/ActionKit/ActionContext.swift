/// What an action may know of its run, and where it passes on its progress and what programs print.
public struct ActionContext: Sendable {
  /// The run's id.
  public var run: String
  /// The step, with the indexes of its loops: `put[3].write`.
  public var step: String
  /// Which attempt it is, the first being 1.
  public var attempt: Int
  /// The same each time the same step of the same run is tried, also after a crash.
  public var idempotencyKey: String
  /// Whether the step names that key, so that an attempt whose outcome is unknown is made again.
  public var isKeyNamed: Bool
  /// The step's instant, which its expressions see as `now`.
  public var now: Timestamp
  /// The clocks, for time limits and waiting.
  public var time: any TimeSource
  /// The folder that relative paths start from.
  public var folder: String
  /// The values that outlive runs; nil where no state is kept.
  public var values: (any ValueStore)?
  /// What the run notes of itself; nil where no state is kept.
  public var notes: (any RunNotes)?
  /// What was there before the first attempt, for an action that reconciles; nil for others.
  public var baseline: Value?
  /// The texts of its input that are made with secrets, which no request log, recording or message may show.
  public var secrets: [String] = []
  /// The folder that every path leads into, full ones too, in a run that touches nothing outside.
  package var confinement: String?
  /// What sits between the action and the files that it reads, in a run that is recorded or replayed.
  package var fileInterceptor: (any FileInterceptor)?
  /// What belongs to the program itself, which no path leads to.
  package var ownFiles = OwnFiles()
  /// What stands in for the folders that paths lead into, in a run that changes nothing in them.
  package var standIn: (any FolderStandIn)?
  private let onReport: @Sendable (Report) -> Void

  /// What an action passes on while it runs.
  package enum Report: Sendable {
    case progress(Progress)
    case printed([UInt8], PrintedStream)
  }

  /// How far an action is.
  public struct Progress: Hashable, Sendable {
    /// What it is doing, in a few words without full stop.
    public var message: String
    /// How many of `total` are done, if it counts.
    public var completed: Int?
    /// How many there are, if that is known.
    public var total: Int?
    /// What is counted.
    public var unit: Unit

    /// What is counted, so that progress is shown in its words.
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

  /// Creates a context whose run is told of everything that the action passes on.
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

  /// Reports progress to the run's followers, who see a bar, a rate and the time that is left if there are numbers.
  ///
  /// It costs little and may be called often: followers are told some times a second, and of the last report always.
  /// Downloads, uploads and the reading of large files are reported without this.
  public func report(
    _ message: String, completed: Int? = nil, of total: Int? = nil, unit: Progress.Unit = .items
  ) {
    onReport(.progress(Progress(message, completed: completed, of: total, unit: unit)))
  }

  /// Passes on what a program that the action runs prints, as it comes: in pieces that end anywhere.
  ///
  /// The run shows it line by line to its followers and keeps it in its log, both without secrets. May block for a
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

/// Sits between actions that make HTTP requests and the files that they read, as a recording does.
package protocol FileInterceptor: Sendable {
  /// What is in the file of that full path.
  func read(
    _ path: String, _ perform: () async throws(ActionError) -> [UInt8]
  ) async throws(ActionError) -> [UInt8]
}

/// Stands in for folders, so that a run reads their files as they are and writes elsewhere.
package protocol FolderStandIn: Sendable {
  /// Where the copy is of what a full path leads to.
  func place(of path: String) -> String
  /// Sees to it that the copy has what lies on the way from a folder of it, before that is looked at.
  ///
  /// - Parameter isWhole: Whether all that is in the last folder is needed.
  func fill(_ root: String, _ names: [String], isWhole: Bool) throws(FileError)
}

/// Where a program prints.
public enum PrintedStream: Sendable, Hashable, CaseIterable {
  /// Its standard output.
  case output
  /// Its standard error.
  case errors
}
