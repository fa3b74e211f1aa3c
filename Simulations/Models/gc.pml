/* Collection of what nobody needs any more: a SPECIFICATION of what the design promises;
   no code does this today.

   Three devices share a place (a folder or a relay) that holds segments and a snapshot. Changes:
   X (device 0 writes a record), D (device 1, having seen X, deletes it), Y (device 2 writes while
   it was away). Each device says how far it has come: its acknowledged frontier. A change leaves the
   place when every active device has acknowledged it AND a snapshot holds its outcome; the snapshot
   is durable first, the deletion second. A device that is silent too long (RETIRE) stops counting;
   when it is back it begins anew from the snapshot and writes its unsent changes again on top.

   The tombstone of X goes with D: a device that has X but not D after the collection would bring X
   back to life, which is what all of this prevents. */
#define X 1
#define D 2
#define Y 4
#define ALL 7
byte mem[3], disk[3], backup[3], ack[3];  /* sets of changes */
bool retired[3], behind[3];  /* silent too long; and has to begin anew */
bool lost[3];                /* restored: wrote under a life that is over */
byte place, snap;            /* the segments, and what the snapshot's frontier covers */
byte going;                  /* chosen for deletion, if the collector does not crash first */
byte sent, born, forked;     /* ever published; ever written */
byte crashes, restores; bool saved[3], retirement, healed;
hidden byte i, k;
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef RESTORES
#define RESTORES 1
#endif
#define KNOWN (place | snap)
#define COUNTS(d) (retired[d] -> ALL : ack[d])
#define STABLE (COUNTS(0) & COUNTS(1) & COUNTS(2))
#ifdef ACK_EARLY             /* mutant: acknowledged from memory */
#define HAS(d) mem[d]
#elif defined(ACK_UNSENT)    /* mutant: acknowledges own changes that no other place holds */
#define HAS(d) disk[d]
#else
#define HAS(d) (disk[d] & KNOWN)
#endif
#ifdef PUBLISH_EARLY         /* mutant: published from memory */
#define GIVES(d) mem[d]
#else
#define GIVES(d) disk[d]
#endif
/* The changes that a set makes visible when D's tombstone may be missing: X shows unless D is there. */
#ifdef SNAPSHOT_UNION        /* mutant: the snapshot's records are merged, its frontier is ignored */
#define LOAD(d) mem[d] = mem[d] | (snap & ~((mem[d] & X) && !(mem[d] & D) -> D : 0))
#else
#define LOAD(d) mem[d] = mem[d] | snap
#endif
#define FITS(d, c) ((place & c) && !(mem[d] & c) && (c != D || (mem[d] & X)))

#define DEVICE(d, c, cause) \
  :: d_step { !behind[d] && !(mem[d] & c) && !(born & c) && (cause) -> mem[d] = mem[d] | c; \
       born = born | c } \
  :: d_step { lost[d] && !(mem[d] & c) -> REUSE(c) } \
  :: d_step { !behind[d] && mem[d] != disk[d] -> disk[d] = mem[d] } \
  :: d_step { !behind[d] && (GIVES(d) & ~KNOWN) -> place = place | (GIVES(d) & ~snap); \
       sent = sent | GIVES(d) } \
  :: d_step { !behind[d] && FITS(d, X) -> mem[d] = mem[d] | X } \
  :: d_step { !behind[d] && FITS(d, D) -> mem[d] = mem[d] | D } \
  :: d_step { !behind[d] && FITS(d, Y) -> mem[d] = mem[d] | Y } \
  :: d_step { !behind[d] && (snap & ~mem[d]) -> LOAD(d) } \
  :: d_step { !behind[d] && !retired[d] && (HAS(d) & ~ack[d]) -> ack[d] = ack[d] | HAS(d) } \
  :: d_step { !behind[d] && going == 0 && (STABLE & ~snap & disk[d]) -> COLLECT(d) } \
  :: d_step { crashes < CRASHES && (mem[d] != disk[d] || going) -> crashes++; going = 0; \
       lost[d] = ((mem[d] & ~disk[d] & sent & c) -> 1 : lost[d]); \
       born = born & ~(mem[d] & ~disk[d] & c & ~sent); mem[d] = disk[d] } \
  :: d_step { RESTORES && !saved[d] && restores == 0 && disk[d] -> saved[d] = 1; backup[d] = disk[d] } \
  :: d_step { saved[d] && restores < RESTORES && disk[d] != backup[d] -> restores++; \
       lost[d] = ((disk[d] & ~backup[d] & c) -> 1 : lost[d]); \
       disk[d] = backup[d]; mem[d] = backup[d] }
