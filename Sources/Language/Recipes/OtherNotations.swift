import Basics
import YAMLReader

// Advises people who know another system: keys of workflows, playbooks and crontabs. None of these are accepted; the
// error names the way to write them here. If only the word differs, the key is read as ours, so that one slip is one
// error.

/// Keys of other systems, and their equivalents in one kind of mapping here.
struct OtherNotations: Sendable {
  /// Our keys by the words that other systems have for them.
  let keys: [String: String]
  /// The end of the error for a key whose meaning is written differently here; nil if the key is unknown.
  let advice: @Sendable (_ key: String, _ value: Value) -> String?

  static let none = OtherNotations(keys: [:]) { _, _ in nil }

  static let recipe = OtherNotations(keys: [
    "description": "summary", "desc": "summary", "timezone": "zone", "tz": "zone", "tasks": "steps",
    "on_failure": "onFailure", "onError": "onFailure", "always": "finally", "concurrency": "concurrencyGroup",
  ]) { key, value in
    switch key {
    case "name": "a recipe's name is given by 'recipe', and a sentence about it by 'summary'"
    case "jobs":
      "there are no jobs: 'steps' run one after another, and a step with 'parallel' runs branches at once"
    case "env", "environment", "vars", "variables":
      "name values with a step: let: { name: value }; a command gets its variables by 'environment' of shell.run"
    case "params", "parameters", "arguments", "args":
      "declare them under 'inputs', as in inputs: { name: { type: string } }"
    case "schedule", "schedules", "cron", "triggers", "trigger": "what starts it is under 'on': \(entry(of: value))"
    case "strategy", "matrix": "'forEach' runs a step for each item of a list, with 'maxParallel' at once"
    case "secrets": "a secret is read as ${{ secrets.NAME }}, and errand.yaml says where its value is"
    case "connections", "credentials": "connections are in errand.yaml"
    case "retry", "retries", "timeout", "timeout-minutes": "put what holds for all steps under 'defaults'"
    case "limits", "rateLimit", "rate_limit": OtherNotations.limits
    case let key where KeySet.step.names.contains(key): "it is a key of a step: indent it below one of 'steps'"
    default: nil
    }
  }

  static let errorHandling = OtherNotations(keys: ["default": "value", "return": "value", "then": "steps"]) { _, _ in
    nil
  }

  static let batch = OtherNotations(keys: [
    "every": "for", "within": "for", "window": "for", "timeout": "for", "size": "max", "limit": "max", "count": "max",
  ]) { _, _ in nil }

  static let file = OtherNotations(keys: ["glob": "path", "pattern": "path", "folder": "path", "dir": "path"]) { _, _ in
    nil
  }

  static let carried = OtherNotations(keys: [
    "default": "first", "initial": "first", "value": "first", "start": "first",
  ]) { _, _ in nil }

  static let repetition = OtherNotations(keys: [
    "max": "maxRounds", "times": "maxRounds", "count": "maxRounds", "limit": "maxRounds", "interval": "every",
    "delay": "every", "wait": "every", "state": "carry", "vars": "carry", "update": "next", "gather": "collect",
  ]) { key, _ in key == "while" ? "'until' takes the opposite: the condition on which it ends" : nil }

  static let trigger = OtherNotations(keys: [
    "schedule": "cron", "watch": "file", "timezone": "zone", "tz": "zone", "interval": "every", "with": "inputs",
    "enabled": "paused",
  ]) { key, _ in
    switch key {
    case "workflow_dispatch": "a recipe can always be started by hand; leave it out"
    case "match", "type":
      "it goes inside 'event', beside 'name', or inside 'webhook': event: { name: …, \(key): … }"
    case "path", "verify", "signal", "dedupeFor", "headers":
      "it goes inside 'webhook': webhook: { verify: …, \(key): … }"
    case "open", "fields", "done": "it goes inside 'form': form: { open: …, \(key): … }"
    case "answer": "it goes inside 'webhook': webhook: { verify: …, answer: … }"
    case "settle", "existing": "it goes inside 'file', beside 'path': file: { path: …, \(key): … }"
    case "status": "it goes inside 'afterRecipe', beside 'recipe': afterRecipe: { recipe: …, status: … }"
    default: nil
    }
  }

  static let webhook = OtherNotations(keys: [
    "url": "path", "name": "path", "route": "path", "endpoint": "path", "schema": "type", "filter": "match",
    "header": "headers", "event": "signal", "auth": "verify", "signature": "verify",
  ]) { key, _ in
    switch key {
    case "secret", "token", "github", "stripe", "standard", "hmac", "none", "tolerance":
      "it goes inside 'verify', as in verify: { github: \"${{ secrets.NAME }}\" }"
    case "inputs", "overlap", "batch", "paused": "it goes beside 'webhook', not inside"
    case "method", "methods": "deliveries are posted; leave it out"
    default: nil
    }
  }

