import Foundation
import Hearth
import HearthTesting
import Testing

/// A chore whose award changes now and then.
private struct Task: Record {
  var id = Key<Task>()
  var name = ""
  var award: Int64 = 0
  var notes: Set<String> = []

  static let schema = Schema<Task>("task", 1) {
    Field(1, \.name)
    History(2, \.award, .indexed)
    SetOf(3, \.notes)
  }
}

/// Somebody did a chore.
private struct Completion: Event, Equatable {
  var id = Key<Completion>()
  var task: Key<Task>?
  var comment = ""
  var picture: FileAttachment?

  static let keepsPast = true
  static let schema = Schema<Completion>("completion", 2) {
    Reference(1, \.task)
    Field(2, \.comment, .fullText)
    Field(3, \.picture)
  }
}

/// A payment, which keeps nothing of its author's past.
private struct Transfer: Event, Equatable {
  var id = Key<Transfer>()
  var account = ""
  var cents: Int64 = 0

  static let schema = Schema<Transfer>("transfer", 3) {
    Field(1, \.account, .indexed)
    Field(2, \.cents)
  }
}

/// The sum of an account's payments.
private struct Balance: DerivedRow {
  var cents: Int64 = 0

  static let derivation = Derivation<Balance>(
    "balance", version: 1, of: Transfer.self, by: \.account
  ) {
    DerivedColumn(\.cents)
  } rows: { _, transfers in
    [Balance(cents: transfers.reduce(0) { $0 &+ $1.cents })]
  }
}

private let diary = AppSchema(
  "org.example.diary", [Task.self, Completion.self, Transfer.self], derived: [Balance.self]
) {
  Rule(Completion.self, .child, may: .create)
}

private struct FilledEvent: Event {
  var id = Key<FilledEvent>()
  var count: Int64 = 0
  static let schema = Schema<FilledEvent>("filled", 4) { Counter(1, \.count) }
}

private struct WatchedEvent: Event {
  var id = Key<WatchedEvent>()
  var name = ""
  static let schema = Schema<WatchedEvent>("watched", 4) { History(1, \.name) }
}

private struct FallingEvent: Event {
  var id = Key<FallingEvent>()
  var task: Key<Task>?
  static let schema = Schema<FallingEvent>("falling", 4) {
    Reference(1, \.task, onDelete: .cascade)
  }
}

/// The number and name of the payments, as records that may change.
private struct ChangedTransfer: Record {
  var id = Key<ChangedTransfer>()
  var account = ""
  static let schema = Schema<ChangedTransfer>("transfer", 3) { Field(1, \.account) }
}

@Suite("Events, histories and the authors of both")
struct EventTests {
  @Test("An event reaches everybody as it was written, with its device and time")
  func arrival() async throws {
    let family = try await Family(diary, ["anna", "ben"])
    let (annas, bens) = (try await family["anna"].zone(), try await family["ben"].zone())
    let written = family.clock.date
    let transfer = try await annas.insert(Transfer(account: "home", cents: 1_250))
    family.clock.advance(byMilliseconds: 60_000)
    try await family.settle()
    #expect(try await bens.get(transfer.id) == transfer)
    #expect(try await bens.fetch(Transfer.where(\.account == "home")).map(\.cents) == [1_250])
    #expect(try await bens.read { try $0.sum(of: \Transfer.cents, Transfer.all) } == 1_250)
    let rows = try await bens.sql("SELECT account, cents FROM transfer")
    #expect(rows.map { $0["cents"] } == [.int(1_250)])
    let origin = try #require(try await bens.read { try $0.origin(of: transfer.id) })
    #expect(origin.device == (await family["anna"].node.device))
    #expect(abs(origin.time.timeIntervalSince(written)) < 1)
    let author = try #require(try await bens.authors[origin])
    #expect(author.name == "anna" && author.isMember)
    #expect(author.id == (await family["anna"].node.me))
    #expect(try await bens.read { try $0.origin(of: Key<Transfer>()) } == nil)
  }

  @Test("An event gets its key when it is written, and no two have one key")
  func keys() async throws {
    let family = try await Family(diary, ["anna", "ben"])
    let (annas, bens) = (try await family["anna"].zone(), try await family["ben"].zone())
    let transfer = Transfer(account: "home", cents: 1)
    let first = try await annas.insert(transfer)
    var written = [first, try await bens.insert(transfer)]
    written += try await annas.write { tx in
      [try tx.insert(transfer), try tx.insert(first)]
    }
    #expect(Set(written.map(\.id)).union([transfer.id]).count == 5)
    try await family.settle()
    for zone in [annas, bens] {
      #expect(Set(try await zone.fetch(Transfer.all).map(\.id)) == Set(written.map(\.id)))
    }
    #expect(try await annas.digest() == bens.digest())
  }

