import ActionKit
public import Foundation
public import Testing

/// Checks that a committed file is what its generator would write today.
///
/// With `RECORD_SNAPSHOTS=1` in the environment the file is written instead, and the test fails nevertheless, so that
/// no recording passes for a test.
public func expectGenerated(
  _ file: URL, _ text: String, by command: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  if ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] == "1" {
    do {
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
      Issue.record(
        "recorded \(file.lastPathComponent); look at it, and run the test again", sourceLocation: sourceLocation)
    } catch {
      Issue.record("cannot record \(file.path): \(error)", sourceLocation: sourceLocation)
    }
    return
  }
  guard let written = try? String(decoding: Data(contentsOf: file), as: UTF8.self) else {
    Issue.record("\(file.lastPathComponent) is missing: run '\(command)'", sourceLocation: sourceLocation)
    return
  }
  guard !written.hasSameScalars(as: text) else { return }
  let old = written.split(separator: "\n", omittingEmptySubsequences: false)
  let new = text.split(separator: "\n", omittingEmptySubsequences: false)
  let line =
    zip(old, new).enumerated().first { !$1.0.utf8.elementsEqual($1.1.utf8) }?.offset ?? min(old.count, new.count)
  let (before, after) = (old.indices.contains(line) ? old[line] : "", new.indices.contains(line) ? new[line] : "")
  Issue.record(
    """
    \(file.lastPathComponent) is out of date: run '\(command)'
    line \(line + 1) is    \(before)
    and should be \(after)
    """, sourceLocation: sourceLocation)
}

/// Checks a text against the file of that name in `Snapshots` beside the test.
public func expectSnapshot(
  _ name: String, _ text: String, testFile: String = #filePath, sourceLocation: SourceLocation = #_sourceLocation
) {
  expectGenerated(
    URL(filePath: testFile).deletingLastPathComponent().appending(path: "Snapshots/\(name)"), text,
    by: "RECORD_SNAPSHOTS=1 swift test", sourceLocation: sourceLocation)
}
