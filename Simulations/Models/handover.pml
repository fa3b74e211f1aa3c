/* How a household changes hands: offers signed with the words, acceptances, confirmations,
   withdrawal. Principles of docs/decisions/0056-entry-is-final.md. See past.pml for pasts.

   The owner O lies, on two devices, and has the words: it hands over to the admin A, and afterwards
   pretends on either device that it had not. The other heir, C, lies with it. A and the admin B are
   honest. B confirms A's hand-over; O itself confirms C's. A may hand on to B, and remove O.
   With HOLE_REMOVED_HEIR it is the other way round: O is honest, and A and B lie.

   Flags are named as in membership.pml. */
#define OFF_A 0   /* O offers the household to A; on its first device */
#define ACC_A 1   /* A accepts */
#define CONF_A 2  /* B, another admin, confirms that */
#define WITH 3    /* O withdraws its offer to A */
#define OFF_C 4   /* O offers it to C; on its second device */
#define ACC_C 5
#define CONF_C 6  /* O, the former owner, confirms that */
#define RM_A 7    /* O removes A */
#define RM_B 8    /* O removes B; on its second device */
#define RM_O 9    /* A removes O */
#define OFF_B 10  /* A offers the household to B */
#define ACC_B 11
#ifndef MOST
#define MOST 7    /* so many operations at most */
#endif
#define OF_O1 (bit(OFF_A) | bit(WITH) | bit(RM_A))
#define OF_O2 (bit(OFF_C) | bit(CONF_C) | bit(RM_B))
#define OF_O (OF_O1 | OF_O2)
#define OF_A (bit(ACC_A) | bit(RM_O) | bit(OFF_B))
#define OF_B (bit(CONF_A) | bit(ACC_B))
#define AUTHOR (has(OF_O1, o) -> OF_O1 : (has(OF_O2, o) -> OF_O2 : \
  (has(OF_A, o) -> OF_A : (has(OF_B, o) -> OF_B : bit(o)))))
#ifdef HOLE_REMOVED_HEIR
#define LIARS (OF_A | OF_B)
#else
#define LIARS (OF_O | bit(ACC_C))
#endif
#include "past.pml"

hidden short v;               /* the operations of a set that have effect */
hidden byte takeA, takeC, sureA, sureC, againstA, againstC, isA, isB, isC, inA, inB, inO;
hidden short verdict, whole;

short able;  /* the operations whose author had the rank for them, in their own past (2) */
#define RANKED ((!has(OF_O, o) || o == CONF_C || !(isA || isB || isC)) \
  && (o != CONF_A || inB) && (o != RM_O && o != OFF_B || isA))
/* O's operation o stands unless it is written beyond the line of the hand-over (4). */
#ifdef HOLE_HANDOVER_NO_LINE  /* 4 as it is worded: a hand-over is not in its list */
#define KEPT(o) has(able, o)
#else
#define KEPT(o) (has(able, o) && (!isA || has(past[ACC_A], o)) && (!isC || has(past[ACC_C], o)))
#endif
#ifdef M_CHAIN_LAST           /* mutant of 5: the owner's lines are settled before the chain */
#define HEARD (has(able, CONF_A) && !(has(v, RM_B) && !has(past[RM_B], CONF_A)))
#else
#define HEARD has(able, CONF_A)
#endif
#ifdef M_WITHDRAWAL_UNDOES_CONFIRMED  /* mutant of 6 */
#define FINAL(sure) 0
#else
#define FINAL(sure) (sure)
#endif
/* Of two that are confirmed the log order decides; O chose the dates so that it is for C. */
#ifdef M_NO_ORDER             /* mutant of 5: both count */
#define LOSES_A 0
#define LOSES_C 0
#elif defined(WITNESSED)      /* sharper: what another admin confirmed goes before what O did */
#define LOSES_A 0
#define LOSES_C sureA
#else
#define LOSES_A sureC
#define LOSES_C 0
#endif

