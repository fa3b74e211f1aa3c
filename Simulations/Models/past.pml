/* What membership.pml, handover.pml and devices.pml share: operations, each made at most once, and
   the past that its author states for it. Sets of operations are bit masks. One operation is written
   after the other, in real time; who writes may have heard of any closed part of what there is, which
   stands for every order of delivery and for publishing late. A liar picks a past in just that way,
   whatever it has really heard: nothing binds it to a past that fits the moment. With UNCLOSED it may
   leave gaps as well. Include after the names of the operations (at most 12), MOST, LIARS, AUTHOR. */
#define bit(o)    (1 << (o))
#define has(s, o) (((s) >> (o)) & 1)

short past[12];   /* what the author of each operation says that it had seen */
short made;       /* the operations that exist */
short gap;        /* of them, those whose stated past is not closed (principle 1) */
short late;       /* those whose author had really lost what they need before it wrote them */
short struck;     /* only for M_STRIKES_STAY: what a replica once took for void */
byte count, o;
short need, low, x;      /* while an operation is written: what it must cite, may cite */

#define OPEN(s, p)   (has(s, p) && (past[p] & ~(s)) != 0)
#define CLOSED(s)    (!(OPEN(s, 0) || OPEN(s, 1) || OPEN(s, 2) || OPEN(s, 3) || OPEN(s, 4) \
  || OPEN(s, 5) || OPEN(s, 6) || OPEN(s, 7) || OPEN(s, 8) || OPEN(s, 9) || OPEN(s, 10) \
  || OPEN(s, 11)))
#define UNION(s, p)  (has(s, p) -> past[p] | bit(p) : 0)
#define SEEN(s)      (UNION(s, 0) | UNION(s, 1) | UNION(s, 2) | UNION(s, 3) | UNION(s, 4) \
  | UNION(s, 5) | UNION(s, 6) | UNION(s, 7) | UNION(s, 8) | UNION(s, 9) \
  | UNION(s, 10) | UNION(s, 11))
#ifdef UNCLOSED
#define GAPS(o) has(LIARS, o)
#else
#define GAPS(o) 0
#endif
#ifdef M_NO_CLOSURE           /* mutant of 1: a past with gaps is taken as it is stated */
#define HEEDED(s) (s)
#else
#define HEEDED(s) ((s) & ~gap)
#endif

/* One operation `what`: it cites `must`, if `when` holds. */
#define MAY(what, must, when) \
  :: count < MOST && !has(made, what) && ((must) & ~made) == 0 && (when) -> o = what; need = must;
/* A device's later operations have seen what its earlier ones had seen (principle 1). */
#define OWED   (SEEN(need) | SEEN(made & AUTHOR))
#define PAST   (low | x)
#define OPTION (made & ~low)
/* Goes through every past that the author may state; the rest of the step takes one of them. */
inline state_a_past() {
  low = (GAPS(o) -> need : OWED);
  do
  :: GAPS(o) || CLOSED(PAST) -> break
  :: x != OPTION -> x = (x - OPTION) & OPTION
  :: x == OPTION && !GAPS(o) && !CLOSED(PAST) -> assert(false)
  od
}
inline write(isLate) {
  gap = gap | ((CLOSED(PAST) && (OWED & ~PAST) == 0) -> 0 : bit(o));
  late = late | ((isLate) -> bit(o) : 0);
  past[o] = PAST; made = made | bit(o); count++
}
inline written() { o = 0; need = 0; low = 0; x = 0 }
