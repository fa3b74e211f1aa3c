import ArgumentParser

/// The commands, in the order in which the help lists them.
let commandGroups = [
  CommandGroup(
    name: "Every day",
    subcommands: [
      TodayChores.self, WeekChores.self, ListChores.self, ShowChore.self, AddChore.self,
      DoneChore.self, SkipChore.self, UndoChore.self, EditChore.self, AssignChore.self,
      RescheduleChore.self, ArchiveChore.self, RestoreChore.self, HistoryCommand.self,
      PointsCommand.self, LeaderboardCommand.self, BadgesCommand.self, ChallengeCommand.self,
    ]),
  CommandGroup(
    name: "People",
    subcommands: [
      InitCommand.self, HouseholdCommand.self, InviteCommand.self, JoinCommand.self,
      ApproveCommand.self, MemberCommand.self, OwnerCommand.self, DeviceCommand.self,
    ]),
  CommandGroup(
    name: "Sync",
    subcommands: [
      SyncCommand.self, StatusCommand.self, TransportCommand.self, ConflictsCommand.self,
      LogCommand.self, PublicCommand.self,
    ]),
  CommandGroup(
    name: "Safety",
    subcommands: [
      WordsCommand.self, RecoverCommand.self, DoctorCommand.self, VerifyCommand.self,
      AuditCommand.self, CompareCommand.self, QuarantineCommand.self, DigestCommand.self,
    ]),
  CommandGroup(
    name: "Advanced",
    subcommands: [
      SettingsCommand.self, ExportCommand.self, VersionCommand.self, ExitCodesCommand.self,
      ManualCommand.self,
    ]),
]
