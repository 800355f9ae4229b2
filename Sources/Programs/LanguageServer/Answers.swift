import Basics
import RecipeEditing

// Answers about files: each translates between the protocol and `EditorService`.

extension LanguageServer {
  func answerAboutFiles(_ method: String, _ params: Value) throws(ResponseError) -> Value {
    switch method {
    case "textDocument/completion": return try at(params) { .list(completions($0)) }
    case "textDocument/hover": return try at(params, hover)
    case "textDocument/signatureHelp": return try at(params, signatureHelp)
    case "textDocument/definition":
      return try at(params) { $0.service.definition(in: $0.source, at: $0.offset).map(location) ?? .null }
    case "textDocument/references":
      let withDeclaration = params["context"]?["includeDeclaration"]?.bool ?? false
      return try at(params) {
        .list($0.service.references(in: $0.source, at: $0.offset, withDeclaration: withDeclaration).map(location))
      }
    case "textDocument/prepareRename": return try at(params, whatIsRenamed)
    case "textDocument/rename": return try rename(params)
    case "textDocument/documentSymbol": return try document(params).map(symbols) ?? .null
    case "textDocument/foldingRange": return try document(params).map(folds) ?? .null
    case "textDocument/documentLink": return try document(params).map(links) ?? .null
    case "textDocument/semanticTokens/full":
      guard let document = try document(params) else { return .null }
      let tokens = HighlightedTokens(service(for: document).highlights(of: document.source), document)
      return .object(["data": .list(tokens.numbers.map(Value.int))])
    case "textDocument/codeAction": return try codeActions(params)
    case "codeAction/resolve": return resolved(params)
    case "textDocument/inlayHint": return try notes(params)
    case "workspace/symbol": return symbols(matching: params["query"]?.string ?? "")
    default: throw ResponseError(.methodNotFound, "there is no method '\(method)'")
    }
  }

  // MARK: Places

  /// A place in a text that is asked about.
  struct Asked {
    let document: Document
    let service: EditorService
    let offset: Int

    var source: Source { document.source }
  }

  /// A longer text is refused by the check.
  private static let longestText = 1 << 20

  /// The text that a request is about; nil if it isn't open, too long, or not a file of ours.
  private func document(_ params: Value) throws(ResponseError) -> Document? {
    guard let uri = params["textDocument"]?["uri"]?.string else {
      throw ResponseError(.invalidParams, "'textDocument.uri' is missing")
    }
    return documents[uri].flatMap { $0.isTreated && $0.source.bytes.count <= Self.longestText ? $0 : nil }
  }

  private func asked(_ params: Value) throws(ResponseError) -> Asked? {
    guard let document = try document(params) else { return nil }
    guard let position = params["position"].flatMap(TextPosition.init) else {
      throw ResponseError(.invalidParams, "'position' is missing")
    }
    return Asked(
      document: document, service: service(for: document), offset: document.positions.offset(of: position))
  }

  private func at(_ params: Value, _ answer: (Asked) -> Value) throws(ResponseError) -> Value {
    try asked(params).map(answer) ?? .null
  }

  /// The address of a file, as the client wrote it if it is open.
  func address(of path: String) -> String {
    documents.values.first { $0.path == path }?.uri ?? FileAddress.address(path)
  }

  /// A `Location` of the protocol.
  func location(_ location: Diagnostic.Location) -> Value {
    let name = location.source.name
    let positions = TextPositions(location.source.bytes, client.encoding)
    return .object(["uri": .string(address(of: name)), "range": positions.value(of: location.range)])
  }

  /// A `MarkupContent` of the protocol, or only the text where the client doesn't know Markdown.
  private func markup(_ text: String, _ page: ClientCapabilities.Page) -> Value {
    guard client.markdown.contains(page) else { return .string(text) }
    return .object(["kind": .string("markdown"), "value": .string(text)])
  }

  // MARK: While writing

