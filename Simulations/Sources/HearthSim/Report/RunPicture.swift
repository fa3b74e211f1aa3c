import Household

/// One run, sorted into what is drawn of it.
struct RunPicture {
  /// A span of time in which something was so.
  struct Span {
    let from: UInt64
    var to: UInt64
    let text: String
  }

  /// A way between two devices, one way.
  struct Way: Hashable, Comparable {
    let from: Int
    let to: Int

    static func < (left: Way, right: Way) -> Bool {
      (left.from, left.to) < (right.from, right.to)
    }
  }

  let plan: Plan
  let outcome: Simulator.Outcome
  let result: RunResult
  let start: UInt64
  let end: UInt64
  /// When each device was off.
  private(set) var off: [[Span]]
  /// When a device was cut off from everybody.
  private(set) var isolated: [[Span]]
  /// When single ways were cut.
  private(set) var cuts: [(way: Way, span: Span)] = []
  /// How far each clock was ahead, from when on.
  private(set) var clocks: [[(time: UInt64, ahead: Int64)]]

  init(_ plan: Plan, _ outcome: Simulator.Outcome, _ result: RunResult) {
    self.plan = plan
    self.outcome = outcome
    self.result = result
    start = result.startMilliseconds
    end = max(result.lines.last?.time ?? start, start + 1)
    off = result.devices.map { _ in [] }
    isolated = off
    clocks = result.devices.map { _ in [] }
    readSpans()
  }

  var devices: [String] { result.devices }

  /// A line's own words, without the time and name that stand beside it anyway.
  static func words(_ line: Trace.Line) -> String {
    guard let step = try? Step(line.text) else { return line.text }
    if step.verb == "clock" { return clockWords(step) }
    return ([step.verb] + step.words).joined(separator: " ")
  }

  private static func clockWords(_ step: Step) -> String {
    if let wall = step.value("to").flatMap({ UInt64($0) }) {
      let minutes = wall / 60_000 % 1_440
      let day = (try? CivilDate(dayNumber: Int(clamping: wall / 86_400_000)))?.iso ?? "no day"
      let time = Step(at: minutes * 60_000, "", "").line.split(separator: " ")[1].prefix(5)
      return "clock set to \(day) \(time)"
    }
    if let by = step.value("by").flatMap({ Int64($0) }) {
      return "clock set \(by > 0 ? "forward" : "back") by \(Markup.span(by.magnitude))"
    }
    return "clock runs at \(step.value("ppm") ?? "?") parts per million"
  }

  /// `1d 08:30:05` after the start.
  func clock(_ time: UInt64) -> String {
    let parts = Step(at: max(time, start) - start, "", "").line.split(separator: " ").prefix(2)
    return parts.joined(separator: " ").split(separator: ".").first.map(String.init) ?? ""
  }

  private mutating func readSpans() {
    var open: [Int: Span] = [:]
    var openWays: [Way: Span] = [:]
    var shown = result.devices.map { _ in SimClock() }
    for line in result.lines {
      if let device = line.device {
        switch line.kind {
        case "off" where open[device] == nil:
          open[device] = Span(from: line.time, to: end, text: line.text)
        case "boot":
          if var span = open.removeValue(forKey: device) {
            span.to = line.time
            off[device].append(span)
          }
        case "step": move(&shown, line, device)
        default: break
        }
      } else if line.kind == "world", let step = try? Step(line.text) {
        turn(step, line.time, &openWays)
      }
    }
    for (device, span) in open { off[device].append(span) }
    for (way, span) in openWays { cuts.append((way, span)) }
    cuts.sort { ($0.span.from, $0.way) < ($1.span.from, $1.way) }
    gatherIsolated()
  }

  private mutating func move(_ shown: inout [SimClock], _ line: Trace.Line, _ device: Int) {
    guard let step = try? Step(line.text), step.verb == "clock" else { return }
    if let by = step.value("by").flatMap({ Int64($0) }) {
      shown[device].step(by: by, at: line.time)
    } else if let wall = step.value("to").flatMap({ UInt64($0) }) {
      shown[device].set(to: wall, at: line.time)
    } else if let drift = step.value("ppm").flatMap({ Int64($0) }) {
      shown[device].run(partsPerMillion: drift, at: line.time)
    }
    // A drift is shown by what it comes to at the end.
    let seen = shown[device].drift == 0 ? line.time : end
    clocks[device].append(
      (line.time, Int64(clamping: shown[device].wall(at: seen)) - Int64(clamping: seen)))
  }

  private func ways(_ words: [String]) -> [Way] {
    let all = devices.indices.flatMap { from in
      devices.indices.filter { $0 != from }.map { Way(from: from, to: $0) }
    }
    if words.isEmpty { return all }
    return words.flatMap { word -> [Way] in
      let sign: Character = word.contains(">") ? ">" : "-"
      // A device's own name may have a hyphen.
      if let only = devices.firstIndex(of: word) {
        return all.filter { $0.from == only || $0.to == only }
      }
      let ends = word.split(separator: sign).compactMap { devices.firstIndex(of: String($0)) }
      guard ends.count == 2 else { return [] }
      let there = Way(from: ends[0], to: ends[1])
      return sign == ">" ? [there] : [there, Way(from: ends[1], to: ends[0])]
    }
  }

  private mutating func turn(_ step: Step, _ time: UInt64, _ open: inout [Way: Span]) {
    for way in ways(step.words) {
      if step.verb == "cut", open[way] == nil {
        let text = "\(devices[way.from]) → \(devices[way.to]) is cut"
        open[way] = Span(from: time, to: end, text: text)
      } else if step.verb == "heal", var span = open.removeValue(forKey: way) {
        span.to = time
        cuts.append((way, span))
      }
    }
  }

  /// Where every way of a device is cut in the same span, the device is shown as cut off.
  private mutating func gatherIsolated() {
    for device in devices.indices {
      let own = cuts.filter { $0.way.from == device || $0.way.to == device }
      let starts = Set(own.map { [$0.span.from, $0.span.to] })
      for pair in starts.sorted(by: { $0[0] < $1[0] }) {
        let same = own.filter { $0.span.from == pair[0] && $0.span.to == pair[1] }
        guard same.count >= 2 * (plan.devices.count - 1), devices.count > 2 || same.count == 2
        else { continue }
        isolated[device].append(
          Span(from: pair[0], to: pair[1], text: "\(devices[device]) is cut off"))
      }
    }
  }
}
