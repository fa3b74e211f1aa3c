import HearthCRDT
import HearthRelayProtocol
import HearthSync

/// How a node reaches the places of catalogues, and how long it waits for one.
///
/// Strangers keep these places. So no exchange of a household waits for one, other processes work
/// on the node meanwhile, and each place has its time.
struct CatalogueReach: Sendable {
  /// Returns the place from which a device reads a catalogue: its relay, or a folder.
  let source: @Sendable (CatalogueAddress, _ folder: String?, DeviceID) -> CatalogueSource
  /// Returns when a place has had its time; throws if its task is cancelled before.
  let end: @Sendable () async throws -> Void

  /// Two minutes for each place: the largest catalogue comes in that time over 2.5 Mbit/s, and
  /// later only changes are sent.
  static let standard = CatalogueReach(
    source: { CatalogueSource(of: $0, folder: $1, as: $2) },
    end: { try await Task.sleep(for: .seconds(120)) })

  /// Asks a place outside of the caller's turn, and stops when the place has had its time.
  ///
  /// - Parameters:
  ///   - address: the catalogue and its relay.
  ///   - folder: the folder, if there is no relay.
  ///   - replicas: those whose turn others have meanwhile.
  ///   - work: what is asked; it ends early if its task is cancelled.
  /// - Throws: `TransportError.relayUnreachable` if the time is up; what the work throws.
  func ask<Result: Sendable>(
    _ address: CatalogueAddress, _ folder: String?, beside replicas: NodeReplicas,
    _ work: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let place = address.relay.map { "the relay \($0.place)" } ?? "the folder \(folder ?? "")"
    return try await replicas.whileWaiting {
      try await withThrowingTaskGroup(of: Result?.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await work() }
        group.addTask { [end] in
          try await end()
          return nil
        }
        guard let first = try await group.next(), let result = first else {
          throw TransportError(
            .relayUnreachable, place: place,
            message: "\(place) takes too long for the catalogue \(address.catalogue.name)",
            remedy: "the local copy stays; try again later, or use another place")
        }
        return result
      }
    }
  }
}
