import Foundation
import Testing

@testable import HearthCrypto

/// Wycheproof (testvectors_v1) against the operations that Hearth uses.
@Suite("Wycheproof")
struct WycheproofTests {
  private struct Case {
    let fields: [String: Any]
    let key: [UInt8]
    var id: Int { fields["tcId"] as? Int ?? -1 }
    var result: String { fields["result"] as? String ?? "" }
    var flags: [String] { fields["flags"] as? [String] ?? [] }
    func bytes(_ name: String) throws -> [UInt8] {
      try Hex.decode(try #require(fields[name] as? String, "field \(name) of test \(id)"))
    }
  }

  /// The cases of a file, or nil with a line when the folder is not there.
  private static func load(_ name: String) throws -> [Case]? {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let file = root.appendingPathComponent("../shared/vectors/wycheproof_\(name).json")
    guard let data = try? Data(contentsOf: file) else {
      print("wycheproof_\(name).json is not at ../shared/vectors; skipped")
      return nil
    }
    let top = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let groups = try #require(top["testGroups"] as? [[String: Any]])
    return try groups.flatMap { group in
      let key = (group["publicKey"] as? [String: Any])?["pk"] as? String ?? ""
      let tests = try #require(group["tests"] as? [[String: Any]])
      return try tests.map { Case(fields: $0, key: try Hex.decode(key)) }
    }
  }

  @Test("XChaCha20-Poly1305: 246 valid cases open and reproduce, 69 invalid ones are refused")
  func xchacha20poly1305() throws {
    guard let cases = try Self.load("xchacha20_poly1305") else { return }
    var counts = (valid: 0, invalid: 0)
    for test in cases {
      var keyBytes = try test.bytes("key")
      let key = try SecretKey(consuming: &keyBytes)
      let context = try test.bytes("aad")
      let nonce = try test.bytes("iv")
      let sealed = try test.bytes("ct") + test.bytes("tag")
      let message = try test.bytes("msg")
      if test.result == "valid" {
        counts.valid += 1
        #expect(
          try AEAD.open(nonce + sealed, associatedData: context, key: key) == message,
          "test \(test.id)")
        #expect(encrypt(message, context, nonce, key) == sealed, "test \(test.id)")
      } else {
        counts.invalid += 1
        let opened = try? AEAD.open(nonce + sealed, associatedData: context, key: key)
        #expect(opened == nil, "test \(test.id)")
      }
    }
    #expect(counts == (246, 69))
  }

  private func encrypt(
    _ message: [UInt8], _ context: [UInt8], _ nonce: [UInt8], _ key: SecretKey
  ) -> [UInt8] {
    key.withUnsafeBytes { key in
      message.withUnsafeBytes { message in
        context.withUnsafeBytes { context in
          nonce.withUnsafeBytes { nonce in
            Blake2b.array(message.count + XChaCha20Poly1305.tagCount) {
              XChaCha20Poly1305.encrypt(message, context, nonce: nonce, key: key, into: $0)
            }
          }
        }
      }
    }
  }

  @Test("Ed25519: 88 valid signatures are accepted, 63 invalid ones refused")
  func ed25519() throws {
    guard let cases = try Self.load("ed25519") else { return }
    var counts = (valid: 0, invalid: 0)
    for test in cases {
      let accepted = Curve25519.verifies(
        try test.bytes("sig"), message: try test.bytes("msg"), key: test.key)
      if test.result == "valid" { counts.valid += 1 } else { counts.invalid += 1 }
      #expect(accepted == (test.result == "valid"), "test \(test.id)")
    }
    #expect(counts == (88, 63))
  }

  @Test("X25519: every result is right; zero results and second encodings are refused as keys")
  func x25519() throws {
    guard let cases = try Self.load("x25519") else { return }
    var counts = (valid: 0, acceptable: 0, refusedKeys: 0)
    for test in cases {
      if test.result == "valid" { counts.valid += 1 } else { counts.acceptable += 1 }
      let point = try test.bytes("public")
      let shared = Curve25519.multiply(scalar: try test.bytes("private"), point: point)
      let isZero = test.flags.contains("ZeroSharedSecret")
      #expect(shared == (isZero ? nil : try test.bytes("shared")), "test \(test.id)")
      let isRefused = (try? BoxPublicKey(validating: point)) == nil
      #expect(
        isRefused == (isZero || test.flags.contains("NonCanonicalPublic")), "test \(test.id)")
      counts.refusedKeys += isRefused ? 1 : 0
    }
    #expect(counts.valid == 264 && counts.acceptable == 254 && counts.refusedKeys == 44)
  }
}
