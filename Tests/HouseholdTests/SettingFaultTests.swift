import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import Household

/// Settings that a changed program wrote, or that another machine knows.
@Suite("Settings that cannot be")
struct SettingFaultTests {
  let home: TestHousehold

  init() throws { home = try TestHousehold(devices: 2) }

  private func forge(_ key: String, _ value: Value) throws {
    try home.write(1) { _, builder in
      let record = HouseholdSettings.recordKey(of: key, in: builder.zone)
      builder.append(record, .assign(SettingField.key, .text(key)))
      builder.append(record, .assign(SettingField.value, value))
    }
    try home.meet()
  }

  private func faults() throws -> [SettingFault] {
    try HouseholdSettings.faults(in: home.replicas[0]) { $0 != "time-zone" || $1 != "Mars/Base" }
  }

  @Test("Each leaves its default, is told with who wrote it, and can be set and unset")
  func defaults() throws {
    let bad: [(key: String, values: [Value])] = [
      ("day-start", [.text("7"), .text("-1"), .text("06"), .int(3), .text("")]),
      ("duplicate", [.text("all"), .text(" first"), .bytes([1])]),
      ("missed", [.text("Roll"), .bool(true)]),
      ("name", [.text(""), .text("  "), .text(String(repeating: "x", count: 81)), .int(1)]),
      ("strict-assignee", [.text("true"), .bool(true)]),
      ("time-zone", [.text("Mars/Base"), .text("../../etc"), .text(""), .int(5)]),
      ("week-start", [.text("monday"), .text("xx"), .int(1)]),
    ]
    #expect(bad.map(\.key) == HouseholdSettings.keys)
    for (key, values) in bad {
      for value in values {
        try forge(key, value)
        let found = try faults()
        #expect(found.map(\.key) == [key], "\(key) \(value)")
        #expect(found.first?.by == home.people[1] && found.first?.value == value.text)
        if value != .text("Mars/Base") {
          #expect(try home.state().settings == HouseholdSettings(), "\(key) \(value)")
        }
      }
      try home.write(0) { try $0.storedSettings.set(key, nil, in: &$1) }
      #expect(try faults().isEmpty)
      #expect(try home.state().settings == HouseholdSettings())
    }
    try forge("time-zone", .text("Mars/Base"))
    try home.set("time-zone", "Europe/Vienna")
    #expect(try faults().isEmpty && home.state().settings.timeZone == "Europe/Vienna")
  }
}
