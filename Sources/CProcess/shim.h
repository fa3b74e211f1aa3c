#include <sys/prctl.h>

/// Swift cannot call `prctl(2)`, which takes a varying number of arguments.
static inline int hearth_set_dumpable(int value) {
  return prctl(PR_SET_DUMPABLE, value, 0, 0, 0);
}

static inline int hearth_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }
