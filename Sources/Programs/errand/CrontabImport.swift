import Agent
import AgentRuntime
import Basics
import Calendars
import CommandLineParser
import Glibc
import Recipes

/// `errand new recipe --from-crontab`: makes a recipe of each line of a crontab.
struct CrontabImport: DispatchedCommand {
  let dispatch: Dispatch
  let workspace: Workspace

  /// Writes the recipes, and reports why the other lines can't become recipes.
  func run(_ path: String) throws(RuntimeError) -> ExitCode {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes =
        path == "-"
        ? try Descriptor(owning: dup(STDIN_FILENO)).readAll("standard input", limit: 1 << 20)
        : try Files.read(path, limit: 1 << 20)
    } catch {
      throw RuntimeError(.noInput, error.description)
    }
    let file = path == "-" ? "the crontab" : path
    let full = Workspace.absolute(path, in: Workspace.workingFolder)
    let isSystem = full == "/etc/crontab" || full.hasPrefix("/etc/cron.d/") || parsed["user-column"].isGiven
    // A line that can't be read costs no other.
    let lines =
      bytes.split(separator: ASCII.newline, omittingEmptySubsequences: false).enumerated().map { number, line in
        do throws(CharsetError) { return (number + 1, try Charset.utf8.text(of: Array(line)), nil) } catch {
          return (number + 1, "#", error.message)
        }
      } as [(line: Int, text: String, fault: String?)]
    let crontab = Crontab(lines.map(\.text).joined(separator: "\n"), hasUsers: isSystem)
    var faults = crontab.faults
    for line in lines {
      guard let fault = line.fault?.replacing("line 1, ", with: "") else { continue }
      faults.append(
        (line.line, "the line \(fault); convert the crontab, as with: iconv --from-code=ISO-8859-1 --to-code=UTF-8"))
    }
    var written: [String] = []
    var reported: Set<String> = []
    for job in crontab.jobs {
      if let obstacle = job.obstacle {
        faults.append((job.line, obstacle))
        continue
      }
      let (name, path) = unused(job.name)
      let recipe = job.recipe(
        named: name, file: file, zone: zone, CronAccount(job.user), remark: zoneRemark)
      let checked = Recipe.check(Source(name: path, text: recipe), in: workspace.environment)
      if let fault = checked.diagnostics.first(where: { $0.severity == .error }) {
        faults.append((job.line, fault.message))
        continue
      }
      try NewFile.write(recipe, to: path, orElse: "give the recipe another name")
      console.out(path)
      written.append(path)
      // A variable is one of many jobs.
      for remark in job.remarks where reported.insert("\(remark.line) \(remark.text)").inserted {
        console.say("\(file):\(remark.line): note: \(remark.text)")
      }
    }
    for fault in faults.sorted(by: { $0.line < $1.line }) {
      console.error(
        "\(file):\(fault.line): \(Style.red.applied(to: "error", console.colourError)): \(fault.message.safeText())")
    }
    if crontab.jobs.isEmpty, faults.isEmpty { throw RuntimeError(.noInput, "'\(path)' has no line with a command") }
    if !written.isEmpty {
      console.say("next: errand check \(written.map(\.shellQuoted).joined(separator: " "))")
      console.say("      errand serve, which runs them at their times; then take the lines out of the crontab")
    }
    let rest = faults.isEmpty ? "" : ", \(counted(faults.count, "line")) not converted"
    console.say("\(counted(written.count, "recipe")) written\(rest)")
    return faults.isEmpty ? .done : .failed
  }

  /// A name of a recipe that has no file yet, such as `backup-2`.
  private func unused(_ name: String) -> (name: String, path: String) {
    var number = 1
    while true {
      let candidate = number == 1 ? name : "\(name)-\(number)"
      let path = Workspace.displayed(NewRecipeCommand.path(of: candidate, in: workspace))
      if !Files.exists(path) { return (candidate, path) }
      number += 1
    }
  }

  /// The zone of times without one: the machine's, since cron uses it, or errand.yaml's if the machine's is unknown.
  private var zone: String { MachineZone.name ?? workspace.configuration.zone ?? "UTC" }

  /// A remark for the reader about the zone; empty if errand.yaml has the same one.
  private var zoneRemark: String {
    guard let given = workspace.configuration.zone, let machine = MachineZone.name else {
      return MachineZone.name == nil ? "cron goes by the machine's, which isn't known" : ""
    }
    return given.hasSameScalars(as: machine) ? "" : "the machine's, by which cron goes; that of errand.yaml is \(given)"
  }
}

/// The zone of this machine.
enum MachineZone {
  /// Its IANA name, from `$TZ`, `/etc/timezone` or where `/etc/localtime` leads to; nil if none of them tells.
  static var name: String? {
    let file = (try? Files.read("/etc/timezone", limit: 1 << 12)).map { String(decoding: $0, as: UTF8.self).trimmed }
    let variable = String(environment: "TZ").flatMap { TimeZoneDatabase.system.rules(ofVariable: $0)?.name }
    return [variable, linked, file].lazy.compactMap { $0 }.first { name in
      (try? TimeZoneDatabase.system.rules(named: name)) != nil
    }
  }

  private static var linked: String? {
    guard let path = realpath("/etc/localtime", nil) else { return nil }
    defer { free(path) }
    let parts = String(cString: path).split(separator: "/")
    guard let start = parts.firstIndex(of: "zoneinfo") else { return nil }
    return parts[(start + 1)...].joined(separator: "/")
  }
}
