import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// This node's status with the people of a household, for `hearth status`.
enum StandingText {
  /// The facts to report; all empty in a healthy household.
  struct Document: Encodable {
    struct End: Encodable {
      /// `removed`, `revoked`, `left` or `recovered`.
      let kind: String
      let by: String
      let at: String
      let text: String
    }
    struct Withheld: Encodable {
      let device: String
      let person: String
      let changes: UInt64
      let witness: String
      let witnessPerson: String
    }
    /// How this device's membership ended; absent while it belongs to the household.
    let ended: End?
    /// Keys that were delivered to this device and do not open.
    let unopenedKeys: Int
    /// Whether changes stay unreadable here until an owner or admin makes a snapshot.
    let awaitsSnapshot: Bool
    /// The people of whom any one can do so alone; absent if no snapshot is awaited.
    ///
    /// The same attestation from two other people is accepted as well.
    let awaitedFrom: [String]?
    /// The maker of the snapshot from which this device began, if others attest something else.
    let refutedSnapshotBy: String?
    /// The people who attest something else.
    let refutedBy: [String]?
    /// The devices with the same changes and a different record digest.
    let differingDevices: [String]
    /// Quarantined changes of removed devices or beyond a role, which nobody has adopted.
    let quarantined: Int
    /// The quarantined changes that this device wrote, if it no longer belongs to the household.
    let ownQuarantined: Int
    /// The quarantined changes that exceed their author's role.
    let beyondRole: Int
    /// The quarantined changes that exceed a device's limits in a record.
    let beyondLimit: Int
    /// The changes beyond a role that this device wrote.
    let ownBeyondRole: Int
    /// The household's invalid settings.
    let settingFaults: [SettingFaultText]
    /// The changes of this device that no other device can have, if it no longer belongs to the
    /// household.
    let onlyHere: Int
    /// Changes that another device claims to have seen and no transport delivered to this one.
    let withheld: [Withheld]
    /// Somebody who asks to join with a name that looks like those of others.
    struct LookAlike: Encodable {
      let person: String
      let device: String
      /// The names that it looks like.
      let looksLike: [String]
    }
    /// The join requests, if this person may approve them.
    let requests: [String]
    /// The contested joins by link that are pending, if this person may approve them.
    let waiting: [String]
    /// The requests with names that look like those of members.
    let lookAlikes: [LookAlike]
    /// The owner who offers the household to this person.
    let offeredBy: String?

    init(of zone: ZoneState, on node: Node) async throws {
      let membership = try await node.membership(of: zone.group)
      let own = membership.person(of: await node.device)?.id
      ended = try await node.ending(in: zone.group).map {
        End(
          kind: $0.kind.rawValue, by: $0.personName, at: MomentText.iso($0.milliseconds),
          text: EndingText.line($0, household: zone.name))
      }
      unopenedKeys = try await node.diagnostics.unopenedKeys(in: zone.group)
      awaitsSnapshot = try await node.diagnostics.awaitsSnapshot(in: zone.group)
      awaitedFrom =
        awaitsSnapshot ? try await node.diagnostics.awaitedSnapshotAuthors(in: zone.group) : nil
      let refuted = try await node.diagnostics.refutedSnapshot(in: zone.group)
      refutedSnapshotBy = refuted?.maker
      refutedBy = refuted?.others
      differingDevices = try await node.diagnostics.stateDifferences(in: zone.group).map(\.name)
      let ranges = try await node.quarantine.list(in: zone.group)
      quarantined = ranges.reduce(0) { $0 + $1.changes.count }
      let device = await node.device
      let isOver = ended != nil
      ownQuarantined =
        isOver
        ? ranges.filter { $0.author.device == device }.reduce(0) { $0 + $1.changes.count } : 0
      let beyond = ranges.filter { $0.cause == .beyondRole }
      beyondRole = beyond.reduce(0) { $0 + $1.changes.count }
      beyondLimit = ranges.filter { $0.cause == .beyondLimit }.reduce(0) { $0 + $1.changes.count }
      ownBeyondRole =
        isOver
        ? 0 : beyond.filter { $0.author.device == device }.reduce(0) { $0 + $1.changes.count }
      settingFaults = isOver ? [] : try await SettingFaultText.all(of: zone, on: node)
      onlyHere = isOver ? try await node.transports.changesOnlyHere(in: zone.group) : 0
      withheld = try await StandingText.withheld(of: zone, on: node)
      let waiting = try await node.admissions.waiting(of: zone.group).filter { $0.usedBy == nil }
        .map(\.request)
      requests = waiting.map(\.personName)
      let confirmable = membership.entries.confirmable(by: device)
      self.waiting = membership.entries.waiting.filter { confirmable.contains($0.id) }.map(
        \.personName)
      let names = ShownNames(of: membership)
      lookAlikes = waiting.compactMap { request in
        let others = names.lookAlikes(ofNewcomer: request.personName)
        return others.isEmpty
          ? nil
          : LookAlike(
            person: request.personName, device: request.device.hex, looksLike: others.map(\.name))
      }
      offeredBy = membership.offers.last { $0.to == own }.flatMap {
        membership.person($0.from)?.name
      }
    }
  }

