import Foundation
import Hearth
import Testing

/// A list of things to buy.
struct ShoppingList: Record, Equatable {
  var id = Key<ShoppingList>()
  var name = ""

  static let schema = Schema<ShoppingList>("list", 1) {
    Field(1, \.name, .indexed)
  }
}

/// How much somebody wants a thing.
enum Urgency: Int, FieldValue, Comparable {
  case low = 1
  case high

  static func < (left: Urgency, right: Urgency) -> Bool { left.rawValue < right.rawValue }
}

/// A thing to buy: a field of each kind.
struct Item: Record, Equatable {
  var id = Key<Item>()
  var list: Key<ShoppingList>?
  var name = ""
  var note: String?
  var isBought = false
  var urgency = Urgency.low
  var due: Date?
  var quantity: Int64 = 0
  var tags: Set<String> = []

  static let schema = Schema<Item>("item", 2) {
    Reference(1, \.list)
    Field(2, \.name, .indexed, .fullText)
    Field(3, \.note, .fullText)
    Field(4, \.isBought)
    Field(5, \.urgency)
    Field(6, \.due)
    Counter(7, \.quantity)
    SetOf(8, \.tags)
    Index(\.list, \.isBought, \.name)
  }
}

/// Nodes of the shopping application in a folder of their own, removed at the end.
final class Shopping {
  static let app = AppSchema("org.example.shopping", [ShoppingList.self, Item.self]) {
    Rule(Item.self, .child, may: .change(\.quantity))
    Rule(ShoppingList.self, only: .admin, may: .delete)
  }

  private let family: Family

  init() throws { family = try Family() }

  /// The folder that carries what is new between nodes.
  var folder: String { family.folder }

  /// The home of a person's node.
  func home(_ person: String) -> String { family.home(person) }

  /// Opens a person's node.
  func open(_ person: String, _ app: AppSchema = Shopping.app) async throws -> HearthNode {
    try await HearthNode.open(at: home(person), app, as: .new(person: person))
  }

  /// One node with a shared zone.
  func zone() async throws -> HearthZone {
    try await open("Anna").shared.createZone(named: "Home")
  }

  /// Two nodes with one shared zone, the second with a role.
  func pair(
    _ role: ZoneRole = .member
  ) async throws -> (nodes: [HearthNode], zones: [HearthZone]) {
    let anna = try await open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    try await anna.addFolder(folder)
    let ben = try await open("Ben")
    let other = try await ben.joined(try await zone.invite(role: role))
    return ([anna, ben], [zone, other])
  }

  /// Brings what is new to all nodes.
  static func settle(_ nodes: [HearthNode]) async throws {
    for _ in 0..<2 {
      for node in nodes { try await node.sync() }
    }
  }
}

extension HearthNode {
  /// Joins by a link that needs no approval.
  func joined(_ link: String) async throws -> HearthZone {
    try #require(try await join(link).zone)
  }
}

/// The error that a call throws; nil if it throws none of Hearth's.
func fault(_ call: () async throws -> Void) async -> HearthError? {
  do {
    try await call()
    return nil
  } catch {
    return error as? HearthError
  }
}
