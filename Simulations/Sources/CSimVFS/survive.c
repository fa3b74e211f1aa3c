#include <string.h>

#include "simdisk_internal.h"

// What a power cut leaves: dice over every unsynced sector and every unsynced name.
//
// Sectors are drawn one by one, so every order in which a disk may have written them is among the
// outcomes. The durable view becomes the survivor, and the current view equals it.

// Out of 1000: an unsynced sector is garbage, torn, kept, or (the rest) lost.
#define GARBAGE_PER_MILLE 25
#define TORN_PER_MILLE 25
#define KEPT_PER_MILLE 500

// An overwritten version of a sector, chosen among those remembered; NULL if there is none or the
// newest shall stay.
static const version *stale_version(
  const inode *file, uint32_t index, uint32_t sector, simdisk_random *random) {
  if (file->version_count == 0) return NULL;
  if (simdisk_next(random) % 4 != 0) return NULL;
  const version *chosen = NULL;
  uint64_t seen = 0;
  for (size_t position = 0; position < file->version_count; position++) {
    const version *candidate = &file->versions[position];
    if (candidate->index != index || candidate->sector != sector) continue;
    seen++;
    if (simdisk_next(random) % seen == 0) chosen = candidate;
  }
  return chosen;
}

// Draws one sector's fate into the surviving page; false if it was lost.
static bool survive_sector(
  simdisk *disk, const inode *file, const unsynced_page *unsynced, uint32_t sector,
  uint8_t *target, simdisk_random *random) {
  static const uint8_t zeros[SECTOR];
  const page *current = file->slots[unsynced->index].current;
  const uint8_t *source = current != NULL ? current->bytes + sector * SECTOR : zeros;
  bool is_narrow = disk->is_powersafe || unsynced->low[sector] >= unsynced->high[sector];
  size_t low = is_narrow ? unsynced->low[sector] : 0;
  size_t high = is_narrow ? unsynced->high[sector] : SECTOR;
  uint64_t dice = simdisk_next(random) % 1000;
  disk->counters.sectors_unsynced++;
  if (low >= high) {
    // Truncated, not written: what shortens the file decides.
    disk->counters.sectors_lost++;
    return false;
  }
  if (dice < GARBAGE_PER_MILLE) {
    for (size_t byte = low; byte < high; byte++) target[byte] = (uint8_t)simdisk_next(random);
    disk->counters.sectors_garbage++;
  } else if (dice < GARBAGE_PER_MILLE + TORN_PER_MILLE) {
    size_t end = low + simdisk_next(random) % (high - low);
    memcpy(target + low, source + low, end - low);
    disk->counters.sectors_torn++;
  } else if (dice < GARBAGE_PER_MILLE + TORN_PER_MILLE + KEPT_PER_MILLE) {
    const version *stale = stale_version(file, unsynced->index, sector, random);
    memcpy(target, stale != NULL ? stale->bytes : source, SECTOR);
    if (stale != NULL) {
      disk->counters.sectors_stale++;
    } else {
      disk->counters.sectors_kept++;
    }
  } else {
    disk->counters.sectors_lost++;
    return false;
  }
  return true;
}

// Draws the fate of a page; returns the end of what survived of it in the file, 0 if nothing.
static int64_t survive_page(
  simdisk *disk, inode *file, const unsynced_page *unsynced, simdisk_random *random) {
  slot *place = &file->slots[unsynced->index];
  page *survivor = simdisk_page_create(disk, place->durable);
  if (survivor == NULL) return 0;
  int64_t end = 0;
  for (uint32_t sector = 0; sector < SECTORS_PER_PAGE; sector++) {
    if (!(place->dirty & (1u << sector))) continue;
    uint8_t *target = survivor->bytes + sector * SECTOR;
    if (survive_sector(disk, file, unsynced, sector, target, random)) {
      end = (int64_t)unsynced->index * PAGE + sector * SECTOR + unsynced->high[sector];
    }
  }
  simdisk_page_release(disk, place->durable);
  place->durable = survivor;
  return end;
}

