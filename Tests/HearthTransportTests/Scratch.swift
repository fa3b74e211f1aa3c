import Foundation
import Glibc
import HearthCRDT
import HearthSync

@testable import HearthTransport

/// A temporary directory of one test, removed with it.
final class Scratch: Sendable {
  let path: String

  init() {
    path = NSTemporaryDirectory() + "hearth-folder-" + UUID().uuidString.lowercased()
    mkdir(path, 0o755)
  }

  deinit {
    system(["/bin/rm", "-rf", "--", path])
  }

  func transport(
    bounds: FolderBounds = .standard, now: Int64 = 0,
    probe: @escaping @Sendable (FolderWriteStep) -> Void = { _ in }
  ) -> FolderTransport {
    FolderTransport(
      path: path, digest: testDigest, bounds: bounds, now: { now }, probe: probe)
  }

  /// An absolute path below the directory.
  func at(_ path: [String]) -> String { ([self.path] + path).joined(separator: "/") }

  func read(_ path: [String]) -> [UInt8]? {
    FileManager.default.contents(atPath: at(path)).map { [UInt8]($0) }
  }

  func write(_ path: [String], _ bytes: [UInt8]) {
    makeDirectories(path.dropLast())
    _ = FileManager.default.createFile(atPath: at(path), contents: Data(bytes))
  }

  func makeDirectories(_ path: [String]) {
    for count in path.indices { mkdir(at(Array(path[...count])), 0o755) }
  }

  /// Gives a file another name, which need not be text.
  func rename(_ old: [String], _ new: [String]) {
    makeDirectories(new.dropLast())
    Glibc.rename(at(old), at(new))
  }

  /// Every file and directory below, as paths, sorted.
  func tree() -> [String] {
    (FileManager.default.enumerator(atPath: path)?.allObjects as? [String] ?? []).sorted()
  }
}

/// Runs a program; true if it answered 0.
@discardableResult
func system(_ arguments: [String]) -> Bool {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: arguments[0])
  process.arguments = Array(arguments.dropFirst())
  process.standardError = FileHandle.nullDevice
  process.standardOutput = FileHandle.nullDevice
  guard (try? process.run()) != nil else { return false }
  process.waitUntilExit()
  return process.terminationStatus == 0
}

/// 128 bits that change with any bit of the input: enough for tests, and no cryptography.
@Sendable func testDigest(_ bytes: [UInt8]) -> Identifier {
  func lane(_ start: UInt64) -> UInt64 {
    var state = start &+ UInt64(bytes.count)
    for byte in bytes {
      state = (state ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15
      state ^= state >> 29
    }
    return state
  }
  return Identifier(high: lane(0x1234), low: lane(0xABCD_EF01))
}

/// Numbers that depend on nothing but the seed.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

let zone = Identifier(high: 0xA1B2_C3D4_E5F6_0718, low: 0xDEAD_BEEF_0000_0001)
let otherZone = Identifier(high: 7, low: 7)
let author = Identifier(high: 0xFACE_0000_0000_0001, low: 0x0102_0304_0506_0708)

func segment(
  _ bytes: [UInt8], zone: Identifier = zone, author: Identifier = author,
  incarnation: UInt64 = 0x0000_0001_89AB_CDEF, first: UInt64 = 1, last: UInt64 = 9
) -> SegmentName {
  SegmentName(
    zoneTag: zone, authorTag: author, incarnation: incarnation, first: first, last: last,
    digest: testDigest(bytes))
}

func chunk(_ bytes: [UInt8], index: Int = 0, count: Int = 1) -> BlobName {
  BlobName(
    kind: .snapshot, scope: zone, group: Identifier(high: 5, low: 6), index: index, count: count,
    digest: testDigest(bytes))
}

func pathOf(_ name: SegmentName) -> [String] { FolderLayout.path(of: name) ?? [] }
func pathOf(_ name: BlobName) -> [String] { FolderLayout.path(of: name) ?? [] }

let payload: [UInt8] = (0..<777).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }

/// The error of a call, or nil if it succeeded.
func failure<Value>(_ call: () throws -> Value) -> TransportError? {
  do {
    _ = try call()
    return nil
  } catch {
    return error as? TransportError
  }
}

/// The same of a call that may wait.
func failure<Value>(_ call: () async throws -> Value) async -> TransportError? {
  do {
    _ = try await call()
    return nil
  } catch {
    return error as? TransportError
  }
}
