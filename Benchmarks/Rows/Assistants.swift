import Basics
import Foundation

/// Measures `errand mcp` as assistants feel it: a whole process that is spoken to over its standard input and output.
struct Assistants {
  private let folder: WorkFolder

  init(_ folder: WorkFolder) { self.folder = folder }

  private static let count = 100

  func rows() throws -> [Row] {
    let files = FileManager.default
    try files.createDirectory(atPath: folder.path("recipes"), withIntermediateDirectories: true)
    let recipe = Start.recipe(steps: 8) + "outputs:\n  book: ${{ steps.book0 }}\n  found: ${{ found7 }}\n"
    for number in 0..<Assistants.count {
      let text = recipe.replacing("recipe: generated", with: "recipe: tool-\(number)")
      _ = try folder.write(text, to: "recipes/tool-\(number).yaml")
    }
    _ = try folder.write("server: { mcp: { recipes: [tool-*] } }\n", to: "errand.yaml")
    var starts: [Double] = []
    var lists: [Double] = []
    var processor = Double.infinity
    let count = 50
    for _ in 0..<5 {
      let start = Date()
      let client = try AssistantClient(in: folder.url)
      try client.list(expecting: Assistants.count)
      starts.append(Date().timeIntervalSince(start))
      let before = try processorSeconds(of: client.process)
      for _ in 0..<count {
        let start = Date()
        try client.list(expecting: Assistants.count)
        lists.append(Date().timeIntervalSince(start))
      }
      processor = min(processor, (try processorSeconds(of: client.process) - before) / Double(count))
      client.end()
    }
    lists.sort()
    return [
      .processor(
        "errand mcp: tools/list of 100 recipes: processor", processor, .atMost(5),
        beside:
          "\(displayedTime(lists[lists.count / 2])), \(displayedTime(lists[lists.count * 99 / 100])) p99: wall time"),
      Row("errand mcp: from its start to the first list", (starts.min() ?? 0) * 1000, "ms", nil),
    ]
  }
}

/// A client that asks one thing again and again.
private final class AssistantClient {
  let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private static let request = Data(
    (#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"#
      + #""2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"# + "\n").utf8)

  init(in folder: URL) throws {
    process.executableURL = URL(filePath: Spawner.errand)
    process.arguments = ["mcp"]
    process.currentDirectoryURL = folder
    (process.standardInput, process.standardOutput) = (input, output)
    process.standardError = FileHandle.nullDevice
    try process.run()
  }

  /// Asks for the list; only its length is read, so that nothing but the server is measured.
  func list(expecting count: Int) throws {
    try input.fileHandleForWriting.write(contentsOf: Self.request)
    var line = Data()
    while line.last != ASCII.newline {
      let part = output.fileHandleForReading.availableData
      if part.isEmpty { throw NotMeasured("'errand mcp' ended") }
      line += part
    }
    // The last of the tools, in the order of names.
    guard line.range(of: Data("\"tool-\(count - 1)\"".utf8)) != nil else { throw NotMeasured("tools are missing") }
  }

  func end() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
