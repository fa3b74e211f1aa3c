import ArgumentParser

/// The commands about the node, its people and its ways to others.
let nodeCommands: [any ParsableCommand.Type] = [
  InitCommand.self, HouseholdCommand.self, InviteCommand.self, JoinCommand.self,
  SyncCommand.self, StatusCommand.self, TransportCommand.self, MemberCommand.self,
  DeviceCommand.self, DigestCommand.self, VerifyCommand.self, DoctorCommand.self,
  LogCommand.self, WordsCommand.self, RecoverCommand.self, VersionCommand.self,
  ExitCodesCommand.self, ManualCommand.self,
]
