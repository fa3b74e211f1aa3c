import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol
@testable import HearthSync

@Suite("What a subscription brought")
struct PushedBlobsTests {
  private func name(_ number: Int) -> [UInt8] { Array("n\(number)".utf8) }

  private func entry(
    _ number: Int, bytes: Int = 4, kind: RelayEntryKind = .put, isReplaceable: Bool = false
  ) -> RelayEntry {
    let blob = [UInt8](repeating: UInt8(number & 255), count: kind == .put ? bytes : 0)
    return RelayEntry(
      header: RelayHeader(
        position: UInt64(number), kind: kind, isReplaceable: isReplaceable, isLive: kind == .put,
        name: name(number), byteCount: blob.count, digest: RelayChain.digest(of: blob)),
      blob: blob)
  }

  @Test("Blobs are given once, all or none; what may be replaced or was removed is not kept")
  func keeping() {
    var pushed = RelayPushedBlobs()
    #expect(pushed.take([]) == nil)
    pushed.append([entry(1), entry(2), entry(3, isReplaceable: true), entry(4)])
    #expect(pushed.take([name(1), name(3)]) == nil)
    #expect(pushed.take([name(2), name(1)]) == [entry(2).blob, entry(1).blob])
    #expect(pushed.take([name(1)]) == nil)
    pushed.append([entry(2), entry(4, kind: .remove)])
    #expect(pushed.take([name(4)]) == nil)
    #expect(pushed.byteCount == RelayPushedBlobs.cost(name(2), entry(2).blob))
    #expect(pushed.take([name(2)]) == [entry(2).blob])
    #expect(pushed.byteCount == 0)
  }

  @Test("A name asked for twice at once is given twice")
  func twice() {
    var pushed = RelayPushedBlobs()
    pushed.append([entry(1)])
    #expect(pushed.take([name(1), name(1)]) == [entry(1).blob, entry(1).blob])
    #expect(pushed.byteCount == 0)
  }

  @Test("Memory is bounded: at the limit all stay, above it the first goes")
  func bounds() {
    let names = RelayPushedBlobs.cost(name(1), []) + RelayPushedBlobs.cost(name(2), [])
    for excess in [0, 1] {
      var pushed = RelayPushedBlobs()
      pushed.append([entry(1, bytes: 1)])
      pushed.append([entry(2, bytes: RelayPushedBlobs.maximumBytes - 1 - names + excess)])
      #expect(pushed.byteCount <= RelayPushedBlobs.maximumBytes)
      #expect((pushed.take([name(1)]) == nil) == (excess == 1))
      #expect(pushed.take([name(2)]) != nil)
    }
    // Empty ones cost something too.
    var many = RelayPushedBlobs()
    for number in 1...5_000 { many.append([entry(number, bytes: 0)]) }
    #expect((1...5_000).count { many.take([name($0)]) != nil } <= 1_024)
    var pushed = RelayPushedBlobs()
    pushed.append([entry(1, bytes: RelayPushedBlobs.maximumBytes)])
    #expect(pushed.take([name(1)]) == nil && pushed.byteCount == 0)
  }

  @Test("Who listens fetches what came without asking; after a loss it asks")
  func sessions() throws {
    let world = try ClientWorld()
    let (reader, writer) = (try world.client(0x31), try world.client(0x32))
    let access = try ClientWorld.access([1])
    func fetched(_ result: Result<RelayOutcome, RelayFailure>) -> [[UInt8]?] {
      guard case .success(.reply(.blobs(let blobs))) = result else { return [] }
      return blobs
    }
    func put(_ number: Int) {
      let item = RelayPut(name: name(number), blob: entry(number).blob)
      _ = world.ask(writer, access, .put([item]))
      world.run(upTo: 100)
    }
    _ = world.ask(reader, access, .open)
    put(1)
    reader.session.listen(to: access.mailbox, true, now: world.now)
    world.run(upTo: 100)
    put(2)
    var sent = reader.sent
    #expect(fetched(world.ask(reader, access, .fetch([name(2)]))) == [entry(2).blob])
    #expect(reader.sent == sent, "something was asked")
    // What was given is asked for, and what came before the subscription.
    let both = fetched(world.ask(reader, access, .fetch([name(1), name(2)])))
    #expect(both == [entry(1).blob, entry(2).blob])
    #expect(reader.sent == sent + 1)
    put(3)
    world.cut(reader)
    reader.session.lost(.unreachable("cut"), now: world.now)
    world.run(upTo: 30_000)
    sent = reader.sent
    #expect(fetched(world.ask(reader, access, .fetch([name(3)]))) == [entry(3).blob])
    #expect(reader.sent == sent + 1)
  }
}
