import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// The person's private database in words.
enum PrivateText {
  /// The state of the private database, for programs.
  struct Document: Encodable {
    let id: String
    /// `private`, as in every list of zones.
    let database: String
    let devices: Int
    let changes: UInt64
    /// The number of own changes among `changes` that no transport has taken.
    let unsynced: Int
    /// The number of own membership operations that no transport has taken.
    let unsyncedMembership: Int
    let waiting: [String: Int]
    /// Whether transports carry it.
    let isShared: Bool
    /// The own devices that request it.
    let requests: [String]
    /// How this device's membership in it ended; absent while it is a member.
    let ended: String?
    /// The person whose private database this device was invited to and does not have yet.
    let invitedBy: String?
    /// The data that must arrive before this device has it.
    let waitsFor: String?
    /// The reason why this device will not have it.
    let refusal: String?

    static func of(_ node: Node, _ statuses: [ZoneStatus]) async throws -> Document? {
      guard let standing = try await node.privateDatabase.status() else { return nil }
      let group = statuses.filter { $0.zone.group == standing.zone.group }
      var waiting: [String: Int] = [:]
      for item in group.flatMap(\.waiting) {
        waiting[item.reason.rawValue, default: 0] += item.count
      }
      return Document(
        id: standing.zone.id.hex, database: standing.zone.database.name,
        devices: standing.devices.count,
        changes: group.first { $0.zone.id == standing.zone.id }?.changes ?? 0,
        unsynced: group.filter { $0.zone.kind == .data }.reduce(0) { $0 + $1.unsynced },
        unsyncedMembership: group.filter { $0.zone.kind == .control }
          .reduce(0) { $0 + $1.unsynced },
        waiting: waiting,
        isShared: standing.isShared,
        requests: try await PrivateText.requests(to: node).map(\.request.deviceName),
        ended: standing.ending.map { EndingText.line($0, household: "your private database") },
        invitedBy: standing.pending?.inviterName, waitsFor: standing.pending?.waitsFor,
        refusal: standing.pending?.refusal)
    }
  }

  static func lines(_ document: Document) -> [String] {
    var lines: [String] = []
    if let ended = document.ended {
      lines.append(Style.red("private:   \(ended): it receives nothing new"))
    } else if document.isShared {
      let own = UnsyncedText.words(
        document.unsynced, membership: document.unsyncedMembership, isOver: false)
      lines.append(
        "private:   \(Words.count(document.devices, "device")), "
          + "\(Words.count(Int(clamping: document.changes), "change")), \(own)")
    } else {
      lines.append("private:   only on this device")
    }
    if !document.requests.isEmpty {
      let names = document.requests.map { Style.safe($0) }.joined(separator: ", ")
      lines.append(Style.yellow("           \(names) requests it: `hearth approve`"))
    }
    let waiting = document.ended == nil ? document.waiting : [:]
    for (reason, count) in waiting.sorted(by: { $0.key < $1.key }) {
      let words = PendingReason(rawValue: reason).map(Words.reason) ?? reason
      lines.append("           \(Words.count(count, "segment")) waiting for \(words)")
    }
    if let name = document.invitedBy {
      lines.append(
        Style.yellow(
          "           " + words(name, waitsFor: document.waitsFor, refusal: document.refusal)))
    }
    return lines
  }

  static func words(_ pending: PendingPrivate) -> String {
    words(pending.inviterName, waitsFor: pending.waitsFor, refusal: pending.refusal)
  }

  private static func words(_ name: String, waitsFor: String?, refusal: String?) -> String {
    if let refusal {
      return "\(Style.safe(name))'s private database is not shared with this device: "
        + "\(Style.safe(refusal)); \(EndingText.remedyWithoutPrivate)"
    }
    return "\(Style.safe(name))'s private database is not here yet"
      + (waitsFor.map { ": \(Style.safe($0))" } ?? "") + "; `hearth sync` tries again"
  }

  /// Returns the next steps for the private database after a round.
  static func remarks(of node: Node) async throws -> [String] {
    var remarks: [String] = []
    if let pending = try await node.privateDatabase.status()?.pending {
      remarks.append(words(pending))
    }
    for pending in try await node.admissions.requested() where pending.isPrivate == true {
      remarks += PendingJoinText(pending).lines.map {
        $0.replacing("private:   ", with: "private database: ")
      }
    }
    let names = try await requests(to: node).map { Style.safe($0.request.deviceName) }
    if !names.isEmpty {
      remarks.append(
        "\(names.joined(separator: ", ")) requests your private database: `hearth approve`")
    }
    return remarks
  }

  /// Returns the devices that ask to share the private database.
  static func requests(to node: Node) async throws -> [WaitingJoin] {
    guard let zone = await node.privateDatabase.zone(), try await node.ending(in: zone.group) == nil
    else {
      return []
    }
    return try await node.admissions.waiting(of: zone.group).filter { $0.usedBy == nil }
  }

  /// The devices of this node's person that share the private database.
  struct Devices {
    private let person: PersonID
    private let shared: Set<DeviceID>

    init(of node: Node) async throws {
      person = await node.person
      shared = Set(try await node.privateDatabase.status()?.devices.map(\.id) ?? [])
    }

    /// Whether a device shares it; nil for other people's devices and removed ones.
    func has(_ device: MemberDevice) -> Bool? {
      device.person == person && device.isActive ? shared.contains(device.id) : nil
    }

    /// The remedy for devices that do not.
    func hint(for devices: [MemberDevice]) -> String? {
      guard devices.contains(where: { has($0) == false }) else { return nil }
      return "to share your private database with a device that lacks it: `hearth device add` on "
        + "one that has it, then `hearth join -` with that link on the other"
    }
  }
}
