extension OrderCase {
  /// A person's challenges on devices that do not know of each other.
  static let challenges = devices.map { story in
    var story = story
    story.isPrivate = true
    return story
  }

  private static let devices = [
    OrderCase(
      name: "challenge-drawn-twice",
      purpose: "Three devices drew one each: the first by clock is the day's, wherever one looks.",
      changes: [
        "0d 09:00 Ada: challenge draw Walk", "0d 08:59 Ben: challenge draw Call",
        "0d 09:01 Cleo: challenge draw Soup", "0d 09:02 Cleo: challenge skip because=weather",
      ],
      between: "0d 10:00 Dan: challenge pick Salt",
      expectsBetween: ["challenge Salt-pending"],
      expects: [
        "challenge Call-pending", "challenge-history Soup-skipped(weather)",
        "challenge-streak 0",
      ]),
    OrderCase(
      name: "challenge-done-vs-drawn",
      purpose: "What was done goes before what another device drew earlier.",
      changes: [
        "0d 09:00 Ada: challenge draw Walk", "0d 08:00 Ben: challenge draw Call",
        "0d 09:10 Ada: challenge complete rating=5", "0d 08:10 Ben: challenge skip",
        "0d 12:00 Cleo: challenge draw Soup knows=4",
      ],
      expects: [
        "challenge Walk-completed", "challenge-history Call-skipped,Walk-completed*5",
        "challenge-streak 1",
      ]),
    OrderCase(
      name: "challenge-picked-vs-done",
      purpose: "Who picks another wants one more; what is done stays done beside it.",
      before: ["0d 07:00 Ada: challenge draw Walk"],
      changes: [
        "0d 09:00 Ada: challenge complete rating=2", "0d 09:05 Ben: challenge pick Soup",
        "0d 09:06 Ben: challenge complete rating=4", "0d 09:10 Cleo: challenge pick Call knows=1",
      ],
      expects: [
        "challenge Soup-completed+Walk", "challenge-history Walk-completed*2,Soup-completed*4",
      ]),
    OrderCase(
      name: "challenge-done-on-three",
      purpose: "One effort recorded three times counts once, with the last word on it.",
      before: ["0d 07:00 Ada: challenge draw Walk"],
      changes: [
        "0d 09:00 Ada: challenge complete rating=2", "0d 09:05 Ben: challenge complete rating=4",
        "0d 09:03 Cleo: challenge skip because=no-time",
        "0d 09:04 Cleo: challenge complete",
      ],
      expects: [
        "challenge Walk-completed", "challenge-history Walk-completed*4", "challenge-streak 1",
      ]),
    OrderCase(
      name: "challenge-undo-vs-done",
      purpose: "Taken back where it was recorded: what another device recorded stands.",
      before: ["0d 07:00 Ada: challenge draw Walk"],
      changes: [
        "0d 09:00 Ada: challenge complete rating=2", "0d 09:05 Ben: challenge complete rating=4",
        "0d 09:10 Ada: challenge undo", "0d 09:20 Cleo: challenge undo knows=2",
        "0d 09:30 Cleo: challenge complete rating=1",
      ],
      expects: ["challenge Walk-completed", "challenge-history Walk-completed*1"]),
  ]
}
