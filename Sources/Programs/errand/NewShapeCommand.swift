// How the types of samples are found.
//
// Each document gives a type, and the types of several are merged: what one object lacks or has as null may be absent
// (`?`), an int beside a double is a double, texts that are all instants are `timestamp`, and all days `date`. The
// elements of a list are samples of one type. Kinds that don't go together, such as a text beside a number, are `dyn`.
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import YAMLReader

/// `errand new shape`: prints the types of JSON documents, to put under `shape` of a step.
struct NewShapeCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() throws(RuntimeError) -> ExitCode {
    var type: SampledType?
    for path in parsed["file"].texts {
      let sample = try sample(path)
      var reported: Set<String> = []
      for path in sample.placesBeyondInt where reported.insert(path).inserted {
        console.say(
          "\(path.isEmpty ? "the number" : "'\(path)'") is beyond an int in a sample, and a double loses its last digits; write dyn to keep them, or string "
            + "if the service can send a text")
      }
      let found = SampledType(sample)
      type = type.map { $0.merged(with: found) } ?? found
    }
    guard let type else { return .done }
    console.out(type.lines.joined(separator: "\n"))
    console.say("put this under 'shape' of the step, at the field that is open: shape: { body: … }")
    return .done
  }

  private func sample(_ path: String) throws(RuntimeError) -> Value {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes =
        path == "-"
        ? try Descriptor(owning: dup(STDIN_FILENO)).readAll("standard input", limit: 64 << 20)
        : try Files.read(path, limit: 64 << 20)
    } catch {
      throw RuntimeError(.noInput, error.description)
    }
    do throws(JSONError) { return try JSON.parse(bytes) } catch {
      let source = Source(name: path == "-" ? "standard input" : path, bytes: bytes)
      console.error(error.diagnostic(in: source).rendered(colour: console.colourError))
      throw RuntimeError(.invalid, "\(path == "-" ? source.name : "'\(path)'") isn't JSON")
    }
  }
}

extension Value {
  /// The paths of whole numbers that are too large for an int.
  fileprivate var placesBeyondInt: [String] {
    switch content {
    case .uint: [""]
    case .list(let items):
      items.flatMap(\.placesBeyondInt).map { $0.isEmpty || $0.hasPrefix("[") ? "[]\($0)" : "[].\($0)" }
    case .map(let map):
      map.members.flatMap { member in
        member.value.placesBeyondInt.map {
          "\(member.name ?? "")\($0.isEmpty || $0.hasPrefix("[") ? "" : ".")\($0)"
        }
      }
    default: []
    }
  }
}

/// The type that all samples share.
indirect enum SampledType: Equatable {
  /// Nothing but null was seen.
  case nothing
  case bool, int, double, string, date, timestamp, dyn
  /// A list; its element is `nothing` if no element was seen.
  case list(SampledType)
  case object([Field])
  /// Null was seen beside it.
  case nullable(SampledType)

  struct Field: Equatable {
    var name: String
    var type: SampledType
    /// Whether an object was without it.
    var isOptional = false
  }

  init(_ value: Value) {
    switch value.content {
    case .null: self = .nothing
    case .bool: self = .bool
    case .int: self = .int
    case .double, .uint: self = .double
    case .string(let text):
      self = CivilDate(written: text) != nil ? .date : Timestamp(text) != nil ? .timestamp : .string
    case .list(let items):
      let element = items.reduce(nil) { $0?.merged(with: SampledType($1)) ?? SampledType($1) } as SampledType?
      self = .list(element == .nothing ? .nullable(.dyn) : element ?? .nothing)
    case .map(let map): self = .object(map.members.map { Field(name: $0.name ?? "", type: SampledType($0.value)) })
    default: self = .dyn
    }
  }

  func merged(with other: SampledType) -> SampledType {
    if self == other { return self }
    switch (self, other) {
    case (.nullable(let of), .nullable(let other)): return .nullable(of.merged(with: other))
    case (.nothing, .nullable): return other
    case (.nullable, .nothing): return self
    case (.nothing, _): return .nullable(other)
    case (_, .nothing): return .nullable(self)
    case (.nullable(let of), _): return .nullable(of.merged(with: other))
    case (_, .nullable(let of)): return .nullable(merged(with: of))
    case (.int, .double), (.double, .int): return .double
    case (.string, .date), (.string, .timestamp), (.date, .string), (.timestamp, .string), (.date, .timestamp),
      (.timestamp, .date):
      return .string
    case (.list(let element), .list(let other)):
      // A list without elements says nothing about them.
      if element == .nothing { return .list(other) }
      return .list(other == .nothing ? element : element.merged(with: other))
    case (.object(let fields), .object(let others)): return .object(SampledType.merged(fields, others))
    default: return .dyn
    }
  }

  private static func merged(_ fields: [Field], _ others: [Field]) -> [Field] {
    let known = Dictionary(others.map { ($0.name, $0) }) { first, _ in first }
    let names = Set(fields.map(\.name))
    return fields.map { field in
      var field = field
      if let other = known[field.name] {
        field.type = field.type.merged(with: other.type)
        field.isOptional = field.isOptional || other.isOptional
      } else {
        field.isOptional = true
      }
      return field
    } + others.filter { !names.contains($0.name) }.map { Field(name: $0.name, type: $0.type, isOptional: true) }
  }

  // MARK: As YAML

  /// The type as a recipe writes it; nil where it takes lines of its own.
  private var word: String? {
    switch self {
    case .nothing, .dyn, .nullable: "dyn"
    case .bool: "bool"
    case .int: "int"
    case .double: "double"
    case .string: "string"
    case .date: "date"
    case .timestamp: "timestamp"
    case .list(let element): element.word.map { "list(\($0))" }
    case .object(let fields): fields.isEmpty ? "map(string, dyn)" : nil
    }
  }

  /// The type in YAML.
  var lines: [String] {
    if let word { return [word] }
    switch self {
    case .list(let element): return element.lines.enumerated().map { "\($0 == 0 ? "- " : "  ")\($1)" }
    case .object(let fields): return fields.flatMap(\.lines)
    default: return []
    }
  }
}

extension SampledType.Field {
  fileprivate var lines: [String] {
    var (type, isOptional) = (type, isOptional)
    switch type {
    case .nullable(let of): (type, isOptional) = (of, true)
    case .nothing: (type, isOptional) = (.dyn, true)
    default: break
    }
    // A name that ends in `?` needs a second one, and that one makes the field optional.
    if name.utf8.count > 1, name.hasSuffix("?") { isOptional = true }
    let inner = type.lines
    if inner.count == 1, let word = inner.first, !word.hasPrefix("- "), !word.contains(":") {
      return name.hasSuffix("?") && isOptional
        ? ["\(key("?")): \(word)"] : ["\(key("")): \(word)\(isOptional ? "?" : "")"]
    }
    return ["\(key(isOptional ? "?" : "")):"] + inner.map { "  \($0)" }
  }

  /// The name as a key of YAML, with a mark after it.
  private func key(_ mark: String) -> String {
    name.asYAML == name ? name + mark : JSON.quoted(name + mark)
  }
}
