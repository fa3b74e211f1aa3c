import Foundation
import Glibc
import HearthCRDT
import HearthSync
import Testing

@testable import HearthTransport

@Suite("A shared folder with faults in it")
struct FolderFaultTests {
  private let scratch = Scratch()
  private let good = segment([9, 9, 9], first: 100, last: 100)
  private let name = segment(payload)

  private var directory: [String] { Array(pathOf(name).dropLast()) }

  /// A transport over a folder with a whole segment and the one to be damaged.
  private func filled() throws -> FolderTransport {
    let transport = scratch.transport()
    try transport.publish(good, [9, 9, 9])
    try transport.publish(name, payload)
    return transport
  }

  private func expectGood(_ transport: FolderTransport, _ note: String = "") throws {
    #expect(try transport.list(zoneTag: zone).segments.contains(good), "\(note)")
    #expect(try transport.fetch(good) == [9, 9, 9], "\(note)")
  }

  @Test("A file cut at any byte or with any bit flipped is refused, and repairing it repairs it")
  func anyDamage() throws {
    let transport = try filled()
    let payload = Array(payload.prefix(120))
    let name = segment(payload, first: 200, last: 201)
    try transport.publish(name, payload)
    for count in 0..<payload.count {
      scratch.write(pathOf(name), Array(payload.prefix(count)))
      let error = failure { try transport.fetch(name) }
      #expect(error?.code == (count == 0 ? .emptyFile : .contentMismatch), "cut at \(count)")
    }
    for bit in 0..<(payload.count * 8) {
      var bytes = payload
      bytes[bit / 8] ^= 1 << (bit % 8)
      scratch.write(pathOf(name), bytes)
      #expect(failure { try transport.fetch(name) }?.code == .contentMismatch, "bit \(bit)")
    }
    try expectGood(transport)
    scratch.write(pathOf(name), payload)
    #expect(try transport.fetch(name) == payload)
  }

  @Test("Each damage is told in words: which file, what, and what to do")
  func words() throws {
    let transport = try filled()
    let place = pathOf(name).joined(separator: "/")
    func said(_ bytes: [UInt8]) throws -> String {
      scratch.write(pathOf(name), bytes)
      let text = try #require(failure { try transport.fetch(name) }).description
      #expect(text.contains(place) && text.contains("its author puts it back"))
      return text
    }
    #expect(try said([]).contains("zero bytes"))
    #expect(try said([UInt8](repeating: 0, count: 50)).contains("all its 50 bytes are zero"))
    let holed = Array(payload.prefix(100)) + [UInt8](repeating: 0, count: 100)
    #expect(try said(holed).contains("the last 100 of its 200 bytes are zero"))
    #expect(try said(Array(payload.prefix(100))).contains("100 bytes do not match its name"))
    unlink(scratch.at(pathOf(name)))
    let missing = try #require(failure { try transport.fetch(name) })
    #expect(missing.code == .notFound && missing.description.contains(place))
  }

