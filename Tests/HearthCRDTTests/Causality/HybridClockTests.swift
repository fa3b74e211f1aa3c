import HearthCRDT
import TestSupport
import Testing

@Suite("The hybrid clock")
struct HybridClockTests {
  let now: UInt64 = 1_790_000_000_000
  let lead = HybridClock.maximumLeadMilliseconds

  @Test("times given out rise strictly while the wall clock stays within five minutes")
  func monotone() {
    for seed in 0..<50 {
      var random = SplitMix64(seed: UInt64(seed))
      var clock = HybridClock()
      var wall = now
      var last = HybridTime(rawValue: 0)
      for _ in 0..<300 {
        wall = random.oneIn(10) ? now + UInt64(random.below(1_000)) : wall + UInt64(random.below(3))
        if random.oneIn(3) {
          let time = HybridTime(milliseconds: wall + UInt64(random.below(Int(lead))), counter: 9)
          #expect(clock.receive(time, nowMilliseconds: wall) == 0, "seed \(seed)")
          #expect(clock.latest >= time, "seed \(seed)")
        }
        // What was given out beyond that is stepped back from.
        if max(clock.latest, last).milliseconds > wall + lead { continue }
        let time = clock.tick(nowMilliseconds: wall)
        #expect(time > last && time >= HybridTime(milliseconds: wall), "seed \(seed)")
        last = time
      }
    }
  }

  @Test("a received time counts up to five minutes ahead, and not a millisecond further")
  func bound() {
    var clock = HybridClock(latest: HybridTime(milliseconds: now))
    let atBound = HybridTime(milliseconds: now + lead, counter: .max)
    #expect(clock.receive(atBound, nowMilliseconds: now) == 0)
    #expect(clock.latest == atBound)
    let beyond = HybridTime(milliseconds: now + lead + 1)
    #expect(clock.receive(beyond, nowMilliseconds: now) == 1)
    #expect(clock.latest == atBound)
  }

  @Test("a peer in 2099 moves nothing and is told how far ahead it is")
  func year2099() {
    var clock = HybridClock(latest: HybridTime(milliseconds: now))
    let far = HybridTime(milliseconds: 4_070_908_800_000)
    #expect(clock.receive(far, nowMilliseconds: now) == far.milliseconds - now - lead)
    #expect(clock.tick(nowMilliseconds: now).milliseconds == now)
  }

