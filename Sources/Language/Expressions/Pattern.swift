import CRE2

/// An error in a pattern, in RE2's words.
package struct PatternError: Error {
  package let message: String
}

/// A compiled RE2 pattern, which searches in time linear in the text.
///
/// It owns the C++ object and frees it. RE2 documents that several threads may use the object at once.
// The stored pointer is set once and only read through functions that are safe from any thread.
package final class Pattern: @unchecked Sendable {
  private let handle: OpaquePointer

  /// Bounds the compiled program and its caches.
  private static let memoryLimit: Int64 = 8 << 20

  /// Compiles a pattern in RE2's syntax.
  package init(_ text: String) throws(PatternError) {
    var text = text
    var error = [CChar](repeating: 0, count: 256)
    let handle = text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { pattern in
        var none: CChar = 0
        return withUnsafePointer(to: &none) { empty in
          cre2_compile(pattern.baseAddress ?? empty, pattern.count, Pattern.memoryLimit, &error, error.count)
        }
      }
    }
    guard let handle else {
      let message = error.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      throw PatternError(message: String(decoding: message, as: UTF8.self))
    }
    self.handle = handle
  }

  deinit { cre2_free(handle) }

  /// The number of capturing groups.
  package var groupCount: Int { Int(cre2_group_count(handle)) }

  /// Whether the pattern matches anywhere in the text.
  package func matches(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { search($0, from: 0, into: nil) }
  }

  /// The first match at or after an offset and its groups, as UTF-8 offsets; nil for a group that did not participate.
  package func firstMatch(in text: String, from start: Int = 0) -> [Range<Int>?]? {
    var text = text
    var ranges = [Int](repeating: -1, count: 2 * (groupCount + 1))
    let isFound = text.withUTF8 { bytes in
      ranges.withUnsafeMutableBufferPointer { search(bytes, from: start, into: $0) }
    }
    guard isFound else { return nil }
    return (0...groupCount).map { ranges[2 * $0] < 0 ? nil : ranges[2 * $0]..<ranges[2 * $0 + 1] }
  }

  private func search(
    _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, into ranges: UnsafeMutableBufferPointer<Int>?
  ) -> Bool {
    guard start <= bytes.count else { return false }
    return bytes.withMemoryRebound(to: CChar.self) { text in
      var none: CChar = 0
      return withUnsafePointer(to: &none) { empty in
        cre2_search(
          handle, text.baseAddress ?? empty, text.count, start, ranges?.baseAddress,
          Int32(truncatingIfNeeded: (ranges?.count ?? 0) / 2)) != 0
      }
    }
  }
}
