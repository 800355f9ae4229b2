// Answers editors' requests about the files of a folder: recipes, tests of recipes and errand.yaml.
//
// Each answer is computed from the current texts, because a check of a recipe takes milliseconds. Nothing is cached
// between requests, so nothing can be stale. All positions are byte offsets in a `Source`; the language server converts
// them to the positions of its protocol.
//
// A text that is being edited is usually incomplete. Three techniques make answers possible nevertheless:
//
// 1. `TextOutline` reads keys, items and indentation without a YAML parser, so that the keys above and beside the cursor
//    are known in any text.
// 2. `RecoveredText` blanks the lines that YAML can't parse, keeping all offsets, until the rest can be checked.
// 3. Completion in an expression checks the file with a placeholder name in place of the text being written, and uses the
//    checker's scope at that name (`CheckObserver`, `ExpressionScope.point`).

package import ActionKit
package import Basics
package import Recipes

/// A folder with the files that an editor works on; open files have the editor's contents.
package struct EditorFolder: Sendable {
  /// The actions there are.
  package var catalog: ActionCatalog
  /// The environment for checking the recipe or test at a path; its `read` returns the editor's contents of open files.
  package var environment: @Sendable (_ path: String) -> RecipeEnvironment
  /// The paths of all recipes and their tests.
  package var files: @Sendable () -> [String]
  /// The paths of the recipes and tests beside a file and beside open files, and in `tests` folders there, even if
  /// these aren't recipe folders.
  package var filesBeside: @Sendable (_ path: String) -> [String]
  /// The names of the existing secrets, if they can be found without reading a secret.
  package var secretNames: @Sendable () -> [String]
  /// The time.
  package var now: @Sendable () -> Timestamp
  let schemas: SchemaShelf

  package init(
    catalog: ActionCatalog, environment: @escaping @Sendable (_ path: String) -> RecipeEnvironment,
    files: @escaping @Sendable () -> [String],
    filesBeside: @escaping @Sendable (_ path: String) -> [String] = { _ in [] },
    secretNames: @escaping @Sendable () -> [String],
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.catalog = catalog
    self.environment = environment
    self.files = files
    self.filesBeside = filesBeside
    self.secretNames = secretNames
    self.now = now
    schemas = SchemaShelf { name in FileSchema(rawValue: name)?.document(catalog) ?? .null }
  }
}

/// The kind of a file, determined by its name.
package enum EditedFileKind: Sendable {
  case recipe, test, configuration

  package init(path: String) {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    if ["errand.yaml", "errand.yml"].contains(name) {
      self = .configuration
    } else {
      self = RecipeTestFile.isName(name) ? .test : .recipe
    }
  }

  /// The schema of files of this kind.
  package var schema: FileSchema {
    switch self {
    case .recipe: .recipe
    case .test: .test
    case .configuration: .errand
    }
  }
}

extension EditorFolder {
  /// Checks a file as the kind that its name determines; the recipe is nil for a faulty recipe and for other files.
  func check(_ source: Source, in environment: RecipeEnvironment) -> CheckedRecipe {
    switch EditedFileKind(path: source.name) {
    case .recipe: Recipe.check(source, in: environment)
    case .test: CheckedRecipe(recipe: nil, diagnostics: RecipeTestFile.check(source, in: environment).diagnostics)
    case .configuration:
      CheckedRecipe(
        recipe: nil,
        diagnostics: Configuration.read(source, catalog: catalog, observer: environment.observer).diagnostics)
    }
  }
}

/// Answers editors' requests.
package struct EditorService: Sendable {
  let folder: EditorFolder

  package init(_ folder: EditorFolder) { self.folder = folder }
}

// MARK: Answers

/// A text that can be inserted at a place.
package struct Completion: Sendable {
  package enum Kind: String, Sendable {
    /// A key of a mapping.
    case key
    /// A word that is a value of a key.
    case value
    /// An action.
    case action
    /// A variable, such as `steps` or a name of `let`.
    case variable
    /// A field or member of a value.
    case field
    case function
    case method
    case connection
    case secret
    case file
  }

  package var kind: Kind
  /// The text that is displayed, and matched with the text being written.
  package var label: String
  /// The type, or a short form.
  package var detail: String
  /// The documentation, in Markdown; may be empty.
  package var documentation: String
  /// The range to replace and the new text.
  package var edit: Diagnostic.Edit
  /// The number of bytes after the cursor that belong to the same word; nil if unknown.
  ///
  /// An editor replaces the whole word, or only the part before the cursor.
  package var rest: Int?
  /// The text to match with the edit's range, if it isn't the label.
  package var match: String?
  /// The range of the new text that is selected afterwards; if nil, the cursor is placed at its end.
  package var selection: Range<Int>?
  /// The position in the list: completions are sorted by rank, then by label.
  package var rank: Int

  package init(
    _ kind: Kind, _ label: String, detail: String = "", documentation: String = "", edit: Diagnostic.Edit,
    selection: Range<Int>? = nil, rank: Int = 0
  ) {
    self.kind = kind
    self.label = label
    self.detail = detail
    self.documentation = documentation
    self.edit = edit
    self.selection = selection
    self.rank = rank
  }
}

/// The information that an editor displays for the text under the pointer.
package struct Hover: Sendable {
  /// The information, in Markdown.
  package var text: String
  /// The range of the text that it describes.
  package var range: Range<Int>

  package init(_ text: String, at range: Range<Int>) {
    self.text = text
    self.range = range
  }
}

/// The function whose arguments are being written.
package struct SignatureHelp: Sendable {
  /// The forms, each as `substring(int, int) -> string`.
  package var forms: [(text: String, summary: String)]
  /// The form that fits best.
  package var active: Int
  /// The index of the argument that is being written.
  package var argument: Int

  package init(forms: [(text: String, summary: String)], active: Int, argument: Int) {
    self.forms = forms
    self.active = active
    self.argument = argument
  }
}

/// The edits of one file.
package struct FileEdits: Sendable {
  package var path: String
  package var edits: [Diagnostic.Edit]

  package init(_ path: String, _ edits: [Diagnostic.Edit]) {
    self.path = path
    self.edits = edits
  }
}

/// An element of a file's outline.
package struct OutlineItem: Sendable {
  package enum Kind: String, Sendable {
    case section, input, trigger, step, branch, variable, output, testCase, setting
  }

  package var kind: Kind
  package var name: String
  /// A short description: the action of a step, the type of an input.
  package var detail: String
  /// The range of the whole element.
  package var range: Range<Int>
  /// The range of its name, within `range`.
  package var nameRange: Range<Int>
  package var children: [OutlineItem]

  package init(
    _ kind: Kind, _ name: String, detail: String = "", range: Range<Int>, nameRange: Range<Int>,
    children: [OutlineItem] = []
  ) {
    self.kind = kind
    self.name = name
    self.detail = detail
    self.range = range
    self.nameRange = nameRange
    self.children = children
  }
}

/// A token of an expression, classified for highlighting.
package struct HighlightedToken: Sendable {
  package enum Kind: String, CaseIterable, Sendable {
    case variable, property, function, method, macro, string, number, keyword
  }

  package var kind: Kind
  package var range: Range<Int>

  package init(_ kind: Kind, _ range: Range<Int>) {
    self.kind = kind
    self.range = range
  }
}

/// A note that an editor displays within the text.
package struct InlayNote: Sendable {
  package var offset: Int
  package var text: String
  /// A longer explanation; may be empty.
  package var tooltip: String

  package init(_ text: String, at offset: Int, tooltip: String = "") {
    self.text = text
    self.offset = offset
    self.tooltip = tooltip
  }
}