  static let form = OtherNotations(keys: [
    "url": "path", "route": "path", "name": "title", "heading": "title", "description": "text", "access": "open",
    "inputs": "fields", "thanks": "done", "rateLimit": "limit",
  ]) { key, _ in ["overlap", "paused"].contains(key) ? "it goes beside 'form', not inside" : nil }

  static let verify = OtherNotations(keys: [
    "hub": "github", "standardWebhooks": "standard", "standardwebhooks": "standard", "svix": "standard",
    "signature": "hmac", "header": "token",
  ]) { key, _ in
    switch key {
    case "gitlab": "write token: { header: X-Gitlab-Token, secret: \"${{ secrets.NAME }}\" }"
    case "slack", "shopify", "zoom":
      "write hmac: { secret: \"${{ secrets.NAME }}\", header: … } as its pages say, or standard"
    case "secret": "name the scheme first, as in github: \"${{ secrets.NAME }}\""
    default: nil
    }
  }

  /// Keys of steps that run a command elsewhere.
  static let commands: Set = ["run", "script", "command", "cmd", "shell", "bash"]

  /// Keys whose values mean something else here: a condition alone, and a count of attempts without the first.
  static let doubtful: Set = ["until", "retries"]

  static let step = OtherNotations(keys: [
    "on": "connection", "then": "steps", "try": "steps", "block": "steps", "catch": "onError", "except": "onError",
    "rescue": "onError", "on_error": "onError", "on_failure": "onError", "retries": "retry", "action": "uses",
    "when": "if", "with_items": "forEach", "loop": "forEach", "items": "forEach", "for": "forEach",
    "loop_var": "as", "register": "id", "sleep": "wait", "delay": "wait", "until": "repeat", "params": "with",
    "parameters": "with", "args": "with", "arguments": "with", "input": "with", "inputs": "with", "set": "let",
    "vars": "let", "max-parallel": "maxParallel", "do": "steps", "match": "switch", "schema": "shape",
  ]) { key, value in
    switch key {
    case "elif", "elsif", "elseif", "elseIf", "else_if", "else if", "elsewhen":
      "put a step with its own 'if' under 'else': else: [{ if: …, steps: [ … ] }]"
    case "while": "write 'repeat' with the opposite: repeat: { every: 10s, until: … }"
    case "return", "returns": "'outputs' of the recipe names what it gives; 'fail' ends it with an error"
    case "break", "continue", "exit", "stop":
      "'if' skips a step, 'where' skips items of a loop, and 'until' ends a 'repeat'"
    case "limits", "rateLimit", "rate_limit": OtherNotations.limits
    case "carry", "next", "collect", "every", "maxRounds": "put it under 'repeat'"
    case "body": "the types of an output's fields go under 'shape'"
    case let key where commands.contains(key):
      "a command is an action: uses: shell.run, with: { effect: write, script: \(displayed(value)) }"
    case "env", "environment": "a command's variables are under 'with' of shell.run, as environment: { NAME: value }"
    case "needs", "depends_on", "depends", "dependsOn", "after":
      "steps run one after another, so leave it out; a step with 'parallel' runs branches at once"
    case "continue-on-error", "ignore_errors", "ignore-errors", "allow_failure", "continueOnError":
      "write onError: continue"
    case "timeout-minutes", "timeoutMinutes": "write timeout: \(value.int.map { "\($0)m" } ?? "5m")"
    case "cron", "schedule": "what starts a recipe is under its own 'on': \(entry(of: value))"
    case "finally", "always": "'finally' is a key of the recipe, beside 'steps'"
    case "outputs", "output": "the output of a step is steps.ID; it needs no declaration"
    case "type": "an action is named by uses: plugin.action; 'errand actions' lists them"
    case "jobs", "strategy", "matrix": "'forEach' runs a step for each item of a list"
    default: nil
    }
  }

  private static let limits =
    "limits are a connection's, in errand.yaml: connections: { NAME: { plugin: …, limits: { … } } }"

  /// An entry of `on` for times that are written elsewhere.
  ///
  /// - Parameter hasZone: Whether the recipe has a zone, which counts for them as well.
  static func entry(of value: Value, hasZone: Bool = false) -> String {
    "on: \(list(of: cron(in: value, depth: 3) ?? "30 17 * * FRI", hasZone))"
  }

  /// The entries of `on` for a cron expression that is all that a value holds; nil for any other value.
  static func times(in value: Value, hasZone: Bool) -> String? {
    guard let times = cron(in: value, depth: 3), value.scalarCount == 1 else { return nil }
    return list(of: times, hasZone)
  }

