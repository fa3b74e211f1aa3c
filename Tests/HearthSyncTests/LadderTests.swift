import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now

@Suite("Logs that cite each other by turns")
struct LadderTests {
  /// Two lives of a member, each change of which cites the other's last.
  private struct Ladder {
    let announcements: [[UInt8]]
    let left: [[UInt8]]
    let right: [[UInt8]]
  }

  private func ladder(
    _ family: EngineFamily, steps: Int, leftPerFile: Int, rightPerFile: Int
  ) throws -> Ladder {
    var engine = family.members[1]
    var first = try Forge(engine, family.zone, incarnation: 2 << 32)
    var second = try Forge(engine, family.zone, incarnation: 3 << 32)
    let announcements = [try first.announce(engine), try second.announce(engine)]
    let control = try engine.controlZone(of: family.group).id
    _ = try engine.receive(announcements, in: control, nowMilliseconds: now)
    try first.look(through: engine)
    try second.look(through: engine)
    var (left, right): ([Change], [Change]) = ([], [])
    for step in 0..<steps {
      let value = Value.int(Int64(step))
      left.append(
        first.change(
          following: step > 0 ? second.head : nil, [.assign(EngineFamily.register, value)]))
      right.append(second.change(following: first.head, [.count(FieldID(.counter, 3), 1)]))
    }
    func files(_ forge: Forge, _ changes: [Change], _ count: Int) throws -> [[UInt8]] {
      try stride(from: 0, to: changes.count, by: count).map {
        try forge.seal(Array(changes[$0...].prefix(count)))
      }
    }
    return Ladder(
      announcements: announcements, left: try files(first, left, leftPerFile),
      right: try files(second, right, rightPerFile))
  }

  /// What member 0 shows of the record, with the changes that it applied.
  private func outcome(_ family: EngineFamily) throws -> (Value?, Value?) {
    let key = RecordKey(type: .record(7), id: EngineFamily.id(1))
    let state = try family.members[0].store.records.states(of: [key], in: family.zone)[0]
    return (state?.shown(EngineFamily.register), state?.shown(FieldID(.counter, 3)))
  }

  @Test("They are applied to their ends in one call, however they are cut and ordered")
  func whole() throws {
    for (left, right) in [(60, 60), (60, 1), (7, 4), (1, 60)] {
      var family = try EngineFamily(2)
      let ladder = try ladder(family, steps: 60, leftPerFile: left, rightPerFile: right)
      let control = try family.members[0].controlZone(of: family.group).id
      _ = try family.members[0].receive(
        ladder.announcements, in: control, nowMilliseconds: now)
      for blobs in [ladder.left, ladder.right] {
        _ = try family.members[0].receive(blobs, in: family.zone, nowMilliseconds: now)
      }
      let (shown, count) = try outcome(family)
      #expect(shown == .int(59) && count == .int(60), "\(left) and \(right) changes a file")
      let pending = try family.members[0].store.pending.entries(in: family.zone)
      #expect(pending.isEmpty, "\(pending.count) files wait")
      let digest = try family.members[0].digest(of: family.zone)
      try Rebuild.rebuild(family.zone, in: &family.members[0], nowMilliseconds: now)
      #expect(try family.members[0].digest(of: family.zone) == digest)
    }
  }

  @Test("A long file that waits is opened again in proportion to what came, and ends all the same")
  func drip() throws {
    var family = try EngineFamily(2)
    let ladder = try ladder(family, steps: 40, leftPerFile: 40, rightPerFile: 1)
    let control = try family.members[0].controlZone(of: family.group).id
    _ = try family.members[0].receive(ladder.announcements, in: control, nowMilliseconds: now)
    _ = try family.members[0].receive(ladder.left, in: family.zone, nowMilliseconds: now)
    for blob in ladder.right {
      _ = try family.members[0].receive([blob], in: family.zone, nowMilliseconds: now)
    }
    let (shown, count) = try outcome(family)
    #expect(shown == .int(39) && count == .int(40))
  }

  @Test("What waits for a log goes on with it, in few slices and not in one for each turn")
  func slices() throws {
    var family = try EngineFamily(2)
    let ladder = try ladder(family, steps: 9_000, leftPerFile: 9_000, rightPerFile: 300)
    let control = try family.members[0].controlZone(of: family.group).id
    _ = try family.members[0].receive(ladder.announcements, in: control, nowMilliseconds: now)
    let (engine, zone) = (family.members[0], try family.members[0].zone(family.zone))
    var sizes: [Int] = []
    try engine.store.transaction {
      var batch = try ReceivedBatch(
        ladder.left + ladder.right, in: zone, ends: [], isRebuilding: false, by: engine,
        nowMilliseconds: now)
      while let slice = try batch.nextSlice() {
        sizes.append(slice.count)
        try batch.receive(slice)
      }
      try batch.finish()
      #expect(batch.report.applied == 18_000)
    }
    #expect(sizes.count < 10, "\(sizes)")
  }

  @Test("A queue wakes those that wait for what was reached, once, and nobody else")
  func waits() {
    var waits = QueueWaits()
    let (a, b) = (
      Author(device: Identifier(high: 1, low: 1), incarnation: 1),
      Author(device: Identifier(high: 1, low: 2), incarnation: 1)
    )
    waits.wait(0, for: Dot(author: a, sequence: 3))
    waits.wait(1, for: Dot(author: a, sequence: 5))
    waits.wait(2, for: Dot(author: b, sequence: 1))
    waits.wake(by: a, reaching: 2)
    #expect(waits.popWoken() == nil)
    waits.wake(by: a, reaching: 4)
    #expect(waits.popWoken() == 0 && waits.popWoken() == nil)
    // It waits for something else by now.
    waits.wait(1, for: Dot(author: b, sequence: 2))
    waits.wake(by: a, reaching: 9)
    #expect(waits.popWoken() == nil)
    waits.wake(by: b, reaching: 2)
    #expect(waits.popWoken() == 2 && waits.popWoken() == 1 && waits.popWoken() == nil)
  }
}
