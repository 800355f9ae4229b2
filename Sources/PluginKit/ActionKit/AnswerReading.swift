// Reading what a service answers into the sets that actions give: the fields are declared once, and from them come the
// check of the answer, the client's type and the page.
//
// A service may say more than was declared, today or later, so what is not declared is passed over. What is declared
// is held to: a member that is missing, of another type or beyond its limits is a fault that names its path.

extension FieldSet {
  /// Reads a service's answer, or throws all that is wrong in it.
  ///
  /// - Parameter path: What messages call the answer.
  public init(answer: Value, as path: String) throws(ValueError) {
    try self.init(checking: Self.fieldType.declared(answer), as: path)
  }
}

extension FieldType {
  /// A value without the members that no set declares; a null counts as absent wherever a field may be so.
  fileprivate func declared(_ value: Value) -> Value {
    switch (self, value.content) {
    case (.optional(let wrapped), _), (.secret(let wrapped), _): return wrapped.declared(value)
    case (.list(let element), .list(let items)): return Value(.list(items.map(element.declared)), at: value.place)
    case (.map(let type), .map(let map)): return Value(.map(map.mapValues(type.declared)), at: value.place)
    case (.object(let schema), .map(let map)):
      var declared = ValueMap()
      for member in map.members {
        guard let name = member.name, let field = schema.field(named: name) else { continue }
        if member.value.isNull, !field.isRequired, !field.type.takesNull { continue }
        declared[member.key] = field.type.declared(member.value)
      }
      return Value(.map(declared), at: value.place)
    default: return value
    }
  }
}
