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
    #expect(!SnapshotPlan.pays([], beyond: none))
    #expect(!SnapshotPlan.pays([segment(1, 4_095)], beyond: none))
    #expect(SnapshotPlan.pays([segment(1, 4_096)], beyond: none))
    #expect(SnapshotPlan.pays([segment(1, 96), segment(97, 4_096)], beyond: none))
    #expect(!SnapshotPlan.pays([segment(1, 4_096)], beyond: Frontier([(ben, UInt64(1))])))
    #expect(SnapshotPlan.pays([segment(1, 1, bytes: 1 << 20)], beyond: none))
    #expect(!SnapshotPlan.pays([segment(1, 1, bytes: 1 << 20 - 1)], beyond: none))
    let nine = Frontier([(ben, UInt64(9))])
    #expect(!SnapshotPlan.pays([segment(1, 10, bytes: 1 << 20)], beyond: nine))
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
}