/* From the top: the chain of hand-overs, then the line it draws, then the owner's removals. */
inline settle(s) {
  v = HEEDED(s);
  takeA = (has(v, ACC_A) && has(v, OFF_A) && has(able, OFF_A)
    && !has(past[ACC_A], WITH) && !has(past[ACC_A], RM_A));
  takeC = has(v, ACC_C) && has(v, OFF_C) && has(able, OFF_C);
  sureA = takeA && has(v, CONF_A) && HEARD;
  sureC = takeC && has(v, CONF_C);
  againstA = (takeC || (has(v, WITH) && !has(past[WITH], ACC_A))
    || (has(v, RM_A) && has(able, RM_A) && !has(past[RM_A], ACC_A)));
  againstC = takeA;
  isA = takeA && (FINAL(sureA) || !againstA) && !LOSES_A;
  isC = takeC && (FINAL(sureC) || !againstC) && !LOSES_C;
  inO = !(isA && has(v, RM_O) && has(able, RM_O));
  inA = isA || !(has(v, RM_A) && KEPT(RM_A));
  inB = !(has(v, RM_B) && KEPT(RM_B));
  isB = isA && has(v, ACC_B) && has(v, OFF_B) && has(able, OFF_B) && inB;
  isA = isA && !isB;
  verdict = isA | (isB << 1) | (isC << 2) | (inO << 3) | (inA << 4) | (inB << 5)
}
/* What honest ones write, given what they see. */
#ifdef HOLE_REMOVED_HEIR
#define SENSIBLE (o != RM_A || !isA)
#define LATE ((has(OF_A, o) && (has(made, RM_A) || has(made, WITH))) \
  || (has(OF_B, o) && has(made, RM_B)))
#else
#define SENSIBLE ((o != CONF_A || (takeA && inB && !sureC && !has(v, WITH) && !has(v, RM_A))) \
  && (o != RM_O && o != OFF_B || isA))
/* Really too late: O had handed over to A, and B had confirmed it. */
#ifdef HOLE_UNCONFIRMED_HEIR  /* or A had removed O, and nobody had confirmed the hand-over */
#define LATE (has(OF_O, o) && (has(made, CONF_A) || has(made, RM_O)))
#else
#define LATE (has(OF_O, o) && has(made, CONF_A))
#endif
#endif

inline promises() {
  settle(made);
  whole = verdict;
  /* Exactly one owner: O, or else one of the heirs. */
  assert(isA + isB + isC <= 1);
#ifdef HOLE_REMOVED_HEIR
  /* Nobody becomes the owner by what it and its witness wrote after they had been removed. */
  assert(!isA || !has(late, ACC_A) || !has(late, CONF_A) || !has(made, WITH));
#else
  /* A hand-over that an honest admin confirmed stays. An owner who signed two, with both heirs
     confirmed, leaves it to the log order. */
#ifdef WITNESSED
  if :: true ->
#elif defined(HOLE_TWO_HEIRS)         /* even if it signed the second one too late */
  if :: sureC && !has(late, OFF_C) -> skip
     :: else ->
#else
  if :: sureC -> skip
     :: else ->
#endif
          assert(!has(made, CONF_A) || isA || isB);
          /* What was written too late changes nobody's standing. */
          settle(made & ~late);
          assert(whole == verdict)
  fi;
#endif
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
       MAY(OFF_A, 0, 1)
       MAY(ACC_A, bit(OFF_A), 1)
       MAY(CONF_A, bit(ACC_A), 1)
       MAY(WITH, bit(OFF_A), 1)
       MAY(RM_A, 0, 1)
       MAY(RM_B, 0, 1)
#ifndef HOLE_REMOVED_HEIR
       MAY(OFF_C, 0, 1)
       MAY(ACC_C, bit(OFF_C), 1)
       MAY(CONF_C, bit(ACC_C), 1)
       MAY(RM_O, bit(ACC_A), 1)
       MAY(OFF_B, bit(ACC_A), 1)
       MAY(ACC_B, bit(OFF_B), 1)
#endif
       fi;
       state_a_past();
       d_step {
         settle(PAST);
         if :: has(LIARS, o) || SENSIBLE ->
              able = able | (RANKED -> bit(o) : 0);
              write(LATE); written(); promises()
         :: else -> written() fi
       }
     }
  od
}
