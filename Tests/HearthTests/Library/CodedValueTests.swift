import Foundation
import Hearth
import Testing

/// Where somebody lives, as a value that is always replaced as a whole.
private struct Address: Codable, Equatable, Sendable {
  var town = ""
  var street = "Hill / 1"
  var since = Date(timeIntervalSince1970: 0)
  var weight: Double?
}

private struct Contact: Record, Equatable {
  var id = Key<Contact>()
  var name = ""
  var address = Address()
  var former: [Address]?

  static let schema = Schema<Contact>("contact", 1) {
    Field(1, \.name)
    Field(2, \.address, .json)
    Field(3, \.former, .json)
  }
  static let app = AppSchema("org.example.contacts", [Contact.self])
}

/// The contacts as another version of the program declares them.
private struct OtherContact: Record {
  var id = Key<OtherContact>()
  var name = ""
  var address = ""

  static let schema = Schema<OtherContact>("contact", 1) {
    Field(1, \.name)
    Field(2, \.address)
  }
  static let app = AppSchema("org.example.contacts", [OtherContact.self])
}

@Suite("Values coded as JSON")
struct CodedValueTests {
  @Test("A value comes back, and has one text: members in order, dates in milliseconds")
  func roundTrip() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", Contact.app)
    let zone = try await anna.shared.createZone(named: "Home")
    let since = Date(timeIntervalSince1970: 1.5)
    let contact = try await zone.insert(
      Contact(name: "Ben", address: Address(town: "Bern", since: since), former: [Address()]))
    #expect(try await zone.get(contact.id) == contact)
    let rows = try await zone.sql("SELECT address FROM contact")
    #expect(
      rows.map(\.values) == [[.text(#"{"since":1500,"street":"Hill / 1","town":"Bern"}"#)]])
    try await zone.update(contact.id) { $0.former = nil }
    #expect(try await zone.get(contact.id)?.former == nil)
    let changed = try await zone.update(contact.id) { $0.address.town = "Basel" }
    #expect(try await zone.fetch(Contact.all).map(\.address) == [changed.address])
  }

  @Test("A value that cannot be read is reported, and the others are there")
  func unreadable() async throws {
    let shopping = try Shopping()
    let other = try await shopping.open("Anna", OtherContact.app)
    let first = try await other.shared.createZone(named: "Home")
    for address in ["", "{\"town\":7}", String(repeating: " ", count: 70_000) + "{}"] {
      try await first.insert(OtherContact(name: "Ben", address: address))
    }
    try await other.close()
    let anna = try await shopping.open("Anna", Contact.app)
    let zone = try #require(await anna.shared.zones().first)
    let carl = try await zone.insert(Contact(name: "Carl"))
    let found = try await zone.fetch(Contact.all)
    #expect(found.map(\.id) == [carl.id])
    #expect(found.unreadable.map(\.field) == ["address", "address", "address"])
  }

  @Test("A value that cannot be coded, or is too large, is not written")
  func refused() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", Contact.app)
    let zone = try await anna.shared.createZone(named: "Home")
    let contact = try await zone.insert(Contact(name: "Ben"))
    let endless = Address(weight: .infinity)
    #expect(
      await fault { try await zone.insert(Contact(address: endless)) }?.code == .invalid)
    let large = Address(town: String(repeating: "x", count: 70_000))
    #expect(
      await fault { try await zone.update(contact.id) { $0.address = large } }?.code == .tooLarge)
    #expect(try await zone.fetch(Contact.all).map(\.id) == [contact.id])
  }
}
