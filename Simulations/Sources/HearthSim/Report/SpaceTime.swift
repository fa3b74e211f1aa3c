import HearthCRDT

/// The space-time diagram: a lane for each device, time downwards, a row for each thing that
/// happened, arrows for files from where they were stored to where they arrived.
///
/// Rows are of equal height: idle time takes no room, and is told where it is long. Only the last
/// rows before the end, or before what failed, are drawn.
struct SpaceTime {
  private let run: RunPicture
  private var rows: [Trace.Line] = []
  private var skipped = 0
  private static let maximumRows = 110
  private static let maximumArrows = 700
  private static let rowHeight = 20.0
  private static let top = 54.0
  private static let left = 92.0
  private let laneWidth: Double
  private let textLeft: Double

  init(_ run: RunPicture) {
    self.run = run
    laneWidth = run.devices.count > 8 ? 40 : 54
    textLeft = SpaceTime.left + laneWidth * Double(run.devices.count) + 6
    let worth = run.result.lines.filter(SpaceTime.isRow)
    rows = Array(worth.suffix(SpaceTime.maximumRows))
    skipped = worth.count - rows.count
  }

  private static func isRow(_ line: Trace.Line) -> Bool {
    switch line.kind {
    case "write", "refused", "off", "boot", "violation", "world", "ready": return true
    case "sync": return !line.text.contains("0 changes in, 0 segments")
    case "step":
      let quiet = Commands.verbs + ["sync", "stop", "kill", "power-now", "paste"]
      return (try? Step(line.text)).map { !quiet.contains($0.verb) } ?? false
    default: return false
    }
  }

  private func x(_ device: Int) -> Double {
    SpaceTime.left + laneWidth * (Double(device) + 0.5)
  }

  private func y(row: Int) -> Double { SpaceTime.top + SpaceTime.rowHeight * (Double(row) + 0.5) }

  /// Where a time lies between the rows.
  private func y(_ time: UInt64) -> Double {
    guard let first = rows.first, time >= first.time else { return SpaceTime.top - 8 }
    let low = rows.partitionPoint { $0.time > time } - 1
    guard low + 1 < rows.count else { return y(row: low) + 4 }
    let (from, to) = (rows[low].time, rows[low + 1].time)
    let part = to > from ? Double(time - from) / Double(to - from) : 0
    return y(row: low) + SpaceTime.rowHeight * part
  }

  private var height: Double { SpaceTime.top + SpaceTime.rowHeight * Double(rows.count) + 16 }

  /// How many earlier rows are left out.
  var omitted: Int { skipped }

  /// The drawing.
  var svg: String {
    let width = textLeft + 600
    return """
      <svg class="st" width="\(Int(width))" height="\(Int(height))" \
      viewBox="0 0 \(Int(width)) \(Int(height))" role="img" \
      aria-label="Space-time diagram of the run">
      <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" \
      markerHeight="7" orient="auto"><path d="M0 1 L8 4 L0 7z" class="tip"/></marker></defs>
      \(shades)\(lanes)\(arrows)\(rowMarks)\(heads)
      </svg>
      """
  }

  private var heads: String {
    run.devices.enumerated().map { place, name in
      """
      <text class="head" x="\(Markup.place(x(place)))" y="24" text-anchor="middle">\
      \(Markup.text(Markup.short(name, 8)))</text>
      """
    }.joined()
  }

  // MARK: Lanes and what lies behind them

  private var lanes: String {
    let bottom = height - 10
    return run.devices.indices.map { device in
      let place = Markup.place(x(device))
      var out =
        "<line class=\"lane\" x1=\"\(place)\" x2=\"\(place)\" y1=\"32\" y2=\"\(Int(bottom))\"/>"
      for span in run.off[device] where span.to >= (rows.first?.time ?? 0) {
        out += """
          <line class="off" x1="\(place)" x2="\(place)" y1="\(Markup.place(y(span.from)))" \
          y2="\(Markup.place(y(span.to)))">\(Markup.title("\(run.devices[device]) \(span.text)"))\
          </line>
          """
      }
      return out
    }.joined()
  }

