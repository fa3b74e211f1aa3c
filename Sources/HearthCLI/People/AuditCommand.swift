import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// Shows the control log in words.
struct AuditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Show who admitted whom, when, with which device.",
    discussion: """
      Lists everything that people and devices did to the membership of the household, oldest
      first, and the merges of people. The device that a line names has signed it. If a line had no
      effect, it says why.

      Examples:
        hearth audit
        hearth audit --all --json
      """)

  @Flag(help: "Also what devices do by themselves: new keys, key deliveries, heartbeats.")
  var all = false

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    struct Item: Encodable {
      let id: String
      let at: String
      let person: String?
      let personId: String?
      let device: String
      let deviceId: String
      let kind: String
      let text: String
      let voidReason: String?
      let history: Int?
    }
    let entries: [Item]
  }

  func run() async throws {
    let context = try await HouseholdContext.open(options)
    let names = try await PeopleNames.of(context)
    let zones = await context.node.allZones().filter { $0.group == context.zone.group }
    let moment = try await MomentText.of(context)
    let merges = try await context.read { try $0.people.allMerges() }
    try await context.node.close()
    let text = AuditText(names: names, zones: zones)
    let entries = names.membership.audit().filter { all || !AuditText.isRoutine($0) }
    let lines = AuditText.inOrder(entries.map { text.told($0) }, merges.map { text.told($0) })
    if options.json {
      return try Output.json(
        Document(
          entries: lines.map { line in
            Document.Item(
              id: line.id.hex, at: MomentText.iso(line.milliseconds),
              person: line.person.flatMap { names.membership.person($0)?.name },
              personId: line.person?.hex, device: names.name(of: line.device),
              deviceId: line.device.hex, kind: line.kind, text: line.text,
              voidReason: line.void, history: line.history)
          }))
    }
    for line in lines {
      let time = Style.dim(moment.text(line.milliseconds))
      let device = Style.dim("(\(Style.safe(names.name(of: line.device))))")
      Output.print("\(time)  \(Style.safe(line.text)) \(device)")
      if let reason = line.void {
        Output.print(Style.yellow("                  without effect: \(Style.safe(reason))"))
      }
    }
  }
}

extension AuditText {
  /// One line of the audit.
  struct Told {
    let id: Identifier
    let milliseconds: UInt64
    let person: PersonID?
    let device: DeviceID
    let kind: String
    let text: String
    var void: String?
    var history: Int?
  }

  /// The line of a membership operation.
  func told(_ entry: AuditEntry) -> Told {
    Told(
      id: entry.id, milliseconds: entry.time.milliseconds, person: entry.person,
      device: entry.device, kind: AuditText.kind(entry), text: line(entry),
      void: entry.void.map { names.membership.words(for: $0) }, history: entry.history)
  }

  /// The line of a merge of two people, by the device that wrote it.
  func told(_ merge: PersonMerge) -> Told {
    let device = merge.version.dot.author.device
    let author = names.membership.person(of: device)?.id
    let who = author.map(person) ?? names.name(of: device)
    func name(_ id: PersonID) -> String { people.name(of: id) ?? "an unknown person" }
    let action =
      merge.into.map { "merged \(name(merge.person)) into \(name($0))" }
      ?? "undid the merge of \(name(merge.person))"
    return Told(
      id: merge.event, milliseconds: merge.version.time.milliseconds, person: author,
      device: device, kind: merge.into == nil ? "mergeUndo" : "merge", text: "\(who) \(action)")
  }

  /// Returns the membership's lines in their order, with the others inserted by time.
  static func inOrder(_ lines: [Told], _ others: [Told]) -> [Told] {
    var left = others[...]
    var told: [Told] = []
    for line in lines {
      while let first = left.first, first.milliseconds < line.milliseconds {
        told.append(left.removeFirst())
      }
      told.append(line)
    }
    return told + left
  }
}

/// Membership operations in words.
struct AuditText {
  let names: PeopleNames
  let zones: [ZoneState]
  private let people: ShownNames

  init(names: PeopleNames, zones: [ZoneState]) {
    self.names = names
    self.zones = zones
    people = ShownNames(of: names.membership, withFormer: true)
  }

