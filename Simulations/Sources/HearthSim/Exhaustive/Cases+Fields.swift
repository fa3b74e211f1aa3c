import HearthCRDT

extension OrderCase {
  /// All cases.
  static let all: [OrderCase] =
    FieldKind.allCases.flatMap(cases) + life + mixedVersions + segments + household

  /// The cases of a kind of field: exhaustive on purpose, a new kind needs some.
  private static func cases(of kind: FieldKind) -> [OrderCase] {
    switch kind {
    case .register: registers
    case .history: histories
    case .counter: counters
    case .set: sets
    case .text: texts
    }
  }

  private static let registers = [
    OrderCase(
      name: "register-concurrent",
      purpose: "Of values written at the same time the latest by clock shows, the others stay.",
      changes: [
        "0d 09:00 Ada: tally k0 label a", "0d 09:02 Ben: tally k0 label b",
        "0d 09:01 Cleo: tally k0 label c",
      ],
      between: "0d 09:03 Dan: tally k0 label d",
      expects: ["tally k0 label=b|a|c"]),
    OrderCase(
      name: "register-covered",
      purpose: "A value that saw two others takes their place, one that did not stays beside it.",
      changes: [
        "0d 09:00 Ada: tally k0 label a", "0d 09:01 Ben: tally k0 label b",
        "0d 09:02 Cleo: tally k0 label c knows=1,2", "0d 09:05 Ben: tally k0 label d",
      ],
      expects: ["tally k0 label=d|c"]),
    OrderCase(
      name: "register-slow-clock",
      purpose: "A clock that is behind loses ties, but what was seen gives way all the same.",
      changes: [
        "0d 12:00 Ada: tally k0 label a", "0d 06:00 Ben: tally k0 label b knows=1",
        "0d 05:00 Cleo: tally k0 label c", "0d 05:30 Cleo: tally k0 note n",
      ],
      expects: ["tally k0 \"label=b|c note=n\""]),
    OrderCase(
      name: "register-fast-clock",
      purpose: "Who saw the value of a clock far ahead does not win ties by it.",
      changes: [
        "0d 20:00 Ben: tally k1 label b", "0d 09:05 Ada: tally k0 label a knows=1",
        "0d 09:10 Cleo: tally k0 label c",
      ],
      expects: ["tally k0 label=c|a", "tally k1 label=b"]),
    OrderCase(
      name: "register-clock-follows",
      purpose: "Who saw a value of a clock a little ahead writes later than it.",
      changes: [
        "0d 09:04 Ben: tally k0 label b", "0d 09:00 Ada: tally k0 label a knows=1",
        "0d 09:02 Cleo: tally k0 label c",
      ],
      expects: ["tally k0 label=a|c"]),
    OrderCase(
      name: "register-six",
      purpose: "Three chains of two that meet nowhere: the last of each stays.",
      changes: [
        "0d 09:00 Ada: tally k0 label a", "0d 09:10 Ada: tally k0 label A",
        "0d 09:01 Ben: tally k0 label b", "0d 09:12 Ben: tally k0 label B",
        "0d 09:02 Cleo: tally k0 label c", "0d 09:11 Cleo: tally k0 label C",
      ],
      expects: ["tally k0 label=B|A|C"]),
    OrderCase(
      name: "register-fork-and-join",
      purpose: "One value, two that saw it, one that saw both, one that saw neither.",
      changes: [
        "0d 09:00 Ada: tally k0 label a", "0d 09:01 Ben: tally k0 label b knows=1",
        "0d 09:02 Cleo: tally k0 label c knows=1", "0d 09:03 Ada: tally k0 label d knows=2,3",
        "0d 09:04 Ben: tally k0 label e",
      ],
      expects: ["tally k0 label=e|d"]),
  ]

  private static let histories = [
    OrderCase(
      name: "history-concurrent",
      purpose: "Prices set at the same time stay beside each other, and each is kept for ever.",
      changes: [
        "0d 09:00 Ada: tally k0 price 1", "0d 09:01 Ben: tally k0 price 2",
        "0d 09:02 Cleo: tally k0 price 3 knows=1", "0d 09:03 Ben: tally k0 price 4 knows=3",
      ],
      between: "0d 09:04 Dan: tally k0 price 5",
      expects: ["tally k0 \"price=4 prices=4\""]),
    OrderCase(
      name: "history-chains",
      purpose: "Two chains of prices of which one saw the first link of the other.",
      changes: [
        "0d 09:00 Ada: tally k0 price 1", "0d 09:01 Ada: tally k0 price 2",
        "0d 09:02 Ben: tally k0 price 3 knows=1", "0d 09:03 Ben: tally k0 price 4",
        "0d 08:00 Cleo: tally k0 price 5",
      ],
      expects: ["tally k0 \"price=4|2|5 prices=5\""]),
  ]

