package import Agent
package import Basics
package import RunState

/// The body of an answer that isn't a view: its type, its name, and its bytes, written in parts as fast as the client
/// reads them.
package struct MediaBody: Sendable {
  package typealias Send = ([UInt8]) async throws -> Void

  /// The media type.
  package var type: String
  /// The name that browsers save it under; nil for what they may show: a picture.
  package var name: String?
  /// Whether secrets that became known later are masked in each part.
  package var isMasked: Bool
  package let write: @Sendable (_ send: Send) async throws -> Void

  package init(
    type: String, name: String?, isMasked: Bool = true, _ write: @escaping @Sendable (_ send: Send) async throws -> Void
  ) {
    self.type = type
    self.name = name
    self.isMasked = isMasked
    self.write = write
  }
}

extension RequestRefusedError {
  /// The refusal of the exact form, for answers that only browsers and programs over HTTP get.
  static let notExact = RequestRefusedError(.request, "this answer has no exact form; ask for its path in the API")
}

/// An answer that is written as it is read, and has no exact form.
package protocol MediaAnswer: UnlimitedAnswer {}

extension MediaAnswer {
  package init(reading value: Value) throws(RecordError) { throw RecordError("this answer has no exact form") }
  package func exact() async throws(RequestRefusedError) -> Value { throw .notExact }
}
