// Whether a browser's page is up to date, without making the page.
//
// A live page names its version in the field Errand-Seen: `KNOWN.UNTIL.CONTENT`. KNOWN is a digest of the version of what
// the page is made of, of who looks at it and in which time zone, and of its address (`AgentParts.version`); it is empty where that isn't
// counted. UNTIL is the second, since 1970, from which on the page shows other things though nothing has changed, such as
// the next slot; it is empty if there is none. CONTENT is a digest of the page's content. The minute isn't part of any:
// the agent writes instants, and the browser writes how long ago they are.
//
// The answer is 204 if KNOWN is what it would be now. Otherwise the page is made, and the answer is still 204 if its
// content is the same, with the new version in Errand-Seen. KNOWN is taken before the page is made, so that a change in
// between is seen the next time.
package import Agent
package import Basics
package import HTTPServer
package import Operations
import RunState

package struct PageVersion: Sendable {
  static let field = "Errand-Seen"

  /// The parts of the version that a browser has.
  private struct Seen {
    var known: String
    var until: Int?
    var content: String

    init?(_ text: String?) {
      let parts = (text ?? "").split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
      guard parts.count == 3 else { return nil }
      (known, until, content) = (parts[0], Int(parts[1]), parts[2])
    }
  }

  private let seen: Seen?
  /// The version of the run that the page is about, if it is about an open one.
  private let ofRun: String?
  /// The version of all that the page may be made of.
  private let ofAll: String?
  /// Whether the visitor sees only some recipes, and so no other runs on the page of one.
  private let isLimited: Bool
  /// Whether the browser's page is up to date.
  package let isSeen: Bool

  /// The version of a page that nothing is known about.
  package init() { (seen, ofRun, ofAll, isLimited, isSeen) = (nil, nil, nil, false, false) }

  package init(
    of request: HTTPServerRequest, _ parts: [String], for caller: AgentCaller, in agent: AgentParts, at now: Timestamp
  ) async {
    let isAsked = request.method == "GET" || request.method == "HEAD"
    let part = isAsked ? PageVersion.part(parts) : nil
    let seen = Seen(request.headers[PageVersion.field])
    func isUpToDate(_ version: String?) -> Bool {
      guard let version, let seen, version == seen.known else { return false }
      return seen.until.map { now.seconds < $0 } ?? true
    }
    var (ofRun, ofAll): (String?, String?) = (nil, nil)
    // The same page has other times in another zone.
    let target = "\(request.target) \(ViewerZone.name(for: request) ?? "")"
    if let part, part.isOfRun { ofRun = await agent.version(of: part, for: caller, asking: target) }
    var isSeen = isUpToDate(ofRun)
    if !isSeen, let part {
      ofAll = await agent.version(of: part.isOfRun ? .everything : part, for: caller, asking: target)
      isSeen = isUpToDate(ofAll)
    }
    (self.seen, self.ofRun, self.ofAll, self.isSeen) = (seen, ofRun, ofAll, isSeen)
    isLimited = !caller.recipes.isEmpty
  }

  /// The part of the state that a live page is made of; nil for other pages.
  private static func part(_ parts: [String]) -> StatePart? {
    switch (parts.first, parts.count) {
    case ("", 1), ("runs", 1), ("approvals", 1), ("recipes", 1), ("schedules", 1): .everything
    case ("workers", 1): .workers
    case ("runs", 2), ("approvals", 3): .run(parts[1])
    case ("runs", 3) where parts[2] == "logs": .log(parts[1])
    default: nil
    }
  }

  /// The version of a page that was made.
  func text(of live: PageFrame.Live, _ content: String) -> String {
    let known = (live.isOfRunAlone || isLimited ? ofRun : nil) ?? ofAll
    return "\(known ?? "").\(live.until.map { "\($0.seconds)" } ?? "").\(content)"
  }

  /// Whether the browser's page has a content.
  func has(_ content: String) -> Bool { seen?.content == content }
}
