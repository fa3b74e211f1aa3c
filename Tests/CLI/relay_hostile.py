#!/usr/bin/env python3
"""Plays a malicious relay to three nodes, one lie at a time, and looks what they make of it.

    relay_hostile.py HEARTH HEARTH_RELAY [--show]

Between each node and the relay stands somebody who has the relay's key: frames are dropped, put in
another order, repeated, exchanged and cut, stores are acknowledged and thrown away, an author is
withheld, the log is set back and two members are shown two logs. While it lasts no command may
hang or make anything up; what can be known has to be said in words. Afterwards the same nodes talk
to an honest relay: everything that was reported as done is there, on all of them alike.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import passage
import wire
from nodes import Nodes, Relay, check, failures

PARTIAL, OFFLINE = 2, 3
HOMES = ("ada", "ben", "cleo")
# No command may take longer, whatever a relay does.
LONGEST_SECONDS = 90
MOST_ROUNDS = 3
UNREACHABLE = "cannot be reached"
REFILLED = "this device publishes its data there again"


class Family(Nodes):
    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, shows, "hearth-relay-lies-")
        self.program = relay
        self.relay = Relay(relay, self.path("relay-data"))
        self.paths = wire.identity_files(
            self.relay.data, int(self.relay.port), self.path("identity"))
        self.between = {
            home: passage.Between(self.paths, int(self.relay.port)) for home in HOMES}
        self.titles = set()
        self.longest = 0
        self.said = {}

    def gather(self):
        for home in HOMES:
            self.says(home, ["init", "--person", home.title(), "--device", home])
        self.says("ada", ["household", "create", "Home", "--time-zone", "UTC"])
        self.says("ada", ["transport", "add", "relay", self.address("ada")])
        link = self.says("ada", ["invite", "--uses", "5", "--at-once"], "hearth join").strip().splitlines()[-1]
        for home in HOMES[1:]:
            self.says(home, ["join", link], "joined Home")
            self.says(home, ["transport", "remove", "1"])
            self.says(home, ["transport", "add", "relay", self.address(home)])
        self.honest()
        self.settle("an honest relay")

    def address(self, home):
        return self.between[home].address(self.relay.address)

    def honest(self):
        for between in self.between.values():
            between.passage, between.port_behind = passage.Passage, int(self.relay.port)

    def lie(self, passage, *homes):
        for home in homes or HOMES:
            self.between[home].passage = passage

    def add(self, home):
        title = "Chore %d of %s" % (len(self.titles), home)
        self.says(home, ["add", title], "added")
        self.titles.add(title)

    def sync(self, *homes, statuses=(0, PARTIAL, OFFLINE)):
        """Syncs whatever comes of it; gives everything that was said."""
        said = ""
        for home in homes or HOMES:
            began = time.monotonic()
            try:
                done = self.run(home, "sync")
            except subprocess.TimeoutExpired:
                check(False, home + ": sync hangs")
                continue
            self.longest = max(self.longest, time.monotonic() - began)
            check(done.returncode in statuses, "%s: sync: exit %d: %s" % (
                home, done.returncode, done.stderr))
            check(time.monotonic() - began < LONGEST_SECONDS, home + ": sync takes too long")
            said += done.stdout + done.stderr
        for home in homes or HOMES:
            self.nothing_made_up(home)
        return said

    def nothing_made_up(self, home):
        there = self.there(home)
        check(there <= self.titles, "%s shows %r" % (home, there - self.titles))
        own = {title for title in self.titles if title.endswith(" of " + home)}
        check(own <= there, "%s lost its own %r" % (home, own - there))

    def there(self, home):
        chores = json.loads(self.says(home, ["list", "--all", "--json"]))["chores"]
        check(len(chores) == len({chore["title"] for chore in chores}), home + " shows one twice")
        return {chore["title"] for chore in chores}

    def settle(self, name):
        """With an honest relay plain syncs are enough."""
        rounds = 0
        while rounds == 0 or len({str(self.digest(home)) for home in HOMES}) > 1:
            rounds += 1
            if rounds > MOST_ROUNDS:
                check(False, "%s: the nodes differ after %d rounds" % (name, MOST_ROUNDS))
                break
            self.said[name] = self.said.get(name, "") + self.sync(statuses=(0,))
        for home in HOMES:
            check(self.there(home) == self.titles, "%s: %s lacks %r" % (
                name, home, self.titles - self.there(home)))
            self.says(home, ["verify"])
        return rounds

    def digest(self, home):
        zones = json.loads(self.says(home, ["digest", "--json"]))["zones"]
        return sorted((zone["zone"], zone["digest"]) for zone in zones
                      if zone["database"] == "shared")


def has_word(said, *words):
    return any(word in said for word in words)


# Lies of one frame

class Silent(passage.Passage):
    """Takes stores and never answers them."""

    def asked(self, frame):
        return [] if frame.kind == wire.PUT else [frame]


class Forgetful(passage.Passage):
    """Acknowledges what it throws away, under the positions that would be next."""

    def told(self, frame, asked):
        if frame.kind == wire.OPENED:
            head = wire.Fields(frame.body)
            head.take(16)
            self.__dict__.setdefault("heads", {})[self.mailbox(asked)] = head.varint()
        return [frame]

    def asked(self, frame):
        if frame.kind != wire.PUT:
            return [frame]
        items, mailbox = wire.puts(frame.body)[1], self.mailbox(frame)
        body = wire.varint(len(items))
        for _ in items:
            self.heads[mailbox] += 1
            body += b"\0" + wire.varint(self.heads[mailbox])
        self.answer(wire.frame(wire.STORED, frame.request, body))
        return []


class Reordered(passage.Passage):
    """Lists from the end, and gives blobs in another order."""

    def told(self, frame, asked):
        if frame.kind == wire.LISTING:
            headers, through, head, chain = wire.listing(frame.body)
            body = wire.varint(len(headers)) + b"".join(
                wire.header_bytes(header) for header in reversed(headers))
            return [frame._replace(body=body + wire.varint(through) + wire.varint(head) + chain)]
        if frame.kind == wire.BLOBS:
            return [frame._replace(body=wire.blobs_body(wire.fetched(frame.body)[::-1]))]
        return [frame]


class Repeated(passage.Passage):
    """Says and does everything twice."""

    def told(self, frame, asked):
        return [frame, frame]


class Stored(passage.Passage):
    """Stores everything twice, the second time under another request."""

    def asked(self, frame):
        twice = frame._replace(request=frame.request + 10 ** 6)
        return [frame, twice] if frame.kind in (wire.PUT, wire.REMOVE) else [frame]

    def told(self, frame, asked):
        return [] if frame.request > 10 ** 6 else [frame]


class Swapped(passage.Passage):
    """Opens another mailbox than was asked for."""

    def asked(self, frame):
        if frame.kind == wire.OPEN:
            fields = wire.Fields(frame.body)
            channel, mailbox = fields.varint(), fields.take(16)
            others = self.between.__dict__.setdefault("seen", [])
            if mailbox not in others:
                others.append(mailbox)
            other = others[(others.index(mailbox) + 1) % len(others)]
            return [frame._replace(body=wire.varint(channel) + other)]
        return [frame]


class Altered(passage.Passage):
    """Gives other bytes under each name."""

    def told(self, frame, asked):
        if frame.kind == wire.BLOBS:
            blobs = [data and bytes([data[0] ^ 1]) + data[1:] for data in wire.fetched(frame.body)]
            return [frame._replace(body=wire.blobs_body(blobs))]
        return [frame]


class Moved(passage.Passage):
    """Gives under each name what lies under the first, with a true log."""

    def told(self, frame, asked):
        if frame.kind == wire.BLOBS:
            kept = self.between.__dict__.setdefault("kept", [])
            kept += [data for data in wire.fetched(frame.body) if data]
            return [frame._replace(body=wire.blobs_body(
                [data and kept[0] for data in wire.fetched(frame.body)]))]
        return [frame]


class Cutting(passage.Passage):
    """Ends each connection one answer later than the one before, which lacks its last byte."""

    def __init__(self, between, number):
        super().__init__(between, number)
        between.cuts = getattr(between, "cuts", 0) + 1
        self.left = between.cuts

    def told(self, frame, asked):
        self.left -= 1
        if self.left <= 0:
            raise passage.Cut(wire.frame(*frame)[:-1])
        return [frame]


class Withheld(passage.Passage):
    """Lists an author's segments and does not have them."""

    def told(self, frame, asked):
        if frame.kind != wire.BLOBS:
            return [frame]
        names = wire.names(asked.body)
        blobs = [None if name[:1] == b"\1" and name[1:17] in self.between.withheld else data
                 for name, data in zip(names, wire.fetched(frame.body))]
        return [frame._replace(body=wire.blobs_body(blobs))]


