package import Basics
package import RecipeEditing

/// The needs of people who edit the files of a folder through its agent, from the program around the agent.
package struct FolderEditing: Sendable {
  /// The folder of errand.yaml, where paths begin.
  package var root: String
  /// The full path of errand.yaml; nil without one.
  package var configuration: String?
  /// The folder for kept versions of files.
  package var versions: String
  /// The environment of Git.
  package var environment: [String: String]
  /// The full paths of the folders of recipes.
  package var recipeFolders: @Sendable () -> [String]
  /// Whether callers with a token may edit.
  package var isAllowed: @Sendable () -> Bool
  /// The folder with texts in place of those on disk, by their full paths.
  package var folder: @Sendable (_ files: OpenFiles) -> EditorFolder
  /// The machine whose files these are, if several share the state.
  package var machine: @Sendable () -> String? = { nil }
  /// The texts to begin files with.
  package var templates: @Sendable () -> [FileTemplate] = { [] }
  /// Makes the text of a new file, which is written nowhere.
  package var newFile: @Sendable (FileBeginning) async throws(RequestRefusedError) -> NewText = {
    _ throws(RequestRefusedError) in throw RequestRefusedError(.request, "no files are begun here")
  }
  /// Runs test files, by their full paths; nil where no tests are run.
  package var test: (@Sendable (_ paths: [String], _ files: OpenFiles) async -> [TestedFile])?
  /// Reads errand.yaml again after it was saved, and gives the reason if it can't be used.
  ///
  /// Nil where only a person can tell the agent to read it.
  package var reload: (@Sendable () async -> String?)?
  /// Called after each step of a save, so that tests can stop there.
  package var afterStep: @Sendable (SaveStep) async -> Void = { _ in }

  /// The steps of a save.
  package enum SaveStep: String, CaseIterable, Sendable { case checked, kept, written, served, committed }

  package init(
    root: String, configuration: String?, versions: String, environment: [String: String],
    recipeFolders: @escaping @Sendable () -> [String], isAllowed: @escaping @Sendable () -> Bool,
    folder: @escaping @Sendable (_ files: OpenFiles) -> EditorFolder
  ) {
    self.root = root
    self.configuration = configuration
    self.versions = versions
    self.environment = environment
    self.recipeFolders = recipeFolders
    self.isAllowed = isAllowed
    self.folder = folder
  }
}

/// A text to begin a file with.
package struct FileTemplate: Sendable {
  package enum Kind: String, Sendable { case empty, template, action, test }

  package var kind: Kind
  /// A template's name, an action's id, or the path of the recipe that gets a test.
  package var name: String
  package var summary: String

  package init(_ kind: Kind, _ name: String, _ summary: String) {
    self.kind = kind
    self.name = name
    self.summary = summary
  }
}

/// The request for the text of a new file.
package struct FileBeginning: Sendable {
  package enum Source: Sendable {
    /// A recipe with no more than every recipe has.
    case nothing
    case template(String)
    case action(String)
    /// A test of the recipe at a full path.
    case test(String)
  }

  package var source: Source
  /// The name of the recipe; nil for the name of its source.
  package var name: String?

  package init(_ source: Source, name: String?) {
    self.source = source
    self.name = name
  }
}

/// The text of a file that isn't written yet.
package struct NewText: Sendable {
  /// The full path that it would have.
  package var path: String
  package var text: String

  package init(path: String, text: String) {
    self.path = path
    self.text = text
  }
}

/// The outcome of a test file.
package struct TestedFile: Sendable {
  package struct Case: Sendable {
    package var name: String
    /// Each failure as `errand test` prints it; empty if it has passed.
    package var failures: [String]
    package var took: TimeSpan

    package init(name: String, failures: [String], took: TimeSpan) {
      self.name = name
      self.failures = failures
      self.took = took
    }
  }

  /// Its full path.
  package var path: String
  /// The faults of the file or its recipe; with a fault, no case was run.
  package var faults: [String]
  package var cases: [Case]

  package init(path: String, faults: [String], cases: [Case]) {
    self.path = path
    self.faults = faults
    self.cases = cases
  }
}
