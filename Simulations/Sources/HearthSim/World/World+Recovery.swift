import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// Recovery words, devices that are gone for good, and what comes back from words.
extension World {
  /// `words`, `words anew`: the person of a device has words from here on, or other ones.
  func makeWords(_ step: Step, _ device: SimDevice) throws {
    guard step.words.first == "anew" else {
      _ = try words(of: device)
      return
    }
    let held = try device.membership().recovery.recoveryKeys(of: device.person)?.box
    guard let old = sheets.root(of: device.person, box: held) else {
      throw StepFailure("\(device.name) has no words")
    }
    let root = try RecoveryRoot(entropy: .random(count: RecoveryWords.entropyBytes))
    sheets.add(root, of: device.person)
    try device.arrange(at: now) {
      try RecoveryKeys.rotate(
        sign: root.publicKeys.sign, box: root.publicKeys.box, in: $1,
        consent: { .recovery(signature: old.sign(domain: $0, $1)) }, by: &$0, nowMilliseconds: $2)
    }
    SimProbe.wordsReplaced.hit()
    try sync(device)
    try device.removeCapsule(of: old)
  }

  /// The recovery words of a device's person, which are made where it has none.
  func words(of device: SimDevice) throws -> RecoveryRoot {
    let held = try device.membership().recovery.recoveryKeys(of: device.person)
    if let held {
      guard let root = sheets.root(of: device.person, box: held.box) else {
        throw StepFailure("\(device.name) has words that nobody made")
      }
      return root
    }
    let root =
      try sheets.latest(of: device.person)
      ?? RecoveryRoot(entropy: .random(count: RecoveryWords.entropyBytes))
    if sheets.latest(of: device.person) == nil { sheets.add(root, of: device.person) }
    try device.arrange(at: now) {
      try RecoveryKeys.set(
        sign: root.publicKeys.sign, box: root.publicKeys.box, in: $1, by: &$0, nowMilliseconds: $2)
    }
    return root
  }

  /// A device is destroyed: whatever only it had is gone, and its person knows.
  func destroy(_ device: SimDevice) {
    guard !device.isLost else { return }
    SimProbe.deviceDestroyed.hit()
    let zone = device.home.flatMap { try? device.engine().zone($0) }
    lose(device, "is destroyed")
    device.isDestroyed = true
    checker.forget(device)
    takeBackWhatNobodyHas(of: device, in: zone)
  }

  /// A fault took what a device had given away and nobody had taken yet: it is owed to the fault.
  ///
  /// That is what a device stored in its own copy of the folder before it was destroyed, before the
  /// folder was emptied and its database put back, or before somebody deleted it in all copies.
  ///
  /// - Parameter deleted: files that are being deleted in all copies.
  func takeBackWhatNobodyHas(
    of device: SimDevice, in zone: ZoneState?, deleting deleted: Set<FolderFile> = []
  ) {
    ledger.takeBack { promise in
      guard promise.device == device.index,
        checker.holders(of: promise.dot, in: promise.zone).allSatisfy({ devices[$0].isLost })
      else { return .others }
      return isInFolder(promise.dot, of: zone, besides: deleted) ? .others : .nobody
    }
  }

  /// Whether a copy of the folder has a file that claims to hold a change.
  private func isInFolder(
    _ dot: Dot, of zone: ZoneState?, besides deleted: Set<FolderFile>
  ) -> Bool {
    guard let zone else { return false }
    let tag = zone.authorTag(of: dot.author.device)
    return devices.contains { other in
      !other.isDestroyed
        && other.folder.names.contains { file in
          guard case .segment(let name) = file else { return false }
          return name.zoneTag == zone.tag && name.authorTag == tag
            && name.incarnation == dot.author.incarnation
            && (name.first...name.last).contains(dot.sequence) && !deleted.contains(file)
        }
    }
  }

  /// A bare device becomes one of somebody's by words: `recover WHO NEW [revoke-others]`.
  ///
  /// Once more by the same name where that came to nothing.
  func recover(_ step: Step) throws {
    guard step.words.count >= 2, let other = device(named: step.words[0]),
      let root = sheets.latest(of: other.person)
    else { return SimProbe.stepWhileOff.hit() }
    let name = step.words[1]
    let bare: SimDevice
    if let known = device(named: name) {
      guard known.home == nil else { return }
      bare = known
    } else {
      guard devices.count < 16 else { return }
      bare = try addFresh(named: name, way: other.way, person: other.person)
      commands.people[name] = other.person
      for known in devices { wakeCarriers(from: known.index) }
    }
    try boot(bare)
    try attempt(step, on: bare) {
      try bare.recover(
        with: root, revokingOthers: step.words.contains("revoke-others"), at: self.now)
      try self.checker.arranged(bare, in: self)
      try self.sync(bare)
    }
  }
}