  private static let counters = [
    OrderCase(
      name: "counter",
      purpose: "Every addition counts once, whoever adds and however often it comes.",
      changes: [
        "0d 09:00 Ada: tally k0 add 1", "0d 09:01 Ada: tally k0 add 10",
        "0d 09:00 Ben: tally k0 add 100", "0d 09:02 Ben: tally k0 add -7 knows=1",
        "0d 09:00 Cleo: tally k0 add 1000", "0d 09:03 Cleo: tally k0 add 5 knows=4",
      ],
      expects: ["tally k0 total=1109"]),
    OrderCase(
      name: "counter-twice-in-one",
      purpose: "Two additions in one change both count.",
      changes: [
        "0d 09:00 Ada: tally k0 add 1 10", "0d 09:00 Ben: tally k0 add 100",
        "0d 09:01 Ben: tally k0 add 1000 -7 5 knows=1", "0d 09:00 Cleo: tally k0 add 20 20",
      ],
      expects: ["tally k0 total=1149"]),
  ]

  private static let sets = [
    OrderCase(
      name: "set-add-wins",
      purpose: "Taking an element out takes out the additions that were seen, and no others.",
      changes: [
        "0d 09:00 Ada: tally k0 mark x", "0d 09:01 Ben: tally k0 unmark x knows=1",
        "0d 09:00 Cleo: tally k0 mark x", "0d 09:02 Cleo: tally k0 mark y",
      ],
      between: "0d 09:03 Dan: tally k0 unmark x",
      expects: ["tally k0 marks=x,y"]),
    OrderCase(
      name: "set-both-added",
      purpose: "Both add the same, one takes it out again knowing the own addition only.",
      changes: [
        "0d 09:00 Ada: tally k0 mark x", "0d 09:00 Ben: tally k0 mark x",
        "0d 09:01 Ada: tally k0 unmark x", "0d 09:02 Cleo: tally k0 mark z knows=1,2",
        "0d 09:03 Cleo: tally k0 unmark z",
      ],
      expects: ["tally k0 marks=x"]),
    OrderCase(
      name: "set-all-gone",
      purpose: "An element leaves when every addition was seen by somebody who took it out.",
      changes: [
        "0d 09:00 Ada: tally k0 mark x", "0d 09:00 Ben: tally k0 mark x",
        "0d 09:01 Cleo: tally k0 unmark x knows=1", "0d 09:02 Ada: tally k0 unmark x knows=2",
        "0d 09:03 Ben: tally k0 mark b", "0d 09:04 Cleo: tally k0 mark a",
      ],
      expects: ["tally k0 marks=a,b"]),
  ]

  private static let texts = [
    OrderCase(
      name: "text-one-place",
      purpose: "What two people type at one place does not mix, and a third one's goes between.",
      before: ["0d 08:00 Ada: tally k0 type a"],
      changes: [
        "0d 09:00 Ada: tally k0 type b 1", "0d 09:01 Ada: tally k0 type c 2",
        "0d 09:00 Ben: tally k0 type d 1", "0d 09:01 Ben: tally k0 type e 2",
        "0d 09:02 Cleo: tally k0 type f 0 knows=1",
      ],
      expects: ["tally k0 body=f_a_b_c_d_e"]),
    OrderCase(
      name: "text-cut",
      purpose: "What is cut out takes nothing with it that others type beside it.",
      before: ["0d 08:00 Ada: tally k0 type a", "0d 08:01 Ada: tally k0 type b 1"],
      changes: [
        "0d 09:00 Ada: tally k0 cut a", "0d 09:01 Ben: tally k0 type c 1",
        "0d 09:02 Cleo: tally k0 cut a", "0d 09:03 Cleo: tally k0 type d 2",
        "0d 09:04 Ben: tally k0 cut b knows=1",
      ],
      expects: ["tally k0 body=c_d"]),
  ]

