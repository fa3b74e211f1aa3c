#include <stdlib.h>
#include <string.h>

#include "simdisk_internal.h"

// Copies of a disk's files, sharing pages until one side changes them, and digests.

struct simdisk_image {
  directory files;
};

// A file with one view of another, all of it durable.
static inode *copy_inode(const inode *source, bool is_durable) {
  inode *copy = simdisk_inode_create();
  if (copy == NULL) return NULL;
  copy->size = copy->durable_size = is_durable ? source->durable_size : source->size;
  size_t count = ((size_t)copy->size + PAGE - 1) / PAGE;
  if (count > source->slot_count) count = source->slot_count;
  if (!simdisk_file_reserve(copy, count)) {
    simdisk_inode_release(NULL, copy);
    return NULL;
  }
  for (size_t index = 0; index < count; index++) {
    const slot *from = &source->slots[index];
    page *shared = is_durable ? from->durable : from->current;
    simdisk_page_retain(shared);
    simdisk_page_retain(shared);
    copy->slots[index].current = shared;
    copy->slots[index].durable = shared;
  }
  return copy;
}

static bool copy_files(simdisk *disk, directory *to, const directory *from, bool is_durable) {
  for (size_t index = 0; index < from->count; index++) {
    inode *copy = copy_inode(from->entries[index].file, is_durable);
    if (copy == NULL) return false;
    bool is_done = simdisk_directory_put(disk, to, from->entries[index].name, copy);
    simdisk_inode_release(disk, copy);
    if (!is_done) return false;
  }
  return true;
}

simdisk_image *simdisk_image_save(simdisk *disk, int is_durable) {
  simdisk_image *image = calloc(1, sizeof(simdisk_image));
  if (image == NULL) return NULL;
  simdisk_lock(disk);
  bool is_done = copy_files(
    NULL, &image->files, is_durable ? &disk->durable : &disk->current, is_durable != 0);
  simdisk_unlock(disk);
  if (!is_done) {
    simdisk_image_free(image);
    return NULL;
  }
  return image;
}

void simdisk_image_free(simdisk_image *image) {
  if (image == NULL) return;
  simdisk_directory_clear(NULL, &image->files);
  free(image);
}

int simdisk_image_restore(simdisk *disk, const simdisk_image *image) {
  directory current = {NULL, 0, 0};
  directory durable = {NULL, 0, 0};
  simdisk_lock(disk);
  bool is_done = copy_files(disk, &current, &image->files, false)
    && simdisk_directory_copy(disk, &durable, &current);
  if (is_done) {
    simdisk_names_forget(disk);
    simdisk_directory_clear(disk, &disk->current);
    simdisk_directory_clear(disk, &disk->durable);
    disk->current = current;
    disk->durable = durable;
    disk->generation++;
    if (disk->power != DESTROYED) disk->power = POWER_ON;
  } else {
    simdisk_directory_clear(disk, &current);
    simdisk_directory_clear(disk, &durable);
  }
  simdisk_unlock(disk);
  return is_done ? SQLITE_OK : SQLITE_NOMEM;
}

simdisk *simdisk_clone(simdisk *disk, uint64_t seed) {
  simdisk_image *image = simdisk_image_save(disk, 0);
  simdisk *clone = image == NULL ? NULL : simdisk_create(seed);
  if (clone != NULL) {
    simdisk_lock(disk);
    clone->profile = disk->profile;
    clone->is_powersafe = disk->is_powersafe;
    clone->quota = disk->quota;
    simdisk_unlock(disk);
    if (simdisk_image_restore(clone, image) != SQLITE_OK) {
      simdisk_destroy(clone);
      clone = NULL;
    }
  }
  simdisk_image_free(image);
  return clone;
}

// MARK: Digests

static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t count) {
  while (count >= 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    hash ^= hash >> 32;
    bytes += 8;
    count -= 8;
  }
  uint64_t rest = 0;
  memcpy(&rest, bytes, count);
  return simdisk_mix(hash ^ rest ^ ((uint64_t)count << 56));
}

static uint64_t hash_file(uint64_t hash, const inode *file, bool is_durable) {
  static const uint8_t zeros[PAGE];
  int64_t size = is_durable ? file->durable_size : file->size;
  hash = simdisk_mix(hash ^ (uint64_t)size);
  for (int64_t offset = 0; offset < size; offset += PAGE) {
    size_t index = (size_t)offset / PAGE;
    const page *source = NULL;
    if (index < file->slot_count) {
      source = is_durable ? file->slots[index].durable : file->slots[index].current;
    }
    size_t count = size - offset < PAGE ? (size_t)(size - offset) : PAGE;
    hash = hash_bytes(hash, source != NULL ? source->bytes : zeros, count);
  }
  return hash;
}

uint64_t simdisk_hash(simdisk *disk, int is_durable) {
  simdisk_lock(disk);
  directory *names = is_durable ? &disk->durable : &disk->current;
  directory sorted = {NULL, 0, 0};
  uint64_t hash = 0;
  if (simdisk_directory_copy(disk, &sorted, names)) {
    simdisk_directory_sort(&sorted);
    hash = simdisk_mix(sorted.count);
    for (size_t index = 0; index < sorted.count; index++) {
      const entry *place = &sorted.entries[index];
      hash = hash_bytes(hash, (const uint8_t *)place->name, strlen(place->name));
      hash = hash_file(hash, place->file, is_durable != 0);
    }
  }
  simdisk_directory_clear(disk, &sorted);
  simdisk_unlock(disk);
  return hash;
}

// MARK: Rot

int simdisk_flip_bit(simdisk *disk, const char *name, uint64_t bit) {
  simdisk_lock(disk);
  inode *file = simdisk_directory_find(&disk->current, name);
  int result = file == NULL ? SQLITE_CANTOPEN : SQLITE_RANGE;
  if (file != NULL && bit / 8 < (uint64_t)file->size) {
    slot *place = &file->slots[bit / 8 / PAGE];
    size_t byte = bit / 8 % PAGE;
    bool is_shared = place->current == place->durable;
    page *current = simdisk_page_create(disk, place->current);
    page *durable = is_shared ? current : simdisk_page_create(disk, place->durable);
    if (current == NULL || durable == NULL) {
      if (!is_shared) simdisk_page_release(disk, durable);
      simdisk_page_release(disk, current);
      simdisk_unlock(disk);
      return SQLITE_NOMEM;
    }
    current->bytes[byte] ^= (uint8_t)(1u << bit % 8);
    if (is_shared) {
      simdisk_page_retain(current);
    } else {
      durable->bytes[byte] ^= (uint8_t)(1u << bit % 8);
    }
    simdisk_page_release(disk, place->current);
    simdisk_page_release(disk, place->durable);
    place->current = current;
    place->durable = durable;
    disk->counters.bits_flipped++;
    result = SQLITE_OK;
  }
  simdisk_unlock(disk);
  return result;
}
