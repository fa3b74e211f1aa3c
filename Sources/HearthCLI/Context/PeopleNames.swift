import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// The people and devices of a household, found by typed text.
struct PeopleNames: Sendable {
  let membership: Membership
  /// The later names of devices.
  let renamed: [DeviceID: String]

  /// Reads those of a household.
  static func of(_ context: HouseholdContext) async throws -> PeopleNames {
    let membership = try await context.node.membership(of: context.zone.group)
    let renamed = try await context.node.read(context.zone.id) { source in
      var names: [DeviceID: String] = [:]
      for device in membership.allDevices {
        names[device.id] = try SettingRecord.value(of: setting(of: device.id), in: source)
      }
      return names
    }
    return PeopleNames(membership: membership, renamed: renamed)
  }

  /// The household setting that contains a device's later name.
  static func setting(of device: DeviceID) -> String { "device-name." + device.hex }

  /// A device's name.
  func name(of device: DeviceID) -> String {
    renamed[device] ?? membership.device(device)?.card.name
      ?? "device \(ShortID.text(device))"
  }

  /// A device with its person's name.
  func fullName(of device: DeviceID) -> String {
    guard let person = membership.person(of: device) else { return name(of: device) }
    return "\(person.name)'s \(name(of: device))"
  }

  /// Returns the member of a name or of digits of the id.
  func person(_ text: String) throws -> Member {
    let everybody = (membership.people + membership.formerPeople).map(PersonChoice.init)
    func present(_ choice: PersonChoice) -> Member? {
      membership.people.first { $0.id == choice.id }
    }
    switch PersonChoice.find(text, among: everybody, isPresent: { present($0) != nil }) {
    case .one(let choice):
      if let person = present(choice) { return person }
      throw CommandFailure(
        .failed, "\(Style.safe(choice.name)) does not belong to this household any more",
        hint: "`hearth audit` shows when that ended; `hearth invite` lets somebody join again")
    case .several(let found): throw PersonChoice.several(text, found)
    case .none(let nearest):
      throw CommandFailure(
        .failed, "there is no person \(ShownText.quoted(text)) in this household",
        hint: nearest.isEmpty
          ? "see `hearth member list`"
          : "did you mean \(RoleGate.either(nearest.map { ShownText.quoted($0.name) }))?")
    }
  }

  /// Whether a typed name begins with the name of a device's person.
  private func isOfPerson(named text: String, _ device: MemberDevice) -> Bool {
    guard let person = membership.person(of: device.id) else { return false }
    let name = NameFolding.fold(person.name)
    let typed = NameFolding.fold(text)
    guard !name.isEmpty, typed.hasPrefix(name) else { return false }
    return typed.dropFirst(name.count).first.map { !$0.isLetter && !$0.isNumber } ?? true
  }

  /// Returns the active device of a name, with or without its person's, or of digits of its id.
  ///
  /// - Parameter isForGood: whether the command is irreversible. If so, only names that contain the
  ///   typed person's name are suggested, so that a user who follows a suggestion does not revoke
  ///   somebody else's device.
  func device(_ text: String, isForGood: Bool = false) throws -> MemberDevice {
    let active = membership.devices
    let digits = text.lowercased()
    if digits.utf8.count >= 4, digits.allSatisfy(\.isHexDigit) {
      let found = active.filter { $0.id.hex.hasPrefix(digits) }
      if let only = found.first, found.count == 1 { return only }
    }
    let exact = active.filter { NameFolding.fold(name(of: $0.id)) == NameFolding.fold(text) }
    if let only = exact.first, exact.count == 1 { return only }
    switch NameMatch(text, among: active, name: { fullName(of: $0.id) }) {
    case .one(let device): return device
    case .several(let found):
      let list = found.map { "  \(ShortID.text($0.id))  \(Style.safe(fullName(of: $0.id)))" }
      throw CommandFailure(
        .failed,
        "\(ShownText.quoted(text)) fits \(found.count) devices:\n" + list.joined(separator: "\n"),
        hint: "write the person's name too, or the id")
    case .none(let nearest):
      let suggested = isForGood ? nearest.filter { isOfPerson(named: text, $0) } : nearest
      let remark = "`hearth sync` brings one that has just joined"
      throw CommandFailure(
        .failed, "there is no device \(ShownText.quoted(text)) in this household",
        hint: suggested.isEmpty
          ? "see `hearth device list`; \(remark)"
          : "did you mean "
            + RoleGate.either(suggested.map { ShownText.quoted(fullName(of: $0.id)) })
            + "? \(remark)")
    }
  }
}
