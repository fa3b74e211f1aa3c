import HearthCRDT
import HearthCrypto
import HearthSync

/// How far each device has come in the log of each author.
struct Knowledge: Sendable {
  /// One author: a device in one of its lives.
  struct Log: Sendable {
    let name: String
    let author: Author
    /// How many changes of it each device has, in order of device; nil for a device that was off.
    let known: [UInt64?]
  }

  private(set) var logs: [Log] = []

  init() {}

  /// Reads the household's zone of every device that runs.
  init(of devices: [SimDevice]) {
    let frontiers: [Frontier?] = devices.map { device in
      guard let home = device.home, let engine = device.running?.engine else { return nil }
      return try? engine.zone(home).frontier
    }
    let owners = devices.map { Identifier(bytes: $0.identity.publicKeys.deviceID) }
    // In the order of the devices, each with its lives one after the other.
    let authors = Set(frontiers.flatMap { $0?.entries.map(\.author) ?? [] })
      .map { (owners.firstIndex(of: $0.device) ?? owners.count, $0) }
      .sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.1)
    var lives: [DeviceID: Int] = [:]
    logs = authors.map { author in
      let owner = owners.firstIndex(of: author.device).map { devices[$0] }
      lives[author.device, default: 0] += 1
      let life = lives[author.device] ?? 1
      return Log(
        name: (owner?.name ?? String(author.device.hex.prefix(4)))
          + (life > 1 ? " life \(life)" : ""),
        author: author,
        known: frontiers.map { frontier in
          frontier.map { known in
            known.entries.first { $0.author == author }?.sequence ?? 0
          }
        })
    }
  }
}
