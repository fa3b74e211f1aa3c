import HearthCRDT
import HearthTransport
import Testing

@Suite("How often a device checks and lays handoffs again")
struct HandoffWatchTests {
  private let log = Identifier(high: 1, low: 2)
  private let start: UInt64 = 1_774_396_800_000

  @Test("A check is due after a day, after the clock was set back, and at once if told so")
  func interval() {
    var watch = HandoffWatch(log: log, at: start)
    let next = start + HandoffWatch.intervalMilliseconds
    #expect(!watch.isDue(at: start) && !watch.isDue(at: next - 1))
    #expect(watch.isDue(at: next) && watch.isDue(at: start - 1))
    watch.complete(at: next)
    #expect(!watch.isDue(at: next) && watch.isDue(at: next + HandoffWatch.intervalMilliseconds))
    #expect(HandoffWatch(log: log, at: 0).isDue(at: start))
  }

  @Test("So many are laid again and no more, and too many missing ones are reported")
  func repeats() {
    var watch = HandoffWatch(log: log, at: start)
    var laid = 0
    for _ in 0..<100 { laid += watch.charge(5) }
    #expect(laid == HandoffWatch.maximumRepeats && watch.isGivenUp)
    let ofNone = watch.charge(0)
    #expect(ofNone == 0 && !watch.isGivenUp)
    let ofOne = watch.charge(1)
    #expect(ofOne == 0 && watch.isGivenUp)
  }

  @Test("What is stored is read again, and nothing beyond the limits")
  func stored() throws {
    var watch = HandoffWatch(log: log, at: start)
    #expect(try HandoffWatch(decoding: watch.encoded) == watch)
    _ = watch.charge(HandoffWatch.maximumRepeats + 1)
    #expect(try HandoffWatch(decoding: watch.encoded) == watch)
    #expect(throws: CodecError.self) { try HandoffWatch(decoding: watch.encoded + [0]) }
    var writer = ByteWriter()
    writer.identifier(log)
    writer.fixed64(start)
    writer.varint(HandoffWatch.maximumRepeats + 1)
    writer.byte(0)
    #expect(throws: CodecError.self) { try HandoffWatch(decoding: writer.bytes) }
  }
}
