import ArgumentParser
import Hearth
import HearthCRDT
import HearthSync

/// The control log in words.
struct AuditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Who admitted whom, when, by which device.",
    discussion: """
      Everything that people and devices did to the membership of the household, oldest first.
      Each line was signed by the device that it names. What had no effect says why.

      Examples:
        hearth audit
        hearth audit --all --json
      """)

  @Flag(help: "Also what devices do by themselves: new keys, handing keys on, heartbeats.")
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
    try await context.node.close()
    let text = AuditText(names: names, zones: zones)
    let entries = names.membership.audit().filter { all || !AuditText.isRoutine($0.operation) }
    if options.json {
      return try Output.json(
        Document(
          entries: entries.map { entry in
            Document.Item(
              id: entry.id.hex, at: MomentText.iso(entry.time.milliseconds),
              person: entry.person.flatMap { names.membership.person($0)?.name },
              personId: entry.person?.hex, device: names.name(of: entry.device),
              deviceId: entry.device.hex, kind: AuditText.kind(entry.operation),
              text: text.line(entry), voidReason: entry.void, history: entry.history)
          }))
    }
    for entry in entries {
      let time = Style.dim(moment.text(entry.time.milliseconds))
      let device = Style.dim("(\(Style.safe(names.name(of: entry.device))))")
      Output.print("\(time)  \(Style.safe(text.line(entry))) \(device)")
      if let reason = entry.void {
        Output.print(Style.yellow("                  without effect: \(Style.safe(reason))"))
      }
    }
  }
}

/// Membership operations in words.
struct AuditText {
  let names: PeopleNames
  let zones: [ZoneState]

  /// Whether devices do it by themselves.
  static func isRoutine(_ operation: ControlOperation) -> Bool {
    switch operation {
    case .epoch, .wrapAdd, .heartbeat, .complaint, .branch: true
    default: false
    }
  }

  /// The stable word for an operation.
  static func kind(_ operation: ControlOperation) -> String {
    switch operation {
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
    case .unknown: "unknown"
    }
  }

  /// One operation in a line, beginning with who did it.
  func line(_ entry: AuditEntry) -> String {
    let who = entry.person.map(person) ?? names.name(of: entry.device)
    let history =
      entry.history.map { ", in history \($0) of those that the device wrote" } ?? ""
    if case .transferOwner(let transfer) = entry.operation, transfer.to == entry.person {
      return "\(who) withdrew the offer of the household\(history)"
    }
    if case .incarnate(let life) = entry.operation {
      return "\(names.fullName(of: entry.device)) began a new life "
        + "(\(LifeBeginning.cause(of: life.reason)))\(history)"
    }
    return "\(who) \(deed(entry.operation))\(history)"
  }

  private func deed(_ operation: ControlOperation) -> String {
    switch operation {
    case .genesis: return "began the household"
    case .inviteCreate(let invite): return deed(invite)
    case .inviteClose(let invite): return "revoked the invitation \(ShortID.text(invite))"
    case .join(let join):
      return "joined with \(join.device.name), by \(inviter(of: join.invite))"
    case .admit(let admit):
      let join = admit.join
      return "let in \(join.personName) with \(join.device.name), by \(inviter(of: join.invite))"
    case .removeMember(let removal): return "removed \(person(removal.person))"
    case .revokeDevice(let revocation):
      return "revoked \(names.fullName(of: revocation.device))"
    case .setRole(let change):
      return "made \(person(change.person)) \(RoleWords.a(change.role))"
    case .transferOwner(let transfer): return "offered the household to \(person(transfer.to))"
    case .acceptOwner: return "became the owner"
    case .leave: return "left"
    default: return rareDeed(operation)
    }
  }

  private func rareDeed(_ operation: ControlOperation) -> String {
    switch operation {
    case .setRecovery: return "set recovery words"
    case .rotateRecovery: return "replaced the recovery words"
    case .recover(let recover):
      return "came back with \(recover.device.name) by recovery words"
        + (recover.revokesOthers ? ", and revoked every other device" : "")
    case .forkProof(let proof):
      return "showed that \(names.fullName(of: proof.author.device)) published two histories"
    case .adopt(let adopt):
      return "took over \(Words.count(Int(clamping: adopt.last - adopt.first + 1), "change")) of "
        + names.fullName(of: adopt.author.device)
    case .complaint(let complaint): return "cannot open a key of \(zone(complaint.zone))"
    case .wrapAdd(let added):
      let devices = added.wraps.map { names.fullName(of: $0.recipient) }
      return "handed a key of \(zone(added.zone)) to \(devices.joined(separator: ", "))"
    case .epoch(let grant): return "made a new key for \(zone(grant.zone))"
    case .setPolicy(let policy):
      return policy.newcomers == .full
        ? "let newcomers read everything" : "let newcomers read only what comes after them"
    case .heartbeat: return "told how far the device has got"
    case .branch(let part):
      return "showed a part of a history of the members' log that "
        + "\(names.fullName(of: part.author.device)) published beside another"
    default: return "did something that this version does not know"
    }
  }

  private func deed(_ invite: ControlOperation.InviteCreate) -> String {
    if let person = invite.person {
      return "made a link for a further device of \(self.person(person))"
    }
    let uses = invite.maximumUses == 1 ? "" : ", \(invite.maximumUses) times"
    return "invited \(RoleWords.a(invite.role))"
      + (invite.admission == .approve ? " to be approved" : "")
      + " (\(ShortID.text(invite.invite))\(uses))"
  }

  private func person(_ id: PersonID) -> String {
    names.membership.person(id)?.name ?? "somebody unknown"
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
