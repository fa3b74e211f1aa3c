import Testing

@testable import HearthSim

@Suite("Plans with hostile members")
struct HostilePlanTests {
  static let modes = Generator.Mode.allCases.filter { $0 != .people }

  @Test(
    "In every tenth family one member of each role turns hostile",
    arguments: HostilePlanTests.modes)
  func eachRole(mode: Generator.Mode) throws {
    for seed in stride(from: UInt64(4), to: 104, by: 10) {
      let plan = Generator.plan(seed: seed, mode: mode)
      var roles: [String] = []
      for turn in plan.steps.filter({ $0.verb == "hostile" }) {
        let name = turn.device
        #expect(plan.devices.filter { $0.name == name && !$0.joinsLater }.count == 1)
        let role = try #require(
          plan.steps.first { $0.verb == "role" && $0.words.first == name }, "seed \(seed)")
        #expect(role.device == plan.devices.first?.name)
        let offer = plan.steps.first { $0.verb == "owner" && $0.words == [name] }
        let taking = plan.steps.first { $0.verb == "accept-owner" && $0.device == name }
        if let offer {
          let taking = try #require(taking, "seed \(seed)")
          #expect(offer.atMilliseconds < taking.atMilliseconds)
          #expect(taking.atMilliseconds < turn.atMilliseconds)
        }
        roles.append(offer == nil ? role.words.last ?? "" : "owner")
        #expect(!turn.words.isEmpty)
      }
      #expect(
        roles.sorted() == ["admin", "child", "member", "owner", "reader"],
        "\(mode.rawValue) seed \(seed)")
    }
  }

  @Test("In the other families nobody turns hostile, or one member where it is asked for")
  func others() {
    for mode in HostilePlanTests.modes {
      for seed in UInt64(0)..<20 where seed % 10 != 4 {
        let plan = Generator.plan(seed: seed, mode: mode)
        let turned = plan.steps.count { $0.verb == "hostile" }
        #expect(turned == (mode == .hostile ? 1 : 0), "\(mode.rawValue) seed \(seed)")
      }
    }
  }

  @Test("A seed always gives the same plan")
  func repeated() {
    for mode in HostilePlanTests.modes {
      #expect(Generator.plan(seed: 14, mode: mode) == Generator.plan(seed: 14, mode: mode))
    }
  }
}
