#if HEARTH_SIMULATION
  import Synchronization

  /// What the curve said about the same bytes before.
  ///
  /// Compiled only with `-D HEARTH_SIMULATION`: a simulated family verifies each signature on
  /// every device and again at every look, in one process. The answer follows from the bytes alone,
  /// so remembering it changes nothing but time.
  enum CurveMemo {
    /// Beyond, everything is forgotten.
    private static let maximumAnswers = 100_000
    private static let answers = Mutex<[[UInt8]: Bool]>([:])

    /// The answer to a question, which differs from every other question in its bytes.
    static func answer(to question: [UInt8], _ work: () -> Bool) -> Bool {
      if let known = answers.withLock({ $0[question] }) { return known }
      let answer = work()
      answers.withLock {
        if $0.count >= maximumAnswers { $0 = [:] }
        $0[question] = answer
      }
      return answer
    }
  }
#endif
