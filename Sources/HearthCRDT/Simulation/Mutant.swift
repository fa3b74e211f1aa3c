/// A seeded bug, one of which a simulation makes active to see that its checks can fail.
///
/// Exists in simulation builds only; elsewhere ``isActive`` is the constant `false` and the
/// compiler removes what it guards. A bug that escaped into a release gets a mutant here before
/// it is mended.
package enum Mutant: String, CaseIterable, Sendable {
  /// Among concurrent values the one that arrived last is shown.
  case tieByArrival
  /// A segment is applied without the changes that its author had seen.
  case skipsCauses
  /// A change of an author is applied although an earlier one is missing.
  case skipsGaps
  /// A counter adds its delta once more at each delivery.
  case countsEachDelivery
  /// A write covers values that its author had not seen.
  case coversUnseen
  /// A deletion covers writes that its author had not seen.
  case deletesUnseen
  /// An element's removal removes concurrent additions too.
  case removesUnseenElements
  /// Receiving advances the clock without a limit.
  case trustsRemoteClock
  /// The own clock may go back below what was seen.
  case clockGoesBack
  /// A restored node goes on under its old life.
  case keepsOldLife
  /// The anchor is never compared.
  case ignoresAnchor
  /// The log is written outside of the transaction of the records.
  case logApart
  /// Success is told before the commit.
  case acknowledgesEarly
  /// The database is opened with `synchronous=OFF`.
  case neverSyncs
  /// Segments are published before they are in the database.
  case publishesBeforeDurable
  /// What was published counts as kept by the others: the own segments leave the log.
  case forgetsPublished
  /// The head of a log is not saved with a received segment.
  case forgetsHead
  /// A segment that must wait is dropped.
  case dropsPending
  /// A bad segment ends the round.
  case oneBadFileStops
  /// A segment's signature is not looked at.
  case skipsSignature
  /// A segment's hash chain is not followed.
  case skipsChain
  /// An undo counts only where it arrived after what it undoes.
  case undoByArrival
  /// Every completion of an occurrence is paid.
  case paysTwice
  /// An award is the price of today instead of the one that the doer saw.
  case paysPresentPrice
  /// A completion concurrent with the archiving of its chore is void.
  case archiveWins
  /// The next date is counted from the day of completion.
  case nextFromCompletion
  /// The ledger's rows stay when a completion is taken back.
  case staleLedger
  /// Points of a day are added again at each fold.
  case pointsAddUp
  /// A snapshot leaves out the deletes of records.
  case snapshotDropsDeletes
  /// A snapshot leaves out fields that the program does not know.
  case snapshotDropsUnknown
  /// A snapshot is loaded without its frontier.
  case snapshotWithoutFrontier
  /// Unknown fields of a record are dropped when the row is written.
  case dropsUnknownFields
  /// Changed elements are encoded in the order of a dictionary.
  case unorderedEncoding
  /// Names are published in the clear beside the segment.
  case publishesTitle
  /// A segment is sealed under a nonce that repeats.
  case repeatsNonce
  /// Files are published again though the transport has them.
  case publishesAlways
  /// Small own segments are never merged.
  case neverCompacts
  /// Merged segments are removed before the larger one is there.
  case removesBeforePublishing
  /// A change larger than a limit is accepted from outside.
  case trustsLengths
  /// Whoever signs may be admitted by an invitation that was used up.
  case invitationNeverUsed
  /// A reader's changes count.
  case readersWrite
  /// The cursor into a peer's folder is taken as the proof that its files were applied.
  case cursorBeforeApply

  #if HEARTH_SIMULATION
    // Set once by the simulator before a run, from the only thread that runs the code.
    nonisolated(unsafe) private static var active: Mutant?

    /// Makes one mutant active, or none.
    package static func activate(_ mutant: Mutant?) { active = mutant }

    /// Whether this mutant is the active one.
    @inline(__always)
    package var isActive: Bool { Mutant.active == self }
  #else
    /// Never outside of simulations.
    @inlinable @inline(__always)
    package var isActive: Bool { false }
  #endif
}
