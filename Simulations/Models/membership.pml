/* Who belongs to a household: entry, confirmation, closing, removal. Principles 1 to 7 of
   docs/decisions/0056-entry-is-final.md, with lying members. See past.pml for pasts.

   The owner O and an admin B are honest, but neither may know what the other does. The admin A lies:
   it dates what it writes as it likes, also after it was removed. J joins by a link that A made for
   one use, and F, who found the link, joins by it too. A person is one device; see devices.pml.

   A flag M_* breaks a principle. A flag HOLE_* shows what the principles do not give: it takes the
   other reading of them, or it asks for more than they promise. All of them must be caught. */
#define INV 0     /* A makes a link for one use (with LINK_OF_OWNER, O does) */
#define JOIN_J 1
#define JOIN_F 2
#define CONF_J 3  /* O confirms J */
#define CONF_B 4  /* B confirms J */
#define CONF_F 5  /* A confirms F (with HOLE_TWO_CONFIRM, B does) */
#define CLOSE 6   /* A closes the link */
#define RM_J 7    /* A removes J, having seen J's joining or not */
#define RM_A 8    /* O removes A */
#define PROM 9    /* O makes J an admin */
#ifndef MOST
#define MOST 8    /* so many operations at most */
#endif
#ifdef LINK_OF_OWNER
#define LINK bit(INV)
#else
#define LINK 0
#endif
#ifdef HOLE_TWO_CONFIRM
#define TWO bit(CONF_F)
#else
#define TWO 0
#endif
#define OF_O (bit(RM_A) | bit(PROM) | bit(CONF_J) | LINK)
#define OF_B (bit(CONF_B) | TWO)
#define OF_A ((bit(CLOSE) | bit(RM_J) | bit(CONF_F) | bit(INV)) & ~(LINK | TWO))
#define AUTHOR (has(OF_O, o) -> OF_O : (has(OF_A, o) -> OF_A : (has(OF_B, o) -> OF_B : bit(o))))
#define LIARS (OF_A | bit(JOIN_F))
#include "past.pml"

/* What the verdict says, of a set of operations. */
hidden short v;               /* those that have effect */
hidden byte sureJ, sureF, inJ, inF, goneJ;
hidden byte verdict, whole;

/* The line that the removal of A draws through A's log (4). */
#ifdef M_LINES_BY_PARENTS     /* mutant of 4: only what says that it has seen the removal is void */
#define AFTER(o) (has(past[o], RM_A) -> bit(o) : 0)
#define LOST (OF_A & (AFTER(INV) | AFTER(CONF_F) | AFTER(CLOSE) | AFTER(RM_J)))
#else
#define LOST (OF_A & ~past[RM_A])
#endif
/* What speaks against a joining (6). */
#ifdef REMOVAL_CLOSES         /* sharper: a removal closes the links of whom it removes */
#define SHUT(j) ((has(v, CLOSE) && !has(past[CLOSE], j)) || (has(v, RM_A) && !has(past[RM_A], j)))
#else
#define SHUT(j) (has(v, CLOSE) && !has(past[CLOSE], j))
#endif
#ifdef M_USES_BY_ORDER        /* mutant of 6: the log order alone gives the one use; F's is lower */
#define FULL(j) ((j) == JOIN_J && has(v, JOIN_F))
#define SURE(c, j) (has(v, c) && !FULL(j))
#elif defined(M_CLOSING_UNDOES_CONFIRMED)     /* mutant of 6 */
#define FULL(j) (has(v, JOIN_J) && has(v, JOIN_F))
#define SURE(c, j) (has(v, c) && !SHUT(j))
#elif defined(HOLE_CONFIRMED_RESTS_ON_LINK)   /* 7 read before 6 */
#define FULL(j) (has(v, JOIN_J) && has(v, JOIN_F))
#define SURE(c, j) (has(v, c) && has(v, INV))
#else
#define FULL(j) (has(v, JOIN_J) && has(v, JOIN_F))
#define SURE(c, j) has(v, c)
#endif
#ifdef M_VOID_CARRIES         /* mutant of 7: a joining by a link that is void counts */
#define LINKED 1
#else
#define LINKED has(v, INV)
#endif
#ifdef M_UNSEEN_ENDS          /* mutant of 3: a removal ends what its author had not seen */
#define MET 1
#else
#define MET has(past[RM_J], JOIN_J)
#endif
#ifdef M_RANK_FREE            /* mutant of 2: an admin removes an admin */
#define BELOW 1
#elif defined(HOLE_ROLE_UNSEEN)   /* 2 alone: the rank is looked up in the remover's past only */
#define BELOW !has(past[RM_J], PROM)
#else                         /* 5: what the owner made of J is settled before what A says */
#define BELOW !has(v, PROM)
#endif

