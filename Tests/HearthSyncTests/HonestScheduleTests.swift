import HearthCRDT
import HearthCrypto
import HearthMembership
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now

@Suite("Random schedules of honest devices")
struct HonestScheduleTests {
  private struct World {
    var family: EngineFamily
    var random: SplitMix64
    /// Older states of devices, for restoring.
    var copies: [Int: Engine<MemoryStore>] = [:]
    /// Whether devices are set back.
    ///
    /// Then something may be gone, and what was published without its causes, which nobody else
    /// had, waits for ever. Where they are not, further devices begin from snapshots.
    let isSetBack: Bool

    /// One thing that happens to a device.
    mutating func step() throws {
      let member = random.below(family.members.count)
      switch random.below(14) {
      case 0 where !isSetBack && family.members.count < 7:
        _ = try family.joinFromSnapshot(of: 0)
      case 0: copies[member] = try EngineFamily.copied(family.members[member])
      case 1:
        // Restored, and aware of it: a new life.
        guard isSetBack, let old = copies[member] else { return }
        family.members[member] = try EngineFamily.copied(old)
        try NewIncarnation.begin(
          reason: "restored", in: &family.members[member], nowMilliseconds: now)
      case 2:
        // Restored without noticing: it writes on under numbers that others may know.
        guard isSetBack, random.oneIn(4), let old = copies[member] else { return }
        family.members[member] = try EngineFamily.copied(old)
      case 3:
        try NewIncarnation.begin(
          reason: "a copy", in: &family.members[member], nowMilliseconds: now)
      case 4:
        try MemberChanges.heartbeat(
          in: family.group, by: &family.members[member], nowMilliseconds: now)
      case 5..<9: try family.writeAtRandom(member, &random)
      default:
        let other = random.below(family.members.count)
        guard other != member else { return }
        // A part of what somebody holds, in any order; the members' log in full, most often.
        for zone in [family.control, family.zone] {
          var blobs = try family.published(member, zone).shuffled(using: &random)
          if random.oneIn(3) { blobs = Array(blobs.prefix(random.below(blobs.count + 1))) }
          _ = try family.members[other].receive(blobs, in: zone, nowMilliseconds: now)
        }
        if random.oneIn(6) { _ = try Compaction.compact(family.zone, in: &family.members[other]) }
      }
    }
  }

  @Test(
    "Nothing honest is refused, whatever was restored, copied and delivered in parts",
    arguments: 0..<12, [true, false])
  func honest(seed: UInt64, isSetBack: Bool) throws {
    var world = World(
      family: try EngineFamily(4), random: SplitMix64(seed: seed), isSetBack: isSetBack)
    for _ in 0..<40 { try world.step() }
    if !isSetBack { _ = try world.family.joinFromSnapshot(of: 0) }
    for _ in 0..<4 { try world.family.settle() }
    for (number, engine) in world.family.members.enumerated() {
      let claims = try FalseClaims(engine: engine).claims(in: world.family.zone)
      #expect(claims.isEmpty, "seed \(seed), member \(number): \(claims)")
      // A device that was set back without noticing cannot know that others had seen more of it.
      let unwritten =
        try isSetBack ? [] : UnwrittenClaims(engine: engine).claims(in: world.family.group)
      #expect(unwritten.isEmpty, "seed \(seed), member \(number): \(unwritten)")
      let waiting = try engine.store.pending.segments(in: world.family.zone).filter {
        $0.reason != .quarantine
      }
      // A device that was set back may have held the only copy of what others wait for.
      let isLost = isSetBack && waiting.allSatisfy { $0.reason == .gap || $0.reason == .cause }
      #expect(
        waiting.isEmpty || isLost, "seed \(seed), member \(number): \(waiting.map(\.reason))")
    }
    #expect(try world.family.digests().count == 1, "seed \(seed)")
  }
}
