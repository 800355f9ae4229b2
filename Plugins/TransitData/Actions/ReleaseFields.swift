public import ActionKit

// The fields of releases and of the installed version, as actions return them.

struct ReleaseFields: FieldSet {
  @Field("Tag, which is the version: 20260215.") var tag: String
  @Field("Title, if it has one.") var name: String?
  @Field("The address of its page for people.") var page: String
  @Field("When it was published; absent for a draft.") var publishedAt: Timestamp?
  @Field("When its commit was made, which says little about the data.") var createdAt: Timestamp?
  @Field("Whether it is unpublished.") var isDraft: Bool
  @Field("Whether it is marked as a preview.") var isPrerelease: Bool
  @Field("Whether its files can no longer change, if GitHub says so.") var isImmutable: Bool?
  @Field("The author's notes.") var notes: String?
  @Field("The files of the release.") var assets: [AssetFields]

  init() {}

  init(_ release: Release) {
    tag = release.tag
    name = release.name
    page = release.page
    publishedAt = release.publishedAt
    createdAt = release.createdAt
    isDraft = release.isDraft
    isPrerelease = release.isPrerelease
    isImmutable = release.isImmutable
    notes = release.notes
    assets = release.assets.map(AssetFields.init)
  }
}

struct AssetFields: FieldSet {
  @Field("Name of the file.") var name: String
  @Field("The address to download it from.") var url: String
  @Field("Size in bytes, if it is known.") var bytes: Int?
  @Field("SHA-256 of its bytes, if GitHub gives it.") var sha256: String?
  @Field("Whether it was uploaded whole.") var isUploaded: Bool
  @Field("When it was last replaced.") var updatedAt: Timestamp?

  init() {}

  init(_ asset: Release.Asset) {
    name = asset.name
    url = asset.url
    bytes = asset.size
    sha256 = asset.sha256
    isUploaded = asset.isUploaded
    updatedAt = asset.updatedAt
  }
}

struct CheckedReleaseFields: FieldSet {
  @Field("The release.") var release: ReleaseFields
  @Field("When GitHub last gave this answer.", .volatile) var checkedAt: Timestamp
  @Field("Whether the answer is an earlier one from the cache.", .volatile) var fromCache: Bool

  init() {}

  init(_ checked: CheckedRelease) {
    release = ReleaseFields(checked.release)
    checkedAt = checked.checkedAt
    fromCache = checked.fromCache
  }
}

extension ChecksumForm: Choice {}

struct InstalledFields: FieldSet {
  @Field("Tag of the release, or the data's own version if they came from a file.") var tag: String
  @Field("Version of the data for display: 2026-02-15.") var dataVersion: String
  @Field("When the data were installed.") var installedAt: Timestamp
  @Field("How many stations there are.") var stations: Int
  @Field("How many exits there are.") var exits: Int
  @Field("The form of the file that its checksum covers; absent if it has none, and that was allowed.")
  var verifiedForm: ChecksumForm?
  @Field("Likely mistakes in the data, a sentence each.") var warnings: [String]
  @Field("Why a version older than the last installed one is in use; absent if all is well.") var trouble: String?

  init() {}

  init(_ data: InstalledData) {
    tag = data.version.tag
    dataVersion = data.data.metadata.dataVersion
    installedAt = data.version.installedAt
    stations = data.data.stations.count
    exits = data.data.stations.reduce(0) { $0 + $1.exits.count }
    verifiedForm = data.data.verifiedForm
    warnings = data.warnings
    trouble = data.trouble
  }
}

struct UpdateFields: FieldSet {
  @Field("Whether an update was installed.") var isUpdated: Bool
  @Field("Why, as the rest of a sentence.") var reason: String?
  @Field("Tag of the data installed before; absent if there were none.") var previousTag: String?
  @Field("The data installed now.") var installed: InstalledFields
  @Field("The differences from before, in the data's order; empty the first time.") var changes: [RailChange]
  @Field("When GitHub last named the latest release; absent if it didn't.") var checkedAt: Timestamp?
  @Field("Whether it is unknown if the installed data are the newest.") var isStale: Bool
  @Field("Why that is unknown.") var staleReason: String?

  init() {}

  init(_ result: UpdateResult) {
    isUpdated = result.isUpdated
    reason = result.check.reason
    previousTag = result.check.installed?.tag
    installed = InstalledFields(result.data)
    changes = result.changes
    checkedAt = result.check.checkedAt
    isStale = result.check.trouble != nil
    staleReason = result.check.trouble
  }
}
