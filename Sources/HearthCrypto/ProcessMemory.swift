import CProcess
import Glibc

/// The protection of this process's memory, which contains keys, from the rest of the machine.
package enum ProcessMemory {
  /// Keeps the memory out of core dumps and away from other programs of the same user.
  ///
  /// There are two locks, since each leaves a gap that the other closes. `RLIMIT_CORE` of zero,
  /// soft and hard, applies to children too and cannot be raised again without privileges. The
  /// kernel ignores it if a program takes the dump (`core_pattern` with a pipe, see core(5)). A
  /// process that is not dumpable gives no dump at all, and no debugger of the same user can attach
  /// to it. That protection ends when another program is executed. The system's administrator can
  /// read everything.
  ///
  /// Call it first in a program, before any key is read. A second call changes nothing.
  /// - Throws: `initialisationFailed` if the kernel refuses.
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

  /// Whether the memory is hidden from core dumps and from debuggers of the same user.
  package static var isHidden: Bool {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return false }
    return limit.rlim_cur == 0 && limit.rlim_max == 0 && hearth_dumpable() == 0
  }
}
