// Finds a set's fields without naming them twice.
//
// Swift lays out a struct's stored properties one after another, and its runtime tells the name, type and offset of
// each (ABI, *Type Layout*; `_forEachField`). A `Field` begins with its declaration and an `Included` with its part's
// type, and both know the types of their values. So one table for each set is enough to read and write its fields, and
// no set needs code of its own for it. Properties that aren't fields are never touched.

@_spi(Reflection) import Swift
import Synchronization

/// The stored properties of a set.
struct FieldTable: Sendable {
  /// A field, with its distance in bytes from the beginning of the set.
  struct Member: Sendable {
    let name: String
    let offset: Int
    let declaration: FieldDeclaration
  }

  /// The fields in the order of declaration, with an included set's fields in the place of its property.
  private(set) var members: [Member] = []
  /// Faults of the set's declaration that the compiler doesn't catch.
  private(set) var faults: [String] = []
  private let declared: any FieldSet

  fileprivate init<Fields: FieldSet>(of type: Fields.Type) {
    let declared = Fields()
    self.declared = declared
    guard metadata(of: type)[0] == metadata(of: NoFields.self)[0] else {
      faults = ["it is not a struct"]
      return
    }
    withUnsafePointer(to: declared) { start in
      _ = _forEachField(of: type) { name, offset, type, _ in
        add(String(cString: name), type, at: offset, from: UnsafeRawPointer(start))
        return true
      }
    }
  }

  /// A set with only its defaults; copying it is faster than declaring it anew.
  func bare<Fields: FieldSet>() -> Fields { declared as? Fields ?? Fields() }

  private mutating func add(_ name: String, _ type: Any.Type, at offset: Int, from start: UnsafeRawPointer) {
    // The compiler stores a wrapper under the property's name with an underscore before it.
    if isMade(type, from: Field<Bool>.self), name.hasPrefix("_") {
      let declaration = start.load(fromByteOffset: offset, as: FieldDeclaration.self)
      members.append(Member(name: String(name.dropFirst()), offset: offset, declaration: declaration))
    } else if isMade(type, from: Included<NoFields>.self) {
      addPart(start.load(fromByteOffset: offset, as: (any FieldSet.Type).self), at: offset)
    } else {
      faults.append("the property '\(name)' is not declared with @Field")
    }
  }

  private mutating func addPart<Part: FieldSet>(_ part: Part.Type, at offset: Int) {
    guard let inner = MemoryLayout<Included<Part>>.offset(of: \.wrappedValue) else {
      preconditionFailure("the part of an Included is stored in it")
    }
    for member in part.table.members {
      members.append(
        Member(name: member.name, offset: offset + inner + member.offset, declaration: member.declaration))
    }
    faults += part.table.faults
  }
}

/// Whether two types are instances of the same generic type, as `Field<Int>` and `Field<String>` are.
///
/// A cast would search all conformances of the program for each type of field, at every start.
private func isMade(_ type: Any.Type, from other: Any.Type) -> Bool {
  let (type, other) = (metadata(of: type), metadata(of: other))
  return type[0] == other[0] && type[1] == other[1]
}

/// The words of a type's metadata: the first is the kind of the type, and the second word of a struct is its
/// declaration (ABI, *Type Metadata*).
private func metadata(of type: Any.Type) -> UnsafePointer<Int> { unsafeBitCast(type, to: UnsafePointer<Int>.self) }

private struct NoFields: FieldSet {}

/// The tables and schemas of sets, by type; cached, because creating one takes longer than reading a value.
private let known = Mutex((tables: [ObjectIdentifier: FieldTable](), schemas: [ObjectIdentifier: ObjectSchema]()))

extension FieldSet {
  /// The set's fields.
  static var table: FieldTable {
    let id = ObjectIdentifier(Self.self)
    if let table = known.withLock({ $0.tables[id] }) { return table }
    // Created outside of the lock, because a set inside this one looks up its own table.
    let table = FieldTable(of: Self.self)
    known.withLock { $0.tables[id] = table }
    return table
  }

  /// The fields in the order of declaration, and the rules between them.
  public static var schema: ObjectSchema {
    let id = ObjectIdentifier(Self.self)
    if let schema = known.withLock({ $0.schemas[id] }) { return schema }
    let table = Self.table
    let bare: Self = table.bare()
    let fields = bare.withBytes { start in
      table.members.map { $0.declaration.schema(named: $0.name, at: start + $0.offset) }
    }
    let schema = ObjectSchema(fields: fields, of: Self.self)
    known.withLock { $0.schemas[id] = schema }
    return schema
  }

  /// Calls a function with the address of the set.
  func withBytes<Result, Failure>(_ body: (UnsafeRawPointer) throws(Failure) -> Result) throws(Failure) -> Result {
    try withUnsafePointer(to: self) { (start) throws(Failure) in try body(UnsafeRawPointer(start)) }
  }
}
