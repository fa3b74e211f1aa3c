import HearthCRDT
import HearthMembership

/// The members' log as each device has it, for whoever looks into a failure.
struct MembersReport {
  let lines: [Trace.Line]

  /// - Parameters:
  ///   - world: whose devices are asked; one that is off or out of order is left out.
  init(of world: World) {
    var lines: [Trace.Line] = []
    for device in world.devices where device.running != nil {
      guard let log = try? PeopleLog(of: device, in: world) else { continue }
      for place in log.entries.indices {
        lines.append(
          Trace.Line(
            time: world.now, device: device.index, kind: "members",
            text: MembersReport.text(place, log, world)))
      }
    }
    self.lines = lines
  }

  private static func text(_ place: Int, _ log: PeopleLog, _ world: World) -> String {
    let entry = log.entries[place]
    let owner = world.devices.first { $0.deviceID == entry.dot.author.device }?.name ?? "stranger"
    let seen = entry.stated.entries.map { "\($0.author):\($0.sequence)" }.joined(separator: " ")
    let effect = entry.void.map { "void, \($0)" } ?? "holds"
    return "\(entry.dot) by \(owner), \(effect): \(summary(entry.operation)); had seen \(seen)"
  }

  /// An operation in a few words: keys and signatures say nothing to anybody.
  private static func summary(_ operation: ControlOperation) -> String {
    switch operation {
    case .epoch(let grant):
      "key of \(grant.zone), \(grant.wraps.count) devices, \(grant.recovery.count) words"
    case .join(let join): "\(join.personName) joins"
    case .admit(let admit): "lets in \(admit.join.personName)"
    default: String("\(operation)".prefix(160))
    }
  }
}