  @Test("set back behind what others wrote, it still goes on beyond its own last time")
  func setBackBehindOthers() {
    var clock = HybridClock()
    let own = clock.tick(nowMilliseconds: now)
    let hour: UInt64 = 3_600_000
    #expect(
      clock.receive(HybridTime(milliseconds: now + hour), nowMilliseconds: now + hour) == 0)
    let next = clock.tick(nowMilliseconds: now - 1_000)
    #expect(next > own && next.milliseconds == now)
    // The same after a start, from what is stored.
    var loaded = HybridClock()
    loaded.resume(after: own, nowMilliseconds: now - 1_000)
    _ = loaded.receive(HybridTime(milliseconds: now + lead - 1_000), nowMilliseconds: now)
    #expect(loaded.tick(nowMilliseconds: now - lead) > own)
    // Its own time from years ahead does not bind it.
    _ = clock.tick(nowMilliseconds: 4_070_908_800_000)
    #expect(clock.tick(nowMilliseconds: now).milliseconds == now)
  }

  @Test("a clock started while it was set back goes on beyond its last time once that is near")
  func startedWhileSetBack() {
    let own = HybridTime(milliseconds: now)
    var clock = HybridClock()
    clock.resume(after: own, nowMilliseconds: now - 10 * lead)
    var running = HybridClock()
    #expect(running.tick(nowMilliseconds: now) == own)
    for wall in [now - 10 * lead, now - lead - 1, now - lead, now - 1, now + 1] {
      let time = clock.tick(nowMilliseconds: wall)
      #expect(time == running.tick(nowMilliseconds: wall))
      #expect((time > own) == (wall >= now - lead))
    }
  }

  @Test("what it writes while it is set back does not make it forget its last time before that")
  func writesWhileSetBack() {
    let day: UInt64 = 86_400_000
    let time = HybridTime(milliseconds: now)
    for isStarted in [false, true] {
      var clock = HybridClock()
      // The greatest mistake, and then two set-backs.
      _ = clock.tick(nowMilliseconds: 4_070_908_800_000)
      if isStarted {
        clock.resume(after: time, nowMilliseconds: now - day)
      } else {
        _ = clock.tick(nowMilliseconds: now)
        // What others wrote later would count again only after that.
        _ = clock.receive(HybridTime(milliseconds: now + day), nowMilliseconds: now + day)
      }
      #expect(clock.tick(nowMilliseconds: now - day).milliseconds == now - day)
      #expect(clock.tick(nowMilliseconds: now - 2 * day).milliseconds == now - 2 * day)
      let again = clock.tick(nowMilliseconds: now - day - 1)
      #expect(again.milliseconds == now - day && again.counter == 1)
      #expect(clock.tick(nowMilliseconds: now - lead) > time)
    }
  }

  @Test("a peer in 1970 is accepted and moves nothing")
  func year1970() {
    var clock = HybridClock(latest: HybridTime(milliseconds: now))
    #expect(clock.receive(HybridTime(rawValue: 5), nowMilliseconds: now) == 0)
    #expect(clock.latest == HybridTime(milliseconds: now))
  }

  @Test("the own clock set back a little goes on counting, set back from 2099 starts again")
  func setBack() {
    var clock = HybridClock()
    let before = clock.tick(nowMilliseconds: now)
    let after = clock.tick(nowMilliseconds: now - lead)
    #expect(after == HybridTime(rawValue: before.rawValue + 1))
    _ = clock.tick(nowMilliseconds: 4_070_908_800_000)
    #expect(clock.tick(nowMilliseconds: now) == HybridTime(milliseconds: now))
  }

  @Test("what is accepted after the own clock was put right is not forgotten")
  func acceptsAfterPutRight() {
    var clock = HybridClock()
    _ = clock.tick(nowMilliseconds: 4_070_908_800_000)
    let ahead = HybridTime(milliseconds: now + lead - 1)
    #expect(clock.receive(ahead, nowMilliseconds: now) == 0)
    let next = clock.tick(nowMilliseconds: now)
    #expect(next > ahead && next.milliseconds == ahead.milliseconds)
    // Wrong again, and less so: still beyond all that it gave out since.
    let wrong = clock.tick(nowMilliseconds: 4_070_908_800_000)
    _ = clock.receive(ahead, nowMilliseconds: now)
    #expect(clock.tick(nowMilliseconds: 4_070_908_800_000 - 1_000) > wrong)
  }

  @Test("what was accepted counts again once the wall clock, set back, comes near it")
  func acceptedCountsAgain() {
    var clock = HybridClock()
    let accepted = HybridTime(milliseconds: now)
    _ = clock.receive(accepted, nowMilliseconds: now)
    let early = clock.tick(nowMilliseconds: now - 10 * lead)
    #expect(early == HybridTime(milliseconds: now - 10 * lead))
    #expect(clock.tick(nowMilliseconds: now - lead - 1) < accepted)
    #expect(clock.tick(nowMilliseconds: now - lead) > accepted)
  }

  @Test("a full counter carries into the milliseconds")
  func counter() {
    var clock = HybridClock(latest: HybridTime(milliseconds: now, counter: .max))
    #expect(clock.tick(nowMilliseconds: now) == HybridTime(milliseconds: now + 1))
  }

  @Test("wall clocks of any value trap nowhere and never turn the clock to zero")
  func extremes() {
    for wall in [0, 1, HybridTime.maximumMilliseconds, .max - 1, .max] as [UInt64] {
      for raw in [0, 1, .max - 1, .max] as [UInt64] {
        var clock = HybridClock(latest: HybridTime(rawValue: raw))
        _ = clock.receive(HybridTime(rawValue: .max), nowMilliseconds: wall)
        let first = clock.tick(nowMilliseconds: wall)
        #expect(clock.tick(nowMilliseconds: wall) >= first)
        #expect(first >= HybridTime(milliseconds: wall))
      }
    }
    var clock = HybridClock()
    #expect(clock.receive(HybridTime(rawValue: .max), nowMilliseconds: .max) == 0)
  }
}
