// Commits of the files that people edit through the agent.
//
// Git runs as a child process with a list of arguments. Its environment has the variables that it needs and no others; it
// asks for nothing, signs nothing, and has 20 seconds. When it has to end early, also because the agent was killed, it is
// asked to, and removes its locks. Hooks of the repository run. A commit takes the one file and nothing
// else: `--only` leaves alone what others have staged, and a new file is added by its name alone (`--intent-to-add`), so
// that a hook that refuses the commit leaves nothing staged; the name is taken back then. Nothing is ever pushed, pulled, reset or switched.

import Basics
import ChildProcesses

/// A folder in a work tree of Git.
package struct GitFolder: Sendable {
  /// Whether a folder is in a repository.
  package enum Finding: Sendable {
    case none
    /// There is a repository that Git refuses to use; Git's words.
    case unusable(String)
    case found(GitFolder)
  }

  /// The facts of a file that a page shows before a save.
  package struct Status: Sendable, Equatable {
    /// Nil if no branch is checked out.
    package var branch: String?
    /// Whether the file is as it was committed.
    package var isClean: Bool
    /// Why a save won't be committed; nil if it will be.
    package var obstacle: String?
  }

  /// The folder that it runs in.
  let folder: String
  private let program: String
  private let environment: [String: String]
  private let gitFolder: String

  private static let longest = TimeSpan.seconds(20)
  /// The most bytes that it may print.
  private static let mostBytes = 1 << 20
  /// The most versions that are listed.
  static let mostVersions = 100
  /// The most bytes of its words that are shown.
  private static let mostShown = 600

  /// Finds the work tree of a folder.
  static func find(_ folder: String, environment given: [String: String]) async -> Finding {
    var environment: [String: String] = [:]
    for name in ["PATH", "HOME", "XDG_CONFIG_HOME"] { environment[name] = given[name] }
    environment["LC_ALL"] = "C.UTF-8"
    environment["GIT_TERMINAL_PROMPT"] = "0"
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    environment["GIT_EDITOR"] = ":"
    environment["GIT_COMMITTER_NAME"] = "errand"
    environment["GIT_COMMITTER_EMAIL"] = "errand@errand.invalid"
    guard let program = ChildProcess.file(of: "git", in: given["PATH"] ?? "/usr/local/bin:/usr/bin:/bin", from: folder)
    else { return .none }
    let git = GitFolder(folder: folder, program: program, environment: environment, gitFolder: "")
    switch await git.run(["rev-parse", "--show-toplevel", "--absolute-git-dir"]) {
    case .success(let output):
      let lines = output.split(separator: ASCII.newline).map { String(decoding: $0, as: UTF8.self) }
      guard lines.count == 2 else { return .none }
      return .found(GitFolder(folder: folder, program: program, environment: environment, gitFolder: lines[1]))
    case .failure(let failure):
      // Without a repository it says so; other words mean that there is one.
      return failure.message.contains("not a git repository") ? .none : .unusable(failure.message)
    }
  }

  // MARK: Asking

  /// The state of a file of the folder.
  func status(of name: String) async -> Status {
    var status = Status(branch: nil, isClean: true)
    if case .success(let branch) = await run(["symbolic-ref", "--short", "-q", "HEAD"]) {
      status.branch = String(decoding: branch, as: UTF8.self).trimmed
    } else {
      status.obstacle = "no branch is checked out (a detached head)"
    }
    if let (_, what) = GitFolder.operations.first(where: { Files.exists("\(gitFolder)/\($0.0)") }) {
      status.obstacle = "\(what) is under way"
    }
    switch await run(["status", "--porcelain", "-z", "--untracked-files=all", "--", name]) {
    case .success(let output): status.isClean = output.isEmpty
    case .failure(let failure): status.obstacle = status.obstacle ?? failure.message
    }
    if status.isClean, status.obstacle == nil,
      case .success = await run(["check-ignore", "-q", "--", "./\(name)"], isLiteral: false)
    {
      status.obstacle = "Git ignores this file"
    }
    return status
  }

  /// The files in the folder of a repository that tell of an operation under way.
  private static let operations = [
    ("rebase-merge", "a rebase"), ("rebase-apply", "a rebase"), ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"), ("REVERT_HEAD", "a revert"),
  ]

  /// The versions of a file, newest first.
  func versions(of name: String) async -> [EditedVersion] {
    let format = "--format=%H%x1f%ct%x1f%an%x1f%s"
    guard case .success(let output) = await run(["log", "-n", "\(GitFolder.mostVersions)", "-z", format, "--", name])
    else { return [] }
    return output.split(separator: 0).compactMap { entry in
      let parts = entry.split(separator: 0x1F, maxSplits: 3, omittingEmptySubsequences: false).map {
        String(decoding: $0, as: UTF8.self)
      }
      guard parts.count == 4, GitFolder.isCommit(parts[0]), let seconds = Int(parts[1]),
        let at = Timestamp(seconds: seconds, nanoseconds: 0)
      else { return nil }
      return EditedVersion(
        version: parts[0], at: at, by: parts[2].safe, message: parts[3].safe.shortened(to: 200), isOfGit: true)
    }
  }

  /// A version of a file with its bytes; nil if the file has none of that name.
  func version(_ commit: String, of name: String) async -> (version: EditedVersion, bytes: [UInt8])? {
    guard GitFolder.isCommit(commit), let version = await versions(of: name).first(where: { $0.version == commit }),
      case .success(let bytes) = await run(["show", "\(commit):./\(name)"])
    else { return nil }
    return (version, bytes)
  }

  /// Whether a text is the whole id of a commit.
  static func isCommit(_ text: String) -> Bool {
    [40, 64].contains(text.utf8.count)
      && text.utf8.allSatisfy { ASCII.digits.contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
  }

  // MARK: Committing

  /// Commits a file as it is now, unless nothing of it has changed; gives the id of its latest commit.
  func commit(
    _ name: String, message: String, by author: String
  ) async -> Result<String, GitError> {
    let status = await status(of: name)
    if let obstacle = status.obstacle { return .failure(GitError(message: obstacle)) }
    if !status.isClean {
      let author = GitFolder.author(author)
      var isNew = true
      if case .success = await run(["ls-files", "--error-unmatch", "--", name]) { isNew = false }
      if case .failure(let failure) = await run(["add", "--intent-to-add", "--", name], locks: true) {
        return .failure(failure)
      }
      let words = [
        "commit", "--quiet", "--only", "--no-gpg-sign", "-m", message, "--author=\(author) <\(author)@errand.invalid>",
        "--", name,
      ]
      if case .failure(let failure) = await run(words, locks: true) {
        if isNew { _ = await run(["rm", "--cached", "--quiet", "--", name], locks: true) }
        return .failure(failure)
      }
    }
    switch await run(["log", "-n", "1", "--format=%H", "--", name]) {
    case .success(let output): return .success(String(decoding: output, as: UTF8.self).trimmed)
    case .failure(let failure): return .failure(failure)
    }
  }

  /// A name as Git takes it.
  private static func author(_ name: String) -> String {
    let plain = name.unicodeScalars.filter { $0.value > 0x20 && $0.value != 0x7F && $0 != "<" && $0 != ">" }
    return plain.isEmpty ? "unknown" : String(String.UnicodeScalarView(plain)).shortened(to: 60)
  }

  /// Runs Git in the folder; gives its output.
  ///
  /// - Parameters:
  ///   - locks: Whether it changes the index.
  ///   - isLiteral: Whether names have no patterns; `check-ignore` refuses the option, and takes names as they are.
  private func run(
    _ words: [String], locks: Bool = false, isLiteral: Bool = true
  ) async -> Result<[UInt8], GitError> {
    var environment = environment
    if locks { environment["GIT_OPTIONAL_LOCKS"] = nil }
    let settings = ["-c", "commit.gpgSign=false", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"]
    let process = ChildProcess(
      path: program, arguments: ["git", "--no-pager"] + (isLiteral ? ["--literal-pathspecs"] : []) + settings + words,
      environment: environment, folder: folder, maxOutputBytes: GitFolder.mostBytes, grace: .seconds(1),
      isGentle: locks)
    let end = await process.run(for: GitFolder.longest)
    switch end.reason {
    case .exit(0): return .success(end.output)
    case .exit(let code):
      let words = String(decoding: end.errors + (end.errors.isEmpty ? end.output : []), as: UTF8.self).safeText()
        .trimmed
      return .failure(
        GitError(message: words.isEmpty ? "git exited with code \(code)" : words.shortened(to: GitFolder.mostShown)))
    case .late: return .failure(GitError(message: "git timed out after 20s"))
    case .notStarted(let code): return .failure(GitError(message: "git can't be started: \(systemErrorText(code))"))
    case .signal(let number): return .failure(GitError(message: "git was killed by signal \(number)"))
    case .tooMuchOutput: return .failure(GitError(message: "git printed more than 1 MiB"))
    case .lost, .cancelled: return .failure(GitError(message: "git was ended before it was done"))
    }
  }
}

/// Why Git didn't do its part, in its own words.
package struct GitError: Error, Sendable {
  package var message: String
}
