import HearthCRDT
import HearthSync
import Synchronization
import Testing

@testable import HearthTransport

/// Keeps what is told.
private final class Told: Sendable {
  private let all = Mutex<[TransferProgress]>([])

  func take(_ progress: TransferProgress?) {
    if let progress { all.withLock { $0.append(progress) } }
  }

  var list: [TransferProgress] { all.withLock { $0 } }
}

@Suite("A folder whose transfers are told")
struct MeteredTransportTests {
  @Test("bytes and files of both ways are told, and the folder does what it does alone")
  func told() async throws {
    let scratch = Scratch()
    let told = Told()
    let metered = MeteredTransport(
      scratch.transport(), place: "the folder", listener: { told.take($0) })
    #expect(metered.canDecay, "files are read again also where somebody watches")
    let blobs = (0..<3).map { number in
      [UInt8](repeating: UInt8(number), count: TransferMeter.stepBytes)
    }
    let names = blobs.enumerated().map { place, bytes in
      segment(bytes, first: UInt64(place + 1), last: UInt64(place + 1))
    }
    try await metered.publish(Array(zip(names, blobs)).map { (name: $0, bytes: $1) })
    let given = TransferProgress(
      place: "the folder", direction: .giving, files: 3, bytes: 3 * TransferMeter.stepBytes)
    #expect(told.list == [given])

    #expect(try await metered.list(zoneTag: zone).segments == names.sorted())
    metered.expect(names)
    for (name, blob) in zip(names, blobs) { #expect(try await metered.fetch(name) == blob) }
    let received = told.list.dropFirst()
    #expect(received.map(\.files) == [0, 1, 2, 3])
    #expect(received.allSatisfy { $0.expectedFiles == 3 && $0.direction == .receiving })
    #expect(received.last?.bytes == 3 * TransferMeter.stepBytes)

    try await metered.remove(names[0])
    #expect(try await metered.list(zoneTag: zone).segments.count == 2)
    #expect(metered.place(of: names[1]) == scratch.transport().place(of: names[1]))
  }

  @Test("chunks of a snapshot are told, a capsule is not")
  func blobs() async throws {
    let scratch = Scratch()
    let told = Told()
    let metered = MeteredTransport(
      scratch.transport(), place: "the folder", listener: { told.take($0) })
    let parts = (0..<3).map { [UInt8](repeating: UInt8($0), count: TransferMeter.stepBytes) }
    let names = parts.enumerated().map { chunk($1, index: $0, count: 3) }
    for (name, part) in zip(names, parts) { try await metered.publish(name, part) }
    #expect(told.list.map(\.files) == [1, 2, 3])
    for (name, part) in zip(names, parts) { #expect(try await metered.fetch(name) == part) }
    let received = told.list.dropFirst(3)
    #expect(received.map(\.files) == [0, 1, 1, 2, 3])
    #expect(received.map(\.expectedFiles) == [1, 1, 3, 3, 3])
    let before = told.list.count
    let capsule = BlobName(kind: .capsule, scope: zone)
    try await metered.publish(capsule, [1, 2, 3])
    #expect(try await metered.fetch(capsule) == [1, 2, 3])
    try await metered.remove(capsule)
    #expect(told.list.count == before)
  }
}
