#!/usr/bin/env python3
"""What a member with valid keys and a program that checks nothing may do to the others: nothing.

    hostile.py HEARTH HEARTH_RELAY HEARTH_HOSTILE [ROW …] [--rows ROW,ROW,…] [--show]
    hostile.py HEARTH HEARTH_RELAY HEARTH_HOSTILE --fuzz SECONDS [--seed N] [--show]
    hostile.py HEARTH HEARTH_RELAY HEARTH_HOSTILE --shape "kind=set number=9 …" [--show]

HEARTH and HEARTH_RELAY are stock programs, HEARTH_HOSTILE is a simulation's build. Each row makes a
household of its own, lets somebody do harm, and judges the victims: their sync takes at most twice
the CPU time of one that brings as many honest bytes in the same run, and at most 200 MiB; list,
add, done and sync go on; replicas come to be equal; a notice or finding names the culprit, and none
names anybody else; nothing honest is lost; newcomers join and write. A line for each row; rows that
fail are named in the end. A row that only took up to twice as long as it may is played again: other
work on the machine can double what a run takes. --rows plays its rows quietly, and tells
of those that fail.

--fuzz searches for the shape of files that costs most (hostile_search.py); --shape plays one.
"""
import argparse
import json
import os
import sys
import time
import unicodedata

import hostile_home as judge
import hostile_search
import hostile_trust  # for its rows
from hostile_home import Household, MIB, PARTIAL, Stuck
from hostile_rows import ROWS, VICTIMS, row, suffer

MOST_FAULTS_SHOWN = 8
# How often a row is played at most that may only have met a busy machine.
MOST_TRIES = 3


# H0: the oracle itself.

@row("H0", "nobody does any harm: what is judged holds, and nobody is named")
def control(home):
    home.join("mal", "Mal")
    told = suffer(home, [("mal", "honest", "--number", "20", "--edits", "10")], [])
    # By the same question that names culprits below: who only wrote is none.
    if told is not None:
        home.spares("ann", told, "mal", "Mal", "phone-mal")


# H1: bombs in one's own record.

def bomb(home, *deed):
    home.join("cleo", "Cleo", "child")
    suffer(home, [("cleo", *deed)], ["Cleo", "phone-cleo"])


@row("H1.100k", "a child writes a set of 100,000 elements")
def small_set(home):
    bomb(home, "setbomb", "--elements", "100000")


@row("H1.400k", "a child writes a set of 400,000 elements")
def large_set(home):
    bomb(home, "setbomb", "--elements", "400000")


@row("H1.history", "a child writes a history of 20,000 values")
def long_history(home):
    bomb(home, "historybomb", "--values", "20000")


@row("H1.2M", "a child writes a set of 2,000,000 elements, of which 4,096 count")
def largest_set(home):
    bomb(home, "setbomb", "--elements", "2000000")


@row("H1.histories", "a child writes a history of 400,000 values")
def longest_history(home):
    bomb(home, "historybomb", "--values", "400000")


@row("H1.text", "a child makes 50,000 edits of a text")
def deep_text(home):
    bomb(home, "textbomb", "--edits", "50000")


@row("H1.text.all", "a child makes 300,000 edits of a text, of which few count")
def deepest_text(home):
    bomb(home, "textbomb", "--edits", "300000")


@row("H1.text.lives", "60 lives of a child make one text of five million characters together")
def long_text(home):
    home.join("cleo", "Cleo", "child")
    suffer(home, [("cleo", "longtext", "--lives", "60")], [], logs=61)


# H2: files that wait for ever.

@row("H2.reader", "a reader's 150 files each wait for a change that never comes")
def reader_gaps(home):
    home.join("rae", "Rae", "reader")
    suffer(home, [("rae", "gapbomb", "--files", "150")], ["Rae", "phone-rae"])


@row("H2.small", "a reader's 150 files of one operation each wait for a change that never comes")
def small_gaps(home):
    home.join("rae", "Rae", "reader")
    suffer(home, [("rae", "gapbomb", "--files", "150", "--items", "1")], [])


@row("H2.removed", "the same of a child that was removed")
def removed_gaps(home):
    home.join("cleo", "Cleo", "child")
    home.sync("ben")
    home.do("ann", "member", "remove", "Cleo", "--yes")
    home.sync("ann", "ben")
    suffer(home, [("cleo", "gapbomb", "--files", "150")], ["Cleo", "phone-cleo"])


