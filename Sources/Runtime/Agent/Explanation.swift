// Why a run or schedule is in its state, in sentences.
//
// An explanation is a pure function of records: of a run (`Explanation(of: RunFacts…)`), and of a schedule at a time
// (`Explanation(of: ScheduleFacts…)`). The first sentence has the most likely answer; each of the others has a topic,
// so that programs can pick what they need, and may have commands to type next.
package import Basics
package import RunState

/// An explanation of a run or a schedule, with the most important sentence first.
package struct Explanation: Sendable, Equatable {
  /// The subject of a sentence.
  package enum Topic: String, Sendable, CaseIterable {
    /// Its status or outcome.
    case status
    /// The cause of the run.
    case cause
    /// The event, instant or decision that it is waiting for.
    case wait
    /// The cause of its next wake-up.
    case wake
    /// An outcome that only a person can find out.
    case uncertain
    /// An error.
    case error
    /// Which branches it took.
    case branch
    /// How a loop went.
    case loop
    /// How often something was tried.
    case attempts
    /// A person's decision or request.
    case person
    /// An event that came.
    case event
    /// A slot of the schedule.
    case slot
    /// The worker that runs it.
    case worker
    /// The next thing to happen.
    case next
  }

  package struct Sentence: Sendable, Equatable {
    package var topic: Topic
    /// One or more whole sentences.
    package var text: String
    /// Commands to type next.
    package var commands: [String] = []
    package var step: StepPath?
    /// Another run that it is about.
    package var run: String?
    package var at: Timestamp?
    /// The form of the output that a person gives for a step that was done, as JSON.
    package var output: String? = nil
  }

  package var sentences: [Sentence] = []

  /// The explanation with the text of each sentence changed.
  package func mapTexts(_ change: (String) -> String) -> Explanation {
    var changed = self
    for index in sentences.indices { changed.sentences[index].text = change(sentences[index].text) }
    return changed
  }

  mutating func say(
    _ topic: Topic, _ text: String, commands: [String] = [], step: StepPath? = nil, run: String? = nil,
    at: Timestamp? = nil, output: String? = nil
  ) {
    sentences.append(
      Sentence(topic: topic, text: text, commands: commands, step: step, run: run, at: at, output: output))
  }

  /// For people: the first sentence, then the others, each on a line of its own with its commands below it.
  package var text: String {
    sentences.enumerated().map { index, sentence in
      let lines = [sentence.text] + sentence.commands.map { "    \($0)" }
      return (index == 0 ? lines : lines.map { "  \($0)" }).joined(separator: "\n")
    }.joined(separator: "\n")
  }

  /// Reads what `value` made.
  package init(reading value: Value) throws(RecordError) {
    for item in value.list ?? [] {
      guard let topic = item["topic"]?.string.flatMap(Topic.init(rawValue:)), let text = item["text"]?.string else {
        throw RecordError("a sentence has a topic and a text")
      }
      say(
        topic, text, commands: item["commands"]?.list?.compactMap(\.string) ?? [], step: item["step"]?.string,
        run: item["run"]?.string, at: item["at"]?.string.flatMap { Timestamp($0) }, output: item["output"]?.string)
    }
  }

  /// For programs.
  package var value: Value {
    .list(
      sentences.map { sentence in
        var map = ValueMap()
        map["topic"] = .string(sentence.topic.rawValue)
        map["text"] = .string(sentence.text)
        map["step"] = sentence.step.map { .string($0) }
        map["run"] = sentence.run.map { .string($0) }
        map["at"] = sentence.at.map { .string("\($0)") }
        map["output"] = sentence.output.map { .string($0) }
        map["commands"] = sentence.commands.isEmpty ? nil : .list(sentence.commands.map { .string($0) })
        return .map(map)
      })
  }
}

extension String {
  /// The text as the end of a sentence: a text from elsewhere may have its own full stop.
  var asEnd: String {
    let text = safe.trimmed
    guard let last = text.unicodeScalars.last else { return "." }
    return ".!?…".unicodeScalars.contains(last) ? text : text + "."
  }

  /// The first of several lines, marked as cut off; for a text that is shown whole elsewhere.
  var headline: String {
    let text = trimmed
    guard let end = text.firstIndex(where: { $0 == "\n" || $0 == "\r\n" }) else { return text }
    return String(text[..<end]) + " …"
  }

  /// The text within a sentence.
  var within: String {
    let text = safe.trimmed
    return text.hasSuffix(".") ? String(text.dropLast()) : text
  }
}

/// `a`, `a and b`, `a, b and c`.
package func joined(_ words: [String], by conjunction: String = "and") -> String {
  let (head, last) = (words.dropLast(), words.last ?? "")
  return head.isEmpty ? last : "\(head.joined(separator: ", ")) \(conjunction) \(last)"
}

/// `1 item`, `2 items`.
package func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
