import HearthSync

/// The files of a folder that could not be used.
enum UnusableFiles {
  /// Returns the number of unusable files and the fault of the first, in words; nil if there are
  /// none.
  static func words(in report: TransportReport) -> String? {
    let faults = report.problems.filter(\.hidesData)
    guard let first = faults.first else { return nil }
    let subject = faults.count == 1 ? "a file" : "\(faults.count) files"
    return "\(subject) of the folder cannot be used (\(first.fault))"
  }
}
