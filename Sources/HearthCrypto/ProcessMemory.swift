import CProcess
import Glibc

/// The memory of this process, which holds keys, as the rest of the machine sees it.
package enum ProcessMemory {
  /// Keeps the memory out of core dumps and away from other programs of the same user.
  ///
  /// Two locks, as each leaves a gap that the other closes. `RLIMIT_CORE` of zero, soft and hard,
  /// holds for children too and cannot be raised again without privileges, but the kernel passes it
  /// over where a program takes the dump (`core_pattern` with a pipe, see core(5)). A process that
  /// is not dumpable gives no dump in any way, and no debugger of the same user attaches to it;
  /// that ends where another program is executed. The system's administrator can read everything.
  ///
  /// Call it first thing in a program, before any key is read; a second call changes nothing.
  /// - Throws: `initialisationFailed` when the kernel refuses.
  package static func hide() throws(CryptoError) {
    var limit = rlimit(rlim_cur: 0, rlim_max: 0)
    guard setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else {
      throw CryptoError(
        .initialisationFailed,
        "Core dumps could not be switched off (errno \(errno)); check the process limits.")
    }
    guard hearth_set_dumpable(0) == 0 else {
      throw CryptoError(
        .initialisationFailed,
        "The memory could not be hidden from other programs (errno \(errno)).")
    }
  }

  /// Whether neither a core dump nor a debugger of the same user gets the memory.
  package static var isHidden: Bool {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return false }
    return limit.rlim_cur == 0 && limit.rlim_max == 0 && hearth_dumpable() == 0
  }
}
