/// What goes wrong between the copies of the shared folder.
struct DeliveryFaults: Sendable {
  /// Every n-th delivery does not arrive in its round; 0 for none.
  var losing = 0
  /// A delivery arrives up to as many rounds late.
  var delay = 0
  /// Every n-th removal is undone on arrival; 0 for none.
  var returning = 0
  /// Every n-th call of a node to its folder fails; 0 for none.
  var failing = 0
  private var deliveries = 0
  private var removals = 0
  private var calls = 0
  private var generator: SeededGenerator

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
  }

  /// The rounds by which a delivery is late from the start.
  mutating func lateness() -> Int { delay > 0 ? generator.below(delay + 1) : 0 }

  /// Whether the next delivery is lost.
  mutating func isLost() -> Bool { DeliveryFaults.isDue(losing, &deliveries) }

  /// Whether the next removal is undone.
  mutating func isUndone() -> Bool { DeliveryFaults.isDue(returning, &removals) }

  /// Whether the next call fails.
  mutating func isRefused() -> Bool { DeliveryFaults.isDue(failing, &calls) }

  private static func isDue(_ period: Int, _ count: inout Int) -> Bool {
    guard period > 0 else { return false }
    count += 1
    return count.isMultiple(of: period)
  }
}
