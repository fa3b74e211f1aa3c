/* Exchange of one zone through a shared folder: what Sources/HearthSync does today.

   Node 0 is the author A. Node 1 is B, an admin, who publishes snapshots. Node 2 is C, who comes
   late and begins from a snapshot; with CLONE or IMAGE it is a second copy of A instead.

   A change is a number 1..3. A log is a byte: two bits a change, the first one lowest. A log of A
   belongs to a life, 0..2. A file holds the changes FIRST..len(chain) of a life; its chain is the
   whole log up to its last change, which is what a chain hash proves. Files are never rewritten:
   visible, hidden (lost or late; may come back), or removed by their author.

   CLONE  a copy of A's home that the anchor can notice (other inode), also one made while A works
   IMAGE  an image of the disk: inode and change time are as they were, the anchor cannot notice

   Mutants and findings are named where they act; docs/internals/models.md lists them. */
#if defined(IMAGE) && !defined(CLONE)
#define CLONE
#endif
#ifdef IMAGE
#define MOVED 0   /* whether a copied anchor shows it */
#define COPY 2    /* an image holds database and anchor of one moment */
#else
#define MOVED 1
#define COPY 1
#endif
#ifdef CLONE
#define TWO 1
#define NONE2 (!alive2)
#else
#define TWO 0
#define NONE2 0
#endif
#ifndef W
#define W 2       /* changes that A and its copy write */
#endif
#ifndef FILES
#define FILES 6
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef HIDES
#define HIDES 1
#endif
#define VISIBLE 1
#define HIDDEN  2
#define REMOVED 3
#define len(x)    ((x) == 0 -> 0 : ((x) < 4 -> 1 : ((x) < 16 -> 2 : 3)))
#define cut(x, n) ((x) & ((1 << (2 * (n))) - 1))
#define at(x, k)  (((x) >> (2 * ((k) - 1))) & 3)            /* the k-th change, 0 if none */
#define one(c)    ((c) -> (1 << (c)) : 0)
#define set(x)    (one((x) & 3) | one(((x) >> 2) & 3) | one(((x) >> 4) & 3))
#define L(i, l)   log[(i) * 3 + (l)]
#define S(i, l)   sealed[(i) * 3 + (l)]
#define OWN(i)    L(i, life[i])
#define UNSEALED(i) (S(i,0) < len(L(i,0)) || S(i,1) < len(L(i,1)) || S(i,2) < len(L(i,2)))
#define ALL(i)    (set(L(i,0)) | set(L(i,1)) | set(L(i,2)))

/* The database of each node: one transaction changes it as a whole. */
byte log[9], sealed[9];      /* [node * 3 + life] */
byte records[3];             /* the set of changes that the shown state is made of */
byte life[3], note[3];       /* the life that writes; the anchor's generation as noted */
byte forked[3];              /* lives found to have two histories */
byte compacted[3];           /* own segments of life 0 up to here are one */
byte base[3];                /* how far the snapshot reached that the node began from, life * 2 bits */
short pending[3];            /* files fetched that wait, by slot */
/* Beside the database. */
byte anchor[3], markLife[3], mark[3];   /* generation, life, last sealed change */
bool moved[3];               /* the file's identity is not the noted one */
/* In memory. */
byte pc[3]; bool open[3]; byte mem;
/* The folder. */
byte chain[FILES], where[FILES], first[FILES], state[FILES]; byte files;
byte snapState[2], snapRecords[2], snapLog[6]; bool snapEver;
/* Backups, budgets, the observer's ledger. */
byte copied, bLog, bSealed, bNote, bAnchor, bMark, bRecords;  /* copied: 1 database, 2 anchor too */
byte written, crashes, hides, snaps, lives = 1, since[3];
byte acked, published, gone; bool twice, joined, rolled, control, alive2, touched, done;
byte memOf; bool merging, lost;
hidden byte rounds, f, g, l, n, k, y, again, old, was, r;      /* scratch of a step, no part of the state */
#ifdef ANCHOR_LATE           /* mutant: published first, anchor afterwards */
#define AFTER_SEAL 4
#define AFTER_GIVE 2
#define AFTER_NOTE 5
#else
#define AFTER_SEAL 2
#define AFTER_NOTE 4
#define AFTER_GIVE 5
#endif

