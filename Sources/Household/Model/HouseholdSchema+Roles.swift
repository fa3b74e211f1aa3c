import HearthCRDT
import HearthMembership
import HearthSync

extension HouseholdSchema {
  /// The types whose ids follow from one of their text fields and the zone.
  package static let naturalKeys: [TypeID: FieldID] = [
    setting: SettingField.key, dailyChallenge: DailyField.day,
  ]

  /// The rights of each role.
  ///
  /// Children do chores, undo and skip, and keep their own name. Members also award points, plan,
  /// and record other people's work. Admins and the owner close periods. A higher-ranking person
  /// merges somebody who has left (decision 0057).
  package static let rolePolicy = RolePolicy([
    person: .init(
      create: .writers, change: .writers, delete: .members, onlyOwn: .init(.child)),
    chore: .init(.members),
    occurrence: .init(.members),
    setting: .init(.members),
    completion: .init(
      create: .writers, change: .writers, delete: .writers,
      ofThemselves: (CompletionField.person, .init(.child))),
    retraction: .init(.writers),
    skip: .init(.writers),
    close: .init(.admins),
    // They belong into a private database, whose person is the owner.
    dailyChallenge: .init(RolePolicy.Roles(.owner)),
    challengeAttempt: .init(RolePolicy.Roles(.owner)),
    challengeUndo: .init(RolePolicy.Roles(.owner)),
    personMerge: .init(
      .admins, about: .init(person: MergeField.person, successor: MergeField.into)),
  ])
}
