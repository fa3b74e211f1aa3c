import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household
import Synchronization

/// A stored setting of a household that cannot be: what holds instead, who wrote it, what mends it.
///
/// A changed program can write anything, and a device may not know a time zone that another one
/// does. Nobody is kept from anything by it.
struct SettingFaultText: Encodable, Sendable {
  let key: String
  /// What is stored; absent where it is no text.
  let value: String?
  /// What holds instead.
  let holds: String
  /// Who wrote it, and on which device.
  let by: String
  let device: String
  let at: String

  /// Those of a household, in order of key.
  static func all(of zone: ZoneState, on node: Node) async throws -> [SettingFaultText] {
    let faults = try await node.read(zone.id) { source in
      try HouseholdSettings.faults(in: source) { SettingKey.isKnownHere($0, $1) }
    }
    guard !faults.isEmpty else { return [] }
    let membership = await node.membership(of: zone.group)
    return faults.map { fault in
      let device = fault.version.dot.author.device
      return SettingFaultText(
        key: fault.key, value: fault.value, holds: fault.holds,
        by: membership.person(fault.by)?.name ?? "somebody",
        device: membership.device(device)?.card.name ?? ShortID.text(device),
        at: MomentText.iso(fault.version.time.milliseconds))
    }
  }

  /// What is wrong, in one sentence.
  var text: String {
    let value = value.map(ShownText.quoted) ?? "something that is no text"
    let known = key == "time-zone" ? "is not known on this machine" : "is none of its values"
    let instead = holds.isEmpty ? "as if it were not set" : ShownText.quoted(holds) + " holds"
    return "the setting \(key) is \(value), which \(known): \(instead) instead; set by "
      + "\(Style.safe(by)) on \(Style.safe(device)), \(at)"
  }

  /// What mends it.
  var remedy: String {
    "`hearth settings unset \(key)`, or `hearth settings set \(key) VALUE`"
      + (key == "time-zone"
        ? ", for example Europe/Berlin; if the zone exists, update this machine's tzdata" : "")
  }

  private static let isTold = Mutex(false)

  /// Warns on standard error that the days are not those of the household's zone, once a process.
  static func warn(of zone: ZoneState, on node: Node) async throws {
    guard
      let fault = try await all(of: zone, on: node).first(where: { $0.key == "time-zone" }),
      !isTold.withLock({ isTold in
        defer { isTold = true }
        return isTold
      })
    else { return }
    Output.note("hearth: warning: \(fault.text)\n  remedy: \(fault.remedy)")
  }
}

extension SettingKey {
  /// Whether this machine knows what a value of a household's setting stands for.
  static func isKnownHere(_ key: String, _ value: String) -> Bool {
    key != "time-zone" || HouseholdClock.isKnown(value)
  }
}
