import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// A catalogue at a relay, as its publisher or as a reader sees it.
///
/// Calls block until there is an answer, for a bounded time. The answers are not trusted: the
/// caller verifies signatures. Not thread-safe.
package final class RelayCatalogue {
  /// The connection.
  ///
  /// Readers and publishers have a connection of their own, which reveals nothing else about the
  /// node.
  package let link: any RelayClientConnection
  private let access: MailboxAccess

  /// Prepares a catalogue for reading by anybody.
  package init(reading catalogue: CatalogueReference, over link: any RelayClientConnection) {
    self.link = link
    access = .reading(catalogue)
  }

  /// Prepares a catalogue for writing by its publisher.
  package init(
    publishing catalogue: CatalogueReference, by publisher: PublisherIdentity,
    over link: any RelayClientConnection
  ) {
    self.link = link
    access = .publishing(catalogue, by: publisher)
  }

  /// Host and port, for people.
  package var place: String { "\(link.address.host):\(link.address.port)" }

  /// Opens the catalogue.
  ///
  /// A publisher creates it if it does not exist.
  ///
  /// - Throws: `TransportError`; `relayRefused` if a reader opens a catalogue that does not exist.
  package func open() async throws -> RelayOpened {
    link.know(access, cursor: nil)
    guard case .opened(let opening) = try await ask(.open) else { throw unfit() }
    return opening.opened
  }

  /// Reads one page of the entries after a position.
  package func page(after position: UInt64) async throws -> RelayPage {
    guard
      case .reply(.entries(let page)) = try await ask(
        .fetchAfter(position, limit: RelayLimits.maximumBatchItems))
    else { throw unfit() }
    return page
  }

  /// Lists the names, positions and digests after a position.
  package func list(after position: UInt64) async throws -> RelayListing {
    guard
      case .reply(.listing(let listing)) = try await ask(
        .list(after: position, limit: RelayLimits.maximumListItems))
    else { throw unfit() }
    return listing
  }

  /// Fetches blobs by name, at least one of them.
  ///
  /// A name without a blob yields nil.
  package func fetch(_ names: [[UInt8]]) async throws -> [[UInt8]?] {
    guard case .reply(.blobs(let blobs)) = try await ask(.fetch(names)) else { throw unfit() }
    return blobs
  }

  /// Finds records by their fields.
  package func find(_ query: PublicQuery) async throws -> PublicAnswer {
    guard case .reply(.found(let answer)) = try await ask(.query(query)) else { throw unfit() }
    return answer
  }

  /// Stores entries durably.
  package func put(_ items: [RelayPut]) async throws {
    guard case .reply(.stored(let stored)) = try await ask(.put(items)) else { throw unfit() }
    guard stored.allSatisfy({ $0.outcome != .conflict }) else {
      throw RelayWords(place: place).inconsistent("it holds entries that cannot be replaced")
    }
  }

  /// Removes entries durably.
  package func remove(_ names: [[UInt8]]) async throws {
    guard case .reply(.removed) = try await ask(.remove(names)) else { throw unfit() }
  }

  private func ask(_ question: RelayQuestion) async throws -> RelayOutcome {
    do {
      return try await link.ask(access.mailbox, question)
    } catch let failure as RelayFailure
      where [.refused, .unregistered, .tokenUsedUp].contains(failure)
    {
      throw TransportError(
        .relayRefused, place: place,
        message: access.role == .reader
          ? "the relay \(place) has no such catalogue"
          : "the relay \(place) does not let this publisher make a catalogue",
        remedy: access.role == .reader
          ? "ask its publisher for the address; the local copy stays"
          : "ask its operator for a token and give it with --token")
    } catch RelayFailure.unlisted(let key) {
      throw TransportError(
        .relayRefused, place: place,
        message: "the relay \(place) does not let this publisher make a catalogue: its operator "
          + "has not listed the publisher's key",
        remedy: "send this line to the relay's operator, then try again: hearth-relay token "
          + "--allow \(Hex.encode(key))")
    } catch let failure as RelayFailure {
      throw RelayWords(place: place).words(failure)
    }
  }

  /// The error for a relay that hands out more than a catalogue can have.
  ///
  /// - Parameter what: what there is too much of.
  package func excess(of what: String) -> TransportError {
    TransportError(
      .relayInconsistent, place: place,
      message: "the relay \(place) hands out \(what), more than any catalogue has",
      remedy: "the local copy stays; ask the publisher for an address at another relay")
  }

  private func unfit() -> TransportError {
    RelayWords(place: place).inconsistent("its answer does not match the request")
  }
}
