"""A search for the files that cost their receivers most: what hostile.py --fuzz and --shape do.

A shape is a kind of deed and five numbers. The search keeps the shapes that cost a victim most CPU
time for each byte that it received, and changes a few of their numbers again and again: a climb
from many places at once. It draws from one seeded generator; what follows from it depends on
measured times too, so every finding is told with all its numbers, and --shape plays it alone.

After each shape the others' work must go on and their replicas must be equal.
"""
import random
import shutil
import statistics
import subprocess
import time

import hostile_home as judge
from hostile_home import Household, PARTIAL, Stuck

KINDS = (
    "set", "history", "edits", "gap", "fields", "titles", "schedules", "texts", "toggles", "lives",
    "completions", "skips", "moves", "settings", "control", "citations")
# The greatest of each number; each order of magnitude is as likely in a fresh shape.
MOST = {"number": 350_000, "perChange": 10_000, "perFile": 400_000, "size": 262_144, "variant": 11}
# How many shapes of each kind are kept, and how often a fresh one is tried instead of a change.
KEPT, FRESH = 3, 0.25
# How often a shape is played at most that may only have met a busy machine.
MOST_TRIES = 3
# The honest files by which costs are judged: chores, and edits of each.
HONEST = ((1, 0), (40, 10), (120, 150))
VICTIMS = ("ann", "ben")


class Shape(dict):
    """A kind, five numbers and a seed."""

    def __str__(self):
        return " ".join("%s=%s" % item for item in self.items())

    @property
    def options(self):
        names = {"perChange": "per-change", "perFile": "per-file"}
        return [word for name, value in self.items()
                for word in ("--" + names.get(name, name), str(value))]

    @classmethod
    def read(cls, text):
        found = dict(item.split("=", 1) for item in text.split())
        return cls({name: value if name == "kind" else int(value)
                    for name, value in found.items()})

    @classmethod
    def fresh(cls, dice, kind=None):
        numbers = {name: min(most, int(2 ** dice.uniform(0, most.bit_length())))
                   for name, most in MOST.items() if name != "variant"}
        return cls(kind=kind or dice.choice(KINDS), **numbers,
                   variant=dice.randint(0, MOST["variant"]), seed=dice.randint(1, 1 << 30))

    def changed(self, dice):
        """The same with one to three numbers changed a little or much."""
        other = Shape(self)
        for name in dice.sample(sorted(MOST), dice.randint(1, 3)):
            if name == "variant":
                value = dice.randint(0, MOST[name])
            elif dice.random() < 0.3:
                value = other[name] + dice.choice((-1, 1))
            else:
                value = int(other[name] * 2 ** dice.choice((-4, -2, -1, 1, 2, 4)))
            other[name] = max(0 if name == "variant" else 1, min(MOST[name], value))
        return other


class Trial:
    """What a shape cost a victim, and what it did to the others."""

    def __init__(self, shape, files, byte_count, start):
        self.shape, self.files, self.byte_count, self.start = shape, files, byte_count, start
        self.costs, self.faults, self.times = {}, [], 0.0

    @property
    def score(self):
        """The CPU time of each byte, in µs, beyond what a start takes and what runs vary by."""
        beyond = self.costs["sync"].cpu - self.start - judge.SLACK_SECONDS
        return max(0.0, beyond) * 1e6 / max(1, self.byte_count)

    def __str__(self):
        return "%.2f µs/B, %.1f times the usual: %d files, %d bytes, %s\n      --shape \"%s\"" % (
            self.score, self.times, self.files, self.byte_count,
            ", ".join("%s %s" % item for item in self.costs.items()), self.shape)


class Copies:
    """Copies of the victims' homes, each of which meets the folder as it was.

    A copy notices that it is one and begins a new life, as it should: that is done before anything
    is measured.
    """

    def __init__(self, home):
        self.home, self.number = home, 0
        self.kept = home.path("kept")
        shutil.copytree(home.path("folder"), self.kept)

    def fresh(self, victim):
        self.number += 1
        name = "%s-%d" % (victim, self.number)
        shutil.copytree(self.home.path(victim), self.home.path(name))
        self.home.do(name, "status", allowed=(0, PARTIAL))
        return name

    def end(self, *names):
        for name in names:
            shutil.rmtree(self.home.path(name))
        shutil.rmtree(self.home.path("folder"))
        shutil.copytree(self.kept, self.home.path("folder"))


