#include "simdisk_internal.h"

// Whole operations, as a system call does them, with the faults that may strike.

int simdisk_operation_create(simdisk *disk, const char *name, inode **file) {
  bool is_under_way;
  bool is_begun = simdisk_begin(disk, &is_under_way);
  if (!is_begun && !is_under_way) return SQLITE_IOERR;
  if (is_begun) {
    if (simdisk_strikes(disk, SIMDISK_WRITE_ERROR)) {
      disk->counters.write_errors++;
      return SQLITE_IOERR;
    }
    if (disk->current.count >= SIMDISK_MAXIMUM_FILES || simdisk_strikes(disk, SIMDISK_NO_SPACE)) {
      disk->counters.no_space++;
      // What SQLite's unix VFS makes of ENOSPC on open(2).
      return SQLITE_CANTOPEN;
    }
  }
  inode *created = simdisk_inode_create();
  if (created == NULL) return SQLITE_NOMEM;
  bool is_done = simdisk_change_names(disk, NULL, name, created);
  if (is_done) {
    // The name holds it; the caller retains it for longer.
    *file = created;
    disk->counters.creates++;
  }
  simdisk_inode_release(disk, created);
  if (!is_done) return SQLITE_NOMEM;
  return is_begun ? SQLITE_OK : SQLITE_IOERR;
}

// Whether all files together may grow by so many bytes.
static bool has_room(const simdisk *disk, int64_t growth) {
  if (disk->quota < 0) return true;
  int64_t used = 0;
  for (size_t index = 0; index < disk->current.count; index++) {
    used += disk->current.entries[index].file->size;
  }
  return used + growth <= disk->quota;
}

int simdisk_operation_write(
  simdisk *disk, inode *file, int64_t offset, const void *bytes, size_t count) {
  bool is_under_way;
  bool is_in_range = offset >= 0 && offset <= SIMDISK_MAXIMUM_FILE_BYTES
    && count <= (size_t)(SIMDISK_MAXIMUM_FILE_BYTES - offset);
  if (!simdisk_begin(disk, &is_under_way)) {
    if (is_under_way && is_in_range) simdisk_file_write_bytes(disk, file, offset, bytes, count);
    return SQLITE_IOERR_WRITE;
  }
  if (simdisk_strikes(disk, SIMDISK_WRITE_ERROR)) {
    disk->counters.write_errors++;
    return SQLITE_IOERR_WRITE;
  }
  int64_t growth = offset + (int64_t)count - file->size;
  bool is_full = !is_in_range;
  if (!is_full && growth > 0) {
    is_full = !has_room(disk, growth) || simdisk_strikes(disk, SIMDISK_NO_SPACE);
  }
  if (is_full) {
    disk->counters.no_space++;
    // What fits inside the file is written, as write(2) does.
    if (is_in_range && offset < file->size) {
      simdisk_file_write_bytes(disk, file, offset, bytes, (size_t)(file->size - offset));
    }
    return SQLITE_FULL;
  }
  if (!simdisk_file_write_bytes(disk, file, offset, bytes, count)) return SQLITE_NOMEM;
  disk->counters.writes++;
  disk->counters.bytes_written += count;
  return SQLITE_OK;
}

int simdisk_operation_truncate(simdisk *disk, inode *file, int64_t size) {
  bool is_under_way;
  if (!simdisk_begin(disk, &is_under_way)) {
    if (is_under_way && size <= file->size) simdisk_file_resize(disk, file, size);
    return SQLITE_IOERR_TRUNCATE;
  }
  if (simdisk_strikes(disk, SIMDISK_WRITE_ERROR)) {
    disk->counters.write_errors++;
    return SQLITE_IOERR_TRUNCATE;
  }
  if (size < 0 || size > SIMDISK_MAXIMUM_FILE_BYTES) return SQLITE_FULL;
  if (size > file->size && !has_room(disk, size - file->size)) {
    disk->counters.no_space++;
    return SQLITE_FULL;
  }
  if (!simdisk_file_resize(disk, file, size)) return SQLITE_NOMEM;
  disk->counters.truncates++;
  return SQLITE_OK;
}

