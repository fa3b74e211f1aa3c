import HearthCRDT
import Household

/// What a command that writes did to one chore, in words or for programs.
struct ChoreDeed: Encodable, Sendable {
  /// `added`, `changed`, `assigned`, `archived`, `restored`, `done`, `undone`, `skipped`, `moved`.
  let did: String
  /// The chore's id.
  let id: String
  let title: String
  /// The entry of `hearth history` that was written or taken back.
  var event: String?
  /// Whose it is now, or who did it.
  var person: String?
  /// What was taken back: `done` or `skipped`.
  var undid: String?
  /// The day on which it was done, which was skipped, or to which it was moved.
  var day: String?
  var points: Int?

  init(_ did: String, _ chore: RecordID, _ title: String) {
    self.did = did
    id = chore.hex
    self.title = title
  }

  /// Prints the document where one was asked for, and a remark otherwise.
  func tell(_ common: CommonOptions, _ words: String) throws {
    if common.json { return try Output.json(self) }
    Output.note(words)
  }
}
