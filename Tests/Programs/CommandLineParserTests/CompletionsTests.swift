import ProcessTestKit
import CommandLineParser
import Foundation
import Testing

@Suite struct CompletionsTests {
  /// What a shell prints for a script.
  private func output(of shell: String, _ arguments: [String], in folder: URL? = nil) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [shell] + arguments
    if let folder { process.currentDirectoryURL = folder }
    let pipe = launchPipe()
    (process.standardOutput, process.standardError) = (pipe, pipe)
    try process.startAlone()
    let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(arguments: [
    (["ru"], "run runs"), (["runs", ""], "list show --config --quiet --verbose --help"),
    (["runs", "s"], "show"), (["run", "--f"], "--format"), (["run", "a.yaml", "--format", ""], "text json"),
    (["run", "--format", "j"], "json"), (["--config", "runs", "se"], "serve"), (["run", "-i", ""], ""),
    (["--config", "on"], "one.yaml"), (["run", "o"], "one.yaml"), (["check", "one.yaml", "two "], "two words.yaml"),
    (["serve", "o"], ""),
  ])
  func `completes in bash`(_ words: [String], _ offers: String) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "errand-completions-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for name in ["one.yaml", "two words.yaml"] { try Data().write(to: folder.appending(path: name)) }
    let quoted = words.map { "'\($0)'" }.joined(separator: " ")
    let script = """
      \(program.completions(for: .bash))
      COMP_WORDS=(errand \(quoted)) COMP_CWORD=\(words.count)
      _errand
      echo "${COMPREPLY[*]}"
      """
    #expect(try output(of: "bash", ["-c", script], in: folder) == offers + "\n")
  }

  @Test func `describes the words in zsh`() {
    let script = program.completions(for: .zsh)
    #expect(script.hasPrefix("#compdef errand\n"))
    #expect(script.contains("\n      ' runs list') at=' runs list' ;;\n"))
    #expect(script.contains("\n      ' run --format') compadd -- 'text' 'json'; return ;;\n"))
    #expect(script.contains(#"'serve:Runs until it'\''s stopped.'"#))
    #expect(script.contains("; [[ $PREFIX == -* ]] || _files ;;\n"))
  }

  @Test func `describes the words in fish`() {
    let lines = program.completions(for: .fish).split(separator: "\n")
    #expect(lines.contains(#"complete -c errand -n '__errand_at \'\'' -a serve -d 'Runs until it\'s stopped.'"#))
    #expect(
      lines.contains(
        #"complete -c errand -n '__errand_at \' run\'' -l format -x -a 'text json' -d 'How the result is written.'"#))
    #expect(lines.contains(#"complete -c errand -n '__errand_at \' check\'' -F"#))
  }
}
