import Foundation
import Glibc
import HearthCRDT
import HearthSync
import Testing

@testable import HearthTransport

@Suite("Limits of a shared folder")
struct FolderBoundsTests {
  /// Empty files under segment names: listing looks at names only.
  private func fill(
    _ scratch: Scratch, author: UInt64 = 1, life: UInt64 = 1, _ range: ClosedRange<UInt64>,
    ending: String = ""
  ) -> [SegmentName] {
    range.map { number in
      let name = segment(
        [UInt8(truncatingIfNeeded: number)], author: Identifier(high: author, low: 0),
        incarnation: life, first: number, last: number)
      var path = pathOf(name)
      path[3] = String(path[3].dropLast(4)) + ending + ".seg"
      scratch.write(path, [])
      return name
    }
  }

  @Test("Names of one directory: at the bound all, beyond it the first, and the listing says so")
  func namesOfDirectory() throws {
    let scratch = Scratch()
    var bounds = FolderBounds()
    bounds.maximumNamesPerDirectory = 7
    let names = fill(scratch, 1...7)
    let full = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(full.segments == names)
    #expect(full.problems == [])
    for last in [8, 14, 15, 40] as [UInt64] {
      _ = fill(scratch, 8...last)
      let over = try scratch.transport(bounds: bounds).list(zoneTag: zone)
      #expect(over.segments == names, "\(last) names")
      #expect(over.problems.map(\.hidesData) == [true], "\(last) names")
    }
  }

  @Test("Chunks of attachments: beyond the bound, those that this device gives are named too")
  func givenChunks() throws {
    let scratch = Scratch()
    var bounds = FolderBounds()
    bounds.maximumNamesPerDirectory = 3
    let names = (1...6 as ClosedRange<UInt8>).map {
      BlobName(kind: .attachment, scope: zone, digest: testDigest([$0]))
    }.sorted()
    for name in names.prefix(5) { scratch.write(pathOf(name), [1]) }
    let transport = scratch.transport(bounds: bounds)
    #expect(try transport.list(zoneTag: zone).attachments == Array(names.prefix(3)))
    // The last one is not there, and has to be given.
    let over = try transport.list(
      zoneTag: zone, preferring: ListingPreference(chunks: Set(names.suffix(2).map(\.digest))))
    #expect(over.attachments == Array(names.prefix(3)) + [names[4]])
    #expect(over.problems.map(\.hidesData) == [true])
  }

  @Test("Names altogether: one author's flood does not push out another's segments")
  func namesOfListing() throws {
    let scratch = Scratch()
    var bounds = FolderBounds()
    bounds.maximumNames = 30
    let flood = fill(scratch, author: 1, 1...28)
    let modest = fill(scratch, author: 2, 1...2)
    bounds.maximumNamesPerDirectory = 28
    let full = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(full.segments == flood + modest)
    #expect(full.problems == [])
    let third = fill(scratch, author: 3, 1...1)
    let over = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(over.segments == flood.prefix(14) + modest + third)
    #expect(over.problems.map(\.hidesData) == [true])
  }

  @Test("Author directories: at the bound all, beyond it the first, and the listing says so")
  func directories() throws {
    let scratch = Scratch()
    var bounds = FolderBounds()
    bounds.maximumDirectories = 3
    var names: [SegmentName] = []
    for author in 1...3 as ClosedRange<UInt64> { names += fill(scratch, author: author, 1...1) }
    let full = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(full.segments == names)
    #expect(full.problems == [])
    let last = fill(scratch, author: 4, 1...1)
    let over = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(over.segments == names)
    #expect(over.problems.map(\.hidesData) == [true])
    // Another hour leaves out another one, so that nobody stays hidden.
    let later = try scratch.transport(bounds: bounds, now: 3_600).list(zoneTag: zone)
    #expect(later.segments == names.prefix(2) + last)
  }

