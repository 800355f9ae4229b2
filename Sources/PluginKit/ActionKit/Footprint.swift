// What actions read and change outside, so that a plan knows which of its reads come after a write that they may see.
//
// A resource is a path of names: the file `/srv/in.csv` is `file, srv, in.csv`, a service `service, example.org`, a part
// of the state `store, n`. Two resources have something in common if one's path begins with the other's: a folder holds
// its files, and the resource without any name is everything.
//
// What is spelled in several ways is one resource. Paths of files are followed through symbolic links as far as they
// exist, and services go by host and port: `http` and `https` of one host, and the names of this machine, are the same.
import Glibc
import HTTPClient

/// A part of the outside world that actions read or change.
public struct Resource: Hashable, Sendable {
  /// From the outside in; empty for everything.
  package let names: [String]

  private init(_ names: [String]) { self.names = names }

  /// All there is, for an action of which it is not known what it touches.
  public static let everything = Resource([])

  /// A file, or a folder with everything below it, which need not be there.
  ///
  /// - Parameter path: From the root of the file system on.
  public static func file(_ path: String) -> Resource {
    var there = path.split(separator: "/").filter { $0 != "." }.map(String.init)
    var missing: [String] = []
    /// How many of the folders that follow, from the end on, are left again.
    var ups = 0
    while true {
      if let resolved = realpath("/\(there.joined(separator: "/"))", nil) {
        defer { free(resolved) }
        let found = String(cString: resolved).split(separator: "/").map(String.init).dropLast(ups)
        return Resource(["file"] + found + missing)
      }
      guard let last = there.popLast() else { return Resource(["file"] + missing) }
      // Of what is not there the names alone tell where it would be.
      if last == ".." {
        ups += 1
      } else if ups > 0 {
        ups -= 1
      } else {
        missing.insert(last, at: 0)
      }
    }
  }

  /// All that a service at an address has; everything if the text is no address.
  public static func service(_ address: String) -> Resource {
    guard let url = HTTPURL(address) else { return .everything }
    return .service(host: url.isLoopback ? "localhost" : url.host, port: [80, 443].contains(url.port) ? nil : url.port)
  }

  /// All that a service at a host has.
  public static func service(host: String, port: Int?) -> Resource {
    Resource(["service", port.map { "\(host):\($0)" } ?? host])
  }

  /// What is there at a path of the service, with everything below it.
  package func part(at path: String) -> Resource {
    Resource(names + path.split(separator: "/").map(String.init))
  }

  /// What only a plugin's own actions touch, by names of its choice from the outside in.
  public static func own(_ plugin: String, _ names: String...) -> Resource { Resource([plugin] + names) }

  /// Whether it is a file or a folder.
  package var isFile: Bool { names.first == "file" }

  /// Whether what is done to one can be seen in the other.
  package func overlaps(_ other: Resource) -> Bool { zip(names, other.names).allSatisfy { $0 == $1 } }
}

/// What an action reads and changes outside.
public struct Footprint: Hashable, Sendable {
  /// What its result depends on, that of its preview included.
  public var reads: [Resource]
  /// What is other than before once it was done.
  public var changes: [Resource]

  /// Creates a footprint.
  public init(reads: [Resource] = [], changes: [Resource] = []) {
    self.reads = reads
    self.changes = changes
  }

  /// The footprint of an action that depends on what it changes.
  public init(_ resources: [Resource]) { self.init(reads: resources, changes: resources) }

  /// That of an action of which nothing is known.
  public static let everything = Footprint([.everything])
}

/// A plugin that says what its actions touch.
///
/// Of one that does not, a plan takes every read to depend on every write before it, on any service.
public protocol FootprintPlugin: Plugin {
  /// What an action touches on a connection.
  ///
  /// Of an action that only reads, the changes are not looked at.
  /// - Parameters:
  ///   - action: The action's name, without the plugin's.
  ///   - input: What the step gives, without what is not known yet: a required field that is missing may have any value.
  ///   - context: Where relative paths start.
  static func footprint(
    of action: String, _ input: Value, on connection: Configuration, in context: ActionContext
  ) -> Footprint
}

extension FootprintPlugin {
  /// The footprint on a connection as `errand.yaml` sets it.
  static func footprint(
    of action: String, _ input: Value, settings: Value, in context: ActionContext
  ) -> Footprint {
    guard let connection = try? Configuration(checking: settings) else { return .everything }
    return footprint(of: action, input, on: connection, in: context)
  }
}
