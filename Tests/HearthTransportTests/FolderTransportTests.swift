import Foundation
import Glibc
import HearthCRDT
import HearthSync
import Testing

@testable import HearthTransport

@Suite("Publishing to and reading from a shared folder")
struct FolderTransportTests {
  @Test("What was published is listed and read back, by another transport too")
  func roundTrip() throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = Seeded(seed)
    let scratch = Scratch()
    var published: [SegmentName: [UInt8]] = [:]
    for _ in 0..<60 {
      let bytes = (0..<Int.random(in: 1...2_000, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      let name = segment(
        bytes, author: Identifier(high: UInt64.random(in: 0...3, using: &random), low: 0),
        incarnation: UInt64.random(in: 0...2, using: &random),
        first: UInt64.random(in: 1...50, using: &random), last: 60)
      try scratch.transport().publish(name, bytes)
      published[name] = bytes
      #expect(try scratch.transport().list(zoneTag: zone).segments.contains(name), "seed \(seed)")
    }
    let transport = scratch.transport()
    let listing = try transport.list(zoneTag: zone)
    #expect(listing.segments == published.keys.sorted(), "seed \(seed)")
    #expect(listing.problems == [], "seed \(seed)")
    for name in listing.segments {
      #expect(try transport.fetch(name) == published[name], "seed \(seed)")
    }
    #expect(try transport.list(zoneTag: otherZone).segments == [])
  }

  @Test("Chunks and capsules are stored, listed, replaced and removed")
  func blobs() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    let first = chunk([1, 2, 3], index: 0, count: 2)
    let second = chunk([4, 5], index: 1, count: 2)
    try transport.publish(second, [4, 5])
    try transport.publish(first, [1, 2, 3])
    #expect(try transport.list(zoneTag: zone).snapshots == [first, second])
    #expect(try transport.fetch(second) == [4, 5])
    let capsule = BlobName(kind: .capsule, scope: Identifier(high: 9, low: 9))
    #expect(try transport.fetch(capsule) == nil)
    try transport.publish(capsule, [7])
    try transport.publish(capsule, [8, 8])
    #expect(try transport.fetch(capsule) == [8, 8])
    scratch.rename(pathOf(capsule), ["I", pathOf(capsule)[1].uppercased()])
    #expect(try scratch.transport().fetch(capsule) == [8, 8])
    scratch.rename(["I", pathOf(capsule)[1].uppercased()], pathOf(capsule))
    try transport.remove(capsule)
    try transport.remove(first)
    try transport.remove(first)
    #expect(try transport.fetch(capsule) == nil)
    #expect(try transport.fetch(first) == nil)
    #expect(try transport.list(zoneTag: zone).snapshots == [second])
  }