def lies_of_frames(family):
    """Each lie to all; what two do meanwhile, what is said, and that it ends well."""
    for passage, words in (
            (Silent, (UNREACHABLE,)),
            (Forgetful, ()),
            (Reordered, ("violates the protocol", "bytes do not match the name")),
            (Repeated, ("answered a request that was not sent",)),
            (Stored, ()),
            (Swapped, ("does not admit this device",)),
            (Altered, ("bytes do not match the name",)),
            (Moved, ("bytes do not match the name",)),
            (Cutting, (UNREACHABLE,))):
        name = passage.__name__.lower()
        began = time.monotonic()
        for home in HOMES[:2]:
            family.add(home)
        if passage in (Reordered, Altered, Moved):
            # There has to be something to give.
            family.sync("ada", statuses=(0,))
        family.lie(passage)
        homes = HOMES[:1] if passage is Silent else HOMES
        said = family.sync(*homes)
        if passage is Cutting:
            for _ in range(4):
                said += family.sync(*homes)
        check(not words or has_word(said, *words), "%s: nothing is said of it: %s" % (name, said))
        family.honest()
        rounds = family.settle(name)
        if passage is Forgetful:
            check(has_word(family.said[name], "was rolled back", "is not the one that it showed"),
                  "forgetful: nothing is said of it: %s" % family.said[name])
        tell(name, said + family.said[name], rounds, began)


