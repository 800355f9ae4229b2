// Reads a service's responses into the sets that actions return. The fields are declared once; the check of the
// response, the client's type and the page are made from that declaration.
//
// A response may contain more than the declared fields, today or later, so undeclared members are ignored. Declared
// members are checked: a member that is missing, of another type or beyond its limits is an error that names its path.

extension FieldSet {
  /// Reads a service's response, or throws all errors in it.
  ///
  /// - Parameter path: The name of the response in messages.
  public init(answer: Value, as path: String) throws(ValueError) {
    try self.init(checking: Self.fieldType.declared(answer), as: path)
  }
}

extension FieldType {
  /// A value without undeclared members; a null counts as absent if the field is optional.
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
