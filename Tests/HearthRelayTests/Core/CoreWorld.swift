import HearthCRDT
import HearthCrypto
import HearthSync
import Synchronization
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// The relay's core over a log, with clients that are nothing but numbers.
final class CoreWorld {
  let log: MemoryRelayLog
  var core: RelayCore
  var inbox: [RelaySessionID: [RelayFrame<RelayReply>]] = [:]
  var closed: Set<RelaySessionID> = []
  var trusted: Set<RelaySessionID> = []
  var paused: Set<RelaySessionID> = []
  /// Effects of the log that wait while `holdsLog`.
  var held: [RelayEffect] = []
  var holdsLog = false
  var now: UInt64 = 1_000
  private var nextSession: UInt64 = 0
  private var nextRequest: UInt32 = 0

  static let identity: RelayIdentity? = {
    guard let secret = try? key(9), let decoy = try? SigningKeyPair(seed: key(8)) else {
      return nil
    }
    return RelayIdentity(
      relayID: Bytes32(exactly: [UInt8](repeating: 0x21, count: 32)),
      pin: Bytes32(exactly: [UInt8](repeating: 0x22, count: 32)),
      decoyKey: decoy.publicKey.bytes, decoySecret: secret)
  }()

  static func key(_ byte: UInt8) throws -> SecretKey {
    var bytes = [UInt8](repeating: byte, count: 32)
    return try SecretKey(consuming: &bytes)
  }

  static func pair(_ byte: UInt8) throws -> SigningKeyPair { try SigningKeyPair(seed: key(byte)) }

  init(
    log: MemoryRelayLog = MemoryRelayLog(), _ change: (inout RelayConfiguration) -> Void = { _ in }
  ) throws {
    self.log = log
    var configuration = RelayConfiguration()
    change(&configuration)
    let random = CountingRandom()
    core = RelayCore(
      configuration: configuration, identity: try #require(CoreWorld.identity),
      random: { random.bytes($0) })
  }

  // MARK: Events

  func handle(_ event: RelayEvent) {
    run(core.handle(event, now: now, day: 20_000))
  }

  func run(_ effects: [RelayEffect]) {
    for effect in effects {
      switch effect {
      case .send(let id, let bytes): deliver(id, bytes)
      case .share(let targets, let tail):
        for target in targets {
          let head = tail.head(channel: target.channel)
          deliver(target.session, head + tail.bytes)
        }
      case .write, .read: if holdsLog { held.append(effect) } else { perform(effect) }
      case .pause(let id, let isPaused):
        if isPaused { paused.insert(id) } else { paused.remove(id) }
      case .trust(let id): trusted.insert(id)
      case .close(let id): closed.insert(id)
      }
    }
  }

  func perform(_ effect: RelayEffect) {
    switch effect {
    case .write(let ticket, let box):
      let result = Result { () throws(RelayError) in
        try log.write([box.write])[0]
      }
      handle(.written(ticket: ticket, result))
    case .read(let ticket, let box):
      let result = Result { () throws(RelayError) in try log.read(box.read) }
      handle(.answered(ticket: ticket, result))
    default: break
    }
  }

  func release() {
    holdsLog = false
    while !held.isEmpty { perform(held.removeFirst()) }
  }

  private func deliver(_ id: RelaySessionID, _ bytes: [UInt8]) {
    do {
      inbox[id, default: []].append(try RelayFrame(decoding: Array(bytes.dropFirst(4))))
    } catch {
      Issue.record("the relay sent \(bytes): \(error)")
    }
  }

  // MARK: Clients

  func connect(_ address: UInt8 = 1, greets: Bool = true) -> RelaySessionID {
    nextSession += 1
    let id = RelaySessionID(nextSession)
    handle(.connected(id, address: [address]))
    if greets { _ = ask(id, .hello(minimumVersion: 2, maximumVersion: 2)) }
    return id
  }

  /// Whether somebody who connects is not turned away.
  func admits(_ address: UInt8) -> Bool {
    let id = connect(address, greets: false)
    return !closed.contains(id)
  }

  /// Sends a request without looking for the answer.
  func send(_ id: RelaySessionID, _ request: RelayRequest) -> UInt32 {
    nextRequest += 1
    let frame = RelayFrame(request: nextRequest, request)
    handle(.received(id, frame, byteCount: frame.encoded.count))
    return nextRequest
  }

  /// The answer to a request; nil if there is none yet.
  func ask(_ id: RelaySessionID, _ request: RelayRequest) -> RelayReply? {
    let number = send(id, request)
    return answer(id, number)
  }

