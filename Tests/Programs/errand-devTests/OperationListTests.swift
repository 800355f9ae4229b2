import ActionTestKit
import Foundation
import Testing

@testable import errand_dev

@Suite struct OperationListTests {
  /// The list of a folder with files of the given texts.
  private func list(_ files: [String: String]) throws -> GeneratedFile {
    let root = FileManager.default.temporaryDirectory.appending(path: "errand-dev-tests-\(UUID())")
    defer { try? FileManager.default.removeItem(at: root) }
    let folder = root.appending(path: operationListPath).deletingLastPathComponent()
    for (name, text) in files { try folder.appending(path: "\(name).swift").write(text) }
    return try operationList(in: root)
  }

  @Test func `names each operation of the folder once, in order, and nothing else`() throws {
    let file = try list([
      "Watch": "package struct Watch: StreamingOperation {\n  package struct Answer: Record {}\n}\n",
      "Pause": "import ActionKit\n\n/// Pauses.\npackage struct Pause: Operation {\n}\n",
      "Both": "package struct Second: Operation, Sendable {}\npackage struct First: Operation {}\n",
      "Operation": "package protocol Operation: FieldSet {}\n// package struct Old: Operation {}\n",
      "Targets": "package struct Everything: OperationTarget {}\nstruct Own: Operation {}\npackage struct None {}\n",
      "Texts": "let text = \"\"\"\npackage struct Quoted: Operation {}\n\"\"\"\n",
    ])
    #expect(file.path == "Sources/Runtime/Operations/OperationList.swift")
    #expect(
      file.text == """
        // Made by `make generate` from the files of this folder.
        import Basics

        /// All operations.
        package enum OperationList {
          package static let all: [any Operation.Type] = [
            First.self, Pause.self, Second.self, Watch.self,
          ]

          /// The operation of a name; nil if there is none.
          package static func named(_ name: String) -> (any Operation.Type)? {
            all.first { $0.name.hasSameScalars(as: name) }
          }
        }

        """)
  }

  @Test func `a line is filled up to 120 columns`() throws {
    // The last name fills the line if it has 21 letters: the indentation and the others, each with `.self,` and a blank,
    // take 93 columns, and its own `.self,` takes 6.
    for (length, rows) in [(21, 1), (22, 2)] {
      let names =
        (0..<3).map { "Aa00\($0)" } + ["B" + String(repeating: "b", count: 45), String(repeating: "c", count: length)]
      let files = names.map { ($0, "package struct \($0): Operation {}\n") }
      let text = try list(Dictionary(uniqueKeysWithValues: files)).text
      #expect(text.split(separator: "\n").count(where: { $0.contains(".self,") }) == rows, "\(text)")
    }
  }
}
