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
    guard let bytes = try store.facts.value(of: Sponsors.factName(zone)) else { return }
    var reader = ByteReader(bytes)
    let count = try reader.count(
      "sponsors", itemBytes: 2 * Identifier.byteCount, atMost: Limits.maximumAuthors)
    for _ in 0..<count {
      let device = try reader.identifier("device")
      people[device] = try reader.identifier("sponsor")
    }
    try reader.finish()
  }

  /// Notes the sponsors of devices that began their logs; what is noted already stays.
  static func add(
    _ begun: [DeviceID: PersonID], of zone: ZoneID, in store: some Store
  ) throws {
    guard !begun.isEmpty else { return }
    var sponsors = try Sponsors(of: zone, in: store)
    sponsors.people.merge(begun) { noted, _ in noted }
    try store.facts.set(factName(zone), to: sponsors.bytes)
  }

  private static func factName(_ zone: ZoneID) -> String { "sponsors.\(zone.hex)" }

  private var bytes: [UInt8] {
    var writer = ByteWriter(capacity: 8 + people.count * 2 * Identifier.byteCount)
    writer.varint(people.count)
    for (device, person) in people.sorted(by: { $0.key < $1.key }) {
      writer.identifier(device)
      writer.identifier(person)
    }
    return writer.bytes
  }
}