  @Test("Chunks of attachments are listed apart, and copies of them are used and removed")
  func attachments() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    let bytes: [UInt8] = [1, 2, 3]
    let name = BlobName(kind: .attachment, scope: zone, digest: testDigest(bytes))
    try transport.publish(name, bytes)
    try transport.publish(chunk([4, 5], index: 0, count: 1), [4, 5])
    #expect(throws: TransportError(.invalidName, place: "", message: "", remedy: "")) {
      try transport.publish(name, [9])
    }
    let listing = try transport.list(zoneTag: zone)
    #expect(listing.attachments == [name] && listing.snapshots.count == 1)
    #expect(listing.problems == [] && listing.segments == [])
    #expect(try transport.list(zoneTag: otherZone).attachments == [])
    let path = pathOf(name)
    let copy = [path[0], path[1], path[2].replacing(".att", with: ".sync-conflict-1.att")]
    scratch.rename(path, copy)
    #expect(try transport.list(zoneTag: zone).attachments == [name])
    #expect(try transport.fetch(name) == bytes)
    scratch.write(path, [9, 9])
    #expect(try transport.fetch(name) == bytes)
    try transport.remove(name)
    #expect(try transport.fetch(name) == nil)
    #expect(try transport.list(zoneTag: zone).attachments == [])
    scratch.makeDirectories(path)
    #expect(try transport.list(zoneTag: zone).attachments == [])
  }

  @Test("Publishing again writes nothing; a damaged file is replaced")
  func idempotent() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    let name = segment(payload)
    func inode() -> UInt64 {
      var status = stat()
      stat(scratch.at(pathOf(name)), &status)
      return UInt64(status.st_ino)
    }
    try transport.publish(name, payload)
    let before = inode()
    try transport.publish(name, payload)
    #expect(inode() == before)
    let damages: [[UInt8]] = [
      [], [0], Array(payload.dropLast()), payload + [0], payload.map { $0 ^ 1 },
      [UInt8](repeating: 0, count: payload.count),
    ]
    for damage in damages {
      scratch.write(pathOf(name), damage)
      try transport.publish(name, payload)
      #expect(scratch.read(pathOf(name)) == payload)
    }
    #expect(scratch.tree().allSatisfy { !$0.contains(".tmp") })
  }

  @Test("What stands where a file belongs is replaced, but a folder with content is not touched")
  func nameTaken() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    let name = segment(payload)
    let target = scratch.at(pathOf(name))
    system(["/bin/mkdir", "-p", scratch.at(pathOf(name).dropLast())])
    let outside = scratch.at(["outside"])
    scratch.write(["outside"], [1])
    symlink(outside, target)
    try transport.publish(name, payload)
    #expect(scratch.read(["outside"]) == [1])
    #expect(try transport.fetch(name) == payload)
    unlink(target)
    mkfifo(target, 0o644)
    try transport.publish(name, payload)
    #expect(try transport.fetch(name) == payload)
    unlink(target)
    mkdir(target, 0o755)
    try transport.publish(name, payload)
    #expect(try transport.fetch(name) == payload)
    unlink(target)
    scratch.write(pathOf(name) + ["mine"], [1])
    #expect(failure { try transport.publish(name, payload) }?.code == .nameTaken)
    #expect(scratch.read(pathOf(name) + ["mine"]) == [1])
    #expect(!scratch.tree().contains { $0.contains(".tmp") })
  }

  @Test("A link in place of a directory is not followed, for reading or for writing")
  func linkedDirectory() throws {
    let scratch = Scratch()
    let elsewhere = Scratch()
    let name = segment(payload)
    try elsewhere.transport().publish(name, payload)
    symlink(elsewhere.at(["z"]), scratch.at(["z"]))
    let transport = scratch.transport()
    let listing = try transport.list(zoneTag: zone)
    #expect(listing.segments == [])
    #expect(listing.problems.contains { $0.hidesData && $0.place == "z" })
    #expect(failure { try transport.fetch(name) } != nil)
    let before = elsewhere.tree()
    #expect(failure { try transport.publish(segment([1]), [1]) }?.code == .nameTaken)
    try transport.remove(name)
    #expect(elsewhere.tree() == before)
  }

  @Test("Bytes that do not fit the name, empty ones and ones beyond the limit are not stored")
  func refusals() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    #expect(failure { try transport.publish(segment([1]), [2]) }?.code == .invalidName)
    #expect(failure { try transport.publish(segment([1], first: 0), [1]) }?.code == .invalidName)
    #expect(failure { try transport.publish(chunk([1]), [2]) }?.code == .invalidName)
    #expect(failure { try transport.publish(segment([]), []) }?.code == .invalidName)
    let limit = FolderBounds.standard.maximumFileBytes
    #expect(limit == 1024 * 1024 + 64 * 1024)
    let most = [UInt8](repeating: 3, count: limit)
    let tooMuch = [UInt8](repeating: 3, count: limit + 1)
    try transport.publish(segment(most), most)
    #expect(try transport.fetch(segment(most)) == most)
    #expect(failure { try transport.publish(segment(tooMuch), tooMuch) }?.code == .tooLarge)
    scratch.write(pathOf(segment(tooMuch)), tooMuch)
    #expect(failure { try transport.fetch(segment(tooMuch)) }?.code == .tooLarge)
  }

  @Test("Removing takes conflict copies along and minds nothing that is missing")
  func remove() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    let name = segment(payload)
    try transport.remove(name)
    try transport.publish(name, payload)
    var copy = pathOf(name)
    copy[3] = copy[3].replacingOccurrences(of: ".seg", with: " (2).seg")
    scratch.write(copy, payload)
    #expect(try transport.list(zoneTag: zone).segments == [name])
    try transport.remove(name)
    #expect(try transport.list(zoneTag: zone).segments == [])
    #expect(failure { try transport.fetch(name) }?.code == .notFound)
  }

  @Test("Transports that publish at the same instant disturb nobody")
  func together() throws {
    let scratch = Scratch()
    let shared = (1...12).map { number in
      (
        name: segment(payload + [UInt8(number)], first: UInt64(number), last: 20),
        bytes: payload + [UInt8(number)]
      )
    }
    let failures = Collected()
    DispatchQueue.concurrentPerform(iterations: 8) { worker in
      let transport = scratch.transport()
      do {
        for (place, item) in shared.enumerated() {
          try transport.publish(item.name, item.bytes)
          let own = [UInt8(worker), UInt8(place)]
          try transport.publish(
            segment(own, author: Identifier(high: UInt64(worker), low: 1)), own)
          let listing = try transport.list(zoneTag: zone)
          for name in listing.segments { _ = try transport.fetch(name) }
          if !listing.problems.isEmpty { failures.add("\(listing.problems)") }
        }
      } catch { failures.add("\(error)") }
    }
    #expect(failures.all == [])
    let listing = try scratch.transport().list(zoneTag: zone)
    #expect(listing.segments.count == 12 + 8 * 12)
    #expect(listing.problems == [])
    #expect(!scratch.tree().contains { $0.contains(".tmp") })
  }

  @Test("Whatever a write that was cut leaves behind is not listed, and the next one completes")
  func cutWrites() throws {
    let name = segment(payload)
    let reference = Scratch()
    let copies = Collected()
    let scratches = FolderWriteStep.allCases.map { ($0, Scratch()) }
    let writer = reference.transport(probe: { step in
      for (taken, scratch) in scratches where taken == step {
        copies.add("\(step)")
        system(["/bin/cp", "-a", reference.path + "/.", scratch.path])
      }
    })
    // The note is stored by the same steps; it must not be taken for the segment.
    try reference.transport().prepare()
    try writer.publish(name, payload)
    #expect(Set(copies.all).count == FolderWriteStep.allCases.count)
    for (step, scratch) in scratches {
      let isWhole = step == .renamed || step == .synchronized
      let listing = try scratch.transport().list(zoneTag: zone)
      #expect(listing.segments == (isWhole ? [name] : []), "after \(step)")
      #expect(listing.problems == [], "after \(step)")
      let unfinished = scratch.tree().filter { $0.contains(".tmp-") }
      #expect(unfinished.count == (step == .temporaryWritten ? 1 : 0), "after \(step)")
      for file in unfinished {
        for count in [0, 1, payload.count / 2, payload.count - 1] {
          truncate(scratch.at([file]), count)
          #expect(try scratch.transport().list(zoneTag: zone).segments == [], "cut at \(count)")
        }
      }
      try scratch.transport().publish(name, payload)
      #expect(try scratch.transport().fetch(name) == payload, "after \(step)")
    }
  }

  @Test("Storing starts over when its directory or file vanishes, but not for ever")
  func startsOver() throws {
    for step in [FolderWriteStep.directoriesMade, .temporaryWritten] {
      for times in [1, 2, 3] {
        let scratch = Scratch()
        try scratch.transport().prepare()
        let steps = Collected()
        let transport = scratch.transport(probe: { taken in
          guard taken == step, steps.all.count < times else { return }
          steps.add("\(taken)")
          system(["/bin/rm", "-rf", scratch.at(["z"])])
        })
        let error = failure { try transport.publish(segment(payload), payload) }
        #expect(error?.code == (times < 3 ? nil : .notFound), "\(step), \(times) times")
        guard times < 3 else { continue }
        #expect(try scratch.transport().fetch(segment(payload)) == payload)
      }
    }
  }

  @Test("A temporary file is removed once it is older than a day, and only then")
  func abandoned() throws {
    let scratch = Scratch()
    let name = segment(payload)
    try scratch.transport().publish(name, payload)
    let file = Array(pathOf(name).dropLast()) + [".tmp-00112233445566ff"]
    let mine = Array(pathOf(name).dropLast()) + [".tmp-mine"]
    scratch.write(file, [1])
    scratch.write(mine, [1])
    var status = stat()
    stat(scratch.at(file), &status)
    let written = Int64(status.st_mtim.tv_sec)
    let day: Int64 = 24 * 60 * 60
    for age in [-day, 0, day] {
      _ = try scratch.transport(now: written + age).list(zoneTag: zone)
      #expect(scratch.read(file) == [1])
    }
    _ = try scratch.transport(now: written + day + 1).list(zoneTag: zone)
    #expect(scratch.read(file) == nil)
    #expect(scratch.read(mine) == [1])
    #expect(try scratch.transport().fetch(name) == payload)
  }

  @Test("A folder says what it is, and an emptied one is noticed")
  func note() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    #expect(try transport.list(zoneTag: zone).problems.map(\.hidesData) == [true])
    try transport.prepare()
    try transport.prepare()
    #expect(scratch.tree() == ["HEARTH.txt", "a", "i", "s", "z"])
    #expect(try transport.list(zoneTag: zone).problems == [])
    let text = String(decoding: scratch.read(["HEARTH.txt"]) ?? [], as: UTF8.self)
    #expect(text.contains("encrypted") && text.contains("do not edit"))
    scratch.write(["HEARTH.txt"], [0x21])
    try transport.publish(segment(payload), payload)
    #expect(scratch.read(["HEARTH.txt"]) == [0x21])
  }
}

/// Lines gathered from several threads.
final class Collected: Sendable {
  private let lock = NSLock()
  private nonisolated(unsafe) var lines: [String] = []  // only touched under the lock

  var all: [String] { lock.withLock { lines } }
  func add(_ line: String) { lock.withLock { lines.append(line) } }
}
