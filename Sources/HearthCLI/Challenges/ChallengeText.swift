import HearthCRDT
import Household

/// An entry of the challenge history in a JSON document.
struct ChallengeEntryDocument: Encodable {
  let entry, day, at, outcome, title, category, challenge, catalogue: String
  let minutes: Int
  let rating: Int?
  let note, reason: String?

  init(_ one: ChallengeEntry) {
    entry = one.attempt.hex
    day = one.day.iso
    at = MomentText.iso(one.milliseconds)
    outcome = one.outcome.rawValue
    title = one.card.title
    category = one.card.category
    challenge = one.card.key.id
    catalogue = one.card.catalogueName
    minutes = one.card.minutes
    rating = one.rating
    note = one.note
    reason = one.reason?.rawValue
  }
}

/// A catalogue's challenge in a JSON document.
struct ChallengeOfferDocument: Encodable {
  let challenge, catalogue, title, description, category: String
  let minutes: Int
  let company, cost: String?
  let difficulty: Int?
  let lastDone: String?
  /// Whether it matches the person's wishes.
  let isWanted: Bool

  init(_ offer: ChallengeOffer, lastDone: CivilDate?, isWanted: Bool) {
    challenge = offer.card.key.id
    catalogue = offer.card.catalogueName
    title = offer.card.title
    description = offer.text
    category = offer.card.category
    minutes = offer.card.minutes
    company = offer.company?.rawValue
    cost = offer.cost?.rawValue
    difficulty = offer.difficulty
    self.lastDone = lastDone?.iso
    self.isWanted = isWanted
  }
}

/// A day's challenge in a JSON document.
struct DayChallengeDocument: Encodable {
  let day, state, title, category, challenge, catalogue: String
  let minutes: Int
  let choice, description: String?
  let entry: ChallengeEntryDocument?
  let alsoDone: [ChallengeEntryDocument]
  /// The streak in days.
  let streak: Int

  init(_ challenge: DayChallenge, _ offer: ChallengeOffer?, streak: Int) {
    day = challenge.day.iso
    state = challenge.state.rawValue
    title = challenge.card.title
    category = challenge.card.category
    self.challenge = challenge.card.key.id
    catalogue = challenge.card.catalogueName
    minutes = challenge.card.minutes
    choice = challenge.choice?.rawValue
    description = offer?.text
    entry = challenge.entry.map(ChallengeEntryDocument.init)
    alsoDone = challenge.alsoDone.map(ChallengeEntryDocument.init)
    self.streak = streak
  }
}

/// The text of challenges.
enum ChallengeText {
  /// The kind of challenge, in one line.
  static func kind(_ card: ChallengeCard, _ offer: ChallengeOffer?) -> String {
    var parts = [Style.safe(card.category)]
    if card.minutes > 0 { parts.append("about \(Words.count(card.minutes, "minute"))") }
    if let company = offer?.company { parts.append(words(company)) }
    if let cost = offer?.cost { parts.append(words(cost)) }
    if let difficulty = offer?.difficulty { parts.append("level \(difficulty)") }
    return parts.filter { !$0.isEmpty }.joined(separator: ", ")
  }

  static func words(_ company: ChallengeCompany) -> String {
    switch company {
    case .solo: "alone"
    case .pair: "with somebody"
    case .household: "with everyone at home"
    case .community: "with people from outside"
    }
  }

  static func words(_ cost: ChallengeCost) -> String {
    switch cost {
    case .free: "free"
    case .small: "costs a little"
    case .medium: "costs something"
    case .large: "costs more"
    }
  }

  /// A day's challenge, one line per fact.
  static func lines(_ challenge: DayChallenge, _ offer: ChallengeOffer?) -> [String] {
    var lines = [
      Style.bold(Style.safe(challenge.card.title)), kind(challenge.card, offer),
    ]
    if let text = offer?.text, !text.isEmpty { lines.append(Style.safe(text)) }
    lines.append("state: " + state(challenge))
    if let note = challenge.entry?.note { lines += noteLines(note) }
    for other in challenge.alsoDone { lines.append("also done: \(Style.safe(other.card.title))") }
    return lines.filter { !$0.isEmpty }
  }

  /// The state of a day's challenge.
  static func state(_ challenge: DayChallenge) -> String {
    switch challenge.state {
    case .pending: "not done yet"
    case .completed: "done" + (challenge.entry?.rating.map { ", " + stars($0) } ?? "")
    case .skipped: "skipped" + (challenge.entry?.reason.map { ": " + $0.words } ?? "")
    }
  }

  static func stars(_ rating: Int) -> String { Words.count(rating, "star") }

  static func noteLines(_ note: String) -> [String] {
    note.split(separator: "\n").map { "note: " + Style.safe(String($0)) }
  }

  /// The streak; empty if it is at most one day.
  static func streak(_ days: Int) -> String {
    days > 1 ? ", \(days) days in a row" : ""
  }

  /// The mean number of stars with one digit, rounded half up.
  static func mean(_ stars: Int, of count: Int) -> String {
    let tenths = (stars * 20 + count) / (2 * count)
    return "\(tenths / 10).\(tenths % 10)"
  }
}
