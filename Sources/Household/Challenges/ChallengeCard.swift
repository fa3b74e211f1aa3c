import HearthCRDT

/// The identity of a challenge: a catalogue and an id in it.
package struct ChallengeKey: Hashable, Comparable, Sendable {
  package let catalogue: Identifier
  package let id: String

  package init(catalogue: Identifier, id: String) {
    self.catalogue = catalogue
    self.id = id
  }

  /// Order by catalogue, then by id.
  package static func < (left: ChallengeKey, right: ChallengeKey) -> Bool {
    (left.catalogue, left.id) < (right.catalogue, right.id)
  }
}

/// The fields of a challenge that a history keeps, so that it outlives its catalogue.
package struct ChallengeCard: Hashable, Sendable {
  /// The longest id in a catalogue.
  package static let maximumIDBytes = 64
  /// The longest name of a catalogue.
  package static let maximumCatalogueBytes = 32
  /// The longest name of a category.
  package static let maximumCategoryBytes = 32
  /// The allowed duration; a challenge does not extend beyond its day.
  package static let minutes = 0...1_440

  package let key: ChallengeKey
  package let catalogueName: String
  package let title: String
  package let category: String
  /// The estimated duration; 0 if unknown.
  package let minutes: Int

  /// Reads the fields of a catalogue or record; nil if a history cannot keep them.
  package init?(
    key: ChallengeKey, catalogueName: String, title: String, category: String, minutes: Int
  ) {
    guard (1...ChallengeCard.maximumIDBytes).contains(key.id.utf8.count),
      catalogueName.utf8.count <= ChallengeCard.maximumCatalogueBytes,
      Validation.isText(title, characters: Validation.titleCharacters),
      category.utf8.count <= ChallengeCard.maximumCategoryBytes,
      ChallengeCard.minutes.contains(minutes)
    else { return nil }
    self.key = key
    self.catalogueName = catalogueName
    self.title = title
    self.category = category
    self.minutes = minutes
  }
}

/// The company in which a challenge is done.
package enum ChallengeCompany: String, CaseIterable, Sendable {
  case solo
  case pair
  case household
  case community
}

/// The cost of a challenge, in rising order.
package enum ChallengeCost: String, CaseIterable, Sendable {
  case free
  case small
  case medium
  case large

  /// Whether it costs no more than another.
  func isAtMost(_ other: ChallengeCost) -> Bool {
    let order = ChallengeCost.allCases
    return (order.firstIndex(of: self) ?? 0) <= (order.firstIndex(of: other) ?? 0)
  }
}

/// A challenge in a followed catalogue; a field that the catalogue omits is nil.
package struct ChallengeOffer: Equatable, Sendable {
  package let card: ChallengeCard
  /// The catalogue's version, which is an input of the draw (R22).
  package let version: UInt64
  package let text: String
  package let company: ChallengeCompany?
  package let cost: ChallengeCost?
  package let difficulty: Int?

  package init(
    _ card: ChallengeCard, version: UInt64, text: String, company: ChallengeCompany?,
    cost: ChallengeCost?, difficulty: Int?
  ) {
    self.card = card
    self.version = version
    self.text = text
    self.company = company
    self.cost = cost
    self.difficulty = difficulty
  }
}

/// A person's wishes for challenges; a nil field accepts any.
package struct ChallengeFilter: Equatable, Sendable {
  /// The known categories.
  package static let categories = [
    "adventure", "calm", "connection", "creativity", "curiosity", "kindness", "kitchen", "movement",
  ]
  /// The levels of difficulty.
  package static let difficulties = 1...5

  package var categories: Set<String>?
  /// The most minutes.
  package var minutes: Int?
  /// The hardest level.
  package var difficulty: Int?
  package var companies: Set<ChallengeCompany>?
  /// The highest cost.
  package var cost: ChallengeCost?

  /// A filter that accepts everything.
  package init() {}

  /// Whether the filter accepts the challenge; a field that the catalogue omits satisfies no wish.
  package func accepts(_ offer: ChallengeOffer) -> Bool {
    if let categories, !categories.contains(offer.card.category) { return false }
    if let minutes, !(1...minutes).contains(offer.card.minutes) { return false }
    if let difficulty {
      guard let level = offer.difficulty, level <= difficulty else { return false }
    }
    if let companies {
      guard let company = offer.company, companies.contains(company) else { return false }
    }
    if let cost {
      guard let price = offer.cost, price.isAtMost(cost) else { return false }
    }
    return true
  }
}
