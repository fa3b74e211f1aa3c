#include <stdlib.h>
#include <string.h>

#include "simdisk_internal.h"

// The memory that the connections of a process share in WAL mode, with its locks.

// SQLite asks for regions of 32 KiB; one indexes 4096 frames, so this is a WAL of 16 GiB.
#define MAXIMUM_REGIONS 1024

struct shared_memory {
  unsigned references;  // handles that mapped or locked
  void **regions;
  int region_count;
  int shared[SQLITE_SHM_NLOCK];
  const handle *exclusive[SQLITE_SHM_NLOCK];
};

static int attach(handle *file) {
  if (file->memory != NULL) return SQLITE_OK;
  if (file->file->memory == NULL) {
    file->file->memory = calloc(1, sizeof(shared_memory));
    if (file->file->memory == NULL) return SQLITE_NOMEM;
  }
  file->memory = file->file->memory;
  file->memory->references++;
  return SQLITE_OK;
}

static int map_region(shared_memory *memory, int region, int bytes) {
  if (region >= MAXIMUM_REGIONS || bytes <= 0) return SQLITE_IOERR_SHMSIZE;
  void **regions = realloc(memory->regions, ((size_t)region + 1) * sizeof(void *));
  if (regions == NULL) return SQLITE_NOMEM;
  memory->regions = regions;
  while (memory->region_count <= region) {
    void *created = calloc(1, (size_t)bytes);
    if (created == NULL) return SQLITE_NOMEM;
    memory->regions[memory->region_count++] = created;
  }
  return SQLITE_OK;
}

int simdisk_shm_map(sqlite3_file *base, int region, int bytes, int extends, void volatile **out) {
  handle *file = (handle *)base;
  *out = NULL;
  simdisk_lock(file->disk);
  int result = simdisk_is_alive(file) ? attach(file) : SQLITE_IOERR_SHMMAP;
  if (result == SQLITE_OK && region >= file->memory->region_count && extends) {
    result = map_region(file->memory, region, bytes);
  }
  if (result == SQLITE_OK && region < file->memory->region_count) {
    *out = file->memory->regions[region];
  }
  simdisk_unlock(file->disk);
  return result;
}

static void unlock_slots(handle *file, int offset, int count) {
  for (int slot = offset; slot < offset + count; slot++) {
    uint16_t bit = (uint16_t)(1u << slot);
    if (file->shared_slots & bit) file->memory->shared[slot]--;
    if (file->exclusive_slots & bit) file->memory->exclusive[slot] = NULL;
    file->shared_slots &= (uint16_t)~bit;
    file->exclusive_slots &= (uint16_t)~bit;
  }
}

static int lock_slots(handle *file, int offset, int count, bool is_exclusive) {
  shared_memory *memory = file->memory;
  for (int slot = offset; slot < offset + count; slot++) {
    uint16_t bit = (uint16_t)(1u << slot);
    const handle *holder = memory->exclusive[slot];
    int others = memory->shared[slot] - ((file->shared_slots & bit) ? 1 : 0);
    if (holder != NULL && holder != file) return SQLITE_BUSY;
    if (is_exclusive && others > 0) return SQLITE_BUSY;
  }
  for (int slot = offset; slot < offset + count; slot++) {
    uint16_t bit = (uint16_t)(1u << slot);
    if (is_exclusive) {
      memory->exclusive[slot] = file;
      file->exclusive_slots |= bit;
    } else if (!(file->shared_slots & bit)) {
      memory->shared[slot]++;
      file->shared_slots |= bit;
    }
  }
  return SQLITE_OK;
}

int simdisk_shm_lock(sqlite3_file *base, int offset, int count, int flags) {
  handle *file = (handle *)base;
  if (offset < 0 || count < 1 || offset + count > SQLITE_SHM_NLOCK) return SQLITE_IOERR_SHMLOCK;
  simdisk_lock(file->disk);
  int result = SQLITE_OK;
  if (flags & SQLITE_SHM_UNLOCK) {
    if (file->memory != NULL) unlock_slots(file, offset, count);
  } else {
    result = simdisk_is_alive(file) ? attach(file) : SQLITE_IOERR_SHMLOCK;
    if (result == SQLITE_OK) {
      result = lock_slots(file, offset, count, (flags & SQLITE_SHM_EXCLUSIVE) != 0);
    }
  }
  simdisk_unlock(file->disk);
  return result;
}

void simdisk_shm_barrier(sqlite3_file *base) {
  (void)base;
  atomic_thread_fence(memory_order_seq_cst);
}

int simdisk_shm_unmap(sqlite3_file *base, int is_deleted) {
  handle *file = (handle *)base;
  // The memory goes with its last handle: there is no file to delete.
  (void)is_deleted;
  simdisk_lock(file->disk);
  shared_memory *memory = file->memory;
  if (memory != NULL) {
    unlock_slots(file, 0, SQLITE_SHM_NLOCK);
    file->memory = NULL;
    if (--memory->references == 0) {
      if (file->file->memory == memory) file->file->memory = NULL;
      for (int region = 0; region < memory->region_count; region++) free(memory->regions[region]);
      free(memory->regions);
      free(memory);
    }
  }
  simdisk_unlock(file->disk);
  return SQLITE_OK;
}
