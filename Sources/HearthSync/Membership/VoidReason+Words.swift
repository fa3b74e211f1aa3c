import HearthCRDT
import HearthMembership

extension Membership {
  /// The reason why an operation is void, in words.
  package func words(for void: VoidedOperation) -> String {
    switch void.reason {
    case .notADevice:
      return "\(deviceName(void.version.dot.author.device)) did not belong to the group then"
    case .needs(let role): return "only \(role.article) \(role.name) or higher may do this"
    case .notBelow: return "the person it concerns does not rank below its author"
    case .grantsTooMuch: return "a person can grant only roles below their own"
    case .noSubject: return "the person, device or invitation it concerns is not in the group"
    case .badProof: return "a signature in it is invalid"
    case .noWords: return "transferring the ownership needs recovery words: set some first"
    case .notIndependent:
      return "the second device joined after the words or through this one: use the old words"
    case .alreadyThere:
      switch void.operation {
      case .join, .admit:
        return
          "that person or device is already in the group: add a further device with "
          + "`hearth device add`, or have an owner or admin run `hearth device add --for PERSON`"
      default: return "it already exists"
      }
    case .usedUp: return "the invitation was used as often as it allows"
    case .expired: return "it had expired"
    case .closed: return "the invitation was closed"
    case .undecided:
      return "it depends on too many disputed operations: let the device in, or remove it"
    case .wrongInvitation: return "the invitation is for another person or another kind of joining"
    case .openCauses:
      return "its author claims to have seen an operation, but not what that operation builds on"
    case .tooMany: return "one person has too many devices or invitations"
    case .ownerStays: return "the owner must transfer the group first"
    case .overruled(let id, let rule): return words(for: rule, by: id, void)
    }
  }

  private func words(
    for rule: VoidReason.Rule, by id: RecordID, _ void: VoidedOperation
  ) -> String {
    let author = person(of: void.version.dot.author.device)?.name ?? "its author"
    let striker = items.first { $0.id == id }
    let other = striker.flatMap { person(of: $0.device)?.name } ?? "somebody"
    switch rule {
    case .authorRemoved:
      return "\(author) was removed at the same time by \(other), whose rank is higher"
    case .deviceRevoked: return "\(other) revoked the device that did it at the same time"
    case .hasLeft: return "\(author) left at the same time"
    case .rankLost: return "\(other) took the required rank from \(author) at the same time"
    case .removalAndGrant:
      return "\(other) decided otherwise at the same time, and that decision takes precedence"
    case .twoRoles:
      return "\(other) gave another role at the same time, and that role takes precedence"
    case .transferWins: return "\(other) became the owner at the same time"
    case .offerEnded: return "\(other) had withdrawn the offer before it was accepted"
    case .twoTransfers: return "\(other) took the group over at the same time"
    case .recoveryWords: return "\(other) revoked the device by recovery words at the same time"
    case .wordsTwice:
      return "another device of \(author) set recovery words at the same time: set them again"
    case .wordsReplaced: return "\(other) replaced the recovery words at the same time"
    case .invitationClosed: return "\(other) closed the invitation at the same time"
    case .invitationUsedUp: return "others had joined by the invitation at the same time"
    case .samePerson: return "another device joined under the same name at the same time"
    case .deviceTwice: return "the device joined under another name in another history of its log"
    }
  }

  private func deviceName(_ id: DeviceID) -> String {
    device(id)?.card.name ?? "device \(id.hex.prefix(8))"
  }
}

extension Role {
  fileprivate var article: String { self == .owner || self == .admin ? "an" : "a" }
}