  private func completions(_ asked: Asked) -> [Value] {
    asked.service.completions(in: asked.source, at: asked.offset).map { completion in
      var item = ValueMap()
      item["label"] = .string(completion.label)
      item["kind"] = .int(completion.kind.number)
      if !completion.detail.isEmpty { item["detail"] = .string(completion.detail) }
      if !completion.documentation.isEmpty { item["documentation"] = markup(completion.documentation, .completion) }
      let rank = String(min(max(completion.rank, 0), 9999) + 10_000).dropFirst()
      item["sortText"] = .string("\(rank) \(completion.label)")
      var edit = completion.edit
      if !client.takesSnippets {
        edit.text = completion.plainText
      } else if let selection = completion.selection {
        edit.text = Self.snippet(edit.text, selection)
        item["insertTextFormat"] = .int(2)
      }
      if client.keepsIndentation, edit.text.utf8.contains(ASCII.newline) { item["insertTextMode"] = .int(1) }
      let rest = completion.rest ?? 0
      let whole = edit.range.lowerBound..<edit.range.upperBound + rest
      if let match = completion.match { item["filterText"] = .string(match) }
      if rest > 0, client.choosesRange {
        item["textEdit"] = .object([
          "newText": .string(edit.text), "insert": asked.document.positions.value(of: edit.range),
          "replace": asked.document.positions.value(of: whole),
        ])
      } else {
        edit.range = completion.wholeEdit.range
        item["textEdit"] = asked.document.positions.value(of: edit)
      }
      return .map(item)
    }
  }

  /// A text with a placeholder for a range of its bytes, in the notation of snippets.
  static func snippet(_ text: String, _ selection: Range<Int>) -> String {
    func escaped(_ bytes: ArraySlice<UInt8>) -> String {
      var result: [UInt8] = []
      for byte in bytes {
        if [ASCII.backslash, ASCII.dollar, ASCII.closeBrace].contains(byte) { result.append(ASCII.backslash) }
        result.append(byte)
      }
      return String(decoding: result, as: UTF8.self)
    }
    let bytes = Array(text.utf8)
    let selection = selection.clamped(to: 0..<bytes.count)
    let selected = escaped(bytes[selection])
    let stop = selected.isEmpty ? "$0" : "${1:\(selected)}"
    return escaped(bytes[..<selection.lowerBound]) + stop + escaped(bytes[selection.upperBound...])
  }

  private func hover(_ asked: Asked) -> Value {
    guard let hover = asked.service.hover(in: asked.source, at: asked.offset) else { return .null }
    return .object([
      "contents": markup(hover.text, .hover), "range": asked.document.positions.value(of: hover.range),
    ])
  }

  private func signatureHelp(_ asked: Asked) -> Value {
    guard let help = asked.service.signatureHelp(in: asked.source, at: asked.offset) else { return .null }
    let forms = help.forms.map { form in
      let parameters = Self.parameters(of: form.text).map { range -> Value in
        let (start, end) = (form.text[..<range.lowerBound].utf16.count, form.text[..<range.upperBound].utf16.count)
        let label =
          client.takesOffsetsInLabels
          ? Value.list([.int(start), .int(end)]) : .string(String(form.text[range]))
        return .object(["label": label])
      }
      return Value.object([
        "label": .string(form.text), "documentation": markup(form.summary, .signature), "parameters": .list(parameters),
      ])
    }
    return .object([
      "signatures": .list(forms), "activeSignature": .int(help.active), "activeParameter": .int(help.argument),
    ])
  }

  /// The parts between the brackets of `substring(int, int) -> string`.
  static func parameters(of form: String) -> [Range<String.Index>] {
    guard let open = form.firstIndex(of: "(") else { return [] }
    var (start, depth) = (form.index(after: open), 0)
    var parts: [Range<String.Index>] = []
    func end(_ index: String.Index) {
      let first = form[start..<index].firstIndex { $0 != " " } ?? index
      if first < index { parts.append(first..<index) }
      start = form.index(after: index)
    }
    for index in form[start...].indices {
      switch form[index] {
      case "(", "[", "<", "{": depth += 1
      case ")" where depth == 0:
        end(index)
        return parts
      // The arrow of a function's type closes nothing.
      case ">" where index > form.startIndex && form[form.index(before: index)] == "-": break
      case ")", "]", ">", "}": depth -= 1
      case "," where depth == 0: end(index)
      default: break
      }
    }
    return parts
  }

