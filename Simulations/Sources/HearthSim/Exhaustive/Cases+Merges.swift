extension OrderCase {
  private static let daily = "rule=v1;mode=calendar;from=2026-03-25;freq=daily;every=1;wkst=mo"

  /// Two people who are one: Ada owns the household, Ben is an admin; Fay and Gus have gone.
  static let merges = [
    OrderCase(
      name: "merge-circle",
      purpose: "Two are merged into each other at once: the earlier holds, wherever one looks.",
      before: ["0d 08:00 Ada: add Dishes points=5 assign=date:Ada,Gus,Fay \(daily)"],
      changes: [
        "0d 08:30 Cleo: complete Dishes by=Fay", "0d 09:00 Ada: merge Fay Gus",
        "0d 08:59 Ben: merge Gus Fay", "0d 09:30 Ben: complete Dishes by=Gus",
        "1d 09:00 Ben: complete Dishes by=Gus knows=1,2",
      ],
      between: "2d 10:00 Dan: complete Dishes by=Gus",
      asked: "2d 23:00",
      expects: [
        "credited Dishes Fay,Fay", "points Fay 10", "points Gus 10", "points Ada 0",
        "entries Dishes also-done 1", "streak Gus 2",
      ]),
    OrderCase(
      name: "merge-vs-part",
      purpose: "Of three in a chain one is parted and one merged at once: both hold.",
      before: [
        "0d 08:00 Ada: add Dishes points=5 \(daily)", "0d 08:05 Ada: merge Fay Gus",
      ],
      changes: [
        "0d 08:30 Cleo: complete Dishes by=Fay", "0d 09:10 Ada: part Fay",
        "0d 09:05 Ben: merge Gus Ada", "1d 09:00 Ben: complete Dishes by=Gus knows=1",
      ],
      asked: "1d 23:00",
      expects: [
        "credited Dishes Ada,Fay", "points Fay 5", "points Ada 5", "points Gus 5",
      ]),
  ]
}
