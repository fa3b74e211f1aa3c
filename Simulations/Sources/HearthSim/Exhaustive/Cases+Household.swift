extension OrderCase {
  private static let daily = "rule=v1;mode=calendar;from=2026-03-25;freq=daily;every=1;wkst=mo"
  private static let dishes = "0d 08:00 Ada: add Dishes points=5 \(daily)"
  private static let once = "0d 08:00 Ada: add Dishes points=3 due=2026-03-25"

  private static func chain(days: Int) -> String {
    "rule=v1;mode=completion;from=2026-03-25;freq=daily;every=\(days);wkst=mo"
  }

  /// The household's hardest rules.
  static let household =
    credits + undoing + calendars + chains + people + merges + periods + challenges

  // MARK: Who is paid, and what

  private static let credits = [
    OrderCase(
      name: "both-complete",
      purpose: "Three do one occurrence: the first by clock is paid, the others are noted.",
      before: [dishes],
      changes: [
        "0d 09:00 Ada: complete Dishes", "0d 09:05 Ben: complete Dishes",
        "0d 08:55 Cleo: complete Dishes",
      ],
      between: "0d 10:00 Dan: complete Dishes",
      expectsBetween: ["credited Dishes Cleo"],
      expects: [
        "credited Dishes Cleo", "entries Dishes also-done 2", "points Cleo 5", "points Ada 0",
        "next Dishes 2026-03-26",
      ]),
    OrderCase(
      name: "complete-vs-archive",
      purpose: "Work of somebody who had not seen the archiving is paid; the chore stays archived.",
      before: [once],
      changes: [
        "0d 09:00 Ada: complete Dishes", "0d 08:30 Ben: archive Dishes",
        "0d 09:30 Cleo: edit Dishes title=Plates knows=2", "0d 09:40 Cleo: tag Dishes wet",
      ],
      between: "0d 10:00 Dan: complete Dishes",
      expects: [
        "archived Dishes yes", "credited Dishes Ada", "points Ada 3", "title Dishes Plates",
        "next Dishes -",
      ]),
    OrderCase(
      name: "archive-vs-restore",
      purpose: "Archived twice, restored by one who saw one of them: the latest by clock shows.",
      before: [dishes],
      changes: [
        "0d 09:00 Ada: archive Dishes", "0d 09:10 Ben: archive Dishes",
        "0d 09:20 Cleo: restore Dishes knows=1", "0d 09:15 Ben: complete Dishes knows=3",
      ],
      expects: ["archived Dishes no", "conflicts Dishes 1", "credited Dishes Ben", "points Ben 5"]),
    OrderCase(
      name: "complete-vs-price",
      purpose: "Everybody is paid the price they saw, whatever it became meanwhile.",
      before: [dishes],
      changes: [
        "0d 08:30 Ben: edit Dishes points=9", "0d 09:00 Ada: complete Dishes",
        "1d 09:00 Cleo: complete Dishes knows=1,2", "1d 10:00 Ada: edit Dishes points=2",
      ],
      asked: "1d 23:00",
      expects: [
        "points Ada 5", "points Cleo 9", "price Dishes 2", "conflicts Dishes 1",
        "days Dishes 2026-03-25,2026-03-26",
      ]),
    OrderCase(
      name: "policy-vs-complete",
      purpose: "Who pays how is a setting of the household: what shows in the end pays for all.",
      before: [dishes],
      changes: [
        "0d 09:00 Ada: set duplicate each", "0d 09:01 Ben: set duplicate split",
        "0d 09:02 Cleo: complete Dishes", "0d 09:03 Ben: complete Dishes",
      ],
      between: "0d 09:04 Dan: set missed stack",
      expectsBetween: ["setting missed stack", "setting duplicate split"],
      expects: [
        "setting duplicate split", "points Cleo 3", "points Ben 2", "credited Dishes Cleo",
      ]),
    OrderCase(
      name: "strict-assignee",
      purpose: "Where only those assigned are paid, it counts who was so in the doer's eyes.",
      before: [
        "0d 08:00 Ada: set strict-assignee yes",
        "0d 08:01 Ada: add Dishes points=5 assign=Ada \(daily)",
      ],
      changes: [
        "0d 09:00 Ada: complete Dishes", "0d 08:30 Ben: assign Dishes Ben",
        "0d 09:30 Cleo: complete Dishes", "0d 09:40 Ben: complete Dishes",
      ],
      expects: [
        "credited Dishes Ada", "entries Dishes invalid 1", "entries Dishes also-done 1",
        "points Ada 5", "points Cleo 0",
      ]),
    OrderCase(
      name: "done-before-born",
      purpose: "A chore's completion, undo and archiving may all arrive before the chore.",
      changes: [
        "0d 09:00 Ada: add Dishes points=4 due=2026-03-25", "0d 09:10 Ben: complete Dishes knows=1",
        "0d 09:11 Cleo: complete Dishes knows=1", "0d 09:12 Ben: undo",
        "0d 09:13 Cleo: archive Dishes knows=4", "0d 09:14 Ada: edit Dishes points=6",
      ],
      expects: [
        "credited Dishes Cleo", "points Cleo 4", "points Ben 0", "price Dishes 6",
        "archived Dishes yes", "entries Dishes undone 1",
      ]),
  ]

  // MARK: Taking back

  private static let undoing = [
    OrderCase(
      name: "undo-vs-complete",
      purpose: "Who was first takes it back: the next one who did it is paid instead.",
      before: [dishes],
      changes: [
        "0d 09:00 Ada: complete Dishes", "0d 09:05 Ben: complete Dishes", "0d 09:10 Ada: undo",
        "0d 09:20 Cleo: complete Dishes",
      ],
      between: "0d 10:00 Dan: edit Dishes points=8",
      expectsBetween: ["credited Dishes Ben", "points Ben 5"],
      expects: [
        "credited Dishes Ben", "entries Dishes undone 1", "entries Dishes also-done 1",
        "points Ben 5", "points Ada 0", "next Dishes 2026-03-26",
      ]),
    OrderCase(
      name: "undo-chain",
      purpose: "Done, undone, done and undone by the next, done by the last: hers stands.",
      before: [once],
      changes: [
        "0d 09:00 Ada: complete Dishes", "0d 09:02 Ada: undo",
        "0d 09:05 Ben: complete Dishes knows=2", "0d 09:08 Ben: undo",
        "0d 09:11 Cleo: complete Dishes knows=4", "0d 09:12 Ada: edit Dishes points=7",
      ],
      expects: [
        "credited Dishes Cleo", "entries Dishes undone 2", "points Cleo 3", "points Ada 0",
        "points Ben 0",
      ]),
    OrderCase(
      name: "undo-fast-clock",
      purpose: "An undo counts though the clock of what it undoes is half a day ahead of it.",
      before: [dishes],
      changes: [
        "0d 20:00 Ben: complete Dishes by=Ada", "0d 09:05 Ada: undo knows=1",
        "0d 09:10 Cleo: complete Dishes", "0d 20:05 Ben: edit Dishes points=6",
      ],
      expects: [
        "entries Dishes undone 1", "credited Dishes Cleo", "points Ada 0", "points Cleo 5",
      ]),
    OrderCase(
      name: "undo-twice",
      purpose: "Undone by the one who did it and by the one who wrote it down: once is enough.",
      before: [dishes],
      changes: [
        "0d 09:00 Ben: complete Dishes by=Ada", "0d 09:05 Ada: undo knows=1", "0d 09:06 Ben: undo",
        "0d 09:07 Cleo: complete Dishes", "0d 09:09 Cleo: undo knows=2",
      ],
      expects: [
        "entries Dishes undone 2", "credited Dishes -", "points Ada 0", "next Dishes 2026-03-25",
      ]),
  ]

  // MARK: Dates

  private static let calendars = [
    OrderCase(
      name: "late-by-the-calendar",
      purpose: "What is done two days late is due again on its weekday, not a week from then.",
      before: [
        "0d 08:00 Ada: add Bins points=2 "
          + "rule=v1;mode=calendar;from=2026-03-23;freq=weekly;every=1;on=mo;wkst=mo"
      ],
      changes: [
        "0d 09:00 Ada: complete Bins", "0d 09:01 Ben: complete Bins",
        "0d 09:02 Cleo: edit Bins title=Cans",
      ],
      expects: ["next Bins 2026-03-30", "credited Bins Ada", "points Ada 2", "title Bins Cans"]),
    OrderCase(
      name: "skip-vs-complete",
      purpose: "Skipped here and done there: the work counts, and the day is closed either way.",
      before: [dishes],
      changes: [
        "0d 18:00 Ada: skip Dishes because=rain", "0d 18:00 Ben: complete Dishes",
        "0d 18:04 Ben: undo", "0d 18:05 Cleo: complete Dishes",
      ],
      between: "0d 19:00 Dan: complete Dishes",
      expects: [
        "credited Dishes Cleo", "points Cleo 5", "points Ben 0", "next Dishes 2026-03-26",
      ]),
    OrderCase(
      name: "skip-vs-undo",
      purpose: "Done, undone and skipped: nobody is paid, and the day stays closed.",
      before: [dishes],
      changes: [
        "0d 18:00 Ada: skip Dishes because=rain", "0d 18:00 Ben: complete Dishes",
        "0d 18:04 Ben: undo", "0d 18:05 Cleo: skip Dishes because=cold",
      ],
      expects: ["credited Dishes -", "points Ben 0", "next Dishes 2026-03-26"]),
    OrderCase(
      name: "move-vs-complete",
      purpose: "A day that was moved is the same day: who did it meanwhile has done it.",
      before: [dishes],
      changes: [
        "0d 09:00 Ada: move Dishes to=2026-03-27", "0d 09:05 Ben: complete Dishes",
        "0d 09:10 Cleo: move Dishes to=2026-03-28", "1d 09:00 Ada: complete Dishes knows=2",
      ],
      asked: "1d 23:00",
      expects: [
        "credited Dishes Ada,Ben", "days Dishes 2026-03-25,2026-03-26", "next Dishes 2026-03-27",
      ]),
    OrderCase(
      name: "move-vs-move",
      purpose: "Of two moves of a day the later one shows.",
      before: [once],
      changes: [
        "0d 09:00 Ada: move Dishes to=2026-03-27", "0d 09:10 Ben: move Dishes to=2026-03-28",
        "0d 09:05 Cleo: move Dishes to=2026-03-29", "0d 09:20 Cleo: edit Dishes due=2026-03-30",
      ],
      between: "0d 09:30 Dan: move Dishes to=2026-04-01",
      expectsBetween: ["next Dishes 2026-04-01"],
      expects: ["next Dishes 2026-03-28"]),
    OrderCase(
      name: "rule-vs-complete",
      purpose: "A rule changes from a day to three after the work while the day is done: one work.",
      before: [dishes],
      changes: [
        "0d 08:30 Ben: edit Dishes \(chain(days: 3))", "0d 09:00 Ben: complete Dishes",
        "0d 09:30 Ada: complete Dishes", "0d 09:40 Cleo: edit Dishes title=Plates knows=3",
      ],
      expects: [
        "credited Dishes Ben", "entries Dishes also-done 1", "points Ben 5", "points Ada 0",
        "next Dishes 2026-03-28", "title Dishes Plates",
      ]),
    OrderCase(
      name: "rule-vs-rule",
      purpose: "Two new rules at once: the later by clock holds, from the day it was written on.",
      before: [dishes],
      changes: [
        "0d 09:00 Ada: edit Dishes "
          + "rule=v1;mode=calendar;from=2026-03-25;freq=weekly;every=1;on=fr;wkst=mo",
        "0d 09:05 Ben: edit Dishes "
          + "rule=v1;mode=calendar;from=2026-03-25;freq=weekly;every=1;on=sa;wkst=mo",
        "0d 09:10 Cleo: complete Dishes", "0d 09:20 Cleo: edit Dishes points=1 knows=1",
      ],
      expects: [
        "next Dishes 2026-03-28", "credited Dishes Cleo", "points Cleo 5", "price Dishes 1",
        "conflicts Dishes 2",
      ]),
  ]

  // MARK: Counted from the work

  private static let chains = [
    OrderCase(
      name: "chain-next-link",
      purpose: "Who knew of the last work did the next, however soon; who did not, the same.",
      before: ["0d 08:00 Ada: add Plants points=5 \(chain(days: 1))"],
      changes: [
        "0d 20:00 Ada: complete Plants", "1d 06:00 Ben: complete Plants knows=1",
        "0d 20:30 Cleo: complete Plants",
      ],
      asked: "1d 23:00",
      expects: [
        "credited Plants Ada,Ben", "entries Plants also-done 1", "points Ada 5", "points Ben 5",
        "points Cleo 0", "next Plants 2026-03-27",
      ]),
    OrderCase(
      name: "chain-far-apart",
      purpose: "Two works more than half a day apart are two, though neither knew of the other.",
      before: ["0d 08:00 Ada: add Plants points=5 \(chain(days: 3))"],
      changes: [
        "0d 08:30 Ada: complete Plants", "0d 21:00 Ben: complete Plants",
        "0d 14:00 Cleo: complete Plants", "0d 22:00 Ada: edit Plants points=7 knows=2",
      ],
      expects: [
        "credited Plants Ada,Ben", "entries Plants also-done 1", "points Ada 5", "points Ben 5",
        "points Cleo 0", "next Plants 2026-03-28",
      ]),
    OrderCase(
      name: "chain-undo-of-the-first",
      purpose: "The first of a link is taken back: what was two links becomes one.",
      before: ["0d 08:00 Ada: add Plants points=5 \(chain(days: 3))"],
      changes: [
        "0d 08:30 Ada: complete Plants", "0d 21:00 Ben: complete Plants",
        "0d 14:00 Cleo: complete Plants", "0d 22:00 Ada: undo knows=2",
      ],
      expects: [
        "credited Plants Cleo", "entries Plants undone 1", "entries Plants also-done 1",
        "points Cleo 5", "points Ben 0", "next Plants 2026-03-28",
      ]),
    OrderCase(
      name: "chain-skip-vs-complete",
      purpose: "A skip of a link that was done meanwhile skips nothing more.",
      before: ["0d 08:00 Ada: add Plants points=5 \(chain(days: 3))"],
      changes: [
        "0d 09:00 Ada: skip Plants because=rain", "0d 09:05 Ben: complete Plants",
        "0d 09:06 Ben: edit Plants title=Fern", "0d 09:07 Cleo: complete Plants",
      ],
      expects: ["credited Plants Ben", "points Ben 5", "next Plants 2026-03-28"]),
  ]

  // MARK: Whose turn, whose name, whose badge

  private static let people = [
    OrderCase(
      name: "rotation-by-turn",
      purpose: "Two do the day of the first: the turn goes on from the one who is paid.",
      before: ["0d 08:00 Ada: add Dishes points=1 assign=turn:Ada,Ben,Cleo \(daily)"],
      changes: [
        "0d 09:00 Ada: complete Dishes", "0d 09:05 Cleo: complete Dishes",
        "1d 09:00 Ben: complete Dishes knows=1", "0d 09:30 Ada: edit Dishes points=2",
      ],
      asked: "1d 23:00",
      expects: ["credited Dishes Ada,Ben", "assignee Dishes Cleo", "next Dishes 2026-03-27"]),
    OrderCase(
      name: "rotation-least-done",
      purpose: "Whoever has done least is next, and an undo counts as not done.",
      before: ["0d 08:00 Ada: add Dishes points=1 assign=least:Ada,Ben \(daily)"],
      changes: [
        "0d 09:00 Ada: complete Dishes", "1d 09:00 Ben: complete Dishes knows=1",
        "1d 10:00 Ada: undo knows=2", "0d 09:30 Cleo: complete Dishes by=Ben",
      ],
      asked: "1d 23:00",
      expects: ["assignee Dishes Ada", "credited Dishes Ben,Ben", "points Ben 2"]),
    OrderCase(
      name: "assign-vs-assign-once",
      purpose: "Whom a day was given to wins over whom the chore was given to.",
      before: [dishes],
      changes: [
        "0d 09:00 Ada: assign Dishes Ben", "0d 09:01 Cleo: assign-once Dishes Cleo",
        "0d 09:02 Ben: assign-once Dishes Ada knows=2", "0d 09:03 Cleo: assign Dishes Cleo",
      ],
      expects: ["assignee Dishes Ada", "conflicts Dishes 1"]),
    OrderCase(
      name: "edits-of-one-chore",
      purpose: "Three edit one chore: fields merge apart, what lost a tie is counted.",
      before: ["0d 08:00 Ada: add Dishes points=5 tags=wet due=2026-03-25"],
      changes: [
        "0d 09:00 Ada: edit Dishes title=Plates", "0d 09:01 Ben: edit Dishes title=Cups note=hot",
        "0d 09:02 Cleo: edit Dishes title=Pots points=6", "0d 09:03 Ada: untag Dishes wet",
        "0d 09:04 Ben: tag Dishes wet loud",
      ],
      expects: [
        "title Dishes Pots", "note Dishes hot", "price Dishes 6", "conflicts Dishes 2",
        "tags Dishes loud,wet",
      ]),
    OrderCase(
      name: "rename-self-vs-complete",
      purpose: "Who takes another name meanwhile keeps points and credit.",
      before: [dishes],
      changes: [
        "0d 09:00 Ada: rename-self Adele", "0d 09:01 Ada: complete Dishes",
        "0d 08:59 Ben: complete Dishes by=Ada", "0d 09:02 Cleo: rename-self Clio",
      ],
      expects: [
        "person Ada Adele", "person Cleo Clio", "credited Dishes Ada", "points Ada 5",
        "entries Dishes also-done 1",
      ]),
    OrderCase(
      name: "badge-once",
      purpose: "The fifth chore is done on two devices at once: one badge, on one day.",
      before: (0...5).map { "0d 08:00 Ada: add C\($0) points=1" }
        + (0...2).map { "0d 08:3\($0) Ada: complete C\($0)" },
      changes: [
        "0d 09:00 Ada: complete C3", "0d 09:00 Ben: complete C4 by=Ada",
        "0d 09:01 Cleo: complete C4 by=Ada", "1d 09:02 Ada: complete C5",
        "1d 09:03 Ada: undo",
      ],
      asked: "1d 23:00",
      expects: [
        "badge Ada chores_5 2026-03-25", "badge Ben chores_5 -", "points Ada 5",
        "entries C4 also-done 1",
      ]),
  ]

  // MARK: Closed weeks

  private static let periods = [
    OrderCase(
      name: "week-close-vs-late",
      purpose: "A week is closed while two of its works are unknown: they are booked in the next.",
      before: ["0d 08:00 Ada: add A points=5", "0d 08:00 Ada: add B points=7"],
      changes: [
        "4d 10:00 Ben: complete A", "5d 10:00 Ada: close 2026-03-23", "4d 12:00 Cleo: complete B",
      ],
      between: "5d 12:00 Dan: complete A by=Ada",
      asked: "5d 23:00",
      expects: ["points Ben 5", "points Cleo 7", "week Ben 5", "week Cleo 7"]),
    OrderCase(
      name: "week-closed-twice",
      purpose: "Two close a week at once: the first closing by clock holds, with what it knew.",
      before: ["0d 08:00 Ada: add A points=5", "0d 08:00 Ada: add B points=7"],
      changes: [
        "4d 10:00 Ben: complete A", "5d 09:00 Ben: close 2026-03-23",
        "5d 10:00 Ada: close 2026-03-23", "4d 12:00 Cleo: complete B",
      ],
      asked: "5d 23:00",
      expects: ["points Ben 5", "points Cleo 7", "week Ben 0", "week Cleo 7"]),
    OrderCase(
      name: "week-close-vs-settings",
      purpose: "A closed week keeps the rules of its closing, whatever is set meanwhile.",
      before: ["0d 08:00 Ada: add A points=5"],
      changes: [
        "4d 10:00 Ben: complete A", "4d 11:00 Cleo: complete A",
        "5d 10:00 Ada: close 2026-03-23 knows=1", "5d 11:00 Cleo: set duplicate each",
        "5d 11:30 Ben: edit A points=9",
      ],
      asked: "5d 23:00",
      expects: [
        "points Ben 5", "points Cleo 0", "setting duplicate each", "credited A Ben",
        "entries A also-done 1",
      ]),
    OrderCase(
      name: "week-close-vs-undo",
      purpose: "An undo of somebody who had not seen the closing counts, and is booked late.",
      before: ["0d 08:00 Ada: add A points=5", "4d 09:00 Ben: complete A"],
      changes: [
        "5d 10:00 Ada: close 2026-03-23", "5d 11:00 Ben: undo", "5d 12:00 Cleo: edit A points=9",
      ],
      asked: "5d 23:00",
      expects: ["points Ben 0", "week Ben -5", "entries A undone 1"]),
  ]
}
