import HearthCRDT
import HearthSync
import Synchronization

/// A shared folder in memory, of which each person has a copy, and the program that brings changes
/// from one copy to the others.
///
/// Changes go on from whoever has them, so a person can get them from somebody who is not their
/// author. They arrive at the beginning of a round, in the order in which they were made.
final class FolderNetwork: Sendable {
  private struct Content {
    var changes: [FolderChange] = []
    var copies: [String: FolderCopy] = [:]
    /// The part in which each person is; everybody is in one with everybody else otherwise.
    var parts: [String: Int] = [:]
    var faults: DeliveryFaults

    func areConnected(_ one: String, _ other: String) -> Bool {
      parts[one, default: -1] == parts[other, default: -1]
    }

    /// The changes that a person lacks and that somebody connected has, in order.
    func lacking(at name: String) -> [Int] {
      guard let copy = copies[name] else { return [] }
      let others = copies.filter { $0.key != name && areConnected($0.key, name) }.map(\.value)
      return (copy.firstMissing..<max(copy.firstMissing, changes.count)).filter { number in
        !copy.arrived.contains(number) && others.contains { $0.arrived.contains(number) }
      }
    }

    mutating func deliver(to name: String) {
      guard var copy = copies[name] else { return }
      copy.round += 1
      for number in lacking(at: name) {
        let due = copy.due[number] ?? copy.round + faults.lateness()
        copy.due[number] = due
        guard due <= copy.round else { continue }
        if faults.isLost() {
          copy.due[number] = copy.round + 1
        } else if changes[number].bytes == nil, faults.isUndone() {
          copy.pass(number)
        } else {
          copy.take(number, changes[number])
        }
      }
      copies[name] = copy
    }

    mutating func make(_ change: FolderChange, by name: String) {
      let isNews =
        change.bytes == nil
        ? copies[name]?.has(change.name) ?? false
        : copies[name]?.bytes(of: change.name) != change.bytes
      guard isNews else { return }
      copies[name]?.take(changes.count, change)
      changes.append(change)
    }
  }

  private let content: Mutex<Content>

  init(seed: UInt64) {
    content = Mutex(Content(faults: DeliveryFaults(seed: seed)))
  }

  // MARK: People

  func add(_ name: String) {
    content.withLock { $0.copies[name] = FolderCopy() }
  }

  /// Parts people from each other; those who are in no part are alone together.
  func part(_ parts: [[String]]) {
    content.withLock { content in
      content.parts = [:]
      for (number, names) in parts.enumerated() {
        for name in names { content.parts[name] = number }
      }
    }
  }

  func areConnected(_ one: String, _ other: String) -> Bool {
    content.withLock { $0.areConnected(one, other) }
  }

  func change(_ body: (inout DeliveryFaults) -> Void) {
    content.withLock { body(&$0.faults) }
  }

  // MARK: Rounds

  /// Brings to a person what is due; nothing more arrives until the end of the round.
  func beginRound(of name: String) {
    content.withLock { content in
      content.deliver(to: name)
      content.copies[name]?.isInRound = true
    }
  }

  func endRound(of name: String) {
    content.withLock { $0.copies[name]?.isInRound = false }
  }

  /// The people to whom something is on its way.
  func waiting() -> [String] {
    content.withLock { content in
      content.copies.keys.sorted().filter { !content.lacking(at: $0).isEmpty }
    }
  }

  // MARK: Calls

  /// Ends a person's node after as many more calls.
  func endNode(of name: String, afterCalls count: Int?) {
    content.withLock { $0.copies[name]?.callsLeft = count }
  }

  /// What happens to a call of a person's node.
  enum Outcome {
    case goesOn
    case fails
    case ends
  }

  func outcome(ofCallBy name: String) -> Outcome {
    content.withLock { content in
      if let left = content.copies[name]?.callsLeft {
        content.copies[name]?.callsLeft = max(0, left - 1)
        if left <= 1 { return .ends }
      }
      return content.faults.isRefused() ? .fails : .goesOn
    }
  }

  /// Reads a person's copy; outside of a round what is due arrives first.
  func read<Result: Sendable>(
    _ name: String, _ body: (FolderCopy) throws -> Result
  ) rethrows -> Result {
    try content.withLock { content in
      if content.copies[name].map({ !$0.isInRound }) ?? false { content.deliver(to: name) }
      return try body(content.copies[name] ?? FolderCopy())
    }
  }

  func make(_ change: FolderChange, by name: String) {
    content.withLock { $0.make(change, by: name) }
  }
}
