import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol
@testable import HearthSync

private func item(_ number: Int, bytes: Int = 80, isReplaceable: Bool = false) -> RelayPut {
  let blob = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 5) } + [UInt8(number & 255)]
  return RelayPut(
    name: Array("some long name \(number)".utf8), isReplaceable: isReplaceable, blob: blob)
}

/// Clients of one mailbox that do what chance says.
private struct RandomClients {
  let world: ClientWorld
  let clients: [ClientWorld.Client]
  let mailbox = Identifier(high: 7, low: 7)
  private var random: SplitMix64
  private var keys: [UInt8] = [1]
  private var names: [[UInt8]] = []

  init(_ count: Int, in world: ClientWorld, seed: UInt64) throws {
    self.world = world
    clients = try (0..<count).map { try world.client(UInt8(0x31 + $0)) }
    random = SplitMix64(seed: seed)
  }

  /// One of them does something, and maybe some time passes.
  mutating func act() throws {
    let client = clients[Int.random(in: clients.indices, using: &random)]
    let access = try ClientWorld.access(keys)
    switch Int.random(in: 0..<10, using: &random) {
    case 0...4: put(by: client, access)
    case 5:
      if let name = names.randomElement(using: &random) {
        client.session.know(access, cursor: nil, now: world.now)
        _ = world.begin(client, mailbox, .remove([name]))
      }
    case 6:
      client.session.know(access, cursor: nil, now: world.now)
      client.session.listen(to: mailbox, true, now: world.now)
    case 7:
      world.cut(client)
      client.session.lost(.unreachable("cut"), now: world.now)
    case 8: try rotate(by: client)
    default:
      if let line = client.line {
        world.core.handle(.congested(line, true))
        _ = world.ask(clients[0], access, .put([one()]))
        world.core.handle(.congested(line, false))
      }
    }
    world.run(upTo: [0, 50, 3_000].randomElement(using: &random) ?? 0)
  }

  /// Puts several at once, and the next before the answer.
  private mutating func put(by client: ClientWorld.Client, _ access: MailboxAccess) {
    let puts = (0..<Int.random(in: 1...3, using: &random)).map { _ in one() }
    names += puts.map(\.name)
    client.session.know(access, cursor: nil, now: world.now)
    _ = world.begin(client, mailbox, .put(puts))
    _ = world.begin(client, mailbox, .put([one()]))
  }

  private mutating func one() -> RelayPut {
    let number = Int.random(in: 0..<40, using: &random)
    let bytes = [0, 3, 80, 80, 200, 3_000, 20_000].randomElement(using: &random) ?? 0
    return item(number, bytes: bytes, isReplaceable: number % 3 == 0)
  }

  /// Sets a new access key, of which all then know.
  private mutating func rotate(by client: ClientWorld.Client) throws {
    keys = [keys[0] + 1] + keys
    client.session.know(try ClientWorld.access(keys), cursor: nil, now: world.now)
    _ = world.begin(client, mailbox, .rotate)
    let all = try ClientWorld.access(keys)
    for other in clients { other.session.know(all, cursor: nil, now: world.now) }
  }
}

@Suite("Packed frames between a client's session and the relay")
struct PackingSessionTests {
  /// How often both sides were compared.
  private struct Compared {
    var puts = 0
    var pushes = 0
  }

