import HearthCRDT
import HearthStore
import HearthSync
import Household

/// What honest people wrote is there, whatever somebody claims to have seen: a title that no honest
/// change replaced is shown or stands beside the one that is, a tag that no honest change took off
/// is on.
///
/// A lie counts for what its author can have seen, or for nothing; which of both is no matter here.
struct HonestWork {
  /// The number of a chore's title.
  static let title = FieldID(.register, 1)
  /// The number of a chore's tags.
  static let tags = FieldID(.set, 10)

  private struct Write {
    let dot: Dot
    let past: Frontier
    let operation: Operation
    let isHonest: Bool

    func sees(_ other: Write) -> Bool { past.covers(other.dot) }
  }

  private let world: World
  private let device: SimDevice

  init(_ world: World, _ device: SimDevice) {
    self.world = world
    self.device = device
  }

  func check() throws {
    guard !world.lies.isEmpty, let home = device.home else { return }
    let frontier = try device.engine().zone(home).frontier
    let changes = world.allChanges.filter { frontier.covers($0.key) }
    let roles = ChangeRoles(changes, in: home, by: try PeopleLog(of: device, in: world))
    guard roles.isWhole else { return }
    let writes =
      self.writes(changes, roles)
      + world.lies.map {
        Write(dot: $0.dot, past: $0.known, operation: $0.operation, isHonest: false)
      }
    for key in Set(world.lies.map(\.operation.key)).sorted() {
      let state = try device.engine().store.records.record(key, in: home)
      try compare(writes.filter { $0.operation.key == key }, state, key)
    }
    SimProbe.honestWorkCompared.hit()
  }

  /// What changes did to titles and tags, each with all that its author had seen; lies apart.
  private func writes(_ changes: [Dot: Change], _ roles: ChangeRoles) -> [Write] {
    let lies = Set(world.lies.map(\.dot))
    var found: [Write] = []
    var seen = Frontier()
    var author: Author?
    for dot in changes.keys.sorted() {
      guard let change = changes[dot] else { continue }
      if dot.author != author { (author, seen) = (dot.author, Frontier()) }
      seen = seen.raised(by: change.seen) ?? seen
      var past = seen
      past.advance(dot.author, to: dot.sequence - 1)
      for operation in change.operations
      where operation.key.type == HouseholdSchema.chore && roles.role(dot) != nil
        && !lies.contains(dot)
      {
        found.append(
          Write(
            dot: dot, past: past, operation: operation,
            isHonest: world.hostileChanges[dot] == nil))
      }
    }
    return found
  }

  private func compare(_ writes: [Write], _ stored: StoredRecord?, _ key: RecordKey) throws {
    guard writes.contains(where: \.isHonest) else { return }
    guard case .record(let state)? = stored else {
      throw world.fail(.durability, device, "chore \(key.id.hex.prefix(6)) is not there")
    }
    let titles = writes.filter {
      if case .assign(HonestWork.title, _) = $0.operation.body { true } else { false }
    }
    var dots: Set<Dot> = []
    if case .register(let register)? = state[HonestWork.title] {
      dots = Set(register.siblings.map(\.version.dot))
    }
    for write in titles where write.isHonest && !titles.contains(where: { $0.sees(write) }) {
      guard dots.contains(write.dot) else {
        throw world.fail(.durability, device, "the title that \(write.dot) gave is lost")
      }
    }
    let shown = Set(state.elements(HonestWork.tags).compactMap(\.text))
    for write in writes where write.isHonest {
      guard case .include(HonestWork.tags, .text(let tag)) = write.operation.body else { continue }
      let isGone = writes.contains {
        guard case .exclude(HonestWork.tags, let value) = $0.operation.body else { return false }
        return value == .text(tag) && $0.sees(write)
      }
      guard isGone || shown.contains(tag) else {
        throw world.fail(.durability, device, "the tag \(tag) that \(write.dot) put on is lost")
      }
    }
  }
}
