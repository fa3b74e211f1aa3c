#include <stdlib.h>
#include <string.h>

#include "simdisk_internal.h"

// The bytes of one file: pages shared between the current and the durable view until written.

// MARK: Pages

page *simdisk_page_create(simdisk *disk, const page *source) {
  page *result;
  if (disk->spare_count > 0) {
    result = disk->spare[--disk->spare_count];
  } else {
    result = malloc(sizeof(page));
    if (result == NULL) return NULL;
  }
  atomic_init(&result->references, 1);
  if (source != NULL) {
    memcpy(result->bytes, source->bytes, PAGE);
  } else {
    memset(result->bytes, 0, PAGE);
  }
  return result;
}

void simdisk_page_retain(page *shared) {
  if (shared != NULL) atomic_fetch_add_explicit(&shared->references, 1, memory_order_relaxed);
}

void simdisk_page_release(simdisk *disk, page *shared) {
  if (shared == NULL) return;
  if (atomic_fetch_sub_explicit(&shared->references, 1, memory_order_acq_rel) != 1) return;
  if (disk != NULL && disk->spare_count < MAXIMUM_SPARE_PAGES) {
    disk->spare[disk->spare_count++] = shared;
  } else {
    free(shared);
  }
}

// A page that this file alone sees, ready to be changed; NULL without memory.
static page *own_page(simdisk *disk, page **place) {
  page *present = *place;
  if (present != NULL
      && atomic_load_explicit(&present->references, memory_order_acquire) == 1) {
    return present;
  }
  page *copy = simdisk_page_create(disk, present);
  if (copy == NULL) return NULL;
  simdisk_page_release(disk, present);
  *place = copy;
  return copy;
}

// MARK: Inodes

inode *simdisk_inode_create(void) {
  inode *file = calloc(1, sizeof(inode));
  if (file != NULL) file->references = 1;
  return file;
}

void simdisk_inode_retain(inode *file) {
  if (file != NULL) file->references++;
}

void simdisk_inode_release(simdisk *disk, inode *file) {
  if (file == NULL || --file->references > 0) return;
  for (size_t index = 0; index < file->slot_count; index++) {
    simdisk_page_release(disk, file->slots[index].current);
    simdisk_page_release(disk, file->slots[index].durable);
  }
  free(file->slots);
  free(file->unsynced);
  free(file->versions);
  free(file);
}

bool simdisk_file_reserve(inode *file, size_t slot_count) {
  if (slot_count > file->slot_capacity) {
    size_t capacity = file->slot_capacity * 2;
    if (capacity < slot_count) capacity = slot_count;
    if (capacity < 8) capacity = 8;
    slot *slots = realloc(file->slots, capacity * sizeof(slot));
    if (slots == NULL) return false;
    file->slots = slots;
    file->slot_capacity = capacity;
  }
  if (slot_count > file->slot_count) {
    memset(file->slots + file->slot_count, 0, (slot_count - file->slot_count) * sizeof(slot));
    file->slot_count = slot_count;
  }
  return true;
}

// MARK: What is not synced

// Remembers a sector that is about to be written again before it was synced.
static void remember_version(inode *file, uint32_t index, uint32_t sector) {
  if (file->version_count == file->version_capacity && file->version_capacity < MAXIMUM_VERSIONS) {
    size_t capacity = file->version_capacity == 0 ? 16 : file->version_capacity * 4;
    if (capacity > MAXIMUM_VERSIONS) capacity = MAXIMUM_VERSIONS;
    version *versions = realloc(file->versions, capacity * sizeof(version));
    // Without memory one possible outcome of a cut is forgotten, which is no error.
    if (versions == NULL) return;
    file->versions = versions;
    file->version_capacity = capacity;
  }
  version *place;
  if (file->version_count < file->version_capacity) {
    place = &file->versions[file->version_count++];
  } else {
    place = &file->versions[file->next_version++ % MAXIMUM_VERSIONS];
  }
  place->index = index;
  place->sector = sector;
  const page *present = file->slots[index].current;
  if (present != NULL) {
    memcpy(place->bytes, present->bytes + sector * SECTOR, SECTOR);
  } else {
    memset(place->bytes, 0, SECTOR);
  }
}

