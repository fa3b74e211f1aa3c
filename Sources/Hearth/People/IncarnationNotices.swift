import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// The notices about devices whose files were copied, and which work in two places.
///
/// The copy knows, because it began a new incarnation. The original and everybody else are notified
/// here, once.
struct IncarnationNotices: NodeWork {
  let core: NodeCore

  /// Adds notices about new incarnations of devices, and about devices that run beside one.
  ///
  /// - Parameter isNewcomer: whether this device was not in the group before; earlier events are
  ///   then no news.
  func notice(of group: GroupID, isNewcomer: Bool) throws {
    let membership = membership(of: group)
    guard membership.isActive(device) else { return }
    let zone = engine.zones.first { $0.group == group && $0.kind == .data }?.id
    let moment = now()
    func add(_ text: String, of device: DeviceID, fact: Fact<UInt64>) throws {
      try store.transaction {
        try store.facts.set(fact, to: moment)
        guard !isNewcomer else { return }
        try store.notices.add(
          Notice(kind: .newLife, zone: zone, device: device, text: text, milliseconds: moment))
      }
    }
    for beginning in membership.lifeBeginnings() {
      let author = beginning.author
      let incarnationFact = Incarnations.lifeFact(author)
      let copyFact = Incarnations.copyFact(author.device)
      guard membership.isActive(author.device) else { continue }
      if try !store.facts.has(incarnationFact) {
        try add(text(of: beginning, in: membership), of: author.device, fact: incarnationFact)
      }
      if author.device != device, try !store.facts.has(copyFact),
        Incarnations.isCopied(at: beginning, in: group, by: engine)
      {
        try add(
          copyText(of: author.device, in: membership), of: author.device, fact: copyFact)
      }
    }
  }

  /// Returns that a device with this one's keys runs elsewhere, with the remedy; nil if none is
  /// known.
  ///
  /// The notice about it appears once. This result lasts while the device is a member and keeps its
  /// incarnation.
  func copyFinding() throws -> (fault: String, remedy: String)? {
    let isCopied = households().contains { group in
      let membership = membership(of: group)
      return membership.isActive(device)
        && membership.lifeBeginnings().contains {
          $0.author.device == device && $0.previous == engine.incarnation
        }
    }
    return isCopied
      ? (
        IncarnationNotices.copied,
        "if that was not you, or both are in use, \(IncarnationNotices.renewal)"
      ) : nil
  }

  private static let copied =
    "a copy of this device is in use elsewhere: its files were copied from here"
  private static let renewal =
    "add a fresh device with `hearth device add`, then end this one from there with "
    + "`hearth device revoke`"

  private func text(of beginning: LifeBeginning, in membership: Membership) -> String {
    guard beginning.author.device == device else {
      return "\(fullName(of: beginning.author.device, in: membership)) started a new incarnation "
        + "(\(LifeBeginning.cause(of: beginning.reason)))"
    }
    let remedy = IncarnationNotices.renewal
    return beginning.previous == engine.incarnation
      ? "\(IncarnationNotices.copied); if that was not you, or both are in use, \(remedy)"
      : "this device had an incarnation that is unknown here: if you restored older files of this "
        + "device, all is well; if not, somebody uses a copy of its files: \(remedy)"
  }

  private func copyText(of copied: DeviceID, in membership: Membership) -> String {
    let name = fullName(of: copied, in: membership)
    let isOwn = membership.person(of: copied)?.id == membership.person(of: device)?.id
    return "\(name) works in two places: a copy of its files started a new incarnation, and the "
      + "original is still in use; "
      + (isOwn
        ? "if that was not you, end both with `hearth device revoke`, then add yours again with "
          + "`hearth device add`"
        : "if that surprises \(membership.person(of: copied)?.name ?? "its person"), end both with "
          + "`hearth device revoke`")
  }

  private func fullName(of other: DeviceID, in membership: Membership) -> String {
    let name = membership.device(other)?.card.name ?? "an unknown device"
    return membership.person(of: other).map { "\($0.name)'s \(name)" } ?? name
  }
}