def tell(name, said, rounds, began):
    """The first words that were said of a fault, for whoever reads along."""
    lines = [line.strip() for line in said.splitlines()
             if has_word(line, "error", "relay 1", "relay's", "the relay ", REFILLED)
             and "nothing new" not in line and "received" not in line]
    print("%-12s %4.1f s, well after %d rounds; said: %s" % (
        name, time.monotonic() - began, rounds,
        lines[0][:150] if lines else "nothing, and nothing was wrong"))


# Lies of the whole log

def authors(path):
    """The last position of each author, by mailbox and tag."""
    log = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    found = {}
    for mailbox, position, name in log.execute(
            "SELECT mailbox, position, name FROM entries ORDER BY position"):
        if name[:1] == b"\1":
            found[mailbox, name[1:17]] = position
    log.close()
    return found


def heads(folder):
    log = sqlite3.connect("file:%s?mode=ro" % os.path.join(folder, "relay.sqlite"), uri=True)
    found = dict(log.execute("SELECT number, head FROM mailboxes"))
    log.close()
    return found


def copy_of(family, name):
    """A copy of the relay's data with the same identity, in a folder of its own."""
    folder = family.path(name)
    os.mkdir(folder)
    exported = family.relay.ask("export", os.path.join(folder, "relay.sqlite"))
    check(exported.returncode == 0, "export: " + exported.stderr)
    shutil.copy(os.path.join(family.relay.data, "identity.key"), folder)
    return folder


