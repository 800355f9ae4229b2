extension String {
  /// The word as one argument for a shell.
  package var shellQuoted: String {
    let isPlain =
      !isEmpty
      && unicodeScalars.allSatisfy {
        $0.properties.isAlphabetic && $0.isASCII || ("0"..."9").contains($0) || "-_./:=@,+".unicodeScalars.contains($0)
      }
    return isPlain
      ? self : "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }
}
