import HearthCRDT
import Testing

@testable import HearthMembership

@Suite("Identifiers of applications")
struct ApplicationIdentifierTests {
  private static let label = String(repeating: "a", count: 63)

  @Test(
    "A reversed domain is an identifier",
    arguments: [
      "a.b", "org.example.shopping", "de.4-you.notes2", label + ".b",
      label + "." + label, "hearth.household",
    ])
  func names(name: String) {
    #expect(ApplicationIdentifier(name)?.name == name)
  }

  @Test(
    "Nothing else is",
    arguments: [
      "", ".", "shopping", "org.", ".org", "org..example", "Org.example", "org.exämple",
      "org.example shopping", "org.example_x", "org.-x", "org.x-", "org.x\n", label + "a.b",
      label + "." + label + ".ab",
    ])
  func others(name: String) {
    #expect(ApplicationIdentifier(name) == nil)
  }

  private func genesis(_ application: ApplicationIdentifier) -> ControlOperation.Genesis {
    ControlOperation.Genesis(
      nonce: .zero, database: .shared, controlZone: .zero, zones: [], founder: .zero,
      founderName: "Anna",
      device: DeviceCard(
        signKey: [UInt8](repeating: 1, count: 32), boxKey: [UInt8](repeating: 2, count: 32),
        name: "laptop"),
      createdMilliseconds: 7, application: application)
  }

  @Test("A founding ends with the identifier, and with none for the household")
  func founding() throws {
    let shopping = try #require(ApplicationIdentifier("org.example.shopping"))
    let bytes = ControlOperation.genesis(genesis(.household)).encoded
    let named = ControlOperation.genesis(genesis(shopping)).encoded
    #expect(named == bytes + [20] + Array(shopping.name.utf8))
    for (encoded, application) in [(bytes, .household), (named, shopping)] {
      #expect(try ControlOperation(decoding: encoded) == .genesis(genesis(application)))
    }
    #expect(
      ControlIdentity.groupID(of: genesis(.household))
        != ControlIdentity.groupID(of: genesis(shopping)))
    let end = Array(named.dropFirst(bytes.count))
    let faults: [[UInt8]] = [
      Array(end.dropLast()), [0], [3] + Array("org".utf8),
      [16] + Array("hearth.household".utf8), end + [0],
    ]
    for end in faults {
      #expect(throws: CodecError.self, "\(end)") {
        try ControlOperation(decoding: bytes + end)
      }
    }
  }
}
