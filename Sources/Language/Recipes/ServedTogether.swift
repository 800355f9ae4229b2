package import Basics

// Faults of recipes that show only if they are served together.

extension Recipe {
  /// The fault of a recipe whose name another file has already.
  package func nameIsTaken(by file: String, _ other: Source) -> Diagnostic {
    Diagnostic(
      "the recipe '\(name)' is that of '\(file)' already; give one of them another name",
      at: Diagnostic.Location(source, 0..<0),
      notes: [Diagnostic.Note("it is taken here", at: Diagnostic.Location(other, 0..<0))])
  }

  /// The paths of its webhooks and forms.
  package var paths: [String] { triggers.compactMap(\.path) }

  /// The faults of webhooks and forms whose paths another file has already.
  ///
  /// - Parameter owner: The owner of a path, in words; nil if the path is free.
  package func pathsAreTaken(_ owner: (String) -> String?) -> [Diagnostic] {
    triggers.compactMap { trigger in
      guard let path = trigger.path, let other = owner(path) else { return nil }
      return Diagnostic(
        "the \(trigger.form == nil ? "webhook" : "form")'s path '\(path)' is that of \(other) already; give one of them another 'path'",
        at: trigger.location)
    }
  }

  /// Warnings of entries of `on:` that follow recipes that don't exist.
  package func entriesAfterNone(of names: [String]) -> [Diagnostic] {
    triggers.compactMap { trigger in
      guard case .afterRecipe(let name, status: _, outputs: _) = trigger.kind,
        !names.contains(where: name.hasSameScalars)
      else {
        return nil
      }
      return Diagnostic(Trigger.followsNone(name, of: names), at: trigger.location, severity: .warning)
    }
  }
}

extension Trigger {
  /// The message about an entry that follows a recipe that doesn't exist.
  package static func followsNone(_ name: String, of names: [String]) -> String {
    let guess = name.nearest(among: names).map { "did you mean '\($0)'?" }
    return
      "no recipe of the folders is named '\(name)', so this starts nothing; \(guess ?? "there are \(names.joined(separator: ", "))")"
  }
}
