// The time zone of the person who looks at a page.
//
// The script of the pages puts the browser's zone into the cookie `errand_zone`. The page State has a choice, in the
// cookie `errand_zone_choice`, which wins: the name of a zone, or `folder`. Without either, or if a cookie names no zone
// that this machine knows, the times are in the zone of the folder. Each page says which zone it is.
package import Agent
import Basics
import Calendars
package import HTTPServer

package enum ViewerZone {
  private static let cookie = "errand_zone"
  private static let choiceCookie = "errand_zone_choice"
  private static let ofFolder = "folder"
  private static let lifetime = 365 * 86_400

  /// The choice of a person on the page State.
  enum Choice: Equatable {
    case browser, folder
    case zone(String)

    /// Nil if it names no zone.
    init?(_ which: String?, named name: String) {
      switch which {
      case "folder": self = .folder
      case "zone" where ViewerZone.rules(named: name) != nil: self = .zone(name)
      case "browser": self = .browser
      default: return nil
      }
    }

    /// The field that tells the browser to keep it.
    var header: String {
      let (value, age) =
        switch self {
        case .browser: ("", 0)
        case .folder: (ViewerZone.ofFolder, ViewerZone.lifetime)
        case .zone(let name): (name, ViewerZone.lifetime)
        }
      // Also sent when a link in a mail leads here.
      return "\(ViewerZone.choiceCookie)=\(value); Path=/; Max-Age=\(age); HttpOnly; SameSite=Lax"
    }
  }

  static func choice(of request: HTTPServerRequest) -> Choice {
    guard let text = request.cookie(choiceCookie) else { return .browser }
    return text == ofFolder ? .folder : Choice("zone", named: text) ?? .browser
  }

  /// The zone that the browser names; nil if it names none.
  static func browsers(_ request: HTTPServerRequest) -> String? {
    request.cookie(cookie).flatMap { rules(named: $0) == nil ? nil : $0 }
  }

  /// The name of the zone; nil if it is the folder's.
  package static func name(for request: HTTPServerRequest) -> String? {
    switch choice(of: request) {
    case .folder: nil
    case .zone(let name): name
    case .browser: browsers(request)
    }
  }

  /// A clock that shows the person's zone.
  ///
  /// - Parameter own: The clock of the folder.
  package static func clock(_ own: WallClock, for request: HTTPServerRequest) -> WallClock {
    clock(own, named: name(for: request) ?? "")
  }

  /// A clock in a zone; the same clock if the name isn't one.
  static func clock(_ own: WallClock, named name: String) -> WallClock {
    rules(named: name).map { WallClock($0, now: own.now) } ?? own
  }

  /// The rules of a zone that this machine has a file for; a name that isn't one costs little.
  private static func rules(named name: String) -> TimeZoneRules? {
    guard names.contains(name) else { return nil }
    return try? TimeZoneDatabase.system.rules(named: name)
  }

  private static let names = Set(TimeZoneDatabase.system.names())

  /// The names to choose from.
  static var all: [String] { TimeZoneDatabase.system.names() }
}

extension PageRequest {
  /// The clock by which a person filled in a form, as its field `zone` says.
  func clock(of form: HTTPQuery) -> WallClock { ViewerZone.clock(clock, named: form["zone"] ?? "") }
}

extension WallClock {
  /// The sentence that says in which zone a page shows times.
  var zoneSentence: String {
    // The machine's zone has no name.
    zone.name == "local time" ? "Times are by the clock of the agent's machine." : "Times are in \(zone.name)."
  }
}

extension HTTPServerRequest {
  /// The value of a cookie (RFC 6265, section 4.2).
  package func cookie(_ name: String) -> String? {
    for field in headers.values("Cookie") {
      for pair in field.split(separator: ";") {
        let parts = pair.split(separator: "=", maxSplits: 1).map { String($0).trimmed }
        if parts.count == 2, parts[0].hasSameScalars(as: name) { return parts[1] }
      }
    }
    return nil
  }
}
