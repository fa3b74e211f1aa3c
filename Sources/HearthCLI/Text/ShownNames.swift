import HearthCRDT
import HearthMembership
import HearthSync

/// The names of people in lists, marked so that nobody is confused with somebody else.
///
/// A name that another person also has is followed by the person's id. A name that looks like
/// another one is followed by that name: `Аnna (looks like Anna; 3f2a09bb)`. Both of two such
/// people are marked, because a name does not show who had it first. The result is still text of
/// others; see ``Style/safe(_:)``.
struct ShownNames: Sendable {
  private struct Entry: Sendable {
    let person: PersonChoice
    let folded: String
    let skeleton: LookAlike.Skeleton
  }

  private let entries: [Entry]
  private let places: [PersonID: Int]
  private let byFolded: [String: [Int]]
  private let bySight: [String: [Int]]
  private let byLetters: [String: [Int]]

  init(_ everybody: [PersonChoice]) {
    entries = everybody.map {
      Entry(
        person: $0, folded: NameFolding.fold($0.name), skeleton: LookAlike.Skeleton($0.name))
    }
    let entries = self.entries
    places = Dictionary(
      entries.indices.map { (entries[$0].person.id, $0) }, uniquingKeysWith: { first, _ in first })
    byFolded = Dictionary(grouping: entries.indices) { entries[$0].folded }
    bySight = Dictionary(grouping: entries.indices) { entries[$0].skeleton.bySight }
    byLetters = Dictionary(grouping: entries.indices) { entries[$0].skeleton.byLetters }
  }

  /// The members of a household, and the former members on request.
  init(of membership: Membership, withFormer: Bool = false) {
    let people = membership.people + (withFormer ? membership.formerPeople : [])
    self.init(people.map(PersonChoice.init))
  }

  /// A person's name with a mark that distinguishes it from others' names; nil for a stranger.
  func name(of id: PersonID) -> String? {
    guard let place = places[id] else { return nil }
    let person = entries[place].person
    let isDoubled = byFolded[entries[place].folded, default: []].count > 1
    let others = lookAlikes(of: id)
    guard isDoubled || !others.isEmpty else { return person.name }
    let marks = (others.isEmpty ? [] : [ShownNames.mark(others.map(\.name))]) + [ShortID.text(id)]
    return "\(person.name) (\(marks.joined(separator: "; ")))"
  }

  /// A person's name, marked only if it looks like somebody else's; nil for a stranger.
  func markedName(of id: PersonID) -> String? {
    guard let place = places[id] else { return nil }
    return lookAlikes(of: id).isEmpty ? entries[place].person.name : name(of: id)
  }

  /// Other people whose names have another spelling and look like this person's.
  func lookAlikes(of id: PersonID) -> [PersonChoice] {
    guard let place = places[id] else { return [] }
    return others(like: entries[place].skeleton, besides: entries[place].folded)
  }

  /// People whose names have another spelling and look like a newcomer's.
  func lookAlikes(ofNewcomer name: String) -> [PersonChoice] {
    others(like: LookAlike.Skeleton(name), besides: NameFolding.fold(name))
  }

  /// A newcomer's name, marked with the device if it looks like a member's.
  func name(ofNewcomer name: String, on device: DeviceID) -> String {
    let others = lookAlikes(ofNewcomer: name)
    guard !others.isEmpty else { return name }
    return ShownNames.words(name, like: others.map(\.name), onDevice: ShortID.text(device))
  }

  /// The name of somebody who asks to become a person of the household.
  ///
  /// It is also marked if a member has exactly that name, because two namesakes cannot be
  /// distinguished later.
  func name(ofRequester name: String, on device: DeviceID) -> String {
    let others = lookAlikes(ofNewcomer: name)
    let namesakes = namesakes(ofNewcomer: name)
    guard !namesakes.isEmpty else { return self.name(ofNewcomer: name, on: device) }
    let ids = namesakes.map { ShortID.text($0.id) }.joined(separator: " and ")
    let marks =
      ["there is already a \(namesakes[0].name), \(ids)"]
      + (others.isEmpty ? [] : [ShownNames.mark(others.map(\.name))])
      + ["device \(ShortID.text(device))"]
    return "\(name) (\(marks.joined(separator: "; ")))"
  }

  /// People with a newcomer's name, in order of id.
  func namesakes(ofNewcomer name: String) -> [PersonChoice] {
    byFolded[NameFolding.fold(name), default: []].map { entries[$0].person }
      .sorted { $0.id < $1.id }
  }

  /// The marked name of somebody of whom only the device is known yet.
  static func words(_ name: String, like others: [String], onDevice device: String) -> String {
    "\(name) (\(mark(others)); device \(device))"
  }

  private func others(like skeleton: LookAlike.Skeleton, besides folded: String) -> [PersonChoice] {
    let alike = Set(
      bySight[skeleton.bySight, default: []] + byLetters[skeleton.byLetters, default: []])
    return alike.filter { entries[$0].folded != folded }.map { entries[$0].person }
      .sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }

  private static func mark(_ others: [String]) -> String {
    "looks like " + others.joined(separator: " and ")
  }
}
