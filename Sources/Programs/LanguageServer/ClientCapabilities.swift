import Basics
import RecipeEditing

/// The client's capabilities that affect the server's messages.
struct ClientCapabilities {
  var encoding = TextPosition.Encoding.utf16
  var takesSnippets = false
  /// Whether the client lets one choose how much of a word a completion replaces.
  var choosesRange = false
  /// Whether new lines of a completion can be kept as they are.
  var keepsIndentation = false
  var nestsSymbols = false
  var takesDocumentChanges = false
  var takesRelatedInformation = false
  /// Whether diagnostics may carry data.
  var keepsData = false
  /// Whether the edit of an action may be asked for when it is chosen.
  var resolvesEdits = false
  var registersWatchers = false
  var asksWhatIsRenamed = false
  var takesOffsetsInLabels = false
  /// Where Markdown is shown as such.
  var markdown: Set<Page> = []

  enum Page { case completion, hover, signature }

  init() {}

  init(_ value: Value) {
    func has(_ path: String...) -> Bool { path.reduce(value) { $0?[$1] }?.bool == true }
    let encodings = value["general"]?["positionEncodings"]?.list ?? []
    encoding = encodings.contains(.string(TextPosition.Encoding.utf8.rawValue)) ? .utf8 : .utf16
    takesSnippets = has("textDocument", "completion", "completionItem", "snippetSupport")
    choosesRange = has("textDocument", "completion", "completionItem", "insertReplaceSupport")
    let modes = value["textDocument"]?["completion"]?["completionItem"]?["insertTextModeSupport"]?["valueSet"]?.list
    keepsIndentation = modes?.contains(.int(1)) ?? false
    nestsSymbols = has("textDocument", "documentSymbol", "hierarchicalDocumentSymbolSupport")
    takesDocumentChanges = has("workspace", "workspaceEdit", "documentChanges")
    takesRelatedInformation = has("textDocument", "publishDiagnostics", "relatedInformation")
    keepsData = has("textDocument", "publishDiagnostics", "dataSupport")
    let resolved = value["textDocument"]?["codeAction"]?["resolveSupport"]?["properties"]?.list ?? []
    resolvesEdits = has("textDocument", "codeAction", "dataSupport") && resolved.contains(.string("edit"))
    registersWatchers = has("workspace", "didChangeWatchedFiles", "dynamicRegistration")
    asksWhatIsRenamed = has("textDocument", "rename", "prepareSupport")
    func hasMarkdown(_ path: String...) -> Bool {
      path.reduce(value["textDocument"]) { $0?[$1] }?.list?.contains(.string("markdown")) == true
    }
    if hasMarkdown("completion", "completionItem", "documentationFormat") { markdown.insert(.completion) }
    if hasMarkdown("hover", "contentFormat") { markdown.insert(.hover) }
    if hasMarkdown("signatureHelp", "signatureInformation", "documentationFormat") { markdown.insert(.signature) }
    takesOffsetsInLabels =
      has("textDocument", "signatureHelp", "signatureInformation", "parameterInformation", "labelOffsetSupport")
  }
}

extension LanguageServer {
  /// The server's capabilities, in the form of the protocol.
  var serverCapabilities: Value {
    func triggers(_ characters: String) -> Value { .list(characters.map { .string(String($0)) }) }
    let tokens = Value.object([
      "tokenTypes": .list(HighlightedTokens.types.map(Value.string)), "tokenModifiers": .list([]),
    ])
    return .object([
      "positionEncoding": .string(client.encoding.rawValue),
      "textDocumentSync": .object([
        "openClose": .bool(true), "change": .int(2), "save": .object(["includeText": .bool(false)]),
      ]),
      // A blank follows `key:` and `-`; the others begin a value or an expression, or ask for a member.
      "completionProvider": .object(["triggerCharacters": triggers(". {[('\",:-/$"), "resolveProvider": .bool(false)]),
      "hoverProvider": .bool(true),
      "signatureHelpProvider": .object(["triggerCharacters": triggers("(,"), "retriggerCharacters": triggers(")")]),
      "definitionProvider": .bool(true),
      "referencesProvider": .bool(true),
      "renameProvider": client.asksWhatIsRenamed ? .object(["prepareProvider": .bool(true)]) : .bool(true),
      "documentSymbolProvider": .bool(true),
      "workspaceSymbolProvider": .bool(true),
      "foldingRangeProvider": .bool(true),
      "documentLinkProvider": .object(["resolveProvider": .bool(false)]),
      "semanticTokensProvider": .object(["legend": tokens, "full": .bool(true)]),
      "codeActionProvider": .object([
        "codeActionKinds": .list([.string(CodeActionKind.quickFix), .string(CodeActionKind.fixAll)]),
        "resolveProvider": .bool(client.resolvesEdits),
      ]),
      "inlayHintProvider": .bool(true),
      "workspace": .object([
        "workspaceFolders": .object(["supported": .bool(true), "changeNotifications": .bool(true)])
      ]),
    ])
  }
}
