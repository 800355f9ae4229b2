package import Basics

// What can only be told of recipes that are served together.

extension Recipe {
  /// The fault of a recipe whose name another file has already.
  package func nameIsTaken(by file: String, _ other: Source) -> Diagnostic {
    Diagnostic(
      "the recipe '\(name)' is that of '\(file)' already; give one of them another name",
      at: Diagnostic.Location(source, 0..<0),
      notes: [Diagnostic.Note("it is taken here", at: Diagnostic.Location(other, 0..<0))])
  }

  /// The paths at which its webhooks take deliveries.
  package var webhookPaths: [String] { triggers.compactMap { $0.webhook?.path } }

  /// The faults of its webhooks whose paths those of other files have already.
  ///
  /// - Parameter owner: Whose a path is, in words; nil if it is free.
  package func pathsAreTaken(_ owner: (String) -> String?) -> [Diagnostic] {
    triggers.compactMap { trigger in
      guard let path = trigger.webhook?.path, let other = owner(path) else { return nil }
      return Diagnostic(
        "the webhook's path '\(path)' is that of \(other) already; give one of them another 'path'",
        at: trigger.location)
    }
  }

  /// Warnings of the entries of `on:` that follow recipes of which there is none.
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
  /// What is said of an entry that follows a recipe of which there is none.
  package static func followsNone(_ name: String, of names: [String]) -> String {
    let guess = name.nearest(among: names).map { "did you mean '\($0)'?" }
    return
      "no recipe of the folders is named '\(name)', so this starts nothing; \(guess ?? "there are \(names.joined(separator: ", "))")"
  }
}
