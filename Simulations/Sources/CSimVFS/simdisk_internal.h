#ifndef SIMDISK_INTERNAL_H
#define SIMDISK_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "simdisk.h"

// Functions here expect the disk's mutex to be held, unless they say otherwise.

#define SECTOR SIMDISK_SECTOR_BYTES
#define PAGE SIMDISK_PAGE_BYTES
#define SECTORS_PER_PAGE (PAGE / SECTOR)

// Overwritten versions of unsynced sectors that a file remembers; older ones are forgotten.
#define MAXIMUM_VERSIONS 1024
// Unsynced changes of names that a disk remembers; older ones become durable, as a kernel writes
// them after some seconds.
#define MAXIMUM_PENDING_NAMES 4096
// Free pages that a disk keeps for reuse.
#define MAXIMUM_SPARE_PAGES 512

// MARK: Randomness

static inline uint64_t simdisk_mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// SplitMix64 (Steele, Lea, Flood 2014); streams are told apart by their key.
typedef struct simdisk_random {
  uint64_t state;
} simdisk_random;

static inline uint64_t simdisk_next(simdisk_random *random) {
  uint64_t result = simdisk_mix(random->state);
  random->state += 0x9e3779b97f4a7c15u;
  return result;
}

// MARK: Files

typedef struct page {
  atomic_uint references;
  uint8_t bytes[PAGE];
} page;

// A page of a file in both views; NULL stands for zeros.
typedef struct slot {
  page *current;
  page *durable;
  uint32_t unsynced;  // 1 + index into the file's list, 0 if clean
  uint8_t dirty;      // a bit a sector: written since the last sync
  uint8_t lied;       // a bit a sector: clean by a failed sync, not durable
} slot;

typedef struct unsynced_page {
  uint32_t index;
  // The written range of each dirty sector, relative to it; empty if it was truncated only.
  uint16_t low[SECTORS_PER_PAGE];
  uint16_t high[SECTORS_PER_PAGE];
} unsynced_page;

// An unsynced sector as it was before it was written once more.
typedef struct version {
  uint32_t index;
  uint32_t sector;
  uint8_t bytes[SECTOR];
} version;

typedef struct handle handle;
typedef struct shared_memory shared_memory;

typedef struct inode {
  unsigned references;  // names in both views, pending changes, handles
  slot *slots;
  size_t slot_count;
  size_t slot_capacity;
  int64_t size;
  int64_t durable_size;
  bool is_size_dirty;
  // The smallest size since the last sync, if the file was shortened below its durable size.
  bool is_truncated;
  int64_t truncated_size;
  bool is_size_lied;
  unsynced_page *unsynced;
  size_t unsynced_count;
  size_t unsynced_capacity;
  version *versions;
  size_t version_count;
  size_t version_capacity;
  size_t next_version;
  // Locks of SQLite's rollback modes.
  int shared_locks;
  const handle *reserved;
  const handle *pending;
  const handle *exclusive;
  shared_memory *memory;
} inode;

void simdisk_inode_retain(inode *file);
void simdisk_inode_release(simdisk *disk, inode *file);
inode *simdisk_inode_create(void);
void simdisk_page_retain(page *shared);
void simdisk_page_release(simdisk *disk, page *shared);
page *simdisk_page_create(simdisk *disk, const page *source);
bool simdisk_file_reserve(inode *file, size_t slot_count);
size_t simdisk_file_read_bytes(const inode *file, int64_t offset, void *bytes, size_t count);
bool simdisk_file_write_bytes(
  simdisk *disk, inode *file, int64_t offset, const void *bytes, size_t count);
bool simdisk_file_resize(simdisk *disk, inode *file, int64_t size);
bool simdisk_file_sync(simdisk *disk, inode *file);
void simdisk_file_sync_fails(inode *file);
void simdisk_file_forget_unsynced(inode *file);
void simdisk_file_drop_tail(simdisk *disk, inode *file, int64_t size);
void simdisk_file_survive(simdisk *disk, inode *file, simdisk_random *random);

// MARK: Names

typedef struct entry {
  char *name;
  inode *file;
} entry;

typedef struct directory {
  entry *entries;
  size_t count;
  size_t capacity;
} directory;