#ifdef REUSE_LIFE            /* mutant: a restored device writes other content under the same number */
#define REUSE(c) if :: (sent & c) -> forked = 1 :: else fi; mem[0] = mem[0] | c
#else
#define REUSE(c) skip        /* it writes under a new life, which is another change */
#endif
#ifdef DELETE_FIRST          /* mutant: deleted first, the snapshot is written afterwards */
#define COLLECT(d) going = STABLE & ~snap & disk[d]; place = place & ~going
#define FINISH snap = snap | going; going = 0
#else
#define COLLECT(d) going = STABLE & ~snap & disk[d]; snap = snap | going
#define FINISH place = place & ~going; going = 0
#endif
/* Coming back after the retirement. */
#ifdef RETURN_MERGED         /* mutant: it goes on with what it had, and gives all of it */
#define RETURN(d) behind[d] = 0; retired[d] = 0; place = place | (disk[d] & ~DROPPED)
#define DROPPED 0
#elif defined(RETURN_DROPS)  /* mutant: its unsent changes are thrown away */
#define RETURN(d) mem[d] = snap; disk[d] = snap; ack[d] = snap; behind[d] = 0; retired[d] = 0
#else                        /* from the snapshot; then what was never sent, on top */
#define RETURN(d) mem[d] = snap | (disk[d] & ~sent); disk[d] = mem[d]; ack[d] = snap; \
       behind[d] = 0; retired[d] = 0
#endif
inline heal() {
  if :: going -> FINISH :: else fi;
  i = 0;
  do :: i < 3 -> if :: behind[i] -> RETURN(i) :: else fi; i++ :: else -> break od;
  k = 0;
  do :: k < 3 -> i = 0;
     do :: i < 3 -> LOAD(i);
           if :: FITS(i, X) -> mem[i] = mem[i] | X :: else fi;
           if :: FITS(i, D) -> mem[i] = mem[i] | D :: else fi;
           if :: FITS(i, Y) -> mem[i] = mem[i] | Y :: else fi;
           disk[i] = mem[i]; place = place | (disk[i] & ~snap); i++
        :: else -> break od; k++
     :: else -> break od;
  assert(disk[0] == disk[1] && disk[1] == disk[2]);       /* everybody has the same */
  assert((sent & ~disk[0]) == 0);                         /* nothing published is lost */
  assert(restores || (born & ~disk[0]) == 0)              /* nothing written is lost */
}

active proctype collection() {
  do
  DEVICE(0, X, 1)
  DEVICE(1, D, mem[1] & X)
  DEVICE(2, Y, 1)
  :: d_step { going -> FINISH }
  :: d_step { !retirement -> retirement = 1; retired[2] = 1; behind[2] = 1; mem[2] = disk[2] ;
       born = born & (mem[0] | mem[1] | mem[2] | KNOWN) }
  :: d_step { behind[2] -> RETURN(2) }
  :: atomic { forked -> assert(false) }
  :: atomic { ((STABLE & (place | snap)) != STABLE) -> assert(false) } /* obtainable from the place */
  :: atomic { !healed -> healed = 1; d_step { heal() }; break }
  od
}