  /// Whether devices write it without a person's decision.
  static func isRoutine(_ entry: AuditEntry) -> Bool {
    switch entry.operation {
    case .confirm: !entry.confirmed.contains(where: \.hasWaited)
    case .epoch, .wrapAdd, .heartbeat, .complaint, .branch, .snapshotAttest, .zoneDigest: true
    default: false
    }
  }

  /// The stable word for an operation.
  static func kind(_ entry: AuditEntry) -> String {
    if entry.end != nil { return "inviteEnd" }
    return switch entry.operation {
    case .genesis: "genesis"
    case .epoch: "epoch"
    case .inviteCreate: "invite"
    case .inviteClose: "inviteRevoke"
    case .join: "join"
    case .incarnate: "newLife"
    case .admit: "admit"
    case .removeMember: "remove"
    case .revokeDevice: "revokeDevice"
    case .setRole: "role"
    case .transferOwner: "ownerTransfer"
    case .acceptOwner: "ownerAccept"
    case .leave: "leave"
    case .setRecovery: "recoverySet"
    case .rotateRecovery: "recoveryRotate"
    case .recover: "recover"
    case .forkProof: "forkProof"
    case .adopt: "adopt"
    case .complaint: "complaint"
    case .wrapAdd: "keyHandOn"
    case .setPolicy: "policy"
    case .heartbeat: "heartbeat"
    case .branch: "showHistory"
    case .confirm: "confirm"
    case .snapshotAttest: "snapshotAttest"
    case .zoneDigest: "zoneDigest"
    case .unknown: "unknown"
    }
  }

  /// One operation in a line that begins with its author.
  func line(_ entry: AuditEntry) -> String {
    let who = entry.person.map(person) ?? names.name(of: entry.device)
    let history =
      entry.history.map { ", in history \($0) of this device" } ?? ""
    if case .transferOwner(let heir, _) = entry.operation, heir == entry.person {
      return "\(who) withdrew the offer of the household\(history)"
    }
    if case .incarnate(_, let reason) = entry.operation {
      return "\(names.fullName(of: entry.device)) started a new incarnation "
        + "(\(LifeBeginning.cause(of: reason)))\(history)"
    }
    if case .confirm(let targets) = entry.operation, !targets.isEmpty {
      return "\(who) \(confirmation(entry.confirmed, of: targets.count))\(history)"
    }
    if case .inviteClose(let invite) = entry.operation, let end = entry.end {
      return "\(AuditText.closed(invite, end, by: names.fullName(of: entry.device)))\(history)"
    }
    return "\(who) \(action(entry.operation))\(reason(entry.exposures))\(history)"
  }

  /// The close of an invitation that nobody decided: a device closes an invitation that is over.
  ///
  /// Everybody can count the uses in the log. The expiry is the claim of one clock.
  static func closed(
    _ invite: Identifier, _ end: AuditEntry.InvitationEnd, by device: String
  ) -> String {
    let cause =
      switch end {
      case .usedUp: "used up"
      case .expired: "expired, by the clock of \(device)"
      case .userRemoved: "somebody who used it was removed"
      }
    return "the invitation \(ShortID.text(invite)) closed: \(cause)"
  }

  /// The confirmed joins; a name comes from the join itself if nobody has it any more.
  private func confirmation(_ confirmed: [AuditEntry.Confirmed], of count: Int) -> String {
    func name(_ one: AuditEntry.Confirmed) -> String {
      let person = names.membership.device(one.device)?.person
      let shown = person.flatMap { people.markedName(of: $0) } ?? one.personName
      return "\(shown) with \(one.deviceName)"
    }
    let waited = confirmed.filter(\.hasWaited).map(name)
    let others = confirmed.filter { !$0.hasWaited }.map(name)
    var actions: [String] = []
    if !waited.isEmpty {
      actions.append("approved \(waited.joined(separator: " and ")), who had waited")
    }
    if !others.isEmpty { actions.append("confirmed \(others.joined(separator: " and "))") }
    let rest = count - confirmed.count
    if rest > 0 { actions.append("confirmed \(Words.count(rest, "other operation"))") }
    return actions.joined(separator: ", and ")
  }

