/// Plans that a person is to confirm, between the answer that shows one and the call that runs it.
///
/// The client keeps a state for each plan and sends it back; the server finds the plan by the content of the state
/// alone:
///
///     <nonce>.<expiry in seconds since 1970>.<plan's digest>.<HMAC-SHA-256 in hexadecimal>
///
/// The code is an HMAC with a key that only this process knows, of the JSON `[principal, recipe, arguments, plan,
/// expiry, nonce]`, members sorted. So a state that was made up, changed, or given to another caller, recipe or
/// arguments isn't accepted. The nonces of issued states are remembered; each is removed at its first use, whatever the
/// outcome, so that a state works once. Beyond the most that are kept, the oldest is forgotten and has to be planned
/// again.
package import Basics
import Synchronization

package final class Confirmations: Sendable {
  /// The call that is to be confirmed.
  package struct Subject: Sendable {
    /// Who asked.
    package var principal: String
    package var recipe: String
    package var arguments: ValueMap

    package init(principal: String, recipe: String, arguments: ValueMap) {
      self.principal = principal
      self.recipe = recipe
      self.arguments = arguments
    }
  }

  /// How long a state works.
  package static let life = TimeSpan.seconds(600)
  static let most = 1000

  private let key: [UInt8]
  /// The nonces that are out, the oldest first, with their expiries.
  private let open = Mutex<[(nonce: String, expiry: Timestamp)]>([])

  package init(key: [UInt8] = .random(32)) { self.key = key }

  /// The state for a plan; nil where no codes can be made.
  package func issue(_ plan: String, of subject: Subject, at now: Timestamp) -> String? {
    guard let expiry = now.advanced(by: Confirmations.life) else { return nil }
    let nonce = [UInt8].random(16).hexadecimal
    guard let code = code(of: plan, subject, expiry.seconds, nonce) else { return nil }
    open.withLock { open in
      open.removeAll { $0.expiry <= now }
      if open.count >= Confirmations.most { open.removeFirst() }
      open.append((nonce, expiry))
    }
    return "\(nonce).\(expiry.seconds).\(plan).\(code)"
  }

  /// The digest of the plan that a state is of; afterwards the state is used up.
  package func redeem(_ state: String, of subject: Subject, at now: Timestamp) -> Result<String, Refusal> {
    let parts = state.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
    guard parts.count == 4, let expiry = Int(parts[1]),
      let code = code(of: parts[2], subject, expiry, parts[0]),
      MessageAuthentication.areSame(Array(code.utf8), Array(parts[3].utf8))
    else { return .failure(.foreign) }
    let isOpen = open.withLock { open in
      let index = open.firstIndex { $0.nonce.hasSameScalars(as: parts[0]) }
      return index.map { open.remove(at: $0) } != nil
    }
    guard now.seconds < expiry else { return .failure(.expired) }
    return isOpen ? .success(parts[2]) : .failure(.used)
  }

  /// Why a state isn't accepted.
  package enum Refusal: Error, Sendable {
    case foreign, expired, used

    package var message: String {
      switch self {
      case .foreign:
        "the confirmation isn't one for this tool, these arguments and this caller; call the tool without it to see its plan. Nothing was started"
      case .expired: "the plan is older than 10 minutes; call the tool again to see a new one. Nothing was started"
      case .used: "the confirmation was used already; call the tool again to see a new plan. Nothing was started now"
      }
    }
  }

  private func code(of plan: String, _ subject: Subject, _ expiry: Int, _ nonce: String) -> String? {
    let message = Value.list([
      .string(subject.principal), .string(subject.recipe), .map(subject.arguments), .string(plan), .int(expiry),
      .string(nonce),
    ])
    guard let bytes = try? JSON.write(message, .sorted) else { return nil }
    return MessageAuthentication.code(of: bytes, key: key)?.hexadecimal
  }
}
