import HearthCRDT

/// Segments that were looked into and can never be used, and why.
///
/// A name carries the digest of its bytes, so what was forged stays so under that name: while a
/// program runs it is told of in every round and fetched once, however large it is. A program that
/// starts anew looks again.
struct Refusals {
  /// Beyond, all are forgotten and looked into again.
  static let maximumCount = 4_096
  private var reasons: [Key: String] = [:]

  private struct Key: Hashable {
    let zone: ZoneID
    let digest: Identifier
  }

  /// Why a zone's segment cannot be used; nil for one that was not refused.
  func reason(for digest: Identifier, in zone: ZoneID) -> String? {
    reasons[Key(zone: zone, digest: digest)]
  }

  /// Notes that no news of people or keys will ever make a segment usable.
  mutating func note(_ digest: Identifier, in zone: ZoneID, because reason: String) {
    if reasons.count >= Refusals.maximumCount { reasons = [:] }
    reasons[Key(zone: zone, digest: digest)] = reason
  }
}
