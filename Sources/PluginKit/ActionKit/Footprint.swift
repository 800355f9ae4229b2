// The resources that actions read and change outside, so that a plan knows which reads may see an earlier write.
//
// A resource is a path of names: the file `/srv/in.csv` is `file, srv, in.csv`, a service `service, example.org`, a
// part of the state `store, n`. Two resources overlap if one's path begins with the other's: a folder contains its
// files, and the resource with an empty path is everything.
//
// Different spellings of the same thing are one resource. Symbolic links in file paths are resolved as far as the path
// exists. Services are identified by host and port: `http` and `https` of one host, and all names of this machine, are
// the same.
import Glibc
import HTTPClient

/// A part of the outside world that actions read or change.
public struct Resource: Hashable, Sendable {
  /// The names, outermost first; empty for everything.
  package let names: [String]

  private init(_ names: [String]) { self.names = names }

  /// Everything, for an action with an unknown footprint.
  public static let everything = Resource([])

  /// A file, or a folder with everything below it, which needn't exist.
  ///
  /// - Parameter path: A full path.
  public static func file(_ path: String) -> Resource {
    var there = path.split(separator: "/").filter { $0 != "." }.map(String.init)
    var missing: [String] = []
    /// The number of preceding folders that `..` cancels.
    var ups = 0
    while true {
      if let resolved = realpath("/\(there.joined(separator: "/"))", nil) {
        defer { free(resolved) }
        let found = String(cString: resolved).split(separator: "/").map(String.init).dropLast(ups)
        return Resource(["file"] + found + missing)
      }
      guard let last = there.popLast() else { return Resource(["file"] + missing) }
      // A path that doesn't exist is resolved by its names only.
      if last == ".." {
        ups += 1
      } else if ups > 0 {
        ups -= 1
      } else {
        missing.insert(last, at: 0)
      }
    }
  }

  /// All data of a service at an address; everything if the text isn't an address.
  public static func service(_ address: String) -> Resource {
    guard let url = HTTPURL(address) else { return .everything }
    return .service(host: url.isLoopback ? "localhost" : url.host, port: [80, 443].contains(url.port) ? nil : url.port)
  }

  /// All data of a service at a host.
  public static func service(host: String, port: Int?) -> Resource {
    Resource(["service", port.map { "\(host):\($0)" } ?? host])
  }

  /// The resource at a path of the service, with everything below it.
  package func part(at path: String) -> Resource {
    Resource(names + path.split(separator: "/").map(String.init))
  }

  /// A resource that only the plugin's own actions touch; the plugin chooses the names, outermost first.
  public static func own(_ plugin: String, _ names: String...) -> Resource { Resource([plugin] + names) }

  /// Whether it is a file or a folder.
  package var isFile: Bool { names.first == "file" }

  /// Whether a change of one can be seen in the other.
  package func overlaps(_ other: Resource) -> Bool { zip(names, other.names).allSatisfy { $0 == $1 } }
}

/// The resources that an action reads and changes.
public struct Footprint: Hashable, Sendable {
  /// The resources that its result, or the result of its preview, depends on.
  public var reads: [Resource]
  /// The resources that it changes.
  public var changes: [Resource]

  /// Creates a footprint.
  public init(reads: [Resource] = [], changes: [Resource] = []) {
    self.reads = reads
    self.changes = changes
  }

  /// Creates the footprint of an action that depends on the resources that it changes.
  public init(_ resources: [Resource]) { self.init(reads: resources, changes: resources) }

  /// The footprint of an action that may touch anything.
  public static let everything = Footprint([.everything])
}

/// A plugin that declares the footprints of its actions.
///
/// For a plugin that doesn't, a plan assumes that every read depends on every earlier write, on any service.
public protocol FootprintPlugin: Plugin {
  /// The resources that an action touches on a connection.
  ///
  /// The changes of an action that only reads are ignored.
  /// - Parameters:
  ///   - action: The action's name, without the plugin's.
  ///   - input: The step's input, without values that aren't known yet: a missing required field may have any value.
  ///   - context: The base of relative paths.
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
