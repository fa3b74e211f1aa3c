import HearthCRDT
import HearthCrypto
import HearthSync

/// A catalogue and its location: `hearth-catalogue://HOST:PORT/PIN/KEY/NAME`.
///
/// The form `hearth-catalogue:///KEY/NAME` omits the location, if it is known otherwise, such as a
/// folder. An address is one line to copy, and has only one spelling. Host, port and pin are those
/// of the relay's address. The key is the publisher's in 52 base 32 characters.
package struct CatalogueAddress: Hashable, Sendable, CustomStringConvertible {
  /// The prefix of an address.
  package static let scheme = "hearth-catalogue://"

  /// The relay; nil if the address names no location.
  package let relay: RelayAddress?
  /// The catalogue.
  package let catalogue: CatalogueReference

  package init(relay: RelayAddress?, catalogue: CatalogueReference) {
    self.relay = relay
    self.catalogue = catalogue
  }

  /// Reads the one spelling of an address.
  ///
  /// - Throws: `SyncError.malformed`, saying which part is wrong.
  package init(_ text: String) throws {
    let form =
      "a catalogue's address is \(CatalogueAddress.scheme)HOST:PORT/PIN/KEY/NAME, or "
      + "\(CatalogueAddress.scheme)/KEY/NAME with a folder beside it"
    guard text.hasPrefix(CatalogueAddress.scheme) else { throw SyncError(.malformed, form) }
    let parts = text.dropFirst(CatalogueAddress.scheme.count)
      .split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    let hasPlace = parts.count == 4
    guard hasPlace || (parts.count == 3 && parts[0].isEmpty) else {
      throw SyncError(.malformed, form)
    }
    let relay =
      hasPlace ? try RelayAddress("\(RelayAddress.scheme)\(parts[0])/\(parts[1])") : nil
    guard let bytes = try? Base32.decode(parts[parts.count - 2]),
      bytes.count == SigningPublicKey.count
    else {
      throw SyncError(
        .malformed, "the publisher's key in a catalogue's address has 52 characters: copy it whole")
    }
    guard let key = try? SigningPublicKey(validating: bytes) else {
      throw SyncError(.malformed, "the publisher's key in this address is not a valid key")
    }
    self.init(
      relay: relay,
      catalogue: try CatalogueReference(publisher: key, name: parts[parts.count - 1]))
    guard description == text else {
      throw SyncError(
        .malformed, "not the usual spelling of a catalogue's address; it would be \(description)")
    }
  }

  package var description: String {
    let place = relay.map { $0.description.dropFirst(RelayAddress.scheme.count) } ?? ""
    return "\(CatalogueAddress.scheme)\(place)/\(Base32.encode(catalogue.publisher.bytes))"
      + "/\(catalogue.name)"
  }
}
