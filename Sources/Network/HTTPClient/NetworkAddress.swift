import Glibc

/// Where an IP address leads.
enum NetworkAddress {
  /// Whether it leads to this machine or into its own network, or doesn't address one host.
  ///
  /// False for anything that isn't an address, such as a name. A range is private if IANA's registries of special
  /// addresses (RFC 6890) don't call it globally reachable; an IPv6 address that embeds an IPv4 one is judged
  /// by the embedded address.
  static func isPrivate(_ text: String) -> Bool {
    var name = text[...]
    if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
    // The zone of a link-local address.
    name = name.prefix { $0 != "%" }
    var four = in_addr()
    if inet_pton(AF_INET, String(name), &four) == 1 { return isPrivate(four: UInt32(bigEndian: four.s_addr)) }
    var six = in6_addr()
    guard inet_pton(AF_INET6, String(name), &six) == 1 else { return false }
    let bytes = withUnsafeBytes(of: &six) { Array($0) }
    let last = bytes[12...].reduce(0) { $0 << 8 | UInt32($1) }
    let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    let isTranslated = bytes[..<12].elementsEqual([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
    if isMapped || isTranslated { return isPrivate(four: last) }
    // The unspecified address and the one of this machine; unique local, link-local and multicast ones.
    return bytes[..<15].allSatisfy { $0 == 0 } && bytes[15] < 2 || bytes[0] & 0xFE == 0xFC || bytes[0] == 0xFF
      || bytes[0] == 0xFE && bytes[1] & 0x80 == 0x80
  }

  private static func isPrivate(four address: UInt32) -> Bool {
    let ranges: [(UInt32, UInt32)] = [
      (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16), (0xAC10_0000, 12),
      (0xC0A8_0000, 16), (0xC612_0000, 15), (0xE000_0000, 3),
    ]
    return ranges.contains { network, bits in (address ^ network) >> (32 - bits) == 0 }
  }
}

/// The certificate authorities that the environment names, as OpenSSL's own programs honour them.
package enum TrustedAuthorities {
  /// `SSL_CERT_FILE`, instead of the system's file.
  package static var file: String? { variable("SSL_CERT_FILE") }
  /// `SSL_CERT_DIR`, instead of the system's folder.
  package static var folder: String? { variable("SSL_CERT_DIR") }

  private static func variable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }
}
