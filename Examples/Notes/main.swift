// Two nodes share notes through a folder, with the public API alone.
import Foundation
import Hearth
import HearthCRDT

struct Note: SyncedRecord {
  static let titleField = FieldID(.register, 1)
  static let votesField = FieldID(.counter, 2)
  static let schema = RecordSchema(
    .record(1), "note",
    [
      FieldSchema(titleField, "title", .text, indexed: true),
      FieldSchema(votesField, "votes", .int),
    ])

  let id: Identifier
  var title: String
  var votes: Int64 = 0

  init(title: String) {
    id = Note.newID()
    self.title = title
  }

  init(id: Identifier, fields: RecordFields) {
    self.id = id
    title = fields.text(Note.titleField)
    votes = fields.int(Note.votesField)
  }

  var values: [(FieldID, Value)] { [(Note.titleField, .text(title))] }
}

let root = FileManager.default.temporaryDirectory
  .appendingPathComponent("hearth-example-\(ProcessInfo.processInfo.processIdentifier)")
let folder = root.appendingPathComponent("shared").path
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: root) }

let anna = try await HearthNode.open(
  at: root.appendingPathComponent("anna").path, schema: [Note.self], person: "Anna")
let home = try await anna.shared.createZone(named: "Home")
try await anna.addFolder(folder)
let dishes = Note(title: "Dishes")
try await home.write { try $0.insert(dishes) }
let link = try await home.invite(role: .member, uses: 1, expires: .days(1))

let ben = try await HearthNode.open(
  at: root.appendingPathComponent("ben").path, schema: [Note.self], person: "Ben")
let bensHome = try await ben.join(link)
try await bensHome.write { try $0.add(1, to: Note.votesField, of: dishes.id, Note.self) }
try await home.write { try $0.add(2, to: Note.votesField, of: dishes.id, Note.self) }
_ = try await ben.sync()
_ = try await anna.sync()
_ = try await ben.sync()

for note in try await bensHome.fetch(Note.self) {
  print("\(note.title): \(note.votes) votes")
}
let isEqual = try await home.digest() == bensHome.digest()
print(isEqual ? "both replicas are equal" : "the replicas differ")
