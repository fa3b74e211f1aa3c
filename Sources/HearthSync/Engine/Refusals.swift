import HearthCRDT

/// Examined segments that can never be used, with the reasons.
///
/// A name contains the digest of its bytes, so a forged segment stays forged under that name. While
/// a program runs, it sees such a segment listed in every round but fetches it only once, however
/// large it is. A restarted program examines it again.
struct Refusals {
  /// The number of entries beyond which all are forgotten and examined again.
  static let maximumCount = 4_096
  private var reasons: [Key: String] = [:]

  private struct Key: Hashable {
    let zone: ZoneID
    let digest: Identifier
  }

  /// The reason why a zone's segment cannot be used; nil if it was not refused.
  func reason(for digest: Identifier, in zone: ZoneID) -> String? {
    reasons[Key(zone: zone, digest: digest)]
  }

  /// Notes that no later news of people or keys can make a segment usable.
  mutating func note(_ digest: Identifier, in zone: ZoneID, because reason: String) {
    if reasons.count >= Refusals.maximumCount { reasons = [:] }
    reasons[Key(zone: zone, digest: digest)] = reason
  }
}
