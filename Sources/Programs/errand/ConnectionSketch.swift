import ActionKit
import Basics
import YAMLReader

/// A connection to paste into errand.yaml, with the settings that a recipe needs.
struct ConnectionSketch {
  private let name: String
  private let plugin: PluginDescriptor
  private var settings: [String]

  /// Adds settings that a step needs, each once.
  static func add(
    _ settings: [String], to sketches: inout [ConnectionSketch], _ name: String, _ plugin: PluginDescriptor?
  ) {
    guard let plugin else { return }
    let known = sketches.firstIndex { $0.name.hasSameScalars(as: name) }
    let index = known ?? sketches.count
    if known == nil { sketches.append(ConnectionSketch(name: name, plugin: plugin, settings: [])) }
    sketches[index].settings += settings.filter { !sketches[index].settings.contains($0) }
  }

  /// The lines to paste into errand.yaml, each part with the existing key to put it under, or nil.
  ///
  /// - Parameter recipe: The text of the recipe, whose comments may name secrets.
  static func pasted(
    _ sketches: [ConnectionSketch], into configuration: ConfigurationKeys, for recipe: String
  ) -> [(key: String?, lines: String)] {
    let proposals = [recipe, configuration.text].compactMap(ConnectionSketch.proposal)
    let isThere = { (sketch: ConnectionSketch) in configuration.connections?[sketch.name] != nil }
    let new = sketches.filter { !isThere($0) }.map { sketch in
      var lines = ["  \(sketch.name.asYAML):"]
      let plugin = sketch.plugin.name
      if !sketch.name.hasSameScalars(as: plugin) { lines.append("    plugin: \(plugin.asYAML)") }
      return (lines + sketch.lines(proposals)).joined(separator: "\n")
    }.joined(separator: "\n")
    let place = configuration.connections == nil ? nil : "connections"
    let known = sketches.filter(isThere).map { sketch in
      ("connections.\(sketch.name)" as String?, sketch.lines(proposals).joined(separator: "\n"))
    }
    return (new.isEmpty ? [] : [(place, (place == nil ? "connections:\n" : "") + new)]) + known
  }

  private func lines(_ proposals: [Value]) -> [String] {
    settings.map { setting in
      let proposed = proposals.lazy.compactMap { $0["connections"]?[name]?[setting]?.string }
        .first { $0.hasPrefix("${{ secrets.") }
      return "    \(setting.asYAML): \(proposed ?? value(of: setting))"
    }
  }

  /// The connections that a comment proposes: the lines from `connections:` on, without their marks.
  private static func proposal(_ text: String) -> Value? {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard let start = lines.firstIndex(where: { $0.hasPrefix("#") && $0.hasSuffix(" connections:") }) else {
      return nil
    }
    let comment = lines[start...].prefix { $0.hasPrefix("# ") }.map { $0.dropFirst() }.joined(separator: "\n")
    return try? YAMLReader.read(Source(name: "comment", text: comment)).root
  }

  /// A secret's name, or a value of the right form.
  private func value(of setting: String) -> String {
    guard let field = plugin.configuration.fields.first(where: { $0.name == setting }) else { return "…" }
    var isSecret = field.secrecy != .none
    if case .secret = field.type { isSecret = true }
    if isSecret { return "${{ secrets.\(secretName(setting)) }}" }
    for case .pattern(let pattern) in field.limits { if let sample = pattern.accepted.first { return sample.asYAML } }
    return "…"
  }

  /// `apiKey` of `markbook` as `MARKBOOK_API_KEY`.
  private func secretName(_ setting: String) -> String {
    var bytes: [UInt8] = []
    var isLower = false
    for byte in "\(name)_\(setting)".utf8 {
      if isLower, ASCII.uppercase.contains(byte) { bytes.append(ASCII.underscore) }
      isLower = ASCII.lowercase.contains(byte)
      let isPlain = isLower || ASCII.uppercase.contains(byte) || ASCII.digits.contains(byte)
      bytes.append(isLower ? byte & 0xDF : isPlain ? byte : ASCII.underscore)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The keys that a folder's errand.yaml has, as far as its connections go.
struct ConfigurationKeys {
  let text: String
  /// Nil if there is no such key.
  let connections: Value?

  /// - Parameter path: Its path; nil if there is none.
  init(_ path: String?) {
    let bytes = path.flatMap { try? Files.read($0, limit: 16 << 20) } ?? []
    text = String(decoding: bytes, as: UTF8.self)
    connections = (try? YAMLReader.read(Source(name: "errand.yaml", text: text)))?.root["connections"]
  }
}
