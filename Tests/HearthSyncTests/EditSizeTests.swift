import HearthCRDT
import TestSupport
import Testing

@testable import HearthSync

@Suite("What one edit takes on a transport")
struct EditSizeTests {
  private static let limit = 600

  @Test("A changed field of one record is one file of at most 600 bytes, whoever wrote before")
  func oneEdit() throws {
    var world = try NewcomerWorld()
    let tag = try world.zone(0).tag
    let title = FieldID(.register, 1)
    let edits = [
      (0, "Take the rubbish out now"), (0, "Wash the windows upstairs"),
      // These cite what others wrote meanwhile.
      (1, "Mop the kitchen and hall"),
      (0, "Water all plants of the house and the garden before breakfast"),
    ]
    for (writer, text) in edits {
      let before = Set(world.shelf.segments.keys)
      try world.family.write(writer, 1, [.assign(title, .text(text))])
      try world.sync(writer)
      let news = world.shelf.segments.filter { !before.contains($0.key) && $0.key.zoneTag == tag }
      #expect(news.count == 1, "\(text)")
      let bytes = news.values.reduce(0) { $0 + $1.count }
      #expect(bytes > 0 && bytes <= EditSizeTests.limit, "\(text): \(bytes) bytes")
      try world.sync(all: [0, 1, 2])
    }
    #expect(try world.family.digests().count == 1)
  }
}
