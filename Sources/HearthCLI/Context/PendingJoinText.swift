import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// A household with a join request of this node.
struct PendingJoinText: Encodable {
  /// The household's name; `private` for the person's private database.
  let household: String
  /// `shared` or `private`.
  let database: String
  let inviter: String
  let role: String
  let asked: String
  let number: String
  let folder: String
  /// The person who reported that the invitation was closed; absent while it is open, as far as
  /// is known.
  let closedBy: String?
  /// The text about an answer that is present and not proven; absent if there is none.
  let unproven: String?
  /// The time until which the invitation admits somebody; absent if unknown.
  let expires: String?
  /// Whether the invitation is known to admit nobody any more.
  let isOver: Bool

  init(_ pending: PendingJoin, now: UInt64 = Node.wallClock()) {
    household = pending.groupName
    database = (pending.isPrivate == true ? DatabaseKind.personal : .shared).name
    inviter = pending.inviterName
    role = pending.roleName
    asked = MomentText.iso(pending.askedMilliseconds)
    number = pending.number
    folder = pending.folder
    closedBy = pending.closedBy
    unproven = pending.unproven
    expires = pending.expiresMilliseconds.map(MomentText.iso)
    isOver = pending.closedBy != nil || pending.isOver(at: now)
  }

  /// The state of the request in words.
  var words: String {
    let name = Style.safe(household)
    let inviter = Style.safe(self.inviter)
    if let teller = closedBy {
      return
        "the invitation to \(name) was closed, as \(Style.safe(teller)) told: ask for a new one"
    }
    if isOver, let expires {
      return "the invitation to \(name) ended on \(expires), and nobody has approved that this "
        + "device knows of: ask \(inviter) for a new one"
    }
    return "\(name) was asked and has not approved yet"
      + (expires.map { "; the invitation is good until \($0)" } ?? "")
  }

  /// The state of the request and the next step, for `hearth status`.
  var lines: [String] {
    let inviter = Style.safe(self.inviter)
    if database == DatabaseKind.personal.name {
      return [
        closedBy == nil
          ? "private:   waits until another device of \(inviter) lets this one in: "
            + "`hearth approve` there, then `hearth sync` here; the number is \(number)"
          : Style.yellow(
            "private:   not shared with this device: the invitation was closed; "
              + EndingText.remedyWithoutPrivate)
      ]
    }
    if let teller = closedBy {
      return [
        Style.yellow(
          "waiting:   the invitation to \(Style.safe(household)) was closed, as "
            + "\(Style.safe(teller)) told: nobody will answer"),
        "           ask \(inviter) for a new one, and `hearth join -` with it",
      ]
    }
    if isOver {
      return [
        Style.yellow("waiting:   \(words)"),
        "           then `hearth join -` with it",
      ]
    }
    return [
      "waiting:   \(Style.bold(Style.safe(household))) was asked on \(asked) "
        + "and has not approved yet"
        + (expires.map { "; the invitation is good until \($0)" } ?? ""),
      "           tell \(inviter) this number: \(number); then `hearth sync`",
    ] + [unproven].compactMap { $0 }.map { "           not believed: \(Style.safe($0))" }
  }
}
