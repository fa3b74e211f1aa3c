import HearthCRDT
import HearthSync

/// The draw of a day's challenge: it uses no randomness, so devices agree without a message (R22).
package enum ChallengeDraw {
  /// Draws one of the challenges that are wanted and were not done lately; nil if there is none.
  ///
  /// Each challenge gets a hash of person, day, catalogue with its version, and challenge; the
  /// least hash wins. Two devices of a person with the same catalogues draw the same challenge. If
  /// one device knows a few more challenges, the two still mostly agree.
  package static func draw(
    among offers: [ChallengeOffer], filter: ChallengeFilter, doneLately: Set<ChallengeKey>,
    for person: PersonID, on day: CivilDate
  ) -> ChallengeOffer? {
    let lots = offers.filter { filter.accepts($0) && !doneLately.contains($0.card.key) }
      .map { (lot: lot(of: $0, for: person, on: day), offer: $0) }
    return lots.min { ($0.lot, $0.offer.card.key) < ($1.lot, $1.offer.card.key) }?.offer
  }

  private static func lot(
    of offer: ChallengeOffer, for person: PersonID, on day: CivilDate
  ) -> Identifier {
    var writer = ByteWriter(capacity: 128)
    writer.signed(Int64(day.dayNumber))
    writer.identifier(offer.card.key.catalogue)
    writer.varint(offer.version)
    writer.blob(Array(offer.card.key.id.utf8))
    return naturalID(in: person, type: HouseholdSchema.dailyChallenge, key: writer.bytes)
  }
}
