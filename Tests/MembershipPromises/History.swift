/// The abstract vocabulary: what an author writes and what a resolver answers.
///
/// An adapter translates `[Act]` into the operations of the product and the product's
/// answer into an `Outcome`. Nothing in this file knows who lies.

/// What a person is in the group.
///
/// Only ranks decide who may do what to whom.
package enum Role: Int, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  case reader, child, member, admin, owner

  /// Owner 4, admin 3, member 2, child and reader 1.
  package var rank: Int {
    switch self {
    case .owner: 4
    case .admin: 3
    case .member: 2
    case .child, .reader: 1
    }
  }

  package var description: String {
    switch self {
    case .owner: "owner"
    case .admin: "admin"
    case .member: "member"
    case .child: "child"
    case .reader: "reader"
    }
  }
}

/// Who made the number of a person.
///
/// A device makes its person's number out of itself: it can be told from the number, and nobody
/// makes another device with that number. Low numbers tell nothing of their makers.
package enum Maker {
  private static let first = 1_000_000

  /// The number that a device makes for its person.
  package static func person(of device: Int) -> Int { first + device }

  /// The device that made a person's number, as far as the number tells.
  package static func device(of person: Int) -> Int? {
    person < first ? nil : person - first
  }
}

/// One thing that a device says.
///
/// Persons, devices, invitations and words are small numbers. A set of words belongs to the
/// person who named them; only who holds them can write `recover` and `offer`, so the adapter
/// derives a key from the number and always signs with the right one.
package enum Deed: Sendable, Hashable {
  /// Device 0 founds the group; person 0 is its owner.
  ///
  /// Anybody else's `found` means nothing.
  case found
  /// Issues a link.
  ///
  /// With `forPerson` it brings a further device of that person (the author's own, or a lower-
  /// ranked person's) and `role` is to be ignored. `expires` is the last moment at which it is
  /// good.
  case invite(
    id: Int, role: Role, forPerson: Int?, uses: Int, needsApproval: Bool, expires: Int = .max)
  /// Closes a link, also because it is expired.
  case close(invite: Int)
  /// The first act of a new device that holds a self-approving link.
  case join(invite: Int, person: Int)
  /// An owner or admin lets a device in that asked by a link with `needsApproval`.
  case admit(invite: Int, device: Int, person: Int)
  /// "I have seen the joining (or the recovery) of this device and accept it."
  case confirm(device: Int)
  /// "I have seen this acceptance of a hand-over and accept it."
  case confirmHandover(accept: Int)
  case remove(person: Int)
  case revoke(device: Int)
  case setRole(person: Int, role: Role)
  case leave
  /// Names the author's recovery words.
  ///
  /// Words that are there already are replaced only with the consent of those words, which only
  /// their holder can give; without it this means nothing.
  case setWords(words: Int, consent: Int? = nil)
  /// The first act of a new device that holds the words.
  case recover(person: Int, words: Int, revokingOthers: Bool)
  /// Offers the ownership; needs the owner's words.
  case offer(person: Int, words: Int)
  /// Takes back every open offer of the author's person.
  case withdraw
  /// Accepts an offer; the number is the id of the offering act.
  case accept(offer: Int)
  /// Makes a new key of the records and seals it to these devices.
  case seal(key: Int, devices: [Int])
  /// Nothing but: I have seen this.
  case heartbeat
}

/// One signed operation.
package struct Act: Sendable, Hashable {
  /// Unique in a history.
  ///
  /// Acts refer to acts by it. It says nothing about time or order.
  package let id: Int
  package let device: Int
  /// The place in the device's own log, from 0 without gaps.
  package let sequence: Int
  package let deed: Deed
  /// For every OTHER device: how many of its operations the author claims to have seen.
  ///
  /// A missing device means 0. The author's own earlier operations are always seen.
  package let claims: [Int: Int]
  /// The moment at which the author claims to write, from 0.
  ///
  /// Honest authors claim the true one; liars claim any.
  package let time: Int

  package init(
    id: Int, device: Int, sequence: Int, deed: Deed, claims: [Int: Int], time: Int = 0
  ) {
    self.time = time
    self.id = id
    self.device = device
    self.sequence = sequence
    self.deed = deed
    self.claims = claims
  }

  /// The same act with something else in some places.
  package func changing(
    sequence: Int? = nil, deed: Deed? = nil, claims: [Int: Int]? = nil, time: Int? = nil
  ) -> Act {
    Act(
      id: id, device: device, sequence: sequence ?? self.sequence, deed: deed ?? self.deed,
      claims: claims ?? self.claims, time: time ?? self.time)
  }
}

/// What a resolver answers.
package struct Outcome: Sendable, Equatable, CustomStringConvertible {
  package var owner: Int
  /// Everybody who is in, the owner too (with `.owner`); nobody else.
  package var roles: [Int: Role]
  /// The active devices of the people who are in.
  package var devices: Set<Int>
  /// The devices that hold the key under which records are written; nil if a new one is due.
  package var readers: Set<Int>?

  package init(
    owner: Int, roles: [Int: Role], devices: Set<Int>, readers: Set<Int>? = nil
  ) {
    self.readers = readers
    self.owner = owner
    self.roles = roles
    self.devices = devices
  }

  /// The same standings, and the same key if neither is over.
  ///
  /// Who joins by a link holds the key that the link carries: the key is over even where the
  /// joining is worth nothing.
  func isSame(as other: Outcome, withKeys: Bool) -> Bool {
    if withKeys, readers != nil, other.readers != nil { return self == other }
    return owner == other.owner && roles == other.roles && devices == other.devices
  }

  package var description: String {
    let people = roles.keys.sorted()
      .map { "p\($0) \(roles[$0].map(String.init(describing:)) ?? "")" }
      .joined(separator: ", ")
    let phones = devices.sorted().map { "d\($0)" }.joined(separator: " ")
    let key = readers.map { "; key of " + $0.sorted().map { "d\($0)" }.joined(separator: " ") }
    return "owner p\(owner); \(people); devices \(phones)\(key ?? "")"
  }
}

/// A resolver: a pure function of a set of acts, given in any order and perhaps twice.
package typealias Resolve = ([Act]) -> Outcome

/// A set of acts together with the truth that no resolver can see.
package struct History: Sendable {
  /// The acts in the order in which they were really written.
  package var acts: [Act]
  /// The devices that run a modified program.
  ///
  /// All of them know what one of them knows.
  package var liars: Set<Int>
  /// For each act id: what its author really knew then (a liar: what all liars knew).
  package var known: [Int: [Int: Int]]
  /// The person who really holds a device.
  package var persons: [Int: Int]

  package init(acts: [Act], liars: Set<Int>, known: [Int: [Int: Int]], persons: [Int: Int]) {
    self.acts = acts
    self.liars = liars
    self.known = known
    self.persons = persons
  }
}
