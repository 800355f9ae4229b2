import Glibc

/// Whether this machine is on a network at all.
enum Reachability {
  /// Whether an interface beside the loopback one is up and has an address; true if that is unknown.
  ///
  /// It is checked after a failure, never before a call: a proxy on this machine may reach the network even if no
  /// interface does.
  @Sendable static func isOnline() -> Bool {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return true }
    defer { freeifaddrs(list) }
    let up = UInt32(IFF_UP | IFF_RUNNING)
    let loopback = UInt32(IFF_LOOPBACK)
    var next = list
    while let interface = next?.pointee {
      next = interface.ifa_next
      guard interface.ifa_flags & up == up, interface.ifa_flags & loopback == 0, let address = interface.ifa_addr
      else { continue }
      if [AF_INET, AF_INET6].contains(Int32(address.pointee.sa_family)) { return true }
    }
    return false
  }
}
