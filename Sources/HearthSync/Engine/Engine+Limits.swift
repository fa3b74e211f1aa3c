import HearthCRDT
import HearthMembership

/// A record that accepts no further content of one author.
package struct OverfullRecord: Equatable, Sendable {
  package let zone: ZoneID
  package let author: Author
  package let key: RecordKey
  /// The number of the author's changes that are void because they would exceed the limit.
  package internal(set) var changes: Int
}

// Limits per device for a record's content and for pending segments, with the notices about
// violations.
extension Engine {
  /// Rejects an own change of which a part would be void.
  func checkRoom(in applier: Applier<S>, of writer: Membership.Writer?) throws {
    guard let key = applier.overfull[author] else { return }
    let room = RecordLimits.standard.room(of: author, isFurther: writer?.isFurther ?? false)
    throw SyncError(
      .tooLarge,
      "this device has reached its limit in one record (\(key.type)): "
        + "\(room.historyValues) values of one history, \(room.units) elements of sets or "
        + "\((Int(room.units) * Limits.recordUnitBytes) >> 10) KiB of long values"
        + (author.isFirst ? "" : " since it was restored or copied") + ": use another record")
  }

  /// Adds one notice per device that wrote more into a record than it may.
  func noteOverfull(
    _ overfull: [Author: RecordKey], in zone: ZoneState, nowMilliseconds: UInt64
  ) throws {
    for author in overfull.keys.sorted() {
      try noteLimit(
        of: author.device, in: zone, as: "record",
        "put more into one record than one device may: each change beyond the limit, as a whole, "
          + "has no effect (`hearth doctor` names the record, `hearth quarantine` the changes)",
        nowMilliseconds: nowMilliseconds)
    }
  }

  /// The records of a zone that accept no further content of an author, with the number of void
  /// changes.
  ///
  /// The order is by author and then by the first such change.
  package func overfullRecords(in zone: ZoneID) throws -> [OverfullRecord] {
    var found: [OverfullRecord] = []
    for (author, stretch) in try roleVoids(of: zone).all {
      guard let key = stretch.overfull else { continue }
      let place = found.firstIndex { $0.author == author && $0.key == key }
      let count = stretch.changes.count
      if let place {
        found[place].changes += count
      } else {
        found.append(OverfullRecord(zone: zone, author: author, key: key, changes: count))
      }
    }
    return found
  }

  /// Adds one notice per person whose words and links let in more devices than one person may have.
  ///
  /// - Parameter person: At whose expense the devices come; nil if nobody answers for them.
  /// - Returns: The reason why a further device has no place.
  func noteArrivals(
    of person: PersonID?, in zone: ZoneState, nowMilliseconds: UInt64
  ) throws -> String {
    guard let person else {
      return "too many devices that belong to nobody have logs in the members' log"
    }
    let name = membership(of: zone.group).person(person)?.name ?? "somebody"
    let reason =
      "recovery words and links of \(name) let in more devices than one person may have "
      + "(\(Limits.maximumDevices), with \(Limits.maximumLives) incarnations in all)"
    let fact = "limit.arrivals.\(person.hex)"
    guard try store.facts.value(of: fact) == nil else { return reason }
    try store.facts.set(fact, to: nowMilliseconds.fixedBytes)
    try store.notices.add(
      Notice(
        kind: .limit, zone: zone.id, device: nil,
        text: "\(reason): the others have no place. If that was not \(name), \(name) can still use "
          + "`hearth recover --revoke-others` and then `hearth words rotate`; if it was, an owner "
          + "or admin can remove \(name)",
        milliseconds: nowMilliseconds))
    return reason
  }

  /// Adds one notice per device that exceeded a limit, with a remedy.
  ///
  /// - Parameter advice: The remedy; nil if an honest program never exceeds the limit.
  func noteLimit(
    of device: DeviceID, in zone: ZoneState, as limit: String, _ what: String,
    advice: String? = nil, nowMilliseconds: UInt64
  ) throws {
    let fact = "limit.\(limit).\(device.hex)"
    guard device != self.device, try store.facts.value(of: fact) == nil else { return }
    try store.facts.set(fact, to: nowMilliseconds.fixedBytes)
    let name = deviceName(device, in: zone)
    try store.notices.add(
      Notice(
        kind: .limit, zone: zone.id, device: device,
        text: "\(name) \(what); "
          + (advice
            ?? "no honest program does that: ask the device's owner, and remove the device with "
            + "`hearth device revoke` if nobody can explain it"),
        milliseconds: nowMilliseconds))
  }
}
