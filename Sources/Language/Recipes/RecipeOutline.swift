// The steps of a recipe in their order, for people who look at a run: the begun ones, and the ones to come.

/// A place in the order of a recipe's steps.
package struct OutlinePlace: Sendable, Equatable {
  /// The path of the step's records, without the numbers of items, tries and rounds; of a heading, the path that those
  /// of its steps begin with.
  package var path: String
  /// The step's id, or `#` and its number; of a heading, what its steps are: a branch's name, `on error`, `finally`.
  package var title: String
  /// The name that the recipe gives the step.
  package var name: String?
  /// How many steps it is inside.
  package var depth: Int
  package var isHeading = false
  /// The path of the innermost loop around it; nil outside loops.
  package var loop: String?
  /// Whether a run may reach it without a record of it.
  package var isQuiet = false
}

extension Recipe {
  /// The most places: recipes that call others twice each would make very many.
  private static let mostPlaces = 1000

  /// The steps and headings in their order, each before the steps inside it.
  package var outline: [OutlinePlace] {
    var places: [OutlinePlace] = []
    add(to: &places, at: "", depth: 0, in: nil)
    return places
  }

  private func add(to places: inout [OutlinePlace], at prefix: String, depth: Int, in loop: String?) {
    steps.add(to: &places, at: prefix, depth: depth, in: loop)
    for (block, path, label) in [(onFailure, "#onFailure/", "on failure"), (finally, "#finally/", "finally")] {
      guard let block else { continue }
      block.add(to: &places, at: prefix + path, under: label, depth: depth, in: loop)
    }
  }

  fileprivate func add(to places: inout [OutlinePlace], calledAt path: String, depth: Int, in loop: String?) {
    if places.count < Recipe.mostPlaces { add(to: &places, at: path + "/", depth: depth, in: loop) }
  }
}

extension Block {
  fileprivate func add(
    to places: inout [OutlinePlace], at prefix: String, under label: String? = nil, depth: Int, in loop: String?
  ) {
    var depth = depth
    if let label {
      places.append(OutlinePlace(path: prefix, title: label, depth: depth, isHeading: true, loop: loop))
      depth += 1
    }
    for step in steps {
      let path = prefix + step.element
      var place = OutlinePlace(path: path, title: step.element, name: step.name, depth: depth, loop: loop)
      if case .bindings = step.kind { place.isQuiet = true }
      places.append(place)
      let inner = step.loop == nil ? loop : path
      for (role, inside, block) in step.blocks {
        block.add(to: &places, at: path + inside, under: step.label(of: role), depth: depth + 1, in: inner)
      }
      if case .call(let call) = step.kind {
        call.recipe.add(to: &places, calledAt: path, depth: depth + 1, in: inner)
      }
    }
  }
}
