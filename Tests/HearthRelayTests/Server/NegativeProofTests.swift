import HearthCRDT
import HearthCrypto
import HearthSync
import NIOSSL
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// Negative test 21 of the security contract, over real sockets.
@Suite("Proofs to a relay: what must not work", .timeLimit(.minutes(20)))
struct NegativeProofTests {
  private let mailbox = Identifier(high: 11, low: 12)

  /// What a proof is bound to; each test changes one part.
  private struct Bound {
    var relayID: Bytes32
    var pin: Bytes32
    var nonce: Bytes32
    var mailbox: Identifier
  }

  private func nonce(_ client: WireClient, _ channel: Int) async throws -> Bytes32 {
    let reply = try await client.ask(.open(channel: channel, mailbox: mailbox))
    guard case .challenge(_, let nonce) = reply else {
      Issue.record("no challenge but \(reply)")
      return Bytes32(exactly: [UInt8](repeating: 0, count: 32))
    }
    return nonce
  }

  private func proof(_ pair: SigningKeyPair, _ channel: Int, _ bound: Bound) -> RelayRequest {
    let binding = RelayAccess.Binding(
      relayID: bound.relayID, pin: bound.pin, relayNonce: bound.nonce,
      clientNonce: Bytes32(exactly: RandomBytes.make(32)))
    return .prove(
      RelayProof(
        channel: channel, keyID: RelayAccess.keyID(of: pair.publicKey.bytes),
        clientNonce: binding.clientNonce,
        signature: RelayAccess.prove(pair, mailbox: bound.mailbox.bytes, binding: binding),
        cursor: nil))
  }

  private func isRefused(_ reply: RelayReply, _ code: RelayFault.Code = .refused) -> Bool {
    if case .fault(let fault) = reply { fault.code == code } else { false }
  }

  /// Makes the mailbox at a relay.
  private func makeMailbox(
    at address: RelayAddress, _ relayID: Bytes32, by pair: SigningKeyPair
  ) async throws {
    let maker = try await WireClient.connect(to: address)
    let made = try await WireEntry(mailbox: mailbox, relayID: relayID).enter(
      maker, pair, creates: true)
    guard case .opened = made else {
      throw RelayError(.notFound, "no mailbox but \(made)")
    }
  }

  @Test(
    "Negative 21: a proof serves once, at one relay, under one certificate, for one mailbox")
  func proofs() async throws {
    let pair = try CoreWorld.pair(1)
    let shelf = try ServerShelf()
    let other = try RelayServerIdentity(master: CoreWorld.key(0x45))
    let elsewhere = try TestFolder()
    let second = try ServerShelf.start(elsewhere, other, .unhurried)
    try await makeMailbox(at: shelf.server.address, shelf.identity.relayID, by: pair)
    try await makeMailbox(at: second.address, other.relayID, by: pair)
    let client = try await WireClient.connect(to: shelf.server.address)
    let right = { (nonce: Bytes32) in
      Bound(
        relayID: shelf.identity.relayID, pin: shelf.identity.pin, nonce: nonce, mailbox: mailbox)
    }
    // Once: then it is of no use, on this channel, on another challenge, in another session.
    let good = proof(pair, 0, right(try await nonce(client, 0)))
    guard case .opened = try await client.ask(good) else {
      Issue.record("a right proof is refused")
      return
    }
    #expect(isRefused(try await client.ask(good), .wrongState))
    let thief = try await WireClient.connect(to: shelf.server.address)
    _ = try await nonce(thief, 0)
    #expect(isRefused(try await thief.ask(good)))
    // At one relay: the other has the same mailbox, and the same key opens it.
    let stranger = try await WireClient.connect(to: second.address)
    let there = try await nonce(stranger, 0)
    #expect(isRefused(try await stranger.ask(proof(pair, 0, right(there)))))
    // Right but for one thing, and at last right.
    let changes: [(String, (inout Bound) -> Void)] = [
      ("relay", { $0.relayID = other.relayID }), ("certificate", { $0.pin = other.pin }),
      ("nonce", { $0.nonce = there }), ("mailbox", { $0.mailbox = Identifier(high: 1, low: 1) }),
    ]
    for (place, (name, change)) in changes.enumerated() {
      let channel = place + 1
      var bound = right(try await nonce(client, channel))
      change(&bound)
      #expect(isRefused(try await client.ask(proof(pair, channel, bound))), "another \(name)")
    }
    let last = changes.count + 1
    let fine = try await client.ask(proof(pair, last, right(try await nonce(client, last))))
    guard case .opened = fine else {
      Issue.record("a right proof is refused: \(fine)")
      return
    }
    try shelf.server.stop()
    try second.stop()
  }

  @Test("Negative 21: TLS 1.2 and a certificate that is not pinned get no connection")
  func connections() async throws {
    let shelf = try ServerShelf()
    let other = try RelayServerIdentity(master: CoreWorld.key(0x45))
    let unpinned = try RelayAddress(
      host: "127.0.0.1", port: shelf.server.address.port, pin: other.pin)
    await #expect(throws: (any Error).self) { try await WireClient.connect(to: unpinned) }
    await #expect(throws: (any Error).self) {
      try await WireClient.connect(to: shelf.server.address, maximumVersion: .tlsv12)
    }
    // The same client with the right pin and version gets in: it was not for anything else.
    let client = try await WireClient.connect(to: shelf.server.address)
    #expect(try await client.ask(.ping) == .pong)
    try shelf.server.stop()
  }
}
