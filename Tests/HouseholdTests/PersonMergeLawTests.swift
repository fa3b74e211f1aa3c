import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import Household

@Suite("Who counts as whom, whatever the order of the news")
struct PersonMergeLawTests {
  private static let ada = PersonID(high: 9, low: 1)
  private static let ben = PersonID(high: 9, low: 2)
  private static let cleo = PersonID(high: 9, low: 3)
  private static let dan = PersonID(high: 9, low: 4)
  private static let everybody = [ada, ben, cleo, dan]

  /// At a minute, on a device; equal minutes of two devices are told apart by the device.
  private func said(
    _ minute: UInt64, _ person: PersonID, into: PersonID?, on device: UInt64 = 1
  ) -> PersonMerge {
    let author = Author(device: DeviceID(high: 7, low: device), incarnation: 1 << 32)
    return PersonMerge(
      event: RecordID(high: minute, low: device), person: person, into: into, by: Self.ada,
      version: Version(
        dot: Dot(author: author, sequence: minute), time: HybridTime(milliseconds: minute)))
  }

  /// As whom everybody counts, by place.
  private func ends(_ merges: [PersonMerge]) -> [PersonID] {
    let people = PersonMerges(merges)
    return Self.everybody.map { people.one($0) }
  }

  private func orders<Element>(_ all: [Element]) -> [[Element]] {
    guard let first = all.first else { return [[]] }
    return orders(Array(all.dropFirst())).flatMap { rest in
      (0...rest.count).map { place in
        var order = rest
        order.insert(first, at: place)
        return order
      }
    }
  }

  @Test("Chains end with the last one, also where the middle came first")
  func chains() {
    let said = [
      said(1, Self.ada, into: Self.ben), said(2, Self.ben, into: Self.cleo),
      said(3, Self.dan, into: Self.ada),
    ]
    for order in orders(said) {
      #expect(ends(order) == [Self.cleo, Self.cleo, Self.cleo, Self.cleo])
    }
    #expect(PersonMerges(said).others(countingAs: Self.cleo) == [Self.ada, Self.ben, Self.dan])
    #expect(PersonMerges(said).others(countingAs: Self.ada) == [])
  }

  @Test("Of two that would make a circle the later has no effect, until the earlier is undone")
  func circles() {
    let circle = [said(1, Self.ada, into: Self.ben), said(2, Self.ben, into: Self.ada, on: 2)]
    for order in orders(circle) {
      #expect(ends(order) == [Self.ben, Self.ben, Self.cleo, Self.dan])
    }
    for order in orders(circle + [said(3, Self.ada, into: nil)]) {
      #expect(ends(order) == [Self.ada, Self.ada, Self.cleo, Self.dan])
    }
    let three = [
      said(1, Self.ada, into: Self.ben, on: 3), said(1, Self.ben, into: Self.cleo, on: 2),
      said(1, Self.cleo, into: Self.ada, on: 1),
    ]
    // The device of the first is the greatest, so it is the last of its minute.
    for order in orders(three) {
      #expect(ends(order) == [Self.ada, Self.ada, Self.ada, Self.dan])
    }
  }

  @Test("What was said last about a person holds, a merge or its undoing")
  func last() {
    let said = [
      said(1, Self.ada, into: Self.ben), said(2, Self.ada, into: nil, on: 2),
      said(3, Self.ada, into: Self.cleo, on: 3),
    ]
    for order in orders(said) { #expect(ends(order)[0] == Self.cleo) }
    for order in orders(Array(said.prefix(2))) { #expect(ends(order)[0] == Self.ada) }
  }

  @Test("Whatever is said by many at once, all orders give the same, and everybody ends at an end")
  func random() {
    for seed in 0..<300 {
      var random = SplitMix64(seed: UInt64(seed))
      let said = (0..<5).map { place -> PersonMerge in
        let person = Self.everybody[Int(random.next() % 4)]
        let into = random.next() % 5
        return self.said(
          1 + random.next() % 3, person,
          into: into == 4 || Self.everybody[Int(into)] == person
            ? nil : Self.everybody[Int(into)], on: UInt64(place))
      }
      let first = PersonMerges(said)
      for order in orders(said) { #expect(PersonMerges(order) == first, "seed \(seed)") }
      for person in Self.everybody {
        #expect(first.one(first.one(person)) == first.one(person), "seed \(seed)")
      }
    }
  }

  @Test("An event that makes no sense says nothing")
  func malformed() {
    let version = said(1, Self.ada, into: nil).version
    func read(_ fields: [EventField]) -> PersonMerge? {
      PersonMerge(.zero, EventState(version: version, cause: nil, fields: fields), by: Self.ada)
    }
    #expect(read([]) == nil)
    #expect(read([EventField(MergeField.person, .int(3))]) == nil)
    let person = EventField(MergeField.person, .id(Self.ada))
    #expect(read([person, EventField(MergeField.into, .id(Self.ada))]) == nil)
    #expect(read([person, EventField(MergeField.into, .text("a newer version"))]) == nil)
    #expect(read([person])?.into == nil)
    #expect(read([person, EventField(MergeField.into, .id(Self.ben))])?.into == Self.ben)
  }
}
