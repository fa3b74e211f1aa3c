import Hearth
import HearthTesting
import Testing

private struct Album: Record {
  var id = Key<Album>()
  var parent: Key<Album>?
  var name = ""

  static let schema = Schema<Album>("album", 1) {
    Reference(1, \.parent, onDelete: .cascade)
    Field(2, \.name)
  }
}

private struct Photo: Record {
  var id = Key<Photo>()
  var album: Key<Album>?
  var name = ""

  static let schema = Schema<Photo>("photo", 2) {
    Reference(1, \.album, onDelete: .cascade)
    Field(2, \.name)
  }
}

private struct Remark: Record {
  var id = Key<Remark>()
  var photo = Key<Photo>()
  var answered: Key<Remark>?
  var album: Key<Album>?

  static let schema = Schema<Remark>("remark", 3) {
    Reference(1, \.photo, onDelete: .cascade)
    Reference(2, \.answered, onDelete: .nullify)
    Reference(3, \.album)
  }
}

@Suite("Delete rules of references")
struct DeleteRuleTests {
  private static let app = AppSchema(
    "org.example.photos", [Album.self, Photo.self, Remark.self]
  ) {
    Rule(Album.self, .child, may: .delete)
  }

  private func zone() async throws -> (family: Family, zone: HearthZone) {
    let family = try await Family(DeleteRuleTests.app, ["anna"])
    return (family, try await family["anna"].zone())
  }

  @Test("A deletion takes along, empties or leaves what refers to the record")
  func rules() async throws {
    let (family, zone) = try await zone()
    let album = try await zone.insert(Album(name: "Sea"))
    let inner = try await zone.insert(Album(parent: album.id))
    let photo = try await zone.insert(Photo(album: inner.id))
    let other = try await zone.insert(Photo())
    let remark = try await zone.insert(Remark(photo: photo.id))
    let answer = try await zone.insert(
      Remark(photo: other.id, answered: remark.id, album: album.id))
    #expect(try await zone.delete(album.id))
    #expect(try await zone.count(Album.all) == 0)
    #expect(try await zone.fetch(Photo.all).map(\.id) == [other.id])
    let left = try await zone.fetch(Remark.all)
    #expect(left.map(\.id) == [answer.id] && left.unreadable.isEmpty)
    #expect(left.first?.answered == nil && left.first?.album == album.id)
    // What was deleted along is not restored along.
    #expect(try await zone.restore(album.id))
    #expect(try await zone.count(Album.all) == 1)
    try await family.settle()
  }

  @Test("The rules see what the same transaction has written")
  func transaction() async throws {
    let (family, zone) = try await zone()
    let photo = try await zone.insert(Photo())
    let question = try await zone.insert(Remark(photo: photo.id))
    let answer = try await zone.insert(Remark(photo: photo.id))
    try await zone.write { tx in
      try tx.update(answer.id) { $0.answered = question.id }
      try tx.delete(question.id)
    }
    #expect(try await zone.get(answer.id)?.answered == nil)
    #expect(try await zone.count(Remark.all) == 1)
    try await family.settle()
  }

  @Test("Records that refer to each other are deleted once", .timeLimit(.minutes(20)))
  func circle() async throws {
    let (family, zone) = try await zone()
    let first = try await zone.insert(Album())
    let second = try await zone.insert(Album(parent: first.id))
    try await zone.update(first.id) { $0.parent = second.id }
    try await zone.delete(second.id)
    #expect(try await zone.count(Album.all) == 0)
    try await family.settle()
  }

  @Test("What others add or change at the same time stays, and is read without an error")
  func concurrent() async throws {
    let family = try await Family(DeleteRuleTests.app, ["anna", "ben"])
    let (annas, bens) = (try await family["anna"].zone(), try await family["ben"].zone())
    let album = try await annas.insert(Album(name: "Sea"))
    let changed = try await annas.insert(Photo(album: album.id, name: "a"))
    try await annas.insert(Photo(album: album.id, name: "gone"))
    try await family.settle()
    try await annas.delete(album.id)
    try await bens.insert(Photo(album: album.id, name: "new"))
    try await bens.update(changed.id) { $0.name = "changed" }
    try await family.settle()
    for zone in [annas, bens] {
      let photos = try await zone.fetch(Photo.all.order(\.name))
      #expect(photos.map(\.name) == ["changed", "new"] && photos.unreadable.isEmpty)
      #expect(photos.allSatisfy { $0.album == album.id })
      #expect(try await zone.get(album.id) == nil)
    }
    // Whoever wants them gone as well deletes what leads to no album.
    try await bens.write { tx in
      for photo in try tx.fetch(Photo.all) {
        guard let album = photo.album, try tx.get(album) == nil else { continue }
        try tx.delete(photo.id)
      }
    }
    try await family.settle()
    #expect(try await annas.count(Photo.all) == 0)
  }

  @Test("Nobody deletes by a rule what they may not delete by hand")
  func rights() async throws {
    let family = try await Family(
      DeleteRuleTests.app, ["anna", "cleo"], roles: ["cleo": .child])
    let (annas, cleos) = (try await family["anna"].zone(), try await family["cleo"].zone())
    let empty = try await annas.insert(Album())
    let full = try await annas.insert(Album())
    try await annas.insert(Photo(album: full.id))
    try await family.settle()
    try await expectDenied { try await cleos.delete(full.id) }
    #expect(try await cleos.get(full.id) != nil)
    #expect(try await cleos.delete(empty.id))
    try await family.settle()
    #expect(try await annas.fetch(Album.all).map(\.id) == [full.id])
  }
}
