import HearthCRDT
import Household

/// The effect of a writing command on one chore, in words or for programs.
struct ChoreActivity: Encodable, Sendable {
  /// `added`, `changed`, `assigned`, `archived`, `restored`, `done`, `undone`, `skipped`, `moved`.
  let did: String
  /// The chore's id.
  let id: String
  let title: String
  /// The id of the entry of `hearth history` that was written or undone.
  var event: String?
  /// The assignee now, or the doer.
  var person: String?
  /// The kind of the undone entry: `done` or `skipped`.
  var undid: String?
  /// The day on which it was done, that was skipped, or to which it was moved.
  var day: String?
  var points: Int?

  init(_ did: String, _ chore: RecordID, _ title: String) {
    self.did = did
    id = chore.hex
    self.title = title
  }

  /// Prints the document if JSON was requested, and a remark otherwise.
  func tell(_ common: CommonOptions, _ words: String) throws {
    if common.json { return try Output.json(self) }
    Output.note(words)
  }

  /// Prints several effects of one command: a document for one, and a list for more.
  static func tell(
    _ told: [(activity: ChoreActivity, words: String)], _ common: CommonOptions
  ) throws {
    if let only = told.first, told.count == 1 { return try only.activity.tell(common, only.words) }
    if common.json { return try Output.json(Several(entries: told.map(\.activity))) }
    for one in told { Output.note(one.words) }
  }

  private struct Several: Encodable {
    let entries: [ChoreActivity]
  }
}