  @Test("A gibibyte of zeros is refused by its size, without being read")
  func sparse() throws {
    let transport = try filled()
    truncate(scratch.at(pathOf(name)), 1 << 30)
    var before = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &before)
    let error = failure { try transport.fetch(name) }
    #expect(error?.code == .tooLarge)
    #expect(error?.message.contains("1073741824 bytes") == true)
    var after = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &after)
    #expect(after.ru_maxrss - before.ru_maxrss < 256 * 1024, "kilobytes")
    try expectGood(transport)
    try transport.publish(name, payload)
    #expect(try transport.fetch(name) == payload)
  }

  @Test("Another zone's file under this name is refused")
  func exchanged() throws {
    let transport = try filled()
    let foreign = segment([4, 4], zone: otherZone)
    try transport.publish(foreign, [4, 4])
    scratch.rename(pathOf(foreign), pathOf(name))
    #expect(failure { try transport.fetch(name) }?.code == .contentMismatch)
    try expectGood(transport)
    #expect(failure { try transport.fetch(foreign) }?.code == .notFound)
  }

  @Test(
    "A copy under a carrier's name stands in for a missing or damaged original",
    arguments: [
      " (2).seg", " (conflicted copy 2026-01-01).seg", ".sync-conflict-20260101-120000-ABC.seg",
    ])
  func conflictCopies(ending: String) throws {
    let transport = try filled()
    let stem = String(pathOf(name)[3].dropLast(4))
    scratch.write(directory + [stem + ending], payload)
    scratch.write(pathOf(name), [1, 2, 3])
    #expect(try transport.fetch(name) == payload)
    unlink(scratch.at(pathOf(name)))
    #expect(try transport.list(zoneTag: zone).segments == [name, good])
    #expect(try transport.list(zoneTag: zone).problems == [])
    #expect(try transport.fetch(name) == payload)
    #expect(try scratch.transport().fetch(name) == payload)
    scratch.write(directory + [stem + ending], Array(payload.dropLast()))
    #expect(failure { try transport.fetch(name) }?.code == .contentMismatch)
  }

  @Test("A folder whose names were folded to upper case is listed and read")
  func folded() throws {
    _ = try filled()
    let snapshot = chunk([5])
    try scratch.transport().publish(snapshot, [5])
    for path in [pathOf(name), pathOf(good), pathOf(snapshot)] {
      scratch.rename(path, path.map { $0.uppercased() })
    }
    system(["/bin/rm", "-rf", scratch.at(["z"]), scratch.at(["s"])])
    let transport = scratch.transport()
    let listing = try transport.list(zoneTag: zone)
    #expect(listing.segments == [name, good])
    #expect(listing.snapshots == [snapshot])
    #expect(listing.problems == [])
    #expect(try transport.fetch(name) == payload)
    #expect(try scratch.transport().fetch(snapshot) == [5])
    try transport.publish(name, payload)
    #expect(try transport.list(zoneTag: zone).segments == [name, good])
  }

  @Test("Rubbish is passed over, told once a folder, and hides nothing")
  func rubbish() throws {
    let transport = try filled()
    for quiet in [
      ".DS_Store", "desktop.ini", "Thumbs.db", ".syncthing.\(pathOf(name)[3]).tmp",
      "~syncthing~\(pathOf(name)[3]).tmp", "\(pathOf(name)[3]).part", ".stversions",
    ] {
      scratch.write(directory + [quiet], [1])
      scratch.write([".stfolder", "marker"], [1])
      scratch.write(Array(directory.dropLast()) + [quiet], [1])
    }
    scratch.write(["my holidays.txt"], [1])
    #expect(try transport.list(zoneTag: zone).problems == [])
    scratch.write(directory + ["b.jpg"], [1])
    scratch.write(directory + ["a\u{1B}[31m.jpg"], [1])
    let problems = try transport.list(zoneTag: zone).problems
    #expect(problems.count == 1)
    #expect(problems[0].hidesData == false)
    #expect(problems[0].fault.contains("a\\x1b[31m.jpg and 1 more"))
    try expectGood(transport)
  }

  @Test("A name that lost a part is told, for data may be behind it")
  func renamed() throws {
    let transport = try filled()
    scratch.rename(pathOf(name), directory + ["renamed.seg"])
    let listing = try transport.list(zoneTag: zone)
    #expect(listing.segments == [good])
    #expect(listing.problems.map(\.hidesData) == [true])
    #expect(listing.problems[0].place.hasSuffix("/renamed.seg"))
  }

  @Test("Folders, links, pipes and sockets under a segment's name are told and never opened")
  func wrongKinds() throws {
    let transport = try filled()
    let target = scratch.at(pathOf(name))
    let makers: [(String, () -> Void)] = [
      ("folder", { mkdir(target, 0o755) }),
      ("link to a whole copy", { symlink(self.scratch.at(["copy"]), target) }),
      ("link to nothing", { symlink("/nonexistent", target) }),
      ("link to itself", { symlink(target, target) }),
      ("pipe", { mkfifo(target, 0o644) }),
      ("socket", { mknod(target, S_IFSOCK | 0o644, 0) }),
      ("device", { mknod(target, S_IFCHR | 0o644, 0x0105) }),
    ]
    scratch.write(["copy"], payload)
    for (kind, make) in makers {
      system(["/bin/rm", "-rf", target])
      make()
      if kind == "device", access(target, F_OK) != 0 {
        print("skipped: this user may not make device nodes")
        continue
      }
      let listing = try transport.list(zoneTag: zone)
      #expect(listing.segments == [good], "\(kind)")
      #expect(listing.problems.map(\.hidesData) == [true], "\(kind)")
      #expect(failure { try transport.fetch(name) }?.code == .notRegularFile, "\(kind)")
      let stem = String(pathOf(name)[3].dropLast(4))
      scratch.write(directory + [stem + " (2).seg"], payload)
      let rescued = try transport.list(zoneTag: zone)
      #expect(rescued.segments == [name, good], "\(kind)")
      #expect(rescued.problems.map(\.hidesData) == [false], "\(kind)")
      #expect(try transport.fetch(name) == payload, "\(kind)")
      unlink(scratch.at(directory + [stem + " (2).seg"]))
    }
    try expectGood(transport)
  }

  @Test("Files, links and pipes in place of our directories are told and never opened")
  func wrongDirectories() throws {
    let name = name
    for depth in 0..<3 {
      for kind in ["file", "pipe", "link"] {
        let scratch = Scratch()
        let transport = scratch.transport()
        try transport.prepare()
        let path = Array(pathOf(name).prefix(depth + 1))
        if depth == 0 { rmdir(scratch.at(path)) }
        system(["/bin/mkdir", "-p", scratch.at(path.dropLast())])
        switch kind {
        case "file": scratch.write(path, [1])
        case "pipe": mkfifo(scratch.at(path), 0o644)
        default: symlink("/", scratch.at(path))
        }
        let listing = try transport.list(zoneTag: zone)
        #expect(listing.problems.map(\.hidesData) == [true], "\(kind) at \(depth)")
        #expect(failure { try transport.fetch(name) } != nil, "\(kind) at \(depth)")
        #expect(failure { try transport.publish(name, payload) }?.code == .nameTaken)
        try transport.remove(name)
      }
    }
  }

  @Test("Names that are not text do no harm")
  func notText() throws {
    let transport = try filled()
    let raw = Array(scratch.at(directory).utf8) + [0x2F]
    let stem = Array(pathOf(name)[3].dropLast(4).utf8)
    for bytes in [[0xFF, 0xFE], [0xC3], stem + [0x20, 0xFF] + Array(".seg".utf8)] {
      FolderName(bytes: raw + bytes).withCString { path in
        let file = open(path, O_CREAT | O_WRONLY, 0o644)
        _ = Glibc.write(file, payload, payload.count)
        close(file)
      }
    }
    unlink(scratch.at(pathOf(name)))
    let listing = try transport.list(zoneTag: zone)
    #expect(listing.segments == [name, good])
    #expect(listing.problems.map(\.hidesData) == [false])
    #expect(try transport.fetch(name) == payload)
    try transport.remove(name)
    #expect(try transport.list(zoneTag: zone).segments == [good])
  }

  @Test("Segments that vanish, and that come back, are seen as they are")
  func deleted() throws {
    let transport = try filled()
    unlink(scratch.at(pathOf(name)))
    #expect(try transport.list(zoneTag: zone).segments == [good])
    scratch.write(pathOf(name), payload)
    #expect(try transport.list(zoneTag: zone).segments == [name, good])
    system(["/bin/rm", "-rf", scratch.at(directory)])
    #expect(try transport.list(zoneTag: zone).segments == [])
    try transport.publish(name, payload)
    #expect(try transport.fetch(name) == payload)
    system(["/bin/rm", "-rf", scratch.at(["z"])])
    try transport.publish(name, payload)
    #expect(try transport.list(zoneTag: zone).segments == [name])
  }
}