def censor(path, tags, after):
    """Takes an author's entries after some positions out of a log, and makes its chain good again:
    what is left is a log that a relay could truly have."""
    log = sqlite3.connect(path)
    taken = 0
    for number, mailbox, generation in log.execute(
            "SELECT number, name, generation FROM mailboxes").fetchall():
        chain, position = wire.chain_start(mailbox, generation), 0
        for old, flags, name, size, digest in log.execute(
                "SELECT position, flags, name, size, digest FROM entries WHERE mailbox = ?"
                " ORDER BY position", (number,)).fetchall():
            if old > after.get(number, 0) and name[:1] == b"\1" and name[1:17] in tags:
                log.execute("DELETE FROM blobs WHERE number = (SELECT blob FROM entries"
                            " WHERE mailbox = ? AND position = ?)", (number, old))
                log.execute("DELETE FROM entries WHERE mailbox = ? AND position = ?",
                            (number, old))
                taken += 1
                continue
            position += 1
            chain = wire.chain_next(chain, position, flags, name, size, digest)
            log.execute("UPDATE entries SET position = ?, chain = ? WHERE mailbox = ? AND"
                        " position = ?", (position, chain, number, old))
        log.execute(
            "UPDATE mailboxes SET head = ?, chain = ?, used_bytes = (SELECT coalesce(sum(96 +"
            " length(e.name) + iif(e.blob IS NULL, 0, e.size)), 0) FROM entries e"
            " WHERE e.mailbox = ?) WHERE number = ?", (position, chain, number, number))
    log.commit()
    log.close()
    return taken


WITHHELD = "lags or withholds"


def names_the_withheld(family):
    """Cleo is told who is kept from her, how much of it, and who has it; Ben's name comes from the
    log of the household, Ada's word from her change that waits for it."""
    told = ("ada (Ada) says that it has seen 1 change of ben (Ben) that is not here: the relay lags "
            "or withholds it, or the claim is false")
    for command in ("status", "log"):
        said = family.says("cleo", [command])
        check(said.count(told) == 1, "%s does not name who is withheld: %s" % (command, said))
        check(said.count(WITHHELD) == 1, "%s names others too: %s" % (command, said))
        document = json.loads(family.says("cleo", [command, "--json"]))
        found = (document["households"][0]["standing"] if command == "status"
                 else document)["withheld"]
        check(found == [{"device": "ben", "person": "Ben", "changes": 1, "witness": "ada",
                         "witnessPerson": "Ada"}],
              "%s --json: %s" % (command, found))
    # Nobody is said to be withheld to whom everything is given.
    for home in ("ada", "ben"):
        check(WITHHELD not in family.says(home, ["status"]), home + ": somebody is named")
    return told


