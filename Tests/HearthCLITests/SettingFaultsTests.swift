import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household
import Testing

@testable import HearthCLI

/// A household in which somebody set a time zone that does not exist, past the program's checks.
@Suite("A time zone that nobody knows")
struct UnknownZoneTests {
  /// A node of one household in a folder that is removed at the end.
  private final class Place {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("hearth-cli-\(UUID().uuidString)").path

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private func household(_ place: Place, zone name: String) async throws -> HouseholdContext {
    let node = try await Node.create(
      at: place.path, person: "Ben", device: "tablet", passphrase: nil, schema: CommandSchema.node)
    let id = try await node.createHousehold(named: "Home")
    try await node.write(to: id) { source, _ in
      (SettingRecord.operations("time-zone", name, in: source.zone), ())
    }
    return try await HouseholdContext.of(id, node: node)
  }

  @Test("leaves every command working, by the days of UTC, and is told with how to mend it")
  func works() async throws {
    let place = Place()
    let home = try await household(place, zone: "Mars/Base")
    let now = await home.node.nowMilliseconds()
    let day = try CivilDate(dayNumber: Int(now / 86_400_000))
    #expect(try await home.today().date == day)
    let id = try await home.write { state, builder in
      try state.chores.add(ChoreDraft(title: "Dishes", points: 2), milliseconds: now, in: &builder)
    }
    let me = await home.node.person
    _ = try await home.write { state, builder in
      try state.completions.add(
        id, occurrence: nil, by: me, doneAt: (day, nil), milliseconds: now, in: &builder)
    }
    let points = try await home.read { try $0.totals.points(of: me).total }
    #expect(points == 2)
    _ = try await MomentText.of(home).text(now)

    let faults = try await SettingFaultText.all(of: home.zone, on: home.node)
    let fault = try #require(faults.first)
    #expect(faults.count == 1 && fault.key == "time-zone" && fault.by == "Ben")
    for words in ["\"Mars/Base\"", "\"UTC\" applies", "Ben on tablet", "not known on this machine"]
    {
      #expect(fault.text.contains(words), "\(fault.text)")
    }
    #expect(fault.remedy.contains("hearth settings unset time-zone"))
    let standing = try await StandingText.Document(of: home.zone, on: home.node)
    #expect(StandingText.lines(standing, kinds: []).contains { $0.contains("Mars/Base") })
    #expect(try await HouseholdFindings.all(on: home.node).map(\.topic) == ["settings"])
    let key = try SettingKey.named("time-zone")
    let values = try await SettingValues.load([key], of: home.node, household: home.zone)
    #expect(values.effective(key).value == "UTC")

    try await home.write { try $0.storedSettings.set("time-zone", nil, in: &$1) }
    #expect(try await SettingFaultText.all(of: home.zone, on: home.node).isEmpty)
    try await home.node.close()
  }

  @Test(
    "is refused by the command, like every name that is none",
    arguments: [
      "Mars/Base", "Europe/Nowhere", "", "../../etc/passwd", "Europe/Vienna ", "Wien",
    ])
  func refused(name: String) {
    #expect(throws: CommandFailure.self) { _ = try HouseholdClock(timeZone: name) }
    #expect(!HouseholdClock.isKnown(name))
  }

  @Test("does not concern names that are some")
  func known() throws {
    for name in ["UTC", "Europe/Vienna", "America/New_York", "Asia/Kathmandu"] {
      #expect(HouseholdClock.isKnown(name), "\(name)")
      _ = try HouseholdClock(timeZone: name)
    }
  }
}