  /// - Parameter kinds: the kinds of this node's transports.
  static func lines(_ document: Document, kinds: [String]) -> [String] {
    var lines: [String] = []
    if let ended = document.ended {
      lines.append(
        Style.red("\(ended.text): you keep the data on this device and receive nothing new"))
      if document.ownQuarantined > 0 {
        lines.append(Style.yellow(lost(document)))
      }
    }
    lines += comers(document)
    if let name = document.offeredBy {
      lines.append(
        Style.yellow("\(Style.safe(name)) offers you the household: `hearth owner accept`"))
    }
    if document.unopenedKeys > 0 {
      lines.append(
        Style.red(
          "\(Words.count(document.unopenedKeys, "key")) cannot be opened: another device sends "
            + "them again when it syncs; then run `hearth sync` here"))
    }
    if document.awaitsSnapshot, document.ended == nil {
      lines.append(Style.yellow(awaited(from: document.awaitedFrom ?? [])))
    }
    if let maker = document.refutedSnapshotBy {
      lines.append(Style.red(refuted(maker, by: document.refutedBy ?? [])))
    }
    if !document.differingDevices.isEmpty, document.ended == nil {
      let names = document.differingDevices.map { Style.safe($0) }.joined(separator: ", ")
      let verb = document.differingDevices.count == 1 ? "has" : "have"
      lines.append(
        Style.red(
          "\(names) \(verb) the same changes but other records: compare with `hearth digest`, and "
            + "run `hearth verify` there and here"))
    }
    lines += withoutEffect(document)
    lines += document.settingFaults.map { Style.yellow("\($0.text); \($0.remedy)") }
    return lines + document.withheld.map { Style.yellow(line($0, kinds: kinds)) }
  }

  /// The people who need approval.
  private static func comers(_ document: Document) -> [String] {
    var lines: [String] = []
    if !document.requests.isEmpty {
      let marked = Set(document.lookAlikes.map(\.person))
      let names =
        document.requests.filter { !marked.contains($0) } + document.lookAlikes.map(words)
      lines.append(
        Style.yellow(
          "\(Style.safe(Words.names(names))) asked to join: `hearth approve`"))
    }
    if !document.waiting.isEmpty {
      lines.append(
        Style.yellow(
          "\(Style.safe(Words.names(document.waiting))) joined with a link that was no longer "
            + "valid, and \(document.waiting.count == 1 ? "needs" : "need") approval: "
            + "`hearth approve`"))
    }
    return lines
  }

  /// The changes without effect that can be adopted.
  private static func withoutEffect(_ document: Document) -> [String] {
    var lines: [String] = []
    let own = document.ownBeyondRole
    if own > 0 {
      lines.append(
        Style.yellow(
          "\(Words.count(own, "change")) of yours \(own == 1 ? "exceeds" : "exceed") your role "
            + "and \(own == 1 ? "has" : "have") no effect: an owner or admin can adopt "
            + "\(own == 1 ? "it" : "them") with `hearth quarantine`"))
    }
    let removed = document.quarantined - document.beyondRole - document.beyondLimit
    if removed > 0, document.ended == nil {
      lines.append(
        "\(Words.count(removed, "change")) of removed devices in quarantine: `hearth quarantine`")
    }
    if document.beyondRole > own, document.ended == nil {
      let others = document.beyondRole - own
      lines.append(
        "\(Words.count(others, "change")) of others beyond their roles in quarantine: "
          + "`hearth quarantine`")
    }
    if document.beyondLimit > 0, document.ended == nil {
      lines.append(
        "\(Words.count(document.beyondLimit, "change")) beyond the limits of a record in "
          + "quarantine: `hearth doctor` names the record")
    }
    return lines
  }

