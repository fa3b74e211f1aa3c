import Foundation

/// Everything that is to happen in a run: who takes part, how bad the world is, and each step.
///
/// A seed expands to a plan, a person can write one, and shrinking makes it smaller; running it is
/// a function of the plan alone.
struct Plan: Codable, Sendable, Equatable {
  /// One device, and with it its person.
  struct Device: Codable, Sendable, Equatable {
    var name: String
    /// Which program it runs: `current`, or `old`, which knows fewer types and fields.
    var build = "current"
    /// Whether it is in the household from the start; others come by a step `join`.
    var joinsLater = false
    /// The device whose person uses this one too; a person of its own if nil.
    var of: String?
    /// How it reaches the others: `folder`, `relay` or `both`.
    var way = Way.folder
  }

  /// How a device reaches the others.
  enum Way: String, Codable, Sendable {
    case folder, relay, both
  }

  /// A relay, and the lines to it.
  struct Relay: Codable, Sendable, Equatable {
    /// How long a message takes in each direction.
    var delayMilliseconds = [5, 80]
    /// Of a thousand messages: the connection breaks within it.
    var cutPerMille = 0
    /// The connection goes dumb within it, and nobody is told.
    var mutePerMille = 0
    /// The greatest piece in which bytes arrive.
    var pieceBytes = 1 << 20
    /// How many bytes a second go through; nil for any number.
    var bytesPerSecond: Int?
    /// Of a thousand rounds: the device keeps its connection and listens afterwards.
    var keepsPerMille = 500
  }

  /// How files go from one device's folder to another's.
  struct Carrier: Codable, Sendable, Equatable {
    /// One folder that all see at once, as on a network disk.
    var isShared = false
    var delayMilliseconds = [50, 2_000]
    /// Of a thousand files carried: left for a later attempt.
    var lossPerMille = 0
    /// Seen in part at first.
    var cutPerMille = 0
    /// Arrive damaged, and whole only later.
    var flipPerMille = 0
    /// Removed files that come back.
    var resurrectPerMille = 0
    /// How long an attempt waits after a loss.
    var retryMilliseconds = 60_000
    /// Whether listings may be older than what is there.
    var staleListingPerMille = 0
  }

  /// How disks behave beyond what single steps order.
  struct Disks: Codable, Sendable, Equatable {
    /// `ordered` or `adversarial`.
    var profile = "ordered"
  }

  /// The plan is run once for each operation of a disk, with a power cut there.
  struct Sweep: Codable, Sendable, Equatable {
    /// Whose disk loses power.
    var device: String
    /// Whether power is lost again at each operation of the start after the cut.
    var isTwice: Bool?
    /// Only every so many operations, to bound what a run takes.
    var stride: Int?
  }

  var name = ""
  var seed: UInt64 = 0
  /// The first instant, in milliseconds since 1970.
  var startMilliseconds: UInt64 = 1_774_425_600_000
  var devices: [Device] = []
  var carrier = Carrier()
  /// The relay; there is none if nil.
  var relay: Relay?
  var disks = Disks()
  /// The steps in their text form, in any order: `DAY HH:MM:SS.mmm DEVICE: verb arguments`.
  var steps: [Step] = []
  /// What the scenario is for, in words.
  var purpose: String?
  /// The probes that a run must hit.
  var mustHit: [String]?
  /// Set where the plan stands for a sweep of power cuts.
  var sweep: Sweep?
  /// Whether the costly looks at rest are for some devices only, as chance has it: so it is in
  /// plans from seeds, of which there are many.
  var isSampled: Bool?

  init() {}

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    name = try values.decodeIfPresent(String.self, forKey: .name) ?? ""
    seed = try values.decodeIfPresent(UInt64.self, forKey: .seed) ?? 0
    startMilliseconds =
      try values.decodeIfPresent(UInt64.self, forKey: .startMilliseconds) ?? startMilliseconds
    devices = try values.decode([Device].self, forKey: .devices)
    carrier = try values.decodeIfPresent(Carrier.self, forKey: .carrier) ?? Carrier()
    relay = try values.decodeIfPresent(Relay.self, forKey: .relay)
    disks = try values.decodeIfPresent(Disks.self, forKey: .disks) ?? Disks()
    steps = try values.decode([Step].self, forKey: .steps).flatMap { try $0.repeated() }
    purpose = try values.decodeIfPresent(String.self, forKey: .purpose)
    mustHit = try values.decodeIfPresent([String].self, forKey: .mustHit)
    sweep = try values.decodeIfPresent(Sweep.self, forKey: .sweep)
    isSampled = try values.decodeIfPresent(Bool.self, forKey: .isSampled)
  }

  /// Reads a plan's file.
  static func read(_ path: String) throws -> Plan {
    try JSONDecoder().decode(Plan.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  }

  /// The file's text: stable, so that plans can be kept under version control.
  func text() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
  }
}

extension Plan.Device {
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    name = try values.decode(String.self, forKey: .name)
    build = try values.decodeIfPresent(String.self, forKey: .build) ?? "current"
    joinsLater = try values.decodeIfPresent(Bool.self, forKey: .joinsLater) ?? false
    of = try values.decodeIfPresent(String.self, forKey: .of)
    way = try values.decodeIfPresent(Plan.Way.self, forKey: .way) ?? .folder
  }
}

extension Plan.Relay {
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init()
    delayMilliseconds =
      try values.decodeIfPresent([Int].self, forKey: .delayMilliseconds) ?? delayMilliseconds
    cutPerMille = try values.decodeIfPresent(Int.self, forKey: .cutPerMille) ?? 0
    mutePerMille = try values.decodeIfPresent(Int.self, forKey: .mutePerMille) ?? 0
    pieceBytes = try values.decodeIfPresent(Int.self, forKey: .pieceBytes) ?? pieceBytes
    bytesPerSecond = try values.decodeIfPresent(Int.self, forKey: .bytesPerSecond)
    keepsPerMille = try values.decodeIfPresent(Int.self, forKey: .keepsPerMille) ?? keepsPerMille
  }
}

extension Plan.Carrier {
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init()
    isShared = try values.decodeIfPresent(Bool.self, forKey: .isShared) ?? isShared
    delayMilliseconds =
      try values.decodeIfPresent([Int].self, forKey: .delayMilliseconds) ?? delayMilliseconds
    lossPerMille = try values.decodeIfPresent(Int.self, forKey: .lossPerMille) ?? 0
    cutPerMille = try values.decodeIfPresent(Int.self, forKey: .cutPerMille) ?? 0
    flipPerMille = try values.decodeIfPresent(Int.self, forKey: .flipPerMille) ?? 0
    resurrectPerMille = try values.decodeIfPresent(Int.self, forKey: .resurrectPerMille) ?? 0
    retryMilliseconds =
      try values.decodeIfPresent(Int.self, forKey: .retryMilliseconds) ?? retryMilliseconds
    staleListingPerMille =
      try values.decodeIfPresent(Int.self, forKey: .staleListingPerMille) ?? 0
  }
}
