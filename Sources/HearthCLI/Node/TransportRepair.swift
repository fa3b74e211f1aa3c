import ArgumentParser
import Hearth
import HearthRelayProtocol
import HearthSync

extension TransportCommand {
  /// Repairs damage that somebody caused at a relay.
  struct Repair: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "repair", abstract: "Repair a household's mailboxes at a relay.",
      discussion: """
        For owners and admins. If this device manages the mailboxes, it clears useless data that
        strangers, and members who do not manage them, stored there. If a mailbox is still nearly
        full, it is emptied, provided that this device has all useful data of it; others then see
        that the relay lost its data, and publish it again. If a removed person manages the
        mailboxes, they are created again at the same relay under other names. The others find
        these by themselves; links that were sent before may not lead there.
        """)

    @Argument(help: "The relay's number or address.")
    var name: String

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      struct Item: Encodable {
        let household: String
        /// `right`, `cleared`, `not-read`, `moved`, `managed-by-others`, `no-place` or `failed`.
        let outcome: String
        let details: [String]
      }
      let repairs: [Item]
      let sync: SyncText.Document
    }

    func run() async throws {
      let node = try await options.open()
      let (repairs, report) = try await node.transports.repair(relay: name)
      try await node.close()
      let items = repairs.map {
        Document.Item(
          household: $0.name, outcome: Repair.word($0.repair), details: Repair.details($0.repair))
      }
      if options.json {
        try Output.json(Document(repairs: items, sync: SyncText.Document(report)))
      } else {
        for (item, repair) in zip(items, repairs) {
          Output.print("\(Style.safe(item.household)): \(Repair.sentence(repair.repair))")
          for detail in item.details { Output.print("  \(Style.safe(detail))") }
        }
      }
      try SyncText.check(report, isQuiet: options.json)
      let isOpen = repairs.contains { Repair.isOpen($0.repair) }
      if isOpen { throw ExitCode(ExitStatus.partial.rawValue) }
    }

    private static func word(_ repair: RelayRepair) -> String {
      switch repair {
      case .cleared(let lines): lines.isEmpty ? "right" : "cleared"
      case .moved: "moved"
      case .managedBy: "managed-by-others"
      case .noPlace: "no-place"
      case .unread: "not-read"
      case .failed: "failed"
      }
    }

    private static func details(_ repair: RelayRepair) -> [String] {
      switch repair {
      case .cleared(let lines), .managedBy(let lines): lines
      case .moved, .noPlace, .unread: []
      case .failed(let words): [words]
      }
    }

    private static func isOpen(_ repair: RelayRepair) -> Bool {
      switch repair {
      case .cleared, .moved: false
      case .managedBy, .noPlace, .unread, .failed: true
      }
    }

    private static func sentence(_ repair: RelayRepair) -> String {
      switch repair {
      case .cleared(let lines):
        lines.isEmpty ? "its mailboxes there are in order" : "was cleared of"
      case .moved:
        "its mailboxes were created again, because no device that may manage them did; the other "
          + "devices find them when they sync"
      case .managedBy: "this device does not manage its mailboxes there yet: let one of these sync"
      case .unread:
        "nothing was checked, as not all data there could be read: follow the messages of "
          + "`hearth sync`, then repair again"
      case .failed: "the repair failed"
      case .noPlace:
        "somebody has taken every name for its mailboxes there: add another relay with `hearth "
          + "transport add relay`"
      }
    }
  }
}
