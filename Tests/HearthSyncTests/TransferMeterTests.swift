import HearthCRDT
import Testing

@testable import HearthSync

@Suite("What is told of a transfer")
struct TransferMeterTests {
  private static func chunk(_ index: Int, of count: Int) -> BlobName {
    BlobName(
      kind: .snapshot, scope: .zero, group: Identifier(high: 1, low: 2), index: index,
      count: count)
  }

  @Test("it is told after a step of bytes, and not one byte before")
  func tellsAfterBytes() {
    var meter = TransferMeter(place: "relay:1")
    #expect(meter.expect(files: 10, bytes: 1 << 30)?.expectedBytes == 1 << 30)
    #expect(meter.receive(files: 1, bytes: TransferMeter.stepBytes - 1) == nil)
    #expect(meter.receive(files: 1, bytes: 1)?.bytes == TransferMeter.stepBytes)
    #expect(meter.receive(files: 1, bytes: TransferMeter.stepBytes - 1) == nil)
  }

  @Test("it is told after a step of files, however small they are")
  func tellsAfterFiles() {
    var meter = TransferMeter(place: "relay:1")
    _ = meter.expect(files: 10_000, bytes: nil)
    for _ in 1..<TransferMeter.stepFiles { #expect(meter.receive(files: 1, bytes: 1) == nil) }
    let told = meter.receive(files: 1, bytes: 1)
    #expect(told?.files == TransferMeter.stepFiles)
    #expect(told?.expectedFiles == 10_000)
    #expect(told?.expectedBytes == 0)
  }

  @Test("the end of what is expected is told, and nothing where nothing is expected")
  func tellsTheEnd() {
    var meter = TransferMeter(place: "relay:1")
    #expect(meter.expect(files: 0, bytes: 0) == nil)
    _ = meter.expect(files: 2, bytes: 7)
    #expect(meter.receive(files: 1, bytes: 3) == nil)
    let end = TransferProgress(
      place: "relay:1", direction: .receiving, files: 2, expectedFiles: 2, bytes: 7,
      expectedBytes: 7)
    #expect(meter.receive(files: 1, bytes: 4) == end)
  }

  @Test("zones add up, and what did not come is expected no more")
  func addsUp() {
    var meter = TransferMeter(place: "relay:1")
    _ = meter.expect(files: 5, bytes: 500)
    _ = meter.receive(files: 3, bytes: 300)
    let next = meter.expect(files: 4, bytes: 400)
    #expect(next?.expectedFiles == 7)
    #expect(next?.expectedBytes == 700)
  }

  @Test("once a length is not known there is no sum")
  func unknownLength() {
    var meter = TransferMeter(place: "folder")
    _ = meter.expect(files: 1, bytes: nil)
    _ = meter.receive(files: 1, bytes: 9)
    #expect(meter.expect(files: 1, bytes: 9)?.expectedBytes == 0)
  }

  @Test("of a snapshot's chunks the first is expected alone, with the second all others")
  func chunks() {
    var meter = TransferMeter(place: "relay:1")
    #expect(meter.expect(Self.chunk(0, of: 4)) { 10 }?.expectedFiles == 1)
    _ = meter.receive(files: 1, bytes: 10)
    let rest = meter.expect(Self.chunk(1, of: 4)) { 30 }
    #expect(rest?.expectedFiles == 4)
    #expect(rest?.expectedBytes == 40)
    _ = meter.receive(files: 1, bytes: 10)
    #expect(meter.expect(Self.chunk(2, of: 4)) { 20 } == nil)
    let capsule = BlobName(kind: .capsule, scope: .zero)
    #expect(meter.expect(capsule) { 1 } == nil)
  }

  @Test("what is given counts apart from what is received")
  func ways() {
    var meter = TransferMeter(place: "relay:1")
    _ = meter.receive(files: 1, bytes: TransferMeter.stepBytes)
    let told = meter.give(files: 2, bytes: TransferMeter.stepBytes)
    #expect(told?.direction == .giving)
    #expect(told?.files == 2)
    #expect(told?.expectedFiles == 0)
    #expect(meter.received.files == 1)
  }
}
