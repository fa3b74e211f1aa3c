import HearthCRDT
import HearthSync
import Household
import TestSupport
import Testing

/// One person's devices that write challenges apart and meet when told.
final class TestChallenges {
  static let start = 20_000  // 2024-10-04, a Friday
  let replicas: [TestReplica]
  private(set) var changes: [TestChange] = []
  /// The day and the minute of that day; each write takes a minute.
  var day = TestChallenges.start
  var minute = 480
  private var ids: UInt64 = 1000

  init(devices: Int = 2) {
    replicas = (0..<devices).map { _ in TestReplica(projection: HouseholdProjection()) }
  }

  var today: CivilDate { get throws { try CivilDate(dayNumber: day) } }
  var milliseconds: UInt64 { UInt64(day * 1440 + minute) * 60_000 }

  func date(_ offset: Int) throws -> CivilDate {
    try CivilDate(dayNumber: TestChallenges.start + offset)
  }

  /// A challenge of the one catalogue; its category goes with its number.
  static func card(_ number: Int) throws -> ChallengeCard {
    try #require(
      ChallengeCard(
        key: ChallengeKey(catalogue: Identifier(high: 3, low: 3), id: "challenge-\(number)"),
        catalogueName: "hearth", title: "Challenge \(number)",
        category: ChallengeFilter.categories[number % 8], minutes: 5 + number))
  }

  func challenges(_ device: Int = 0) throws -> PersonChallenges {
    PersonChallenges(source: replicas[device], today: try today)
  }

  @discardableResult
  func write<R>(
    _ device: Int, _ body: (PersonChallenges, inout OperationBuilder) throws -> R
  ) throws -> R {
    minute += 1
    let replica = replicas[device]
    let author = Author(device: DeviceID(high: 7, low: UInt64(device)), incarnation: 1 << 32)
    let dot = Dot(author: author, sequence: replica.known[author] + 1)
    var builder = OperationBuilder(zone: replica.zone, dot: dot) {
      self.ids += 1
      // Spread, so that the order of names is not the order of time.
      return Identifier(high: self.ids &* 0x9e37_79b9_7f4a_7c15, low: self.ids)
    }
    let result = try body(try challenges(device), &builder)
    let change = TestChange(
      version: Version(dot: dot, time: HybridTime(milliseconds: milliseconds)),
      past: replica.known, operations: builder.operations)
    changes.append(change)
    try replica.apply(change)
    return result
  }

  /// Everybody gets everything.
  func meet() throws {
    for replica in replicas {
      for change in changes { try replica.apply(change) }
    }
  }

  func draw(_ number: Int, on device: Int = 0) throws {
    try write(device) { $0.assign(try TestChallenges.card(number), .drawn, in: &$1) }
  }

  func pick(_ number: Int, on device: Int = 0) throws {
    try write(device) { try $0.pick(try TestChallenges.card(number), in: &$1) }
  }

  func done(_ rating: Int? = nil, _ note: String? = nil, on device: Int = 0) throws {
    try write(device) {
      _ = try $0.complete(rating: rating, note: note, milliseconds: self.milliseconds, in: &$1)
    }
  }

  func skip(_ reason: SkipReason? = nil, on device: Int = 0) throws {
    try write(device) {
      _ = try $0.skip(reason: reason, milliseconds: self.milliseconds, in: &$1)
    }
  }

  func undoLast(on device: Int = 0) throws {
    let entry = try #require(try challenges(device).lastEntry())
    try write(device) { try $0.undo(entry, in: &$1) }
  }

  /// Today on a device, such as "2 completed, also 5".
  func shown(_ device: Int = 0) throws -> String {
    guard let challenge = try challenges(device).challenge(on: today) else { return "none" }
    let others = challenge.alsoDone.map { ", also \($0.card.key.id.dropFirst(10))" }.joined()
    return "\(challenge.card.key.id.dropFirst(10)) \(challenge.state)\(others)"
  }

  func history(_ device: Int = 0) throws -> [ChallengeEntry] {
    try challenges(device).history(after: nil, limit: 1000).entries
  }

  /// The changes in another order in which each still comes after its past.
  func shuffledChanges(_ random: inout TestSupport.SplitMix64) -> [TestChange] {
    var waiting = changes.shuffled(using: &random)
    var order: [TestChange] = []
    var known = Frontier()
    while let place = waiting.firstIndex(where: { known.covers($0.past) }) {
      let change = waiting.remove(at: place)
      known.advance(change.version.dot.author, to: change.version.dot.sequence)
      order.append(change)
    }
    #expect(waiting.isEmpty)
    return order
  }
}