@row("H2.ladder", "two logs of a child cite each other by turns, 10,000 times")
def ladder(home):
    home.join("cleo", "Cleo", "child")
    suffer(home, [("cleo", "ladder", "--steps", "10000")], [])


@row("H2.rungs", "the same, and the second log comes in 1,000 files")
def rungs(home):
    home.join("cleo", "Cleo", "child")
    suffer(home, [("cleo", "ladder", "--steps", "10000", "--per-file", "10")], [])


# H3, H8: at a relay.

def exchanges(home, sender, receiver, title):
    home.tries(sender, "add", title)
    home.tries(sender, "sync", allowed=(0, PARTIAL))
    home.tries(receiver, "sync", allowed=(0, PARTIAL))
    home.holds(title in home.tries(receiver, "list"),
               "%s does not get what %s wrote" % (receiver, sender))


@row("H3", "whoever made a relay's mailbox is removed, empties it and changes its key", relay=())
def seized(home):
    # The mailboxes are those that Dan's program makes: everybody else comes by a folder.
    home.do("ann", "transport", "remove", home.relay.address)
    home.do("ann", "transport", "add", "folder", home.path("folder"))
    home.do("ben", "transport", "remove", home.relay.address)
    home.do("ben", "transport", "add", "folder", home.path("folder"))
    home.join("dan", "Dan", "admin")
    home.relay.kill()
    judge.shutil.rmtree(home.relay.data)
    home.relay = judge.Relay(home.relay.program, home.relay.data)
    for name in ("dan", *VICTIMS):
        home.do(name, "transport", "add", "relay", home.relay.address)
        home.sync(name)
    home.everybody_knows(*VICTIMS, "dan")
    for name in VICTIMS:
        home.do(name, "transport", "remove", home.path("folder"))
    told = home.accusations("ann")
    home.do("ann", "member", "remove", "Dan", "--yes")
    home.sync(*VICTIMS, *VICTIMS)
    harm = home.forge("dan", "seize", "--relay", home.relay.address)
    home.figures.append(str(harm))
    for turn in ("first", "second"):
        exchanges(home, "ann", "ben", turn + " of Ann")
        exchanges(home, "ben", "ann", turn + " of Ben")
    home.works(VICTIMS)
    home.equal(VICTIMS)
    # Where the relay refuses all of it, nobody but the relay can know that it was tried.
    home.holds(sum(harm.values()) > 0, "nothing was tried: %r" % harm)
    if harm["removed"] or harm["seized"]:
        home.names("ann", told, "Dan", "phone-dan")
    home.welcomes(VICTIMS)


def away(home, *deed):
    """Ben is away while Dan is removed and Cleo does harm at the relay; then he comes back."""
    home.join("cleo", "Cleo", "child")
    home.join("dan", "Dan")
    home.everybody_knows("ann", "ben", "cleo")
    home.do("ben", "add", "While Ben was away")
    home.do("ann", "member", "remove", "Dan", "--yes")
    home.sync("ann", "cleo", "ann")
    home.figures.append(str(home.forge("cleo", "evict", "--relay", home.relay.address, *deed)))
    home.tries("ann", "add", "While he could not see")
    home.tries("ann", "sync", allowed=(0, PARTIAL))
    home.tries("ben", "sync", allowed=(0, PARTIAL))
    home.tries("ann", "sync", allowed=(0, PARTIAL))
    home.tries("ben", "sync", allowed=(0, PARTIAL))
    home.holds("While he could not see" in home.tries("ben", "list"),
               "ben, who was away, gets nothing any more")
    home.holds("While Ben was away" in home.tries("ann", "list"),
               "ann does not get what ben wrote while he was away")
    home.works(VICTIMS)
    home.equal(VICTIMS)
    home.welcomes(VICTIMS)


@row("H8.others", "a child makes so many handoffs that those for who was away go", relay=())
def handoffs_pushed_out(home):
    away(home)


@row("H8.empty", "a child empties the handoffs for who was away", relay=())
def handoffs_emptied(home):
    away(home, "--empty")


# H4: a setting.

@row("H4", "a member sets the time zone to Mars/Base")
def bad_zone(home):
    home.join("mal", "Mal")
    suffer(home, [("mal", "badzone")], ["Mal", "phone-mal"])
    for victim in VICTIMS:
        for command in (("today",), ("week",), ("points",), ("leaderboard",), ("history",),
                        ("settings",), ("export", "--json")):
            home.tries(victim, *command)
    # It can be put right by the ordinary command.
    home.tries("ann", "settings", "set", "time-zone", "Europe/Vienna", "--scope", "household")