  func answer(_ id: RelaySessionID, _ number: UInt32) -> RelayReply? {
    inbox[id]?.last { $0.request == number }?.message
  }

  func pushes(_ id: RelaySessionID) -> [RelayReply] {
    (inbox[id] ?? []).filter { $0.request == 0 }.map(\.message)
  }

  func challenge(_ id: RelaySessionID, _ channel: Int, _ mailbox: Identifier)
    -> (keyID: Bytes16, nonce: Bytes32)?
  {
    guard
      case .challenge(let keyID, let nonce)? = ask(id, .open(channel: channel, mailbox: mailbox))
    else { return nil }
    return (keyID, nonce)
  }

  static func binding(_ nonce: Bytes32) throws -> RelayAccess.Binding {
    let identity = try #require(identity)
    return RelayAccess.Binding(
      relayID: identity.relayID, pin: identity.pin, relayNonce: nonce,
      clientNonce: Bytes32(exactly: [UInt8](repeating: 5, count: 32)))
  }

  static func proof(
    _ channel: Int, _ mailbox: Identifier, _ pair: SigningKeyPair, _ nonce: Bytes32,
    cursor: RelayCursor? = nil, author: SigningKeyPair? = nil
  ) throws -> RelayRequest {
    let binding = try binding(nonce)
    return .prove(
      RelayProof(
        channel: channel, keyID: RelayAccess.keyID(of: pair.publicKey.bytes),
        clientNonce: binding.clientNonce,
        signature: RelayAccess.prove(pair, mailbox: mailbox.bytes, binding: binding),
        cursor: cursor,
        author: author.map {
          RelayAuthorProof(
            key: $0.publicKey.bytes,
            signature: RelayAccess.proveAuthor($0, mailbox: mailbox.bytes, binding: binding))
        }))
  }

  func open(
    _ id: RelaySessionID, on channel: Int = 0, _ mailbox: Identifier, with pair: SigningKeyPair,
    cursor: RelayCursor? = nil, author: SigningKeyPair? = nil
  ) throws -> RelayReply? {
    guard let (_, nonce) = challenge(id, channel, mailbox) else { return nil }
    return ask(
      id, try CoreWorld.proof(channel, mailbox, pair, nonce, cursor: cursor, author: author))
  }

  static func creation(
    _ channel: Int, _ mailbox: Identifier, access: SigningKeyPair, manager: SigningKeyPair,
    _ nonce: Bytes32, credential: [UInt8] = [], parent: RelayParent? = nil,
    kind: RelayMailboxKind = .sealed, catalogueName: String = ""
  ) throws -> RelayCreation {
    let binding = try binding(nonce)
    let signed = RelayAccess.Creation(
      kind: kind.rawValue, accessKey: access.publicKey.bytes, managerKey: manager.publicKey.bytes,
      credential: credential, parent: parent?.bytes ?? [])
    return RelayCreation(
      channel: channel, kind: kind, accessKey: signed.accessKey, managerKey: signed.managerKey,
      credential: credential, parent: parent, clientNonce: binding.clientNonce,
      accessSignature: RelayAccess.signCreation(
        signed, with: access, mailbox: mailbox.bytes, binding: binding),
      managerSignature: RelayAccess.signCreation(
        signed, with: manager, mailbox: mailbox.bytes, binding: binding),
      catalogueName: catalogueName)
  }

  func create(
    _ id: RelaySessionID, on channel: Int = 0, _ mailbox: Identifier, access: SigningKeyPair,
    manager: SigningKeyPair, credential: [UInt8] = [], parent: RelayParent? = nil
  ) throws -> RelayReply? {
    guard let (_, nonce) = challenge(id, channel, mailbox) else { return nil }
    return ask(
      id,
      .create(
        try CoreWorld.creation(
          channel, mailbox, access: access, manager: manager, nonce, credential: credential,
          parent: parent)))
  }
}

/// Bytes that are never the same twice, and the same in every run.
final class CountingRandom: Sendable {
  private let state = Mutex(UInt64(0))

  func bytes(_ count: Int) -> [UInt8] {
    let number = state.withLock {
      $0 += 1
      return $0
    }
    return Blake2b.hash(Array("\(number)".utf8), count: max(16, count)).prefix(count) + []
  }
}

extension RelayReply? {
  var faultCode: RelayFault.Code? {
    if case .fault(let fault)? = self { fault.code } else { nil }
  }

  var opened: RelayOpened? {
    if case .opened(let opened)? = self { opened } else { nil }
  }
}
