#include <stdlib.h>
#include <string.h>

#include "simdisk_internal.h"

// The SQLite VFS: handles on the files of disks (https://www.sqlite.org/vfs.html).

// 1 January 1970 in milliseconds of the Julian period.
#define UNIX_EPOCH_MILLISECONDS 210866760000000

// MARK: Handles

static void release_locks(handle *file, int level) {
  inode *target = file->file;
  if (file->generation == file->disk->generation) {
    if (target->reserved == file) target->reserved = NULL;
    if (target->pending == file) target->pending = NULL;
    if (target->exclusive == file) target->exclusive = NULL;
    if (level == SQLITE_LOCK_NONE && file->lock > SQLITE_LOCK_NONE) target->shared_locks--;
  }
  file->lock = level;
}

static int close_handle(sqlite3_file *base) {
  handle *file = (handle *)base;
  simdisk_shm_unmap(base, 0);
  simdisk_lock(file->disk);
  if (file->lock > SQLITE_LOCK_NONE) release_locks(file, SQLITE_LOCK_NONE);
  if (file->deleted_on_close != NULL) {
    if (simdisk_is_alive(file)) simdisk_operation_delete(file->disk, file->deleted_on_close);
    free(file->deleted_on_close);
  }
  simdisk_inode_release(file->disk, file->file);
  base->pMethods = NULL;
  simdisk_unlock_and_release(file->disk);
  return SQLITE_OK;
}

static int read_handle(sqlite3_file *base, void *bytes, int count, sqlite3_int64 offset) {
  handle *file = (handle *)base;
  size_t got = 0;
  simdisk_lock(file->disk);
  int result = SQLITE_IOERR_READ;
  if (simdisk_is_alive(file)) {
    result = simdisk_operation_read(file->disk, file->file, offset, bytes, (size_t)count, &got);
  }
  simdisk_unlock(file->disk);
  if (result != SQLITE_OK || got == (size_t)count) return result;
  memset((uint8_t *)bytes + got, 0, (size_t)count - got);
  return SQLITE_IOERR_SHORT_READ;
}

static int write_handle(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
  handle *file = (handle *)base;
  simdisk_lock(file->disk);
  int result = SQLITE_IOERR_WRITE;
  if (simdisk_is_alive(file)) {
    result = simdisk_operation_write(file->disk, file->file, offset, bytes, (size_t)count);
  }
  simdisk_unlock(file->disk);
  return result;
}

static int truncate_handle(sqlite3_file *base, sqlite3_int64 size) {
  handle *file = (handle *)base;
  simdisk_lock(file->disk);
  int result = SQLITE_IOERR_TRUNCATE;
  if (simdisk_is_alive(file)) result = simdisk_operation_truncate(file->disk, file->file, size);
  simdisk_unlock(file->disk);
  return result;
}

static int sync_handle(sqlite3_file *base, int flags) {
  handle *file = (handle *)base;
  (void)flags;
  simdisk_lock(file->disk);
  int result = SQLITE_IOERR_FSYNC;
  if (simdisk_is_alive(file)) {
    result = simdisk_operation_sync(file->disk, file->file);
    if (result == SQLITE_OK && file->syncs_directory) {
      file->syncs_directory = false;
      // The unix VFS looks away from an error here too; a dead machine must not.
      simdisk_operation_sync_directory(file->disk);
      if (!simdisk_is_alive(file)) result = SQLITE_IOERR_DIR_FSYNC;
    }
  }
  simdisk_unlock(file->disk);
  return result;
}

static int size_handle(sqlite3_file *base, sqlite3_int64 *size) {
  handle *file = (handle *)base;
  simdisk_lock(file->disk);
  bool is_alive = simdisk_is_alive(file);
  *size = file->file->size;
  simdisk_unlock(file->disk);
  return is_alive ? SQLITE_OK : SQLITE_IOERR_FSTAT;
}

// MARK: Locks of the rollback modes

static int raise_lock(handle *file, int level) {
  inode *target = file->file;
  bool is_others = target->exclusive != NULL && target->exclusive != file;
  if (file->lock == SQLITE_LOCK_NONE) {
    if (is_others || target->pending != NULL) return SQLITE_BUSY;
    target->shared_locks++;
    file->lock = SQLITE_LOCK_SHARED;
  }
  if (level == SQLITE_LOCK_SHARED) return SQLITE_OK;
  if (target->reserved != NULL && target->reserved != file) return SQLITE_BUSY;
  if (target->pending != NULL && target->pending != file) return SQLITE_BUSY;
  if (level == SQLITE_LOCK_RESERVED) {
    target->reserved = file;
    file->lock = level;
    return SQLITE_OK;
  }
  target->pending = file;
  file->lock = SQLITE_LOCK_PENDING;
  if (level == SQLITE_LOCK_EXCLUSIVE) {
    if (target->shared_locks > 1) return SQLITE_BUSY;
    target->exclusive = file;
    file->lock = SQLITE_LOCK_EXCLUSIVE;
  }
  return SQLITE_OK;
}

