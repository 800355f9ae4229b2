import AgentRuntime
import Basics
import CommandLineParser
import Recipes
import RunState

extension Dispatch {
  /// The run's key from the command line.
  func runKey() throws(RuntimeError) -> String? {
    guard let key = parsed["key"].text else { return nil }
    if let fault = RunKey.fault(of: key) { throw RuntimeError(.usage, "--key: \(fault)") }
    return key
  }

  /// The inputs from the command line: a file's, overridden by inputs given with `-i`.
  func givenInputs() throws(RuntimeError) -> [(name: String, input: GivenInput)] { try given("input") }

  /// The inputs of a run, or the fields of an answer, which take no secret.
  func given(_ word: String) throws(RuntimeError) -> [(name: String, input: GivenInput)] {
    let option = word == "input" ? "-i" : "-f"
    var given: [(name: String, input: GivenInput)] = []
    if let path = parsed["\(word)s"].text {
      let document = try document(at: path)
      let source = Source(name: path, bytes: (try? Files.read(path)) ?? [])
      for member in document.map?.members ?? [] {
        guard let name = member.name else { continue }
        given.append((name, word == "input" ? GivenInput(member.value, from: source) : .value(member.value, source)))
      }
    }
    var named: Set<String> = []
    for text in parsed[word].texts {
      guard let equals = text.firstIndex(of: "=") else {
        throw RuntimeError(.usage, "\(option) takes NAME=VALUE, but found '\(text)'")
      }
      let name = String(text[..<equals])
      let value = String(text[text.index(after: equals)...])
      guard named.insert(name).inserted else {
        throw RuntimeError(
          .usage, "the \(word) '\(name)' is given twice; of several values make a list: \(option) '\(name)=[…]'")
      }
      // The command line overrides a file.
      given.removeAll { $0.name == name }
      if word == "input", let secret = GivenInput(secretNamedBy: value) {
        given.append((name, secret))
      } else if value.hasPrefix("@") {
        let path = String(value.dropFirst())
        let bytes: [UInt8]
        do throws(FileError) { bytes = try Files.read(path, limit: 16 << 20) } catch {
          throw RuntimeError(.noInput, "\(word) '\(name)': \(error)")
        }
        given.append((name, .text(try readText(bytes, of: "\(word) '\(name)': '\(path)'"))))
      } else {
        given.append((name, .text(value)))
      }
    }
    return given
  }

  /// The text of a file, by its byte order mark or in UTF-8.
  private func readText(_ bytes: [UInt8], of what: String) throws(RuntimeError) -> String {
    do throws(CharsetError) { return try (Charset.marked(in: bytes) ?? .utf8).text(of: bytes) } catch {
      throw RuntimeError(.invalid, "\(what) \(error.message); save it in UTF-8")
    }
  }

  /// The same as a request to an agent has them.
  func sentInputs() throws(RuntimeError) -> (inputs: ValueMap, texts: [String: String]) {
    Dispatch.sent(try givenInputs())
  }

  static func sent(_ given: [(name: String, input: GivenInput)]) -> (inputs: ValueMap, texts: [String: String]) {
    var (inputs, texts) = (ValueMap(), [String: String]())
    for (name, input) in given {
      switch input {
      case .text(let text): texts[name] = text
      case .secret(let secret): texts[name] = "@secret:\(secret)"
      case .value(let value, _): inputs[name] = value
      // Only a schedule has computed inputs.
      case .computed: continue
      }
    }
    return (inputs, texts)
  }
}
