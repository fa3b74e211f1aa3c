/// A record that is written once and never changes: a payment, a message, a chore that was done.
///
/// ```swift
/// struct Payment: Event {
///   var id = Key<Payment>()
///   var trip: Key<Trip>?
///   var cents: Int64 = 0
///
///   static let schema = Schema<Payment>("payment", 3) {
///     Reference(1, \.trip)
///     Field(2, \.cents)
///   }
/// }
/// let payment = try await zone.insert(Payment(trip: trip, cents: 1_250))
/// let origin = try await zone.read { try $0.origin(of: payment.id) }   // which device, when
/// ```
///
/// Queries, observations, SQL and derived tables treat it as any record. It cannot be updated or
/// deleted: the compiler refuses the calls, and every device ignores such changes of a faulty
/// program. Write a second event that takes the first one back. Its fields have one value each; it
/// has no counters, sets, texts or histories, and nothing is deleted with what it refers to.
///
/// Its author is who signed it, so no field needs to name one: see ``ZoneReader/origin(of:)``.
public protocol Event: Record where Mutability == LastingRecord {
  /// Whether each event keeps which changes its author had received when writing it, for
  /// ``ZoneReader/value(of:in:seenBy:)``; by default false.
  ///
  /// It costs some bytes for every author of the zone. It belongs to the contract with other
  /// devices, as the type's number does: it never changes.
  static var keepsPast: Bool { get }
}

extension Event {
  /// False: events keep nothing of their authors' past.
  public static var keepsPast: Bool { false }
}
