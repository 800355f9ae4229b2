import Agent
import Basics
import CProgram
// For the linker only, see there.
import CUnicodeNames
import ChildProcesses
import CommandLineParser
import Glibc
import PluginList
import Synchronization
import Threads

// Commands run as the same user as this program, and must not read its environment.
ChildProcess.hideFromOthers()
ChildProcess.raiseFileLimit()
CrashMark.arm(as: "errand \(version)")
// A write to a closed pipe, or to a file that has reached its limit, fails with an error instead of a signal.
signal(SIGPIPE, SIG_IGN)
signal(SIGXFSZ, SIG_IGN)
// Who started this program may have blocked signals, which would then never come.
var noSignals = sigset_t()
sigemptyset(&noSignals)
pthread_sigmask(SIG_SETMASK, &noSignals, nil)
// The next file opened would take the place of a closed stream; writes to this one fail as they would on the closed
// one.
for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) < 0 { _ = open("/dev/null", O_RDONLY) }
setlocale(LC_CTYPE, "C.UTF-8")

TaskThreads.run { exit(await code().rawValue) }

/// The arguments; services and files get their text, so nothing in them is replaced.
func arguments() throws(UsageError) -> [String] {
  try (0..<cprogram_count()).dropFirst().map { number throws(UsageError) in
    let bytes = Array(UnsafeRawBufferPointer(start: cprogram_word(number), count: strlen(cprogram_word(number))))
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    do throws(CharsetError) { return try Charset.utf8.text(of: bytes) } catch {
      throw UsageError(
        "the argument '\(Charset.utf8.displayedText(of: bytes).safe.excerpt(60))' \(error.message); write it in UTF-8",
        help: "errand --help")
    }
  }
}

/// Carries out the command in the arguments.
func code() async -> ExitCode {
  var code = ExitCode.done
  do throws(UsageError) {
    let words = try arguments()
    let page = words.first == "--version" ? versionText : words.isEmpty ? FirstSteps.text : nil
    switch page == nil ? try program.parse(words) : .help(page ?? "") {
    case .help(let page):
      Console.write(page + "\n", to: STDOUT_FILENO)
    case .run(let parsed):
      code = await Dispatch(parsed, plugins: everyPlugin).run()
    }
  } catch {
    Console.write(error.description + "\n", to: STDERR_FILENO)
    code = .usage
  }
  let failure = Console.outputFailure.load(ordering: .relaxed)
  if failure != 0 {
    Console.write("error: cannot write standard output: \(systemErrorText(failure))\n", to: STDERR_FILENO)
    // Any other failure takes precedence.
    if [.done, .hasChanges].contains(code) { code = .cannotCreate }
  }
  return code
}
