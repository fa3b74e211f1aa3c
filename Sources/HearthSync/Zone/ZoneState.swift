import HearthCRDT
import HearthCrypto
import HearthMembership

/// One zone as the engine works with it: its keys, and how far every author's log is applied.
package struct ZoneState: Sendable {
  package let id: ZoneID
  package let group: GroupID
  package let kind: ZoneKind
  package let database: DatabaseKind
  /// What the zone is called: as it was founded, unless a shell shows it by another name.
  package var name: String
  /// What the zone was called when it was founded.
  package let foundingName: String
  /// The zone's constant secret, from which its opaque tags and chain hashes come.
  let secret: ZoneSecret
  /// The epochs whose keys are held, in the order in which they were learnt.
  package private(set) var epochs: [EpochKey]
  /// The epoch that the control log says to write under; nil where it says none that may be used.
  var writeEpoch: [UInt8]?
  /// Whether a new epoch must be made before anything more is sealed.
  package internal(set) var isEpochOver = false
  /// Where the logs of authors end who were proven to have written two histories; in a control zone
  /// all of them go on as histories beside each other.
  package internal(set) var forkEnds: [Author: UInt64] = [:]
  /// How far each author's log is applied, in order of author.
  package private(set) var heads: [LogHead]
  /// The same as a frontier.
  package private(set) var frontier: Frontier
  /// The zone's opaque tag on transports.
  package let tag: Identifier
  /// Which device hides behind an opaque author tag.
  private(set) var deviceByTag: [Identifier: DeviceID] = [:]
  /// The same the other way round.
  private var tagByDevice: [DeviceID: Identifier] = [:]

  init(
    _ stored: StoredZone, secret: ZoneSecret, epochs: [EpochKey], heads: [LogHead]
  ) {
    id = stored.id
    group = stored.group
    kind = stored.kind
    database = stored.database
    name = stored.name
    foundingName = stored.name
    self.secret = secret
    self.epochs = epochs
    self.heads = heads.sorted { $0.author < $1.author }
    frontier = Frontier(heads.map { ($0.author, $0.sequence) })
    tag = Identifier(secret.zoneTag)
  }

  /// The epoch to write under.
  var currentEpoch: EpochKey? {
    epochs.first { $0.id == writeEpoch } ?? epochs.last
  }

  /// The epoch of an id, if its key is held.
  func epoch(id: [UInt8]) -> EpochKey? { epochs.first { $0.id == id } }

  /// Whether the key of an epoch is held.
  package func holdsEpoch(_ id: [UInt8]) -> Bool { epoch(id: id) != nil }

  /// Whether the key of the epoch is held whose tag a sealed thing shows.
  func holdsEpoch(tagged tag: Identifier) -> Bool { epochs.contains { Identifier($0.tag) == tag } }

  /// The ids of the epochs whose keys are held.
  var heldEpochs: Set<[UInt8]> { Set(epochs.map(\.id)) }

  /// How many keys are held.
  package var epochCount: Int { epochs.count }

  /// Takes over a key that was not held.
  mutating func learn(_ epoch: EpochKey) {
    if self.epoch(id: epoch.id) == nil { epochs.append(epoch) }
  }

  /// The epoch whose opaque tag a segment shows.
  func epoch(tag: Bytes16) -> EpochKey? {
    epochs.first { $0.tag == tag }
  }

  /// The head of an author's log; one that stands before the first change if nothing is known.
  package func head(of author: Author) -> LogHead {
    let place = position(of: author)
    return place < heads.count && heads[place].author == author
      ? heads[place] : LogHead(author: author)
  }

  /// How many lives of a device have changes here.
  func lives(of device: DeviceID) -> Int {
    var place = position(of: Author(device: device, incarnation: 0))
    let first = place
    while place < heads.count, heads[place].author.device == device { place += 1 }
    return place - first
  }

  /// Puts an author's log at a head.
  mutating func set(_ head: LogHead) {
    let place = position(of: head.author)
    if place < heads.count, heads[place].author == head.author {
      heads[place] = head
    } else {
      heads.insert(head, at: place)
    }
    frontier.advance(head.author, to: head.sequence)
  }

  /// Forgets every head, before the zone is built anew from its log.
  mutating func resetHeads() {
    heads = []
    frontier = Frontier()
  }

  /// The opaque tag of a device in this zone.
  package func authorTag(of device: DeviceID) -> Identifier {
    if let known = tagByDevice[device] { return known }
    guard let tag = try? secret.authorTag(deviceID: device.bytes) else {
      preconditionFailure("a device id has 16 bytes")
    }
    return Identifier(tag)
  }

  /// Whether an author's log is here up to a change, or to where it ended before that.
  func reaches(_ author: Author, _ sequence: UInt64) -> Bool {
    frontier[author] >= min(sequence, (forkEnds[author] ?? .max) - 1)
  }

  /// The frontier as it answers whether something is here: what is beyond the end of a log with two
  /// histories is not waited for.
  package var reached: Frontier {
    var reached = frontier
    for (author, end) in forkEnds where frontier[author] >= end - 1 {
      reached.advance(author, to: Frontier.maximumSequence)
    }
    return reached
  }

  /// Learns which devices there are, so that their tags are recognised.
  mutating func recognise(_ devices: [DeviceID]) {
    for device in devices {
      let tag = authorTag(of: device)
      deviceByTag[tag] = device
      tagByDevice[device] = tag
    }
  }

  private func position(of author: Author) -> Int {
    heads.partitionPoint { $0.author >= author }
  }
}

extension Identifier {
  /// An identifier of the crypto module's sixteen bytes.
  init(_ bytes: Bytes16) {
    guard let identifier = Identifier(bytes: bytes.array) else {
      preconditionFailure("sixteen bytes are an identifier")
    }
    self = identifier
  }
}
