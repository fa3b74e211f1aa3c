import Foundation
import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import Hearth

@Suite("Damaged files and links")
struct FuzzTests {
  @Test("Invitation links: a typed error, or a link that is written as it was read")
  func links() throws {
    let corpus = try (0..<3).map { number in
      let folder = number == 0 ? nil : "/media/stick/höme \(number)"
      return Array(InvitationLink(secret: try InviteSecret.random(), folder: folder).text.utf8)
    }
    var mutator = Mutator(seed: 31, corpus: corpus)
    for _ in 0..<1_500 {
      let text = String(decoding: mutator.next(), as: UTF8.self)
      do {
        let link = try InvitationLink(text: text)
        #expect(try InvitationLink(text: link.text).text == link.text, "\(text)")
      } catch let error as HearthError {
        #expect(error.code == .invalid, "\(text)")
      }
    }
    for length in [8 * 1024, 8 * 1024 + 1] {
      let prefix = String(decoding: corpus[0], as: UTF8.self)
      let long = prefix + String(repeating: "A", count: length - prefix.utf8.count)
      let error = #expect(throws: HearthError.self) { try InvitationLink(text: long) }
      #expect(error?.message.contains("too long") == (length > 8 * 1024))
    }
  }

  @Test("Key files: a typed error for whatever is damaged; parameters cannot ask for the moon")
  func keyFile() throws {
    let master = try SecretBytes(DeviceIdentity.generate().master)
    let corpus = [try KeyFile.seal([master], passphrase: nil)]
    var mutator = Mutator(seed: 32, corpus: corpus)
    for round in 0..<1_000 {
      let bytes = mutator.next()
      do {
        // Opening under a passphrase takes a second by design: the frame is checked before.
        guard try KeyFile.mode(of: bytes) == .plain else { continue }
        _ = try KeyFile.open(bytes, passphrase: nil)
        #expect(bytes == corpus[0], "round \(round) opened")
      } catch is CryptoError {}
    }
  }
}
