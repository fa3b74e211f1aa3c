import HearthCRDT
import TestSupport
import Testing

@Suite("Records across deletions")
struct LifeTests {
  let title = FieldID(.register, 1)

  func version(_ number: Int, _ sequence: UInt64) -> Version {
    Version(dot: Dot(author: author(number), sequence: sequence), time: HybridTime(rawValue: 1))
  }

  @Test("an edit that had not seen the deletion brings the record back with its fields")
  func concurrentEdit() {
    var state = RecordState()
    state.apply(.assign(title, .text("Dishes")), version: version(1, 1), past: Frontier())
    state.apply(.delete, version: version(1, 2), past: frontier((1, 1)))
    #expect(state.life.isDeleted)
    state.apply(.count(FieldID(.counter, 2), 1), version: version(2, 1), past: frontier((1, 1)))
    #expect(!state.life.isDeleted)
    #expect(state.shown(title) == .text("Dishes"))
  }

  @Test("deleting and inserting in one change leaves the record, the other way round does not")
  func oneChange() {
    var state = RecordState()
    state.apply(.insert, version: version(1, 1), past: Frontier())
    state.apply(.delete, version: version(1, 2), past: frontier((1, 1)))
    state.apply(.insert, version: version(1, 2), past: frontier((1, 1)))
    #expect(!state.life.isDeleted)
    state.apply(.delete, version: version(1, 2), past: frontier((1, 1)))
    #expect(state.life.isDeleted)
  }

  @Test("a first change that deletes what it never saw, and then writes it, leaves the record")
  func firstChange() {
    var state = RecordState()
    state.apply(.delete, version: version(1, 1), past: Frontier())
    #expect(state.life.isDeleted)
    state.apply(.assign(title, .null), version: version(1, 1), past: Frontier())
    #expect(!state.life.isDeleted)
  }
}
