import HearthCRDT

/// A change that must come before another.
struct MissingCause: Equatable {
  let dot: Dot
  /// Whether it is one of the group's control zone.
  let isControl: Bool
}

/// Tells which changes that somebody cites are here, and which are not waited for.
///
/// The one answer to what may be applied, what waits for what, and when it is opened again.
struct CauseCheck {
  /// Which authors have a place.
  let room: AuthorRoom
  /// How far the group's control zone is, for a zone of records; nil in the control zone.
  private let control: Frontier?

  init(room: AuthorRoom, control: Frontier?) {
    self.room = room
    self.control = control
  }

  /// Whether the zone is the control zone itself.
  var isControlZone: Bool { control == nil }

  /// Whether a change is here, or none of those that anybody waits for: what is beyond the end of a
  /// log, and what nobody has a place for.
  func isHere(_ cause: MissingCause, in zone: ZoneState, claims: [Author: FalseClaim]) -> Bool {
    let (author, sequence) = (cause.dot.author, cause.dot.sequence)
    if cause.isControl, let control {
      return control[author] >= sequence || !room.isAwaitedInControl(author)
    }
    return zone.reaches(author, sequence) || zone.head(of: author).forkedAt != nil
      || (claims[author]?.sequence ?? .max) <= sequence || !room.isAwaited(author, in: zone)
  }

  /// The first cause of a change that is not here.
  ///
  /// - Parameters:
  ///   - news: what the change newly saw in its zone.
  ///   - controlSeen: all that its author had seen of the control zone.
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
