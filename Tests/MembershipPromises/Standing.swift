/// The standings that a person may have: a set of "out" and the roles.
struct Standing: Equatable {
  private(set) var bits: UInt8

  static let out = Standing(bits: 1)
  /// A former owner is in, and is not the owner; what he is instead nobody promised.
  static let formerOwner = Standing(bits: 0b11110)

  private init(bits: UInt8) { self.bits = bits }

  init(_ role: Role) { bits = 2 << UInt8(role.rawValue) }

  var mayBeOut: Bool { bits & 1 != 0 }
  var mayBeIn: Bool { bits & ~1 != 0 }
  var isOut: Bool { bits == 1 }

  mutating func add(_ other: Standing) { bits |= other.bits }

  func allows(_ role: Role?) -> Bool {
    guard let role else { return mayBeOut }
    return bits & (2 << UInt8(role.rawValue)) != 0
  }

  /// The only role, if it is certain that the person is in and what the person is.
  var role: Role? {
    for role in Role.allCases where self == Standing(role) { return role }
    return nil
  }

  /// Whether one of the roles, the owner's excepted, is above another.
  func mayBeLowered(to role: Role) -> Bool {
    Role.allCases.contains { $0 != .owner && allows($0) && $0.rawValue > role.rawValue }
  }

  var isOwner: Bool { role == .owner }

  var highest: Int { Role.allCases.reduce(0) { allows($1) ? max($0, $1.rank) : $0 } }

  /// The lowest rank of those roles; 9 without any.
  var lowest: Int { Role.allCases.reduce(9) { allows($1) ? min($0, $1.rank) : $0 } }
}

/// What is certain and what is possible, at a moment and in the end.
struct Standings {
  /// By person.
  var people: [Standing]
  /// What the person was when last in.
  var before: [Standing]
  /// The person left, and nobody else is known to know: other own devices may still speak.
  var leaving: [Int]
  /// The highest rank that the person may ever have had.
  ///
  /// A demotion by somebody who does not know of an earlier one takes it away from then on.
  var peak: [Int]
  /// The rank that the person had before lowering the own role, or 0.
  ///
  /// Other own devices may still speak with it, as a line by the own person spares what a higher
  /// rank saw.
  var lowered: [Int]
  var words: [[Int]]
  /// By device: it may be in, it may be out.
  var mayBeIn: [Bool]
  var mayBeOut: [Bool]
  /// The act of the own person that revoked the device, until somebody else has seen it.
  var ghost: [Int]
  var wasActive: [Bool]
  /// By link: the issuing counted for certain.
  var issued: [Bool]

  /// Stands for "none named".
  static let noWords = Int.min

  init(_ ledger: Ledger) {
    let count = ledger.personIDs.count
    people = Array(repeating: .out, count: count)
    before = people
    leaving = Array(repeating: -1, count: count)
    peak = Array(repeating: 0, count: count)
    lowered = peak
    words = Array(repeating: [Self.noWords], count: count)
    let devices = ledger.deviceIDs.count
    mayBeIn = Array(repeating: false, count: devices)
    mayBeOut = Array(repeating: true, count: devices)
    ghost = Array(repeating: -1, count: devices)
    wasActive = mayBeIn
    issued = Array(repeating: false, count: ledger.links.count)
  }

  func floor(_ person: Int) -> Int {
    let now = people[person].lowest
    return now < 9 && !people[person].mayBeOut ? now : min(now, before[person].lowest)
  }
}