  private var shades: String {
    var out = ""
    let from = rows.first?.time ?? 0
    for device in run.devices.indices {
      for span in run.isolated[device] where span.to >= from {
        out += band(x(device) - laneWidth * 0.42, laneWidth * 0.84, span, "cut")
      }
      out += clockStrip(device)
    }
    for (way, span) in run.cuts where span.to >= from {
      if (run.isolated[way.from] + run.isolated[way.to]).contains(where: { $0.from == span.from }) {
        continue
      }
      // At the edge of the lane that hears nothing, on the side of the one that is not heard.
      let side = way.from < way.to ? -1.0 : 1.0
      out += band(x(way.to) + side * 10 - 4, 8, span, "cut")
    }
    return out
  }

  private func band(
    _ left: Double, _ width: Double, _ span: RunPicture.Span, _ kind: String
  ) -> String {
    let (top, bottom) = (y(span.from), y(span.to))
    return """
      <rect class="\(kind)" x="\(Markup.place(left))" y="\(Markup.place(top))" \
      width="\(Markup.place(width))" height="\(Markup.place(max(3, bottom - top)))">\
      \(Markup.title("\(span.text), \(run.clock(span.from)) to \(run.clock(span.to))"))</rect>
      """
  }

  private func clockStrip(_ device: Int) -> String {
    let steps = run.clocks[device]
    return steps.enumerated().map { place, step in
      let end = place + 1 < steps.count ? steps[place + 1].time : run.end
      guard end >= (rows.first?.time ?? 0), abs(step.ahead) > 1_000 else { return "" }
      let words =
        "\(run.devices[device])'s clock is \(Markup.span(step.ahead.magnitude)) "
        + (step.ahead > 0 ? "ahead" : "behind")
      return band(
        x(device) + 13, 5, RunPicture.Span(from: step.time, to: end, text: words),
        step.ahead > 0 ? "ahead" : "behind")
    }.joined()
  }

  // MARK: Arrows

  private var arrows: String {
    struct Key: Hashable {
      let way: RunPicture.Way
      let from: Int
      let to: Int
      let kind: String
    }
    var bundles: [Key: [String]] = [:]
    var order: [Key] = []
    for line in run.result.lines where ["carry", "removal"].contains(line.kind) {
      guard let to = line.device, let from = line.from, let sent = line.sent,
        line.time >= (rows.first?.time ?? 0)
      else { continue }
      let key = Key(
        way: RunPicture.Way(from: from, to: to), from: Int(y(sent) / 7), to: Int(y(line.time) / 7),
        kind: line.kind)
      if bundles[key] == nil { order.append(key) }
      bundles[key, default: []].append(line.text)
    }
    return losses
      + order.suffix(SpaceTime.maximumArrows).map { key in
        let texts = bundles[key] ?? []
        let (from, to) = (x(key.way.from), x(key.way.to))
        let inset = from < to ? 7.0 : -7.0
        let words =
          "\(run.devices[key.way.from]) → \(run.devices[key.way.to]): "
          + texts.prefix(4).joined(separator: "; ")
          + (texts.count > 4 ? "; and \(texts.count - 4) more" : "")
        let weight =
          (texts.count > 2 ? " many" : "") + (key.to - key.from > 40 ? " late" : "")
        return """
          <line class="arrow \(key.kind)\(weight)" \
          x1="\(Markup.place(from + inset))" y1="\(key.from * 7 + 3)" \
          x2="\(Markup.place(to - inset))" y2="\(key.to * 7 + 3)" marker-end="url(#tip)">\
          \(Markup.title(words))</line>
          """
      }.joined()
  }

  /// Attempts that came to nothing: a small mark at the lane that waits.
  private var losses: String {
    var drawn: Set<String> = []
    return run.result.lines.filter { $0.kind == "lost" && $0.time >= (rows.first?.time ?? 0) }
      .compactMap { line in
        guard let to = line.device, let from = line.from else { return nil }
        let place = Int(y(line.time) / 7) * 7 + 3
        let left = Int(x(to) + (from < to ? -9 : 9))
        guard drawn.insert("\(left) \(place)").inserted else { return nil }
        let words = "a file from \(run.devices[from]) was lost on the way to \(run.devices[to])"
        return """
          <circle class="loss" cx="\(left)" cy="\(place)" r="2">\(Markup.title(words))</circle>
          """
      }.joined()
  }

