import HearthCRDT

/// Which challenge is meant: a catalogue and an id in it.
package struct ChallengeKey: Hashable, Comparable, Sendable {
  package let catalogue: Identifier
  package let id: String

  /// Names a challenge.
  package init(catalogue: Identifier, id: String) {
    self.catalogue = catalogue
    self.id = id
  }

  /// The order of catalogue, then of id.
  package static func < (left: ChallengeKey, right: ChallengeKey) -> Bool {
    (left.catalogue, left.id) < (right.catalogue, right.id)
  }
}

/// What a history keeps of a challenge, so that it can be read when its catalogue is gone.
package struct ChallengeCard: Hashable, Sendable {
  /// The longest id, as catalogues have them.
  package static let maximumIDBytes = 64
  /// The longest name of a catalogue.
  package static let maximumCatalogueBytes = 32
  /// The longest word for a category.
  package static let maximumCategoryBytes = 32
  /// How long a challenge may take: not beyond its day.
  package static let minutes = 0...1_440

  package let key: ChallengeKey
  package let catalogueName: String
  package let title: String
  package let category: String
  /// A fair guess at how long it takes; 0 where nobody made one.
  package let minutes: Int

  /// Takes what a catalogue or a record says; nil for what no history could keep.
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

/// With whom a challenge is done.
package enum ChallengeCompany: String, CaseIterable, Sendable {
  case solo
  case pair
  case household
  case community
}

/// What a challenge costs, rising.
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

/// A challenge that a followed catalogue offers; what the catalogue does not say is nil.
package struct ChallengeOffer: Equatable, Sendable {
  package let card: ChallengeCard
  /// The catalogue's version, which takes part in the draw (R22).
  package let version: UInt64
  package let text: String
  package let company: ChallengeCompany?
  package let cost: ChallengeCost?
  package let difficulty: Int?

  /// Takes what a catalogue offers.
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

/// Which challenges a person wants; nil wants any.
package struct ChallengeFilter: Equatable, Sendable {
  /// The categories there are.
  package static let categories = [
    "adventure", "calm", "connection", "creativity", "curiosity", "kindness", "kitchen", "movement",
  ]
  /// The levels of difficulty there are.
  package static let difficulties = 1...5

  package var categories: Set<String>?
  /// The most minutes.
  package var minutes: Int?
  /// The hardest level.
  package var difficulty: Int?
  package var companies: Set<ChallengeCompany>?
  /// The most it may cost.
  package var cost: ChallengeCost?

  /// A filter that lets everything pass.
  package init() {}

  /// Whether the challenge is wanted; what a catalogue does not say of it fits no wish about it.
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
