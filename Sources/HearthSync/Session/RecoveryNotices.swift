import HearthCRDT
import HearthCrypto
import HearthMembership

/// Notices about uses of recovery words.
package struct RecoveryNotices<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// Adds one notice about every use of recovery words after this device joined.
  ///
  /// Words are used in the households and in the private database alike; the private database adds
  /// notices only about uses that no household has reported.
  package func noticeRecoveries(nowMilliseconds: UInt64) throws {
    var told: Set<DeviceID> = []
    for group in ExchangeScope(engine: engine).exchangedGroups.filter({
      $0 != engine.privateGroup
    }) + [engine.privateGroup].compactMap({ $0 }) {
      try noticeRecoveries(of: group, besides: &told, nowMilliseconds)
    }
  }

  /// Adds the notices of one group.
  ///
  /// - Parameter told: The devices whose use of words was already reported.
  private func noticeRecoveries(
    of group: GroupID, besides told: inout Set<DeviceID>, _ nowMilliseconds: UInt64
  ) throws {
    let membership = engine.membership(of: group)
    let before = told
    for use in membership.recovery.recoveryUses() {
      guard use.device != engine.device, let text = words(on: use, membership) else { continue }
      told.insert(use.device)
      guard try !engine.store.facts.has(Self.recoveryFact(use.id)) else { continue }
      let isNoNews =
        group == engine.privateGroup && before.contains(use.device)
        || membership.recovery.came(engine.device, after: use)
      // One use of the words is written into every group of the person, and is one piece of news.
      let news =
        if case .recover = use.operation {
          Self.recoveryFact(of: use.person, by: use.device, after: use.earlierUses)
        } else { Self.recoveryFact(use.id) }
      let isTold = try engine.store.facts.has(news)
      try engine.store.transaction {
        try engine.store.facts.set(Self.recoveryFact(use.id), to: nowMilliseconds)
        guard !isNoNews, !isTold else { return }
        try engine.store.facts.set(news, to: nowMilliseconds)
        try engine.store.notices.add(
          Notice(
            kind: .recovery, zone: try? engine.controlZone(of: group).id, device: use.device,
            text: text, milliseconds: nowMilliseconds))
      }
    }
  }

  /// The fact that the person was notified of an operation.
  private static func recoveryFact(_ operation: Identifier) -> Fact<UInt64> {
    Fact(number: "recovery.told." + operation.hex).asCache
  }

  /// The fact that the person was notified of a use of the words, by its number for the device,
  /// because a revoked device can use them again.
  private static func recoveryFact(
    of person: PersonID, by device: DeviceID, after earlier: Int
  ) -> Fact<UInt64> { Fact(number: "recovery.told.\(person.hex).\(device.hex).\(earlier)").asCache }

  /// Advice to a person whose words a stranger has used, on a device that lost its access by that.
  ///
  /// Only the owner can revoke the owner's devices, and the owner has the words too.
  private func adviceFromOutside(_ digits: some StringProtocol, isOwner: Bool) -> String {
    isOwner
      ? "tell the others of the household at once, and use the words yourself: `hearth recover "
        + "--revoke-others`, then `hearth words rotate`"
      : "tell the owner or an admin of the household at once: they can remove that device with "
        + "`hearth device revoke \(digits)` and invite you again"
  }

  /// The text of the notice about an operation; nil if there is nothing to report.
  private func words(on use: RecoveryUse, _ membership: Membership) -> String? {
    let person = use.person
    let name = membership.person(person)?.name ?? "somebody"
    switch use.operation {
    case .recover(let recover):
      let others =
        recover.revokesOthers ? ", and all other devices of \(name) were revoked with it" : ""
      guard membership.person(of: engine.device)?.id != person else {
        // The advice names the device's id, because a thief chooses the name, which may equal
        // another one or mean something to a shell.
        let digits = ControlIdentity.deviceID(of: recover.device)?.hex.prefix(8) ?? "ID"
        return "your recovery words were used to add the device \(recover.device.name)"
          + (recover.revokesOthers ? ", and all your other devices were revoked with it" : "")
          + ": if that was not you, "
          + (membership.isActive(engine.device)
            ? "remove it with `hearth device revoke \(digits)` and make new words with "
              + "`hearth words rotate`"
            : adviceFromOutside(digits, isOwner: membership.owner == person))
      }
      return
        "\(name)'s recovery words were used to add the device \(recover.device.name)\(others): "
        + "if that was not \(name), remove the device and ask \(name) to make new words"
    case .rotateRecovery where membership.person(of: engine.device)?.id == person:
      let maker = membership.device(use.device)?.card.name ?? "another device"
      let isBeaten = membership.voided.contains { void in
        guard case .rotateRecovery = void.operation,
          void.version.dot.author.device == engine.device,
          case .overruled(let id, _) = void.reason
        else { return false }
        return id == use.id
      }
      return isBeaten
        ? "the recovery words made on this device are not valid: those made on \(maker) at the "
          + "same time are. Keep that sheet, and destroy the one made here"
        : "your recovery words were replaced on \(maker): keep the sheet made there; the "
          + "one before opens nothing new"
    default: return nil
    }
  }
}