/* Whether visible files of a life hold its k-th change: by name, as nobody opens them for that. */
inline covered(l, k, yes) {
  yes = 0; g = 0;
  do :: g < files -> if :: (state[g] == VISIBLE && where[g] == l && first[g] <= k
                         && k <= len(chain[g])) -> yes = 1 :: else fi; g++
     :: else -> break od; g = 0
}
inline put(l, from, x) {     /* publishes a file; the same one again changes nothing */
  g = 0;
  do :: g < files && !(where[g] == l && first[g] == from && chain[g] == x) -> g++
     :: else -> break od;
  if :: g == files -> assert(files < FILES); where[g] = l; first[g] = from; chain[g] = x; files++
     :: else fi;
  state[g] = VISIBLE; published = published | set(x); g = 0
}
/* Takes what fits: each author's log without gaps, each change after its causes. */
inline take(i) {
  again = 1;
  do :: again -> again = 0; f = 0;
     do :: f < files ->
        l = where[f]; n = len(L(i,l));
        if :: (state[f] == VISIBLE || (pending[i] & (1 << f))) && !(forked[i] & (1 << l)) ->
              if :: (len(chain[f]) > n && (first[f] > n + 1 || len(L(i,0)) < since[l]
                    && !(forked[i] & 1))) ->
                    pending[i] = pending[i] | (1 << f)             /* a gap, or a cause is missing */
                 :: (len(chain[f]) > n && first[f] <= n + 1 && (len(L(i,0)) >= since[l]
                    || (forked[i] & 1))) ->
                    if :: cut(chain[f], n) == L(i,l) ->
                          if :: records[i] & set(chain[f] & ~cut(chain[f], n)) -> twice = 1
                             :: else fi;
                          records[i] = records[i] | set(chain[f] & ~cut(chain[f], n));
                          L(i,l) = chain[f]; S(i,l) = len(chain[f])
                       :: else -> forked[i] = forked[i] | (1 << l)
                    fi; again = 1
                 :: len(chain[f]) <= n ->
#ifndef AS_BUILT_EQUAL_LENGTH  /* finding 4: SyncPlan fetches only what reaches further */
                    if :: cut(L(i,l), len(chain[f])) != chain[f] ->
                          forked[i] = forked[i] | (1 << l) :: else fi;
#endif
                    pending[i] = pending[i] & ~(1 << f)
              fi
           :: else fi; f++
        :: else -> break od
     :: else -> break od; f = 0; l = 0; n = 0; again = 0
}
/* Gives what the folder lacks: segments of one change each, or the merged one. */
inline give(i) {
  l = 0;
  do :: l < 3 -> k = 1;
     if :: l == 0 && compacted[i] ->
           n = 0; do :: k <= compacted[i] -> covered(0, k, y); n = n + y; k++ :: else -> break od;
           if :: n < compacted[i] -> put(0, 1, cut(L(i,0), compacted[i])) :: else fi
        :: else -> k = k + ((base[i] >> (2 * l)) & 3)    /* a newcomer never had what came before */
     fi;
     do :: k <= S(i,l) -> covered(l, k, y);
           if :: !y -> put(l, k, cut(L(i,l), k)) :: else fi; k++
        :: else -> break od;
     l++
     :: else -> break od; l = 0; k = 0; n = 0; y = 0
}
inline drop(i) {             /* a new anchor as a whole, where nothing can come between */
  anchor[i] = (anchor[i] > note[i] -> anchor[i] : note[i]) + 1; markLife[i] = life[i];
  mark[i] = S(i, life[i]); note[i] = anchor[i]; moved[i] = 0
}
/* A new life; RE: changes that no segment holds are taken back and written again under it. */
inline newLife(i, re) {
  l = life[i]; life[i] = lives; assert(lives < 3); lives++;
  if :: re && len(L(i,l)) > S(i,l) ->
        n = S(i,l); k = n + 1; y = L(i,l);
        L(i,l) = cut(y, n);
        do :: k <= len(y) ->
              OWN(i) = OWN(i) | (at(y, k) << (2 * len(OWN(i)))); k++
           :: else -> break od
     :: else fi;
  since[life[i]] = len(L(i,0)); compacted[i] = 0; l = 0; n = 0; k = 0; y = 0
}
/* Whether another copy has published changes of a life that this copy has not. */
inline foreign(i, l, yes) {
  yes = 0; g = 0;
  do :: g < files -> if :: state[g] == VISIBLE && where[g] == l && len(chain[g]) > S(i,l)
                       -> yes = 1 :: else fi; g++
     :: else -> break od; g = 0
}
inline pull(i) {
  if :: life[i] == 0 && control && i == 2 -> /* the control zone goes first; it shows the copy */
#ifdef AS_BUILT_ONE_ZONE     /* finding 2: decided by the unsealed changes of that zone alone */
        newLife(i, 0); drop(i)
#else
        newLife(i, 1); drop(i)
#endif
     :: else fi;
  foreign(i, life[i], y);
  if :: y -> newLife(i, 1); drop(i) :: else fi; y = 0;
#ifndef AS_BUILT_OLD_LIVES   /* finding 3: earlier lives are not looked at */
  if :: life[i] != 0 && S(i,0) < len(L(i,0)) ->
        f = 0; n = len(L(i,0));        /* n: how far no file says anything else */
        do :: f < files ->
              k = S(i,0) + 1;
              do :: (k <= n && k <= len(chain[f]) && state[f] == VISIBLE && where[f] == 0) ->
                    if :: at(chain[f], k) != at(L(i,0), k) -> n = k - 1 :: else fi; k++
                 :: else -> break od; f++
           :: else -> break od;
        old = L(i,0); L(i,0) = cut(old, n); k = n + 1;
        do :: k <= len(old) -> OWN(i) = OWN(i) | (at(old, k) << (2 * len(OWN(i)))); k++
           :: else -> break od
     :: else fi;
#endif
  take(i)
}
/* The step of a sync after which the node gives: what is new is sealed, the anchor follows. */
inline prepare(i) {
  l = life[i];
  if :: (UNSEALED(i)
#ifndef AS_BUILT_ANCHOR      /* finding 1: an anchor only where this very sync has sealed */
        || markLife[i] != l || mark[i] != S(i,l)
#endif
        ) -> S(i,0) = len(L(i,0)); S(i,1) = len(L(i,1)); S(i,2) = len(L(i,2)); pc[i] = AFTER_SEAL
     :: else -> pc[i] = 4
  fi
}
/* What opening a node finds. */
inline judge(i) {
  if :: (anchor[i] > note[i] + 1 || anchor[i] < note[i]
        || (markLife[i] == life[i] && mark[i] > len(OWN(i)))
        || (anchor[i] == note[i] && moved[i])
#ifndef AS_BUILT_WINDOW      /* finding 5: the file is one ahead, its identity is not compared */
        || anchor[i] == note[i] + 1
#endif
        ) ->
#ifndef REUSE_LIFE           /* mutant: the anchor is ignored */
        newLife(i, 0);
#endif
        drop(i)
     :: else fi; open[i] = 1
}
inline superseded(i) {       /* own small files go once the larger one is there */
  g = 0; y = 0;
  do :: g < files -> if :: (where[g] == 0 && first[g] == 1 && len(chain[g]) == compacted[i]
                          && state[g] == VISIBLE) -> y = 1 :: else fi; g++ :: else -> break od;
#ifdef REMOVE_FIRST          /* mutant: whether it is there or not */
  y = 1;
#endif
  g = 0;
  do :: g < files && y -> if :: (where[g] == 0 && state[g] == VISIBLE
                      && len(chain[g]) <= compacted[i]
                      && !(first[g] == 1 && len(chain[g]) == compacted[i]))
                      -> state[g] = REMOVED :: else fi; g++ :: else -> break od
}
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
  :: d_step { pc[i] == 4 -> give(i); pc[i] = AFTER_GIVE } \
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
#define REMOVE_NOW(i) superseded(i)
#else
#define REMOVE_NOW(i) skip
#endif
#define HEADS(s, i) snapLog[(s)*3] = L(i,0); snapLog[(s)*3+1] = L(i,1); snapLog[(s)*3+2] = L(i,2)
#define WEIGHT(a, b, c) (len(a) + len(b) + len(c))
#define OF(s) WEIGHT(snapLog[(s)*3], snapLog[(s)*3+1], snapLog[(s)*3+2])

