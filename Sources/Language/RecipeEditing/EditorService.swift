// What editors ask about the files of a folder: recipes, tests of recipes and errand.yaml.
//
// Everything is computed anew from the texts when it is asked for, because a check of a recipe takes milliseconds; nothing
// is kept between two questions, so that nothing can be stale. All places are byte offsets in a `Source`; how a protocol
// counts is for the language server to translate.
//
// A text that is being written is seldom whole. Three things make it answer nevertheless:
//
// 1. `TextOutline` reads keys, items and indentation without a parser of YAML, so that where the cursor is (under which
//    keys, beside which others) is known in any text.
// 2. `RecoveredText` blanks out the lines that YAML can't read, with offsets kept, until the rest can be checked.
// 3. Completion in an expression checks the file with a name put in the place of what is being written, and asks what the
//    checker knew there (`CheckObserver`, `ExpressionScope.point`).

package import ActionKit
package import Basics
package import Recipes

/// A folder with the files that an editor works on, those that are open as they are in the editor.
package struct EditorFolder: Sendable {
  /// The actions there are.
  package var catalog: ActionCatalog
  /// What the recipe or test at a path is checked against; its `read` gives open files as they are in the editor.
  package var environment: @Sendable (_ path: String) -> RecipeEnvironment
  /// The paths of all recipes and their tests.
  package var files: @Sendable () -> [String]
  /// The paths of the recipes and tests beside a file and beside open ones, and in `tests` there: in folders that may be
  /// none of recipes.
  package var filesBeside: @Sendable (_ path: String) -> [String]
  /// The names of the secrets that there are, as far as that is known without reading one.
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

/// What a file is, by its name.
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

  /// The schema of such files.
  package var schema: FileSchema {
    switch self {
    case .recipe: .recipe
    case .test: .test
    case .configuration: .errand
    }
  }
}

extension EditorFolder {
  /// Checks a file as what it is by its name; the recipe is nil for a faulty one and for other files.
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

/// Answers what editors ask.
package struct EditorService: Sendable {
  let folder: EditorFolder

  package init(_ folder: EditorFolder) { self.folder = folder }
}

// MARK: What is answered

/// Something that may be written at a place.
package struct Completion: Sendable {
  package enum Kind: String, Sendable {
    /// A key of a mapping.
    case key
    /// A word that a key takes.
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
  /// What is shown, and matched with what is being written.
  package var label: String
  /// The type, or a short form.
  package var detail: String
  /// What it is for, in Markdown; may be empty.
  package var documentation: String
  /// What is replaced, and by what.
  package var edit: Diagnostic.Edit
  /// How many bytes behind that belong to the same word, which is replaced as a whole or only up to the cursor; nil while
  /// that isn't known.
  package var rest: Int?
  /// What is matched with what stands in the range of the edit, where that isn't the label.
  package var match: String?
  /// Where the cursor goes within the new text, where that isn't its end: a range of it to be written over.
  package var selection: Range<Int>?
  /// The likeliest first: completions are shown by this, then by their labels.
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

/// What is shown about a thing that is pointed at.
package struct Hover: Sendable {
  /// What it is, in Markdown.
  package var text: String
  /// The bytes that it is about.
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
  /// Which argument is being written, from 0.
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

/// A part of a file in its outline.
package struct OutlineItem: Sendable {
  package enum Kind: String, Sendable {
    case section, input, trigger, step, branch, variable, output, testCase, setting
  }

  package var kind: Kind
  package var name: String
  /// What it does, in a few words: the action of a step, the type of an input.
  package var detail: String
  /// All of it.
  package var range: Range<Int>
  /// What names it, within `range`.
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

/// A piece of an expression, by what it means.
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

/// A note that an editor shows within the text.
package struct InlayNote: Sendable {
  package var offset: Int
  package var text: String
  /// More about it; may be empty.
  package var tooltip: String

  package init(_ text: String, at offset: Int, tooltip: String = "") {
    self.text = text
    self.offset = offset
    self.tooltip = tooltip
  }
}
