import CZip

/// The fault of a zip file as a sentence, or nil if every entry unpacks and matches its checksum.
///
/// For `HTTPClient.download`, which doesn't keep a damaged file.
@Sendable package func zipFault(at path: String) -> String? {
  if let missing = czip_load() { return String(cString: missing) }
  // An archive that unpacks to a terabyte is a trap, not a backup.
  let report = czip_check(path, 1 << 20, 1 << 40)
  let fault = withUnsafeBytes(of: report.fault) { bytes in
    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }
  return fault.isEmpty ? nil : "\(fault)."
}
