#include <stdlib.h>
#include <string.h>

#include "simdisk_internal.h"

// The disks of a process, their power and their faults.

// MARK: Registry

#define BUCKETS 256

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static simdisk *registry[BUCKETS];
static uint64_t next_number = 1;

void simdisk_lock(simdisk *disk) {
  pthread_mutex_lock(&disk->mutex);
}

void simdisk_unlock(simdisk *disk) {
  pthread_mutex_unlock(&disk->mutex);
}

void simdisk_unlock_and_release(simdisk *disk) {
  bool is_last = --disk->references == 0;
  simdisk_unlock(disk);
  if (!is_last) return;
  for (size_t index = 0; index < disk->spare_count; index++) free(disk->spare[index]);
  free(disk->pending);
  pthread_mutex_destroy(&disk->mutex);
  free(disk);
}

simdisk *simdisk_lock_path(const char *path, const char **name) {
  static const char prefix[] = "/disk/";
  if (path == NULL || strncmp(path, prefix, sizeof prefix - 1) != 0) return NULL;
  const char *position = path + sizeof prefix - 1;
  uint64_t number = 0;
  const char *first = position;
  // 18 digits cannot overflow.
  while (*position >= '0' && *position <= '9' && position - first < 18) {
    number = number * 10 + (uint64_t)(*position++ - '0');
  }
  if (position == first || *position != '/') return NULL;
  *name = position + 1;
  if (!simdisk_is_valid_name(*name)) return NULL;
  pthread_mutex_lock(&registry_mutex);
  simdisk *disk = registry[number % BUCKETS];
  while (disk != NULL && disk->number != number) disk = disk->next;
  if (disk != NULL) simdisk_lock(disk);
  pthread_mutex_unlock(&registry_mutex);
  return disk;
}

bool simdisk_is_valid_name(const char *name) {
  size_t length = strnlen(name, SIMDISK_MAXIMUM_NAME_BYTES + 1);
  return length > 0 && length <= SIMDISK_MAXIMUM_NAME_BYTES;
}

// MARK: Life

simdisk *simdisk_create(uint64_t seed) {
  simdisk *disk = calloc(1, sizeof(simdisk));
  if (disk == NULL) return NULL;
  if (pthread_mutex_init(&disk->mutex, NULL) != 0) {
    free(disk);
    return NULL;
  }
  disk->references = 1;
  disk->seed = seed;
  disk->is_powersafe = true;
  disk->quota = -1;
  pthread_mutex_lock(&registry_mutex);
  disk->number = next_number++;
  disk->next = registry[disk->number % BUCKETS];
  registry[disk->number % BUCKETS] = disk;
  pthread_mutex_unlock(&registry_mutex);
  return disk;
}

void simdisk_destroy(simdisk *disk) {
  if (disk == NULL) return;
  pthread_mutex_lock(&registry_mutex);
  simdisk **place = &registry[disk->number % BUCKETS];
  while (*place != NULL && *place != disk) place = &(*place)->next;
  if (*place == disk) *place = disk->next;
  pthread_mutex_unlock(&registry_mutex);
  simdisk_lock(disk);
  disk->power = DESTROYED;
  simdisk_names_forget(disk);
  simdisk_directory_clear(disk, &disk->current);
  simdisk_directory_clear(disk, &disk->durable);
  simdisk_unlock_and_release(disk);
}

uint64_t simdisk_number(const simdisk *disk) {
  return disk->number;
}

void simdisk_set_profile(simdisk *disk, simdisk_profile profile) {
  simdisk_lock(disk);
  disk->profile = profile;
  simdisk_unlock(disk);
}

void simdisk_set_powersafe_overwrite(simdisk *disk, int is_powersafe) {
  simdisk_lock(disk);
  disk->is_powersafe = is_powersafe != 0;
  simdisk_unlock(disk);
}

void simdisk_set_quota(simdisk *disk, int64_t bytes) {
  simdisk_lock(disk);
  disk->quota = bytes;
  simdisk_unlock(disk);
}

// MARK: Faults

void simdisk_arm(simdisk *disk, simdisk_fault fault, uint64_t at, uint64_t count) {
  if ((unsigned)fault >= SIMDISK_FAULT_KINDS) return;
  simdisk_lock(disk);
  disk->armed[fault].at = at;
  disk->armed[fault].count = count;
  simdisk_unlock(disk);
}