// A change of names that is not durable yet.
typedef struct name_change {
  char *removed;  // NULL for a creation
  char *added;    // NULL for a deletion
  inode *file;    // of `added`
} name_change;

inode *simdisk_directory_find(const directory *names, const char *name);
bool simdisk_directory_put(
  simdisk *disk, directory *names, const char *name, inode *file);
void simdisk_directory_remove(simdisk *disk, directory *names, const char *name);
void simdisk_directory_clear(simdisk *disk, directory *names);
bool simdisk_directory_copy(simdisk *disk, directory *to, const directory *from);
void simdisk_directory_sort(directory *names);
bool simdisk_change_names(
  simdisk *disk, const char *removed, const char *added, inode *file);
bool simdisk_names_sync(simdisk *disk);
// Makes the changes durable that gave this file its names, and no others.
bool simdisk_names_sync_file(simdisk *disk, const inode *file);
void simdisk_names_survive(simdisk *disk, simdisk_random *random);
void simdisk_names_forget(simdisk *disk);

// MARK: The disk

typedef struct armed_fault {
  uint64_t at;
  uint64_t count;
  uint32_t per_million;
} armed_fault;

typedef enum power { POWER_ON, POWER_CUT, PROCESS_KILLED, DESTROYED } power;

struct simdisk {
  pthread_mutex_t mutex;
  unsigned references;  // the owner and each handle; guarded by the mutex
  uint64_t number;
  uint64_t seed;
  simdisk_profile profile;
  bool is_powersafe;
  int64_t quota;
  power power;
  uint64_t generation;  // handles of an older one are dead
  directory current;
  directory durable;
  name_change *pending;
  size_t pending_count;
  size_t pending_capacity;
  armed_fault armed[SIMDISK_FAULT_KINDS];
  simdisk_counters counters;
  page *spare[MAXIMUM_SPARE_PAGES];
  size_t spare_count;
  simdisk *next;  // in the registry's bucket
};

// Finds the disk of a path and locks it; `*name` is the file's name in it. The caller ends with
// `simdisk_unlock`. NULL if the path names none.
simdisk *simdisk_lock_path(const char *path, const char **name);
void simdisk_lock(simdisk *disk);
void simdisk_unlock(simdisk *disk);
// Drops a reference, unlocks, and frees after the last.
void simdisk_unlock_and_release(simdisk *disk);

// Counts an operation; false if the machine is down or goes down with it. `*is_under_way` tells
// whether an operation that is cut may have reached the page cache.
bool simdisk_begin(simdisk *disk, bool *is_under_way);
// Whether a fault happens to the present operation (or read).
bool simdisk_strikes(simdisk *disk, simdisk_fault fault);
bool simdisk_is_valid_name(const char *name);

// Whole operations with their faults, as a system call would do them; SQLite result codes.
int simdisk_operation_create(simdisk *disk, const char *name, inode **file);
int simdisk_operation_write(
  simdisk *disk, inode *file, int64_t offset, const void *bytes, size_t count);
int simdisk_operation_truncate(simdisk *disk, inode *file, int64_t size);
int simdisk_operation_sync(simdisk *disk, inode *file);
int simdisk_operation_sync_directory(simdisk *disk);
int simdisk_operation_delete(simdisk *disk, const char *name);
int simdisk_operation_rename(simdisk *disk, const char *from, const char *to);
int simdisk_operation_read(
  simdisk *disk, const inode *file, int64_t offset, void *bytes, size_t count, size_t *got);

// MARK: SQLite's handles

struct handle {
  sqlite3_file base;
  simdisk *disk;
  inode *file;
  uint64_t generation;
  int lock;
  bool syncs_directory;  // at the first sync, as the unix VFS does for new journals
  char *deleted_on_close;
  shared_memory *memory;
  uint16_t shared_slots;
  uint16_t exclusive_slots;
};

// Whether the handle's machine still runs.
static inline bool simdisk_is_alive(const handle *file) {
  return file->disk->power == POWER_ON && file->generation == file->disk->generation;
}

int simdisk_shm_map(sqlite3_file *file, int region, int bytes, int extends, void volatile **out);
int simdisk_shm_lock(sqlite3_file *file, int offset, int count, int flags);
void simdisk_shm_barrier(sqlite3_file *file);
int simdisk_shm_unmap(sqlite3_file *file, int is_deleted);

#endif
