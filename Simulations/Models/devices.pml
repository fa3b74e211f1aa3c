/* Two devices of an admin, the second one stolen; they revoke each other. Principle 4 of
   docs/decisions/0056-entry-is-final.md: a line that is drawn by another device of the same person
   spares what somebody of higher rank had seen before seeing the line. See past.pml for pasts.

   The first device and the owner are honest. The thief has the second device, not the words. The
   person's words revoke it from above. Flags are named as in membership.pml. */
#define CONF_J 0  /* the first device confirms J, whose joining waits */
#define REV_2 1   /* the first device revokes the second one */
#define RM_M 2    /* the thief removes M */
#define REV_1 3   /* the thief revokes the first device */
#define SAW 4     /* the owner writes something, whatever it is: that it had seen it is what matters */
#define SAW_2 5   /* once more */
#define WORDS 6   /* the person revokes the second device with the words, on whatever device */
#ifndef MOST
#define MOST 7
#endif
#define OF_1 (bit(CONF_J) | bit(REV_2))
#define OF_2 (bit(RM_M) | bit(REV_1))
#define OF_O (bit(SAW) | bit(SAW_2))
#define AUTHOR (has(OF_1, o) -> OF_1 : (has(OF_2, o) -> OF_2 : (has(OF_O, o) -> OF_O : bit(o))))
#define LIARS OF_2
#include "past.pml"

short able;                   /* the operations whose device had standing in their own past (2) */
hidden short v;
hidden byte out1, out2, held, inJ, inM, verdict, whole;

#if defined(M_NO_SPARE) || defined(HOLE_OWNERS_DEVICES) /* mutant of 4; nobody ranks above an owner */
#define SPARED(d, line) 0
#elif defined(M_LINES_BY_PARENTS)     /* mutant of 4: only what cites the line is beyond it */
#define SPARED(d, line) (!has(past[d], line))
#else
#define SPARED(d, line) ((has(v, SAW) && has(past[SAW], d) && !has(past[SAW], line)) \
  || (has(v, SAW_2) && has(past[SAW_2], d) && !has(past[SAW_2], line)))
#endif
#define KEPT(d, line) (has(past[line], d) || SPARED(d, line))

/* From the top: the words, then what the owner has seen of the two, then what is left: both out. */
inline settle(s) {
  v = HEEDED(s);
  v = v & ~(has(v, WORDS) -> OF_2 & ~past[WORDS] : 0);
  out1 = has(v, REV_1) && has(able, REV_1);
  out2 = has(v, REV_2) && has(able, REV_2);
  held = out2 && (!out1 || (SPARED(REV_2, REV_1) && !SPARED(REV_1, REV_2)));
#ifdef M_ORDER_DECIDES        /* mutant of 5: of two that revoke each other the log order decides */
  out2 = out2 && !out1;
#else
  out2 = out2 && !(out1 && SPARED(REV_1, REV_2) && !SPARED(REV_2, REV_1));
#endif
  out1 = out1 && !held;
  inJ = has(v, CONF_J) && has(able, CONF_J) && (!out1 || KEPT(CONF_J, REV_1));
  inM = !(has(v, RM_M) && has(able, RM_M) && (!out2 || KEPT(RM_M, REV_2)));
  out2 = out2 || has(v, WORDS);
  verdict = out1 | (out2 << 1) | (inJ << 2) | (inM << 3)
}
#define RANKED ((!has(OF_1, o) || !out1) && (!has(OF_2, o) || !out2))
/* Really too late: the thief's device had been revoked. */
#define LATE (has(OF_2, o) && (has(made, REV_2) || has(made, WORDS)))
#define TOLD(w)  (has(made, w) && has(past[w], REV_2) && (late & past[w]) == 0)
#if defined(HOLE_UNSEEN_REVOCATION) || defined(HOLE_OWNERS_DEVICES)
#define SAFE 1                /* the owner has heard of nothing */
#elif defined(HOLE_HEARD_FIRST)       /* the owner has heard of the thief's writing first */
#define SAFE held
#elif defined(HOLE_WORDS_AFTER)       /* the words are used by who has seen the thief's writing */
#define SAFE has(made, WORDS)
#else
#define SAFE ((held && (TOLD(SAW) || TOLD(SAW_2))) || (has(made, WORDS) && (late & past[WORDS]) == 0))
#endif

inline promises() {
  settle(made);
  whole = verdict;
  /* Never the honest device alone is out by what was written too late, unless the owner heard of
     that first. */
  assert(!out1 || out2 || !has(late, REV_1) || SPARED(REV_1, REV_2));
  /* What the owner had seen the first device do, before the revocation, stays. */
  assert(inJ || !has(made, CONF_J)
    || !((has(made, SAW) && has(past[SAW], CONF_J) && !has(past[SAW], REV_1))
      || (has(made, SAW_2) && has(past[SAW_2], CONF_J) && !has(past[SAW_2], REV_1))));
  /* What was written too late changes nothing if the first revocation stands and the owner heard of
     it before it heard of that, or if whoever used the words had not heard of it. */
  if :: SAFE ->
          settle(made & ~late);
          assert(whole == verdict)
     :: else -> skip
  fi;
  settle(made & ~gap);
  assert(whole == verdict)
}

active proctype members() {
end:
  do
  :: atomic {
       if
       MAY(CONF_J, 0, 1)
       MAY(REV_2, 0, 1)
       MAY(RM_M, 0, 1)
       MAY(REV_1, 0, 1)
       MAY(SAW, 0, 1)
       MAY(SAW_2, bit(SAW), 1)
       MAY(WORDS, 0, 1)
       fi;
       state_a_past();
       d_step {
         settle(PAST);
         if :: has(LIARS, o) || RANKED ->
              able = able | (RANKED -> bit(o) : 0);
              write(LATE); written(); promises()
         :: else -> written() fi
       }
     }
  od
}
