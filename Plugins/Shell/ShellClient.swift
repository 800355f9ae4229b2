public import ActionKit
import ChildProcesses
import Glibc

/// Runs commands on this machine.
public protocol CommandRunning: Sendable {
  /// Runs a command to its end, or until the task is cancelled.
  ///
  /// - Parameter onPrint: Receives the output as it is read, on a thread that may block.
  func run(
    _ command: ShellCommand, onPrint: (@Sendable ([UInt8], PrintedStream) -> Void)?
  ) async throws(ShellError) -> ShellResult
}

extension CommandRunning {
  /// Runs a command to its end, or until the task is cancelled.
  public func run(_ command: ShellCommand) async throws(ShellError) -> ShellResult {
    try await run(command, onPrint: nil)
  }
}

/// Runs commands with only named environment variables; a command ends together with all processes that it started.
///
///     let shell = ShellClient()
///     let result = try await shell.run(ShellCommand(.program("git"), ["log", "-1", "--format=%s"], folder: "/srv/site"))
///     print(String(decoding: result.output, as: UTF8.self))
public struct ShellClient: CommandRunning {
  /// The environment and limits of all commands.
  public let settings: ShellSettings
  private let report: @Sendable (_ words: [String], _ result: Result<ShellResult, ShellError>, TimeSpan) -> Void

  /// Creates a client.
  public init(
    _ settings: ShellSettings = ShellSettings(),
    report: @escaping @Sendable (_ words: [String], _ result: Result<ShellResult, ShellError>, TimeSpan) -> Void = {
      _, _, _ in
    }
  ) {
    self.settings = settings
    self.report = report
  }

  /// Runs a command to its end, or until the task is cancelled.
  ///
  /// - Parameter onPrint: Receives the output as it is read, on a thread that may block.
  public func run(
    _ command: ShellCommand, onPrint: (@Sendable ([UInt8], PrintedStream) -> Void)?
  ) async throws(ShellError) -> ShellResult {
    let words = try words(of: command)
    var environment = settings.environment
    for (name, value) in command.environment { environment[name] = value }
    for (name, value) in command.secretEnvironment { environment[name] = value }
    for (name, value) in environment {
      if let fault = Self.fault(ofVariable: name, value) { throw fault }
    }
    for word in words.dropFirst() {
      if let fault = Self.fault(ofArgument: word, of: name(of: command)) { throw fault }
    }
    var status = stat()
    guard !command.folder.utf8.contains(0), stat(command.folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR
    else { throw ShellError(.invalid, "the working folder '\(command.folder)' is not there; make it first") }
    if Task.isCancelled { throw ShellError(.cancelled, "'\(name(of: command))' was not started") }

    var onRead: (@Sendable ([UInt8], Bool) -> Void)?
    if let onPrint { onRead = { bytes, isErrors in onPrint(bytes, isErrors ? .errors : .output) } }
    let process = ChildProcess(
      path: words[0], arguments: words.dropFirst().map { $0 }, environment: environment, folder: command.folder,
      place: command.place, input: command.input, maxOutputBytes: settings.maxOutputBytes, grace: settings.grace,
      onRead: onRead)
    let start = SystemTime().elapsed()
    let end = await process.run()
    let result = Result { () throws(ShellError) in try judged(end, command) }.mapError { error in
      if end.left.isEmpty { return error }
      var error = error
      error.message += "; it left processes that cannot be ended: \(end.left.joined(separator: ", "))"
      return error
    }
    report(Array(words.dropFirst()), result, SystemTime().elapsed() - start)
    return try result.get()
  }

  /// The error if no command can have this variable.
  static func fault(ofVariable name: String, _ value: String) -> ShellError? {
    if name.isEmpty || name.utf8.contains(ASCII.equals) || name.utf8.contains(0) {
      return ShellError(.invalid, "'\(name)' cannot be the name of a variable")
    }
    if value.utf8.contains(0) { return ShellError(.invalid, "the variable '\(name)' contains a NUL character") }
    return nil
  }

  /// The error if no command can have this argument.
  static func fault(ofArgument word: String, of program: String) -> ShellError? {
    guard word.utf8.contains(0) else { return nil }
    return ShellError(.invalid, "an argument of '\(program)' contains a NUL character")
  }

  // MARK: Programs

  /// The program's path, then its `argv`, which begins with its name.
  private func words(of command: ShellCommand) throws(ShellError) -> [String] {
    switch command.work {
    case .script(let text): return ["/bin/sh", "sh", "-c", text, "sh"] + command.arguments
    case .program(let name): return [try path(of: name, from: command), name] + command.arguments
    }
  }

  private func path(of name: String, from command: ShellCommand) throws(ShellError) -> String {
    if name.isEmpty || name.utf8.contains(0) { throw ShellError(.invalid, "a program needs a name") }
    let path = command.secretEnvironment["PATH"] ?? command.environment["PATH"] ?? settings.environment["PATH"] ?? ""
    if let file = ChildProcess.file(of: name, in: path, from: command.folder) { return file }
    if name.utf8.contains(ASCII.slash) {
      let file = name.hasPrefix("/") ? name : "\(command.folder)/\(name)"
      throw ShellError(.invalid, "'\(file)' isn't a program: it is missing, or not executable")
    }
    throw ShellError(
      .invalid,
      name.utf8.contains(ASCII.space)
        ? "no program is named '\(name)'; give what follows its name as 'arguments', or use 'script'"
        : "no program is named '\(name)' in \(path.replacing(":", with: ", "))")
  }

  private func name(of command: ShellCommand) -> String {
    if case .program(let name) = command.work { name } else { "sh" }
  }

  // MARK: Results

  /// The end of an output of a command, which usually has the error; nil if the output is empty.
  private static func end(of bytes: [UInt8], isCut: Bool) -> String? {
    let text = String(decoding: bytes, as: UTF8.self).trimmed.excerpt(1900, .end, isCut: isCut)
    return text.isEmpty ? nil : text
  }

  private func judged(_ end: ChildProcess.End, _ command: ShellCommand) throws(ShellError) -> ShellResult {
    let name = name(of: command)
    // The output of a killed command may end within a secret.
    let isCut = if case .exit = end.reason { false } else { true }
    let (errors, output) = (
      ShellClient.end(of: end.errors, isCut: isCut), ShellClient.end(of: end.output, isCut: isCut)
    )
    let detail =
      switch (errors, output) {
      case (let errors?, let output?): "standard error: \(errors)\nstandard output: \(output)"
      case (nil, let output?): "standard output: \(output)"
      case (let errors, nil): errors
      }
    switch end.reason {
    case .notStarted(let code):
      throw ShellError(.notStarted, "'\(name)' was not started: \(systemErrorText(code))")
    // The process has no time limit of its own.
    case .cancelled, .late:
      throw ShellError(.cancelled, "'\(name)' was ended before it was done", detail: detail)
    case .tooMuchOutput:
      throw ShellError(
        .tooMuchOutput, "'\(name)' wrote more than \(settings.maxOutputBytes) bytes, and was killed", detail: detail)
    case .lost:
      throw ShellError(
        .lost, "what watched over '\(name)' was killed, and the command with it; what it left running is not known",
        detail: detail)
    case .signal(let number):
      throw ShellError(.signalled(number), "'\(name)' was ended by signal \(number)", detail: detail)
    case .exit(let code):
      guard command.expectedCodes.contains(code) else {
        throw ShellError(.exited(code), "'\(name)' exited with code \(code)", detail: detail)
      }
      return ShellResult(exitCode: code, output: end.output, errors: end.errors, unended: end.left)
    }
  }
}
