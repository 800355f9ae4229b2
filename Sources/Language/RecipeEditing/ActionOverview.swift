import ActionKit

extension ActionDescriptor {
  /// What the action does, takes and gives, without what its fields hold in turn.
  var overview: String {
    let effect =
      takesEffect ? "what the step declares in `effect`." : "`\(effect.name)`. \(effect.sentence)"
    var parts = ["**\(id)**", summary, "Effect: \(effect)"]
    for (title, fields, isGiven) in [("Inputs", input.fields, true), ("Outputs", output.fields, false)]
    where !fields.isEmpty {
      parts.append("\(title):\n\n" + fields.map { $0.line(isGiven: isGiven) }.joined(separator: "\n"))
    }
    return (parts + ["`errand actions \(id)` tells more."]).joined(separator: "\n\n")
  }
}

extension FieldSchema {
  /// The field in a list of those that are given, or of those that are told.
  fileprivate func line(isGiven: Bool) -> String {
    shownField(name, type.name, isGiven ? fact : isOptional ? "may be absent" : nil, summary)
  }
}