static int lock_handle(sqlite3_file *base, int level) {
  handle *file = (handle *)base;
  simdisk_lock(file->disk);
  int result = SQLITE_IOERR_LOCK;
  if (simdisk_is_alive(file)) result = file->lock >= level ? SQLITE_OK : raise_lock(file, level);
  simdisk_unlock(file->disk);
  return result;
}

static int unlock_handle(sqlite3_file *base, int level) {
  handle *file = (handle *)base;
  simdisk_lock(file->disk);
  if (file->lock > level) release_locks(file, level);
  simdisk_unlock(file->disk);
  return SQLITE_OK;
}

static int check_reserved(sqlite3_file *base, int *is_reserved) {
  handle *file = (handle *)base;
  simdisk_lock(file->disk);
  bool is_alive = simdisk_is_alive(file);
  const inode *target = file->file;
  *is_reserved =
    target->reserved != NULL || target->pending != NULL || target->exclusive != NULL;
  simdisk_unlock(file->disk);
  return is_alive ? SQLITE_OK : SQLITE_IOERR_CHECKRESERVEDLOCK;
}

static int control_handle(sqlite3_file *base, int operation, void *argument) {
  (void)base;
  (void)operation;
  (void)argument;
  return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *base) {
  (void)base;
  return SECTOR;
}

static int characteristics(sqlite3_file *base) {
  simdisk *disk = ((handle *)base)->disk;
  simdisk_lock(disk);
  bool is_powersafe = disk->is_powersafe;
  simdisk_unlock(disk);
  return is_powersafe ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0;
}

static const sqlite3_io_methods methods = {
  .iVersion = 2,
  .xClose = close_handle,
  .xRead = read_handle,
  .xWrite = write_handle,
  .xTruncate = truncate_handle,
  .xSync = sync_handle,
  .xFileSize = size_handle,
  .xLock = lock_handle,
  .xUnlock = unlock_handle,
  .xCheckReservedLock = check_reserved,
  .xFileControl = control_handle,
  .xSectorSize = sector_size,
  .xDeviceCharacteristics = characteristics,
  .xShmMap = simdisk_shm_map,
  .xShmLock = simdisk_shm_lock,
  .xShmBarrier = simdisk_shm_barrier,
  .xShmUnmap = simdisk_shm_unmap,
};

// MARK: The file system

// Files without a name (sorting, statement journals) live here: no node, no fault, no survival.
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static simdisk *scratch;

static void make_scratch(void) {
  scratch = simdisk_create(0);
}

static int open_temporary(handle *file) {
  pthread_once(&scratch_once, make_scratch);
  inode *created = scratch == NULL ? NULL : simdisk_inode_create();
  if (created == NULL) return SQLITE_NOMEM;
  simdisk_lock(scratch);
  scratch->references++;
  file->disk = scratch;
  file->file = created;
  simdisk_unlock(scratch);
  return SQLITE_OK;
}