  /// Whether a record is there at all.
  private static let life = [
    OrderCase(
      name: "delete-vs-edit",
      purpose: "An edit that the deleter had not seen brings the record back.",
      before: ["0d 08:00 Ada: tally k0 label a"],
      changes: [
        "0d 09:00 Ada: tally k0 delete", "0d 08:59 Ben: tally k0 label b",
        "0d 09:01 Cleo: tally k0 add 3 knows=1",
      ],
      between: "0d 09:02 Dan: tally k0 delete",
      expects: ["tally k0 \"label=b total=3\""]),
    OrderCase(
      name: "delete-stays",
      purpose: "A record is gone once every write was seen by somebody who deleted it.",
      before: ["0d 08:00 Ada: tally k0 label a", "0d 08:00 Ben: tally k1 label stays"],
      changes: [
        "0d 09:00 Ada: tally k0 delete", "0d 09:00 Ben: tally k0 label b",
        "0d 09:01 Cleo: tally k0 delete knows=2", "0d 09:02 Cleo: tally k1 note n",
      ],
      expects: ["tally k0 \"label=b deleted\"", "tally k1 \"label=stays note=n\""]),
    OrderCase(
      name: "delete-edit-restore",
      purpose: "Deleted by two, edited by one, written again after both: it is there.",
      before: ["0d 08:00 Ada: tally k0 label a"],
      changes: [
        "0d 09:00 Ada: tally k0 delete", "0d 09:01 Ben: tally k0 delete",
        "0d 09:02 Cleo: tally k0 note n", "0d 09:03 Ada: tally k0 touch knows=2",
        "0d 09:04 Ben: tally k0 delete knows=3",
      ],
      expects: ["tally k0 \"label=a note=n\""]),
    OrderCase(
      name: "deleted-before-born",
      purpose: "A deletion may arrive before what it deletes.",
      changes: [
        "0d 09:00 Ada: tally k1 mark x", "0d 09:01 Ben: tally k1 delete knows=1",
        "0d 09:02 Cleo: tally k1 delete knows=2", "0d 09:03 Ada: tally k0 touch",
      ],
      expects: ["tally k1 \"marks=x deleted\"", "tally k0 \"\""]),
  ]

  /// What a program of an earlier version does not know, it keeps.
  private static let mixedVersions = [
    OrderCase(
      name: "unknown-fields",
      purpose: "An old program merges fields that it does not know, and loses none.",
      before: ["0d 08:00 Ada: tally k0 note n"],
      changes: [
        "0d 09:00 Ada: tally k0 note a", "0d 09:01 Ben: tally k0 note b",
        "0d 09:02 Cleo: tally k0 label c knows=1", "0d 09:03 Ben: tally k0 mark x",
        "0d 09:04 Cleo: tally k0 price 4",
      ],
      expects: ["tally k0 \"label=c note=b|a price=4 marks=x\""], isMixed: true),
    OrderCase(
      name: "unknown-type",
      purpose: "An old program merges records of a type that it does not know.",
      changes: [
        "0d 09:00 Ada: tally m0 label a", "0d 09:01 Ben: tally m0 label b",
        "0d 09:02 Cleo: tally m0 delete knows=1", "0d 09:03 Ben: tally m0 add 4",
        "0d 09:04 Cleo: tally m0 mark x",
      ],
      expects: ["tally m0 \"label=b|a total=4 marks=x\""], isMixed: true),
  ]

  /// What the log does with segments, whatever is in them.
  private static let segments = [
    OrderCase(
      name: "overlapping-segments",
      purpose: "Merged segments hold what came before: what is known of one is passed over, what "
        + "has no cause yet waits.",
      changes: [
        "0d 09:00 Ada: tally k0 add 1", "0d 09:01 Ben: tally k0 add 10 knows=1",
        "0d 09:02 Ada: tally k0 add 100 knows=2", "0d 09:03 Ben: tally k0 add 1000 knows=3",
        "0d 09:04 Ada: tally k0 label a", "0d 09:05 Cleo: tally k0 add 10000 knows=2",
      ],
      expects: ["tally k0 \"label=a total=11111\""], isOverlapping: true),
    OrderCase(
      name: "long-chain",
      purpose: "Six changes of which each knew the one before: only one order applies them.",
      changes: [
        "0d 09:00 Ada: tally k0 label a", "0d 09:01 Ben: tally k0 label b knows=1",
        "0d 09:02 Cleo: tally k0 label c knows=2", "0d 08:03 Ada: tally k0 label d knows=3",
        "0d 08:04 Ben: tally k0 label e knows=4", "0d 08:05 Cleo: tally k0 label f knows=5",
      ],
      expects: ["tally k0 label=f"]),
  ]
}