# H5: what was not written yet.

def erased(home, edit, keeps, *deed):
    home.join("mal", "Mal")
    home.everybody_knows(*VICTIMS, "mal")
    stash, _, _ = home.prepare(("mal", "future", "--victim", "Ben", "--chore", "Dishes", *deed))
    told = home.accusations("ann")
    home.release(stash)
    home.sync(*VICTIMS)
    home.do("ben", *edit)
    home.sync("ben", "ann", "ben", "ann")
    for victim in VICTIMS:
        keeps(victim)
    home.works(VICTIMS)
    home.equal(VICTIMS)
    home.names("ann", told, "Mal", "phone-mal")
    home.welcomes(VICTIMS)


@row("H5.edit", "a member cites Ben's next change and overwrites what it will say")
def erased_edit(home):
    def keeps(victim):
        said = home.tries(victim, "list") + home.tries(victim, "conflicts")
        home.holds("Plates of Ben" in said, "%s: Ben's title is lost" % victim)
    erased(home, ["edit", "Dishes", "--title", "Plates of Ben"], keeps)


@row("H5.delete", "a member cites Ben's next change and deletes what it will be about")
def erased_record(home):
    def keeps(victim):
        home.holds("Plates of Ben" in home.tries(victim, "list"),
                   "%s: Ben's chore is gone" % victim)
    erased(home, ["edit", "Dishes", "--title", "Plates of Ben"], keeps, "--delete")


@row("H5.exclude", "a member cites Ben's next change and takes off the tag that it will put on")
def erased_tag(home):
    def keeps(victim):
        home.holds("Dishes" in home.tries(victim, "list", "--tag", "urgent"),
                   "%s: Ben's tag is lost" % victim)
    erased(home, ["edit", "Dishes", "--tag", "urgent"], keeps, "--exclude", "urgent")


@row("H5.never", "a member cites 50 changes that Ben never writes, and renames a chore over them")
def never(home):
    home.join("mal", "Mal")
    home.everybody_knows(*VICTIMS, "mal")
    stash, _, _ = home.prepare(
        ("mal", "future", "--victim", "Ben", "--chore", "Dishes", "--ahead", "50"))
    told = {victim: home.tells(victim) for victim in VICTIMS}
    home.release(stash)
    home.sync(*VICTIMS)
    for victim in VICTIMS:
        home.holds("Erased" not in home.tries(victim, "list"),
                   "%s: what was claimed over nothing counts" % victim)
    home.works(VICTIMS)
    home.equal(VICTIMS)
    # Ben's device knows what it wrote, and its words do not depend on what is on the way.
    said = home.tells("ben") - told["ben"]
    home.holds(any("phone-mal" in line and "this device never wrote" in line for line in said),
               "ben is not told that the claim is false")
    home.holds(not any("lags or withholds" in line for line in said),
               "ben's transports are blamed for what he never wrote")
    # Nobody else can know; the one who says so is named, and nobody is said to owe anything.
    home.holds(any("phone-mal (Mal) says" in line and "or the claim is false" in line
                   for line in home.tells("ann") - told["ann"]),
               "ann is told of it as if it were true")
    home.welcomes(VICTIMS)


# H6, H7: places of authors.

def planted(home, *options):
    """Ann and Ben meet other lives of Mal first, and more than both of them have places for."""
    home.join("mal", "Mal")
    home.everybody_knows(*VICTIMS, "mal")
    os.mkdir(home.path("other"))
    home.do("ben", "transport", "remove", home.path("folder"))
    home.do("ben", "transport", "add", "folder", home.path("other"))
    home.sync("ben")
    told = home.accusations("ann")
    for part, folder in enumerate(("folder", "other")):
        stash, _, _ = home.prepare(
            ("mal", "lives", "--number", "256", "--part", str(part), *options))
        home.release(stash, folder)
    for victim in VICTIMS:
        home.tries(victim, "sync", allowed=(0, PARTIAL))
    # What is beyond a person's places waits until another person's operation has seen it. A device
    # writes one within a day; here both do so now.
    for victim in VICTIMS:
        home.do(victim, "device", "add", allowed=(0, PARTIAL))
    for source, target in (("folder", "other"), ("other", "folder")) * 2:
        judge.shutil.copytree(home.path(source), home.path(target), dirs_exist_ok=True)
        for victim in VICTIMS:
            home.tries(victim, "sync", allowed=(0, PARTIAL))
    home.do("ben", "transport", "remove", home.path("other"))
    home.do("ben", "transport", "add", "folder", home.path("folder"))
    for _ in range(2):
        home.tries("ben", "sync", allowed=(0, PARTIAL))
        home.tries("ann", "sync", allowed=(0, PARTIAL))
    home.equal(VICTIMS)
    home.works(VICTIMS)
    home.names("ann", told, "Mal", "phone-mal")
    home.welcomes(VICTIMS)