// Notes that a range of a page is about to change; call it before changing.
static bool mark_dirty(inode *file, uint32_t index, size_t start, size_t end, bool is_written) {
  slot *place = &file->slots[index];
  if (place->unsynced == 0) {
    if (file->unsynced_count == file->unsynced_capacity) {
      size_t capacity = file->unsynced_capacity == 0 ? 16 : file->unsynced_capacity * 2;
      unsynced_page *pages = realloc(file->unsynced, capacity * sizeof(unsynced_page));
      if (pages == NULL) return false;
      file->unsynced = pages;
      file->unsynced_capacity = capacity;
    }
    file->unsynced[file->unsynced_count].index = index;
    place->unsynced = (uint32_t)++file->unsynced_count;
  }
  unsynced_page *unsynced = &file->unsynced[place->unsynced - 1];
  for (size_t sector = start / SECTOR; sector * SECTOR < end; sector++) {
    size_t first = sector * SECTOR;
    uint16_t low = (uint16_t)(start > first ? start - first : 0);
    uint16_t high = (uint16_t)(end < first + SECTOR ? end - first : SECTOR);
    uint8_t bit = (uint8_t)(1u << sector);
    if (!is_written) {
      if (!(place->dirty & bit)) {
        unsynced->low[sector] = SECTOR;
        unsynced->high[sector] = 0;
      }
      place->dirty |= bit;
    } else if (place->dirty & bit) {
      remember_version(file, index, (uint32_t)sector);
      if (low < unsynced->low[sector]) unsynced->low[sector] = low;
      if (high > unsynced->high[sector]) unsynced->high[sector] = high;
    } else {
      place->dirty |= bit;
      unsynced->low[sector] = low;
      unsynced->high[sector] = high;
    }
  }
  return true;
}

void simdisk_file_forget_unsynced(inode *file) {
  for (size_t index = 0; index < file->unsynced_count; index++) {
    slot *place = &file->slots[file->unsynced[index].index];
    place->unsynced = 0;
    place->dirty = 0;
  }
  file->unsynced_count = 0;
  file->version_count = 0;
  file->next_version = 0;
  file->is_size_dirty = false;
  file->is_truncated = false;
}

// MARK: Reading and writing

size_t simdisk_file_read_bytes(const inode *file, int64_t offset, void *bytes, size_t count) {
  if (offset < 0 || offset >= file->size) return 0;
  size_t present = (size_t)(file->size - offset);
  if (count > present) count = present;
  size_t done = 0;
  while (done < count) {
    size_t position = (size_t)offset + done;
    size_t start = position % PAGE;
    size_t part = count - done < PAGE - start ? count - done : PAGE - start;
    size_t index = position / PAGE;
    const page *source = index < file->slot_count ? file->slots[index].current : NULL;
    if (source != NULL) {
      memcpy((uint8_t *)bytes + done, source->bytes + start, part);
    } else {
      memset((uint8_t *)bytes + done, 0, part);
    }
    done += part;
  }
  return count;
}

bool simdisk_file_write_bytes(
  simdisk *disk, inode *file, int64_t offset, const void *bytes, size_t count) {
  if (count == 0) return true;
  size_t end = (size_t)offset + count;
  if (!simdisk_file_reserve(file, (end + PAGE - 1) / PAGE)) return false;
  size_t done = 0;
  while (done < count) {
    size_t position = (size_t)offset + done;
    size_t start = position % PAGE;
    size_t part = count - done < PAGE - start ? count - done : PAGE - start;
    size_t index = position / PAGE;
    if (!mark_dirty(file, (uint32_t)index, start, start + part, true)) return false;
    page *target = own_page(disk, &file->slots[index].current);
    if (target == NULL) return false;
    memcpy(target->bytes + start, (const uint8_t *)bytes + done, part);
    done += part;
  }
  if ((int64_t)end > file->size) {
    file->size = (int64_t)end;
    file->is_size_dirty = true;
  }
  return true;
}

