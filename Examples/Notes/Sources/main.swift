// Two nodes share notes through a folder.
import Foundation
import Hearth

struct Note: Record {
  var id = Key<Note>()
  var title = ""
  var votes: Int64 = 0

  static let schema = Schema<Note>("note", 1) {
    Field(1, \.title, .indexed)
    Counter(2, \.votes)
  }
}

let app = AppSchema("org.example.notes", [Note.self])
let root = FileManager.default.temporaryDirectory
  .appendingPathComponent("hearth-example-\(ProcessInfo.processInfo.processIdentifier)")
let folder = root.appendingPathComponent("shared").path
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: root) }

let anna = try await HearthNode.open(
  at: root.appendingPathComponent("anna").path, app, as: .new(person: "Anna"))
let home = try await anna.shared.zone(named: "Home", create: true)
try await anna.addFolder(folder)
let dishes = try await home.insert(Note(title: "Dishes"))
let link = try await home.invite(role: .member, uses: 1, expires: .days(1))

let ben = try await HearthNode.open(
  at: root.appendingPathComponent("ben").path, app, as: .new(person: "Ben"))
guard case .joined(let bensHome) = try await ben.join(link) else {
  fatalError("the link needs no approval")
}
try await bensHome.update(dishes.id) { $0.votes += 1 }
try await home.update(dishes.id) { $0.votes += 2 }
try await ben.sync()
try await anna.sync()
try await ben.sync()

for note in try await bensHome.fetch(Note.all.order(\.title)) {
  print("\(note.title): \(note.votes) votes")
}
let isEqual = try await home.digest() == bensHome.digest()
print(isEqual ? "both replicas are equal" : "the replicas differ")
