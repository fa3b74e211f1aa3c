import HearthCRDT

/// The result of receiving segments of one zone.
package struct ReceiveReport: Sendable {
  /// The number of applied changes.
  package internal(set) var applied = 0
  /// The authors with new changes, in order.
  package internal(set) var authors: [Author] = []
  /// The unusable segments by digest, with the reason in words.
  package internal(set) var refused: [(digest: Identifier, reason: String)] = []
  /// The refused segments that are remembered as such.
  var noted: [Refusals.Refused] = []
  /// The segments that do not stay pending, because they count only if an earlier change arrives.
  var dropped: [Identifier] = []
  /// The number of pending segments, by reason.
  package internal(set) var waiting: [PendingReason: Int] = [:]
  /// The changes that cite what their authors cannot have seen.
  package internal(set) var falseClaims: [FalseClaim] = []
  /// The first contradicting changes of authors that were found to have published two histories.
  package internal(set) var forks: [Dot] = []
  /// The first contradicting changes in logs of a control zone.
  var contradicted: [Dot] = []
  /// The contradictions that can be shown to anybody.
  var evidence: [ForkEvidence] = []
  /// The changes that are void by their content.
  var voids: [VoidChange] = []
  /// The changes with which applied authors introduced themselves.
  var introduced: [[Change]] = []

  package init() {}

  /// Notes that a segment can never be used.
  mutating func refuse(_ bytes: [UInt8], digest: Identifier, _ error: any Error) {
    Probe.segmentRefused.hit()
    refused.append((digest, "\(error)"))
    // Damage in the own store says nothing about the file, which may be needed to repair it.
    guard segmentDigest(bytes) == digest else { return }
    noted.append(Refusals.Refused(digest: digest, kind: .forever))
  }

  /// Merges the report of a retry of pending segments.
  mutating func add(_ later: ReceiveReport) {
    applied += later.applied
    authors = Set(authors + later.authors).sorted()
    refused += later.refused
    noted += later.noted
    dropped += later.dropped
    waiting = later.waiting
    falseClaims += later.falseClaims
    forks += later.forks
    evidence += later.evidence
    contradicted += later.contradicted
  }
}
