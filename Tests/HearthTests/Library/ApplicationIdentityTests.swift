import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import Testing

@testable import Hearth
@testable import HearthSync

/// Another application's type with the number of the shopping lists.
private struct Memo: Record {
  var id = Key<Memo>()
  var text = ""

  static let schema = Schema<Memo>("memo", 1) { Field(1, \.text) }
  static let app = AppSchema("org.example.notes", [Memo.self])
}

@Suite("Applications")
struct ApplicationIdentityTests {
  @Test("Another application cannot open a node, and changes nothing in it")
  func home() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    let list = try await zone.insert(ShoppingList(name: "Week"))
    try await anna.close()
    #expect(
      await fault { _ = try await shopping.open("Anna", Memo.app) }?.code == .otherApplication)
    let again = try await shopping.open("Anna")
    let found = try #require(await again.shared.zones().first)
    #expect(try await found.get(list.id) == list)
  }

  @Test("Another application cannot join a zone by its link, and nothing of it stays")
  func link() async throws {
    let shopping = try Shopping()
    let (_, zones) = try await shopping.pair()
    let notes = try await shopping.open("Nora", Memo.app)
    for approval in [false, true] {
      let link = try await zones[0].invite(approval: approval)
      let refused = await fault { _ = try await notes.join(link) }
      #expect(refused?.code == .otherApplication)
      #expect(refused?.message.contains("org.example.shopping") == true)
    }
    #expect(await notes.shared.zones().isEmpty)
    #expect(try await notes.transports().isEmpty)
    #expect(try await notes.awaitedApprovals().isEmpty)
    #expect(try await zones[0].joinRequests().isEmpty)
  }

  @Test("A bundle that names another application does not let it in: the founding decides")
  func lie() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let notes = try await shopping.open("Nora", Memo.app)
    let link = try await zones[0].invite()
    try shopping.lie(about: link, naming: "org.example.notes")
    #expect(await fault { _ = try await notes.join(link) }?.code == .otherApplication)
    #expect(await notes.shared.zones().isEmpty)
    #expect(try await notes.transports().isEmpty)
    try await nodes[0].sync()
    #expect(try await zones[0].members().count == 2)
  }

  @Test("A bundle that lies brings a request at most: the answer of its group is refused")
  func lieByApproval() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let notes = try await shopping.open("Nora", Memo.app)
    let link = try await zones[0].invite(approval: true)
    try shopping.lie(about: link, naming: "org.example.notes")
    #expect(try await notes.join(link).zone == nil)
    let request = try #require(try await zones[0].joinRequests().first)
    try await zones[0].approve(request)
    try await nodes[0].sync()
    #expect(try await notes.sync().joined.isEmpty)
    #expect(await notes.shared.zones().isEmpty)
    let told = try await notes.node.admissions.requested().first?.unproven
    #expect(told?.contains("org.example.shopping") == true)
  }

  @Test("The household refuses an application's zone, and the application a household")
  func household() async throws {
    let family = try Family()
    let (nodes, home) = try await family.grow(["Anna"])
    let shopping = try Shopping()
    let cem = try await shopping.open("Cem")
    let zone = try await cem.shared.createZone(named: "Home")
    try await cem.addFolder(shopping.folder)
    let link = try InvitationLink(text: try await zone.invite())
    await #expect(throws: SyncError(.otherApplication, "")) {
      try await nodes[0].invitations.join(link)
    }
    let household = try await nodes[0].invitations.create(
      to: home, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    let refused = await fault { _ = try await cem.join(household.text) }
    #expect(refused?.code == .otherApplication)
    #expect(refused?.message.contains("hearth.household") == true)
  }

  @Test("Recovery words of a household lead an application to nothing")
  func recovery() async throws {
    let family = try Family()
    let (nodes, _) = try await family.grow(["Anna"])
    let words = try PersonWords.drawn()
    _ = try await nodes[0].recovery.activate(words)
    let schema = try Shopping.app.checked()
    await #expect(throws: HearthError(.otherApplication, "")) {
      _ = try await Node.recover(
        at: family.home("new"), words: words, folders: [family.folder], deviceName: "new",
        revokingOthers: false, passphrase: nil, schema: schema)
    }
    #expect(!FileManager.default.fileExists(atPath: family.home("new")))
  }

  @Test("The household cannot open an application's node, nor the application the household's")
  func homes() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    try await anna.close()
    let schema = NodeSchema(records: [])
    await #expect(throws: StoreError(.otherApplication, "")) {
      _ = try await Node.open(at: shopping.home("Anna"), schema: schema)
    }
    for (name, schema) in [("Paul", Family.schema), ("Pia", schema)] {
      let plain = try await Node.create(
        at: shopping.home(name), person: name, device: "phone", passphrase: nil, schema: schema)
      try await plain.close()
      #expect(await fault { _ = try await shopping.open(name) }?.code == .otherApplication)
      try await Node.open(at: shopping.home(name), schema: schema).close()
    }
  }
}

extension Shopping {
  /// Names an application in the bundle of an invitation, as whoever made it can.
  fileprivate func lie(about link: String, naming name: String) throws {
    let secret = try InvitationLink(text: link).secret
    let invite = try #require(Identifier(bytes: secret.publicKeys.inviteID))
    let file = URL(fileURLWithPath: folder)
      .appendingPathComponent("i/\(BlobName.bundle(of: invite).scope.hex).cap")
    var bundle = try InvitationCapsule(
      opening: Array(try Data(contentsOf: file)), with: secret)
    bundle.application = try #require(ApplicationIdentifier(name))
    try Data(try bundle.sealed(for: secret)).write(to: file)
  }
}
