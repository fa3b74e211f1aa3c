#include <stdio.h>
#include <string.h>

#include "simdisk_internal.h"

// A node's files outside SQLite, on the same disk and with the same faults.

// Opens or makes a file, empties and fills it; the step before its name is safe.
static int fill(simdisk *disk, const char *name, const void *bytes, size_t count, int steps) {
  inode *file = simdisk_directory_find(&disk->current, name);
  int result = SQLITE_OK;
  if (file == NULL) result = simdisk_operation_create(disk, name, &file);
  if (result == SQLITE_OK && file->size > 0) result = simdisk_operation_truncate(disk, file, 0);
  if (result == SQLITE_OK) result = simdisk_operation_write(disk, file, 0, bytes, count);
  if (result == SQLITE_OK && (steps & SIMDISK_SYNC_FILE)) {
    result = simdisk_operation_sync(disk, file);
  }
  return result;
}

int simdisk_file_write(
  simdisk *disk, const char *name, const void *bytes, size_t count, int steps) {
  char temporary[SIMDISK_MAXIMUM_NAME_BYTES + 5];
  if (!simdisk_is_valid_name(name)) return SQLITE_CANTOPEN;
  snprintf(temporary, sizeof temporary, "%s.tmp", name);
  bool is_atomic = (steps & SIMDISK_WRITE_ATOMICALLY) != 0;
  if (is_atomic && !simdisk_is_valid_name(temporary)) return SQLITE_CANTOPEN;
  simdisk_lock(disk);
  int result = SQLITE_IOERR;
  if (disk->power == POWER_ON) {
    result = fill(disk, is_atomic ? temporary : name, bytes, count, steps);
    if (result == SQLITE_OK && is_atomic) {
      result = simdisk_operation_rename(disk, temporary, name);
    }
    if (result == SQLITE_OK && (steps & SIMDISK_SYNC_DIRECTORY)) {
      result = simdisk_operation_sync_directory(disk);
    }
  }
  simdisk_unlock(disk);
  return result;
}

int64_t simdisk_file_size(simdisk *disk, const char *name) {
  simdisk_lock(disk);
  const inode *file = simdisk_directory_find(&disk->current, name);
  int64_t size = file == NULL ? -1 : file->size;
  simdisk_unlock(disk);
  return size;
}

int simdisk_file_read(
  simdisk *disk, const char *name, int64_t offset, void *bytes, size_t count, size_t *got) {
  simdisk_lock(disk);
  *got = 0;
  int result = SQLITE_IOERR_READ;
  if (disk->power == POWER_ON) {
    const inode *file = simdisk_directory_find(&disk->current, name);
    result = file == NULL
      ? SQLITE_CANTOPEN
      : simdisk_operation_read(disk, file, offset, bytes, count, got);
  }
  simdisk_unlock(disk);
  return result;
}

int simdisk_file_peek(
  simdisk *disk, const char *name, void *bytes, size_t count, size_t *got) {
  simdisk_lock(disk);
  const inode *file = simdisk_directory_find(&disk->current, name);
  *got = file == NULL ? 0 : simdisk_file_read_bytes(file, 0, bytes, count);
  simdisk_unlock(disk);
  return file == NULL ? SQLITE_CANTOPEN : SQLITE_OK;
}

int simdisk_file_delete(simdisk *disk, const char *name, int sync_directory) {
  simdisk_lock(disk);
  int result = simdisk_operation_delete(disk, name);
  if (result == SQLITE_OK && sync_directory) result = simdisk_operation_sync_directory(disk);
  simdisk_unlock(disk);
  return result;
}

int simdisk_file_rename(simdisk *disk, const char *from, const char *to, int sync_directory) {
  if (!simdisk_is_valid_name(to)) return SQLITE_CANTOPEN;
  simdisk_lock(disk);
  int result = simdisk_operation_rename(disk, from, to);
  if (result == SQLITE_OK && sync_directory) result = simdisk_operation_sync_directory(disk);
  simdisk_unlock(disk);
  return result;
}

size_t simdisk_next_name(simdisk *disk, const char *after, char *name) {
  simdisk_lock(disk);
  const char *found = NULL;
  for (size_t index = 0; index < disk->current.count; index++) {
    const char *candidate = disk->current.entries[index].name;
    if (strcmp(candidate, after) <= 0) continue;
    if (found == NULL || strcmp(candidate, found) < 0) found = candidate;
  }
  size_t length = found == NULL ? 0 : strlen(found);
  if (length > 0) memcpy(name, found, length + 1);
  simdisk_unlock(disk);
  return length;
}