void simdisk_set_rate(simdisk *disk, simdisk_fault fault, uint32_t per_million) {
  if ((unsigned)fault >= SIMDISK_FAULT_KINDS) return;
  simdisk_lock(disk);
  disk->armed[fault].per_million = per_million;
  simdisk_unlock(disk);
}

void simdisk_disarm(simdisk *disk) {
  simdisk_lock(disk);
  memset(disk->armed, 0, sizeof disk->armed);
  simdisk_unlock(disk);
}

bool simdisk_strikes(simdisk *disk, simdisk_fault fault) {
  armed_fault *armed = &disk->armed[fault];
  if (armed->count == 0 && armed->per_million == 0) return false;
  bool is_read = fault == SIMDISK_READ_ERROR || fault == SIMDISK_SHORT_READ;
  uint64_t number = is_read ? disk->counters.reads : disk->counters.operations;
  if (armed->count > 0 && number >= armed->at) {
    armed->count--;
    return true;
  }
  // A function of the number alone, so that one fault does not shift the dice of the next.
  uint64_t key = simdisk_mix(number ^ ((uint64_t)(fault + 1) << 56));
  return simdisk_mix(disk->seed ^ key) % 1000000 < armed->per_million;
}

bool simdisk_begin(simdisk *disk, bool *is_under_way) {
  *is_under_way = false;
  if (disk->power != POWER_ON) return false;
  disk->counters.operations++;
  if (simdisk_strikes(disk, SIMDISK_POWER_CUT)) {
    disk->power = POWER_CUT;
    disk->counters.power_cuts++;
    // The dice over unsynced sectors decide how far it came.
    *is_under_way = true;
    return false;
  }
  if (simdisk_strikes(disk, SIMDISK_PROCESS_KILL)) {
    disk->power = PROCESS_KILLED;
    disk->counters.process_kills++;
    *is_under_way = simdisk_mix(disk->seed ^ ~disk->counters.operations) % 2 == 0;
    return false;
  }
  return true;
}

uint64_t simdisk_operations(simdisk *disk) {
  simdisk_lock(disk);
  uint64_t result = disk->counters.operations;
  simdisk_unlock(disk);
  return result;
}

uint64_t simdisk_reads(simdisk *disk) {
  simdisk_lock(disk);
  uint64_t result = disk->counters.reads;
  simdisk_unlock(disk);
  return result;
}

void simdisk_read_counters(simdisk *disk, simdisk_counters *counters) {
  simdisk_lock(disk);
  *counters = disk->counters;
  simdisk_unlock(disk);
}

// MARK: Power

void simdisk_cut_power(simdisk *disk) {
  simdisk_lock(disk);
  if (disk->power == POWER_ON || disk->power == PROCESS_KILLED) {
    disk->power = POWER_CUT;
    disk->counters.power_cuts++;
  }
  simdisk_unlock(disk);
}

void simdisk_kill_process(simdisk *disk) {
  simdisk_lock(disk);
  if (disk->power == POWER_ON) {
    disk->power = PROCESS_KILLED;
    disk->counters.process_kills++;
  }
  simdisk_unlock(disk);
}

int simdisk_is_down(simdisk *disk) {
  simdisk_lock(disk);
  int result = disk->power != POWER_ON;
  simdisk_unlock(disk);
  return result;
}

static void drop_locks(inode *file) {
  file->shared_locks = 0;
  file->reserved = file->pending = file->exclusive = NULL;
  file->memory = NULL;
}

void simdisk_reboot(simdisk *disk) {
  simdisk_lock(disk);
  if (disk->power == POWER_ON) {
    disk->power = POWER_CUT;
    disk->counters.power_cuts++;
  }
  disk->counters.reboots++;
  if (disk->power == POWER_CUT) {
    simdisk_random random = {simdisk_mix(disk->seed ^ simdisk_mix(disk->counters.reboots))};
    simdisk_names_survive(disk, &random);
    for (size_t index = 0; index < disk->durable.count; index++) {
      simdisk_file_survive(disk, disk->durable.entries[index].file, &random);
    }
  }
  for (size_t index = 0; index < disk->current.count; index++) {
    drop_locks(disk->current.entries[index].file);
  }
  disk->generation++;
  disk->power = POWER_ON;
  simdisk_unlock(disk);
}
