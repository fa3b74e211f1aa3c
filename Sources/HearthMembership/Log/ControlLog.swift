import HearthCRDT

/// A group's control operations in the one order on which all replicas agree: causal, and between
/// concurrent operations by Lamport number, author and sequence number.
struct ControlLog: Sendable {
  private(set) var items: [ControlItem]
  /// The operations of the initial log, contiguous for fast passes; added operations are not in
  /// this array, since each addition would copy all of it.
  private let first: [ControlOperation]
  private let firstInvites: [ControlOperation.InviteCreate?]
  /// The author's device of each operation, as an id and as a number.
  private(set) var devices: [DeviceID] = []
  private(set) var deviceNumbers: [Int] = []
  /// The number of the person that each operation admits, also for a further device.
  private(set) var comers: [Int?] = []
  /// The number of the device that each operation admits; for other operations the author's device.
  private(set) var entrants: [Int] = []
  /// The number of the invitation that each operation makes, closes or uses.
  private(set) var invited: [Int?] = []
  private(set) var people = Names()
  private(set) var deviceNames = Names()
  private(set) var invitations = Names()
  /// The meaning of citations in forked logs.
  let forked: ForkedCauses
  private(set) var causality: Causality
  /// The change of each operation.
  private(set) var changes: [Int]
  /// Changes whose authors state less than their citations imply.
  private var open: Set<Int> = []

  /// Orders items that arrive in any order.
  ///
  /// The Lamport number of a change is one more than the greatest that it had seen, so it depends
  /// on causes, not on clocks. O(c·a + n log n) for n items of c changes by a authors.
  init(_ said: [ControlItem], forks: ControlForks = ControlForks()) {
    var logs = ControlLog.byPosition(said)
    forked = ForkedCauses(forks, items: &logs)
    if !forked.isEmpty { logs = ControlLog.byPosition(logs) }
    let starts = logs.indices.filter { $0 == 0 || logs[$0].position != logs[$0 - 1].position }
    var knowledge = DeviceKnowledge(logs, forked.knowledge)
    let statements = starts.map { start in
      let item = logs[start]
      return Causality.Statement(
        position: item.position, name: item.name, stated: item.cause, more: knowledge.more(of: item)
      )
    }
    // Nobody who has seen an operation can state the causes that earlier incarnations add to it.
    let hasMore = forked.isEmpty && statements.contains(where: \.hasMore)
    var numbers: [Int] = []
    causality = Causality(statements, isChecked: forked.isEmpty && !hasMore) { numbers.append($0) }
    let (lamport, order, isOpen) = (causality.lamport, causality.order, causality.isOpen)
    open = Set(order.indices.filter { isOpen[$0] })
    if hasMore {
      let stated = Causality(statements.map(\.asStated), isChecked: true)
      let dots = Set(zip(stated.order, stated.isOpen).filter(\.1).map(\.0))
      open.formUnion(order.indices.filter { dots.contains(order[$0]) })
    }
    let sorted = order.indices.sorted { one, other in
      lamport[one] != lamport[other] ? lamport[one] < lamport[other] : order[one] < order[other]
    }
    items = []
    changes = []
    items.reserveCapacity(logs.count)
    changes.reserveCapacity(logs.count)
    for change in sorted {
      let number = numbers[change]
      let end = number + 1 < starts.count ? starts[number + 1] : logs.count
      if end - starts[number] == 1 {
        items.append(logs[starts[number]])
      } else {
        items += ControlLog.inOrder(logs[starts[number]..<end])
      }
      while changes.count < items.count { changes.append(change) }
    }
    first = items.map(\.operation)
    firstInvites = first.map(\.made)
    name(items)
  }

  func operation(_ place: Int) -> ControlOperation {
    place < first.count ? first[place] : items[place].operation
  }

  /// The terms of an invitation; nil for an operation that makes none.
  func terms(_ place: Int) -> ControlOperation.InviteCreate? {
    place < firstInvites.count ? firstInvites[place] : items[place].operation.made
  }

