import ArgumentParser

@main
struct Main: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hearth-hostile",
    abstract: "Write into a household what no honest program writes, under a node's valid keys.",
    discussion: """
      The node is one that `hearth init` and `hearth join` made; it is read and not changed, so one
      home is good for one deed (or for several under --life). What comes of it goes into a folder
      or to a relay, and a line of JSON says how much it was. Tests/CLI/hostile.py judges the rest.
      """,
    subcommands: [
      SetBomb.self, HistoryBomb.self, TextBomb.self, GapBomb.self, LongText.self,
      Ladder.self, BigRecord.self, NewerSuite.self,
      Lives.self, Future.self, HalfTransaction.self, FutureDone.self, Links.self, BadZone.self,
      Marks.self,
      Shape.self, Honest.self, Heartbeats.self, Strangers.self, Invitations.self, Unseen.self,
      Seize.self, Evict.self, Fill.self,
    ])
}