// Forgets overwritten versions from a position on: shortening gives their place away.
static void forget_versions(inode *file, int64_t from) {
  size_t kept = 0;
  for (size_t index = 0; index < file->version_count; index++) {
    const version *present = &file->versions[index];
    int64_t position = (int64_t)present->index * PAGE + (int64_t)present->sector * SECTOR;
    if (position + SECTOR <= from) file->versions[kept++] = *present;
  }
  file->version_count = kept;
}

bool simdisk_file_resize(simdisk *disk, inode *file, int64_t size) {
  if (size == file->size) return true;
  if (size < file->size) {
    forget_versions(file, size);
    int64_t smallest = file->is_truncated ? file->truncated_size : file->durable_size;
    if (size < smallest) {
      file->is_truncated = true;
      file->truncated_size = size;
    }
    size_t index = (size_t)size / PAGE;
    size_t start = (size_t)size % PAGE;
    for (; index < file->slot_count; index++, start = 0) {
      slot *place = &file->slots[index];
      if (place->current == NULL) continue;
      if (!mark_dirty(file, (uint32_t)index, start, PAGE, false)) return false;
      if (start == 0) {
        simdisk_page_release(disk, place->current);
        place->current = NULL;
      } else {
        page *target = own_page(disk, &place->current);
        if (target == NULL) return false;
        memset(target->bytes + start, 0, PAGE - start);
      }
    }
  }
  file->size = size;
  file->is_size_dirty = true;
  return true;
}

// MARK: Syncing

// Brings the dirty sectors alone into the durable page, where others were lied about.
static bool sync_sectors(simdisk *disk, slot *place) {
  page *target = own_page(disk, &place->durable);
  if (target == NULL) return false;
  for (size_t sector = 0; sector < SECTORS_PER_PAGE; sector++) {
    if (!(place->dirty & (1u << sector))) continue;
    uint8_t *to = target->bytes + sector * SECTOR;
    if (place->current != NULL) {
      memcpy(to, place->current->bytes + sector * SECTOR, SECTOR);
    } else {
      memset(to, 0, SECTOR);
    }
  }
  place->lied &= (uint8_t)~place->dirty;
  return true;
}

bool simdisk_file_sync(simdisk *disk, inode *file) {
  for (size_t index = 0; index < file->unsynced_count; index++) {
    size_t number = file->unsynced[index].index;
    slot *place = &file->slots[number];
    if (place->lied & ~place->dirty) {
      if (!sync_sectors(disk, place)) return false;
    } else if (place->durable != place->current) {
      simdisk_page_release(disk, place->durable);
      place->durable = place->current;
      simdisk_page_retain(place->durable);
      place->lied = 0;
    }
    if (file->is_size_lied) {
      int64_t end = ((int64_t)number + 1) * PAGE;
      if (end > file->size) end = file->size;
      if (end > file->durable_size) file->durable_size = end;
    }
  }
  if (file->is_size_dirty) {
    file->durable_size = file->size;
    file->is_size_lied = false;
  }
  simdisk_file_forget_unsynced(file);
  return true;
}

void simdisk_file_sync_fails(inode *file) {
  for (size_t index = 0; index < file->unsynced_count; index++) {
    slot *place = &file->slots[file->unsynced[index].index];
    place->lied |= place->dirty;
  }
  if (file->size != file->durable_size) file->is_size_lied = true;
  simdisk_file_forget_unsynced(file);
}

void simdisk_file_drop_tail(simdisk *disk, inode *file, int64_t size) {
  size_t kept = ((size_t)size + PAGE - 1) / PAGE;
  for (size_t index = kept; index < file->slot_count; index++) {
    simdisk_page_release(disk, file->slots[index].current);
    simdisk_page_release(disk, file->slots[index].durable);
  }
  if (kept < file->slot_count) file->slot_count = kept;
}
