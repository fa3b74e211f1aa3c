import Foundation
import Glibc
import HearthCRDT
import HearthCrypto
import HearthSync
import NIOCore
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// The program itself as a process of its own, killed without warning.
@Suite("The program hearth-relay", .timeLimit(.minutes(20)))
struct ProcessTests {
  @Test("killed ten times under load, it has everything it acknowledged, without gaps")
  func killing() async throws {
    let pair = try CoreWorld.pair(1)
    let folder = try TestFolder()
    let mailbox = Identifier(high: 21, low: 22)
    var acknowledged: [[UInt8]: UInt64] = [:]
    var cursor: (place: RelayCursor, chain: Bytes32)?
    var pin: Bytes32?
    for round in 0..<10 {
      let relay = try RelayProcess(folder)
      #expect(pin == nil || pin == relay.address.pin)
      pin = relay.address.pin
      let identity = try RelayProcess.identity(of: folder)
      let client = try await WireClient.connect(to: relay.address)
      let reply = try await WireEntry(mailbox: mailbox, relayID: identity).enter(
        client, pair, creates: round == 0, cursor: cursor?.place)
      guard case .opened(let opened) = reply else {
        Issue.record("round \(round): \(reply)")
        return
      }
      if let cursor { #expect(opened.standing == .known(cursor.chain), "round \(round)") }
      cursor = (opened.head, opened.chain)
      // The last answer that is waited for comes while more is being written.
      let names = (0..<60).map { Array("\(round)-\($0)".utf8) }
      let asked = names.map {
        client.begin(.put(channel: 0, items: [RelayPut(name: $0, blob: $0)]))
      }
      _ = try await asked[10 + round].get()
      #expect(relay.kill(SIGKILL) == SIGKILL)
      for (name, future) in zip(names, asked) {
        if case .stored(let stored)? = try? await future.get() {
          acknowledged[name] = stored[0].position
        }
      }
    }
    let log = try SQLiteRelayLog(folder: folder.path)
    #expect(try log.verify() == [])
    #expect(acknowledged.count >= 100)
    for (name, position) in acknowledged.sorted(by: { $0.value < $1.value }) {
      let page = try log.read(
        RelayRead(
          mailbox: mailbox, authority: .access(generation: 1),
          question: .page(after: position - 1, limit: 1, byteLimit: 1 << 20)))
      guard case .page(let found) = page else { return }
      #expect(found.entries.first?.header.name == name && found.entries.first?.blob == name)
    }
  }

  @Test("told to end, it ends in order and with 0")
  func ending() async throws {
    let folder = try TestFolder()
    let relay = try RelayProcess(folder)
    let client = try await WireClient.connect(to: relay.address)
    #expect(relay.kill(SIGTERM) == 0)
    if case .farewell(let fault) = try await client.push() { #expect(fault.code == .goingAway) }
  }
}