int simdisk_operation_sync(simdisk *disk, inode *file) {
  bool is_under_way;
  if (!simdisk_begin(disk, &is_under_way)) return SQLITE_IOERR_FSYNC;
  if (simdisk_strikes(disk, SIMDISK_SYNC_ERROR)) {
    disk->counters.sync_errors++;
    simdisk_file_sync_fails(file);
    return SQLITE_IOERR_FSYNC;
  }
  disk->counters.file_syncs++;
  if (simdisk_strikes(disk, SIMDISK_SYNC_LIE)) {
    disk->counters.sync_lies++;
    return SQLITE_OK;
  }
  if (!simdisk_file_sync(disk, file)) return SQLITE_NOMEM;
  bool is_done = true;
  if (disk->profile == SIMDISK_ORDERED) is_done = simdisk_names_sync(disk);
  if (disk->profile == SIMDISK_LAZY_UNLINK) is_done = simdisk_names_sync_file(disk, file);
  return is_done ? SQLITE_OK : SQLITE_NOMEM;
}

int simdisk_operation_sync_directory(simdisk *disk) {
  bool is_under_way;
  if (!simdisk_begin(disk, &is_under_way)) return SQLITE_IOERR_DIR_FSYNC;
  if (simdisk_strikes(disk, SIMDISK_SYNC_ERROR)) {
    disk->counters.sync_errors++;
    return SQLITE_IOERR_DIR_FSYNC;
  }
  disk->counters.directory_syncs++;
  if (simdisk_strikes(disk, SIMDISK_SYNC_LIE)) {
    disk->counters.sync_lies++;
    return SQLITE_OK;
  }
  return simdisk_names_sync(disk) ? SQLITE_OK : SQLITE_NOMEM;
}

int simdisk_operation_delete(simdisk *disk, const char *name) {
  bool is_under_way;
  if (disk->power == POWER_ON && simdisk_directory_find(&disk->current, name) == NULL) {
    return SQLITE_IOERR_DELETE_NOENT;
  }
  if (!simdisk_begin(disk, &is_under_way)) {
    if (is_under_way) simdisk_change_names(disk, name, NULL, NULL);
    return SQLITE_IOERR_DELETE;
  }
  if (simdisk_strikes(disk, SIMDISK_WRITE_ERROR)) {
    disk->counters.write_errors++;
    return SQLITE_IOERR_DELETE;
  }
  disk->counters.deletes++;
  return simdisk_change_names(disk, name, NULL, NULL) ? SQLITE_OK : SQLITE_NOMEM;
}

int simdisk_operation_rename(simdisk *disk, const char *from, const char *to) {
  bool is_under_way;
  inode *file = simdisk_directory_find(&disk->current, from);
  if (disk->power == POWER_ON && file == NULL) return SQLITE_CANTOPEN;
  if (!simdisk_begin(disk, &is_under_way)) {
    if (is_under_way) simdisk_change_names(disk, from, to, file);
    return SQLITE_IOERR;
  }
  if (simdisk_strikes(disk, SIMDISK_WRITE_ERROR)) {
    disk->counters.write_errors++;
    return SQLITE_IOERR;
  }
  disk->counters.renames++;
  return simdisk_change_names(disk, from, to, file) ? SQLITE_OK : SQLITE_NOMEM;
}

int simdisk_operation_read(
  simdisk *disk, const inode *file, int64_t offset, void *bytes, size_t count, size_t *got) {
  *got = 0;
  if (disk->power != POWER_ON) return SQLITE_IOERR_READ;
  disk->counters.reads++;
  if (simdisk_strikes(disk, SIMDISK_READ_ERROR)) {
    disk->counters.read_errors++;
    return SQLITE_IOERR_READ;
  }
  size_t wanted = count;
  if (simdisk_strikes(disk, SIMDISK_SHORT_READ)) {
    disk->counters.short_reads++;
    wanted = count / 2;
  }
  *got = simdisk_file_read_bytes(file, offset, bytes, wanted);
  return SQLITE_OK;
}
