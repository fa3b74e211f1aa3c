import ArgumentParser

/// The commands about the node, its people and its transports.
let nodeCommands: [any ParsableCommand.Type] = [
  InitCommand.self, HouseholdCommand.self, InviteCommand.self, JoinCommand.self,
  ApproveCommand.self, MemberCommand.self, OwnerCommand.self, DeviceCommand.self,
  CompareCommand.self, AuditCommand.self, QuarantineCommand.self,
  SyncCommand.self, StatusCommand.self, TransportCommand.self,
  PublicCommand.self, DigestCommand.self, VerifyCommand.self, DoctorCommand.self,
  LogCommand.self, WordsCommand.self, RecoverCommand.self, VersionCommand.self,
  ExitCodesCommand.self, ManualCommand.self,
]
