package import Basics
package import RunState

/// Plain JSON, in which no member stands for a type that JSON lacks.
package struct PlainJSON: Recordable {
  package var value: Value

  package init(value: Value) { self.value = value }

  package init(reading value: Value) throws(RecordError) { self.value = value }

  package func encoded() -> Value { value }
}
