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
        "\(Style.safe(teller)) reported that the invitation to \(name) was closed: ask for another"
    }
    if isOver, let expires {
      return "the invitation to \(name) ended on \(expires), and this device has received no "
        + "approval: ask \(inviter) for a new one"
    }
    return "\(name) has not approved this device yet"
      + (expires.map { "; the invitation expires on \($0)" } ?? "")
  }

  /// The state of the request and the next step, for `hearth status`.
  var lines: [String] {
    let inviter = Style.safe(self.inviter)
    if database == DatabaseKind.personal.name {
      return [
        closedBy == nil
          ? "private:   waits until another device of \(inviter) approves this one: "
            + "`hearth approve` there, then `hearth sync` here; the number is \(number)"
          : Style.yellow(
            "private:   not shared with this device: the invitation was closed; "
              + EndingText.remedyWithoutPrivate)
      ]
    }
    if let teller = closedBy {
      return [
        Style.yellow(
          "waiting:   \(Style.safe(teller)) reported that the invitation to "
            + "\(Style.safe(household)) was closed: nobody will answer"),
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
      "waiting:   you asked \(Style.bold(Style.safe(household))) on \(asked), and it "
        + "has not approved yet"
        + (expires.map { "; the invitation expires on \($0)" } ?? ""),
      "           tell \(inviter) this number: \(number); then `hearth sync`",
    ] + [unproven].compactMap { $0 }.map { "           answer rejected: \(Style.safe($0))" }
  }
}