static int find_or_create(simdisk *disk, const char *name, int flags, handle *file) {
  if (disk->power != POWER_ON) return SQLITE_IOERR;
  inode *found = simdisk_directory_find(&disk->current, name);
  bool is_new = found == NULL;
  if (is_new) {
    if (!(flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
    int result = simdisk_operation_create(disk, name, &found);
    if (result != SQLITE_OK) return result;
  } else if ((flags & SQLITE_OPEN_EXCLUSIVE) && (flags & SQLITE_OPEN_CREATE)) {
    return SQLITE_CANTOPEN;
  }
  if (flags & SQLITE_OPEN_DELETEONCLOSE) {
    file->deleted_on_close = strdup(name);
    if (file->deleted_on_close == NULL) return SQLITE_NOMEM;
  }
  simdisk_inode_retain(found);
  disk->references++;
  file->disk = disk;
  file->file = found;
  file->generation = disk->generation;
  int journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
  file->syncs_directory =
    is_new && (flags & journals) != 0 && disk->profile != SIMDISK_LAZY_UNLINK;
  return SQLITE_OK;
}

static int open_file(
  sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *given) {
  (void)vfs;
  handle *file = (handle *)base;
  memset(file, 0, sizeof *file);
  int result;
  if (path == NULL) {
    result = open_temporary(file);
  } else {
    const char *name;
    simdisk *disk = simdisk_lock_path(path, &name);
    if (disk == NULL) return SQLITE_CANTOPEN;
    result = find_or_create(disk, name, flags, file);
    simdisk_unlock(disk);
  }
  if (result == SQLITE_OK) base->pMethods = &methods;
  if (given != NULL) *given = flags;
  return result;
}

static int delete_file(sqlite3_vfs *vfs, const char *path, int syncs_directory) {
  (void)vfs;
  const char *name;
  simdisk *disk = simdisk_lock_path(path, &name);
  if (disk == NULL) return SQLITE_IOERR_DELETE;
  int result = simdisk_operation_delete(disk, name);
  if (result == SQLITE_OK && syncs_directory) result = simdisk_operation_sync_directory(disk);
  simdisk_unlock(disk);
  return result;
}

static int access_file(sqlite3_vfs *vfs, const char *path, int flags, int *out) {
  (void)vfs;
  const char *name;
  *out = 0;
  simdisk *disk = simdisk_lock_path(path, &name);
  if (disk == NULL) return SQLITE_OK;
  const inode *file = simdisk_directory_find(&disk->current, name);
  // As the unix VFS: an empty file does not count as existing.
  if (file != NULL) *out = flags != SQLITE_ACCESS_EXISTS || file->size > 0;
  bool is_on = disk->power == POWER_ON;
  simdisk_unlock(disk);
  return is_on ? SQLITE_OK : SQLITE_IOERR_ACCESS;
}

static int full_path(sqlite3_vfs *vfs, const char *path, int capacity, char *out) {
  (void)vfs;
  size_t length = strlen(path);
  if (length >= (size_t)capacity) return SQLITE_CANTOPEN;
  memcpy(out, path, length + 1);
  return SQLITE_OK;
}

static void *open_library(sqlite3_vfs *vfs, const char *path) {
  (void)vfs;
  (void)path;
  return NULL;
}

static void library_error(sqlite3_vfs *vfs, int count, char *message) {
  (void)vfs;
  sqlite3_snprintf(count, message, "a simulated disk has no libraries");
}

static void close_library(sqlite3_vfs *vfs, void *library) {
  (void)vfs;
  (void)library;
}

// MARK: Time and chance

static _Atomic int64_t present_milliseconds = 1704067200000;
static _Atomic uint64_t random_state;

void simdisk_set_time(int64_t milliseconds) {
  atomic_store(&present_milliseconds, milliseconds);
}

void simdisk_seed_sqlite(uint64_t seed) {
  uint64_t mixed = simdisk_mix(seed);
  atomic_store(&random_state, mixed);
  // 0 would mean the system's randomness.
  unsigned reduced = (unsigned)(mixed ^ (mixed >> 32));
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, reduced == 0 ? 1u : reduced, (sqlite3 *)NULL);
}

static int randomness(sqlite3_vfs *vfs, int count, char *bytes) {
  (void)vfs;
  for (int index = 0; index < count; index++) {
    uint64_t drawn = atomic_fetch_add(&random_state, 0x9e3779b97f4a7c15u);
    bytes[index] = (char)simdisk_mix(drawn);
  }
  return count;
}

static int sleep_microseconds(sqlite3_vfs *vfs, int microseconds) {
  (void)vfs;
  return microseconds;
}

static int current_time_milliseconds(sqlite3_vfs *vfs, sqlite3_int64 *out) {
  (void)vfs;
  *out = atomic_load(&present_milliseconds) + UNIX_EPOCH_MILLISECONDS;
  return SQLITE_OK;
}

static int current_time_days(sqlite3_vfs *vfs, double *out) {
  sqlite3_int64 milliseconds;
  current_time_milliseconds(vfs, &milliseconds);
  *out = (double)milliseconds / 86400000.0;
  return SQLITE_OK;
}

static int last_error(sqlite3_vfs *vfs, int count, char *message) {
  (void)vfs;
  (void)count;
  (void)message;
  return 0;
}

static pthread_mutex_t register_mutex = PTHREAD_MUTEX_INITIALIZER;

int simdisk_register(const char *name) {
  pthread_mutex_lock(&register_mutex);
  const sqlite3_vfs *present = sqlite3_vfs_find(name);
  int result = SQLITE_OK;
  if (present != NULL) {
    result = present->xOpen == open_file ? SQLITE_OK : SQLITE_MISUSE;
  } else {
    // SQLite keeps both for the life of the process.
    sqlite3_vfs *vfs = calloc(1, sizeof(sqlite3_vfs));
    char *copy = strdup(name);
    result = vfs == NULL || copy == NULL ? SQLITE_NOMEM : SQLITE_OK;
    if (result == SQLITE_OK) {
      *vfs = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = sizeof(handle),
        .mxPathname = SIMDISK_MAXIMUM_NAME_BYTES + 32,
        .zName = copy,
        .xOpen = open_file,
        .xDelete = delete_file,
        .xAccess = access_file,
        .xFullPathname = full_path,
        .xDlOpen = open_library,
        .xDlError = library_error,
        .xDlSym = NULL,
        .xDlClose = close_library,
        .xRandomness = randomness,
        .xSleep = sleep_microseconds,
        .xCurrentTime = current_time_days,
        .xGetLastError = last_error,
        .xCurrentTimeInt64 = current_time_milliseconds,
      };
      result = sqlite3_vfs_register(vfs, 0);
    }
    if (result != SQLITE_OK) {
      free(vfs);
      free(copy);
    }
  }
  pthread_mutex_unlock(&register_mutex);
  return result;
}
