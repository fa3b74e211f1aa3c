#!/usr/bin/env python3
"""Compares the processor time of two builds of `hearth-bench` in the workloads W2 to W5.

    compare.py OLD NEW [--runs 5] [--quick] [--dir FOLDER]

OLD and NEW are the programs. Each workload runs in turn, old, new, old, new, so that other work on
the machine affects both, and the medians count. Printed is a table for docs/internals/benchmarks.md
with the bytes in brackets. The status is 1 if a row takes more than 1.05 times as long as before,
and 2 if a program fails. An edit alone is for the record: it takes so little that it says nothing
about five percent.

Both programs replay the same operations, those of the shared workload, made here by its generator.
Only `w2` to `w5` are used, with parameters that every version knows. --quick takes a fiftieth of
the operations, to try the script.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

LIMIT = 1.05
CHORES, CHANGES, EDITS, AWARDS, REPLICAS, QUERIES = 10_000, 40_000, 10_000, 100_000, 10, 10

MASK = (1 << 64) - 1
EDITABLE = ("title", "descr", "assignee", "due", "points", "done")
WORDS = ("wash dry fold sweep mop dust vacuum wipe scrub rinse water feed walk brush trim mow rake "
         "plant sort recycle compost empty load unload polish iron hang stack tidy clear check "
         "refill replace repair paint oil sharpen order buy cook bake prepare set table kitchen "
         "hall garden garage attic cellar window door floor stairs lamp shelf drawer oven sink "
         "bath towel").split()
RULES = ("FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO", "FREQ=WEEKLY;BYDAY=SA,SU",
         "FREQ=MONTHLY;BYMONTHDAY=1", "", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TH")
TAGS = ("kitchen", "garden", "pets", "weekly", "kids", "laundry", "outside", "quick")
START, DAY = 1_760_000_000_000, 86_400_000
WEEK = 7 * DAY


class Random:
    """SplitMix64, as in Generator.swift."""

    def __init__(self, seed):
        self.state = seed & MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        return mixed ^ (mixed >> 31)

    def below(self, bound):
        return self.next() % bound


def chore(number):
    return "%016x" % Random(0xC0FFEE + number).next()


def text(random, count):
    bits, found, length = random.next(), [], 0
    while length < count:
        if bits < 64:
            bits = random.next()
        found.append(WORDS[(bits & 63) % len(WORDS)])
        length += len(found[-1]) + 1
        bits >>= 6
    return " ".join(found)[:count]


def value(random, field):
    if field == "title":
        return text(random, 24)
    if field == "descr":
        return text(random, 60)
    if field == "assignee":
        return "member-%d" % random.below(6)
    if field == "due":
        return START + random.below(90) * DAY
    if field == "points":
        return 1 + random.below(50)
    return bool(random.below(2))


def create(random, number):
    first, second = random.below(8), random.below(7)
    fields = {name: value(random, name) for name in EDITABLE[:5]}
    fields.update(done=False, created=START + number * 1000, completed=None)
    fields.update(rrule=RULES[random.below(6)], tags=[TAGS[first], TAGS[(first + 1 + second) % 8]])
    return {"op": "create", "id": chore(number), "f": fields}


def edit(random, chores):
    name, field = chore(random.below(chores)), EDITABLE[random.below(6)]
    return {"op": "set", "id": name, "k": field, "v": value(random, field)}


def edits(chores, count, seed):
    random = Random(seed)
    return [edit(random, chores) for _ in range(count)]


def base(chores, changes):
    random = Random(1)
    return ([create(random, number) for number in range(chores)]
            + [edit(random, chores) for _ in range(changes)])


def conflicting(chores, count):
    """The edits of two replicas: in every tenth the second edits what the first edits."""
    first, second, random = edits(chores, count, 3), edits(chores, count, 1003), Random(2003)
    for place in range(0, count, 10):
        field = first[place]["k"]
        second[place] = dict(first[place], v=value(random, field))
    return [first, second]


def awards(count, seed):
    random, found = Random(seed), []
    for _ in range(count):
        offset = random.below(52 * WEEK)
        found.append({"op": "award", "m": "m%03d" % random.below(200), "p": 1 + random.below(20),
                      "t": START + offset, "w": offset // WEEK})
    return found


class Failure(Exception):
    """A program that gave no result."""


class Files:
    """The files of operations in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, name, operations):
        """One replica's operations, or a list of them for each replica."""
        path = os.path.join(self.folder, name + ".jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for replica, own in enumerate(operations, 1):
                for operation in own:
                    numbered = operation if len(operations) == 1 else dict(operation, r=replica)
                    file.write(json.dumps(numbered, separators=(",", ":")) + "\n")
        return path


def cases(files, part):
    """The workloads, with what each measures: a label, the keys of seconds and bytes, and whether
    the row is judged."""
    chores, count = CHORES // part, EDITS // part
    household = files.write("base", [base(chores, CHANGES // part)])
    created = files.write("created", [base(chores, 0)])

    def two(number):
        return {"n": chores, "edits": number, "base": household,
                "oneway": files.write("oneway-%d" % number, [edits(chores, number, 31)]),
                "both": files.write("both-%d" % number, conflicting(chores, number))}
    apart = [edits(chores, count // REPLICAS, 4 + 77 * place) for place in range(REPLICAS)]
    given = [awards(AWARDS // part // REPLICAS, 5 + 991 * place) for place in range(REPLICAS)]
    return [
        ("w2", {"base": household},
         [("W2, snapshot of %s chores and an import" % f"{chores:,}", "cpu_s", "bytes", True)]),
        ("w3", two(count),
         [("W3, %s edits one way" % f"{count:,}", "oneway_cpu_s", "oneway_bytes", True),
          ("W3, %s edits both ways" % f"{count:,}", "cpu_s", "bytes", True)]),
        ("w3", two(1), [("W3, one edit one way", "oneway_cpu_s", "oneway_bytes", False)]),
        ("w4", {"replicas": REPLICAS, "base": created, "edits": files.write("apart", apart)},
         [("W4, ten replicas and %s edits each" % f"{count // REPLICAS:,}", "cpu_s", "bytes",
           True)]),
        ("w5", {"queries": QUERIES, "awards": files.write("awards", given)},
         [("W5, %s awards on ten replicas" % f"{AWARDS // part:,}", "cpu_s", "bytes", True)]),
    ]


def run(program, workload, parameters, folder):
    """One measurement, in a process of its own."""
    parameters = dict(parameters, dir=os.path.join(folder, "run"))
    said = subprocess.run([program, workload, json.dumps(parameters)], capture_output=True,
                          text=True, check=False)
    lines = [line for line in said.stdout.splitlines() if line.startswith("RESULT ")]
    if said.returncode or not lines:
        raise Failure("%s %s ended with %d: %s" % (
            program, workload, said.returncode, (said.stderr or said.stdout).strip()))
    result = json.loads(lines[-1].removeprefix("RESULT "))
    if result.get("equal") is not True:
        raise Failure("%s %s: the replicas differ, or it is unsupported" % (program, workload))
    return result


def duration(seconds):
    for scale, digits, unit in ((1, 2, "s"), (1e3, 0, "ms")):
        if seconds * scale >= (1 if unit == "s" else 100):
            return "%.*f %s" % (digits, seconds * scale, unit)
    return "%.*f ms" % (1 if seconds >= 0.01 else 2, seconds * 1e3)


def compare(old, new, runs, part, folder):
    """Prints a row for each measurement; whether none takes too long."""
    is_within = True
    print("| | before | now | |\n|---|---|---|---|", flush=True)
    for workload, parameters, rows in cases(Files(folder), part):
        found = ([], [])
        for _ in range(runs):
            for results, program in zip(found, (old, new)):
                results.append(run(program, workload, parameters, folder))
        for label, seconds, count, is_judged in rows:
            before, now = (statistics.median(result[seconds] for result in results)
                           for results in found)
            sizes = [int(statistics.median(result[count] for result in results))
                     for results in found]
            ratio = now / before if before > 0 else float("inf")
            is_over = is_judged and ratio > LIMIT
            is_within = is_within and not is_over
            print("| %s | %s (%s) | %s (%s) | %.3f%s |" % (
                label, duration(before), f"{sizes[0]:,}", duration(now), f"{sizes[1]:,}", ratio,
                ": MISSED" if is_over else "" if is_judged else ", for the record"), flush=True)
    return is_within


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--dir", help="where scratch folders are made")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hearth-compare-", dir=options.dir)
    try:
        is_within = compare(
            os.path.abspath(options.old), os.path.abspath(options.new), max(1, options.runs),
            50 if options.quick else 1, folder)
    except (Failure, OSError) as error:
        print("compare: %s" % error, file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
