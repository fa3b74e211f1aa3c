import HearthCRDT
import HearthMembership

/// The changes of a batch that may end somebody's reading, and that a membership does not contain
/// yet.
///
/// The membership must contain them before a key is judged whose user had seen them. That costs a
/// fold. So people and devices that do not belong to the group by this membership are left out, and
/// authors who may not remove anybody: nobody can cause more folds than there are people and
/// devices to remove.
struct NewRemovals {
  private let membership: Membership
  /// The first such change of each author.
  private var first: [Author: UInt64] = [:]

  init(after membership: Membership) {
    self.membership = membership
  }

  /// Notes an applied change if it may end somebody's reading.
  mutating func note(_ change: Change) {
    guard first[change.dot.author] == nil, mayEndReading(change) else { return }
    first[change.dot.author] = change.dot.sequence
  }

  /// Whether somebody who had seen so much had seen one of them.
  func isCited(at heads: Frontier) -> Bool {
    first.contains { author, sequence in heads[author] >= sequence }
  }

  private func mayEndReading(_ change: Change) -> Bool {
    let author = change.dot.author.device
    return change.controlOperations.contains { operation in
      switch operation {
      case .removeMember(let removal):
        mayRemove(author) && membership.people.contains { $0.id == removal.person }
      case .leave: membership.device(author) == nil || membership.isActive(author)
      case .revokeDevice(let revocation): membership.isActive(revocation.device)
      case .recover(let recovery): recovery.revokesOthers
      default: false
      }
    }
  }

  /// Whether a device may remove people; a device that is not known may have joined meanwhile.
  private func mayRemove(_ device: DeviceID) -> Bool {
    membership.device(device) == nil
      || (membership.role(of: device)?.rank ?? 0) >= Role.admin.rank
  }
}
