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
    citations: [Citation] = [], eventID: RecordID? = nil, branch: Int? = nil
  ) {
    self.id = id
    self.eventID = eventID ?? id
    self.version = version
    position = version.dot
    self.cause = cause
    self.operation = operation
    self.citations = citations
    self.branch = branch
    shown = operation.card.map(ControlIdentity.cardID)
    isByMaker = ControlItem.isByMaker(operation, shown)
  }

  private static func isByMaker(_ operation: ControlOperation, _ shown: DeviceID?) -> Bool {
    guard let shown, let join = operation.joining else { return false }
    return join.person == personID(madeBy: shown)
  }

  private init(_ item: ControlItem, at position: Dot, cause: Frontier) {
    id = item.id
    eventID = item.eventID
    version = item.version
    self.position = position
    self.cause = cause
    operation = item.operation
    citations = item.citations
    branch = item.branch
    shown = item.shown
    isByMaker = item.isByMaker
  }

  /// The device that wrote it.
  package var device: DeviceID { version.dot.author.device }

  func having(seen more: Frontier) -> ControlItem {
    placed(at: position, cause: cause.joined(with: more))
  }

  func placed(at position: Dot, cause: Frontier) -> ControlItem {
    ControlItem(self, at: position, cause: cause)
  }
}
