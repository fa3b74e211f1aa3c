/// A seeded bug, one of which a simulation makes active to see that its checks can fail.
///
/// Exists in simulation builds only; elsewhere ``isActive`` is the constant `false` and the
/// compiler removes what it guards. A bug that escaped into a release gets a mutant here before
/// it is mended.
package enum Mutant: String, CaseIterable, Sendable {
  // HearthCRDT: values
  /// Among concurrent values the one that arrived last is shown.
  case tieByArrival
  /// A write covers values that its author had not seen.
  case coversUnseen
  /// A deletion covers writes that its author had not seen.
  case deletesUnseen
  /// A deletion wins over a concurrent edit.
  case deleteWins
  /// An element's removal removes concurrent additions too.
  case removesUnseenElements
  /// An element's addition takes the place of concurrent ones.
  case includeCoversUnseen
  /// A counter keeps the last amount of an author instead of the sum.
  case counterAsRegister
  /// A value of a history does not replace those that its author had seen.
  case historyReplacesNothing
  /// Elements are encoded in the order of their arrival.
  case unorderedEncoding
  /// Unknown fields of a record are dropped when its row is read and written again.
  case dropsUnknownFields
  /// Bytes that follow a complete encoding are accepted.
  case acceptsTrailingBytes
  /// A received time is accepted however far ahead it is.
  case trustsRemoteClock
  /// The own clock may go back below what was seen.
  case clockGoesBack
  /// The own clock is not raised by what others wrote.
  case ignoresOthersClocks
  /// Set back behind what others wrote, the own clock forgets its own last time.
  case forgetsOwnTime

  // HearthSync: order and log
  /// A change is applied without those that its author had seen.
  case skipsCauses
  /// A change is applied without what its author had seen of the household's members.
  case skipsControlCauses
  /// A change of an author is applied although an earlier one is missing.
  case skipsGaps
  /// What an author had written itself does not count as seen by it.
  case forgetsOwnPast
  /// What is delivered again is applied again.
  case countsEachDelivery
  /// A segment that must wait counts as applied.
  case dropsPending
  /// Where no key may be used, own changes are sealed under whichever was learnt last.
  case lastKeyMoves
  /// What waits when the node opens goes under a key whose end its author cites.
  case lastKeyIgnoresHeads
  /// What waits to be said of people when the node opens is sealed under the key learnt last.
  case sealsUnderLastLearnt
  /// A newcomer keeps what a snapshot has of somebody whose joining came to nothing since.
  case keepsUninvited
  /// A merged file that nobody who is left can read counts as there.
  case believesClosedFiles
  /// A reader hands no key to others, though nobody else has it.
  case readersKeepKeys
  /// A removal with a larger cut than another of the same time does not give back what that took.
  case cutsOnlyTake
  /// What readers and newcomers say under a key that is over counts only with a new one, which
  /// readers cannot make.
  case readersNeedNewKeys
  /// The head of a log is not saved with a received segment.
  case forgetsHead
  /// Own changes beyond the saved head are forgotten when the node opens.
  case forgetsOwnTail
  /// The log is written outside of the transaction of the records.
  case logApart
  /// A bad segment ends the round.
  case oneBadFileStops
  /// A file that is damaged in place stays as it is.
  case leavesDamage
  /// A segment's signature is not looked at.
  case skipsSignature
  /// A segment's hash chain is not followed.
  case skipsChain
  /// What is cited is not compared with the log by its hash.
  case citesByNumber
  /// Who cites a change need not have seen what that change had seen.
  case citesWithoutPast
  /// A life counts among the records that the members' log tells nothing of.
  case livesNeedNoPlace
  /// As much waits as comes.
  case waitsWithoutBound
  /// What an author has used up of a record is forgotten when the record is saved.
  case forgetsCharges
  /// Of a transaction beyond a role the half counts that the role allows.
  case countsByHalves
  /// Building records anew leaves out own changes that no segment holds.
  case rebuildForgetsUnsealed

  // HearthSync: lives
  /// A restored node goes on under its old life.
  case keepsOldLife
  /// What another copy contradicts is taken back also where it cannot be written again.
  case takesBackAsStranger
  /// The anchor is never compared.
  case ignoresAnchor
  /// The anchor is noted after segments were stored instead of before.
  case anchorsLate
  /// Changes that another copy has published are not looked for.
  case neverLooksForOwn
  /// Files of the same changes under another digest are never looked into.
  case neverLooksForTwins

  // HearthSync: exchange and snapshots
  /// What was published counts as kept by the others: own segments leave the log.
  case forgetsPublished
  /// The changes are published in the clear beside the segment.
  case publishesTitle
  /// Files are published again though the transport has them.
  case publishesAlways
  /// Small own segments are never merged.
  case neverCompacts
  /// Merging segments leaves out the last change.
  case mergesShort
  /// What was merged is taken away before the merged segment is there.
  case removesBeforeMerged
  /// Merged files of those who do not come by a folder or relay themselves stay there.
  case leavesOthersMerged
  /// Records that are deleted are not taken over from a snapshot.
  case snapshotDropsDeletes
  /// A snapshot is loaded without its frontier.
  case snapshotWithoutFrontier

  // HearthSync: people and keys
  /// Which of two operations of the members' log knew the other is told by their clocks.
  case comparesClocks
  /// A removal does nothing to what the removed person did to others at the same time.
  case removalStrikesNothing
  /// What a removed device wrote counts wherever its author did not know of the removal.
  case ignoresCut
  /// A cut names the logs of the devices only that a person has still.
  case cutsOnlyPresent
  /// What others wrote counts for what the author was, without a look at cuts, when it arrives.
  case judgesOnlyOwn
  /// What was written beside a demotion counts for the role of before.
  case demotionLooksBack
  /// What a role may do is looked at when writing only.
  case foldsAnyRole
  /// A change of the members does not reach the records that are there.
  case keepsOldJudgement
  /// An offer of the household is taken without the other's consent.
  case ownerByOffer
  /// An invitation lets in more than it allows where nobody had seen the others.
  case countsSeenUses
  /// A closed invitation still lets in.
  case closedStillAdmits
  /// Who has seen an operation may say not to have seen what that one had seen.
  case pastsMayBeOpen
  /// Nobody's rank keeps them from touching others.
  case ranksDoNotBind
  /// A removal or revocation ends entries that its author had not seen.
  case endsWhatWasNotSeen
  /// Of two roles of one person that of the lower rank stands.
  case lowerRankGoesFirst
  /// Nothing makes a joining final.
  case entryIsNeverFinal
  /// A key or role confirms joinings that its author knew to wait.
  case keysConfirmWhoWaits
  /// What turned out to be void has taken part in settling the rest.
  case settlesOnce
  /// Who stands there only by one side of a dispute is a witness of it.
  case partiesAreWitnesses
  /// A former owner's silence confirms a hand-over that recovery words had ended.
  case silenceConfirmsWhatEnded
  /// Joinings that give different ranks do not use up the same invitation.
  case countsUsesByRank
  /// New keys are made after the next write instead of with the removal.
  case rotatesAfterWrite
  /// New keys go to whoever was there before the removal.
  case wrapsToCachedMembers
  /// A new key is sealed to no recovery words.
  case forgetsWords
  /// Doors are filled in the session alone in which a mailbox was made.
  case fillsDoorsAtOnceOrNever
  /// New keys that go with somebody's return are not sealed to the words it had before.
  case returnsWithoutWords
  /// A recovery capsule that lacks keys is not written anew.
  case capsuleStaysOld
  /// Devices that recovery words have ended are given the keys made with that.
  case wordsEndNobody
  /// What was asked counts as answered where the device has come in by another way.
  case settlesByAnyWayIn
  /// An answer is put back in the place of that of whoever let the same device in later.
  case putsOldAnswersBack
  /// A newcomer believes every snapshot by a member.
  case believesAnySnapshot
  /// A key is written under although somebody who has it was removed at the same time.
  case writesUnderExposedKey

  // HearthSync, HearthTransport: the relay's client
  /// What a relay shows of its log is not compared with what it had shown.
  case trustsOldIndex
  /// The chain of a relay's listing is not followed.
  case skipsRelayChain
  /// A ping that waits for its answer wakes the program again and again.
  case wakesForUnansweredPing
  /// The access keys of mailboxes stay as they are after a removal.
  case neverTurnsKeys
  /// Nothing is left for those who were away when the access key was changed.
  case leavesDoorsEmpty
  /// Nothing is left for those of whom somebody had not heard who changed the access key.
  case forgetsPassedBy
  /// Devices that have gone stay on the lists of mailboxes.
  case listsWhoHasGone
  /// The way in is left for those too who were removed.
  case doorsForEverybody
  /// What earlier lives of this device wrote is not taken from others.
  case skipsOwnEarlierLives
  /// Newcomers who read from their joining on are given the keys of before.
  case invitesWithOldKeys
  /// Invitations carry keys too of which nobody here knows yet who was removed when they were made.
  case handsOnUntoldKeys
  /// A new key leads to those before it, whatever newcomers may read.
  case epochTellsOfThePast
  /// Nobody sees to it that there is a snapshot which newcomers can open.
  case noSnapshotForNewcomers
  /// A snapshot by somebody who was an admin once counts as there for newcomers.
  case trustsFormerMakers
  /// Expired invitations are closed after somebody was invited, and not before.
  case closesAfterInviting
  /// A zone goes on resting on a snapshot with one of two histories, of which neither counts.
  case keepsForkedBase
  /// A snapshot under a key that a member is not given counts as there for all.
  case forgetsWhoCameMeanwhile

  // HearthRelay
  /// The relay's database is opened with `synchronous=OFF`.
  case relayNeverSyncs
  /// A relay that is started again goes on behind what a failed sync left in its journal.
  case relayKeepsJournal
  /// Sessions with an old access key go on after it was changed.
  case relaySparesOldKeys
  /// What is put a second time takes a position without an entry.
  case relayLeavesGaps

  // HearthStore
  /// Success is told though the commit failed.
  case acknowledgesEarly
  /// The database is opened with `synchronous=OFF`.
  case neverSyncs
  /// A part of a transaction that fails is left in it.
  case leavesFailedPart
  /// Whoever verifies a node does not compare its records with its log.
  case auditPassesRecords
  /// Records of types that the program does not know are not kept.
  case dropsUnknownTypes
  /// A newer program does not take over what an older one kept unread.
  case upgradeForgetsOpaque

  // Household
  /// An undo counts only where it arrived with what it undoes.
  case undoByArrival
  /// An undo counts only where its clock is beyond that of what it undoes.
  case undoByClock
  /// Everybody who did an occurrence is paid in full.
  case paysTwice
  /// An award is the price of today instead of the one that the doer saw.
  case paysPresentPrice
  /// A completion concurrent with the archiving of its chore is void.
  case archiveWins
  /// The next date by the calendar is counted from the day of completion.
  case nextFromCompletion
  /// Whose turn an occurrence is counts from those that are shown before it.
  case countsShownTurns
  /// Of what is shown as due today though it is late, today decides whose turn it is.
  case turnsByShownDay
  /// Of several occurrences by the calendar the second is left out.
  case leavesOutOccurrence
  /// Two completions of a chain within half a day are one, whoever knew of what.
  case chainIgnoresCause
  /// What is dated after tomorrow counts at once.
  case countsDaysToCome
  /// The ledger's rows stay as they were first written.
  case staleLedger
  /// Points of a day are added again at each fold.
  case pointsAddUp

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