class Climb:
    """A household that each shape meets anew."""

    def __init__(self, programs, shows):
        self.home = Household(programs, shows)
        self.home.join("mal", "Mal")
        self.home.join("hal", "Hal")
        self.home.everybody_knows(*VICTIMS, "mal")
        self.copies = Copies(self.home)
        self.usual = [self.honest(*amount) for amount in HONEST]
        self.start = self.usual[0]["sync"]

    def honest(self, number, edits):
        """What honest files cost: the median of three, as each can be taken once."""
        taken, costs = 0, []
        for _ in range(3):
            victim = self.copies.fresh("ann")
            stash, _, taken = self.home.prepare(
                ("hal", "honest", "--number", str(number), "--edits", str(edits)))
            self.home.release(stash)
            costs.append({name: self.home.cost(victim, name).cpu for name in ("sync", "list")})
            self.copies.end(victim)
            shutil.rmtree(stash)
        found = {name: statistics.median(one[name] for one in costs) for name in costs[0]}
        return dict(found, bytes=taken)

    def expected(self, byte_count, name):
        """What so many honest bytes cost, between and beyond what was measured."""
        points = sorted((one["bytes"], one[name]) for one in self.usual)
        (low, first), (high, last) = points[0], points[-1]
        for (left, a), (right, b) in zip(points, points[1:]):
            if left <= byte_count <= right:
                return a + (b - a) * (byte_count - left) / (right - left)
        return first if byte_count < low else first + (last - first) * (
            byte_count - low) / (high - low)

    def play(self, shape):
        """Lets a shape be written, taken, and worked beside; None where no file can hold it."""
        home = self.home
        try:
            stash, files, byte_count = home.prepare(("mal", "shape", *shape.options))
        except (Stuck, subprocess.TimeoutExpired):
            return None
        home.faults, home.dear, home.figures = [], [], []
        victims = [self.copies.fresh(victim) for victim in VICTIMS]
        trial = Trial(shape, files, byte_count, self.start)
        try:
            home.release(stash)
            for name in ("sync", "list"):
                cost = trial.costs[name] = home.cost(victims[0], name)
                expected = self.expected(byte_count, name)
                trial.times = max(trial.times, cost.cpu / expected)
                home.within(name, cost, expected, judge.SLACK_SECONDS)
                home.holds(cost.status in (0, PARTIAL), "%s: exit %d: %s" % (
                    name, cost.status, cost.said.strip()[:300]))
            if not trial.costs["sync"].is_ended:
                home.works(victims)
                home.equal(victims)
        finally:
            self.copies.end(*victims)
            shutil.rmtree(stash)
        trial.faults, trial.dear = home.faults, home.dear
        return trial

    def judged(self, shape):
        """The least dear of several trials, where the machine may have been busy."""
        least = None
        for _ in range(MOST_TRIES):
            trial = self.play(shape)
            if trial is None:
                return None
            if least is None or trial.times < least.times or trial.faults:
                least = trial
            if trial.faults or not trial.dear:
                break
        return least


def search(programs, seconds, seed, shows):
    """Climbs until the time is over; gives the status to end with."""
    dice = random.Random(seed)
    climb = Climb(programs, shows)
    kept = {kind: [] for kind in KINDS}
    bad, best, count, vain = [], 0.0, 0, 0
    fresh = [Shape.fresh(dice, kind) for kind in KINDS]
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            everybody = sorted((one for some in kept.values() for one in some),
                               key=lambda one: -one.score)
            if fresh:
                shape = fresh.pop()
            elif not everybody or dice.random() < FRESH:
                shape = Shape.fresh(dice)
            else:
                # The dearest is changed most often, and each that is kept now and then.
                place = int(dice.random() ** 2 * len(everybody))
                shape = everybody[place].shape.changed(dice)
            trial = climb.judged(shape)
            count += 1
            if trial is None:
                vain += 1
                continue
            some = kept[shape["kind"]]
            some.append(trial)
            some.sort(key=lambda one: -one.score)
            del some[KEPT:]
            if trial.faults or trial.dear:
                bad.append(trial)
                print("FAILED " + str(trial))
                for fault in trial.faults + trial.dear:
                    print("         - " + fault, flush=True)
            elif trial.score > best:
                best = trial.score
                print("so far " + str(trial), flush=True)
    finally:
        climb.home.close()
    print("%d shapes from seed %d, of which no file can hold %d; the dearest of each kind:" % (
        count, seed, vain))
    for trial in sorted((some[0] for some in kept.values() if some), key=lambda one: -one.score):
        print("  %-12s %s" % (trial.shape["kind"], trial))
    print("%d shapes do what they may not" % len(bad))
    return 1 if bad else 0


def replay(programs, text, shows):
    """Plays one shape; gives the status to end with."""
    climb = Climb(programs, shows)
    try:
        trial = climb.judged(Shape.read(text))
    finally:
        climb.home.close()
    if trial is None:
        raise SystemExit("no file can hold this shape")
    print(trial)
    for fault in trial.faults + trial.dear:
        print("  - " + fault)
    return 1 if trial.faults or trial.dear else 0
