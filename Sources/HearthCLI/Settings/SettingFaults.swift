import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household
import Synchronization

/// A household's invalid stored setting: the effective value, the author and the remedy.
///
/// A modified program can write anything, and a device may not know a time zone that another one
/// knows. Such a value blocks nobody.
struct SettingFaultText: Encodable, Sendable {
  let key: String
  /// The stored value; absent if it is not text.
  let value: String?
  /// The effective value.
  let holds: String
  /// The author and the device.
  let by: String
  let device: String
  let at: String

  /// Returns those of a household, in order of key.
  static func all(of zone: ZoneState, on node: Node) async throws -> [SettingFaultText] {
    let faults = try await node.read(zone.id) { source in
      try HouseholdSettings.faults(in: source) { SettingKey.isKnownHere($0, $1) }
    }
    guard !faults.isEmpty else { return [] }
    let membership = try await node.membership(of: zone.group)
    return faults.map { fault in
      let device = fault.version.dot.author.device
      return SettingFaultText(
        key: fault.key, value: fault.value, holds: fault.holds,
        by: membership.person(fault.by)?.name ?? "somebody",
        device: membership.device(device)?.card.name ?? ShortID.text(device),
        at: MomentText.iso(fault.version.time.milliseconds))
    }
  }

  /// The fault, in one sentence.
  var text: String {
    let value = value.map(ShownText.quoted) ?? "not a text"
    let known = key == "time-zone" ? "is not known on this machine" : "is not a valid value"
    let instead = holds.isEmpty ? "it counts as not set" : ShownText.quoted(holds) + " applies"
    return "the setting \(key) is \(value), which \(known): \(instead) instead; set by "
      + "\(Style.safe(by)) on \(Style.safe(device)), \(at)"
  }

  var remedy: String {
    "`hearth settings unset \(key)`, or `hearth settings set \(key) VALUE`"
      + (key == "time-zone"
        ? ", for example Europe/Berlin; if the zone exists, update this machine's tzdata" : "")
  }

  private static let isTold = Mutex(false)

  /// Warns on standard error, once per process, that the days do not follow the household's zone.
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
  /// Whether this machine knows the meaning of a household setting's value.
  static func isKnownHere(_ key: String, _ value: String) -> Bool {
    key != "time-zone" || HouseholdClock.isKnown(value)
  }
}
