import Basics
// For the linker alone, see there.
import CUnicodeNames
import CommandLineParser
import Glibc
import PluginList

// A reader that goes away is told by the failing write.
signal(SIGPIPE, SIG_IGN)
setlocale(LC_CTYPE, "C.UTF-8")

// Swift finds the arguments beside the environment, and finds none where a preloaded library (libfaketime) has moved
// that before `main`; the kernel knows them still.
let arguments =
  CommandLine.arguments.isEmpty
  ? ((try? Files.read("/proc/self/cmdline", limit: 4 << 20)) ?? []).split(
    separator: 0, omittingEmptySubsequences: false
  )
  .dropLast().map { String(decoding: $0, as: UTF8.self) }
  : CommandLine.arguments
let words = Array(arguments.dropFirst())
if words.first == "--version" {
  Console.write("errand \(version)\n", to: STDOUT_FILENO)
  exit(ExitCode.done.rawValue)
}
let code: ExitCode
do throws(UsageError) {
  switch try program.parse(words) {
  case .help(let page):
    Console.write(page + "\n", to: STDOUT_FILENO)
    code = .done
  case .run(let parsed):
    code = await Dispatch(parsed, plugins: everyPlugin).run()
  }
} catch {
  Console.write(error.description + "\n", to: STDERR_FILENO)
  code = .usage
}
exit(code.rawValue)
