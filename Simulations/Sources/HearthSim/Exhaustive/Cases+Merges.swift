extension OrderCase {
  private static let daily = "rule=v1;mode=calendar;from=2026-03-25;freq=daily;every=1;wkst=mo"

  /// Two people who are one: Ada owns the household, Ben is an administrator, Cleo a member.
  static let merges = [
    OrderCase(
      name: "merge-circle",
      purpose: "Two are merged into each other at once: the earlier holds, wherever one looks.",
      before: ["0d 08:00 Ada: add Dishes points=5 assign=date:Ada,Ben,Cleo \(daily)"],
      changes: [
        "0d 08:30 Cleo: complete Dishes", "0d 09:00 Ada: merge Cleo Ben",
        "0d 08:59 Ben: merge Ben Cleo", "0d 09:30 Ben: complete Dishes",
        "1d 09:00 Ben: complete Dishes knows=1,2",
      ],
      between: "2d 10:00 Dan: complete Dishes by=Ben",
      asked: "2d 23:00",
      expects: [
        "credited Dishes Cleo,Cleo", "points Cleo 10", "points Ben 10", "points Ada 0",
        "entries Dishes also-done 1", "streak Ben 2",
      ]),
    OrderCase(
      name: "merge-vs-part",
      purpose: "Of three in a chain one is parted and one merged at once: both hold.",
      before: [
        "0d 08:00 Ada: add Dishes points=5 \(daily)", "0d 08:05 Ada: merge Cleo Ben",
      ],
      changes: [
        "0d 08:30 Cleo: complete Dishes", "0d 09:10 Ada: part Cleo", "0d 09:05 Ben: merge Ben Ada",
        "1d 09:00 Ben: complete Dishes knows=1",
      ],
      asked: "1d 23:00",
      expects: [
        "credited Dishes Ada,Cleo", "points Cleo 5", "points Ada 5", "points Ben 5",
      ]),
  ]
}
