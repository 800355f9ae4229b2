import ActionKit

extension ActionDescriptor {
  /// The action's summary, effect, inputs and outputs, without the fields inside these.
  var overview: String {
    let effect =
      takesEffect ? "as the step declares in `effect`." : "`\(effect.name)`. \(effect.sentence)"
    var parts = ["**\(id)**", summary, "Effect: \(effect)"]
    for (title, fields, isGiven) in [("Inputs", input.fields, true), ("Outputs", output.fields, false)]
    where !fields.isEmpty {
      parts.append("\(title):\n\n" + fields.map { $0.line(isGiven: isGiven) }.joined(separator: "\n"))
    }
    return (parts + ["`errand actions \(id)` tells more."]).joined(separator: "\n\n")
  }
}

extension FieldSchema {
  /// The field as a line in a list of inputs or outputs.
  fileprivate func line(isGiven: Bool) -> String {
    displayedField(name, type.name, isGiven ? fact : isOptional ? "may be absent" : nil, summary)
  }
}