@row("H6", "a member's lives reach two replicas in another order, and there are too many for both")
def planted_lives(home):
    planted(home)


@row("H6.unannounced", "the same of lives of which the members' log tells nothing")
def planted_silently(home):
    planted(home, "--unannounced")


def many(home, zones, *options):
    home.join("mal0", "Mal")
    for number in range(1, 16):
        home.add_device("mal%d" % number, "Mal", of="mal0")
    home.sync("mal0", "ann", "ben")
    home.everybody_knows(*VICTIMS)
    suffer(home, [("mal%d" % number, "lives", "--number", "256", "--part", str(number), *options)
                  for number in range(16)], ["Mal", "phone-mal0", "device-mal1"],
           logs=16 * 256 * zones)


@row("H7", "sixteen devices of a member have 256 lives each")
def many_lives(home):
    # Each life has a log among the members' and one of records.
    many(home, 2)


@row("H7.unannounced", "the same of lives of which the members' log tells nothing")
def many_silently(home):
    many(home, 1, "--unannounced")


# H9, H10: the household's rules.

@row("H9", "a transaction of a member who is made a child meanwhile stands whole or not at all")
def half(home):
    home.join("mal", "Mal")
    home.everybody_knows(*VICTIMS, "mal")
    told = home.accusations("ann")
    stash, _, _ = home.prepare(("mal", "halftransaction", "--chore", "Dishes"))
    home.do("ann", "member", "role", "Mal", "child")
    home.sync(*VICTIMS)
    home.release(stash)
    for victim in VICTIMS:
        home.tries(victim, "sync", allowed=(0, PARTIAL))
        has_title = "Half a transaction" in home.tries(victim, "list", "--all")
        entries = json.loads(home.tries(victim, "history", "--json") or "{}")
        has_entry = "In advance" in json.dumps(entries) or "Mal" in json.dumps(entries)
        home.holds(has_title == has_entry,
                   "%s: of one transaction the title %s and the entry %s" % (
                       victim, "stands" if has_title else "is gone",
                       "stands" if has_entry else "is gone"))
    home.works(VICTIMS)
    home.equal(VICTIMS)
    home.names("ann", told, "Mal", "phone-mal")
    home.welcomes(VICTIMS)


def credit(home, victim, person):
    """What somebody has in all, as the entries behind it say."""
    found = json.loads(home.tries(victim, "points", person, "--json") or "{}")
    numbers = [value for key, value in flat(found) if "oint" in key or "total" in key.lower()]
    return max([number for number in numbers if isinstance(number, int)], default=0)


