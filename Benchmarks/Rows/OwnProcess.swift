import Foundation

/// The output of this program, started again with other arguments: as a process that has nothing old to free.
func ownOutput(_ arguments: String...) throws -> String {
  let process = Process()
  process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
  process.arguments = arguments
  let output = Pipe()
  process.standardOutput = output
  try process.run()
  defer { process.waitUntilExit() }
  return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
}

/// The memory that a process holds.
func residentBytes(of process: Int32 = getpid()) throws -> Int {
  let words = try String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8).split(separator: " ")
  guard words.count > 1, let pages = Int(words[1]) else { throw NotMeasured("the kernel tells no memory") }
  return pages * Int(getpagesize())
}
