#ifndef SIMDISK_H
#define SIMDISK_H

// A disk in memory, with the faults of real ones, under real SQLite.
//
// One `simdisk` stands for the disk of one simulated node. It holds files by name in two images:
// what a running machine sees (its page cache) and what would survive losing power. A write changes
// the first, a sync copies it to the second; a power cut throws dice over the difference, sector by
// sector. One SQLite VFS serves all disks: the path "/disk/<number>/<name>" selects disk and file.
//
// Everything is a function of the seed and of the calls made: no clock, no system randomness, no
// address is looked at. Calls are serialised by a mutex a disk; SQLite's file handles may outlive
// their disk. Functions that return `int` give SQLite result codes, 0 being success.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct simdisk simdisk;
typedef struct simdisk_image simdisk_image;

// The unit that a disk writes or loses as a whole, unless the write to it is torn.
#define SIMDISK_SECTOR_BYTES 512
// The unit of memory; shared between images until one of them changes it.
#define SIMDISK_PAGE_BYTES 4096
// A file may not be larger; writing beyond gives SQLITE_FULL.
#define SIMDISK_MAXIMUM_FILE_BYTES ((int64_t)1 << 34)
// Longest name of a file, without the prefix of the disk.
#define SIMDISK_MAXIMUM_NAME_BYTES 200
// Files of one disk; creating more fails as on a file system without free inodes.
#define SIMDISK_MAXIMUM_FILES 4096

// When a created, deleted or renamed name is durable.
typedef enum simdisk_profile {
  // As ext4 in its default mode: names change in order, and every sync of a file commits all
  // changes so far. A cut keeps a prefix of the rest.
  SIMDISK_ORDERED = 0,
  // As little as POSIX promises: a name is durable after a sync of the directory only. A cut keeps
  // any subset of the rest.
  SIMDISK_ADVERSARIAL = 1,
  // As where directories cannot be synced (Windows; SQLite built with SQLITE_DISABLE_DIRSYNC): a
  // sync of a file makes its own name durable and no other change, and SQLite's sync of the
  // directory after creating a journal does nothing. A deletion that asks for it is durable.
  SIMDISK_LAZY_UNLINK = 2
} simdisk_profile;

// What can be armed to happen at an operation, or given a rate.
typedef enum simdisk_fault {
  // The machine loses power during the operation; every call fails until `simdisk_reboot`.
  SIMDISK_POWER_CUT = 0,
  // The process ends during the operation; the page cache stays.
  SIMDISK_PROCESS_KILL = 1,
  // Writes that need room and creations fail with SQLITE_FULL; a part may have been written.
  SIMDISK_NO_SPACE = 2,
  // Writes, truncations, creations, deletions and renames fail with an I/O error.
  SIMDISK_WRITE_ERROR = 3,
  // A sync fails; the data counts as clean afterwards and is lost at the next cut unless it is
  // written again, as Linux does.
  SIMDISK_SYNC_ERROR = 4,
  // A sync returns success and does nothing, as a disk that ignores the flush command.
  SIMDISK_SYNC_LIE = 5,
  // A read fails. Counted in reads.
  SIMDISK_READ_ERROR = 6,
  // A read delivers only its first half, and says so (SQLITE_IOERR_SHORT_READ). Counted in reads.
  SIMDISK_SHORT_READ = 7
} simdisk_fault;
#define SIMDISK_FAULT_KINDS 8

// What happened on a disk since it was created; probes of a simulation.
typedef struct simdisk_counters {
  uint64_t operations;        // everything below that changes the disk, and syncs
  uint64_t reads;             // counted apart, so that a cache changes no operation number
  uint64_t writes;
  uint64_t bytes_written;
  uint64_t truncates;
  uint64_t file_syncs;
  uint64_t directory_syncs;
  uint64_t creates;
  uint64_t deletes;
  uint64_t renames;
  uint64_t power_cuts;
  uint64_t process_kills;
  uint64_t reboots;
  uint64_t sectors_unsynced;  // at cuts: the sum of the next five
  uint64_t sectors_kept;      // in their newest version
  uint64_t sectors_stale;     // in a version that was overwritten before the cut
  uint64_t sectors_lost;
  uint64_t sectors_torn;      // the first part new, the rest old
  uint64_t sectors_garbage;
  uint64_t sectors_lied;      // lost after a sync that had failed
  uint64_t sizes_lost;        // files whose new size did not survive a cut
  uint64_t names_kept;        // unsynced creations, deletions and renames that survived
  uint64_t names_lost;
  uint64_t no_space;
  uint64_t write_errors;
  uint64_t sync_errors;
  uint64_t sync_lies;
  uint64_t read_errors;
  uint64_t short_reads;
  uint64_t bits_flipped;
} simdisk_counters;

// MARK: SQLite

