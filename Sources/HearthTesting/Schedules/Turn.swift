import Foundation
import Hearth
import Synchronization

/// One action of one person in a schedule, with chance that follows from the schedule.
public final class Turn: Sendable {
  /// The name of the person who acts.
  public let name: String
  /// The family's zone on that person's device.
  public let zone: HearthZone
  /// The time.
  public let date: Date
  private let generator: Mutex<SeededGenerator>

  init(of name: String, in zone: HearthZone, at date: Date, seed: UInt64) {
    self.name = name
    self.zone = zone
    self.date = date
    generator = Mutex(SeededGenerator(seed: seed))
  }

  /// Returns a number from 0 up to but not including a bound; 0 for a bound below 1.
  public func below(_ bound: Int) -> Int { generator.withLock { $0.below(bound) } }

  /// Whether it happens this time: once in n times.
  public func oneIn(_ count: Int) -> Bool { below(count) == 0 }

  /// Returns one of several values.
  public func pick<Value>(_ first: Value, _ others: Value...) -> Value {
    let place = below(others.count + 1)
    return place == 0 ? first : others[place - 1]
  }

  /// Returns an element of a collection; nil if there is none.
  public func pick<Items: Collection>(from items: Items) -> Items.Element? {
    guard !items.isEmpty else { return nil }
    return items[items.index(items.startIndex, offsetBy: below(items.count))]
  }
}
