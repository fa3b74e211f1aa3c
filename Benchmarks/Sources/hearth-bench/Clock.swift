import CZstd
import Foundation

/// Seconds of wall time and of this process's CPU, added up over measured spans.
struct Stopwatch {
  private(set) var wall = 0.0
  private(set) var processor = 0.0

  mutating func measure<Result>(_ body: () throws -> Result) rethrows -> Result {
    let wallStart = Stopwatch.wallSeconds()
    let processorStart = Stopwatch.processorSeconds()
    let result = try body()
    processor += Stopwatch.processorSeconds() - processorStart
    wall += Stopwatch.wallSeconds() - wallStart
    return result
  }

  /// The result of a span, and the least processor time of several runs of it.
  ///
  /// Other work on the machine only adds to a time, so the least is the nearest to the truth.
  static func least<Result>(
    of runs: Int, _ body: () throws -> Result
  ) rethrows -> (result: Result, processor: Double) {
    var first = Stopwatch()
    let result = try first.measure(body)
    var least = first.processor
    for _ in 1..<max(1, runs) {
      var again = Stopwatch()
      _ = try again.measure(body)
      least = min(least, again.processor)
    }
    return (result, least)
  }

  static func wallSeconds() -> Double {
    Double(DispatchTime.now().uptimeNanoseconds) / 1e9
  }

  /// User and system time of the whole process.
  static func processorSeconds() -> Double {
    let usage = ResourceUse.now()
    return [usage.ru_utime, usage.ru_stime].reduce(0) {
      $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
    }
  }
}

/// What the kernel says this process uses.
enum ResourceUse {
  static func now() -> rusage {
    var usage = rusage()
    // RUSAGE_SELF is 0 everywhere, but a number of another type on each system.
    getrusage(0, &usage)
    return usage
  }

  /// The largest resident set so far, in bytes; 0 where `/proc` is missing.
  ///
  /// Not `ru_maxrss`, which a process inherits from the one that started it.
  static func peakBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
      let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first
    else { return 0 }
    return (Int(kibibytes) ?? 0) * 1024
  }

  /// The resident set now, in bytes; 0 where `/proc` is missing.
  static func residentBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
      let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
    else { return 0 }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}

/// How long zstd at level 3 makes the bytes.
func zstdCount(_ bytes: [UInt8]) -> Int {
  let capacity = ZSTD_compressBound(bytes.count)
  let result = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
    let written = ZSTD_compress(buffer.baseAddress, capacity, bytes, bytes.count, 3)
    count = ZSTD_isError(written) == 0 ? written : 0
  }
  return result.count
}

extension Collection {
  /// Consecutive groups of at most `size` elements.
  func groups(of size: Int) -> [SubSequence] {
    var result: [SubSequence] = []
    var start = startIndex
    while start != endIndex {
      let end = index(start, offsetBy: size, limitedBy: endIndex) ?? endIndex
      result.append(self[start..<end])
      start = end
    }
    return result
  }
}