  private func notes(_ params: Value) throws(ResponseError) -> Value {
    guard let document = try document(params) else { return .null }
    let range = params["range"].flatMap(document.positions.range) ?? 0..<document.source.bytes.count
    let notes = service(for: document).fireTimes(in: document.source)
      .filter { range.lowerBound <= $0.offset && $0.offset <= range.upperBound }
    return .list(
      notes.map { note in
        var hint = ValueMap()
        hint["position"] = document.positions.position(of: note.offset).value
        hint["label"] = .string(note.text)
        hint["paddingLeft"] = .bool(true)
        if !note.tooltip.isEmpty { hint["tooltip"] = .string(note.tooltip) }
        return .map(hint)
      })
  }

  // MARK: Names

  private func whatIsRenamed(_ asked: Asked) -> Value {
    guard let range = asked.service.renameRange(in: asked.source, at: asked.offset) else { return .null }
    let name = String(decoding: asked.source.bytes[range.clamped(to: 0..<asked.source.bytes.count)], as: UTF8.self)
    return .object(["range": asked.document.positions.value(of: range), "placeholder": .string(name)])
  }

  private func rename(_ params: Value) throws(ResponseError) -> Value {
    guard let asked = try asked(params) else { return .null }
    guard let name = params["newName"]?.string else { throw ResponseError(.invalidParams, "'newName' is missing") }
    let files: [FileEdits]
    do throws(RenameError) { files = try asked.service.rename(in: asked.source, at: asked.offset, to: name) } catch {
      throw ResponseError(.requestFailed, error.message)
    }
    return try edit(files)
  }

  private func edit(_ files: [FileEdits]) throws(ResponseError) -> Value {
    var changes: [(uri: String, version: Int?, edits: Value)] = []
    for file in files {
      let open = documents.values.first { $0.path == file.path }
      let source: Source
      do throws(FileError) { source = try self.files.read(file.path) } catch {
        throw ResponseError(.requestFailed, error.description)
      }
      let positions = TextPositions(source.bytes, client.encoding)
      changes.append((address(of: file.path), open?.version, .list(file.edits.map(positions.value))))
    }
    return workspaceEdit(changes)
  }

  /// A `WorkspaceEdit` of the protocol.
  func workspaceEdit(_ changes: [(uri: String, version: Int?, edits: Value)]) -> Value {
    guard client.takesDocumentChanges else {
      return .object(["changes": .map(ValueMap(changes.map { ($0.uri, $0.edits) }))])
    }
    return .object([
      "documentChanges": .list(
        changes.map { change in
          let version = change.version.map(Value.int) ?? .null
          return .object([
            "textDocument": .object(["uri": .string(change.uri), "version": version]), "edits": change.edits,
          ])
        })
    ])
  }

  // MARK: The whole text

  private func folds(_ document: Document) -> Value {
    .list(
      service(for: document).folds(of: document.source).compactMap { range in
        let (start, end) = (
          document.positions.position(of: range.lowerBound), document.positions.position(of: range.upperBound)
        )
        // Where it ends behind a line break, its last line is the one before.
        let last = end.character == 0 && end.line > start.line ? end.line - 1 : end.line
        return last > start.line ? .object(["startLine": .int(start.line), "endLine": .int(last)]) : nil
      })
  }

  private func links(_ document: Document) -> Value {
    let folder = FileAddress.folder(of: document.path)
    return .list(
      service(for: document).links(in: document.source).map { link in
        let path = FileAddress.resolve(link.path, in: folder)
        return .object([
          "range": document.positions.value(of: link.range), "target": .string(address(of: path)),
        ])
      })
  }

