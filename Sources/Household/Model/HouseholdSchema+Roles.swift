import HearthCRDT
import HearthMembership
import HearthSync

extension HouseholdSchema {
  /// The types whose ids follow from a text of theirs, in the zone they are in.
  package static let naturalKeys: [TypeID: FieldID] = [
    setting: SettingField.key, dailyChallenge: DailyField.day,
  ]

  /// What each role may do: children do chores, take back and skip, and keep their own name; what
  /// costs or gives points, what plans and what tells of others' work is for members, what settles
  /// for admins and the owner.
  ///
  /// Who counts as whom is said by who ranks above, of somebody who has gone (decision 0057).
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
    personMerge: .init(
      .admins, about: .init(person: MergeField.person, successor: MergeField.into)),
  ])
}
