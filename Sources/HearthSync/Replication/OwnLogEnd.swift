import HearthCRDT

/// The unsealed end of an own log, from a change on.
package struct OwnLogEnd: Equatable, Sendable {
  let zone: ZoneID
  let author: Author
  /// The first affected change; earlier ones are the same in the other copy and stay.
  let first: UInt64
}
