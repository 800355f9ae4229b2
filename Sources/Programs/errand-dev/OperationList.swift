import Foundation

// The list of all operations, from the files that declare them: nothing else names each operation.

/// The path of the list in the package.
let operationListPath = "Sources/Runtime/Operations/OperationList.swift"

/// The list of the operations in the folder of the list.
func operationList(in root: URL) throws(ToolError) -> GeneratedFile {
  let folder = root.appending(path: operationListPath).deletingLastPathComponent()
  var names: [String] = []
  for path in folder.pathsBelow where path.hasSuffix(".swift") {
    for line in SwiftLine.all(of: try folder.appending(path: path).text()) where !line.beginsInText {
      if let name = operation(declaredBy: line.code) { names.append(name) }
    }
  }
  // As 'swift format' fills lines.
  var rows: [String] = []
  for name in names.sorted() {
    let item = "\(name).self,"
    if let row = rows.last, row.count + 1 + item.count <= 120 {
      rows[rows.count - 1] = "\(row) \(item)"
    } else {
      rows.append("    \(item)")
    }
  }
  return GeneratedFile(
    path: operationListPath,
    text: """
      // Made by `\(GeneratedFile.command)` from the files of this folder.
      import Basics

      /// All operations.
      package enum OperationList {
        package static let all: [any Operation.Type] = [
      \(rows.joined(separator: "\n"))
        ]

        /// The operation of a name; nil if there is none.
        package static func named(_ name: String) -> (any Operation.Type)? {
          all.first { $0.name.hasSameScalars(as: name) }
        }
      }

      """)
}

/// The type of an operation that a line declares, as in `package struct PauseSchedule: Operation {`.
private func operation(declaredBy line: String) -> String? {
  let start = "package struct "
  guard line.hasPrefix(start) else { return nil }
  let parts = line.dropFirst(start.count).split(separator: ":", maxSplits: 1)
  guard parts.count == 2 else { return nil }
  let conformance = parts[1].drop { $0 == " " }.prefix { $0.isLetter }
  return ["Operation", "StreamingOperation"].contains(conformance) ? String(parts[0]) : nil
}