/* B begins a snapshot in slot s, which is free; the other one stays until this one is whole. */
inline summarise(s) {
  snaps++; snapState[s] = 1; HEADS(s, 1); snapRecords[s] = records[1];
#ifdef SNAPSHOT_AHEAD        /* mutant: its heads count what waits in the pending area */
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
       && WEIGHT(L(1,0), L(1,1), L(1,2)) > OF(1)) -> summarise(0) }
  :: d_step { (snaps < 2 && !forked[1] && snapState[1] == 0 && snapState[0] == 2
       && WEIGHT(L(1,0), L(1,1), L(1,2)) > OF(0)) -> summarise(1) }
  :: d_step { snapState[0] == 1 -> snapState[0] = 2; snapState[1] = 0; snapEver = 1 }
  :: d_step { snapState[1] == 1 -> snapState[1] = 2; snapState[0] = 0; snapEver = 1 }
  :: d_step { !joined && files -> joined = 1; begin(); take(2); give(2) }
  :: d_step { joined -> take(2); give(2) }
#endif
  :: d_step { !copied && life[0] == 0 -> copied = COPY; bLog = L(0,0); bSealed = S(0,0);
       bNote = note[0]; bRecords = records[0]; bAnchor = anchor[0]; bMark = mark[0] }
  :: d_step { copied == 1 && markLife[0] == 0 && !rolled -> copied = 2; bAnchor = anchor[0]; bMark = mark[0] }
#ifdef IMAGE
  :: d_step { alive2 && open[2] && pc[2] == 0 && !(mem && memOf == 2) && !touched ->
       touched = 1; moved[2] = 1; open[2] = 0 }     /* later the anchor notices something after all */
  :: d_step { alive2 && !control && life[0] == 0 && open[0] -> control = 1 }   /* A invites somebody */
#endif
  FILE(0) FILE(1) FILE(2) FILE(3) FILE(4)
  :: atomic { !done -> done = 1; if :: lost = 0 :: lost = 1 fi; d_step { settle() }; break }
  od
}
