import Household
import Testing

@testable import HearthCLI

@Suite("Words that people type")
struct WordsTests {
  private let saturday: CivilDate

  init() throws {
    saturday = try CivilDate(iso: "2026-11-21")
  }

  @Test(
    "Date words mean these dates on a Saturday",
    arguments: [
      ("today", "2026-11-21"), ("Tomorrow", "2026-11-22"), ("sat", "2026-11-28"),
      ("friday", "2026-11-27"), ("+3d", "2026-11-24"), ("+2w", "2026-12-05"),
      ("+3m", "2027-02-21"), ("2027-01-31", "2027-01-31"),
    ])
  func dates(word: String, iso: String) throws {
    #expect(try DateWords.date(word, today: saturday).iso == iso)
  }

  @Test(
    "Words that are no dates are refused",
    arguments: ["", "+", "+3", "+99999d", "2026-02-30", "s", "3d", "+99999999999999999999d"])
  func notDates(word: String) {
    #expect(throws: CommandFailure.self) { try DateWords.date(word, today: saturday) }
  }

  @Test("A weekday of the past is the latest such day")
  func moments() throws {
    #expect(try DateWords.moment("fri", today: saturday).day.iso == "2026-11-20")
    #expect(try DateWords.moment("yesterday 18:30", today: saturday).time?.iso == "18:30")
    // Some words begin with the letter that stands between date and time.
    for (text, day) in [
      ("Tue 18:30", "2026-11-17"), ("Today 18:30", "2026-11-21"),
      ("2026-11-20T18:30", "2026-11-20"),
    ] {
      let moment = try DateWords.moment(text, today: saturday)
      #expect(moment.day.iso == day && moment.time?.iso == "18:30", "\(text)")
    }
    for text in ["09:00 18:30", "Tue 18:30 19:00", "T18:30"] {
      #expect(throws: CommandFailure.self, "\(text)") {
        try DateWords.moment(text, today: saturday)
      }
    }
  }

  @Test("Repetitions are read with unit, number and weekdays, at the limit and beyond it")
  func repetitions() throws {
    #expect(try RepeatWords("2w").interval == 2)
    #expect(try RepeatWords("mon, thu").weekdays == WeekdaySet([.monday, .thursday]))
    #expect(try RepeatWords("366d").interval == 366)
    for word in ["367d", "0d", "never", "mon,", ""] {
      #expect(throws: CommandFailure.self) { try RepeatWords(word) }
    }
  }

  @Test("Points are taken at the limit and refused beyond it")
  func points() throws {
    #expect(try NumberWords.points("100000") == 100_000)
    for word in ["-1", "100001", "1000000000000", "1.5", "", "99999999999999999999"] {
      #expect(throws: CommandFailure.self) { try NumberWords.points(word) }
    }
  }

  @Test("The first way of matching that fits anything decides")
  func names() {
    let titles = ["Dishes", "Dry the dishes", "Windows", "Wash the window"]
    func find(_ text: String) -> [String] {
      switch NameMatch(text, among: titles, name: { $0 }) {
      case .one(let one): [one]
      case .several(let several): several
      case .none(let nearest): ["?"] + nearest
      }
    }
    #expect(find("dishes") == ["Dishes"])
    #expect(find("dr di") == ["Dry the dishes"])
    #expect(find("wi") == ["Windows"])
    #expect(find("w") == ["Windows", "Wash the window"])
    #expect(find("ash") == ["Wash the window"])
    #expect(find("dihses") == ["?", "Dishes", "Dry the dishes"])
    #expect(find("zzzzzzzz") == ["?"])
    #expect(find("") == ["?"])
  }
}