static int64_t surviving_size(
  simdisk *disk, const inode *file, int64_t kept_end, simdisk_random *random) {
  if (file->size == file->durable_size) return file->size;
  if (file->is_size_dirty && simdisk_next(random) % 2 == 0) return file->size;
  disk->counters.sizes_lost++;
  if (kept_end > file->size) kept_end = file->size;
  return kept_end > file->durable_size ? kept_end : file->durable_size;
}

// Makes a durable view end at a position; what grows over it later is zeros.
static void shorten_durable(simdisk *disk, inode *file, int64_t size) {
  size_t tail = (size_t)size % PAGE;
  size_t index = (size_t)size / PAGE;
  for (; index < file->slot_count; index++, tail = 0) {
    slot *place = &file->slots[index];
    page *shorter = NULL;
    if (tail > 0 && place->durable != NULL) {
      shorter = simdisk_page_create(disk, place->durable);
      if (shorter != NULL) memset(shorter->bytes + tail, 0, PAGE - tail);
    }
    simdisk_page_release(disk, place->durable);
    place->durable = shorter;
    if (tail == 0) place->lied = 0;
  }
  file->durable_size = size;
}

// Draws whether a file was shortened. A file system does so as a whole: either the old end is
// there with its old bytes, and what was written there afterwards is lost, or none of it.
static void survive_truncation(simdisk *disk, inode *file, simdisk_random *random) {
  if (!file->is_truncated) return;
  if (simdisk_next(random) % 2 == 0) {
    shorten_durable(disk, file, file->truncated_size);
    return;
  }
  disk->counters.sizes_lost++;
  for (size_t number = 0; number < file->unsynced_count; number++) {
    size_t index = file->unsynced[number].index;
    for (size_t sector = 0; sector < SECTORS_PER_PAGE; sector++) {
      int64_t end = (int64_t)(index * PAGE + (sector + 1) * SECTOR);
      if (end <= file->truncated_size) continue;
      uint8_t bit = (uint8_t)(1u << sector);
      if (!(file->slots[index].dirty & bit)) continue;
      file->slots[index].dirty &= (uint8_t)~bit;
      disk->counters.sectors_unsynced++;
      disk->counters.sectors_lost++;
    }
  }
  file->size = file->durable_size;
}

void simdisk_file_survive(simdisk *disk, inode *file, simdisk_random *random) {
  survive_truncation(disk, file, random);
  int64_t kept_end = 0;
  for (size_t index = 0; index < file->unsynced_count; index++) {
    int64_t end = survive_page(disk, file, &file->unsynced[index], random);
    if (end > kept_end) kept_end = end;
  }
  int64_t size = surviving_size(disk, file, kept_end, random);
  simdisk_file_forget_unsynced(file);
  for (size_t index = 0; index < file->slot_count; index++) {
    slot *place = &file->slots[index];
    for (unsigned lied = place->lied; lied != 0; lied &= lied - 1) disk->counters.sectors_lied++;
    place->lied = 0;
  }
  simdisk_file_drop_tail(disk, file, size);
  for (size_t index = 0; index < file->slot_count; index++) {
    slot *place = &file->slots[index];
    size_t end = size - (int64_t)index * PAGE < PAGE ? (size_t)size % PAGE : PAGE;
    if (end != 0 && end < PAGE && place->durable != NULL) {
      // Growing the file again must show zeros.
      page *last = simdisk_page_create(disk, place->durable);
      if (last != NULL) {
        memset(last->bytes + end, 0, PAGE - end);
        simdisk_page_release(disk, place->durable);
        place->durable = last;
      }
    }
    if (place->current == place->durable) continue;
    simdisk_page_release(disk, place->current);
    place->current = place->durable;
    simdisk_page_retain(place->current);
  }
  file->size = size;
  file->durable_size = size;
  file->is_size_lied = false;
  file->shared_locks = 0;
  file->reserved = file->pending = file->exclusive = NULL;
  file->memory = NULL;
}
