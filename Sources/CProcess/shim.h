#include <linux/stat.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Swift cannot call `prctl(2)`, which takes a varying number of arguments.
static inline int hearth_set_dumpable(int value) {
  return prctl(PR_SET_DUMPABLE, value, 0, 0, 0);
}

static inline int hearth_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }

/// Where and when a file was made.
typedef struct {
  uint64_t inode;
  int64_t seconds;
  uint32_t nanoseconds;
} hearth_file_birth;

/// Reads a file's inode and the time at which that inode was made, with `statx(2)`, which Swift's
/// Glibc module lacks.
///
/// Returns 0; -1 if the file cannot be examined, as `errno` says; 1 if the file system does not
/// keep this time.
static inline int hearth_birth(const char *path, hearth_file_birth *birth) {
  struct statx found;
  const int folder = -100; // AT_FDCWD: relative paths begin at the working folder.
  if (syscall(SYS_statx, folder, path, 0, STATX_INO | STATX_BTIME, &found) != 0) return -1;
  birth->inode = found.stx_ino;
  birth->seconds = found.stx_btime.tv_sec;
  birth->nanoseconds = found.stx_btime.tv_nsec;
  return found.stx_mask & STATX_BTIME ? 0 : 1;
}
