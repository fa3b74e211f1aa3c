import Foundation
import HearthCRDT
import HearthSync
import Testing

@testable import HearthTransport

@Suite("Names in a shared folder")
struct FolderLayoutTests {
  @Test("A segment's path is exactly this")
  func segmentPath() {
    let name = SegmentName(
      zoneTag: Identifier(high: 1, low: 2), authorTag: Identifier(high: 3, low: 4),
      incarnation: 0x1_0000_00AF, first: 10, last: 266, digest: Identifier(high: 5, low: 0xC))
    let path = [
      "z", "00000000000000010000000000000002",
      "00000000000000030000000000000004-00000001000000af",
      "000000000000000a-000000000000010a-0000000000000005000000000000000c.seg",
    ]
    #expect(FolderLayout.path(of: name) == path)
    #expect(FolderLayout.segment(path: path) == name)
  }

  @Test("The reference shows the very paths that are printed, and the bounds in use")
  func reference() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(
      contentsOf: root.appendingPathComponent("docs/reference/folder-layout.md"), encoding: .utf8)
    let examples = text.split(separator: "\n").filter {
      ["z/0", "s/0", "i/0"].contains(String($0.prefix(3)))
    }.map { $0.split(separator: "/").map(String.init) }
    #expect(examples.count == 3)
    for path in examples {
      let printed =
        FolderLayout.segment(path: path).map(pathOf) ?? FolderLayout.blob(path: path).map(pathOf)
      #expect(printed == path)
    }
    let bounds = FolderBounds.standard
    for bound in [
      bounds.maximumFileBytes, bounds.maximumNamesPerDirectory, bounds.maximumNames,
      bounds.maximumDirectories, bounds.maximumCopies, bounds.maximumEntries,
      bounds.maximumProblems,
    ] {
      var digits = String(bound)
      for place in stride(from: digits.count - 3, to: 0, by: -3) {
        digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
      }
      #expect(text.contains("| \(digits) |"), "\(digits)")
    }
    #expect(bounds.temporaryLifetimeSeconds == 24 * 60 * 60)
  }

  @Test("A chunk's and a capsule's path are exactly these")
  func blobPaths() {
    let snapshot = BlobName(
      kind: .snapshot, scope: Identifier(high: 1, low: 2), group: Identifier(high: 3, low: 4),
      index: 1, count: 16, digest: Identifier(high: 5, low: 6))
    let path = [
      "s", "00000000000000010000000000000002",
      "00000000000000030000000000000004-00000001-00000010-00000000000000050000000000000006.snap",
    ]
    #expect(FolderLayout.path(of: snapshot) == path)
    #expect(FolderLayout.blob(path: path) == snapshot)
    let attachment = BlobName(
      kind: .attachment, scope: Identifier(high: 1, low: 2), digest: Identifier(high: 5, low: 6))
    let file = "00000000000000050000000000000006.att"
    #expect(
      FolderLayout.path(of: attachment) == ["a", "00000000000000010000000000000002", file])
    #expect(FolderLayout.blob(path: ["a", "00000000000000010000000000000002", file]) == attachment)
    #expect(FolderLayout.blob(path: ["s", "00000000000000010000000000000002", file]) == nil)
    let capsule = BlobName(kind: .capsule, scope: Identifier(high: 0xFE, low: 1))
    #expect(FolderLayout.path(of: capsule) == ["i", "00000000000000fe0000000000000001.cap"])
    #expect(FolderLayout.blob(path: ["i", "00000000000000fe0000000000000001.cap"]) == capsule)
  }

  @Test("Any name survives printing and parsing, and no damaged spelling is exact")
  func roundTrip() {
    let seed = UInt64.random(in: .min ... .max)
    var random = Seeded(seed)
    func identifier() -> Identifier { Identifier(high: random.next(), low: random.next()) }
    for _ in 0..<500 {
      let first = random.next() >> UInt64.random(in: 2...63, using: &random) | 1
      let name = SegmentName(
        zoneTag: identifier(), authorTag: identifier(), incarnation: random.next(), first: first,
        last: first + UInt64.random(in: 0...9_999, using: &random), digest: identifier())
      let path = pathOf(name)
      #expect(FolderLayout.segment(path: path) == name, "seed \(seed)")
      var broken = path
      var file = Array(broken[3].utf8)
      file.remove(at: Int.random(in: 0..<file.count, using: &random))
      broken[3] = String(decoding: file, as: UTF8.self)
      #expect(FolderLayout.segment(path: broken) == nil, "seed \(seed)")
      #expect(FolderLayout.segment(path: path.map { $0.uppercased() }) == nil, "seed \(seed)")
      let count = Int.random(in: 1...Int(UInt32.max), using: &random)
      let blob = BlobName(
        kind: .snapshot, scope: identifier(), group: identifier(),
        index: Int.random(in: 0..<count, using: &random), count: count, digest: identifier())
      #expect(FolderLayout.blob(path: pathOf(blob)) == blob, "seed \(seed)")
    }
  }

  @Test("Ranges that are none and places beyond the count have no path")
  func refusals() {
    #expect(FolderLayout.path(of: segment([1], first: 0, last: 4)) == nil)
    #expect(FolderLayout.path(of: segment([1], first: 5, last: 4)) == nil)
    #expect(FolderLayout.path(of: segment([1], first: 5, last: 5)) != nil)
    let most = Frontier.maximumSequence
    #expect(FolderLayout.path(of: segment([1], first: 1, last: most)) != nil)
    #expect(FolderLayout.path(of: segment([1], first: 1, last: most + 1)) == nil)
    #expect(FolderLayout.path(of: chunk([1], index: 1, count: 1)) == nil)
    #expect(FolderLayout.path(of: chunk([1], index: -1, count: 1)) == nil)
    #expect(FolderLayout.path(of: chunk([1], count: Int(UInt32.max))) != nil)
    #expect(FolderLayout.path(of: chunk([1], count: Int(UInt32.max) + 1)) == nil)
    #expect(
      FolderLayout.path(of: BlobName(kind: .capsule, scope: zone, digest: zone)) == nil)
    #expect(
      FolderLayout.path(of: BlobName(kind: .attachment, scope: zone, group: zone, digest: zone))
        == nil)
  }

  static let stem = "0000000000000001-0000000000000009-0123456789abcdef0123456789abcdef"

  @Test(
    "What carriers make of a name is still that name",
    arguments: [
      "\(stem.uppercased()).SEG", "\(stem) (2).seg", "\(stem) (conflicted copy 2026-01-01).seg",
      "\(stem) (Anna's conflicted copy).seg", "Copy of \(stem).seg", "\(stem) - Copy.seg",
      "\(stem).sync-conflict-20260101-120000-ABCDEFG.seg", "\(stem)-LAPTOP.seg", "\(stem).seg.txt",
      "\(stem)", "\(stem).Seg", "\(stem)_1.seg",
    ])
  func copies(name: String) {
    guard case .copy(let fields) = FolderEntry.classify(name, as: .segment) else {
      Issue.record("\(name) is \(FolderEntry.classify(name, as: .segment))")
      return
    }
    #expect(FolderEntry.classify(Self.stem + ".seg", as: .segment) == .exact(fields))
  }

  @Test(
    "What carriers and desktops leave is passed over",
    arguments: [
      ".syncthing.\(stem).seg.tmp", "~syncthing~\(stem).seg.tmp", ".DS_Store", "desktop.ini",
      "Desktop.ini", "Thumbs.db", ".stfolder", ".stversions", ".stignore", ".dropbox",
      "\(stem).seg.part", "\(stem).seg.crdownload", "\(stem).seg~", "~$\(stem).seg",
      ".nfs000000000012", ".\(stem).seg.Xy12Zq", "Icon\r", "lost+found", ".sync-tmp",
    ])
  func leftovers(name: String) {
    #expect(FolderEntry.classify(name, as: .segment) == .leftover)
  }

  @Test("Names of other kinds are told apart")
  func others() {
    #expect(FolderEntry.classify(".tmp-0123456789abcdef", as: .segment) == .temporary)
    #expect(FolderEntry.classify(".tmp-0123456789abcde", as: .segment) == .leftover)
    #expect(FolderEntry.classify("holiday.seg", as: .segment) == .spoiled)
    #expect(FolderEntry.classify("1-9-\(Self.stem.suffix(32)).seg", as: .segment) == .spoiled)
    #expect(FolderEntry.classify("0\(Self.stem).seg", as: .segment) == .spoiled)
    #expect(FolderEntry.classify("holiday.jpg", as: .segment) == .foreign)
    #expect(FolderEntry.classify(zone.hex + " (Case Conflict)", as: .zone) != .foreign)
  }

  @Test("Names are shown on one line, without anything that moves a terminal")
  func printable() {
    #expect(FolderName("plain nämé.seg").printable == "plain nämé.seg")
    #expect(FolderName("a\u{1B}[2J\nb\\").printable == "a\\x1b[2J\\x0ab\\x5c")
    #expect(FolderName("\u{202E}gpj").printable == "\\xe2\\x80\\xaegpj")
    #expect(FolderName(bytes: [0x61, 0xFF, 0xFE, 0x62]).printable == "a\\xff\\xfe\\x62")
  }
}