/* From the top: the owner's lines, then the links and joinings, then the admins' removals. */
inline settle(s) {
  v = HEEDED(s);
#ifdef M_STRIKES_STAY
  v = v & ~struck;
#endif
  v = v & ~(has(v, RM_A) -> LOST : 0);
  sureJ = has(v, JOIN_J) && (SURE(CONF_J, JOIN_J) || SURE(CONF_B, JOIN_J));
  sureF = has(v, JOIN_F) && SURE(CONF_F, JOIN_F);
  goneJ = has(v, RM_J) && MET && BELOW;
  inJ = has(v, JOIN_J) && !goneJ && (sureJ || (LINKED && !SHUT(JOIN_J) && !FULL(JOIN_J)));
  inF = has(v, JOIN_F) && (sureF || (LINKED && !SHUT(JOIN_F) && !FULL(JOIN_F)));
  verdict = !has(v, RM_A) | (inJ << 1) | (inF << 2) | ((inJ && has(v, PROM)) << 3)
}
/* What honest ones write, given what they see: nobody confirms who was removed, whose link is void,
   or whose link somebody else has used and was confirmed for. J is confirmed before J's rank grows. */
#define SENSIBLE ( \
  ((o != CONF_J && o != CONF_B) || (!goneJ && has(v, INV) && !sureF)) \
  && (o != PROM || (inJ && sureJ)) && (o != CONF_F || (has(v, INV) && !sureJ)))
/* Really too late: A was out, or J was no longer below A. */
#define LATE ((has(OF_A, o) && has(made, RM_A)) || (o == RM_J && has(made, PROM)) || OWN_LINK)
#ifdef HOLE_OWN_LINK          /* F is A again, on a new device, after its removal */
#define OWN_LINK (o == JOIN_F && has(made, RM_A))
#else
#define OWN_LINK 0
#endif

inline promises() {
  settle(made);
  whole = verdict;
  /* Who was confirmed stays, unless somebody of higher rank removed them, really and knowingly. */
  assert(!(has(made, CONF_J) || has(made, CONF_B)) || inJ
    || (has(made, RM_J) && has(past[RM_J], JOIN_J) && !has(late, RM_J)));
  /* Once the first user is confirmed, the finder is not in, unless A lets it in while it may. */
  assert(!inJ || !inF || (sureJ && has(made, CONF_F) && !has(late, CONF_F) && has(OF_A, CONF_F)));
  /* Nobody is in by a link that A made too late, unless B, who did not know, confirmed it. */
#ifdef HOLE_LATE_LINK
  assert(!inJ || !has(late, INV));
#else
  assert(!inJ || !has(late, INV) || has(made, CONF_B));
#endif
  assert(!inF || !has(late, INV) || TWO);
#ifdef M_STRIKES_STAY         /* mutant of 7: whom a removal struck once stays out */
  x = struck; struck = 0;
  settle(made);
  struck = x | (goneJ -> bit(JOIN_J) : 0); x = 0;
  /* Who got the operations as they were made says the same as who got them at once. */
  assert(whole == verdict);
  settle(made);
  whole = verdict;
#endif
  assert(!inF || !has(late, JOIN_F));
  /* What was written too late, or with a gap in its past, changes nobody's standing. */
  settle(made & ~(late & ~bit(JOIN_F)));
  assert(whole == verdict);
#ifndef NO_GAP_PROMISE
  settle(made & ~gap);
  assert(whole == verdict)
#endif
}

active proctype members() {
end:
  do
  :: atomic {
       if
       MAY(INV, 0, 1)
       MAY(JOIN_J, bit(INV), 1)
       MAY(CONF_J, bit(JOIN_J), 1)
       MAY(CLOSE, bit(INV), 1)
       MAY(RM_J, 0, 1)
       MAY(RM_A, 0, 1)
       MAY(CONF_B, bit(JOIN_J), 1)
       MAY(PROM, bit(JOIN_J), 1)
       MAY(JOIN_F, bit(INV), 1)
       MAY(CONF_F, bit(JOIN_F), 1)
       fi;
       state_a_past();
       d_step {
         settle(PAST);
         if :: has(LIARS, o) || SENSIBLE -> write(LATE); written(); promises()
         :: else -> written() fi
       }
     }
  od
}
