import Foundation
import HearthCRDT
import HearthCrypto
import HearthStore
import HearthTransport
import Testing

@testable import Hearth
@testable import HearthMembership
@testable import HearthSync

extension Node {
  /// What a stolen device writes to mislead another one of its person.
  fileprivate func hand(_ value: [UInt8], to device: DeviceID) throws {
    let zone = try #require(core.privateDatabase.zone)
    let key = RecordKey(type: RecoveryBundles.locationType, id: device)
    _ = try engine.write(
      [HearthCRDT.Operation(key, .assign(RecoveryBundles.locationField, .bytes(value)))],
      to: zone.id,
      nowMilliseconds: nowMilliseconds())
  }

  fileprivate var keys: DevicePublicKeys { engine.identity.publicKeys }
}

@Suite("The capsule of recovery words")
struct CapsuleTests {
  /// Anna with words, a laptop on which they were made, and a phone.
  private func devices(
    _ family: Family
  ) async throws -> (laptop: Node, phone: Node, words: PersonWords) {
    let laptop = try await PrivateTests.node("Anna", "laptop", in: family)
    let zone = try await laptop.createHousehold(named: "Home")
    _ = try await laptop.transports.add(folder: family.folder)
    _ = try await laptop.sync()
    let phone = try await PrivateTests.further("phone", of: laptop, in: zone, family)
    try await Family.settle([laptop, phone])
    let words = try PersonWords.drawn()
    _ = try await laptop.recovery.activate(words)
    return (laptop, phone, words)
  }

  private func place(of words: PersonWords, _ family: Family) throws -> String {
    let name = try RecoveryBundles.name(of: words.words.root().capsuleAccess)
    return family.folder + "/i/" + name.scope.hex + ".cap"
  }

  private func states(_ node: Node) async throws -> [RecoveryCapsuleState] {
    try #require(try await node.recovery.bundleStatus()).transports.map(\.state)
  }

  @Test("The bundle of former words stays until every transport has that of the new ones")
  func former() async throws {
    let family = try Family()
    let (laptop, _, words) = try await devices(family)
    let files = FileManager.default
    let away = family.folder + "-away"
    try files.moveItem(atPath: family.folder, toPath: away)
    let next = try PersonWords.drawn()
    let report = try await laptop.recovery.rotate(words, to: next)
    #expect(!report.hasReachedAll)
    try files.moveItem(atPath: away, toPath: family.folder)
    #expect(try files.fileExists(atPath: place(of: words, family)))
    #expect(try !files.fileExists(atPath: place(of: next, family)))
    #expect(try await laptop.sync().hasReachedAll)
    #expect(try !files.fileExists(atPath: place(of: words, family)))
    #expect(try files.fileExists(atPath: place(of: next, family)))
    #expect(try await states(laptop) == [.whole])
    // It is forgotten then: what somebody puts there again stays.
    try Data([1]).write(to: URL(fileURLWithPath: place(of: words, family)))
    _ = try await laptop.sync()
    #expect(try files.fileExists(atPath: place(of: words, family)))
  }

  @Test("A transport that is gone keeps no former bundle on others, and the present one stays")
  func formerInPlaces() async throws {
    let family = try Family()
    let (laptop, _, words) = try await devices(family)
    let files = FileManager.default
    let gone = family.home("gone")
    try files.createDirectory(atPath: gone, withIntermediateDirectories: true)
    _ = try await laptop.transports.add(folder: gone)
    _ = try await laptop.sync()
    try files.removeItem(atPath: gone)
    let next = try PersonWords.drawn()
    #expect(try await !laptop.recovery.rotate(words, to: next).hasReachedAll)
    #expect(try !files.fileExists(atPath: place(of: words, family)))
    #expect(try files.fileExists(atPath: place(of: next, family)))
    // Back to the earlier words: their bundle is the present one, and stays.
    _ = try await laptop.recovery.rotate(next, to: words)
    _ = try await laptop.sync()
    #expect(try files.fileExists(atPath: place(of: words, family)))
    #expect(try await states(laptop).first == .whole)
  }

  @Test("Every device of the person renews it, also when the one that made the words is revoked")
  func renewed() async throws {
    let family = try Family()
    let (laptop, phone, words) = try await devices(family)
    _ = try await phone.sync()
    let group = try #require(await phone.dataZones().first { $0.database == .shared }?.group)
    try await phone.people.revoke(laptop.device, from: group)
    _ = try await phone.sync()
    #expect(try await states(phone) == [.whole])
    try FileManager.default.removeItem(atPath: place(of: words, family))
    #expect(try await states(phone) == [.missing])
    #expect(try await phone.recovery.examineBundles(with: words).compactMap(\.fault).count == 1)
    _ = try await phone.sync()
    #expect(try await states(phone) == [.whole])
    #expect(try await phone.recovery.examineBundles(with: words).compactMap(\.fault).isEmpty)
    let (again, _) = try await Node.recover(
      at: family.home("new"), words: words, folders: [family.folder], deviceName: "new",
      revokingOthers: true, passphrase: nil, schema: Family.schema)
    #expect(await again.person == laptop.person)
  }

  @Test("A place that the words did not sign is not believed")
  func misled() async throws {
    let family = try Family()
    let (laptop, phone, words) = try await devices(family)
    let root = try words.words.root()
    let wrong = try SealedBox.seal([UInt8](repeating: 7, count: 32), to: await phone.keys.boxKey)
    let forged =
      root.publicKeys.sign + root.publicKeys.box
      + [UInt8](repeating: 0, count: Signature.count) + wrong
    try await laptop.hand(forged, to: phone.device)
    _ = try await laptop.sync()
    _ = try await phone.sync()
    #expect(try await phone.recovery.bundleStatus()?.isLocationKnown == false)
    // The words themselves let it know.
    _ = try await phone.recovery.examineBundles(with: words)
    #expect(try await states(phone) == [.whole])
  }

  @Test("Keys that do not open are seen with the words, and by them alone")
  func forgedKeys() async throws {
    let family = try Family()
    let (laptop, _, words) = try await devices(family)
    let root = try words.words.root()
    let path = try place(of: words, family)
    let body = try RecoveryCapsule.open(
      [UInt8](Data(contentsOf: URL(fileURLWithPath: path))), with: root.capsuleAccess)
    let listing = try RecoveryListing(decoding: body)
    #expect(listing.fault(with: root) == nil)
    let sealed = [
      listing.groups[0].zones[0].sealedSecret, listing.groups[0].zones[1].epochs[0].sealed,
    ]
    for key in sealed {
      let start = try #require(
        (0...(body.count - key.count)).first { Array(body[$0..<($0 + key.count)]) == key })
      var forged = body
      forged[start + 50] ^= 1
      try Data(RecoveryCapsule.seal(forged, with: root.capsuleAccess))
        .write(to: URL(fileURLWithPath: path))
      #expect(try await states(laptop) == [.whole])
      let fault = try await laptop.recovery.examineBundles(with: words).compactMap(\.fault).first
      #expect(fault?.contains("words rotate") == true)
    }
  }
}
