import HearthRelayProtocol
import HearthSync

/// The text by which a transport is known: a folder's path or a relay's address.
enum TransportAddress {
  /// Whether it is a relay's address.
  static func isRelay(_ place: String) -> Bool { place.hasPrefix(RelayAddress.scheme) }

  /// Reads a relay's address as people copy it.
  ///
  /// - Throws: `invalid`, with the wrong part.
  static func relay(_ text: String) throws -> RelayAddress {
    do {
      return try RelayAddress(text.filter { !$0.isWhitespace })
    } catch let error as SyncError {
      throw HearthError(.invalid, "\(error.message)", cause: error)
    }
  }

  /// Returns the error for a place that cannot be read.
  static func unreadable(_ place: String, because error: any Error) -> HearthError {
    let subject = isRelay(place) ? "" : "the shared folder \(place) cannot be read: "
    return HearthError(.offline, "\(subject)\(error)", cause: error)
  }
}
