// The exact form of an operation's inputs and answer: types and stored values are kept, as in the journal.
package import ActionKit
package import Agent
package import Basics
package import RunState

/// The value that a record writes; a value's type conforms to two protocols that call this by the same name.
func recorded(_ record: some Recordable) -> Value { record.encoded() }

/// Reads what `recorded` wrote.
package func readRecord<Wrapped: Recordable>(_ value: Value?) throws(RecordError) -> Wrapped {
  try Wrapped(reading: value ?? .null)
}

extension Operation {
  /// The inputs that are given, each in the coding of records.
  package var exactInputs: ValueMap {
    guard let map = try? encoded().map else { return ValueMap() }
    return ValueMap(map.members.compactMap { member in member.name.map { ($0, recorded(member.value)) } })
  }

  /// Reads the inputs of a request.
  ///
  /// - Parameter isExact: Whether they are in the coding of records; they are plain JSON otherwise.
  package init(inputs: ValueMap, isExact: Bool) throws(RequestRefusedError) {
    func refusal(_ reason: String) -> RequestRefusedError {
      RequestRefusedError(.request, "the request '\(Self.name)' isn't valid: \(reason)")
    }
    let fields = Self.schema.fields
    for member in inputs.members {
      let name = member.name ?? ""
      guard let field = fields.first(where: { $0.name.hasSameScalars(as: name) }) else {
        throw refusal("'\(name.shortened(to: 80))' is not known")
      }
      // An input is left out, and not written as null, as its schema says.
      if let (path, type) = field.type.null(in: member.value, at: name) {
        throw refusal("'\(path)' must be \(type.wanted), but found null")
      }
    }
    for field in fields where field.isRequired && inputs[field.name] == nil {
      throw refusal("'\(field.name)' is missing")
    }
    var given = inputs
    if isExact {
      for member in inputs.members {
        do throws(RecordError) { given[member.name ?? ""] = try readRecord(member.value) } catch {
          throw refusal("in '\(member.name ?? "")': \(error.message)")
        }
      }
    }
    do throws(ValueError) { try self.init(checking: .map(given), as: Self.name) } catch {
      // The inputs are named as the caller knows them.
      let reasons = error.list.map { $0.message.replacing("'\(Self.name).", with: "'") }
      throw refusal(reasons.joined(separator: "; "))
    }
  }
}

extension FieldType {
  private var isAnything: Bool { if case .dyn = self { true } else { false } }

  /// The path of the first null in a value where the type has none, and the type there.
  fileprivate func null(in value: Value, at path: String) -> (path: String, type: FieldType)? {
    if value.isNull { return isAnything ? nil : (path, self) }
    guard let schema = nested?.schema else { return nil }
    for part in value.list ?? [value] {
      for member in part.map?.members ?? [] {
        guard let name = member.name, let field = schema.field(named: name) else { continue }
        if let found = field.type.null(in: member.value, at: "\(path).\(name)") { return found }
      }
    }
    return nil
  }
}

/// A record as a field, for errand's own operations.
package struct Stored<Wrapped: Recordable>: FieldValue {
  package var record: Wrapped

  package init(_ record: Wrapped) { self.record = record }

  package static var fieldType: FieldType { .dyn }

  package init(reading value: Value) throws(ValueError) {
    do throws(RecordError) { record = try Wrapped(reading: value) } catch { throw ValueError(error.message) }
  }

  package func encoded() -> Value { recorded(record) }
}

/// A word of the state's vocabulary as a field.
package struct Word<Wrapped: RawRepresentable<String> & CaseIterable & Sendable>: FieldValue {
  package var word: Wrapped

  package init(_ word: Wrapped) { self.word = word }

  package static var fieldType: FieldType { .choice(Wrapped.allCases.map(\.rawValue)) }

  package init(reading value: Value) throws(ValueError) {
    guard let text = value.string, let word = Wrapped(rawValue: text) else {
      throw ValueError("must be one of \(Wrapped.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    self.word = word
  }

  package func encoded() -> Value { .string(word.rawValue) }
}
