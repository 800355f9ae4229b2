/// Numbers as a careless or hostile client writes them: the ends of 64 bits and beyond, zero, negative, no number.
public enum OddNumbers {
  /// The texts, which need no encoding in a URL.
  public static let texts = [
    "9223372036854775807", "-9223372036854775808", "99999999999999999999", "-99999999999999999999", "0", "-1", "1e400",
    "", "x",
  ]
}
