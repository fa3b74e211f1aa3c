/* Exchange of one zone, second half: who acts when, what the world does, what must hold. */
#include "exchange-node.pml"

/* One author's steps; between any two of them others may act or the power may go. */
#define AUTHOR(i, there) \
  :: d_step { there && !open[i] -> judge(i) } \
  :: d_step { open[i] && pc[i] == 0 && !mem && written < W && len(OWN(i)) < 3 -> \
       written++; mem = written; memOf = i; ACK_MEM } \
  :: d_step { mem && memOf == i -> \
       OWN(i) = OWN(i) | (mem << (2 * len(OWN(i)))); records[i] = records[i] | one(mem); \
       acked = acked | one(mem); mem = 0 } \
  :: d_step { open[i] && pc[i] == 0 && !(mem && memOf == i) -> pull(i); pc[i] = 1 } \
  :: d_step { pc[i] == 1 -> prepare(i) } \
  :: d_step { pc[i] == 2 -> anchor[i] = (anchor[i] > note[i] -> anchor[i] : note[i]) + 1; \
       markLife[i] = life[i]; mark[i] = S(i, life[i]); pc[i] = 3 } \
  :: d_step { pc[i] == 3 -> note[i] = anchor[i]; moved[i] = 0; pc[i] = AFTER_NOTE } \
  :: d_step { pc[i] == 4 && i == 0 && !life[i] && !compacted[i] && S(i,0) >= 2 -> \
       compacted[i] = S(i,0); merging = 1; REMOVE_NOW(i) } \
  :: d_step { pc[i] == 4 -> give(i); AFTER(i) } \
  :: d_step { pc[i] == 5 -> if :: merging && i == 0 -> superseded(i); merging = 0 :: else fi; \
       pc[i] = 0 } \
  :: d_step { crashes < CRASHES && (pc[i] || (mem && memOf == i)) -> crashes++; pc[i] = 0; \
       open[i] = 0; if :: i == 0 -> merging = 0 :: else fi; \
       if :: memOf == i -> mem = 0 :: else fi }
#ifdef ACK_EARLY             /* mutant: acknowledged while only in memory */
#define ACK_MEM acked = acked | one(mem)
#else
#define ACK_MEM skip
#endif
#ifdef REMOVE_FIRST
#define REMOVE_NOW(i) superseded(i); skip
#else
#define REMOVE_NOW(i) skip
#endif
#define HEADS(s, i) snapLog[(s)*3] = L(i,0); snapLog[(s)*3+1] = L(i,1); snapLog[(s)*3+2] = L(i,2)
#define WEIGHT(a, b, c) (len(a) + len(b) + len(c))
#define OF(s) WEIGHT(snapLog[(s)*3], snapLog[(s)*3+1], snapLog[(s)*3+2])

#ifdef SNAPSHOT_AHEAD        /* mutant: heads count what waits in the pending area */
#define BEYOND(s) (pending[1] || WEIGHT(L(1,0), L(1,1), L(1,2)) > OF(s))
#else
#define BEYOND(s) (WEIGHT(L(1,0), L(1,1), L(1,2)) > OF(s))
#endif

/* B begins a snapshot in slot s, which is free; the other one stays until this one is whole. */
inline summarise(s) {
  snaps++; snapState[s] = 1; HEADS(s, 1); snapRecords[s] = records[1];
#ifdef SNAPSHOT_AHEAD
  f = 0; do :: f < files -> if :: (pending[1] & (1 << f)) && len(chain[f]) > len(snapLog[(s)*3 + where[f]])
                -> snapLog[(s)*3 + where[f]] = chain[f] :: else fi; f++ :: else -> break od;
#endif
#ifdef SNAPSHOT_DROP_FIRST   /* mutant: the older goes before the newer is whole */
  snapState[1 - s] = 0
#endif
}
/* C begins: the snapshot that covers most of those that claim no more than the files show. */
inline begin() {
  n = 2; k = 0;
  do :: k < 2 -> y = snapState[k] == 2; f = 0;
     do :: f < files -> r = 0; g = 0;
           do :: g < files -> if :: state[g] == VISIBLE && where[g] == where[f] && len(chain[g]) > r
                                  -> r = len(chain[g]) :: else fi; g++ :: else -> break od;
           if :: r && r < len(snapLog[k*3 + where[f]]) -> y = 0 :: else fi; f++
        :: else -> break od;
     if :: y && (n == 2 || OF(k) > OF(1 - k)) -> n = k :: else fi; k++
     :: else -> break od;
  if :: n < 2 -> records[2] = snapRecords[n]; k = 0;
#ifndef SNAPSHOT_NO_FRONTIER /* mutant: its records are loaded, its frontier is not */
        do :: k < 3 -> L(2,k) = snapLog[n*3 + k]; S(2,k) = len(L(2,k));
              base[2] = base[2] | (len(L(2,k)) << (2 * k)); k++ :: else -> break od
#endif
     :: else fi
}
inline restoreTo(i) {        /* the database as it was copied, in a node that is not open */
  L(i,0) = bLog; L(i,1) = 0; L(i,2) = 0; S(i,0) = bSealed; S(i,1) = 0; S(i,2) = 0;
  note[i] = bNote; records[i] = bRecords; life[i] = 0; compacted[i] = 0; pending[i] = 0;
  forked[i] = 0; pc[i] = 0; open[i] = 0
}
inline restoreAnchor(i) { anchor[i] = bAnchor; markLife[i] = 0; mark[i] = bMark; moved[i] = MOVED }
inline sync(i) { pull(i); prepare(i); if :: pc[i] != 4 -> drop(i) :: else fi; give(i); pc[i] = 0 }

