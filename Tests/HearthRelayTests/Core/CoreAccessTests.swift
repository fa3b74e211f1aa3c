import HearthCRDT
import HearthCrypto
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

@Suite("Access at the relay's core")
struct CoreAccessTests {
  let mailbox = Identifier(high: 1, low: 2)
  let access: SigningKeyPair
  let next: SigningKeyPair
  let manager: SigningKeyPair
  let stranger: SigningKeyPair

  init() throws {
    access = try CoreWorld.pair(1)
    next = try CoreWorld.pair(2)
    manager = try CoreWorld.pair(3)
    stranger = try CoreWorld.pair(4)
  }

  private func made(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws -> CoreWorld {
    let world = try CoreWorld(change)
    let id = world.connect()
    let reply = try world.create(id, mailbox, access: access, manager: manager)
    #expect(reply.opened?.head.position == 0 && reply.opened?.rank == .manager)
    #expect(world.trusted == [id])
    return world
  }

  @Test("who holds the access key or a manager's key gets in, and learns the head")
  func entrance() throws {
    let world = try made()
    let reader = world.connect()
    let opened = try #require(try world.open(reader, mailbox, with: access).opened)
    #expect(opened.rank == .guest && opened.accessGeneration == 1 && opened.standing == .none)
    #expect(
      opened.chain
        == RelayChain.start(mailbox: mailbox, generation: opened.head.generation))
    let known = try #require(
      try world.open(reader, on: 1, mailbox, with: manager, cursor: opened.head).opened)
    #expect(known.rank == .manager && known.standing == .known(opened.chain))
    let beyond = RelayCursor(generation: opened.head.generation, position: 1)
    #expect(
      try world.open(reader, on: 2, mailbox, with: access, cursor: beyond).opened?.standing
        == .beyondHead)
    let other = RelayCursor(generation: mailbox, position: 0)
    #expect(
      try world.open(reader, on: 3, mailbox, with: access, cursor: other).opened?.standing
        == .otherGeneration)
  }

  @Test("an unknown mailbox and a forbidden one give the same answers")
  func unknownIsForbidden() throws {
    let world = try made { $0.registration = .open }
    let unknown = Identifier(high: 8, low: 8)
    let id = world.connect()
    let first = try #require(world.challenge(id, 0, unknown))
    #expect(world.ask(id, .close(channel: 0)) == .done)
    let second = try #require(world.challenge(id, 0, unknown))
    #expect(first.keyID == second.keyID && first.nonce != second.nonce)
    let refused = world.ask(id, try CoreWorld.proof(0, unknown, stranger, second.nonce))
    let forbidden = try world.open(id, on: 0, mailbox, with: stranger)
    #expect(refused.faultCode == .refused && forbidden.faultCode == .refused)
    guard case .fault(let left)? = refused, case .fault(let right)? = forbidden else { return }
    #expect(left.message == right.message)
    #expect(left.retryAfterMilliseconds == right.retryAfterMilliseconds)
    // A taken name is refused to whoever would make it, with the same words.
    let taken = try world.create(id, on: 1, mailbox, access: stranger, manager: stranger)
    #expect(taken.faultCode == .refused)
    #expect(!world.trusted.contains(id))
  }

  @Test("without the right to register, both are refused the same way too")
  func registration() throws {
    let token = [UInt8](repeating: 7, count: RelayToken.byteCount)
    for policy in [RelayRegistration.token, .allowList] {
      let log = MemoryRelayLog()
      log.addToken(digest: RelayToken.digest(of: token), uses: 1)
      log.list(managerKey: manager.publicKey.bytes)
      let world = try CoreWorld(log: log) { $0.registration = policy }
      let id = world.connect()
      let none = try world.create(id, on: 0, mailbox, access: access, manager: stranger)
      #expect(none.faultCode == .refused, "\(policy)")
      let good = try world.create(
        id, on: 0, mailbox, access: access, manager: manager, credential: token)
      #expect(good.opened != nil, "\(policy)")
      let taken = try world.create(
        id, on: 1, mailbox, access: access, manager: manager, credential: token)
      // A token that is used up says so, whatever is asked for.
      #expect(taken.faultCode == (policy == .token ? .tokenUsedUp : .refused))
      let again = try world.create(
        id, on: 1, Identifier(high: 5, low: 5), access: access, manager: manager, credential: token)
      #expect((again.opened == nil) == (policy == .token))
    }
  }

  @Test("a challenge is good for one proof, on its channel, of its session")
  func replay() throws {
    let world = try made()
    let id = world.connect()
    let (_, nonce) = try #require(world.challenge(id, 0, mailbox))
    let proof = try CoreWorld.proof(0, mailbox, access, nonce)
    #expect(world.ask(id, proof).opened != nil)
    #expect(world.ask(id, proof).faultCode == .wrongState)
    _ = world.ask(id, .close(channel: 0))
    #expect(world.ask(id, proof).faultCode == .wrongState)
    // On a new challenge the old proof is as bad as any.
    _ = world.challenge(id, 0, mailbox)
    #expect(world.ask(id, proof).faultCode == .refused)
    let other = world.connect()
    _ = world.challenge(other, 0, mailbox)
    #expect(world.ask(other, proof).faultCode == .refused)
    // A failed proof spends the challenge.
    let (_, second) = try #require(world.challenge(other, 0, mailbox))
    #expect(
      world.ask(other, try CoreWorld.proof(0, mailbox, stranger, second)).faultCode == .refused)
    #expect(
      world.ask(other, try CoreWorld.proof(0, mailbox, access, second)).faultCode == .wrongState)
  }

  @Test("a mailbox is made only with good signatures of both keys, and only of a known kind")
  func creationSignatures() throws {
    let world = try CoreWorld()
    let id = world.connect()
    func spoiled(
      _ world: CoreWorld, _ spoil: (RelayCreation) -> RelayCreation
    ) throws -> RelayReply? {
      let (_, nonce) = try #require(world.challenge(id, 0, mailbox))
      let good = try CoreWorld.creation(0, mailbox, access: access, manager: manager, nonce)
      return world.ask(id, .create(spoil(good)))
    }
    let swapped = try spoiled(world) {
      RelayCreation(
        channel: 0, kind: $0.kind, accessKey: $0.accessKey, managerKey: $0.managerKey,
        credential: [], clientNonce: $0.clientNonce, accessSignature: $0.managerSignature,
        managerSignature: $0.accessSignature)
    }
    #expect(swapped.faultCode == .refused)
    let otherManager = try spoiled(world) {
      RelayCreation(
        channel: 0, kind: $0.kind, accessKey: $0.accessKey,
        managerKey: stranger.publicKey.bytes, credential: [], clientNonce: $0.clientNonce,
        accessSignature: $0.accessSignature, managerSignature: $0.managerSignature)
    }
    #expect(otherManager.faultCode == .refused)
    let (_, nonce) = try #require(world.challenge(id, 0, mailbox))
    let unknown = try CoreWorld.creation(
      0, mailbox, access: access, manager: manager, nonce, kind: RelayMailboxKind(rawValue: 2))
    #expect(world.ask(id, .create(unknown)).faultCode == .unsupported)
    #expect(try spoiled(world) { $0 }.opened != nil)
  }

  @Test("rotation cuts live sessions of the old key at once, and spares its own and managers")
  func rotation() throws {
    let world = try made()
    let rotator = world.connect()
    let removed = world.connect()
    let admin = world.connect()
    #expect(try world.open(rotator, mailbox, with: access, author: manager).opened != nil)
    #expect(try world.open(removed, mailbox, with: access).opened != nil)
    #expect(try world.open(admin, mailbox, with: manager).opened != nil)
    for id in [removed, admin] { #expect(world.ask(id, .subscribe(channel: 0)) != nil) }
    let key = next.publicKey.bytes
    #expect(
      world.ask(rotator, .rotate(channel: 0, generation: 1, accessKey: key))
        == .rotated(generation: 2))
    #expect(world.pushes(removed) == [.closed(channel: 0, .accessChanged)])
    #expect(world.pushes(admin).isEmpty)
    // A second rotation that believes in the first key comes too late.
    #expect(
      world.ask(admin, .rotate(channel: 0, generation: 1, accessKey: key)).faultCode == .conflict)
    // The removed device can neither write nor read nor come back; nothing is pushed to it.
    let put = RelayRequest.put(channel: 0, items: [RelayPut(name: [1], blob: [1])])
    #expect(world.ask(removed, put).faultCode == .wrongState)
    #expect(try world.open(removed, mailbox, with: access).faultCode == .refused)
    #expect(world.ask(rotator, put) == .stored([RelayStored(.stored, position: 1)]))
    #expect(world.pushes(removed).count == 1 && world.pushes(admin).count == 1)
    #expect(try world.open(removed, mailbox, with: next).opened?.accessGeneration == 2)
  }

  @Test("a write and a page that were under way when the key changed are not let through")
  func rotationRace() throws {
    let world = try made()
    let rotator = world.connect()
    let removed = world.connect()
    #expect(try world.open(rotator, mailbox, with: access, author: manager).opened != nil)
    #expect(try world.open(removed, mailbox, with: access).opened != nil)
    world.holdsLog = true
    let rotation = world.send(
      rotator, .rotate(channel: 0, generation: 1, accessKey: next.publicKey.bytes))
    let put = world.send(removed, .put(channel: 0, items: [RelayPut(name: [1], blob: [1])]))
    world.release()
    #expect(world.answer(rotator, rotation) == .rotated(generation: 2))
    #expect(world.answer(removed, put).faultCode == .accessChanged)
    // The log had answered the read before the key changed, but the answer comes after.
    let second = try made()
    let reader = second.connect()
    #expect(try second.open(reader, mailbox, with: access).opened != nil)
    second.holdsLog = true
    let page = second.send(reader, .fetchAfter(channel: 0, after: 0, limit: 1))
    let reading = second.held.removeFirst()
    second.holdsLog = false
    #expect(
      second.ask(
        RelaySessionID(1), .rotate(channel: 0, generation: 1, accessKey: next.publicKey.bytes))
        == .rotated(generation: 2))
    guard case .read(let ticket, _) = reading else { return }
    let chain = RelayChain.emptyDigest
    second.handle(
      .answered(
        ticket: ticket, .success(.page(RelayPage(entries: [], head: 0, chain: chain)))))
    #expect(second.answer(reader, page).faultCode == .accessChanged)
  }

  @Test("managers list devices and strike them off, others do not, and one always stays")
  func managers() throws {
    let world = try made()
    let member = world.connect()
    let admin = world.connect()
    #expect(try world.open(member, mailbox, with: access).opened?.rank == .guest)
    #expect(try world.open(admin, mailbox, with: manager).opened?.rank == .manager)
    let key = stranger.publicKey.bytes
    func set(_ id: RelaySessionID, _ key: [UInt8], _ rank: RelayRank) -> RelayReply? {
      world.ask(id, .setRank(channel: 0, key: key, rank: rank))
    }
    for rank in RelayRank.allCases { #expect(set(member, key, rank).faultCode == .notAllowed) }
    let zero = [UInt8](repeating: 0, count: 32)
    #expect(set(admin, zero, .manager).faultCode == .notAllowed)
    #expect(set(admin, key, .manager) == .done)
    let second = world.connect()
    #expect(try world.open(second, mailbox, with: stranger).opened?.rank == .manager)
    // With another rank its live session ends, and it comes back with that.
    #expect(set(admin, key, .author) == .done)
    #expect(world.pushes(second) == [.closed(channel: 0, .accessChanged)])
    #expect(try world.open(second, mailbox, with: stranger).opened?.rank == .author)
    #expect(set(second, key, .manager).faultCode == .notAllowed)
    #expect(set(admin, manager.publicKey.bytes, .author).faultCode == .notAllowed)
    // Struck off, it is told so, by whichever key it comes, and a stranger is told nothing.
    #expect(set(admin, key, .struck) == .done)
    #expect(world.pushes(second).count == 2)
    #expect(try world.open(second, mailbox, with: stranger).faultCode == .struckOff)
    #expect(
      try world.open(second, mailbox, with: access, author: stranger).faultCode == .struckOff)
    #expect(try world.open(second, mailbox, with: next).faultCode == .refused)
    // A proof of another's key is worth nothing.
    let forged = try CoreWorld.proof(
      1, mailbox, access, try #require(world.challenge(member, 1, mailbox)).nonce)
    guard case .prove(let proof) = forged else { return }
    #expect(
      world.ask(
        member,
        .prove(
          RelayProof(
            channel: 1, keyID: proof.keyID, clientNonce: proof.clientNonce,
            signature: proof.signature, cursor: nil,
            author: RelayAuthorProof(
              key: manager.publicKey.bytes, signature: proof.signature)))
      ).faultCode == .refused)
  }

  @Test("who is listed comes in by its own key after the access key was changed; others do not")
  func listed() throws {
    let world = try made()
    let admin = world.connect()
    #expect(try world.open(admin, mailbox, with: manager).opened != nil)
    let key = stranger.publicKey.bytes
    #expect(world.ask(admin, .setRank(channel: 0, key: key, rank: .author)) == .done)
    let member = world.connect()
    // Nobody but managers changes the key: whoever is no more could lock everybody out.
    #expect(try world.open(member, mailbox, with: access, author: stranger).opened != nil)
    #expect(
      world.ask(member, .rotate(channel: 0, generation: 1, accessKey: key)).faultCode
        == .notAllowed)
    #expect(
      world.ask(
        admin, .rotate(channel: 0, generation: 1, accessKey: next.publicKey.bytes))
        == .rotated(generation: 2))
    #expect(try world.open(member, mailbox, with: access, author: stranger).faultCode == .refused)
    #expect(try world.open(member, mailbox, with: stranger).opened?.rank == .author)
    guard case .roster(let report)? = world.ask(member, .roster(channel: 0)) else {
      Issue.record("the list is not told")
      return
    }
    #expect(Set(report.seats.map(\.rank)) == [.manager, .author])
    // What belongs to the mailbox is managed by who manages it, and nobody else lays handoffs.
    let parent = RelayParent(mailbox, .handoff)
    let handoff = Identifier(high: 8, low: 8)
    #expect(
      try world.create(member, on: 1, handoff, access: access, manager: stranger, parent: parent)
        .faultCode == .notAllowed)
    #expect(
      try world.create(admin, on: 1, handoff, access: access, manager: manager, parent: parent)
        .opened?.rank == .manager)
    #expect(try world.open(member, on: 2, handoff, with: access, author: stranger).opened != nil)
    let put = RelayRequest.put(channel: 2, items: [RelayPut(name: [1], blob: [1])])
    #expect(world.ask(member, put).faultCode == .notAllowed)
    #expect(world.ask(member, .remove(channel: 2, names: [[1]])).faultCode == .notAllowed)
  }

  @Test("a manager lets a mailbox begin anew, and everybody opens it again")
  func reset() throws {
    let world = try made()
    let admin = world.connect()
    let member = world.connect()
    #expect(try world.open(admin, mailbox, with: manager).opened != nil)
    let before = try world.open(member, mailbox, with: access).opened
    let put = RelayRequest.put(channel: 0, items: [RelayPut(name: [1], blob: [1])])
    #expect(world.ask(member, put) == .stored([RelayStored(.stored, position: 1)]))
    #expect(world.ask(member, .reset(channel: 0)).faultCode == .notAllowed)
    #expect(world.ask(admin, .reset(channel: 0)) == .done)
    #expect(world.pushes(member).last == .closed(channel: 0, .accessChanged))
    let after = try world.open(member, mailbox, with: access).opened
    #expect(after?.head.position == 0 && after?.usedBytes == 0)
    #expect(after?.head.generation != before?.head.generation)
    #expect(world.ask(member, put) == .stored([RelayStored(.stored, position: 1)]))
  }

  @Test("requests in wrong states are refused, and a session begins with a hello")
  func wrongStates() throws {
    let world = try made()
    let id = world.connect()
    for request: RelayRequest in [
      .hello(minimumVersion: 2, maximumVersion: 2), .close(channel: 0),
      .put(channel: 0, items: [RelayPut(name: [1], blob: [])]), .remove(channel: 0, names: [[1]]),
      .list(channel: 0, after: 0, limit: 1, isLiveOnly: false), .fetch(channel: 0, names: [[1]]),
      .fetchAfter(channel: 0, after: 0, limit: 1), .subscribe(channel: 0),
      .unsubscribe(channel: 0), .rotate(channel: 0, generation: 1, accessKey: []),
      .setRank(channel: 0, key: [], rank: .struck), .roster(channel: 0), .reset(channel: 0),
      try CoreWorld.proof(0, mailbox, access, RelayChain.emptyDigest),
    ] {
      #expect(world.ask(id, request).faultCode == .wrongState, "\(request)")
    }
    _ = world.challenge(id, 0, mailbox)
    #expect(world.ask(id, .open(channel: 0, mailbox: mailbox)).faultCode == .wrongState)
    #expect(world.ask(id, .subscribe(channel: 0)).faultCode == .wrongState)
    #expect(!world.closed.contains(id))
    let rude = world.connect(greets: false)
    _ = world.ask(rude, .open(channel: 0, mailbox: mailbox))
    #expect(world.closed.contains(rude) && world.core.sessionCount == 2)
    let future = world.connect(greets: false)
    _ = world.ask(future, .hello(minimumVersion: 3, maximumVersion: 9))
    #expect(world.pushes(future).count == 1 && world.closed.contains(future))
    world.handle(.malformed(id, "frame type"))
    #expect(world.closed.contains(id))
    if case .farewell(let fault)? = world.pushes(id).last { #expect(fault.code == .malformed) }
  }
}
