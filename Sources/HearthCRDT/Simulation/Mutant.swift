/// A seeded bug.
///
/// A simulation activates one mutant to verify that its checks can fail.
///
/// Mutants exist in simulation builds only. In other builds ``isActive`` is the constant `false`,
/// and the compiler removes the code behind it. A bug that escaped into a release gets a mutant
/// here before it is fixed.
@usableFromInline package enum Mutant: String, CaseIterable, Sendable {
  // HearthCRDT: values
  /// Among concurrent values the last arrival is displayed.
  case tieByArrival
  /// A write replaces values that its author had not seen.
  case coversUnseen
  /// A deletion removes writes that its author had not seen.
  case deletesUnseen
  /// A deletion wins over a concurrent edit.
  case deleteWins
  /// The removal of an element also removes concurrent additions.
  case removesUnseenElements
  /// The addition of an element replaces concurrent additions.
  case includeCoversUnseen
  /// A counter keeps an author's last amount instead of the sum.
  case counterAsRegister
  /// A value of a history does not replace the values that its author had seen.
  case historyReplacesNothing
  /// Elements are encoded in order of arrival.
  case unorderedEncoding
  /// Unknown fields of a record are dropped when its row is read and written again.
  case dropsUnknownFields
  /// Bytes that follow a complete encoding are accepted.
  case acceptsTrailingBytes
  /// A received time is accepted, however far ahead it is.
  case trustsRemoteClock
  /// The local clock may go back behind times that it saw.
  case clockGoesBack
  /// Times written by others do not raise the local clock.
  case ignoresOthersClocks
  /// The local clock forgets its own last time when it is set back behind the times of others.
  case forgetsOwnTime

  // HearthSync: order and log
  /// A change is applied without the changes that its author had seen.
  case skipsCauses
  /// A change is applied without the control changes that its author had seen.
  case skipsControlCauses
  /// An author's change is applied although an earlier one is missing.
  case skipsGaps
  /// An author's own earlier changes do not count as seen by that author.
  case forgetsOwnPast
  /// A segment that is delivered again is applied again.
  case countsEachDelivery
  /// A pending segment counts as applied.
  case dropsPending
  /// If no key may be used, own changes are sealed under the key learnt last.
  case lastKeyMoves
  /// Pending changes at the start of a node are sealed under a key whose end their author cites.
  case lastKeyIgnoresHeads
  /// Pending control operations at the start of a node are sealed under the key learnt last.
  case sealsUnderLastLearnt
  /// A newcomer keeps a snapshot's content by a person whose join has since been overridden.
  case keepsUninvited
  /// A merged file that no remaining member can read counts as present.
  case believesClosedFiles
  /// A reader hands no key to others, though nobody else has it.
  case readersKeepKeys
  /// A removal with a larger cut than a concurrent removal does not restore what the other one
  /// removed.
  case cutsOnlyTake
  /// Admins of after a handover of ownership confirm it at each sync, without effect.
  case confirmsInVain
  /// The head of a log is not saved with a received segment.
  case forgetsHead
  /// Own changes beyond the saved head are lost when the node opens.
  case forgetsOwnTail
  /// The log is written outside of the records' transaction.
  case logApart
  /// A bad segment ends the round.
  case oneBadFileStops
  /// A file with bit rot is not repaired.
  case leavesDamage
  /// A segment's signature is not verified.
  case skipsSignature
  /// A segment's hash chain is not verified.
  case skipsChain
  /// The hash of a citation is not compared with the log.
  case citesByNumber
  /// An author who cites a change need not have seen that change's past.
  case citesWithoutPast
  /// An incarnation that the control log does not mention counts among the records.
  case livesNeedNoPlace
  /// The number of pending segments has no limit.
  case waitsWithoutBound
  /// Segments behind a gap in their log are opened with every delivery, and again each time.
  case opensWhatWaits
  /// An author's charges on a record are lost when the record is saved.
  case forgetsCharges
  /// If a transaction exceeds a role, the permitted half still has effect.
  case countsByHalves
  /// A rebuild of records omits own changes that are not in a segment yet.
  case rebuildForgetsUnsealed

  // HearthSync: incarnations
  /// A restored node continues under its old incarnation.
  case keepsOldLife
  /// Changes that another copy contradicts are withdrawn even if they cannot be written again.
  case takesBackAsStranger
  /// The rollback guard is never compared.
  case ignoresAnchor
  /// The rollback guard is updated after segments were stored instead of before.
  case anchorsLate
  /// The node does not look for own changes that another copy has published.
  case neverLooksForOwn
  /// Files with the same changes under another digest are never opened.
  case neverLooksForTwins

  // HearthSync: exchange and snapshots
  /// Published segments count as acknowledged, so own segments are removed from the log.
  case forgetsPublished
  /// The changes are published in plaintext beside the segment.
  case publishesTitle
  /// Files are published again although the transport has them.
  case publishesAlways
  /// Small own segments are never merged.
  case neverCompacts
  /// A merge of segments omits the last change.
  case mergesShort
  /// The merged segments are removed before the new segment is stored.
  case removesBeforeMerged
  /// Merged files remain on a folder or relay if their authors do not visit it themselves.
  case leavesOthersMerged
  /// Deleted records are not loaded from a snapshot.
  case snapshotDropsDeletes
  /// A snapshot is loaded without its frontier.
  case snapshotWithoutFrontier

  // HearthSync: people and keys
  /// Causal order between two operations of the control log is decided by their clocks.
  case comparesClocks
  /// A removal does not override the removed person's concurrent operations on others.
  case removalStrikesNothing
  /// All changes of a removed device whose author did not know of the removal have effect.
  case ignoresCut
  /// A cut lists only the logs of the person's current devices.
  case cutsOnlyPresent
  /// On arrival, others' changes are judged by their author's role alone, without cuts.
  case judgesOnlyOwn
  /// A change concurrent with a demotion counts for the earlier role.
  case demotionLooksBack
  /// The rights of a role are checked only for local writes.
  case foldsAnyRole
  /// A change of membership does not affect existing records.
  case keepsOldJudgement
  /// An ownership offer is effective without the other person's acceptance.
  case ownerByOffer
  /// An invitation admits more people than it allows if no author had seen the other uses.
  case countsSeenUses
  /// A closed invitation still admits people.
  case closedStillAdmits
  /// An author who has seen an operation may deny that operation's past.
  case pastsMayBeOpen
  /// Rank does not limit anybody's operations on others.
  case ranksDoNotBind
  /// A removal or revocation ends entries that its author had not seen.
  case endsWhatWasNotSeen
  /// Between two roles of one person, the role set by the lower rank wins.
  case lowerRankGoesFirst
  /// Nothing makes a join final.
  case entryIsNeverFinal
  /// The device that made a person's id has no better claim to the id than others.
  case idsBelongToNobody
  /// A key or role confirms joins that its author knew to be pending.
  case keysConfirmWhoWaits
  /// A void operation took part in resolving other conflicts.
  case settlesOnce
  /// A person whose status depends on one side of a dispute is a witness of the dispute.
  case partiesAreWitnesses
  /// A former owner's silence confirms a handover that had ended.
  case silenceConfirmsWhatEnded
  /// Joins that give different ranks do not consume uses of the same invitation.
  case countsUsesByRank
  /// New keys are made after the next write instead of with the removal.
  case rotatesAfterWrite
  /// New keys are sealed to the members before the removal.
  case wrapsToCachedMembers
  /// A new key is sealed to no recovery words.
  case forgetsWords
  /// Rekey handoffs are left only in the session that created a mailbox.
  case fillsHandoffsAtOnceOrNever = "fillsDoorsAtOnceOrNever"
  /// New keys made with a person's return are not sealed to the person's earlier recovery words.
  case returnsWithoutWords
  /// A recovery bundle that lacks keys is not renewed.
  case capsuleStaysOld
  /// Devices that a recovery ended receive the keys that were made with the recovery.
  case wordsEndNobody
  /// A request counts as answered if the device has joined by another invitation.
  case settlesByAnyWayIn
  /// An answer replaces the answer of an author who admitted the same device later.
  case putsOldAnswersBack
  /// A newcomer trusts any member's snapshot.
  case believesAnySnapshot
  /// A key is used for writing although a holder of it was removed concurrently.
  case writesUnderExposedKey

  // HearthSync, HearthTransport: the relay's client
  /// The log that a relay presents is not compared with its earlier log.
  case trustsOldIndex
  /// What could not be stored of a relay's log when it was learnt is not stored later either.
  case storesLogOnce
  /// The chain of a relay's listing is not verified.
  case skipsRelayChain
  /// A ping that waits for its answer wakes the program repeatedly.
  case wakesForUnansweredPing
  /// The access keys of mailboxes do not change after a removal.
  case neverTurnsKeys
  /// No rekey handoff is left for devices that were away when the access key changed.
  case leavesHandoffsEmpty = "leavesDoorsEmpty"
  /// No rekey handoff is left for devices that the author of the new access key had not heard of.
  case forgetsPassedBy
  /// After several new keys, a rekey handoff is left behind the relay's last one only.
  case skipsHandoffsBetween = "skipsDoorsBetween"
  /// Former devices stay on the access lists of mailboxes.
  case listsWhoHasGone
  /// Rekey handoffs are left for removed devices too.
  case handoffsForEverybody = "doorsForEverybody"
  /// Content of this device's earlier incarnations is not fetched from others.
  case skipsOwnEarlierLives
  /// Newcomers who read from their join on receive the earlier keys.
  case invitesWithOldKeys
  /// Invitations contain keys although this device does not know yet who was removed when the keys
  /// were made.
  case handsOnUntoldKeys
  /// A new key leads to its predecessors, regardless of what newcomers may read.
  case epochTellsOfThePast
  /// Nobody provides a snapshot that newcomers can open.
  case noSnapshotForNewcomers
  /// A former admin's snapshot counts as available to newcomers.
  case trustsFormerMakers
  /// Expired invitations are closed after a new invitation, not before.
  case closesAfterInviting
  /// A snapshot by somebody who knew of a removal is kept after that removal was overruled.
  case keepsOverruledBase
  /// A zone continues to build on a snapshot with one of two branches of which neither counts.
  case keepsForkedBase
  /// A snapshot under a key that a member does not receive counts as available to all.
  case forgetsWhoCameMeanwhile

  // HearthRelay
  /// The relay's database is opened with `synchronous=OFF`.
  case relayNeverSyncs
  /// A restarted relay continues behind the remains of a failed sync in its journal.
  case relayKeepsJournal
  /// Sessions with an old access key continue after a change of the key.
  case relaySparesOldKeys
  /// A repeated put takes a position without an entry.
  case relayLeavesGaps

  // HearthStore
  /// Success is reported although the commit failed.
  case acknowledgesEarly
  /// The database is opened with `synchronous=OFF`.
  case neverSyncs
  /// A failed part of a transaction remains in it.
  case leavesFailedPart
  /// The verification of a node does not compare its records with its log.
  case auditPassesRecords
  /// Records of types that the program does not know are dropped.
  case dropsUnknownTypes
  /// A newer program does not interpret records that an older one kept unread.
  case upgradeForgetsOpaque

  // Household
  /// An undo has effect only if it arrived together with the operation that it undoes.
  case undoByArrival
  /// An undo has effect only if its clock is beyond the clock of the operation that it undoes.
  case undoByClock
  /// Every person who completed an occurrence is paid in full.
  case paysTwice
  /// An award uses today's price instead of the price that the person saw.
  case paysPresentPrice
  /// A completion concurrent with the archiving of its chore is void.
  case archiveWins
  /// The next calendar date is computed from the day of completion.
  case nextFromCompletion
  /// The turn of an occurrence is counted from the displayed occurrences before it.
  case countsShownTurns
  /// If a late occurrence is displayed as due today, its turn is decided by today.
  case turnsByShownDay
  /// Of several calendar occurrences the second is omitted.
  case leavesOutOccurrence
  /// Two completions of a chain within half a day count as one, regardless of causality.
  case chainIgnoresCause
  /// A link of a chain counts however often its author had seen the chain done before.
  case chainComesAnyDay
  /// Completions dated after tomorrow count at once.
  case countsDaysToCome
  /// The ledger's rows keep their first content.
  case staleLedger
  /// A day's points are added again at each fold.
  case pointsAddUp

  #if HEARTH_SIMULATION
    // Set once by the simulator before a run, from the only thread that runs the code.
    nonisolated(unsafe) private static var active: Mutant?

    /// Activates one mutant, or none.
    package static func activate(_ mutant: Mutant?) { active = mutant }

    /// Whether this mutant is the active one.
    @inline(__always)
    package var isActive: Bool { Mutant.active == self }
  #else
    /// Always false outside of simulations.
    @inlinable @inline(__always)
    package var isActive: Bool { false }
  #endif
}