  @Test("A transaction reads its own events by the keys that they will have")
  func ownEvents() async throws {
    let family = try await Family(diary, ["anna", "ben"])
    let annas = try await family["anna"].zone()
    try await annas.insert(Transfer(account: "home", cents: 1))
    let written = try await annas.write { tx in
      let task = try tx.insert(Task(name: "Dishes"))
      #expect(try tx.count(Task.all) == 1)
      var done: [Completion] = []
      for number in 0..<4 {
        done.append(try tx.insert(Completion(task: task.id, comment: "no \(number)")))
        #expect(try tx.fetch(Completion.all).map(\.id).sorted() == done.map(\.id).sorted())
        try tx.update(task.id) { $0.award += 1 }
        #expect(try tx.get(task.id)?.award == Int64(number + 1))
        #expect(try tx.get(done[0].id) == done[0])
      }
      return done
    }
    try await family.settle()
    let bens = try await family["ben"].zone()
    #expect(Set(try await bens.fetch(Completion.all).map(\.id)) == Set(written.map(\.id)))
    #expect(try await bens.fetch(Task.all).map(\.award) == [4])
    #expect(try await annas.digest() == bens.digest())
    // A transaction that fails after it has read its own events leaves nothing.
    struct Failure: Error {}
    await #expect(throws: Failure.self) {
      try await annas.write { tx in
        try tx.insert(Transfer(cents: 9))
        #expect(try tx.count(Transfer.all) == 2)
        try tx.insert(Transfer(cents: 10))
        #expect(try tx.count(Transfer.all) == 3)
        throw Failure()
      }
    }
    #expect(try await annas.count(Transfer.all) == 1)
  }

  @Test("A rule says who may write events")
  func rules() async throws {
    let family = try await Family(diary, ["anna", "ben"], roles: ["ben": .child])
    let bens = try await family["ben"].zone()
    let done = try await bens.insert(Completion(comment: "in the rain"))
    try await expectDenied { try await bens.insert(Transfer(cents: 1)) }
    try await family.settle()
    let annas = try await family["anna"].zone()
    #expect(try await annas.fetch(Completion.matching("rain")).map(\.id) == [done.id])
    #expect(try await annas.count(Transfer.all) == 0)
  }

  @Test("An event counts in derived rows and wakes observations")
  func derived() async throws {
    let family = try await Family(diary, ["anna", "ben"])
    let (annas, bens) = (try await family["anna"].zone(), try await family["ben"].zone())
    try await annas.insert(Transfer(account: "home", cents: 1_000))
    try await family.settle()
    var seen = bens.observe(Transfer.all).makeAsyncIterator()
    #expect(try await seen.next()?.map(\.cents) == [1_000])
    try await annas.insert(Transfer(account: "home", cents: -300))
    try await annas.insert(Transfer(account: "car", cents: 70))
    try await family.settle()
    #expect(try await seen.next()?.map(\.cents).sorted() == [-300, 70, 1_000])
    let balances = try await bens.read {
      [try $0.rows(of: Balance.self, in: "home"), try $0.rows(of: Balance.self, in: "car")]
    }
    #expect(balances.map { $0.map(\.cents) } == [[700], [70]])
  }

  @Test("What an event attached stays")
  func attachments() async throws {
    let family = try await Family(diary, ["anna", "ben"])
    let (annas, bens) = (try await family["anna"].zone(), try await family["ben"].zone())
    let content = Data((0..<5_000).map { UInt8(truncatingIfNeeded: $0) })
    let done = try await annas.write { tx in
      try tx.insert(Completion(picture: try tx.attach(content)))
    }
    for _ in 0..<17 {
      family.clock.advance(byMilliseconds: 2 * 24 * 60 * 60 * 1_000 - 1)
      for name in family.names { _ = try await family[name].sync() }
    }
    let picture = try #require(try await bens.get(done.id)?.picture)
    #expect(try await bens.attachments.content(of: picture) == content)
  }

  @Test("A history tells what was shown when, and by whom")
  func versions() async throws {
    let family = try await Family(diary, ["anna", "ben"])
    let (annas, bens) = (try await family["anna"].zone(), try await family["ben"].zone())
    let task = try await annas.insert(Task(name: "Dishes", award: 10))
    try await family.settle()
    family.clock.advance(byMilliseconds: 1_000)
    try await bens.update(task.id) { $0.award = 20 }
    try await family.settle()
    family.clock.advance(byMilliseconds: 1_000)
    try await annas.update(task.id) { $0.award = 15 }
    try await family.settle()
    for zone in [annas, bens] {
      let versions = try await zone.read { try $0.versions(of: \Task.award, in: task.id) }
      #expect(versions.map(\.value) == [10, 20, 15])
      let authors = try await zone.authors
      #expect(versions.map { authors[$0.origin]?.name } == ["anna", "ben", "anna"])
      #expect(try await zone.fetch(Task.where(\.award == 15)).count == 1)
      let last = try await zone.read { try $0.origin(of: \Task.award, in: task.id) }
      #expect(last == versions.last?.origin)
    }
    #expect(try await annas.read { try $0.versions(of: \Task.award, in: Key()) }.isEmpty)
    #expect(
      await code { _ = try await annas.read { try $0.versions(of: \Task.name, in: task.id) } }
        == .invalid)
  }

  @Test("An event knows what its author had seen, whatever arrives later")
  func seen() async throws {
    let family = try await Family(diary, ["anna", "ben", "cleo"])
    let task = try await family["anna"].zone().insert(Task(name: "Dishes", award: 10))
    try await family.settle()
    try family.partition([["anna", "cleo"], ["ben"]])
    try await family["anna"].zone().update(task.id) { $0.award = 99 }
    let bens = try await family["ben"].zone()
    let done = try await bens.insert(Completion(task: task.id))
    let further = try await bens.write { tx in
      try tx.update(task.id) { $0.award = 12 }
      return try tx.insert(Completion(task: task.id))
    }
    let early = try await family["cleo"].zone().insert(Completion())
    family.heal()
    try await family.settle()
    let later = try await family["anna"].zone().insert(Task(name: "Lawn", award: 5))
    try await family.settle()
    for name in family.names {
      let zone = try await family[name].zone()
      let seen = try await zone.read { reader in
        try [done, further, early].map {
          try reader.value(of: \Task.award, in: task.id, seenBy: $0.id)
        }
      }
      // What a transaction writes itself is not part of what its author had received.
      #expect(seen == [10, 10, 10])
      let before = try await zone.read {
        try $0.value(of: \Task.award, in: later.id, seenBy: done.id)
      }
      #expect(before == nil)
    }
    let transfer = try await bens.insert(Transfer())
    #expect(
      await code {
        _ = try await bens.read {
          try $0.value(of: \Task.award, in: task.id, seenBy: transfer.id)
        }
      } == .invalid)
    #expect(
      await code {
        _ = try await bens.read {
          try $0.value(of: \Task.award, in: task.id, seenBy: Key<Completion>())
        }
      } == .notFound)
  }

  @Test("The author of a field is who wrote what it shows; a set has many")
  func fields() async throws {
    let family = try await Family(diary, ["anna", "ben"])
    let (annas, bens) = (try await family["anna"].zone(), try await family["ben"].zone())
    let task = try await annas.insert(Task(name: "Dishes"))
    try await family.settle()
    try await bens.update(task.id) { $0.name = "Plates" }
    try await family.settle()
    let ben = await family["ben"].node.device
    #expect(try await annas.read { try $0.origin(of: \Task.name, in: task.id) }?.device == ben)
    #expect(
      await code { _ = try await annas.read { try $0.origin(of: \Task.notes, in: task.id) } }
        == .invalid)
    #expect(
      await code { _ = try await annas.read { try $0.origin(of: \Task.id, in: task.id) } }
        == .invalid)
    try await annas.delete(task.id)
    #expect(try await annas.read { try $0.origin(of: \Task.name, in: task.id) } == nil)
  }

  @Test("Whoever leaves is still named, and a transaction sees its own writes")
  func former() async throws {
    let family = try await Family(diary, ["anna", "ben"])
    let (annas, bens) = (try await family["anna"].zone(), try await family["ben"].zone())
    let transfer = try await bens.insert(Transfer(cents: 4))
    try await family.settle()
    let ben = await family["ben"].node.me
    try await annas.remove(ben)
    let origin = try #require(try await annas.read { try $0.origin(of: transfer.id) })
    let author = try #require(try await annas.authors[origin])
    #expect(author.id == ben && author.name == "ben" && !author.isMember)
    // A node that was just opened has not looked at its people yet.
    try await family.crash("anna")
    #expect(try await family["anna"].zone().authors[origin] == author)
    let me = await family["anna"].node.device
    try await family["anna"].zone().write { tx in
      let own = try tx.insert(Transfer(cents: 5))
      #expect(try tx.origin(of: own.id)?.device == me)
      let task = try tx.insert(Task(award: 3))
      #expect(try tx.versions(of: \Task.award, in: task.id).map(\.value) == [3])
    }
    #expect(try await family["anna"].zone().count(Transfer.all) == 2)
  }

  @Test("Declarations that an event cannot keep are refused")
  func mistakes() async throws {
    for types: [any Record.Type] in [[FilledEvent.self], [WatchedEvent.self]] {
      let app = AppSchema("org.example.diary", types)
      #expect(await code { _ = try await Family(app, ["anna"]) } == .schema)
    }
    let falling = AppSchema("org.example.diary", [Task.self, FallingEvent.self])
    #expect(await code { _ = try await Family(falling, ["anna"]) } == .schema)
    let changing = AppSchema("org.example.diary", [Transfer.self]) {
      Rule(Transfer.self, .child, may: .create, .delete)
    }
    #expect(await code { _ = try await Family(changing, ["anna"]) } == .schema)
  }

  @Test("A type that was events cannot become records in another version of the program")
  func otherVersion() async throws {
    let family = try await Family(diary, ["anna"])
    let transfer = try await family["anna"].zone().insert(Transfer(account: "home", cents: 7))
    let changed = AppSchema("org.example.diary", [ChangedTransfer.self])
    #expect(await code { try await family.update("anna", to: changed) } == .schema)
    try await family.update("anna", to: diary)
    #expect(try await family["anna"].zone().get(transfer.id) == transfer)
  }
}
