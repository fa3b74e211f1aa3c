import HearthCRDT
import Testing

@testable import HearthSync

@Suite("When a snapshot pays, and which are whole")
struct SnapshotPlanTests {
  private let ben = SnapshotGoldenTests.ben

  private func segment(_ first: UInt64, _ last: UInt64, bytes: Int = 10) -> StoredSegment {
    StoredSegment(author: ben, first: first, last: last, digest: .zero, byteCount: bytes)
  }

  @Test("4,096 changes or 1 MiB beyond the newest one pay, one less does not")
  func pays() {
    let none = Frontier()
    let all = Frontier([(ben, UInt64(10_000))])
    #expect(!SnapshotPlan.pays([], applied: all, beyond: none))
    #expect(!SnapshotPlan.pays([segment(1, 4_095)], applied: all, beyond: none))
    #expect(SnapshotPlan.pays([segment(1, 4_096)], applied: all, beyond: none))
    #expect(SnapshotPlan.pays([segment(1, 96), segment(97, 4_096)], applied: all, beyond: none))
    #expect(
      !SnapshotPlan.pays([segment(1, 4_096)], applied: all, beyond: Frontier([(ben, UInt64(1))])))
    #expect(SnapshotPlan.pays([segment(1, 1, bytes: 1 << 20)], applied: all, beyond: none))
    #expect(!SnapshotPlan.pays([segment(1, 1, bytes: 1 << 20 - 1)], applied: all, beyond: none))
    let nine = Frontier([(ben, UInt64(9))])
    #expect(!SnapshotPlan.pays([segment(1, 10, bytes: 1 << 20)], applied: all, beyond: nine))
  }

  @Test("what is not applied does not count, whatever numbers it claims, and no sum overflows")
  func unapplied() {
    let none = Frontier()
    let most = Frontier.maximumSequence
    let forged = [segment(1, most), segment(1, most), segment(2, .max), segment(1, .max)]
    #expect(!SnapshotPlan.pays(forged, applied: none, beyond: none))
    #expect(
      !SnapshotPlan.pays(forged, applied: Frontier([(ben, UInt64(4_096))]), beyond: none))
    let all = Frontier([(ben, UInt64.max)])
    #expect(SnapshotPlan.pays(forged, applied: all, beyond: none))
  }

  @Test("a snapshot is complete with every chunk once, under the name that the chunks give it")
  func complete() {
    let names = SnapshotPlan.names(of: [[1], [2], [3]], zoneTag: .zero)
    #expect(SnapshotPlan.sorted(names).complete.map(\.chunks) == [names])
    #expect(SnapshotPlan.sorted(names.reversed()).complete.map(\.chunks) == [names])
    #expect(SnapshotPlan.sorted(Array(names.dropLast())).complete.isEmpty)
    #expect(SnapshotPlan.sorted(Array(names.dropFirst())).complete.isEmpty)
    let alien = BlobName(
      kind: .snapshot, scope: .zero, group: names[0].group, index: 1, count: 3, digest: .zero)
    #expect(SnapshotPlan.sorted([names[0], alien, names[2]]).complete.isEmpty)
    #expect(SnapshotPlan.sorted(names + [alien]).complete.isEmpty)
    #expect(SnapshotPlan.sorted(names + [alien]).incomplete == [names[0].group])
  }

  @Test("Heads that cite more of a log than is on the transport or here are refused")
  func citing() throws {
    let zone = try SnapshotGoldenTests.zone()
    let cleo = Author(device: Identifier(high: 3, low: 3), incarnation: 1)
    let control = Frontier([(ben, UInt64(9))])
    func fault(citing sequence: UInt64, listed: UInt64?) -> String? {
      var head = LogHead(author: ben)
      head.sequence = 2
      head.seen = Frontier([(cleo, sequence)])
      let segments = listed.map {
        [
          SegmentName(
            zoneTag: zone.tag, authorTag: zone.authorTag(of: cleo.device), incarnation: 1,
            first: 1, last: $0, digest: .zero)
        ]
      }
      return SnapshotPlan.fault(
        in: [head], [], of: zone, control: control,
        listing: TransportListing(segments: segments ?? []))
    }
    #expect(fault(citing: 7, listed: 7) == nil)
    #expect(fault(citing: 8, listed: 7)?.contains("cites 8 changes") == true)
    #expect(fault(citing: 1, listed: nil)?.contains("cites 1 changes") == true)
    // Nothing counts of a log that a false claim ends.
    var citing = LogHead(author: ben)
    citing.sequence = 2
    citing.seen = Frontier([(cleo, UInt64(8))])
    let ended = Dot(author: cleo, sequence: 1)
    #expect(
      SnapshotPlan.fault(
        in: [citing], [ended], of: zone, control: control, listing: TransportListing()) == nil)
    // What is here was not made up by whoever wrote the snapshot.
    var head = LogHead(author: SnapshotGoldenTests.ada)
    head.sequence = 1
    head.seen = Frontier([(ben, UInt64(2))])
    func ofBen(_ sequence: UInt64) -> String? {
      head.seen = Frontier([(ben, sequence)])
      return SnapshotPlan.fault(
        in: [head], [], of: zone, control: control, listing: TransportListing())
    }
    #expect(ofBen(2) == nil && ofBen(3) != nil)
  }
}
