/// The whole run at a glance: a strip for each device, time from left to right.
struct Overview {
  private let run: RunPicture
  private static let width = 1_000.0

  init(_ run: RunPicture) {
    self.run = run
  }

  private func x(_ time: UInt64) -> Double {
    let length = Double(max(1, run.end - run.start))
    return min(1, max(0, Double(time) - Double(run.start)) / length) * Overview.width
  }

  /// Rows of a name and a strip, and a line of time below.
  var html: String {
    var out = "<div class=\"over\">"
    for (device, name) in run.devices.enumerated() {
      out += """
        <div class="who">\(Markup.text(name))</div><svg viewBox="0 0 1000 30" \
        preserveAspectRatio="none" role="img" aria-label="\(Markup.text(name))">
        <line class="lane" x1="0" x2="1000" y1="15" y2="15"/>\(strip(device))</svg>
        """
    }
    let days = (run.end - run.start) / 86_400_000
    return out + """
      <div></div><div class="scale"><span>start</span><span>\
      \(Markup.span((run.end - run.start) / 2))\
      </span><span>\(days > 0 ? Markup.span(run.end - run.start) : "end")</span></div></div>
      """
  }

  private func strip(_ device: Int) -> String {
    var out = ""
    for (way, span) in run.cuts where way.from == device || way.to == device {
      out += rect(span.from, span.to, way.to == device ? 0 : 20, 10, "cut", span.text)
    }
    for span in run.off[device] {
      out += rect(span.from, span.to, 11, 8, "offspan", "\(run.devices[device]) \(span.text)")
    }
    let steps = run.clocks[device]
    for (place, step) in steps.enumerated() where abs(step.ahead) > 1_000 {
      let end = place + 1 < steps.count ? steps[place + 1].time : run.end
      out += rect(
        step.time, end, 26, 4, step.ahead > 0 ? "ahead" : "behind",
        "the clock is \(Markup.span(step.ahead.magnitude)) "
          + (step.ahead > 0 ? "ahead" : "behind"))
    }
    return out + ticks(device)
  }

  /// Writes, crashes and refusals, those at one place once.
  private func ticks(_ device: Int) -> String {
    var drawn: Set<String> = []
    var out = ""
    for line in run.result.lines
    where line.device == device && ["write", "off", "refused"].contains(line.kind) {
      let place = Int(x(line.time) / 2) * 2
      guard drawn.insert("\(line.kind)\(place)").inserted else { continue }
      let (top, height) = line.kind == "off" ? (4, 22) : line.kind == "write" ? (9, 12) : (11, 8)
      out += """
        <rect class="t-\(line.kind)" x="\(place)" y="\(top)" width="2" height="\(height)">\
        \(Markup.title("\(run.clock(line.time)) \(line.text)"))</rect>
        """
    }
    return out
  }

  private func rect(
    _ from: UInt64, _ to: UInt64, _ top: Int, _ height: Int, _ kind: String, _ words: String
  ) -> String {
    """
    <rect class="\(kind)" x="\(Markup.place(x(from)))" y="\(top)" \
    width="\(Markup.place(max(2, x(to) - x(from))))" height="\(height)">\
    \(Markup.title("\(words), \(run.clock(from)) to \(run.clock(to))"))</rect>
    """
  }
}