  private func symbols(_ document: Document) -> Value {
    let items = service(for: document).outline(of: document.source)
    if client.nestsSymbols { return .list(items.map { symbol($0, document.positions, 0) }) }
    return .list(flatSymbols(items, document.uri, document.positions) { _ in true })
  }

  private static let deepestSymbol = 64

  private func symbol(_ item: OutlineItem, _ positions: TextPositions, _ depth: Int) -> Value {
    var symbol = ValueMap()
    symbol["name"] = .string(item.name.isEmpty ? item.kind.rawValue : item.name)
    if !item.detail.isEmpty { symbol["detail"] = .string(item.detail) }
    symbol["kind"] = .int(item.kind.number)
    symbol["range"] = positions.value(of: item.range)
    // Clients refuse a symbol whose name lies outside of it.
    symbol["selectionRange"] = positions.value(of: item.nameRange.clamped(to: item.range))
    if depth < Self.deepestSymbol, !item.children.isEmpty {
      symbol["children"] = .list(item.children.map { self.symbol($0, positions, depth + 1) })
    }
    return .map(symbol)
  }

  /// Returns the `SymbolInformation` of the items that meet a condition, and of all items within them.
  private func flatSymbols(
    _ items: [OutlineItem], _ uri: String, _ positions: TextPositions, _ fits: (OutlineItem) -> Bool
  ) -> [Value] {
    var symbols: [Value] = []
    var open = items.reversed().map { (item: $0, container: "") }
    while let (item, container) = open.popLast() {
      if fits(item) {
        let location = Value.object(["uri": .string(uri), "range": positions.value(of: item.nameRange)])
        symbols.append(
          .object([
            "name": .string(item.name), "kind": .int(item.kind.number), "location": location,
            "containerName": .string(container),
          ]))
      }
      open += item.children.reversed().map { ($0, item.name) }
    }
    return symbols
  }

  private func symbols(matching query: String) -> Value {
    let query = query.lowercased()
    var symbols: [Value] = []
    for folder in folders.all {
      let service = EditorService(folder.editor)
      for path in folder.editor.files() {
        guard let source = try? files.read(path) else { continue }
        symbols += flatSymbols(
          service.outline(of: source), address(of: path), TextPositions(source.bytes, client.encoding)
        ) { $0.kind != .section && $0.name.lowercased().hasPart(query) }
      }
    }
    return .list(symbols)
  }
}

extension String {
  fileprivate func hasPart(_ part: String) -> Bool {
    part.isEmpty || utf8.indices.contains { utf8[$0...].starts(with: part.utf8) }
  }
}

extension Completion {
  /// The text for a client that can only put it in as it is, with the cursor at its end: up to where the cursor belongs,
  /// and one line, because such clients don't break lines.
  fileprivate var plainText: String {
    let isOneText = selection.map { edit.text.utf8.dropFirst($0.upperBound).contains(ASCII.quote) } ?? false
    // A quote that it opens would stay open.
    let text =
      isOneText
      ? edit.text
      : selection.map { String(decoding: Array(edit.text.utf8).prefix($0.lowerBound), as: UTF8.self) } ?? edit.text
    return String(text.prefix { $0 != "\n" })
  }
}

extension Completion.Kind {
  /// The `CompletionItemKind` of the protocol.
  fileprivate var number: Int {
    switch self {
    case .method: 2
    case .function: 3
    case .field: 5
    case .variable: 6
    case .action: 9
    case .key: 10
    case .value: 12
    case .file: 17
    case .connection: 18
    case .secret: 21
    }
  }
}

extension OutlineItem.Kind {
  /// The `SymbolKind` of the protocol.
  fileprivate var number: Int {
    switch self {
    case .branch: 2
    case .section: 3
    case .testCase: 6
    case .input: 7
    case .output: 8
    case .step: 12
    case .variable: 13
    case .setting: 20
    case .trigger: 24
    }
  }
}
