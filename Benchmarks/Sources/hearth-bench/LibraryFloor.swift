import Foundation
import GRDB
import Hearth

/// GRDB with plain SQL on a node's own file: what an application on the same tables pays.
struct LibraryFloor {
  /// A row as an application reads it.
  struct Item: FetchableRecord, Decodable {
    var id: Data
    var list: Data?
    var name: String?
    var quantity: Int64?
    var isBought: Bool?
  }

  private let queue: DatabaseQueue
  private let zone: Int64

  init(home: String) throws {
    var configuration = Configuration()
    configuration.readonly = true
    queue = try DatabaseQueue(path: "\(home)/node.db", configuration: configuration)
    let zone = try queue.read {
      try Int64.fetchOne($0, sql: "SELECT zone FROM item LIMIT 1")
    }
    guard let zone else { throw BenchError("the node has no items") }
    self.zone = zone
  }

  private static let columns = "id, list, name, quantity, is_bought AS isBought"

  func first(_ count: Int, of list: StoredValue) throws -> [Item] {
    guard case .bytes(let bytes) = list else { throw BenchError("a key is stored as bytes") }
    return try queue.read {
      try Item.fetchAll(
        $0,
        sql: """
          SELECT \(LibraryFloor.columns) FROM item
          INDEXED BY hearth_index_2_1_2 WHERE zone = ? AND alive = 1 AND list = ? 
          ORDER BY ifnull(name, CAST(x'' AS TEXT)) LIMIT ?
          """, arguments: [zone, Data(bytes), count])
    }
  }

  func sum(ofShop shop: Int64) throws -> Int {
    try queue.read {
      try Int.fetchOne(
        $0,
        sql: """
          SELECT sum(i.quantity) FROM list l
          CROSS JOIN item i INDEXED BY hearth_index_2_1_2 ON i.zone = l.zone AND i.list = l.id
          WHERE l.zone = ? AND l.alive = 1 AND i.alive = 1 AND l.shop = ?
          """, arguments: [zone, shop]) ?? 0
    }
  }

  func all() throws -> [Item] {
    try queue.read {
      try Item.fetchAll(
        $0, sql: "SELECT \(LibraryFloor.columns) FROM item WHERE zone = ? AND alive = 1",
        arguments: [zone])
    }
  }
}

/// A file of GRDB's with the same durability as a node's.
struct PlainFile {
  private let queue: DatabaseQueue

  init(_ path: String) throws {
    var configuration = Configuration()
    configuration.prepareDatabase { database in
      try database.execute(sql: "PRAGMA synchronous = EXTRA")
      try database.execute(sql: "PRAGMA journal_mode = WAL")
    }
    queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.write {
      try $0.execute(
        sql: """
          CREATE TABLE item(
            id BLOB PRIMARY KEY NOT NULL, list BLOB, name TEXT, quantity INTEGER, isBought INTEGER
          ) WITHOUT ROWID
          """)
    }
  }

  /// The seconds of one insert in a transaction of its own, the mean of so many.
  func writes(_ count: Int) throws -> Double {
    let start = Stopwatch.wallSeconds()
    for number in 0..<count {
      let id = Data((0..<16).map { _ in UInt8.random(in: 0...255) })
      try queue.write {
        try $0.execute(
          sql: "INSERT INTO item VALUES(?, NULL, ?, 1, 0)", arguments: [id, "Single \(number)"])
      }
    }
    return (Stopwatch.wallSeconds() - start) / Double(count)
  }
}
