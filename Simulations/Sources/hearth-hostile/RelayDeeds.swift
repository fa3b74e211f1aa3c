import ArgumentParser
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSockets
import HearthStore
import HearthSync
import HearthTransport
import HostileMember
import InlineExecution

/// Remembers nothing.
private struct Forgetful: RelayMemory {
  func load(_ name: String) -> [UInt8]? { nil }
  func save(_ name: String, _ bytes: [UInt8]) {}
}

/// A node's way to a relay, without the node's rules.
private struct RelayWay {
  let home: HostileHome
  let relay: RelayTransport
  let group: GroupID

  init(_ options: HomeOptions, _ address: String) throws {
    home = try HostileHome(options.home)
    let engine = home.engine
    group = try engine.zone(home.zone).group
    let identity = engine.identity
    let link = RelayLink(
      try RelayAddress(address),
      RelayLink.Owner(
        name: engine.device.hex, managerPair: { try identity.relayPair(relayID: $0) }))
    relay = RelayTransport(over: link, memory: Forgetful(), digest: { segmentDigest($0) })
    let mailboxes = RelayMailboxes(at: relay, with: OwnTurns(engine))
    relay.client.directory.zones = try mailboxes.accesses(joining: group)
    relay.client.directory.parents = try mailboxes.meetingPlaceParents()
  }

  /// The household's zones, the members' first.
  var zones: [ZoneState] {
    home.engine.zones.filter { $0.group == group }
      .sorted { ($0.kind.rawValue, $0.id) < ($1.kind.rawValue, $1.id) }
  }

  /// A key that nobody else has.
  func foreignKey() throws -> MailboxKey {
    let epoch = try EpochKey.random(groupID: group.bytes, zoneID: home.zone.bytes)
    return MailboxKey(id: epoch.id, root: try epoch.relayAccessRoot())
  }

  /// The names of everything in a mailbox.
  func names(in access: MailboxAccess) async throws -> [[UInt8]] {
    try await relay.client.open(access)
    var found: Set<[UInt8]> = []
    var after: UInt64 = 0
    while true {
      let question = RelayQuestion.list(after: after, limit: RelayLimits.maximumBatchItems)
      let answer = try await relay.client.connection.ask(access.mailbox, question)
      guard case .reply(.listing(let page)) = answer else {
        throw HostileError("the relay answers something else than a listing")
      }
      for header in page.headers where header.isLive { found.insert(header.name) }
      guard page.through > after, page.through < page.head else { break }
      after = page.through
    }
    return found.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Takes everything out of a mailbox; gives how much that was.
  func empty(_ access: MailboxAccess) async throws -> Int {
    let names = try await names(in: access)
    for start in stride(from: 0, to: names.count, by: RelayLimits.maximumBatchItems) {
      let some = Array(names[start..<min(names.count, start + RelayLimits.maximumBatchItems)])
      _ = try await relay.client.connection.ask(access.mailbox, .remove(some))
    }
    return names.count
  }
}

/// `hearth-hostile seize`.
struct Seize: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Empty the household's mailboxes at a relay and lock everybody out of them.",
    discussion: "Each mailbox is tried as whatever the device still is there.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The relay's address.") var relay: String

  func run() async throws {
    let way = try RelayWay(options, relay)
    var (emptied, seized) = (0, 0)
    var refusals: [String] = []
    for zone in way.zones {
      guard var access = way.relay.client.directory.zones[zone.tag] else { continue }
      // Whoever may make a mailbox tries to open one that is there as its manager.
      access.mayCreate = true
      do {
        emptied += try await way.empty(access)
        access.keys.insert(try way.foreignKey(), at: 0)
        way.relay.client.directory.zones[zone.tag] = access
        try await way.relay.client.rotate(zoneTag: zone.tag)
        seized += 1
      } catch {
        refusals.append("\(zone.kind): \(error)")
      }
    }
    print(#"{"removed":\#(emptied),"seized":\#(seized),"refused":\#(refusals.count)}"#)
    for refusal in refusals { print(refusal) }
  }
}

/// `hearth-hostile evict`.
struct Evict: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Push out what is left at a relay for devices that were away.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The relay's address.") var relay: String
  @Option(help: "How many handoffs to nowhere are made.") var handoffs = 40
  @Flag(help: "Empty the handoffs behind the keys that are known, instead of making others.")
  var empty = false

  func run() async throws {
    let way = try RelayWay(options, relay)
    let control = try way.home.engine.controlZone(of: way.group)
    guard let access = way.relay.client.directory.zones[control.tag] else {
      throw HostileError("the household has no mailbox")
    }
    try await way.relay.client.open(access)
    let keys = empty ? access.keys : try (0..<handoffs).map { _ in try way.foreignKey() }
    var (done, removed) = (0, 0)
    var refusal: String?
    for key in keys {
      let handoff = MailboxAccess.handoff(of: control.tag, behind: key, mayCreate: !empty)
      do {
        if empty {
          removed += try await way.empty(handoff)
        } else {
          try await way.relay.client.open(handoff)
        }
        done += 1
      } catch {
        refusal = "\(error)"
      }
    }
    print(#"{"doors":\#(done),"removed":\#(removed),"refused":\#(keys.count - done)}"#)
    if let refusal { print(refusal) }
  }
}

/// `hearth-hostile fill`.
struct Fill: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Fill the household's mailboxes at a relay with noise, each until it refuses.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The relay's address.") var relay: String
  @Option(help: "How many bytes in each file.") var bytes = 250_000
  @Option(help: "How many files in each mailbox at most.") var files = 400

  func run() async throws {
    let way = try RelayWay(options, relay)
    var member = try way.home.member(options)
    var stored = 0
    var refusals: [String] = []
    for zone in way.zones {
      do {
        for _ in 0..<files {
          let noise = try member.newerSuite(
            files: 1, bytesEach: bytes, isControl: zone.kind == .control)
          try await way.relay.publish(noise.map { ($0.name, $0.bytes) })
          stored += 1
        }
      } catch {
        refusals.append("\(zone.kind): \(error)")
      }
    }
    print(
      #"{"files":\#(stored),"bytes":\#(stored * bytes),"refused":\#(refusals.count)}"#)
    for refusal in refusals { print(refusal) }
  }
}
