import Foundation
import Glibc
import HearthCRDT
import HearthSync
import Testing

@testable import HearthTransport

@Suite("Watching a shared folder", .serialized)
struct FolderWatcherTests {
  private static let generous = 20_000

  private func watcher(
    _ scratch: Scratch, polling: Int = 600_000,
    maximumWatches: Int = FolderWatcher.standardMaximumWatches
  ) throws -> FolderWatcher {
    var intervals = FolderWatcher.Intervals()
    intervals.pollingMilliseconds = polling
    intervals.watchedPollingMilliseconds = 600_000
    return try FolderWatcher(
      path: scratch.path, zoneTags: [zone], intervals: intervals,
      maximumWatches: maximumWatches)
  }

  @Test("A segment published by another node is noticed, in directories that are new as well")
  func published() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    let watcher = try watcher(scratch)
    guard watcher.pollingReason == nil else {
      print("skipped: no watching here: \(watcher.pollingReason ?? "")")
      return
    }
    for number in 1...3 as ClosedRange<UInt64> {
      // The first makes every directory, the second one for its author, the third none.
      let author = Identifier(high: min(number, 2), low: 0)
      let bytes = payload + [UInt8(number)]
      let name = segment(bytes, author: author, first: number)
      try transport.publish(name, bytes)
      #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .changed)
      #expect(try transport.list(zoneTag: zone).segments.contains(name))
    }
    try transport.publish(chunk(payload), payload)
    #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .changed)
    try transport.remove(segment(payload + [1], author: Identifier(high: 1, low: 0), first: 1))
    #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .changed)
  }

  @Test("Many changes at once make one hint, and then it is quiet")
  func debounced() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    try transport.publish(segment([0], first: 1, last: 60), [0])
    let watcher = try watcher(scratch)
    guard watcher.pollingReason == nil else { return }
    for number in 1...50 as ClosedRange<UInt8> {
      try transport.publish(segment([number], first: UInt64(number), last: 60), [number])
    }
    #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .changed)
    #expect(watcher.wait(timeoutMilliseconds: 0) == .timedOut)
    #expect(watcher.wait(timeoutMilliseconds: 100) == .timedOut)
  }

  @Test("Other zones, unfinished files and strangers' files give no hint")
  func unimportant() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    let name = segment(payload)
    try transport.publish(name, payload)
    let watcher = try watcher(scratch)
    guard watcher.pollingReason == nil else { return }
    try transport.publish(segment([1], zone: otherZone), [1])
    scratch.write(["holiday.txt"], [1])
    scratch.write(["photos", "a.jpg"], [1])
    scratch.write(Array(pathOf(name).dropLast()) + [".tmp-0123456789abcdef"], [1])
    scratch.write(Array(pathOf(name).dropLast()) + [".syncthing.x.tmp"], [1])
    #expect(watcher.wait(timeoutMilliseconds: 200) == .timedOut)
  }

  @Test("Cancelling ends a wait at once, and every later one")
  func cancelled() throws {
    let scratch = Scratch()
    for maximumWatches in [FolderWatcher.standardMaximumWatches, 0] {
      let watcher = try watcher(scratch, maximumWatches: maximumWatches)
      let start = ContinuousClock.now
      DispatchQueue.global().async { watcher.cancel() }
      #expect(watcher.wait(timeoutMilliseconds: 600_000) == .cancelled)
      #expect(ContinuousClock.now - start < .seconds(60))
      watcher.cancel()
      #expect(watcher.wait(timeoutMilliseconds: nil) == .cancelled)
    }
  }

  @Test("Without watching the folder is polled, and the reason is told")
  func polled() throws {
    let scratch = Scratch()
    let watcher = try watcher(scratch, polling: 10, maximumWatches: 0)
    #expect(watcher.pollingReason?.isEmpty == false)
    for _ in 1...3 { #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .pollingDue) }
    let slow = try self.watcher(scratch, maximumWatches: 0)
    #expect(slow.wait(timeoutMilliseconds: 0) == .timedOut)
    #expect(slow.wait(timeoutMilliseconds: 20) == .timedOut)
  }

  @Test("At the limit of watches the folder is watched, beyond it polled, later on too")
  func watchLimit() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    try transport.publish(segment([1]), [1])
    // The folder, z, the zone, the author.
    let watcher = try watcher(scratch, polling: 10, maximumWatches: 4)
    guard watcher.pollingReason == nil else { return }
    #expect(try self.watcher(scratch, maximumWatches: 3).pollingReason?.contains("3") == true)
    try transport.publish(segment([2], author: Identifier(high: 2, low: 0)), [2])
    #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .changed)
    #expect(watcher.pollingReason?.contains("4") == true)
    #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .pollingDue)
  }

  @Test("A folder that goes away is polled until it is back, then watched again")
  func goneAndBack() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    try transport.publish(segment([1]), [1])
    let watcher = try watcher(scratch, polling: 10)
    guard watcher.pollingReason == nil else { return }
    let aside = scratch.path + "-aside"
    rename(scratch.path, aside)
    #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .changed)
    #expect(watcher.pollingReason != nil)
    #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .pollingDue)
    rename(aside, scratch.path)
    #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .pollingDue)
    #expect(watcher.pollingReason == nil)
    try transport.publish(segment([2]), [2])
    #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .changed)
  }

  @Test("A directory that is removed and made again is watched again")
  func directoryRemade() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    try transport.publish(segment([1]), [1])
    let watcher = try watcher(scratch)
    guard watcher.pollingReason == nil else { return }
    for number in 2...4 as ClosedRange<UInt8> {
      system(["/bin/rm", "-rf", scratch.at(["z"])])
      #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .changed)
      try transport.publish(segment([number]), [number])
      #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .changed)
    }
    try transport.publish(segment([9]), [9])
    #expect(watcher.wait(timeoutMilliseconds: Self.generous) == .changed)
  }

  @Test("Watchers leave no descriptor behind")
  func descriptors() throws {
    let scratch = Scratch()
    try scratch.transport().publish(segment([1]), [1])
    func ours() -> Int {
      let links = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return links.filter {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?
          .contains("inotify") == true
      }.count
    }
    let before = ours()
    for _ in 1...20 {
      let watcher = try watcher(scratch)
      _ = watcher.wait(timeoutMilliseconds: 0)
    }
    #expect(ours() <= before)
  }
}

