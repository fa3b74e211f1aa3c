import Foundation
import Hearth
import Testing

/// A thread for tasks that block, so that they take none from other tests.
private final class OwnThread: TaskExecutor {
  private let queue = DispatchQueue(label: "own-thread")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

@Suite("Reading beside writes")
struct ReadingTests {
  /// A transaction that stays open until a test lets it end.
  private final class Held: Sendable {
    private let begun = DispatchSemaphore(value: 0)
    private let end = DispatchSemaphore(value: 0)
    /// With all tests at once, a task may wait very long for a thread.
    private static let patience = DispatchTimeInterval.seconds(3_600)

    /// Called in the transaction.
    func hold() -> Bool {
      begun.signal()
      return end.wait(timeout: .now() + Held.patience) == .success
    }

    /// Waits for the transaction, outside of Swift's own threads.
    func began() async {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          _ = self.begun.wait(timeout: .now() + Held.patience)
          continuation.resume()
        }
      }
    }

    func release() { end.signal() }
  }

  @Test("Reads and first states of observations are answered while a transaction is open")
  func besideOpenTransaction() async throws {
    let zone = try await Shopping().zone()
    let milk = try await zone.insert(Item(name: "Milk"))
    let held = Held()
    let writing = Task(executorPreference: OwnThread()) {
      try await zone.write { tx in
        try tx.insert(Item(name: "Bread"))
        // A count tries the write in the store.
        _ = try tx.count(Item.all)
        return held.hold()
      }
    }
    await held.began()
    #expect(try await zone.fetch(Item.all).map(\.name) == ["Milk"])
    #expect(try await zone.get(milk.id)?.name == "Milk")
    #expect(try await zone.count(Item.where(\.name == "Bread")) == 0)
    #expect(try await zone.read { try $0.sum(of: \.quantity, Item.all) } == 0)
    var seen = zone.observe(Item.all.order(\.name)).makeAsyncIterator()
    // Without this state, no second one would come.
    try #require(try await seen.next()?.map(\.name) == ["Milk"])
    held.release()
    #expect(try await writing.value)
    #expect(try await zone.count(Item.all) == 2)
    #expect(try await seen.next()?.map(\.name) == ["Bread", "Milk"])
  }

  @Test("A read after a write that has returned sees it, of every zone")
  func ownWrites() async throws {
    let anna = try await Shopping().open("Anna")
    for round in 0..<3 {
      // Each zone is new to the reader.
      let zone = try await anna.shared.createZone(named: "\(round)")
      for number in 1...20 {
        try await zone.insert(Item(name: "\(number)"))
        #expect(try await zone.count(Item.all) == number)
      }
    }
    let own = try #require(await anna.personal.zones().first)
    try await own.insert(Item(name: "Present"))
    #expect(try await own.count(Item.all) == 1)
  }

  @Test("What is written while an observation reads wakes it, if it has read that")
  func writtenWhileReading() async throws {
    let zone = try await Shopping().zone()
    let (held, list) = (Held(), ShoppingList(name: "Week"))
    let states = zone.observe { reader in
      let count = try reader.count(ShoppingList.all)
      let items = try reader.count(Item.all)
      if items == 0 { _ = held.hold() }
      return [count, items]
    }
    let reading = Task(executorPreference: OwnThread()) {
      try await states.first { $0 == [1, 1] }
    }
    await held.began()
    try await zone.insert(list)
    try await zone.insert(Item(list: list.id, name: "Milk"))
    held.release()
    #expect(try await reading.value == [1, 1])
  }

  @Test("A closed node reads nothing")
  func closed() async throws {
    let anna = try await Shopping().open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    #expect(try await zone.count(Item.all) == 0)
    try await anna.close()
    #expect(await fault { _ = try await zone.count(Item.all) }?.code == .closed)
  }
}