  // MARK: Rows

  private var rowMarks: String {
    var out = ""
    for (place, line) in rows.enumerated() {
      let middle = y(row: place)
      let isViolation = line.kind == "violation"
      if isViolation {
        out +=
          "<rect class=\"bad\" x=\"0\" y=\"\(Markup.place(middle - 10))\" width=\"100%\" "
          + "height=\"20\"/>"
      }
      let before = place > 0 ? rows[place - 1].time : line.time
      if place == 0 || line.time != before {
        out +=
          "<text class=\"time\" x=\"84\" y=\"\(Markup.place(middle + 4))\" text-anchor=\"end\">"
          + "\(run.clock(line.time))</text>"
      }
      if day(line.time) != day(before) {
        out += gap(middle - SpaceTime.rowHeight / 2, line.time - before)
      }
      let who = line.device.map { run.devices[$0] + " " } ?? ""
      let words = Markup.short(who + said(line), 96)
      out +=
        "<text class=\"words \(line.kind)\" x=\"\(Markup.place(textLeft))\" "
        + "y=\"\(Markup.place(middle + 4))\">\(Markup.text(words))"
        + Markup.title("\(run.clock(line.time)) \(who)\(line.text)") + "</text>"
      out += mark(line, middle)
    }
    return out
  }

  private func day(_ time: UInt64) -> UInt64 { (max(time, run.start) - run.start) / 86_400_000 }

  private func gap(_ place: Double, _ length: UInt64) -> String {
    """
    <line class="gap" x1="88" x2="\(Markup.place(textLeft - 8))" y1="\(Markup.place(place))" \
    y2="\(Markup.place(place))">\(Markup.title("\(Markup.span(length)) pass"))</line>
    """
  }

  private func said(_ line: Trace.Line) -> String {
    switch line.kind {
    case "step": "— \(RunPicture.words(line))"
    case "world": "world: \(RunPicture.words(line))"
    case "refused": "is refused: \(line.text)"
    case "violation": "✗ \(line.text)"
    case "write" where line.text.hasPrefix("writes "): "writes: \(line.text.dropFirst(7))"
    default: line.text
    }
  }

  private func mark(_ line: Trace.Line, _ middle: Double) -> String {
    guard let device = line.device else { return "" }
    let (left, top) = (x(device), middle)
    let tip = Markup.title("\(run.clock(line.time)) \(run.devices[device]) \(line.text)")
    func cross(_ kind: String) -> String {
      let (a, b) = (Markup.place(left - 5), Markup.place(left + 5))
      let (c, d) = (Markup.place(top - 5), Markup.place(top + 5))
      return
        "<path class=\"\(kind)\" d=\"M\(a) \(c) L\(b) \(d) M\(b) \(c) L\(a) \(d)\">\(tip)</path>"
    }
    func circle(_ kind: String, _ radius: Double) -> String {
      "<circle class=\"\(kind)\" cx=\"\(Markup.place(left))\" cy=\"\(Markup.place(top))\" "
        + "r=\"\(Markup.place(radius))\">\(tip)</circle>"
    }
    switch line.kind {
    case "write": return circle("dot", 5)
    case "sync": return circle("ring", 4)
    case "off": return cross("crash")
    case "boot":
      let (a, b, c) = (
        Markup.place(left - 5), Markup.place(left + 5), Markup.place(left)
      )
      return
        "<path class=\"boot\" d=\"M\(a) \(Markup.place(top + 4)) L\(b) \(Markup.place(top + 4)) "
        + "L\(c) \(Markup.place(top - 5))z\">\(tip)</path>"
    case "refused": return cross("refusal")
    default: return circle("event", 2.5)
    }
  }
}
