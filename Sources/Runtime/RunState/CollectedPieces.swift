package import Basics

/// The lists that the rounds of a repeated step gathered, in the order of the rounds; each is a stored list.
///
/// A run may have ten thousand rounds, and its record several holders. So the pieces are in chunks, and adding one
/// copies a chunk and the list of chunks, never all pieces.
package struct CollectedPieces: Sendable, Equatable {
  private var chunks: [[StoredValue]] = []

  private static let mostInChunk = 64

  package init() {}

  package init(_ pieces: some Sequence<StoredValue>) { for piece in pieces { append(piece) } }

  package var isEmpty: Bool { chunks.isEmpty }

  package var all: [StoredValue] { chunks.flatMap(\.self) }

  package mutating func append(_ piece: StoredValue) {
    if let last = chunks.indices.last, chunks[last].count < CollectedPieces.mostInChunk {
      chunks[last].append(piece)
    } else {
      chunks.append([piece])
    }
  }
}

extension CollectedPieces: Recordable {
  package func encoded() -> Value { all.encoded() }
  package func write(to text: inout RecordText) { all.write(to: &text) }
  package init(reading value: Value) throws(RecordError) { self.init(try [StoredValue](reading: value)) }
}
