#if HEARTH_SIMULATION
  import Synchronization

  /// Caches answers of curve operations by their input bytes.
  ///
  /// It is compiled only with `-D HEARTH_SIMULATION`. A simulated family verifies each signature on
  /// every device, many times, in one process. The answer depends only on the bytes, so the cache
  /// changes nothing but time.
  enum CurveMemo {
    /// The most cached answers.
    ///
    /// Beyond this number the cache is cleared.
    private static let maximumAnswers = 100_000
    private static let answers = Mutex<[[UInt8]: Bool]>([:])

    /// The answer to a question.
    ///
    /// Different questions have different bytes.
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
