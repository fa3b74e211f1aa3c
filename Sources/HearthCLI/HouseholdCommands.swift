import ArgumentParser

/// The commands about chores, points, history, challenges and settings.
let householdCommands: [any ParsableCommand.Type] = [
  AddChore.self, ListChores.self, TodayChores.self, WeekChores.self, ShowChore.self,
  EditChore.self, AssignChore.self, DoneChore.self, UndoChore.self, SkipChore.self,
  ArchiveChore.self, RestoreChore.self, PointsCommand.self, LeaderboardCommand.self,
  BadgesCommand.self, RescheduleChore.self,
  HistoryCommand.self, ExportCommand.self, ChallengeCommand.self, SettingsCommand.self,
  ConflictsCommand.self,
]