// Registers the VFS under a name; doing so again changes nothing.
int simdisk_register(const char *name);
// The time that SQLite sees on all disks, in milliseconds since 1970. It never moves by itself.
void simdisk_set_time(int64_t milliseconds);
// Makes SQLite's own generator (WAL salts, journal nonces, random()) repeat from here on.
//
// SQLite has one for the process: call it before each step of a node, with a number derived from
// the node and the step, so that one node's draws do not shift another's.
void simdisk_seed_sqlite(uint64_t seed);

// MARK: Disks

// A new empty disk, or NULL without memory. All its dice come from the seed.
simdisk *simdisk_create(uint64_t seed);
// Takes the disk away. Handles that SQLite still holds fail from now on and may be closed later.
void simdisk_destroy(simdisk *disk);
// A new disk with the files as a running machine sees them on this one, all durable: a disk copied
// by a person. Faults and counters are not copied. Costs a pointer a page.
simdisk *simdisk_clone(simdisk *disk, uint64_t seed);
// The number in the disk's paths; never used twice in a process.
uint64_t simdisk_number(const simdisk *disk);

void simdisk_set_profile(simdisk *disk, simdisk_profile profile);
// Whether a torn write leaves the bytes beside it alone, as SQLite assumes by default. Without it
// a torn or garbled sector is damaged as a whole, and SQLite is told so. On by default.
void simdisk_set_powersafe_overwrite(simdisk *disk, int is_powersafe);
// Room for all files together, in bytes; negative is without limit (the default).
void simdisk_set_quota(simdisk *disk, int64_t bytes);

// MARK: Faults

// Lets a fault happen to the first `count` operations it applies to, from number `at` on.
//
// The first operation of a disk has the number 1; for the two faults of reading, the first read.
// Arming replaces what was armed of this kind; a count of 0 disarms.
void simdisk_arm(simdisk *disk, simdisk_fault fault, uint64_t at, uint64_t count);
// Lets a fault happen with a probability, given per million of the operations it applies to.
void simdisk_set_rate(simdisk *disk, simdisk_fault fault, uint32_t per_million);
// Takes back everything armed and all rates.
void simdisk_disarm(simdisk *disk);
// How many operations, and reads, there were.
uint64_t simdisk_operations(simdisk *disk);
uint64_t simdisk_reads(simdisk *disk);
void simdisk_read_counters(simdisk *disk, simdisk_counters *counters);

// Loses power, or ends the process, now; every call fails until `simdisk_reboot`.
void simdisk_cut_power(simdisk *disk);
void simdisk_kill_process(simdisk *disk);
int simdisk_is_down(simdisk *disk);
// Starts again. After a power cut (or if nothing happened before: then this is one) the surviving
// image is drawn from (seed, number of the reboot); after a kill the page cache is as it was.
// Handles opened before fail for good.
void simdisk_reboot(simdisk *disk);
// Flips a bit of a file, in what is seen and in what survives, as a decaying medium does.
int simdisk_flip_bit(simdisk *disk, const char *name, uint64_t bit);

// MARK: Images

// What a running machine sees (is_durable 0), or the least that would survive a cut. NULL without
// memory. Costs a pointer a page; the image is independent of the disk.
simdisk_image *simdisk_image_save(simdisk *disk, int is_durable);
// Replaces all files, durably; handles opened before fail for good. The image can be used again.
int simdisk_image_restore(simdisk *disk, const simdisk_image *image);
void simdisk_image_free(simdisk_image *image);
// A digest over names, sizes and bytes of either view, for comparing runs (not collision-proof).
uint64_t simdisk_hash(simdisk *disk, int is_durable);

// MARK: A node's small files outside SQLite

// Steps of `simdisk_file_write`, so that a program that forgets one can be simulated.
#define SIMDISK_WRITE_ATOMICALLY 1  // into "<name>.tmp", then renamed
#define SIMDISK_SYNC_FILE 2
#define SIMDISK_SYNC_DIRECTORY 4
#define SIMDISK_WRITE_DURABLY 7

// Replaces a file, each step being an operation that faults apply to.
int simdisk_file_write(
  simdisk *disk, const char *name, const void *bytes, size_t count, int steps);
// The size of a file as seen by a running machine; -1 if there is none.
int64_t simdisk_file_size(simdisk *disk, const char *name);
// Reads up to `count` bytes; `*got` tells how many there were.
int simdisk_file_read(
  simdisk *disk, const char *name, int64_t offset, void *bytes, size_t count, size_t *got);
// The same from the beginning for who watches: no operation, so no fault, and not counted.
int simdisk_file_peek(
  simdisk *disk, const char *name, void *bytes, size_t count, size_t *got);
int simdisk_file_delete(simdisk *disk, const char *name, int sync_directory);
int simdisk_file_rename(simdisk *disk, const char *from, const char *to, int sync_directory);
// The first name after another in bytewise order ("" comes before all), and its length; 0 if there
// is none. The buffer takes SIMDISK_MAXIMUM_NAME_BYTES + 1 bytes; it may be the one of `after`.
size_t simdisk_next_name(simdisk *disk, const char *after, char *name);

#ifdef __cplusplus
}
#endif
#endif