def withheld(family):
    """Ben's newest is kept from Cleo: without the bytes, then by a log in which it never was."""
    began = time.monotonic()
    known = heads(copy_of(family, "before"))
    family.add("ben")
    family.sync("ben", statuses=(0,))
    # Whose tags are Ben's shows the log: who was first after that.
    later = authors(os.path.join(copy_of(family, "later"), "relay.sqlite"))
    tags = {tag for (mailbox, tag), last in later.items() if last > known[mailbox]}
    family.sync("ada", statuses=(0,))
    family.add("ada")
    family.sync("ada", statuses=(0,))
    family.between["cleo"].withheld = tags
    family.lie(Withheld, "cleo")
    said = family.sync("cleo")
    check("lacks a segment that it listed" in said, "a withheld blob: nothing is said: " + said)
    names_the_withheld(family)
    family.honest()
    tell("withheld", said, family.settle("withheld"), began)

    began = time.monotonic()
    family.sync(statuses=(0,))
    known = heads(copy_of(family, "known"))
    family.add("ben")
    family.sync("ben", "ada", statuses=(0,))
    # Ada has seen what Ben did, and says so with what she does.
    family.add("ada")
    family.sync("ada", statuses=(0,))
    later = copy_of(family, "censored")
    taken = censor(os.path.join(later, "relay.sqlite"), tags, known)
    check(taken > 0, "nothing was taken out of the log")
    censored = Relay(family.program, later)
    family.between["cleo"].port_behind = int(censored.port)
    said = family.sync("cleo", statuses=(0, PARTIAL))
    missing = family.titles - family.there("cleo")
    check(any(title.endswith("of ben") for title in missing), "nothing is kept from Cleo")
    standing = family.says("cleo", ["status"]) + family.says("cleo", ["log"])
    words = "waiting for changes of others that its author had seen"
    check(words in standing, "of what is withheld nothing is said: " + standing)
    told = names_the_withheld(family)
    censored.kill()
    verified = censored.ask("verify")
    check(verified.returncode == 0, "the censored log is no good log: " + verified.stdout)
    family.honest()
    rounds = family.settle("censored")
    check("is not the one that it showed before" in family.said["censored"],
          "two logs: nothing is said: " + family.said["censored"])
    tell("censored", "error: " + told, rounds, began)
    for command in ("status", "log"):
        check(WITHHELD not in family.says("cleo", [command]),
              command + " goes on naming somebody although nothing is withheld")


def old_backup(family):
    """The relay answers from a copy of some time ago."""
    began = time.monotonic()
    copy = copy_of(family, "old")
    for home in HOMES:
        family.add(home)
    family.sync(statuses=(0,))
    family.relay.kill()
    for name in os.listdir(family.relay.data):
        if name.startswith("relay.sqlite"):
            os.remove(os.path.join(family.relay.data, name))
    shutil.copy(os.path.join(copy, "relay.sqlite"), family.relay.data)
    family.relay.start()
    family.honest()
    rounds = family.settle("old backup")
    said = family.said["old backup"]
    check("was rolled back" in said and REFILLED in said, "an old backup: nothing is said: " + said)
    tell("old backup", said, rounds, began)


def equivocation(family):
    """Two members are shown two logs that were one."""
    began = time.monotonic()
    other = Relay(family.program, copy_of(family, "second"))
    family.between["ben"].port_behind = int(other.port)
    for home in ("ada", "ben", "ada", "ben"):
        family.add(home)
        family.sync(home, statuses=(0,))
    check(family.digest("ada") != family.digest("ben"), "the two are not kept apart")
    # The two of them can find out by any other way.
    digits = json.loads(family.says("ada", ["compare", "--json"]))["digits"]
    family.says("ben", ["compare", "--with", digits], status=PARTIAL)
    # They are exchanged: what each knew of its log does not fit the other's.
    family.between["ben"].port_behind = int(family.relay.port)
    family.between["ada"].port_behind = int(other.port)
    said = family.sync("ada", "ben", statuses=(0,))
    check(has_word(said, "is not the one that it showed", "was rolled back",
                   "contradicts what it reported"),
          "two logs: nothing is said: " + said)
    other.kill()
    family.honest()
    rounds = family.settle("equivocation")
    tell("equivocation", said + family.said["equivocation"], rounds, began)


def main():
    family = Family(sys.argv[1], sys.argv[2], "--show" in sys.argv)
    family.gather()
    for story in (lies_of_frames, withheld, old_backup, equivocation):
        story(family)
    for between in family.between.values():
        check(not between.failures, "in between: %s" % between.failures[:3])
        between.stop()
    family.relay.kill()
    verified = family.relay.ask("verify")
    check(verified.returncode == 0, "the relay's log: " + verified.stdout)
    print("relay lies: %d chores on 3 nodes, none lost, none made up; a sync took %.1f s at most"
          % (len(family.titles), family.longest))
    if not failures:
        shutil.rmtree(family.root)
    print("relay lies: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
