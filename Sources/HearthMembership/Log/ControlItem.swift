import HearthCRDT

extension Frontier {
  /// The number of known changes, which grows with each newly seen change.
  var total: UInt64 { entries.reduce(0) { $0 &+ $1.sequence } }
}

/// A control operation in the causal order: a class, so that ordering a log moves only pointers.
package final class ControlItem: Sendable {
  /// The operation's id: the id of its event, combined with the content if the log is forked.
  package let id: RecordID
  /// The id of its event.
  package let eventID: RecordID
  package let version: Version
  /// Its position in the causal order: its change, in its own branch of the log.
  package let position: Dot
  /// Everything that its author states to have seen, including the author's own earlier changes.
  package let cause: Frontier
  /// What its author had also seen in forked logs, by the authors of positions.
  let more: Frontier
  package let operation: ControlOperation
  /// The citations by content in its change.
  package let citations: [Citation]
  /// The run of a forked log that holds it; nil in a log without forks.
  package let branch: Int?
  /// The device whose keys it contains, valid or not; nil if it contains none.
  let shown: DeviceID?
  /// Whether the device that joins by it made the id of the person as whom it joins.
  let isByMaker: Bool

  package init(
    id: RecordID, version: Version, cause: Frontier, operation: ControlOperation,
    citations: [Citation] = [], eventID: RecordID? = nil
  ) {
    self.id = id
    self.eventID = eventID ?? id
    self.version = version
    position = version.dot
    self.cause = cause
    more = Frontier()
    self.operation = operation
    self.citations = citations
    branch = nil
    (shown, isByMaker) = operation.introduction
  }

  private init(_ item: ControlItem, at position: Dot, seen more: Frontier) {
    id = item.id
    eventID = item.eventID
    version = item.version
    self.position = position
    cause = item.cause
    self.more = more
    operation = item.operation
    citations = item.citations
    branch = item.branch
    (shown, isByMaker) = (item.shown, item.isByMaker)
  }

  /// Makes an operation of a run of a forked log.
  init(
    _ event: ShownChange.Event, version: Version, in branch: Int, at position: Dot,
    cause: Frontier, seen more: Frontier
  ) {
    id = event.id
    eventID = event.eventID
    self.version = version
    self.position = position
    self.cause = cause
    self.more = more
    operation = event.operation
    citations = []
    self.branch = branch
    (shown, isByMaker) = event.introduction
  }

  /// The device that wrote it.
  package var device: DeviceID { version.dot.author.device }

  /// The author as whom causes name its log; nil in a run, which only citations name.
  var name: Author? { branch == nil ? version.dot.author : nil }

  func placed(at position: Dot, seen more: Frontier) -> ControlItem {
    ControlItem(self, at: position, seen: more)
  }
}

extension ControlOperation {
  /// The device whose keys it contains, and whether that device made the id of the person as whom
  /// it joins.
  var introduction: (shown: DeviceID?, isByMaker: Bool) {
    guard let shown = card.map(ControlIdentity.cardID) else { return (nil, false) }
    return (shown, joining.map { $0.person == personID(madeBy: shown) } ?? false)
  }
}
