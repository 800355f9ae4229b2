public import ActionKit

/// One release of the data set, as GitHub describes it.
public struct Release: Hashable, Sendable {
  /// The version: a date such as `20260215`.
  public var tag: String
  /// GitHub's number of it; nil if only its tag is known.
  public var id: Int?
  /// Its title, if it has one.
  public var name: String?
  /// The address of its page for people.
  public var page: String
  /// Whether it is unpublished.
  public var isDraft = false
  /// Whether it is marked as a preview.
  public var isPrerelease = false
  /// When its commit was made, which says little about the data.
  public var createdAt: Timestamp?
  /// When it was published; nil for a draft.
  public var publishedAt: Timestamp?
  /// The author's notes about it.
  public var notes: String?
  /// Whether its files can no longer change, if GitHub says so.
  public var isImmutable: Bool?
  /// Its files.
  public var assets: [Asset]

  /// One file of a release.
  public struct Asset: Hashable, Sendable {
    /// Its name.
    public var name: String
    /// The address to download it from.
    public var url: String
    /// Its size in bytes, if it is known.
    public var size: Int?
    /// The SHA-256 of its bytes in small hexadecimal digits; nil for files from before the middle of 2025.
    public var sha256: String?
    /// Whether it was uploaded whole.
    public var isUploaded: Bool
    /// When it was last replaced.
    public var updatedAt: Timestamp?
  }

  /// Whether it is published for general use.
  public var isPublished: Bool { !isDraft && !isPrerelease }

  /// The file of that name, if it is there and whole.
  public func asset(named name: String) -> Asset? {
    assets.first { $0.name.hasSameScalars(as: name) && $0.isUploaded }
  }
}

/// The order of tags.
///
/// Eight-digit dates are compared as texts. In other forms, one leading `v` and all hyphens are dropped. If both then
/// consist of the same number of digits they are compared; else neither is greater.
enum ReleaseTag {
  static func isGreater(_ tag: String, than other: String) -> Bool? {
    let (left, right) = (digits(tag), digits(other))
    guard let left, let right, left.utf8.count == right.utf8.count else { return nil }
    return right.precedesByScalars(left)
  }

  static func digits(_ tag: String) -> String? {
    let rest = tag.hasPrefix("v") ? tag.dropFirst() : tag[...]
    let digits = rest.filter { $0 != "-" }
    return !digits.isEmpty && digits.utf8.allSatisfy { ASCII.digits.contains($0) } ? String(digits) : nil
  }
}

extension Release {
  /// The reason to install a release over the installed one, as the rest of a sentence; nil if there is none.
  func reasonToInstall(over installed: InstalledVersion?, asset name: String) -> String? {
    guard let installed else { return "nothing is installed" }
    guard !tag.hasSameScalars(as: installed.tag) else {
      guard let asset = asset(named: name) else { return nil }
      let isReplaced =
        if let sha256 = asset.sha256 {
          // A version that was installed without GitHub's digest is compared by the digest of its file.
          sha256 != installed.assetSHA256 ?? installed.sha256
        } else {
          asset.updatedAt != nil && installed.assetUpdatedAt != nil && asset.updatedAt != installed.assetUpdatedAt
            && asset.size != installed.assetSize
        }
      return isReplaced ? "its file was replaced under the same tag" : nil
    }
    if let isGreater = ReleaseTag.isGreater(tag, than: installed.tag) {
      return isGreater ? "its tag is greater" : nil
    }
    guard let publishedAt, let known = installed.publishedAt, publishedAt > known else { return nil }
    return "it was published later"
  }
}

// MARK: - Reading

extension Release {
  init(_ part: FileObject) throws(TransitDataError) {
    tag = try part.text("tag_name")
    id = try part.int("id")
    name = try part.optionalText("name")
    page = try part.text("html_url")
    isDraft = try part.bool("draft")
    isPrerelease = try part.bool("prerelease")
    createdAt = Timestamp(try part.text("created_at"))
    publishedAt = (try part.optionalText("published_at")).flatMap { Timestamp($0) }
    notes = try part.optionalText("body")
    isImmutable = try? part.bool("immutable")
    assets = try part.objects("assets", Asset.init)
    guard !tag.isEmpty else { throw part.error("'tag_name' is empty") }
  }
}

extension Release.Asset {
  fileprivate init(_ part: FileObject) throws(TransitDataError) {
    name = try part.text("name")
    url = try part.text("browser_download_url")
    size = try part.int("size")
    isUploaded = try part.text("state") == "uploaded"
    updatedAt = (try part.optionalText("updated_at")).flatMap { Timestamp($0) }
    let digest = try part.optionalText("digest")?.lowercased()
    // Digests of other algorithms are ignored; size and inner checksum are still verified.
    sha256 = digest.flatMap { $0.hasPrefix("sha256:") ? String($0.dropFirst("sha256:".count)) : nil }
  }
}
