import ActionKit
import LocalFiles

enum DownloadBackup: RetryingAction, TimedAction {
  static let name = "downloadBackup"
  static let summary = "Downloads the backup if it is ready, in one step because its address is valid for an hour."
  // The address is the same while the zip is there, however often it is asked for, and so is the zip.
  static let effect = Effect.consume(repeats: 20)
  static let retry = RetrySchedule.atOnce
  static let timeout = TimeSpan.seconds(3600)
  static let examples = [
    Example(
      "Into a folder, checked",
      """
      to: backups/markbooks.zip
      verify: zip
      """)
  ]

  struct Input: FieldSet {
    @Field("Path of the file; a missing folder is created, and an existing file is replaced.", .notEmpty)
    var to: String
    @Field("Whether to compare every entry of the zip with its checksum before keeping the file.")
    var verify = Verification.zip
  }

  struct Output: FieldSet {
    @Field("Whether the backup was ready, is still to be built, or doesn't exist.") var state: BackupState
    @Field("Full path of the file; absent unless the backup was ready.", .isFile) var path: String?
    @Field("Size of the file; 0 unless the backup was ready.") var bytes: Int
  }

  enum Verification: String, CaseIterable, Choice {
    case zip, none
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    // The file comes first, since requesting the address cannot be undone.
    let place = try await markbook.files.file(input.to, in: context).prepared()
    let answer = try await markbook.getBackupURL()
    guard let url = answer.url else {
      return try Output {
        $0.state = answer.state
        $0.bytes = 0
      }
    }
    context.report("downloading the backup")
    let bytes = try await markbook.downloadBackup(from: url, to: place, verifiesZip: input.verify == .zip)
    return try Output {
      $0.state = .ready
      $0.path = place.path
      $0.bytes = bytes
    }
  }
}