  /// The reason for a new key.
  private func reason(_ exposures: [AuditEntry.Exposure]) -> String {
    let causes = exposures.map { exposure -> String in
      switch exposure.operation {
      case .join(let join): return "\(join.personName) used a link and is not a member"
      case .removeMember(let removed, _): return "\(person(removed)) was removed"
      case .revokeDevice(let device, _): return "\(names.fullName(of: device)) was revoked"
      case .leave: return "\(exposure.person.map(person) ?? "somebody") left"
      case .inviteClose(let invite): return "the link \(ShortID.text(invite)) was closed"
      default: return "\(exposure.person.map(person) ?? "somebody") recovered"
      }
    }
    return causes.isEmpty ? "" : ", as " + Set(causes).sorted().joined(separator: " and ")
  }

  private func action(_ operation: ControlOperation) -> String {
    switch operation {
    case .genesis: return "created the household"
    case .inviteCreate(let invite): return action(invite)
    case .inviteClose(let invite): return "revoked the invitation \(ShortID.text(invite))"
    case .join(let join):
      return "joined with \(join.device.name), by \(inviter(of: join.invite))"
    case .admit(let admit):
      let join = admit.join
      let name =
        ControlIdentity.deviceID(of: join.device).map {
          people.name(ofNewcomer: join.personName, on: $0)
        } ?? join.personName
      return "approved \(name) with \(join.device.name), by \(inviter(of: join.invite))"
    case .removeMember(let removed, _): return "removed \(person(removed))"
    case .revokeDevice(let device, _): return "revoked \(names.fullName(of: device))"
    case .setRole(let subject, let role, _):
      return "made \(person(subject)) \(RoleWords.a(role))"
    case .transferOwner(let heir, _): return "offered the household to \(person(heir))"
    case .acceptOwner: return "became the owner"
    case .leave: return "left"
    default: return rareAction(operation)
    }
  }

  private func rareAction(_ operation: ControlOperation) -> String {
    switch operation {
    case .setRecovery: return "set recovery words"
    case .rotateRecovery: return "replaced the recovery words"
    case .recover(let recover):
      return "recovered with \(recover.device.name) by recovery words"
        + (recover.revokesOthers ? ", and revoked every other device" : "")
    case .forkProof(_, let author, _, _):
      return "proved that \(names.fullName(of: author.device)) published two histories"
    case .adopt(_, let author, let first, let last):
      return "adopted \(Words.count(Int(clamping: last - first + 1), "change")) of "
        + names.fullName(of: author.device)
    case .complaint(let lacking, _, _): return "cannot open a key of \(zone(lacking))"
    case .wrapAdd(let opened, _, let wraps):
      let devices = wraps.map { names.fullName(of: $0.recipient) }
      return "sent a key of \(zone(opened)) to \(devices.joined(separator: ", "))"
    case .epoch(let grant): return "created a new key for \(zone(grant.zone))"
    case .setPolicy(_, let newcomers):
      return newcomers == .full
        ? "let newcomers read everything" : "let newcomers read only later changes"
    case .heartbeat: return "reported which changes the device has"
    case .confirm(let targets):
      return "confirmed \(Words.count(targets.count, "join"))"
    case .snapshotAttest(let attest):
      return "attested the content of \(zone(attest.zone)) at the point of a snapshot"
    case .zoneDigest(let statement):
      return "reported the digest of \(zone(statement.zone)) for comparison"
    case .branch(let author, _, _, _, _):
      return "showed a part of a second history of the members' log that "
        + "\(names.fullName(of: author.device)) published"
    default: return "did something that this version does not know"
    }
  }

  private func action(_ invite: ControlOperation.InviteCreate) -> String {
    if let person = invite.person {
      return "created a link for another device of \(self.person(person))"
    }
    let uses = invite.maximumUses == 1 ? "" : ", \(invite.maximumUses) times"
    return "invited \(RoleWords.a(invite.role))"
      + (invite.admission == .approve ? " to be approved" : "")
      + " (\(ShortID.text(invite.invite))\(uses))"
  }

  private func person(_ id: PersonID) -> String {
    people.markedName(of: id) ?? "an unknown person"
  }

  private func zone(_ id: ZoneID) -> String {
    guard let zone = zones.first(where: { $0.id == id }) else { return "a zone" }
    return zone.kind == .control ? "the membership" : zone.name
  }

  private func inviter(of invite: Identifier) -> String {
    guard let made = names.membership.invites.first(where: { $0.operation.invite == invite }),
      let person = names.membership.person(of: made.creator)
    else { return "an unknown invitation" }
    return made.operation.person == nil
      ? "\(person.name)'s invitation" : "a link of \(person.name)'s own"
  }
}
