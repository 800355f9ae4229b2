import Basics
import CommandLineParser
import Glibc
import PluginList

// A reader that goes away is told by the failing write.
signal(SIGPIPE, SIG_IGN)
setlocale(LC_CTYPE, "C.UTF-8")

let words = Array(CommandLine.arguments.dropFirst())
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
