/* Membership of a household: a SPECIFICATION. Genesis, invitation and join exist today; removal,
   roles and rekeying are promised by the design; no code does this today.

   Operations form a set; each has a causal past. Who belongs is a pure function of that set. Ranks
   are strict (owner > admin > member): a removal needs a greater rank than what it removes; it
   strikes what the removed person wrote without the remover having seen it; of a removal and an
   addition that are concurrent and of equal rank the removal wins; who is removed comes back only
   by an addition that has seen the removal. A writer whose epoch has recipients that are no
   effective readers starts a new epoch before it writes.

   Persons: 0 owner O, 1 admin P, 2 admin Q, 3 member M. Each has one device; M's is not
   modelled, as it has no right to any operation. */
#define O_RM_P 0      /* the owner removes admin P */
#define P_RM_Q 1      /* admins try to remove each other: without effect */
#define Q_RM_P 2
#define P_ADD_M 3     /* an admin lets M in, another one too */
#define Q_ADD_M 4
#define Q_RM_M 5      /* an admin removes M */
#define P_RE_M 6      /* M is let in once more, with or without having seen the removal */
#define OPS 7
#define bit(o)    (1 << (o))
#define has(s, o) (((s) >> (o)) & 1)

byte past[OPS];       /* the causal past of each operation that was made */
byte made;            /* the operations that exist */
byte seen[3];         /* the operations that a device has */
byte struck[3];       /* only for ARRIVAL: operations of P that came after its removal */
byte to[3];           /* the recipients of the epoch under which a device writes */
bool leaked;          /* something was written under a key that a non-reader has */

/* Whether an operation of P counts, in a set s: before its removal, as the remover saw it. */
#if defined(NO_STRIKE)        /* mutant: only what causally follows the removal is void */
#define OF_P(d, s, o)  (has(s, o) && !(has(s, O_RM_P) && has(past[o], O_RM_P)))
#elif defined(ARRIVAL)        /* mutant: what comes after the removal is void, by arrival */
#define OF_P(d, s, o)  (has(s, o) && !has(struck[d], o))
#else
#define OF_P(d, s, o)  (has(s, o) && (!has(s, O_RM_P) || has(past[O_RM_P], o)))
#endif
#ifdef EQUAL_RANK             /* mutant: an admin may remove an admin */
#define OUT_P(d, s) (has(s, O_RM_P) || has(s, Q_RM_P))
#define OUT_Q(d, s) (OF_P(d, s, P_RM_Q))
#else
#define OUT_P(d, s) has(s, O_RM_P)
#define OUT_Q(d, s) 0
#endif
#ifdef ADD_WINS               /* mutant: a concurrent addition brings the removed one back */
#define GONE(s, a) (has(s, Q_RM_M) && has(past[Q_RM_M], a))
#else
#define GONE(s, a) (has(s, Q_RM_M) && !has(past[a], Q_RM_M))
#endif
#define IN_M(d, s) ((OF_P(d, s, P_ADD_M) && !GONE(s, P_ADD_M)) \
                 || (has(s, Q_ADD_M) && !GONE(s, Q_ADD_M)) \
                 || (OF_P(d, s, P_RE_M) && !GONE(s, P_RE_M)))
#define READERS(d, s) (1 | ((OUT_P(d, s)) -> 0 : 2) | ((OUT_Q(d, s)) -> 0 : 4) | (IN_M(d, s) -> 8 : 0))
#define MEMBER(d) ((READERS(d, seen[d]) >> (d)) & 1)

#define MAKE(d, o, when) \
  :: d_step { !has(made, o) && MEMBER(d) && (when) -> \
       past[o] = seen[d]; made = made | bit(o); seen[d] = seen[d] | bit(o) }
/* Delivery is causal, one operation at a time. */
#define DELIVER(d, o) \
  :: d_step { has(made, o) && !has(seen[d], o) && (past[o] & ~seen[d]) == 0 -> \
       seen[d] = seen[d] | bit(o); LATE(d, o) }
#ifdef ARRIVAL
#define LATE(d, o) if :: has(seen[d], O_RM_P) && (o == P_ADD_M || o == P_RE_M) -> \
                           struck[d] = struck[d] | bit(o) :: else fi
#else
#define LATE(d, o) skip
#endif
#define DELIVERIES(d) DELIVER(d, 0) DELIVER(d, 1) DELIVER(d, 2) DELIVER(d, 3) DELIVER(d, 4) \
  DELIVER(d, 5) DELIVER(d, 6)
#ifdef NO_REKEY               /* mutant: the epoch stays although a recipient is no reader */
#define REKEY(d) skip
#elif defined(SEAL_ALL)       /* mutant: a new key goes to everybody who was ever let in */
#define REKEY(d) to[d] = 7 | (((seen[d] & (bit(P_ADD_M) | bit(Q_ADD_M))) != 0) -> 8 : 0)
#else
#define REKEY(d) to[d] = READERS(d, seen[d])
#endif
#define WRITES(d) \
  :: d_step { MEMBER(d) && to[d] != READERS(d, seen[d]) -> REKEY(d); \
       leaked = ((to[d] & ~READERS(d, seen[d])) != 0) }
#define ADOPTS(d, e) :: d_step { to[d] != to[e] && (seen[e] & ~seen[d]) == 0 -> to[d] = to[e] }

active proctype members() {
  to[0] = 7; to[2] = 7;
  do
  MAKE(0, O_RM_P, 1)
#ifdef RANKS                  /* RANKS: removals among admins in place of re-adding */
  MAKE(1, P_RM_Q, 1)
  MAKE(2, Q_RM_P, 1)
#elif !defined(KEYS)          /* KEYS: epochs in its place */
  MAKE(1, P_RE_M, has(made, P_ADD_M) || has(made, Q_RM_M))
#endif
  MAKE(1, P_ADD_M, 1)
#ifndef RANKS
  MAKE(2, Q_ADD_M, 1)
  MAKE(2, Q_RM_M, IN_M(2, seen[2]))
#endif
  DELIVERIES(0)
  DELIVERIES(1)
  DELIVERIES(2)
#ifdef KEYS
  WRITES(0)
  WRITES(2)
  ADOPTS(0, 2)
  ADOPTS(2, 0)
#endif
  :: atomic { (leaked || seen[0] == made || seen[1] == made) ->
       assert(!leaked);
       /* Who has the same operations names the same readers. */
       if :: seen[0] == seen[1] -> assert(READERS(0, seen[0]) == READERS(1, seen[1])) :: else fi;
       if :: seen[0] == seen[2] -> assert(READERS(0, seen[0]) == READERS(2, seen[2])) :: else fi;
       /* Nobody of equal or lower rank removes an admin: one is always left. */
       assert(READERS(0, seen[0]) & 4);
       /* What P wrote unseen by its remover has no effect. */
       if :: (has(seen[0], O_RM_P) && !has(seen[0], Q_ADD_M)
              && !has(past[O_RM_P], P_ADD_M) && !has(past[O_RM_P], P_RE_M)) ->
             assert(!(READERS(0, seen[0]) & 8)) :: else fi;
       /* Who was removed is back only by an addition that had seen it. */
       if :: (has(seen[0], Q_RM_M) && !(has(seen[0], P_RE_M) && has(past[P_RE_M], Q_RM_M))
              && !(has(seen[0], P_ADD_M) && has(past[P_ADD_M], Q_RM_M))
              && !(has(seen[0], Q_ADD_M) && has(past[Q_ADD_M], Q_RM_M))) ->
             assert(!(READERS(0, seen[0]) & 8)) :: else fi;
       goto checked }
  od;
checked: skip
}
