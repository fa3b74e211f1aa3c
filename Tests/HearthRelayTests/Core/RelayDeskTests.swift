import HearthCRDT
import HearthSync
import Testing

@testable import HearthRelay

@Suite("What waits for the log")
struct RelayDeskTests {
  private func write(_ number: UInt64) -> RelayWrite {
    RelayWrite(
      mailbox: Identifier(high: 1, low: number), authority: nil, action: .remove([]),
      quota: RelayQuota(), day: 0)
  }

  @Test("all that came while a batch was with the log is the next one, in order")
  func batches() {
    var desk = RelayDesk()
    #expect(desk.nextBatch()?.tickets == nil)
    desk.add(1, write(1))
    #expect(desk.nextBatch()?.tickets == [1])
    desk.add(2, write(2))
    desk.add(3, write(3))
    #expect(desk.nextBatch()?.tickets == nil)
    #expect(desk.writesWaiting == 2)
    desk.finishedWriting()
    let next = desk.nextBatch()
    #expect(next?.tickets == [2, 3])
    #expect(next?.writes.map(\.mailbox.low) == [2, 3])
    let events = next?.events(.success([.done, .rotated(generation: 4)])) ?? []
    guard case .written(3, .success(.rotated(generation: 4)))? = events.last else {
      Issue.record("the second write's answer is \(events)")
      return
    }
  }

  @Test("a batch has a limit; the rest is the one after it")
  func limit() {
    var desk = RelayDesk()
    for number in 0...RelayDesk.maximumBatchWrites {
      desk.add(UInt64(number), write(UInt64(number)))
    }
    #expect(desk.nextBatch()?.tickets.count == RelayDesk.maximumBatchWrites)
    desk.finishedWriting()
    #expect(desk.nextBatch()?.tickets == [UInt64(RelayDesk.maximumBatchWrites)])
  }

  @Test("reads go one at a time, beside writes")
  func reads() {
    var desk = RelayDesk()
    let read = RelayRead(mailbox: .zero, authority: nil, question: .head)
    desk.add(1, read)
    desk.add(2, read)
    desk.add(3, write(3))
    #expect(desk.nextRead()?.ticket == 1)
    #expect(desk.nextRead()?.ticket == nil && desk.readsWaiting == 1)
    #expect(desk.nextBatch()?.tickets == [3])
    desk.finishedReading()
    #expect(desk.nextRead()?.ticket == 2)
  }
}
