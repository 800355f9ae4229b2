import Foundation
import HTTPServer

/// A server of this machine that answers at once, in a process of its own, so that only the client's processor time and
/// memory are measured.
struct LoopbackServer {
  /// The argument that makes this program the server.
  static let word = "answer"

  /// Serves until the standard input ends.
  ///
  /// - `/bytes/N`: a text of so many bytes, in lines
  /// - `/hold`: no answer
  /// - anything else: `ok`
  static func serve() async throws -> Never {
    let line = String(repeating: "a line of a large text, which is no secret and no JSON. ", count: 2) + "\n"
    let server = try HTTPServer { request in
      if request.path == "/hold" {
        // Cancelled when the client goes away.
        try? await Task.sleep(for: .seconds(3600))
      } else if request.path.hasPrefix("/bytes/"), let count = Int(request.path.dropFirst(7)) {
        return .text(String(String(repeating: line, count: count / line.utf8.count + 1).prefix(count)))
      }
      return .text("ok")
    }
    print(server.baseURL)
    fflush(nil)
    while readLine() != nil {}
    await server.stop()
    exit(0)
  }

  let url: String
  private let process = Process()
  private let input = Pipe()

  init() throws {
    let output = Pipe()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [Self.word]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    url = line.trimmingCharacters(in: .whitespacesAndNewlines)
    if url.isEmpty { throw NotMeasured("the server did not start") }
  }

  func end() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// The program that asks for as many answers and keeps none.
  static let curlProgram = "/usr/bin/curl"

  /// curl's call for so many answers, 64 at once; nil where it isn't installed.
  static func curl(_ url: String, _ count: Int) -> [String]? {
    guard FileManager.default.isExecutableFile(atPath: curlProgram) else { return nil }
    return [
      curlProgram, "--silent", "--fail", "--parallel", "--parallel-max", "64", "--output", "/dev/null",
      "\(url)/[1-\(count)]",
    ]
  }
}
