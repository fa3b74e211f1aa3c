/// What goes wrong, as steps of the plan.
extension Generator {
  /// Draws the faults of every family that is on.
  mutating func trouble(through end: Int) {
    partitions(through: end)
    disks(through: end)
    clocks(through: end)
    lives(through: end)
    folders(through: end)
  }

  private mutating func times(_ family: Family, atMost: Int, through end: Int) -> [Int] {
    let rate = weight(family)
    guard rate > 0 else { return [] }
    let number = max(1, atMost * rate / 100)
    return (0..<chance.within(1...number)).map { _ in 600_000 + chance.below(end - 600_000) }
  }

  private mutating func name() -> String { chance.pick(plan.devices).name }

  private mutating func partitions(through end: Int) {
    for at in times(.partitions, atMost: 12, through: end) {
      let (one, other) = (name(), name())
      let way: String
      switch chance.below(4) {
      case 0: way = "\(one)"
      case 1: way = "\(one)-\(other)"
      default: way = "\(one)>\(other)"
      }
      step(at, "world", "cut", [way])
      step(at + chance.within(60_000...Generator.dayMilliseconds), "world", "heal", [way])
    }
    // Swizzle: many ways stop one by one and start again in another order.
    guard weight(.partitions) > 30, chance.happens(perMille: 300) else { return }
    let start = chance.below(end)
    for device in plan.devices {
      step(start + chance.below(3_600_000), "world", "cut", [device.name])
      step(start + 7_200_000 + chance.below(7_200_000), "world", "heal", [device.name])
    }
  }

  private mutating func disks(through end: Int) {
    for at in times(.power, atMost: 15, through: end) {
      switch chance.below(5) {
      case 0: step(at, name(), "power-now")
      case 1: step(at, name(), "kill")
      case 2: step(at, name(), "kill-in", ["in=\(chance.within(1...60))"])
      default: step(at, name(), "power", ["in=\(chance.within(1...60))"])
      }
    }
    for at in times(.disk, atMost: 8, through: end) {
      let verb = chance.pick(["disk-full", "disk-error", "read-error", "sync-error"])
      let device = name()
      step(at, device, verb, ["in=\(chance.within(1...40))", "for=\(chance.within(1...4))"])
      // Most reads are those of opening.
      if verb == "read-error" { step(at + 1_000, device, "restart") }
    }
    if weight(.disk) > 60, chance.happens(perMille: 200) {
      step(
        600_000 + chance.below(end - 600_000), name(), "sync-lie",
        ["in=1", "for=\(chance.within(1...20))"])
    }
  }

  private mutating func clocks(through end: Int) {
    for at in times(.clocks, atMost: 8, through: end) {
      let device = name()
      switch chance.below(6) {
      case 0: step(at, device, "clock", ["to=\(chance.below(100_000_000))"])
      case 1: step(at, device, "clock", ["to=\(4_092_000_000_000 + chance.below(86_400_000))"])
      case 2: step(at, device, "clock", ["by=\(chance.within(-600_000...600_000))"])
      case 3: step(at, device, "clock", ["by=\(chance.within(-90_000_000...90_000_000))"])
      default: step(at, device, "clock", ["ppm=\(chance.within(-500...500))"])
      }
      if chance.happens(perMille: 600) {
        let back = at + chance.within(60_000...Generator.dayMilliseconds)
        step(back, device, "clock", ["to=\(plan.startMilliseconds + UInt64(back))"])
      }
    }
  }

  private mutating func lives(through end: Int) {
    for (number, at) in times(.lives, atMost: 3, through: end).enumerated() {
      let device = name()
      if chance.happens(perMille: 400) {
        let copy = "\(device)\(number + 2)"
        step(at, device, "clone", [copy])
        for _ in 0..<chance.within(1...6) {
          let later = at + chance.below(max(1, end - at))
          step(later, copy, chance.pick(["complete", "edit"]), ["c0", "title=Canary \(number)"])
          step(later + chance.below(600_000), copy, "sync")
        }
      } else {
        step(at, device, "save", ["s\(number)"])
        // What nobody can notice is found in the own files, where these are there.
        let isUnnoticed = weight(.folders) == 0 && chance.happens(perMille: 400)
        let how = isUnnoticed ? ["unnoticed"] : chance.happens(perMille: 300) ? ["database"] : []
        let back = at + chance.within(60_000...Generator.dayMilliseconds)
        step(back, device, "rollback", ["s\(number)"] + how)
        guard isUnnoticed, chance.happens(perMille: 500) else { continue }
        step(back + 1_000, device, "tally", ["k0", "add", "1"])
      }
    }
    for at in times(.lives, atMost: 6, through: end) {
      let device = name()
      if chance.happens(perMille: 150) {
        step(at, device, "anchor", [chance.pick(["s0", "s1", "none"])])
      } else if chance.happens(perMille: 500) {
        step(at, device, "restart")
      } else {
        step(at, device, "stop")
        step(at + chance.within(60_000...2 * Generator.dayMilliseconds), device, "start")
      }
    }
  }

  private mutating func folders(through end: Int) {
    for at in times(.folders, atMost: 8, through: end) {
      let device = name()
      let back = at + chance.within(60_000...Generator.dayMilliseconds / 2)
      switch chance.below(5) {
      case 4:
        step(at, device, "wipe", chance.happens(perMille: 400) ? ["told"] : [])
        // Before the others' files are there again it gives what it has.
        if chance.happens(perMille: 300) { step(at + 1, device, "sync") }
      case 0:
        step(at, device, "unplug")
        step(back, device, "plug")
      case 1:
        step(at, device, "folder-full")
        step(back, device, "folder-full", ["off"])
      case 2:
        step(at, device, "folder-stale")
        step(back, device, "folder-stale", ["off"])
      default: step(at, device, "resurrect")
      }
    }
    for at in times(.damage, atMost: 8, through: end) {
      step(at, name(), "damage", [chance.pick(["flip", "cut", "zero", "swap"])])
    }
    for at in times(.damage, atMost: 30, through: end) {
      let kinds = [
        "body", "signature", "signature", "cut", "noise", "chain", "chain", "trailing", "trailing",
        "garbage", "newer", "count", "length", "zeros",
      ]
      step(at, name(), "forge", [chance.pick(kinds)])
    }
    for at in times(.lateness, atMost: 4, through: end) {
      step(at, name(), chance.pick(["redeliver", "rebuild"]))
    }
    for at in times(.lateness, atMost: 3, through: end) {
      step(at, plan.devices[0].name, "snapshot")
    }
  }
}
