public import ActionKit
import HTTPClient

/// Where the data set is published, and how it is asked for.
public struct TransitDataSettings: Sendable {
  /// Who owns the repository.
  public var owner = "Oculis-Navigate"
  /// The repository.
  public var repository = "singapore-rail-data"
  /// The name of the station file among the files of a release.
  public var assetName = "stage3_final.json"
  /// Where GitHub's API is, without a slash at its end.
  public var apiBase = "https://api.github.com"
  /// Where files are downloaded from, without a slash at its end.
  public var webBase = "https://github.com"
  /// A token, which raises the quota of the API and is sent to no other host.
  public var token: String?
  /// How long to use an answer of the API before asking again.
  public var minInterval = TimeSpan.seconds(3600)
  /// The largest station file to accept, in bytes.
  public var maxFileBytes = 32 << 20
  /// Whether a station file without a checksum is taken.
  public var allowsUnverified = false
  /// Time limit for connecting.
  public var connectTimeout = TimeSpan.seconds(10)
  /// How long one answer of the API may take, and how long a download may be silent.
  public var requestTimeout = TimeSpan.seconds(30)

  /// Creates the settings of the producer's own repository.
  public init() {}
}

extension TransitDataSettings {
  /// The hosts that addresses and redirects may lead to, for messages.
  static let allowedHosts = "https on github.com or a host ending in .githubusercontent.com"

  /// Whether a file may be downloaded from there: from GitHub and its storage, or from a server that stands in for it.
  func allowsDownload(from url: HTTPURL) -> Bool {
    let isGitHub = url.host == "github.com" || url.host.hasSuffix(".githubusercontent.com")
    if isGitHub { return url.scheme == "https" }
    guard let web = HTTPURL(webBase), url.host == web.host else { return false }
    return url.scheme == "https" || web.isLoopback
  }

  /// Refuses addresses that are neither secure nor of this machine.
  func validate() throws(TransitDataError) {
    for (name, text) in [("apiBase", apiBase), ("webBase", webBase)] {
      guard let url = HTTPURL(text), url.scheme == "https" || url.isLoopback else {
        throw TransitDataError(
          .configuration, "'\(name)' must begin with https://; only this machine may be asked without.")
      }
    }
  }

  /// The path of the repository: `/repos/owner/name`, without `/repos`.
  var path: String { "/\(owner.percentEncoded)/\(repository.percentEncoded)" }

  /// The name of this data set's folder, unique among connections: `Oculis-Navigate-singapore-rail-data-1f2e3d4c`.
  var folderName: String {
    let identity = [webBase, owner, repository, assetName].joined(separator: "\n")
    let digest = SHA256.digest(of: Array(identity.utf8)) ?? ""
    return "\(owner.percentEncoded)-\(repository.percentEncoded)-\(digest.prefix(8))"
  }

  /// The tag of a release by the address of its file; nil of any other address.
  func tag(of url: HTTPURL) -> String? {
    let parts = url.path.split(separator: "/").suffix(4).map { String($0).percentDecoded ?? "" }
    guard parts.count == 4, parts[0] == "releases", parts[1] == "download", !parts[2].isEmpty,
      parts[3].hasSameScalars(as: assetName)
    else { return nil }
    return parts[2]
  }

  /// Where the file of a release is, unless the API says it.
  func assetURL(tag: String) -> String {
    "\(webBase)\(path)/releases/download/\(tag.percentEncoded)/\(assetName.percentEncoded)"
  }
}
