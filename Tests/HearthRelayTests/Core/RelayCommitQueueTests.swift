import HearthCRDT
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore

@Suite("What waits for the log")
struct RelayCommitQueueTests {
  private func write(_ number: UInt64) -> RelayWrite {
    RelayWrite(
      mailbox: Identifier(high: 1, low: number), authority: nil, action: .remove([]),
      quota: RelayQuota(), day: 0)
  }

  @Test("all that came while a batch was with the log is the next one, in order")
  func batches() {
    var queue = RelayCommitQueue()
    #expect(queue.nextBatch()?.tickets == nil)
    queue.add(1, write(1))
    #expect(queue.nextBatch()?.tickets == [1])
    queue.add(2, write(2))
    queue.add(3, write(3))
    #expect(queue.nextBatch()?.tickets == nil)
    #expect(queue.writesWaiting == 2)
    queue.finishedWriting()
    let next = queue.nextBatch()
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
    var queue = RelayCommitQueue()
    for number in 0...RelayCommitQueue.maximumBatchWrites {
      queue.add(UInt64(number), write(UInt64(number)))
    }
    #expect(queue.nextBatch()?.tickets.count == RelayCommitQueue.maximumBatchWrites)
    queue.finishedWriting()
    #expect(queue.nextBatch()?.tickets == [UInt64(RelayCommitQueue.maximumBatchWrites)])
  }

  @Test("reads go one at a time, beside writes")
  func reads() {
    var queue = RelayCommitQueue()
    let read = RelayRead(mailbox: .zero, authority: nil, question: .head)
    queue.add(1, read)
    queue.add(2, read)
    queue.add(3, write(3))
    #expect(queue.nextRead()?.ticket == 1)
    #expect(queue.nextRead()?.ticket == nil && queue.readsWaiting == 1)
    #expect(queue.nextBatch()?.tickets == [3])
    queue.finishedReading()
    #expect(queue.nextRead()?.ticket == 2)
  }
}
