import Glibc

/// How many files and sockets this process may have open at once.
package enum FileLimit {
  /// The limit that holds now (getrlimit(2), `RLIMIT_NOFILE`).
  package static var current: Int {
    var limit = rlimit()
    return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? Int(clamping: limit.rlim_cur) : 1024
  }

  /// As many connections as one listener may have, so that the other, the runs and the state have room for theirs.
  package static func connections(wanted: Int) -> Int { max(1, min(wanted, current / 4)) }

  /// With fewer, commands and requests that come together would be refused for want of files.
  package static let least = 256
}
