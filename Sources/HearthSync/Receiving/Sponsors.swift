import HearthCRDT
import HearthMembership

/// At whose expense devices began their logs in a control zone: whose recovery words or links for
/// further devices let them in.
///
/// What lets a device in may lose its effect, and others may name the device later. So the person
/// is noted when the log begins, and stays noted.
struct Sponsors {
  private(set) var people: [DeviceID: PersonID] = [:]

  /// Reads what is noted of a zone.
  ///
  /// - Throws: `CodecError` for bytes that this type does not write.
  init(of zone: ZoneID, in store: some Store) throws {
    people = try store.facts.value(of: Sponsors.fact(of: zone)) ?? [:]
  }

  /// Notes the sponsors of devices that began their logs; what is noted already stays.
  static func add(
    _ begun: [DeviceID: PersonID], of zone: ZoneID, in store: some Store
  ) throws {
    guard !begun.isEmpty else { return }
    var sponsors = try Sponsors(of: zone, in: store)
    sponsors.people.merge(begun) { noted, _ in noted }
    try store.facts.set(fact(of: zone), to: sponsors.people)
  }

  private static func fact(of zone: ZoneID) -> Fact<[DeviceID: PersonID]> {
    Fact("sponsors.\(zone.hex)") { people, writer in
      writer.varint(people.count)
      for (device, person) in people.sorted(by: { $0.key < $1.key }) {
        writer.identifier(device)
        writer.identifier(person)
      }
    } read: { reader in
      let count = try reader.count(
        "sponsors", itemBytes: 2 * Identifier.byteCount, atMost: Limits.maximumAuthors)
      var people: [DeviceID: PersonID] = [:]
      for _ in 0..<count {
        let device = try reader.identifier("device")
        people[device] = try reader.identifier("sponsor")
      }
      return people
    }
  }
}