  @Test("Of too many author directories, known authors and first lives are looked into first")
  func preferredDirectories() throws {
    let scratch = Scratch()
    var bounds = FolderBounds()
    bounds.maximumDirectories = 4
    var lives: [[SegmentName]] = []
    for life in 1...5 as ClosedRange<UInt64> {
      lives.append(fill(scratch, author: 1, life: life, 1...1))
    }
    let others = (2...4 as ClosedRange<UInt64>).map { fill(scratch, author: $0, 1...1) }
    // Nobody is known: everybody has one life, the first author that has more one of these.
    let unknown = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(unknown.segments == lives[0] + others.joined())
    // The last author is known, and the first one, who has more lives than there is room. One place
    // in four is strangers'.
    let tags = Set([lives[0], others[2]].compactMap { $0.first?.authorTag })
    let known = try scratch.transport(bounds: bounds).list(
      zoneTag: zone, preferring: ListingPreference(devices: tags))
    #expect(known.segments == lives.prefix(2).joined() + others[0] + others[2])
    #expect(known.problems.map(\.hidesData) == [true])
    // The logs that the zone has are named in any case, and take no places.
    let logs = Set((lives[3] + lives[4] + others[1]).map(\.tagAuthor))
    let own = try scratch.transport(bounds: bounds).list(
      zoneTag: zone, preferring: ListingPreference(logs: logs, devices: tags))
    #expect(
      own.segments == lives[0] + lives[1] + lives[3] + lives[4] + others[0] + others[1] + others[2])
    #expect(own.problems.map(\.hidesData) == [true])
  }

  @Test("Entries read of one directory: at the bound no word, beyond it the listing says so")
  func entries() throws {
    let scratch = Scratch()
    try scratch.transport().prepare()
    let names = fill(scratch, 1...9)
    var bounds = FolderBounds()
    bounds.maximumEntries = 9
    let full = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(full.segments == names)
    #expect(full.problems == [])
    bounds.maximumEntries = 8
    let over = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(over.segments.count == 8)
    #expect(over.problems.map(\.hidesData) == [true])
  }

  @Test("Copies remembered: at the bound all, beyond it the listing says so")
  func copies() throws {
    let scratch = Scratch()
    var bounds = FolderBounds()
    bounds.maximumCopies = 5
    let exact = fill(scratch, 1...2)
    let copied = fill(scratch, 3...7, ending: " (2)")
    let full = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(full.segments == exact + copied)
    #expect(full.problems == [])
    _ = fill(scratch, 8...8, ending: " (2)")
    let over = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(over.segments == exact + copied)
    #expect(over.problems.map(\.hidesData) == [true])
  }

  @Test("Problems told one by one: at the bound all, beyond it how many more")
  func problems() throws {
    let scratch = Scratch()
    try scratch.transport().prepare()
    var bounds = FolderBounds()
    bounds.maximumProblems = 4
    let directory = Array(pathOf(segment(payload)).dropLast())
    for number in 1...4 { scratch.write(directory + ["broken\(number).seg"], [1]) }
    let full = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(full.problems.count == 4)
    scratch.write(directory + ["holiday.jpg"], [1])
    let over = try scratch.transport(bounds: bounds).list(zoneTag: zone)
    #expect(over.problems.count == 5)
    #expect(over.problems.contains { $0.fault.contains("1 more") })
  }

  @Test("Ten thousand files are listed in one pass; the time is printed")
  func tenThousand() throws {
    let scratch = Scratch()
    for author in 1...4 as ClosedRange<UInt64> { _ = fill(scratch, author: author, 1...2_500) }
    let transport = scratch.transport()
    let clock = ContinuousClock()
    var count = 0
    let time = try clock.measure { count = try transport.list(zoneTag: zone).segments.count }
    #expect(count == 10_000)
    print("listing 10,000 segments of 4 authors took \(time) (debug build)")
  }

  @Test("A folder that is missing, or a file, is said to be so by every call")
  func noFolder() throws {
    let scratch = Scratch()
    scratch.write(["file"], [1])
    let name = segment(payload)
    for (path, code) in [
      ("missing", TransportError.Code.folderMissing), ("file", .folderNotDirectory),
    ] {
      let transport = FolderTransport(path: scratch.at([path]), digest: testDigest)
      let errors = [
        failure { try transport.prepare() }, failure { try transport.list(zoneTag: zone) },
        failure { try transport.fetch(name) }, failure { try transport.publish(name, payload) },
        failure { try transport.remove(name) },
        failure { try transport.fetch(chunk(payload)) },
      ]
      for error in errors {
        #expect(error?.code == code)
        #expect(error?.description.contains(scratch.at([path])) == true)
        #expect(error?.remedy.isEmpty == false)
      }
    }
    #expect(scratch.tree() == ["file"])
  }

  @Test("A read-only folder can be read, and says why it cannot be written")
  func readOnly() throws {
    let scratch = Scratch()
    let transport = scratch.transport()
    let name = segment(payload)
    try transport.publish(name, payload)
    guard system(["/bin/mount", "--bind", scratch.path, scratch.path]) else {
      print("skipped: no bind mount allowed here, and permission bits bind no superuser")
      return
    }
    defer { system(["/bin/umount", scratch.path]) }
    guard system(["/bin/mount", "-o", "remount,ro,bind", scratch.path]) else {
      print("skipped: no read-only bind mount allowed here")
      return
    }
    #expect(try transport.list(zoneTag: zone).segments == [name])
    #expect(try transport.fetch(name) == payload)
    #expect(failure { try transport.prepare() }?.code == .folderReadOnly)
    #expect(failure { try transport.publish(segment([1]), [1]) }?.code == .folderReadOnly)
    #expect(failure { try transport.remove(name) }?.code == .folderReadOnly)
    // What is there already needs no writing.
    try transport.publish(name, payload)
  }

  @Test("Unreadable directories are told; the rest is listed")
  func unreadable() throws {
    guard geteuid() != 0 else {
      print("skipped: permission bits bind no superuser")
      return
    }
    let scratch = Scratch()
    let transport = scratch.transport()
    let names = fill(scratch, author: 1, 1...1) + fill(scratch, author: 2, 1...1)
    let closed = scratch.at(pathOf(names[0]).dropLast())
    chmod(closed, 0)
    defer { chmod(closed, 0o755) }
    let listing = try transport.list(zoneTag: zone)
    #expect(listing.segments == [names[1]])
    #expect(listing.problems.map(\.hidesData) == [true])
    #expect(failure { try transport.fetch(names[0]) }?.code == .folderUnreadable)
  }

  @Test("A full disk is said to be full, leaves nothing half written, and recovers")
  func fullDisk() throws {
    let scratch = Scratch()
    guard system(["/bin/mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", scratch.path]) else {
      print("skipped: no small file system may be mounted here")
      return
    }
    defer { system(["/bin/umount", scratch.path]) }
    let transport = scratch.transport()
    try transport.publish(segment(payload), payload)
    let large = [UInt8](repeating: 7, count: 300 * 1024)
    let error = failure { try transport.publish(segment(large), large) }
    #expect(error?.code == .diskFull)
    #expect(error?.description.contains("free some space") == true)
    #expect(!scratch.tree().contains { $0.contains(".tmp") })
    let listing = try transport.list(zoneTag: zone)
    #expect(listing.segments == [segment(payload)])
    #expect(listing.problems == [])
    let small = Array(large.prefix(1024))
    try transport.publish(segment(small), small)
    #expect(try transport.fetch(segment(small)) == small)
  }
}
