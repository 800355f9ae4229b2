import ActionTestKit
import Foundation
import Testing

@testable import errand_dev

// A text that a plugin cuts may end within a secret, which is then found no more: `excerpt` takes secrets out first.

@Suite struct CuttingTests {
  /// Cuts that aren't texts for people: numbers, hashes, lists, bytes of files and protocols.
  private static let allowed: Set<String> = [
    "let found = try await file.read(limit: files.maxBytes).dropFirst(baseline.bytes).prefix(added.count)",
    "$0.names = Array(names.prefix(input.limit))",
    "public var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }",
    "warnings = Array(RailWarnings(self, top, textBytes: text.bytes.count).list.prefix(RailData.maxWarnings))",
    "\"stations-\\((SHA256.digest(of: Array(announcement.utf8)) ?? \"\").prefix(16)).json\"",
    "return \"\\(owner.percentEncoded)-\\(repository.percentEncoded)-\\(digest.prefix(8))\"",
    "let parts = url.path.split(separator: \"/\").suffix(4).map { String($0).percentDecoded ?? \"\" }",
    "return Array(matches.sorted { $0.distance ?? 0 < $1.distance ?? 0 }.prefix(max(0, limit)))",
    "return \"\\(digest.prefix(32)).errand@\\(sender.host)\"",
    "lines.append(Array(rest.prefix(57)).base64)",
    "guard line.count >= 3, line.prefix(3).allSatisfy({ (0x30...0x39).contains($0) }) else { return false }",
    "let boundary = \"errand-\\((SHA256.digest(of: Array(digests.utf8)) ?? \"\").prefix(40))\"",
    "output.removeSubrange(text...)",
    "return isContinued || follow(line.prefix(3))",
    "for file in files.sorted(by: { $0.written < $1.written }).dropLast(mostFiles) { try? Files.remove(file.path) }",
    "guard line.count == 5, String(decoding: line.prefix(4), as: UTF8.self).lowercased() == \"sep=\" else { return nil }",
    "return CSVReader.separator(String(decoding: line.suffix(1), as: UTF8.self))",
    "if line.dropFirst(4).prefix(4).elementsEqual(\"AUTH\".utf8) { offersLogin = true }",
    "keys.removeSubrange(firstKey...)",
    "output.removeSubrange(start...)",
    "return dropsZeroFraction && text.hasSuffix(\".0\") ? String(text.dropLast(2)) : text",
    "let letters = utf8.prefix(while: \\.isCapital)",
    "return String(officialName.dropLast(ending.count))",
    "let client = MailClient(MailSettings(host: \"smtp.example.org\", username: \"ana\", password: \"…\"))",
    "content.items.removeLast(content.items.count - maxItems)",
    "return CivilDate(String(weekOf.prefix(10)))",
    "guard let date = CivilDate(String(weekOf.prefix(10))) else { return nil }",
    "String(String.UnicodeScalarView(unicodeScalars.map { (0x21...0x7E).contains($0.value) ? $0 : \"-\" }.prefix(100)))",
  ]

  @Test func `no plugin cuts a text`() throws {
    let root = packageFolder.appending(path: "Plugins").path
    var found: [String] = []
    for path in FileManager.default.enumerator(atPath: root)?.compactMap({ $0 as? String }) ?? []
    where path.hasSuffix(".swift") && !path.contains("Sandbox") {
      let text = try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
      for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        let words = line.trimmingCharacters(in: .whitespaces)
        guard !words.hasPrefix("//"), !Self.allowed.contains(words),
          words.contains(/\.(prefix|suffix|removeLast|removeSubrange|dropLast)\([^){]*[a-zA-Z0-9]/)
            || words.contains("…\"")
        else { continue }
        found.append("Plugins/\(path):\(number + 1): \(words)")
      }
    }
    #expect(found.joined(separator: "\n") == "", "use excerpt(_:), which takes secrets out before it cuts")
  }
}