@Suite("Loopback")
struct LoopbackTransportTests {
  @Test("The loopback keeps, lists, reads and removes like a folder without faults")
  func contract() async throws {
    let folder = Scratch()
    let transports: [any Transport] = [
      LoopbackTransport(digest: testDigest), folder.transport(),
    ]
    for transport in transports {
      let second = segment([2], first: 10, last: 12)
      let first = segment(payload)
      try await transport.publish(second, [2])
      try await transport.publish(first, payload)
      try await transport.publish(first, payload)
      try await transport.publish(segment([3], zone: otherZone), [3])
      try await transport.publish(chunk([4]), [4])
      let capsule = BlobName(kind: .capsule, scope: zone)
      try await transport.publish(capsule, [5])
      try await transport.publish(capsule, [6])
      let listing = try await transport.list(zoneTag: zone)
      #expect(listing.segments == [first, second])
      #expect(listing.snapshots == [chunk([4])])
      #expect(listing.problems == [])
      #expect(try await transport.fetch(first) == payload)
      #expect(try await transport.fetch(chunk([4])) == [4])
      #expect(try await transport.fetch(capsule) == [6])
      try await transport.remove(first)
      try await transport.remove(first)
      try await transport.remove(capsule)
      #expect(await failure { try await transport.fetch(first) }?.code == .notFound)
      #expect(try await transport.fetch(capsule) == nil)
      #expect(await failure { try await transport.publish(first, [1]) }?.code == .invalidName)
      #expect(await failure { try await transport.publish(chunk([1]), []) }?.code == .invalidName)
    }
  }
}
