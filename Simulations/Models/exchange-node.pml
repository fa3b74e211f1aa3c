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
#ifndef NO_TOUCH
#define NO_TOUCH 0
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
#define AFTER(i) pc[i] = (markLife[i] != life[i] || mark[i] != S(i, life[i]) -> 2 : 5)
#define AFTER_NOTE 5
#else
#define AFTER_SEAL 2
#define AFTER_NOTE 4
#define AFTER(i) pc[i] = 5
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
        n = S(i,l); y = L(i,l); g = 0;
#ifndef AS_BUILT_TWICE       /* finding 6: also what the other copy has published just so */
        do :: g < files ->
              if :: (state[g] == VISIBLE && where[g] == l && len(chain[g]) > n
                    && cut(chain[g], n + 1) == cut(y, n + 1) && n < len(y)) -> n++; g = 0
                 :: else -> g++ fi
           :: else -> break od;
#endif
        k = n + 1;
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
  take(i); f = 0;            /* nothing waits to be sealed under a number that was seen used */
  do :: f < files -> k = S(i,0) + 1;
        do :: (k <= len(L(i,0)) && k <= len(chain[f]) && state[f] == VISIBLE && where[f] == 0) ->
              assert(at(chain[f], k) == at(L(i,0), k)); k++
           :: else -> break od; f++
     :: else -> break od
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
