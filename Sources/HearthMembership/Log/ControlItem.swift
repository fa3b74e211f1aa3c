import HearthCRDT

extension Frontier {
  /// The number of known changes, which grows with each newly seen change.
  var total: UInt64 { entries.reduce(0) { $0 &+ $1.sequence } }
}

/// A control operation in the causal order: a class, so that ordering a log moves only pointers.
package final class ControlItem: Sendable {
  private let event: ShownChange.Event
  package let version: Version
  /// Its position in the causal order: its change, in its own branch of the log.
  package let position: Dot
  /// Everything that its author states to have seen, including the author's own earlier changes.
  package let cause: Frontier
  /// What its author had also seen in forked logs, by the authors of positions.
  let more: Frontier
  /// The citations by content in its change.
  package let citations: [Citation]
  /// The run of a forked log that holds it; nil in a log without forks.
  package let branch: Int?

  /// Makes an operation of a log without forks.
  package convenience init(
    id: RecordID, version: Version, cause: Frontier, operation: ControlOperation,
    citations: [Citation] = [], eventID: RecordID? = nil
  ) {
    self.init(
      ShownChange.Event(id: id, eventID: eventID ?? id, operation: operation), version: version,
      at: version.dot, cause: cause, seen: Frontier(), citations: citations)
  }

  /// Makes an operation of a run of a forked log, or of none.
  init(
    _ event: ShownChange.Event, version: Version, in branch: Int? = nil, at position: Dot,
    cause: Frontier, seen more: Frontier, citations: [Citation] = []
  ) {
    self.event = event
    self.version = version
    self.position = position
    self.cause = cause
    self.more = more
    self.citations = citations
    self.branch = branch
  }

  /// The operation's id: the id of its event, combined with the content if the log is forked.
  package var id: RecordID { event.id }
  /// The id of its event.
  package var eventID: RecordID { event.eventID }
  package var operation: ControlOperation { event.operation }
  /// The device whose keys it contains, valid or not; nil if it contains none.
  var shown: DeviceID? { event.introduction.shown }
  /// Whether the device that joins by it made the id of the person as whom it joins.
  var isByMaker: Bool { event.introduction.isByMaker }

  /// The device that wrote it.
  package var device: DeviceID { version.dot.author.device }

  /// The author as whom causes name its log; nil in a run, which only citations name.
  var name: Author? { branch == nil ? version.dot.author : nil }

  func placed(at position: Dot, seen more: Frontier) -> ControlItem {
    ControlItem(
      event, version: version, in: branch, at: position, cause: cause, seen: more,
      citations: citations)
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
