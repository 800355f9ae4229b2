package import Basics
package import HTTPTypes

// Trouble that is ordered of a sandbox, in the same words for every one, over HTTP:
//
//   /sandbox/fault?kind=K&call=C&skip=N&times=N   makes calls go wrong; `kind=none` takes all back
//
// It strikes the calls whose names contain the text of `call`, all of them without one: the first `skip` of them go well, and
// `times` of those after that are struck. What kinds there are, what a call is named and what else an order of a kind says is
// the sandbox's own. An order that says anything else is refused, because a misspelt one would strike everything.

/// The kinds of trouble that a sandbox can make.
package protocol SandboxFaultKind: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  /// What an order of this kind may say beside the call and how often.
  var keys: Set<SandboxFaultKey> { get }
  /// The status that it has if the order names none.
  var standardStatus: Int { get }
  /// The statuses that an order may name.
  static var statuses: ClosedRange<Int> { get }
}

/// What orders of some kinds say.
package enum SandboxFaultKey: String, CaseIterable, Sendable {
  /// The status or code of what goes wrong.
  case status
  /// What an answer says of trying again: `Retry-After`.
  case retryAfter
  /// How late an answer is.
  case delay
  /// How large an answer is, in bytes.
  case size
  /// What is said.
  case text
}

/// Something that goes wrong on demand, so that recipes and tests meet it before the real service does it.
package struct SandboxFault<FaultKind: SandboxFaultKind>: Hashable, Sendable {
  package typealias Kind = FaultKind

  package var kind: FaultKind
  /// The calls that it strikes: those whose names contain this.
  package var call: String
  /// How many such calls go well first.
  package var skip: Int
  /// How many are struck after that.
  package var times: Int
  package var status: Int
  package var retryAfter: String?
  package var delay = TimeSpan.seconds(60)
  package var size = 80 << 20
  package var text: String?

  package init(_ kind: FaultKind, call: String = "", skip: Int = 0, times: Int = 1) {
    self.kind = kind
    self.call = call
    self.skip = skip
    self.times = times
    status = kind.standardStatus
  }
}

extension SandboxFault {
  /// Reads an order; nil if it takes all back, and a sentence about what is wrong with it.
  package static func read(_ order: HTTPQuery) -> Result<SandboxFault?, SandboxFaultError> {
    func refused(_ text: String) -> Result<SandboxFault?, SandboxFaultError> { .failure(.init(message: text)) }
    guard let name = order["kind"] else { return refused("An order says its 'kind': \(kinds).") }
    let kind = FaultKind(rawValue: name)
    guard kind != nil || name == "none" else { return refused("There is no fault '\(name)'; there are \(kinds).") }
    let own = FaultKind.allCases.first { $0 == kind }?.keys.map(\.rawValue).sorted() ?? []
    let known = kind == nil ? ["kind"] : ["kind", "call", "skip", "times"] + own
    for (index, item) in order.items.enumerated() {
      guard known.contains(where: { $0.hasSameScalars(as: item.name) }) else {
        let guess = item.name == "action" ? "call" : item.name.nearest(among: known)
        return refused(
          "An order of '\(name)' says no '\(item.name)'; "
            + (guess.map { "did you mean '\($0)'?" } ?? "it says \(known.joined(separator: ", "))."))
      }
      guard !order.items[..<index].contains(where: { $0.name.hasSameScalars(as: item.name) }) else {
        return refused("An order says '\(item.name)' once.")
      }
    }
    guard let kind else { return .success(nil) }
    var fault = SandboxFault(kind, call: order["call"] ?? "")
    func number(_ name: String, _ range: ClosedRange<Int>, _ field: WritableKeyPath<SandboxFault, Int>) -> String? {
      guard let text = order[name] else { return nil }
      guard let number = Int(text), range.contains(number) else {
        return "'\(name)' is a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'."
      }
      fault[keyPath: field] = number
      return nil
    }
    let objection =
      number("skip", 0...Int(Int32.max), \.skip) ?? number("times", 1...Int(Int32.max), \.times)
      ?? number("status", FaultKind.statuses, \.status) ?? number("size", 0...1 << 40, \.size)
    if let objection { return refused(objection) }
    if let text = order["delay"] {
      guard let delay = TimeSpan(text), delay >= .zero else {
        return refused("'delay' is a time such as 2s, not '\(text)'.")
      }
      fault.delay = delay
    }
    fault.retryAfter = order["retryAfter"]
    fault.text = order["text"]
    return .success(fault)
  }

  private static var kinds: String { (FaultKind.allCases.map(\.rawValue) + ["none"]).joined(separator: ", ") }
}

/// Why an order is refused.
package struct SandboxFaultError: Error {
  /// A sentence.
  package var message: String
}

/// The faults that wait for their calls.
package struct SandboxFaults<Kind: SandboxFaultKind>: Sendable {
  private var waiting: [SandboxFault<Kind>] = []

  package init() {}

  package mutating func add(_ fault: SandboxFault<Kind>) { waiting.append(fault) }

  /// Takes an order, and answers it.
  package mutating func order(_ query: HTTPQuery) -> HTTPServerResponse {
    switch SandboxFault<Kind>.read(query) {
    case .failure(let refusal): return .text("\(refusal.message)\n", status: 400)
    case .success(nil):
      waiting = []
      return .json(.object(["faults": .string("none")]))
    case .success(let fault?):
      add(fault)
      return .json(.object(["fault": .string(fault.kind.rawValue)]))
    }
  }

  /// The fault that strikes something which bears some names, of one of some kinds if any are named; of several the first,
  /// and the others count it as well.
  package mutating func strike(_ names: [String], of kinds: Set<Kind>? = nil) -> SandboxFault<Kind>? {
    var struck: SandboxFault<Kind>?
    for index in waiting.indices where kinds?.contains(waiting[index].kind) ?? true {
      let call = waiting[index].call
      guard call.isEmpty || names.contains(where: { $0.contains(call) }) else { continue }
      if waiting[index].skip > 0 {
        waiting[index].skip -= 1
      } else if struck == nil {
        struck = waiting[index]
        waiting[index].times -= 1
      }
    }
    waiting.removeAll { $0.times <= 0 }
    return struck
  }
}