  private static func list(of times: String, _ hasZone: Bool) -> String {
    "[{ cron: \(JSON.quoted(times))\(hasZone ? "" : ", zone: UTC") }]"
  }

  /// The first text of five fields in a value.
  private static func cron(in value: Value, depth: Int) -> String? {
    if let text = value.string { return text.split(separator: " ").count == 5 ? text : nil }
    guard depth > 0 else { return nil }
    let parts = value.list ?? value.map?.members.map(\.value) ?? []
    return parts.lazy.compactMap { cron(in: $0, depth: depth - 1) }.first
  }

  /// A command as a message can show it.
  private static func displayed(_ value: Value) -> String {
    guard let text = value.string?.trimmed, !text.isEmpty, text.utf8.count <= 80 else { return "…" }
    return JSON.quoted(text)
  }
}

extension Findings {
  /// The equivalent of another system's `on:`, as the end of a message; empty if there is none.
  func otherNotation(ofTriggers value: Value) -> MessageText {
    let words = value.map?.members.compactMap(\.name) ?? value.string.map { [$0] } ?? []
    let isZoned = words.contains("zone") && words.allSatisfy(KeySet.trigger.names.contains)
    if words.contains("schedule") || words.contains("cron"), !isZoned {
      let hasZone = document.root["zone"] != nil
      let entry = OtherNotations.entry(of: value, hasZone: hasZone)
      var fix: [Suggestion] = []
      // Anything else in it would be lost.
      if words.count == 1, let text = OtherNotations.times(in: value, hasZone: hasZone),
        let edit = document.rewriting(value, as: text)
      {
        fix = [Suggestion("write \(entry)", .edits([edit]), isTentative: true)]
      }
      return MessageText("; write \(entry)", fix)
    }
    if let kind = words.first(where: KeySet.trigger.kinds.contains), value.map != nil {
      return MessageText(
        "; put a dash before '\(kind)'",
        document.listing(value).map { [.edits("put a dash before '\(kind)'", $0)] } ?? [])
    }
    return words.contains("workflow_dispatch") ? "; a recipe can always be started by hand, so leave it out" : ""
  }

  /// Converts a duration in words, such as `5 minutes`, to the form of recipes; nil if it isn't one.
  static func duration(inWords text: String) -> String? {
    let lower = text.lowercased().trimmed
    let digits = lower.prefix { $0.isASCII && $0.isNumber }
    guard digits.count <= 6 else { return nil }
    let units = [
      ("s", ["second", "seconds", "sec", "secs"]), ("m", ["minute", "minutes", "min", "mins"]),
      ("h", ["hour", "hours", "hr", "hrs", "hourly"]), ("d", ["day", "days", "daily"]),
      ("w", ["week", "weeks", "weekly"]),
    ]
    let word = String(lower.dropFirst(digits.count)).trimmed
    let unit = units.first { $0.0 == word || $0.1.contains(word) }?.0
    return unit.map { "\(digits.isEmpty ? "1" : String(digits))\($0)" }
  }

  /// Warns of likely secrets in plain text, judging by the names in a value.
  ///
  /// - Parameter advice: The fix, given the secret's name.
  func warnOfPlainSecrets(in value: Value, path: String, advice: (_ name: String) -> String) {
    if let items = value.list {
      for (index, item) in items.enumerated() {
        warnOfPlainSecrets(in: item, path: "\(path)[\(index)]", advice: advice)
      }
    }
    for member in value.map?.members ?? [] {
      guard let name = member.name else { continue }
      if let text = member.value.string, !text.isEmpty, !text.holdsExpression, name.namesSecret {
        let secret = name.uppercased().replacing("-", with: "_")
        hide(member.value, isRefused: true)
        warning("'\(path).\(name)' looks like a secret in plain text; \(advice(secret))", at: member.value)
      } else {
        warnOfPlainSecrets(in: member.value, path: "\(path).\(name)", advice: advice)
      }
    }
  }
}

extension Value {
  /// How many scalars there are in it, keys aside.
  fileprivate var scalarCount: Int {
    switch content {
    case .list(let items): items.reduce(0) { $0 + $1.scalarCount }
    case .map(let map): map.members.reduce(0) { $0 + $1.value.scalarCount }
    default: 1
    }
  }
}

extension String {
  /// Whether a value with this name is very probably a secret.
  package var namesSecret: Bool {
    let name = lowercased().replacing("-", with: "").replacing("_", with: "")
    return ["password", "passwd", "secret", "token", "apikey"].contains { name.hasSuffix($0) }
      || ["authorization", "cookie"].contains(name)
  }
}
