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
    let authors = Set(frontiers.flatMap { $0?.entries.map(\.author) ?? [] }).sorted()
    var lives: [DeviceID: Int] = [:]
    logs = authors.map { author in
      let owner = devices.first { device in
        Identifier(bytes: device.identity.publicKeys.deviceID) == author.device
      }
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
