import ArgumentParser
import Hearth
import HearthRelayProtocol
import HearthSync

extension TransportCommand {
  /// Repairs damage that somebody caused at a relay.
  struct Repair: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "repair", abstract: "Put a household's mailboxes at a relay right.",
      discussion: """
        For owners and admins. Where this device manages the mailboxes, what members who do not
        manage them, and strangers, stored there and nobody can use is cleared. What is all but
        full even then begins anew, if all that is of use in it is here; others are then told that
        the relay lost what it had, and give it again. Where somebody manages them who was removed,
        they are made anew at the same relay under other names, which the others find by
        themselves; links that were sent before may not lead there.
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
      let (repairs, report) = try await node.repairRelay(name)
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
        lines.isEmpty ? "its mailboxes there are right" : "was cleared of"
      case .moved:
        "its mailboxes were made anew, as nobody managed them there who may; the others find them "
          + "when they sync"
      case .managedBy: "this device does not manage its mailboxes there yet: let one of these sync"
      case .unread:
        "nothing was looked at, as not all that lies there could be read: see what sync says, then "
          + "repair again"
      case .failed: "the relay did not do it"
      case .noPlace:
        "somebody has taken every name for its mailboxes there: add another relay with `hearth "
          + "transport add relay`"
      }
    }
  }
}