  /// Registers the identifiers in further operations.
  private mutating func name(_ items: some Sequence<ControlItem>) {
    for item in items {
      devices.append(item.device)
      let number = deviceNames.number(item.device)
      deviceNumbers.append(number)
      entrants.append(item.shown.map { deviceNames.number($0) } ?? number)
      comers.append(item.operation.comer.map { people.number($0) })
      invited.append(item.operation.invitation.map { invitations.number($0) })
      switch item.operation {
      case .removeMember(let person, _), .setRole(let person, _, _): _ = people.number(person)
      case .revokeDevice(let device, _): _ = deviceNames.number(device)
      default: break
      }
    }
  }

  /// Whether an operation is in the past of a later one, or earlier in the same change; O(1).
  func sees(_ later: Int, _ earlier: Int) -> Bool {
    if Mutant.comparesClocks.isActive {
      return earlier < later && items[earlier].version.time < items[later].version.time
    }
    guard earlier < later else { return false }
    return changes[later] == changes[earlier] || causality.sees(changes[later], changes[earlier])
  }

  /// The number of an operation's author.
  func author(_ place: Int) -> Int { causality.column[changes[place]] }

  /// Whether neither operation had seen the other.
  func areConcurrent(_ one: Int, _ other: Int) -> Bool {
    one != other && !sees(one, other) && !sees(other, one)
  }

  /// Whether an operation's author states to have seen a change without that change's own causes.
  func isOpen(_ place: Int) -> Bool { !open.isEmpty && open.contains(changes[place]) }

  /// Whether an operation is beyond everything that the author of a line had seen in any branch.
  ///
  /// A fork does not undo what its author had seen, so its other branches are not beyond the line.
  func isBeyond(_ place: Int, _ line: Int) -> Bool {
    guard place != line, !sees(line, place) else { return false }
    guard !forked.isEmpty else { return true }
    return !areBranches(line, place)
      && forked.beside[items[line].position.author]?.covers(items[place].position) != true
  }

  /// Whether an operation is beyond a line that its own author had not seen either.
  func isUnaware(_ place: Int, of line: Int) -> Bool { !sees(place, line) && isBeyond(place, line) }

  /// Whether two operations are in two branches of one incarnation's log.
  func areBranches(_ one: Int, _ other: Int) -> Bool {
    items[one].version.dot.author == items[other].version.dot.author && areConcurrent(one, other)
  }
}

extension ControlLog {
  /// Appends a change whose author had seen all others and that nobody has seen; else false.
  ///
  /// It also returns false if the author's device has another incarnation or a log is forked, since
  /// more is then known than the operations state.
  mutating func append(_ change: [ControlItem]) -> Bool {
    guard let position = change.first?.position, forked.isEmpty,
      causality.mayFollow(position), causality.isAll(change[0].cause, except: position.author)
    else { return false }
    causality.append(position, citing: change[0].cause)
    items += ControlLog.inOrder(change)
    name(items[changes.count...])
    while changes.count < items.count { changes.append(causality.order.count - 1) }
    return true
  }

  /// The items that this log lacks, if all other items are equal; nil if anything else has changed.
  func news(in all: [ControlItem]) -> [ControlItem]? {
    guard forked.isEmpty, all.count >= items.count else { return nil }
    var places: [RecordID: Int] = [:]
    for place in items.indices where places.updateValue(place, forKey: items[place].id) != nil {
      return nil
    }
    let news = all.filter { item in
      guard let place = places[item.id] else { return true }
      let known = items[place]
      return known.version != item.version || known.cause != item.cause
        || known.operation != item.operation
    }
    return news.count == all.count - items.count && news.allSatisfy { places[$0.id] == nil }
      ? news : nil
  }

  /// Items in order of position; those of one change in the order in which they are given.
  private static func byPosition(_ items: [ControlItem]) -> [ControlItem] {
    let positions = items.map(\.position)
    let order = positions.indices.sorted { one, other in
      positions[one] != positions[other] ? positions[one] < positions[other] : one < other
    }
    return order.map { items[$0] }
  }

  private static func inOrder(_ change: some Sequence<ControlItem>) -> [ControlItem] {
    change.sorted { one, other in
      let phases = (one.operation.phase, other.operation.phase)
      return phases.0 != phases.1 ? phases.0 < phases.1 : one.id < other.id
    }
  }
}
