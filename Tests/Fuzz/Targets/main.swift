import CFuzzer
import Foundation

// Passes garbled texts to the readers of expressions, YAML, JSON, schedules, recipes, answers and OpenAPI documents;
// `make fuzz` builds and runs it. libFuzzer makes the inputs from seeds, which come from the functions' declarations
// and the checker's table, and keeps the inputs that reach new code. It looks for traps, stack overflows, memory
// errors, and violations of the properties in `FuzzTarget`.
//
//   Fuzz check|evaluate|template|yaml|json|cron|recipe|answer|document CORPUS [OPTION OF LIBFUZZER…]

let words = CommandLine.arguments
guard words.count >= 3, let target = FuzzTarget(rawValue: words[1]) else {
  let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: "|")
  FileHandle.standardError.write(Data("usage: Fuzz \(names) CORPUS [OPTION OF LIBFUZZER…]\n".utf8))
  exit(64)
}
let corpus = URL(filePath: words[2], directoryHint: .isDirectory)
let dictionary = corpus.deletingLastPathComponent().appending(path: "words.dict")
do {
  try Seeds(target).write(to: corpus, dictionary: dictionary)
} catch {
  FileHandle.standardError.write(Data("error: the seeds cannot be written: \(error.localizedDescription)\n".utf8))
  exit(1)
}

let arguments = [words[0], corpus.path, "-dict=\(dictionary.path)"] + words.dropFirst(3)
// libFuzzer keeps the array to the end of the process.
let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: arguments.count + 1)
for (index, argument) in arguments.enumerated() { list[index] = strdup(argument) }
list[arguments.count] = nil
var count = Int32(arguments.count)
var start: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = list

// A C function sees no variable of this file, so each target has one of its own.
let run: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32 =
  switch target {
  case .check: { FuzzTarget.check.take($0, $1) }
  case .evaluate: { FuzzTarget.evaluate.take($0, $1) }
  case .template: { FuzzTarget.template.take($0, $1) }
  case .yaml: { FuzzTarget.yaml.take($0, $1) }
  case .json: { FuzzTarget.json.take($0, $1) }
  case .cron: { FuzzTarget.cron.take($0, $1) }
  case .recipe: { FuzzTarget.recipe.take($0, $1) }
  case .answer: { FuzzTarget.answer.take($0, $1) }
  case .document: { FuzzTarget.document.take($0, $1) }
  }
exit(LLVMFuzzerRunDriver(&count, &start, run))
