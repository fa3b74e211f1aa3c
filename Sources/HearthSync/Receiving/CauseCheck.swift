import HearthCRDT

/// A change that must come before another one.
struct MissingCause: Equatable {
  let dot: Dot
  /// Whether the change belongs to the group's control zone.
  let isControl: Bool
}

/// Decides which cited changes are applied, and which are not awaited.
///
/// All code that applies, holds back and reopens segments uses this one check.
struct CauseCheck {
  /// The authors that the zone admits.
  var room: AuthorRoom
  /// How far the group's control zone is applied, for a data zone; nil in the control zone.
  private let control: Frontier?

  init(room: AuthorRoom, control: Frontier?) {
    self.room = room
    self.control = control
  }

  /// Whether the zone is the control zone itself.
  var isControlZone: Bool { control == nil }

  /// Whether a change is applied, or is not awaited by anybody.
  ///
  /// Changes beyond the end of a log, and changes of authors without admission, are not awaited.
  func isHere(_ cause: MissingCause, in zone: ZoneState, claims: [Author: FalseClaim]) -> Bool {
    let (author, sequence) = (cause.dot.author, cause.dot.sequence)
    if cause.isControl, let control {
      return control[author] >= sequence || !room.isAwaitedInControl(author)
    }
    return zone.reaches(author, sequence) || zone.head(of: author).forkedAt != nil
      || (claims[author]?.sequence ?? .max) <= sequence || !room.isAwaited(author, in: zone)
  }

  /// The first missing cause of a change.
  ///
  /// - Parameters:
  ///   - news: What the change newly saw in its zone.
  ///   - controlSeen: Everything that its author had seen of the control zone.
  func missing(
    in news: FrontierDifference, controlSeen: Frontier, _ zone: ZoneState,
    claims: [Author: FalseClaim]
  ) -> MissingCause? {
    func missing(_ author: Author, _ sequence: UInt64, isControl: Bool) -> MissingCause? {
      let cause = MissingCause(
        dot: Dot(author: author, sequence: sequence), isControl: isControl)
      return isHere(cause, in: zone, claims: claims) ? nil : cause
    }
    if !Mutant.skipsCauses.isActive {
      for cited in news.heads {
        if let cause = missing(cited.author, cited.sequence, isControl: false) { return cause }
      }
    }
    guard let control, !control.covers(controlSeen), !Mutant.skipsControlCauses.isActive else {
      return nil
    }
    return controlSeen.entries.lazy.compactMap {
      missing($0.author, $0.sequence, isControl: true)
    }.first
  }
}
