import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership

/// Negative test 30 where it concerns control operations: every count and length has its limit.
@Suite("Control operations: bounds")
struct MembershipBoundsTests {
  private func reads(_ operation: ControlOperation) -> Bool {
    (try? ControlOperation(decoding: operation.encoded)) == operation
  }

  private func id(_ number: Int) -> Identifier { Identifier(high: 1, low: UInt64(number)) }

  @Test("Negative 30: lists and lengths are read at their limit and refused one beyond")
  func limits() {
    let most = ControlLimits.maximumItems
    #expect(most == 1_024 && ControlLimits.maximumPrevious == 16)
    for (extra, isRead) in [(0, true), (1, false)] {
      let wraps = (0..<(most + extra)).map {
        ControlOperation.Wrap(recipient: id($0), sealed: [1])
      }
      let cut = Cut(
        entries: (0..<(most + extra)).map {
          .init(
            zone: id(1), author: Author(device: id($0), incarnation: 1), sequence: 1,
            hash: [UInt8](repeating: 0, count: 32))
        })
      let epoch = [UInt8](repeating: 9, count: 32)
      let previous = [[UInt8]](
        repeating: epoch, count: ControlLimits.maximumPrevious + extra)
      let sealed = [UInt8](repeating: 3, count: ControlLimits.maximumSealedBytes + extra)
      let evidence = [UInt8](repeating: 3, count: ControlLimits.maximumEvidenceBytes + extra)
      let author = Author(device: id(1), incarnation: 1)
      let operations: [ControlOperation] = [
        .wrapAdd(zone: id(1), epoch: epoch, wraps: wraps),
        .epoch(.init(zone: id(1), epoch: epoch, previous: [], wraps: wraps)),
        .epoch(.init(zone: id(1), epoch: epoch, previous: [], wraps: [], recovery: wraps)),
        .epoch(.init(zone: id(1), epoch: epoch, previous: previous, wraps: [])),
        .epoch(
          .init(
            zone: id(1), epoch: epoch, previous: [], wraps: [],
            history: previous.map { .init(epoch: $0, sealed: [1]) })),
        .wrapAdd(zone: id(1), epoch: epoch, wraps: [.init(recipient: id(1), sealed: sealed)]),
        .removeMember(person: id(2), cut: cut),
        .leave(cut),
        .forkProof(zone: id(1), author: author, first: evidence, second: []),
        .branch(
          author: author, digest: id(1), part: 0, parts: ControlLimits.maximumParts + extra,
          bytes: []),
        .branch(author: author, digest: id(1), part: 0, parts: 1, bytes: evidence),
        .heartbeat(
          (0..<(most + extra)).map { .init(zone: id($0), frontier: Frontier()) }),
      ]
      for operation in operations {
        #expect(reads(operation) == isRead, "kind \(operation.kind), \(extra) more")
      }
    }
  }

  @Test("Negative 30: a count that promises more than there is takes no memory and is refused")
  func promises() {
    for kind in [2, 8, 13, 14, 16, 20, 22] as [UInt8] {
      for filler in [0xff, 0x00, 0x7f] as [UInt8] {
        let bytes = [kind] + [UInt8](repeating: filler, count: 400)
        #expect(throws: CodecError.self, "kind \(kind)") {
          try ControlOperation(decoding: bytes)
        }
      }
    }
  }

  @Test("Lists that are not in order, or hold one item twice, are a second spelling and refused")
  func order() {
    let epoch = [UInt8](repeating: 9, count: 32)
    for pair in [[id(2), id(1)], [id(1), id(1)]] {
      let wraps = pair.map { ControlOperation.Wrap(recipient: $0, sealed: [1]) }
      #expect(!reads(.wrapAdd(zone: id(1), epoch: epoch, wraps: wraps)))
      let cut = Cut(
        entries: pair.map {
          .init(
            zone: $0, author: Author(device: id(1), incarnation: 1), sequence: 1,
            hash: [UInt8](repeating: 0, count: 32))
        })
      #expect(!reads(.leave(cut)))
    }
  }
}
