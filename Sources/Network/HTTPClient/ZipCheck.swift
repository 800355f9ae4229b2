import CZip

/// What is wrong with a zip as a sentence, or nil if every entry can be unpacked to what its checksum says.
///
/// For `HTTPClient.download`, which does not keep a file that is damaged.
@Sendable package func zipFault(at path: String) -> String? {
  if let missing = czip_load() { return String(cString: missing) }
  // An archive that unpacks to a terabyte is a trap and no backup.
  let report = czip_check(path, 1 << 20, 1 << 40)
  let fault = withUnsafeBytes(of: report.fault) { bytes in
    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }
  return fault.isEmpty ? nil : "\(fault)."
}
