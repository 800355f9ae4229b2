package import Basics

extension StoredValue {
  /// The most bytes of JSON text of a value that is kept in the event itself.
  static let largestInline = 64 << 10
  /// How deep a value may be nested: each level may become three, and the result has to fit into `JSON.deepest`.
  static let deepest = 150

  static let tooDeep = StateError(
    .invalid, "a value that is nested deeper than \(deepest) lists and maps cannot be kept in the state")
}

/// The bytes of a record's text.
func recordedBytes(of record: some Recordable) throws(StateError) -> [UInt8] {
  var text = RecordText()
  record.write(to: &text)
  try text.check()
  return text.json.bytes
}

/// Writes a text that `body` makes, in pieces of bounded size.
func writeInPieces(
  _ style: JSON.Style, _ take: ([UInt8]) throws(FileError) -> Void, _ body: (inout RecordText) -> Void
) throws(StateError) {
  var failure: FileError?
  let unread = withoutActuallyEscaping(
    { (piece: [UInt8]) in
      if failure != nil { return }
      do throws(FileError) { try take(piece) } catch { failure = error }
    },
    do: { (pass: @escaping ([UInt8]) -> Void) -> Result<[UInt8], StateError> in
      var text = RecordText(style, inPieces: pass)
      body(&text)
      return Result { () throws(StateError) in
        try text.check()
        return text.json.bytes
      }
    })
  let last = try unread.get()
  try onDisk { () throws(FileError) in
    if let failure { throw failure }
    try take(last)
  }
}

extension RecordText {
  /// Throws if a value could not be written.
  func check() throws(StateError) {
    if let failure { throw StateError(.invalid, "it cannot be kept in the state: \(failure.message)") }
  }
}

/// The value in a blob.
package func decodedValue(of bytes: [UInt8], _ reference: BlobReference) throws(StateError) -> Value {
  do {
    return try Value(reading: try JSON.parse(bytes, limits: StateFormat.limits))
  } catch {
    throw StateError(.damaged, "the blob \(reference.sha256) holds no value that this version can read")
  }
}

extension Value {
  /// Whether lists and maps are nested deeper than a limit; never looks deeper.
  func isNested(deeperThan depth: Int) -> Bool {
    switch content {
    case .list(let items): depth <= 0 || items.contains { $0.isNested(deeperThan: depth - 1) }
    case .map(let map): depth <= 0 || map.members.contains { $0.value.isNested(deeperThan: depth - 1) }
    case .optional(let value): depth <= 0 || value.map { $0.isNested(deeperThan: depth - 1) } ?? false
    default: false
    }
  }
}

extension StateEvent {
  /// Refuses a value that could not be written.
  package func check() throws(StateError) {
    if bringsTooDeep { throw StoredValue.tooDeep }
  }

  /// Whether the event has a value that is nested too deep.
  private var bringsTooDeep: Bool {
    switch self {
    case .runCreated(let event):
      event.texts.isTooDeep || event.inputs.isTooDeep || event.overrides.values.contains(where: \.isTooDeep)
    case .stepBegan(let event): [event.items, event.baseline].contains { $0?.isTooDeep == true }
    case .attemptBegan(let event): event.baseline?.isTooDeep ?? false
    case .attemptEnded(let event): event.answer?.isTooDeep == true || event.exchanges.contains(where: \.isTooDeep)
    case .stepEnded(let event): event.output?.isTooDeep == true || event.exchanges.contains(where: \.isTooDeep)
    case .runEnded(let event): event.outputs?.isTooDeep ?? false
    case .runNoted(let event): event.value.isTooDeep
    case .valueSet(let event): event.value.isTooDeep
    case .eventReceived(let event): event.data?.isTooDeep ?? false
    case .scheduleSet(let event): event.texts?.isTooDeep ?? false
    case .stepWaits(let event): event.wait.fields?.isTooDeep ?? false
    case .answerGiven(let event): event.decision.fields?.isTooDeep ?? false
    case .runClaimed, .runPlaced, .runStatusChanged, .cancelRequested, .valueRemoved, .decisionGiven, .linkMade,
      .linksEnded, .eventConsumed, .eventsForgotten, .eventGathered, .failureDismissed, .filesSeen, .scheduleRemoved,
      .schedulePaused, .scheduleReset, .connectionUsed, .tokenIssued, .tokenRevoked, .sessionBegan, .sessionEnded,
      .accessUsed:
      false
    case .slotDecided(let slot): slot.inputs?.isTooDeep ?? false
    }
  }
}

extension Value {
  fileprivate var isTooDeep: Bool { isNested(deeperThan: StoredValue.deepest) }
}

extension StoredValue {
  fileprivate var isTooDeep: Bool { if case .inline(let value) = self { value.isTooDeep } else { false } }
}
