#include <stdlib.h>
#include <string.h>

#include "simdisk_internal.h"

// Names of files, and which changes of them are durable.

inode *simdisk_directory_find(const directory *names, const char *name) {
  for (size_t index = 0; index < names->count; index++) {
    if (strcmp(names->entries[index].name, name) == 0) return names->entries[index].file;
  }
  return NULL;
}

bool simdisk_directory_put(
  simdisk *disk, directory *names, const char *name, inode *file) {
  simdisk_inode_retain(file);
  for (size_t index = 0; index < names->count; index++) {
    if (strcmp(names->entries[index].name, name) != 0) continue;
    simdisk_inode_release(disk, names->entries[index].file);
    names->entries[index].file = file;
    return true;
  }
  if (names->count == names->capacity) {
    size_t capacity = names->capacity == 0 ? 8 : names->capacity * 2;
    entry *entries = realloc(names->entries, capacity * sizeof(entry));
    if (entries == NULL) {
      simdisk_inode_release(disk, file);
      return false;
    }
    names->entries = entries;
    names->capacity = capacity;
  }
  char *copy = strdup(name);
  if (copy == NULL) {
    simdisk_inode_release(disk, file);
    return false;
  }
  names->entries[names->count++] = (entry){copy, file};
  return true;
}

void simdisk_directory_remove(simdisk *disk, directory *names, const char *name) {
  for (size_t index = 0; index < names->count; index++) {
    if (strcmp(names->entries[index].name, name) != 0) continue;
    free(names->entries[index].name);
    simdisk_inode_release(disk, names->entries[index].file);
    // Order is kept: it decides the order of dice.
    memmove(
      names->entries + index, names->entries + index + 1,
      (names->count - index - 1) * sizeof(entry));
    names->count--;
    return;
  }
}

void simdisk_directory_clear(simdisk *disk, directory *names) {
  for (size_t index = 0; index < names->count; index++) {
    free(names->entries[index].name);
    simdisk_inode_release(disk, names->entries[index].file);
  }
  free(names->entries);
  *names = (directory){NULL, 0, 0};
}

bool simdisk_directory_copy(simdisk *disk, directory *to, const directory *from) {
  simdisk_directory_clear(disk, to);
  for (size_t index = 0; index < from->count; index++) {
    const entry *source = &from->entries[index];
    if (!simdisk_directory_put(disk, to, source->name, source->file)) return false;
  }
  return true;
}

static int compare_names(const void *left, const void *right) {
  return strcmp(((const entry *)left)->name, ((const entry *)right)->name);
}

void simdisk_directory_sort(directory *names) {
  if (names->count > 1) qsort(names->entries, names->count, sizeof(entry), compare_names);
}

// MARK: Changes

static bool apply_change(
  simdisk *disk, directory *names, const char *removed, const char *added, inode *file) {
  // The file may be held by the removed name alone.
  simdisk_inode_retain(file);
  if (removed != NULL) simdisk_directory_remove(disk, names, removed);
  bool is_done = added == NULL || simdisk_directory_put(disk, names, added, file);
  simdisk_inode_release(disk, file);
  return is_done;
}

static void free_change(simdisk *disk, name_change *change) {
  free(change->removed);
  free(change->added);
  simdisk_inode_release(disk, change->file);
}

static bool commit_oldest(simdisk *disk) {
  name_change *oldest = &disk->pending[0];
  bool is_done =
    apply_change(disk, &disk->durable, oldest->removed, oldest->added, oldest->file);
  free_change(disk, oldest);
  memmove(disk->pending, disk->pending + 1, (disk->pending_count - 1) * sizeof(name_change));
  disk->pending_count--;
  return is_done;
}

bool simdisk_change_names(
  simdisk *disk, const char *removed, const char *added, inode *file) {
  if (disk->pending_count == MAXIMUM_PENDING_NAMES && !commit_oldest(disk)) return false;
  if (disk->pending_count == disk->pending_capacity) {
    size_t capacity = disk->pending_capacity == 0 ? 16 : disk->pending_capacity * 2;
    name_change *pending = realloc(disk->pending, capacity * sizeof(name_change));
    if (pending == NULL) return false;
    disk->pending = pending;
    disk->pending_capacity = capacity;
  }
  name_change change = {
    removed == NULL ? NULL : strdup(removed), added == NULL ? NULL : strdup(added),
    added == NULL ? NULL : file};
  if ((removed != NULL && change.removed == NULL) || (added != NULL && change.added == NULL)) {
    free(change.removed);
    free(change.added);
    return false;
  }
  simdisk_inode_retain(change.file);
  disk->pending[disk->pending_count++] = change;
  // The names given may belong to the entry that goes: use the copies from here on.
  return apply_change(disk, &disk->current, change.removed, change.added, change.file);
}

void simdisk_names_forget(simdisk *disk) {
  for (size_t index = 0; index < disk->pending_count; index++) {
    free_change(disk, &disk->pending[index]);
  }
  disk->pending_count = 0;
}

bool simdisk_names_sync(simdisk *disk) {
  bool is_done = true;
  for (size_t index = 0; index < disk->pending_count && is_done; index++) {
    const name_change *change = &disk->pending[index];
    is_done =
      apply_change(disk, &disk->durable, change->removed, change->added, change->file);
  }
  simdisk_names_forget(disk);
  return is_done;
}

// Takes what earlier changes did to a name out of those still pending: the name's new state is
// durable, so they may not come after it.
static void supersede(simdisk *disk, size_t *count, const char *name) {
  size_t kept = 0;
  for (size_t index = 0; index < *count; index++) {
    name_change *change = &disk->pending[index];
    if (change->removed != NULL && strcmp(change->removed, name) == 0) {
      free(change->removed);
      change->removed = NULL;
    }
    bool is_overwritten = change->added != NULL && strcmp(change->added, name) == 0;
    if (is_overwritten || (change->removed == NULL && change->added == NULL)) {
      free_change(disk, change);
    } else {
      disk->pending[kept++] = *change;
    }
  }
  *count = kept;
}

bool simdisk_names_sync_file(simdisk *disk, const inode *file) {
  bool is_done = true;
  size_t kept = 0;
  for (size_t index = 0; index < disk->pending_count; index++) {
    name_change change = disk->pending[index];
    if (change.file != file) {
      disk->pending[kept++] = change;
      continue;
    }
    if (!apply_change(disk, &disk->durable, change.removed, change.added, change.file)) {
      is_done = false;
    }
    supersede(disk, &kept, change.added);
    free_change(disk, &change);
  }
  disk->pending_count = kept;
  return is_done;
}

void simdisk_names_survive(simdisk *disk, simdisk_random *random) {
  size_t prefix =
    disk->pending_count == 0 ? 0 : simdisk_next(random) % (disk->pending_count + 1);
  for (size_t index = 0; index < disk->pending_count; index++) {
    const name_change *change = &disk->pending[index];
    bool is_kept = disk->profile == SIMDISK_ORDERED ? index < prefix
                                                    : simdisk_next(random) % 2 == 0;
    if (!is_kept) {
      disk->counters.names_lost++;
      continue;
    }
    disk->counters.names_kept++;
    apply_change(disk, &disk->durable, change->removed, change->added, change->file);
  }
  simdisk_names_forget(disk);
  simdisk_directory_copy(disk, &disk->current, &disk->durable);
}
