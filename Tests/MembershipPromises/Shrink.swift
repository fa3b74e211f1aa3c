/// Makes the history of a broken promise smaller, as long as the same promise stays broken.
///
/// Whole logs go first, then acts from the end, then single claims.
package func shrink(_ broken: Broken, _ resolve: Resolve, limit: Int = 4_000) -> Broken {
  var shrinking = Shrinking(best: broken, left: limit)
  var isMoving = true
  while isMoving && shrinking.left > 0 {
    isMoving = false
    if shrinking.dropLogs(resolve) { isMoving = true }
    if shrinking.dropActs(resolve) { isMoving = true }
    if shrinking.dropPairs(resolve) { isMoving = true }
    if shrinking.dropClaims(resolve) { isMoving = true }
  }
  return shrinking.best
}

/// The smallest history so far and how many more may be tried.
private struct Shrinking {
  var best: Broken
  var left: Int

  /// Takes the history if it breaks the same promise.
  private mutating func take(_ history: History, _ resolve: Resolve) -> Bool {
    guard left > 0 else { return false }
    left -= 1
    let checker = Checker(history, promises: [best.promise])
    guard let found = checker.firstBroken(resolve) else { return false }
    best = found
    return true
  }

  mutating func dropLogs(_ resolve: Resolve) -> Bool {
    var hasMoved = false
    for device in Set(best.history.acts.map(\.device)).sorted() {
      var smaller = best.history
      while let place = smaller.acts.lastIndex(where: { $0.device == device }) {
        smaller = smaller.without(place)
      }
      if take(smaller, resolve) { hasMoved = true }
    }
    return hasMoved
  }

  mutating func dropActs(_ resolve: Resolve) -> Bool {
    var hasMoved = false
    for place in best.history.acts.indices.reversed() where place < best.history.acts.count {
      if take(best.history.without(place), resolve) { hasMoved = true }
    }
    return hasMoved
  }

  /// An issuing and its joining, or a joining and its confirmation, go only together.
  mutating func dropPairs(_ resolve: Resolve) -> Bool {
    guard best.history.acts.count <= 16 else { return false }
    var hasMoved = false
    for one in best.history.acts.indices.reversed() {
      for other in 0..<one where one < best.history.acts.count {
        if take(best.history.without(one).without(other), resolve) { hasMoved = true }
      }
    }
    return hasMoved
  }

  /// What a liar need not claim, and what an honest author need not have heard.
  mutating func dropClaims(_ resolve: Resolve) -> Bool {
    var hasMoved = false
    for place in best.history.acts.indices {
      for device in best.history.acts[place].claims.keys.sorted() {
        let smaller = best.history.forgetting(device, at: place)
        if take(smaller, resolve) { hasMoved = true }
      }
    }
    return hasMoved
  }
}

extension History {
  /// The same history where one act claims nothing of one log, and its author knew nothing of it.
  fileprivate func forgetting(_ device: Int, at place: Int) -> History {
    var result = self
    let act = acts[place]
    var claims = act.claims
    claims[device] = nil
    result.acts[place] = act.changing(claims: claims)
    if !liars.contains(act.device) { result.known[act.id]?[device] = nil }
    return result
  }
}
