import Basics
import RecipeEditing

// Faults in the form of the protocol, and the actions that fix them.

enum CodeActionKind {
  static let quickFix = "quickfix"
  static let fixAll = "source.fixAll"
}

extension LanguageServer {
  /// `Diagnostic`s of the protocol.
  func reports(of found: [Diagnostic], in document: Document) -> [Value] {
    found.map { report($0, document) }
  }

  private func report(_ fault: Diagnostic, _ document: Document) -> Value {
    let shown = EditorFaultAnswer(fault, document.positions, client.encoding)
    var report = ValueMap()
    report["range"] = Value.range(shown.from, shown.to)
    report["severity"] = .int(fault.severity.number)
    report["source"] = .string("errand")
    let (related, others) = related(shown.notes)
    report["message"] = .string(([shown.message] + others.map { "note: \($0)" }).joined(separator: "\n"))
    if !related.isEmpty { report["relatedInformation"] = .list(related) }
    if client.keepsData, !shown.fixes.isEmpty {
      report["data"] = .object([
        "fixes": .list(
          shown.fixes.map { fix in
            .object(["title": .string(fix.title), "edits": .list(fix.edits.map(\.value))])
          })
      ])
    }
    return .map(report)
  }

  /// Notes with a place that the client shows, and the texts of the others.
  private func related(_ notes: [NoteAnswer]) -> (related: [Value], others: [String]) {
    var (related, others) = ([] as [Value], [] as [String])
    for note in notes {
      if client.takesRelatedInformation, let path = note.path, let from = note.from, let to = note.to {
        let location = Value.object(["uri": .string(address(of: path)), "range": .range(from, to)])
        related.append(.object(["location": location, "message": .string(note.message)]))
      } else {
        others.append(note.message)
      }
    }
    return (related, others)
  }

  func codeActions(_ params: Value) throws(ResponseError) -> Value {
    guard let uri = params["textDocument"]?["uri"]?.string else {
      throw ResponseError(.invalidParams, "'textDocument.uri' is missing")
    }
    guard let document = documents[uri], document.isTreated else { return .null }
    guard let range = params["range"].flatMap(document.positions.range) else {
      throw ResponseError(.invalidParams, "'range' is missing")
    }
    let only = params["context"]?["only"]?.list?.compactMap(\.string)
    func isWanted(_ kind: String) -> Bool {
      only?.contains { $0.isEmpty || kind == $0 || kind.hasPrefix($0 + ".") } ?? true
    }
    let faults = diagnostics(of: uri).filter { !$0.fixes.isEmpty }
    var actions: [Value] = []
    if isWanted(CodeActionKind.quickFix) {
      for fault in faults where fault.touches(range) {
        let displayed = Value.list([report(fault, document)])
        for fix in fault.fixes {
          actions.append(
            action(
              fix.title, CodeActionKind.quickFix, fix.edits, document,
              ["diagnostics": displayed, "isPreferred": .bool(fix == fault.certainFix)]))
        }
      }
    }
    guard isWanted(CodeActionKind.fixAll) else { return .list(actions) }
    if only == nil {
      // Beside the single fixes, this action is useful only if it fixes more than one fault.
      if client.resolvesEdits, faults.count(where: { $0.certainFix != nil }) > 1 {
        actions.append(action(Self.fixAllTitle, CodeActionKind.fixAll, nil, document, ["data": .string(uri)]))
      }
    } else if faults.contains(where: { $0.certainFix != nil }) {
      let edits = mendingEdits(of: document)
      if !edits.isEmpty { actions.append(action(Self.fixAllTitle, CodeActionKind.fixAll, edits, document, [:])) }
    }
    return .list(actions)
  }

  private static let fixAllTitle = "apply all safe fixes"

  private func mendingEdits(of document: Document) -> [Diagnostic.Edit] {
    service(for: document).mendingEditsInTime(of: document.source)
  }

  /// An action with its edits, which are made when it is chosen, because they take many checks.
  func resolved(_ action: Value) -> Value {
    guard var resolved = action.map, let document = action["data"]?.string.flatMap({ documents[$0] }),
      document.isTreated
    else { return action }
    resolved["edit"] = edit(mendingEdits(of: document), document)
    return .map(resolved)
  }

  private func action(
    _ title: String, _ kind: String, _ edits: [Diagnostic.Edit]?, _ document: Document,
    _ more: KeyValuePairs<String, Value>
  ) -> Value {
    var action = ValueMap()
    action["title"] = .string(title.prefix(1).uppercased() + title.dropFirst())
    action["kind"] = .string(kind)
    for (name, value) in more { action[name] = value }
    action["edit"] = edits.map { edit($0, document) }
    return .map(action)
  }

  private func edit(_ edits: [Diagnostic.Edit], _ document: Document) -> Value {
    workspaceEdit([(document.uri, document.version, .list(edits.map(document.positions.value)))])
  }
}

extension Diagnostic {
  /// Whether the fault or one of its fixes lies where a person points.
  fileprivate func touches(_ range: Range<Int>) -> Bool {
    ([location?.range].compactMap(\.self) + fixes.flatMap { $0.edits.map(\.range) })
      .contains { $0.lowerBound <= range.upperBound && range.lowerBound <= $0.upperBound }
  }
}

extension Diagnostic.Severity {
  /// The `DiagnosticSeverity` of the protocol.
  fileprivate var number: Int {
    switch self {
    case .error: 1
    case .warning: 2
    case .hint: 4
    }
  }
}
