import HearthCRDT
import HearthMembership

extension Membership {
  /// All that matters, to be compared.
  package var summary: String {
    let people = people.map { "\($0.id.low):\($0.role.name)" }.joined(separator: " ")
    let devices = devices.map { "\($0.id.hex.prefix(4))" }.joined(separator: " ")
    let voided = voided.map { "\($0.id.high & 0xffff)#\($0.id.low)" }.joined(separator: " ")
    return "owner \(owner?.low ?? 0) | \(people) | \(devices) | void \(voided)"
  }
}