  private static func words(_ newcomer: Document.LookAlike) -> String {
    ShownNames.words(
      newcomer.person, like: newcomer.looksLike, onDevice: String(newcomer.device.prefix(8)))
  }

  /// The reason why a newcomer lacks existing changes, with the remedy.
  static func awaited(from names: [String]) -> String {
    lacking + ": " + remedyOfLacking(from: names)
  }
  static let lacking = "this device lacks changes that newcomers cannot open"

  /// The people for whom a newcomer waits: any one of those named, or two others who attest the
  /// same.
  static func remedyOfLacking(from names: [String]) -> String {
    let one = names.isEmpty ? "" : "\(RoleGate.either(names.map(Style.safe))), or "
    return "waiting for a snapshot from \(one)one that a second person attests; when they have "
      + "synced, run `hearth sync` here"
  }

  /// The statement that the snapshot from which this device began is contradicted.
  static func refuted(_ maker: String, by others: [String]) -> String {
    "this device started from a snapshot by \(Style.safe(maker)), but "
      + "\(Style.safe(others.joined(separator: " and "))) attested something else: ask both, "
      + "compare with `hearth digest`, and join again with a link from the one you trust"
  }

  /// The changes that a removed member wrote here in vain, and their location.
  static func lost(_ document: Document) -> String {
    let own = document.ownQuarantined
    let (verb, them) = own == 1 ? ("has", "it") : ("have", "them")
    let place =
      switch min(document.onlyHere, own) {
      case 0: "an owner or admin can adopt \(them) with `hearth quarantine adopt`"
      case own: "only this device has \(them): `hearth quarantine`"
      case let some:
        "\(some) of them \(some == 1 ? "is" : "are") only on this device: `hearth quarantine`"
      }
    return
      "\(Words.count(own, "change")) that you made and the others had not received \(verb) no "
      + "effect; \(place)"
  }

  /// - Parameter kinds: the kinds of this node's transports.
  static func line(_ withheld: Document.Withheld, kinds: [String]) -> String {
    let (them, are) = withheld.changes == 1 ? ("it", "is") : ("them", "are")
    let changes = Words.count(Int(clamping: withheld.changes), "change")
    let witness = holder(withheld.witness, withheld.witnessPerson)
    let author = holder(withheld.device, withheld.person)
    return "\(witness) says that it has seen \(changes) of \(author) that \(are) not here: "
      + "\(carriers(kinds)) \(them), or the claim is false"
  }

  /// What to do about changes that somebody claims to have seen.
  ///
  /// It blames nobody: only the device that is said to have written them knows whether they exist.
  static func remedy(_ withheld: Document.Withheld) -> String {
    "sync again, here and on both devices; if that does not help, check that all of you use the "
      + "same folders and relays, and run `hearth doctor` on "
      + "\(holder(withheld.device, withheld.person)), which knows what it wrote"
  }

  /// A device with its person, unless its name says who that is.
  private static func holder(_ device: String, _ person: String) -> String {
    let (device, person) = (Style.safe(device), Style.safe(person))
    return device.contains(person) ? device : "\(device) (\(person))"
  }

  /// The transports that may withhold changes, with the verb.
  private static func carriers(_ kinds: [String]) -> String {
    switch (kinds.contains("folder"), kinds.contains("relay")) {
    case (true, true): "a folder or relay lags or withholds"
    case (false, true): "\(kinds.count > 1 ? "a" : "the") relay lags or withholds"
    default: "\(kinds.count > 1 ? "a" : "the") folder lags or withholds"
    }
  }

  /// Returns the changes that other devices of a household report and no transport delivered.
  static func withheld(of zone: ZoneState, on node: Node) async throws -> [Document.Withheld] {
    guard try await node.ending(in: zone.group) == nil else { return [] }
    return try await node.diagnostics.withheldChanges(in: zone.group).map {
      Document.Withheld(
        device: $0.authorName, person: $0.personName, changes: $0.count, witness: $0.witnessName,
        witnessPerson: $0.witnessPersonName)
    }
  }
}
