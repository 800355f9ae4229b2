package import Basics
package import RunState

/// A folder's connections and secrets.
package struct ConnectionsAndSecrets: Sendable {
  package var connections: [ConnectionRecord] = []
  /// The secrets that are needed.
  package var secrets: [SecretRecord] = []
  /// The names of these and of all others that are known without running a program.
  package var names: [String] = []

  package init() {}
}

/// A connection of `errand.yaml`, as people see it: nothing in it is secret.
package struct ConnectionRecord: Record {
  package var name: String
  package var plugin: String
  /// Where the service is; nil if the file doesn't say.
  package var address: String?
  package var maxParallel: Int?
  package var requests: Int?
  /// The span that `requests` is of.
  package var per: TimeSpan?
  /// Until when its service asked to be left alone.
  package var heldUntil: Timestamp?
  /// The recipes that use it.
  package var recipes: [String] = []

  package init(name: String, plugin: String) {
    self.name = name
    self.plugin = plugin
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    name = try member("name", record?.name)
    plugin = try member("plugin", record?.plugin)
    address = try member("address", record?.address)
    maxParallel = try member("maxParallel", record?.maxParallel)
    requests = try member("requests", record?.requests)
    per = try member("per", record?.per)
    heldUntil = try member("heldUntil", record?.heldUntil)
    recipes = try member("recipes", record?.recipes, default: [])
  }
}

/// A secret that is needed: its name and where it comes from, never its value or anything about that.
package struct SecretRecord: Record {
  package enum Status: String, Recordable, CaseIterable, Sendable {
    case found, missing
    /// Its source can't be read.
    case unavailable
    /// Its command is asked when a run needs it.
    case notAsked
  }

  package var name: String
  package var status = Status.missing
  /// The source that gives it, within a sentence.
  package var source: String?
  /// Why its source can't be read.
  package var fault: String?
  package var connections: [String] = []
  package var recipes: [String] = []

  package init(name: String) { self.name = name }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    name = try member("name", record?.name)
    status = try member("status", record?.status)
    source = try member("source", record?.source)
    fault = try member("fault", record?.fault)
    connections = try member("connections", record?.connections, default: [])
    recipes = try member("recipes", record?.recipes, default: [])
  }
}
