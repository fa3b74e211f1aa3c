/// A place in the code, or a situation, that simulations must reach.
///
/// A run does not test what never happens in it.
///
/// Only simulation builds count hits. In other builds ``hit()`` does nothing.
@usableFromInline package enum Probe: String, CaseIterable, Sendable {
  // The order and the log
  case causeMissing = "engine.cause-missing"
  case causeMissingInControl = "engine.cause-missing-in-control"
  case gapInLog = "engine.gap-in-log"
  case authorUnknown = "engine.author-unknown"
  case authorIntroducesItself = "engine.author-introduces-itself"
  case strangerWaits = "engine.stranger-waits"
  case segmentRefused = "engine.segment-refused"
  case fileDecayed = "exchange.damaged-file-found"
  case fileRestored = "exchange.damaged-file-put-right"
  case refusedBefore = "engine.segment-refused-before"
  case segmentWaits = "engine.segment-waits"
  case segmentCovered = "engine.segment-covered"
  case partOfSegmentKnown = "engine.part-of-segment-known"
  case partOfSegmentTaken = "engine.part-of-segment-taken"
  case pendingApplied = "engine.pending-applied"
  case forkSeen = "engine.fork-seen"
  case falseClaimSeen = "engine.false-claim-seen"
  case evidencePassedOn = "engine.evidence-passed-on"
  case segmentsMerged = "engine.segments-merged"
  case severalChangesInSegment = "engine.several-changes-in-segment"
  case headSavedWithWrite = "engine.head-saved-with-write"
  case ownHeadCaughtUp = "engine.own-head-caught-up"
  // Incarnations of a device
  case newLife = "life.new-life"
  case reissued = "life.reissued"
  case reissueRefused = "life.reissue-refused"
  case foreignOwnSegment = "life.foreign-own-segment"
  case earlierLifeContradicted = "life.earlier-life-contradicted"
  case rebuiltWithUnsealed = "life.rebuilt-with-unsealed"
  case rebuiltFromSnapshot = "life.rebuilt-from-snapshot"
  case anchorMissing = "life.anchor-missing"
  case anchorOneAhead = "life.anchor-one-ahead"
  case anchorAhead = "life.anchor-ahead"
  case anchorBehind = "life.anchor-behind"
  case anchorCopied = "life.anchor-copied"
  // Clocks
  case clockHeldBack = "clock.clock-held-back"
  case ownClockStepsBack = "clock.own-clock-steps-back"
  case clockCounts = "clock.clock-counts"
  case clockNoticed = "clock.clock-noticed"
  // People and keys
  case operationStruck = "people.operation-struck"
  case epochsJoined = "people.epochs-joined"
  case epochOverdue = "people.epoch-overdue"
  case keyHandedOn = "people.key-handed-on"
  case keyComplained = "people.key-complained"
  case keyLearntAhead = "people.key-learnt-ahead"
  case ownSegmentTakenOver = "life.own-segment-taken-over"
  case twinContradicts = "engine.twin-contradicts"
  case forkReissued = "life.fork-reissued"
  case copyLeavesJoining = "people.copy-leaves-joining"
  case joinedAlready = "people.joined-already"
  case keyLearntFromStranger = "people.key-learnt-from-stranger"
  case zoneRejudged = "people.zone-rejudged"
  case changeVoid = "people.change-void"
  case changeDemoted = "people.change-demoted"
  case transactionVoid = "people.transaction-void"
  case datedAhead = "household.dated-ahead"
  case cutHolds = "people.cut-holds"
  case inviteOver = "people.invite-over"
  case closedBeforeInviting = "people.closed-before-inviting"
  case closedBeforeReading = "people.closed-before-reading"
  case changesAdopted = "people.changes-adopted"
  // Exchanges
  case roundFailed = "exchange.round-failed"
  case fetchFailed = "exchange.fetch-failed"
  case otherCoverTried = "exchange.other-cover-tried"
  case notYetMember = "exchange.not-yet-member"
  case passedOn = "exchange.passed-on"
  case supersededDropped = "exchange.superseded-dropped"
  case othersMergedDropped = "exchange.others-merged-dropped"
  case gapInListing = "exchange.gap-in-listing"
  // Snapshots
  case snapshotPublished = "snapshot.snapshot-published"
  case snapshotUsed = "snapshot.snapshot-used"
  case snapshotRefused = "snapshot.snapshot-refused"
  case snapshotNoCandidate = "snapshot.snapshot-no-candidate"
  case snapshotIncomplete = "snapshot.snapshot-incomplete"
  case snapshotHeadsLong = "snapshot.snapshot-heads-long"
  case snapshotForwarded = "snapshot.snapshot-forwarded"
  case snapshotReplaced = "snapshot.snapshot-replaced"
  case snapshotContradicted = "snapshot.snapshot-contradicted"
  case snapshotForNewcomers = "snapshot.snapshot-for-newcomers"
  case snapshotOfFormerAdmin = "snapshot.snapshot-of-former-admin"
  case snapshotTakenLater = "snapshot.snapshot-taken-later"
  case snapshotAttested = "snapshot.snapshot-attested"
  case stateTold = "comparing.state-told"
  case stateCompared = "comparing.state-compared"
  case snapshotUnbelieved = "snapshot.snapshot-unbelieved"
  // The relay's client
  case handoffPassed = "relay.door-passed"
  case handoffRefilled = "relay.door-refilled"
  case passedByLed = "relay.passed-by-led"
  case accessRenewed = "relay.access-renewed"
  case renewalLost = "relay.renewal-lost"
  case handoffSpoilt = "relay.door-spoilt"
  case managerPutRight = "relay.manager-put-right"
  case logContradicted = "relay.log-contradicted"
  case logLost = "relay.log-lost"
  case logExchanged = "relay.log-exchanged"
  case logSetBack = "relay.log-set-back"
  case pushSparedFetch = "relay.push-spared-fetch"
  case pushSparedListing = "relay.push-spared-listing"
  case openingSparedListing = "relay.opening-spared-listing"
  case nameTaken = "relay.name-taken"
  case questionAskedAgain = "relay.question-asked-again"
  case connectionStale = "relay.connection-stale"
  case brokenOff = "relay.broken-off"
  // The relay
  case closedByRotation = "relay.closed-by-rotation"
  case accessChangedInFlight = "relay.access-changed-in-flight"
  case questionCrossedClosing = "relay.question-crossed-closing"
  case quotaReached = "relay.quota-reached"
  case writesTogether = "relay.writes-together"
  case logFailed = "relay.log-failed"
  case pushedNews = "relay.pushed-news"
  // Values
  case siblingMade = "crdt.sibling-made"
  case siblingCovered = "crdt.sibling-covered"
  case severalSiblings = "crdt.several-siblings"
  case recordDeleted = "crdt.record-deleted"
  case recordRevived = "crdt.record-revived"
  case deleteConcurrentWithWrite = "crdt.delete-concurrent-with-write"
  case elementAddWins = "crdt.element-add-wins"
  case elementRemoved = "crdt.element-removed"
  case elementAddedTwice = "crdt.element-added-twice"
  case counterShared = "crdt.counter-shared"
  case historyMerged = "crdt.history-merged"
  case historyConcurrent = "crdt.history-concurrent"
  // The store
  case transactionUndone = "store.transaction-undone"
  case unknownTypeKept = "store.unknown-type-kept"
  case unknownTypeAdopted = "store.unknown-type-adopted"
  case unknownFieldPromoted = "store.unknown-field-promoted"
  case shownValueSupplied = "store.shown-value-supplied"
  // The rules of the household
  case archivedHasNoOpening = "household.archived-has-no-opening"
  case assignedOnce = "household.assigned-once"
  case bookedLate = "household.booked-late"
  case chainNextLink = "household.chain-next-link"
  case chainSameWork = "household.chain-same-work"
  case chainSkipped = "household.chain-skipped"
  case chainTooEarly = "household.chain-too-early"
  case closedTwice = "household.closed-twice"
  case completionUndone = "household.completion-undone"
  case daysClosed = "household.days-closed"
  case doneBySeveral = "household.done-by-several"
  case doneTwiceByOne = "household.done-twice-by-one"
  case doneWhileArchived = "household.done-while-archived"
  case dueFromCompletion = "household.due-from-completion"
  case firstOpenAhead = "household.first-open-ahead"
  case ledgerRowChanged = "household.ledger-row-changed"
  case missedRolled = "household.missed-rolled"
  case movedIntoWindow = "household.moved-into-window"
  case neverOverdue = "household.never-overdue"
  case onceClosed = "household.once-closed"
  case paidEach = "household.paid-each"
  case paidSplit = "household.paid-split"
  case policyChanged = "household.policy-changed"
  case priceOfThen = "household.price-of-then"
  case rotationByDate = "household.rotation-by-date"
  case rotationByTurn = "household.rotation-by-turn"
  case rotationLeastDone = "household.rotation-least-done"
  case rotationRandom = "household.rotation-random"
  case strictAssignee = "household.strict-assignee"
  case undoOfClosedDay = "household.undo-of-closed-day"

  #if HEARTH_SIMULATION
    // Accessed only by the one thread that runs a simulation.
    nonisolated(unsafe) private static var counts = [Int](repeating: 0, count: allCases.count)
    private static let places = Dictionary(
      uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })

    /// Counts one hit.
    package func hit() { Probe.counts[Probe.places[self] ?? 0] += 1 }

    /// Counts one hit if a condition holds.
    package func hit(if condition: @autoclosure () -> Bool) {
      if condition() { hit() }
    }

    /// The number of hits of each probe since the last reset, in order.
    package static func read() -> [(probe: Probe, count: Int)] {
      zip(allCases, counts).map { ($0, $1) }
    }

    /// Sets all counts to zero.
    package static func reset() { counts = [Int](repeating: 0, count: allCases.count) }
  #else
    /// Does nothing outside of simulations.
    @inlinable @inline(__always)
    package func hit() {}

    /// Does nothing outside of simulations; the condition is not evaluated.
    @inlinable @inline(__always)
    package func hit(if condition: @autoclosure () -> Bool) {}
  #endif
}