  /// Both sides know the same of what was said on the channels of a client's line.
  private func expectEqual(
    _ world: ClientWorld, _ client: ClientWorld.Client, _ mailbox: Identifier, _ words: String,
    _ compared: inout Compared
  ) {
    guard let line = client.line, let session = world.core.core.state.sessions[line],
      let box = client.session.state.mailboxes[mailbox], box.stage == .open,
      let channel = box.channel
    else { return }
    guard let open = session.channels[channel]?.open else {
      Issue.record("\(words): the relay has the mailbox closed")
      return
    }
    #expect(open.lastPut == box.lastPut, "\(words): puts")
    compared.puts += 1
    guard case .live(let reported) = open.subscription, open.holdsLast,
      let last = world.core.core.state.subscribers.last(of: mailbox), last.position == reported
    else { return }
    #expect(
      box.lastReported.position == reported && box.lastReported.base == last.base,
      "\(words): pushes")
    compared.pushes += 1
  }

  @Test("Small changes go packed both ways on a live line, and anew after a loss")
  func session() throws {
    let world = try ClientWorld()
    let (reader, writer) = (try world.client(0x31), try world.client(0x32))
    let access = try ClientWorld.access([1])
    func put(_ put: RelayPut) -> [RelayStored]? {
      let result = world.ask(writer, access, .put([put]))
      world.run(upTo: 100)
      guard case .success(.reply(.stored(let stored))) = result else { return nil }
      return stored
    }
    _ = world.ask(reader, access, .open)
    reader.session.listen(to: access.mailbox, true, now: world.now)
    world.run(upTo: 100)
    for number in 1...3 {
      #expect(put(item(number)) == [RelayStored(.stored, position: UInt64(number))])
    }
    #expect(writer.packedPuts == 2 && reader.packedPushes == 2)
    let names = (1...3).map { item($0).name }
    guard case .success(.reply(.blobs(let blobs))) = world.ask(reader, access, .fetch(names)) else {
      Issue.record("no blobs")
      return
    }
    #expect(blobs == (1...3).map { item($0).blob })
    // What is large goes plain, and what follows it packed.
    #expect(put(item(4, bytes: RelayPackingBase.maximumPackedBytes)) != nil)
    #expect(writer.packedPuts == 2 && reader.packedPushes == 2)
    #expect(put(item(5)) != nil)
    #expect(writer.packedPuts == 3 && reader.packedPushes == 3)
    for client in [reader, writer] {
      world.cut(client)
      client.session.lost(.unreachable("cut"), now: world.now)
    }
    world.run(upTo: 30_000)
    #expect(put(item(6)) != nil)
    #expect(writer.packedPuts == 3 && reader.packedPushes == 3)
    #expect(put(item(7)) != nil)
    #expect(writer.packedPuts == 4 && reader.packedPushes == 4)
    #expect(reader.attempts.count == 2 && writer.attempts.count == 2)
  }

  @Test("A relay whose packed push fits nothing it told before is left and asked anew")
  func misfit() throws {
    let world = try ClientWorld()
    let (reader, writer) = (try world.client(0x31), try world.client(0x32))
    let access = try ClientWorld.access([1])
    _ = world.ask(reader, access, .open)
    reader.session.listen(to: access.mailbox, true, now: world.now)
    _ = world.ask(writer, access, .put([item(1)]))
    world.run(upTo: 100)
    let line = try #require(reader.line)
    let packed = RelayPackingBase(name: [1, 2, 3, 4, 5, 6, 7], blob: []).pack([
      RelayPut(name: [1, 2, 3, 4, 5, 6, 7], blob: [9])
    ])
    world.core.run([
      .share(
        [RelayPushTarget(session: line, channel: 0)], tail: RelayPushTail(packed, from: 2))
    ])
    world.run(upTo: 10_000)
    #expect(reader.attempts.count == 2 && reader.line != line)
    // Nothing of the misfit was kept, and what comes then is taken.
    _ = world.ask(writer, access, .put([item(2)]))
    world.run(upTo: 100)
    let sent = reader.sent
    guard
      case .success(.reply(.blobs(let blobs))) = world.ask(
        reader, access, .fetch([item(2).name]))
    else {
      Issue.record("no blob")
      return
    }
    #expect(blobs == [item(2).blob] && reader.sent == sent)
  }

  @Test(
    "Both sides know the same, whatever is put, refused, lost and opened anew", arguments: 0..<40)
  func random(seed: UInt64) throws {
    let world = try ClientWorld {
      $0.mailboxAppendsPerMinute = 60
      $0.quota.bytes = 60_000
      $0.maximumPushBytes = 4_000
    }
    var chance = try RandomClients(3, in: world, seed: seed)
    let clients = chance.clients
    var compared = Compared()
    for step in 0..<40 {
      try chance.act()
      if step % 3 == 2 {
        world.run(upTo: 40_000)
        for client in clients {
          expectEqual(world, client, chance.mailbox, "seed \(seed), step \(step)", &compared)
        }
      }
    }
    // Nobody ever had to be left for what it said.
    #expect(world.core.core.counters.malformed == 0, "seed \(seed)")
    #expect(compared.puts > 0, "seed \(seed)")
    if seed == 0 {
      #expect(compared.pushes > 0)
      #expect(clients.contains { $0.packedPuts > 0 } && clients.contains { $0.packedPushes > 0 })
    }
  }
}
