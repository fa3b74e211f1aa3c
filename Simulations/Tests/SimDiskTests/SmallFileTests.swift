import SimDisk
import Testing

@Suite("A small file of a node", .serialized)
struct SmallFileTests {
  private let old = [UInt8](repeating: 1, count: 700)
  private let new = [UInt8](repeating: 2, count: 1500)

  /// Replaces a file with a cut at each operation; counts what is there afterwards.
  private func sweep(
    _ profile: SimDisk.Profile, _ steps: SimDisk.WriteSteps
  ) throws -> (lostAcknowledged: Int, damaged: Int, runs: Int) {
    var result = (lostAcknowledged: 0, damaged: 0, runs: 0)
    for seed in 0..<100 as Range<UInt64> {
      for operation in 1...7 as ClosedRange<UInt64> {
        let disk = SimDisk(seed: seed * 100 + operation, profile: profile)
        try disk.write(old, to: "anchor")
        disk.arm(.powerCut(atOperation: disk.operations + operation))
        let isAcknowledged = (try? disk.write(new, to: "anchor", steps: steps)) != nil
        disk.reboot()
        let found = try disk.read("anchor")
        result.runs += 1
        if found != old && found != new { result.damaged += 1 }
        if isAcknowledged && found != new { result.lostAcknowledged += 1 }
      }
    }
    return result
  }

  @Test(
    "is old or new after a cut at any operation, and new once acknowledged",
    arguments: SimDisk.Profile.allCases)
  func durable(profile: SimDisk.Profile) throws {
    let result = try sweep(profile, .durably)
    #expect(result.damaged == 0)
    #expect(result.lostAcknowledged == 0)
    #expect(result.runs == 700)
  }

  @Test("is damaged or lost if a step is left out")
  func missingSteps() throws {
    #expect(try sweep(.adversarial, [.renaming, .syncingFile]).lostAcknowledged > 50)
    #expect(try sweep(.ordered, [.renaming]).lostAcknowledged > 50)
    #expect(try sweep(.ordered, [.renaming, .syncingDirectory]).damaged > 50)
    #expect(try sweep(.ordered, [.syncingFile, .syncingDirectory]).damaged > 50)
  }

  @Test("comes back after a deletion that was not synced, and stays away after one that was")
  func deletion() throws {
    var back = 0
    for seed in 0..<100 as Range<UInt64> {
      let disk = SimDisk(seed: seed, profile: .adversarial)
      try disk.write(old, to: "a")
      try disk.write(old, to: "b")
      try disk.remove("a", syncingDirectory: true)
      try disk.remove("b", syncingDirectory: false)
      #expect(throws: DiskError(.notFound)) { try disk.remove("b") }
      disk.reboot()
      #expect(try disk.read("a") == nil)
      if try disk.read("b") != nil { back += 1 }
    }
    #expect(back > 25 && back < 75)
  }

  @Test("can be renamed over another, durably or not")
  func renaming() throws {
    let disk = SimDisk(seed: 3, profile: .adversarial)
    try disk.write(old, to: "a")
    try disk.write(new, to: "b")
    try disk.rename("a", to: "b")
    #expect(disk.names == ["b"])
    disk.reboot()
    #expect(try disk.read("b") == old)
    #expect(throws: DiskError(.notFound)) { try disk.rename("a", to: "c") }
  }
}