/* Files get lost, come late, come back; what their author removed comes back too. */
#define FILE(a) \
  :: d_step { a < files && state[a] == VISIBLE && hides < HIDES -> state[a] = HIDDEN; hides++ } \
  :: d_step { a < files && state[a] == REMOVED && hides < HIDES -> state[a] = VISIBLE; hides++ } \
  :: d_step { a < files && state[a] == HIDDEN -> state[a] = VISIBLE }

/* Rest: hidden files are back or lost for ever; everybody opens, syncs often enough; then judge. */
inline settle() {
  f = 0;
  do :: f < files ->
        if :: state[f] == HIDDEN -> state[f] = (lost -> REMOVED : VISIBLE) :: else fi;
        f++
     :: else -> break od;
  if :: lost -> snapState[0] = 0; snapState[1] = 0;
              /* what only files held may lack a file in between */
        gone = gone | (acked & ~(records[0] | records[1] | records[2])) :: else fi;
  mem = 0; pc[0] = 0; pc[2] = 0;
  if :: !open[0] -> judge(0) :: else fi;
  if :: alive2 && !open[2] -> judge(2) :: else fi;
  if :: !TWO && !joined -> joined = 1; begin() :: else fi;
  rounds = 0;
  do :: rounds < 4 -> rounds++; sync(0); take(1); give(1);
        if :: alive2 -> sync(2) :: !alive2 && !TWO -> take(2); give(2) :: else fi
     :: else -> break od;
  k = forked[0] | forked[1] | forked[2];
  assert(!snapEver || lost || snapState[0] == 2 || snapState[1] == 2);
#ifndef IMAGE
  assert(!k);                /* no number was ever used for two changes */
  assert(!twice);            /* and no change applied a second time */
#endif
  if :: !k -> f = 0;         /* no fork noted: everybody has the same logs and the same records */
        do :: f < 3 -> assert(L(0,f) == L(1,f)); assert(NONE2 || L(1,f) == L(2,f)); f++
           :: else -> break od;
        assert(records[0] == records[1] && (NONE2 || records[1] == records[2]));
        assert(records[1] == ALL(1));
        assert(((acked & ~gone) & ~records[1]) == 0)  /* nothing acknowledged is missing */
     :: else fi
}

active proctype protocol() {
  anchor[0] = 1; note[0] = 1;
  do
  AUTHOR(0, 1)
#ifdef PUBLISH_EARLY         /* mutant: published while only in memory */
  :: d_step { mem && memOf == 0 -> put(life[0], len(OWN(0)) + 1, OWN(0) | (mem << (2 * len(OWN(0))))) }
#endif
  :: d_step { take(1); give(1) }
#ifdef CLONE
  AUTHOR(2, alive2)
  :: d_step { copied == 2 && !alive2 -> alive2 = 1; restoreTo(2); restoreAnchor(2) }
#else
  :: d_step { mem == 0 && copied && !rolled ->                       /* the database is put back */
       rolled = 1; gone = gone | (records[0] & ~published & ~bRecords); merging = 0; restoreTo(0) }
  :: d_step { mem == 0 && copied == 2 && !rolled ->                  /* the whole home is put back */
       rolled = 1; gone = gone | (records[0] & ~published & ~bRecords); merging = 0; restoreTo(0);
       restoreAnchor(0) }
  :: d_step { (snaps < 2 && !forked[1] && snapState[0] == 0 && snapState[1] != 1
       && BEYOND(1)) -> summarise(0); skip }
  :: d_step { (snaps < 2 && !forked[1] && snapState[1] == 0 && snapState[0] == 2
       && BEYOND(0)) -> summarise(1); skip }
  :: d_step { snapState[0] == 1 -> snapState[0] = 2; snapState[1] = 0; snapEver = 1 }
  :: d_step { snapState[1] == 1 -> snapState[1] = 2; snapState[0] = 0; snapEver = 1 }
  :: d_step { !joined && files -> joined = 1; begin(); take(2); give(2) }
  :: d_step { joined -> take(2); give(2) }
#endif
  :: d_step { !copied && life[0] == 0 -> copied = COPY; bLog = L(0,0); bSealed = S(0,0);
       bNote = note[0]; bRecords = records[0]; bAnchor = anchor[0]; bMark = mark[0] }
  :: d_step { copied == 1 && markLife[0] == 0 && !rolled -> copied = 2; bAnchor = anchor[0]; bMark = mark[0] }
#ifdef IMAGE
  :: d_step { !NO_TOUCH && alive2 && open[2] && pc[2] == 0 && !(mem && memOf == 2) && !touched && !life[2] ->
       touched = 1; moved[2] = 1; open[2] = 0 }     /* later the anchor notices something after all */
  :: d_step { alive2 && !control && life[0] == 0 && open[0] -> control = 1 }   /* A invites somebody */
#endif
  FILE(0) FILE(1) FILE(2) FILE(3) FILE(4)
  :: atomic { !done -> done = 1; if :: lost = 0 :: lost = 1 fi; d_step { settle() }; break }
  od
}
