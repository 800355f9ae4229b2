package import Basics
package import HTTPTypes

// Faults that a sandbox is ordered to make, in the same way for every sandbox, over HTTP:
//
//   /sandbox/fault?kind=K&call=C&skip=N&times=N   makes calls fail; `kind=none` removes all faults
//
// A fault matches the calls whose names contain the text of `call`, or all calls without it. The first `skip` matching
// calls succeed, and the next `times` calls fail. Each sandbox defines its kinds of faults, the names of its calls and
// the other parameters of an order. An order with unknown parameters is refused, because a misspelt one would make
// every call fail.

/// The kinds of faults that a sandbox can make.
package protocol SandboxFaultKind: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  /// The parameters of an order of this kind, beside `call`, `skip` and `times`.
  var keys: Set<SandboxFaultKey> { get }
  /// The status of a fault whose order has none.
  var standardStatus: Int { get }
  /// The statuses that an order may have.
  static var statuses: ClosedRange<Int> { get }
}

/// The parameters that only some kinds of faults have.
package enum SandboxFaultKey: String, CaseIterable, Sendable {
  /// The status or code of the failure.
  case status
  /// The `Retry-After` field of the response.
  case retryAfter
  /// The delay of the response.
  case delay
  /// The size of the response in bytes.
  case size
  /// The text of the failure.
  case text
}

/// A fault on demand, so that recipes and tests meet it before the real service makes it.
package struct SandboxFault<FaultKind: SandboxFaultKind>: Hashable, Sendable {
  package typealias Kind = FaultKind

  package var kind: FaultKind
  /// A part of the names of the calls that fail.
  package var call: String
  /// The number of matching calls that succeed first.
  package var skip: Int
  /// The number of calls that fail after that.
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
  /// Reads an order: a fault, nil to remove all faults, or the error, as a sentence.
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

/// The error of an order that is refused.
package struct SandboxFaultError: Error {
  /// A sentence.
  package var message: String
}

/// The faults whose calls haven't all come.
package struct SandboxFaults<Kind: SandboxFaultKind>: Sendable {
  private var waiting: [SandboxFault<Kind>] = []

  package init() {}

  package mutating func add(_ fault: SandboxFault<Kind>) { waiting.append(fault) }

  /// Executes an order, and returns the response.
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

  /// The fault for a call with the given names, of one of the given kinds, or of any kind if they are nil.
  ///
  /// If several faults match, the first one applies, and the call counts towards the others' `skip`.
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