def flat(value, name=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from flat(inner, name)
    else:
        yield name, value


def objects(value):
    """Every object of a JSON document."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            yield from objects(inner)


@row("H10", "a child says that 200 occurrences to come are done")
def in_advance(home):
    home.join("cleo", "Cleo", "child")
    home.do("ann", "add", "Water", "--points", "5", "--every", "day")
    home.sync("ann", "ben")
    home.do("ben", "done", "Water")
    home.sync("ben", "ann", "cleo")
    suffer(home, [("cleo", "futuredone", "--chore", "Water")], ["Cleo", "phone-cleo"])
    for victim in VICTIMS:
        home.holds(credit(home, victim, "Cleo") == 0,
                   "%s: Cleo has %d points" % (victim, credit(home, victim, "Cleo")))
        home.holds(credit(home, victim, "Ben") >= 5, "%s: Ben's points are gone" % victim)
        for command in ("history", "export"):
            told = json.loads(home.tries(victim, command, "--json") or "{}")
            foreign = [one for one in objects(told)
                       if "Cleo" in one.values() and "Ann" in one.values()]
            home.holds(not foreign, "%s: by %s Ann has recorded %d entries of Cleo: %s" % (
                victim, command, len(foreign), foreign[:1]))


@row("H10.chain", "a child says 200 times in a row that what counts from completion is done")
def links(home):
    home.join("cleo", "Cleo", "child")
    home.do("ann", "add", "Ferns", "--points", "5", "--every", "3d", "--after-completion")
    home.sync("ann", "ben", "cleo")
    suffer(home, [("cleo", "links", "--chore", "Ferns")], ["Cleo", "phone-cleo"])
    for victim in VICTIMS:
        home.holds(credit(home, victim, "Cleo") == 10,
                   "%s: Cleo has %d points, not those of the due link and the first ahead" % (
                       victim, credit(home, victim, "Cleo")))
    # Once an admin takes them back, others do it, and none of the rest comes up in their place.
    told = json.loads(home.tries("ann", "export", "--json") or "{}")
    for one in objects(told):
        if one.get("kind") == "credited" and one.get("person") == "Cleo":
            home.tries("ann", "undo", "--event", one["event"])
    home.tries("ann", "sync", allowed=(0, PARTIAL))
    home.tries("ben", "sync", allowed=(0, PARTIAL))
    home.tries("ben", "done", "Ferns")
    home.holds(credit(home, "ben", "Cleo") == 0 and credit(home, "ben", "Ben") >= 5,
               "taken back, Cleo has %d points and Ben, who did it, %d" % (
                   credit(home, "ben", "Cleo"), credit(home, "ben", "Ben")))


# H11: the rest.

@row("H11.suite", "64 forged files of a suite to come")
def newer_suite(home):
    home.join("mal", "Mal")
    before = os.path.getsize(home.path("ann", "node.db"))
    suffer(home, [("mal", "newersuite", "--files", "64")], ["Mal", "phone-mal"])
    grown = os.path.getsize(home.path("ann", "node.db")) - before
    home.figures.append("the database grew by %.1f MiB" % (grown / MIB))
    home.holds(grown <= 16 * MIB, "the database keeps %.1f MiB of them" % (grown / MIB))


@row("H11.record", "a member writes a chore of 100 MiB")
def big_record(home):
    home.join("mal", "Mal")
    suffer(home, [("mal", "bigrecord", "--fields", "200")], ["Mal", "phone-mal"])


def is_harmful(letter):
    return letter in "\u2028\u2029" or unicodedata.category(letter) in ("Cf", "Cc") \
        and letter not in "\n\t"


@row("H11.marks", "a member's titles and names hold marks that terminals act upon")
def marks(home):
    home.join("mal", "Mal")
    suffer(home, [("mal", "marks")], [])
    for victim in VICTIMS:
        for command in (("list",), ("list", "--all"), ("status",), ("log",), ("history",),
                        ("member",), ("device",), ("leaderboard",), ("conflicts",), ("audit",),
                        ("doctor",), ("today",), ("week",), ("show", "Milk"), ("settings",),
                        ("points", "explain", "Mal"), ("household", "list"),
                        ("export", "--csv")):
            # Lines of CSV end with both.
            said = home.cost(victim, *command).said.replace("\r\n", "\n")
            found = sorted({"U+%04X" % ord(one) for one in said if is_harmful(one)})
            home.holds(not found, "%s: %s prints %s" % (
                victim, " ".join(command), ", ".join(found)))


# The control zone, which everybody reads first and whole.

@row("C.heartbeats", "a reader reports 20,000 times how far it is")
def heartbeats(home):
    # Each is an operation that counts, paid for in bytes: nobody did what may not be.
    home.join("rae", "Rae", "reader")
    suffer(home, [("rae", "heartbeats", "--number", "20000")], [])


@row("C.frontiers", "a reader reports 100 times that it has 2,000 logs of nobody")
def frontiers(home):
    home.join("rae", "Rae", "reader")
    suffer(home, [("rae", "heartbeats", "--number", "100", "--authors", "2000", "--per-file",
                   "10")], [])


@row("C.strangers", "600 devices for which nothing vouches introduce themselves")
def strangers(home):
    # Whoever has the zone's key can have made them: there is nobody to name.
    home.join("mal", "Mal")
    suffer(home, [("mal", "strangers", "--number", "600")], [])


@row("C.words", "a member lets in 300 devices of its own by recovery words")
def devices_by_words(home):
    home.join("mal", "Mal")
    suffer(home, [("mal", "strangers", "--number", "300", "--words")], ["Mal"])


@row("C.devices", "the same with 4,000, which are all the authors that the zone may have")
def devices_without_end(home):
    home.join("mal", "Mal")
    suffer(home, [("mal", "strangers", "--number", "4000", "--words")], ["Mal"], logs=4000)


@row("C.suite", "64 forged files of a suite to come in the control zone")
def newer_control_suite(home):
    home.join("mal", "Mal")
    before = os.path.getsize(home.path("ann", "node.db"))
    suffer(home, [("mal", "newersuite", "--files", "64", "--control")], ["Mal", "phone-mal"])
    grown = os.path.getsize(home.path("ann", "node.db")) - before
    home.holds(grown <= 16 * MIB, "the database keeps %.1f MiB of them" % (grown / MIB))


@row("C.fill", "a child fills the household's mailboxes with noise",
     relay=("--mailbox-bytes", str(8 * MIB)))
def filled(home):
    home.join("cleo", "Cleo", "child")
    home.everybody_knows(*VICTIMS, "cleo")
    told = home.accusations("ann")
    harm = home.forge("cleo", "fill", "--relay", home.relay.address)
    home.figures.append(str(harm))
    home.holds(harm["files"] and harm["refused"], "nothing was filled: %r" % harm)
    for victim in VICTIMS:
        home.tries(victim, "sync", allowed=(0, PARTIAL))
        home.again = max(home.again, home.steady(victim, "sync").cpu)
    exchanges(home, "ann", "ben", "Ann writes on")
    exchanges(home, "ben", "ann", "Ben writes on")
    home.works(VICTIMS)
    home.equal(VICTIMS)
    home.names("ann", told, "Cleo", "phone-cleo")
    home.welcomes(VICTIMS)


# How rows are played.

def play(programs, name, shows):
    """The faults of a row, those of time alone, what was measured, and the dearest idle sync."""
    story, _, relay = ROWS[name]
    home = None
    try:
        home = Household(programs, shows, relay)
        story(home)
        return home.faults, home.dear, home.figures, home.again
    except Stuck as stuck:
        return ["not judged: %s" % stuck], [], home.figures if home else [], 0.0
    finally:
        if home:
            home.close()


def tell(name, faults, figures, words, shows):
    print("%s %-15s %s (%s)" % ("FAILED" if faults else "ok    ", name, ROWS[name][1], words))
    for fault in faults if shows else faults[:MOST_FAULTS_SHOWN]:
        print("         - " + fault.replace("\n", "\n           "))
    if not shows and len(faults) > MOST_FAULTS_SHOWN:
        print("         - and %d more" % (len(faults) - MOST_FAULTS_SHOWN))
    if faults or shows:
        print("         " + "\n         ".join(figures))
    sys.stdout.flush()


def chosen(wanted):
    """The rows of some names, or of names that begin so; all where none is wanted."""
    def is_meant(row, name):
        return row == name or row.startswith(name + ".")

    unknown = [name for name in wanted if not any(is_meant(row, name) for row in ROWS)]
    if unknown:
        raise SystemExit("there is no row %s; there are %s" % (", ".join(unknown), ", ".join(ROWS)))
    return [row for row in ROWS if not wanted or any(is_meant(row, name) for name in wanted)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for program in ("hearth", "relay", "hostile"):
        parser.add_argument(program)
    parser.add_argument("named", nargs="*")
    parser.add_argument("--rows", default="")
    parser.add_argument("--fuzz", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shape")
    parser.add_argument("--show", action="store_true")
    programs = parser.parse_intermixed_args()
    if programs.fuzz is not None:
        sys.exit(hostile_search.search(programs, programs.fuzz, programs.seed, programs.show))
    if programs.shape is not None:
        sys.exit(hostile_search.replay(programs, programs.shape, programs.show))
    quiet = [name for name in programs.rows.split(",") if name]
    names, failed = chosen(programs.named + quiet), []
    for name in names:
        for tries in range(1, MOST_TRIES + 1):
            began = time.monotonic()
            faults, dear, figures, again = play(programs, name, programs.show)
            if faults or not dear:
                break
        if faults or dear:
            failed.append(name)
        if faults or dear or not quiet:
            words = "%.0f s; a sync again %.3f s CPU" % (time.monotonic() - began, again)
            tell(name, faults + dear, figures,
                 words + ("" if tries == 1 else "; played %d times" % tries), programs.show)
    print("hostile: " + ("%d of %d rows fail: %s" % (len(failed), len(names), " ".join(failed))
                         if failed else "%d rows hold" % len(names)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
