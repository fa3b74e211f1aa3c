#!/usr/bin/env python3
"""Members who lie to a relay: none stops, blinds or locks out the others.

    relay_members.py HEARTH HEARTH_RELAY [STORY ...] [--postgres] [--show]

Each attacker has valid keys, taken from a node's home, and speaks the protocol by itself (wire.py).
A revoked device that made the mailbox; the same while it is the only one that manages it, also
against somebody who is not listed yet; a child that takes away what others left, lays handoffs and
changes keys; an admin that empties handoffs; a child that fills the mailbox. The others add and
sync all the time, and each must get what the others added.
"""
import os
import shutil
import sqlite3
import sys
import time

import keys
import postgres
import wire
from nodes import Nodes, Relay, check, failures

PARTIAL = 2
MAILBOX_BYTES = 8 << 20
# Of a mailbox: what a listed device, and what all others together may hold.
SHARE, GUESTS = MAILBOX_BYTES // 4, MAILBOX_BYTES // 8
JUNK = 64 << 10


class Household(Nodes):
    """Ada with two devices, Ben an admin and Cleo a child, over one relay."""

    def __init__(self, hearth, relay, name, backend=None):
        super().__init__(hearth, "--show" in sys.argv, "hearth-relay-members-" + name + "-")
        self.relay = Relay(
            relay, self.path("relay-data"), log=self.path("relay.log"), backend=backend,
            options=("--health", "off", "--mailbox-bytes", str(MAILBOX_BYTES)))
        self.number = 0

    def found(self):
        self.says("ada", ["init", "--person", "Ada", "--device", "Ada's phone"])
        self.says("ada", ["household", "create", "Home", "--time-zone", "UTC"])
        self.says("ada", ["transport", "add", "relay", self.relay.address])
        self.says("ada", ["sync"])

    def join(self, home, person, role):
        self.says(home, ["init", "--person", person, "--device", person + "'s phone"])
        link = self.says("ada", ["invite", "--role", role, "--at-once"], "hearth join").strip().splitlines()[-1]
        self.says(home, ["join", link], "joined Home")
        self.sync("ada", home, "ada")

    def second(self):
        """Ada's tablet."""
        self.says("tablet", ["init", "--person", "Ada", "--device", "Ada's tablet"])
        link = self.says("ada", ["device", "add"], "hearth join").strip().splitlines()[-1]
        self.says("tablet", ["join", link])
        self.sync("tablet")

    def grow(self, role):
        """Ada with two devices, Ben with a role, and Cleo, a child."""
        self.found()
        self.second()
        self.sync("ada")
        self.join("ben", "Ben", role)
        self.join("cleo", "Cleo", "child")

    def sync(self, *homes):
        for home in homes:
            self.says(home, ["sync"])

    def goes_on(self, *homes, status=0):
        """Each adds something, and all the others get it; syncs end with the status."""
        titles = []
        for home in homes:
            self.number += 1
            titles.append("Work %d of %s" % (self.number, home))
            self.says(home, ["add", titles[-1]])
            self.says(home, ["sync"], status=status)
        for home in homes:
            self.says(home, ["sync"], status=status)
            self.says(home, ["list", "--all"], *titles)

    def attacker(self, home):
        """What somebody knows who has copied a node's home."""
        return Attacker(self, self.path(home))

    def mailboxes(self, which="parent IS NULL"):
        """The households' mailboxes, which belong to no other, as the relay's operator sees them."""
        copy = self.path("copy-%d.sqlite" % time.monotonic_ns())
        done = self.relay.ask("export", copy)
        check(done.returncode == 0, "export: " + done.stderr)
        with sqlite3.connect(copy) as database:
            rows = list(database.execute(
                "SELECT name, used_bytes, head FROM mailboxes WHERE %s ORDER BY name" % which))
        database.close()
        os.remove(copy)
        return rows

    def children(self):
        """The names of those that belong to another: handoffs, meeting places."""
        return [name for name, *_ in self.mailboxes("parent IS NOT NULL")]

    def used(self, names):
        """How much the mailboxes of some names hold."""
        return [row[1] for row in self.mailboxes() if row[0] in names]

    def close(self):
        self.relay.kill()
        shutil.rmtree(self.root)


class Attacker:
    def __init__(self, household, home):
        self.port = int(household.relay.port)
        found = keys.home_keys(home)
        self.seed = found["seed HRTHsign"]
        self.roots = [key for name, key in found.items()
                      if isinstance(name, tuple) and name[0] == "relay access root"]
        self.session = None

    def __enter__(self):
        self.session = wire.Session(self.port, source="127.0.5.1")
        self.session.hello()
        self.own = wire.Pseudonym(self.seed, self.session.relay)
        return self

    def __exit__(self, *_):
        self.session.socket.close()

    def by_own_key(self, channel, mailbox):
        return self.session.enter(channel, mailbox, self.own)

    def by_access_key(self, channel, mailbox, author=None):
        """Opens a mailbox by whichever of the epochs' keys the relay wants; None where by none."""
        wanted, nonce = self.session.challenge(channel, mailbox)
        for root in self.roots:
            pair = wire.access_pair(root, mailbox, self.session.relay)
            if pair.id == wanted:
                return self.session.ask(wire.PROVE, self.session.proof(
                    pair, channel, mailbox, nonce, author=author))
        self.session.ask(wire.CLOSE, wire.varint(channel))
        return None

    def open_to_it(self, household):
        """The mailboxes that its access keys open: two, of the members' log and of the records."""
        names = [mailbox for mailbox, *_ in household.mailboxes()
                 if (self.by_access_key(200, mailbox, self.own) or (0,))[0] == wire.OPENED
                 and self.session.ask(wire.CLOSE, wire.varint(200))]
        check(len(names) == 2, "it opens %d mailboxes" % len(names))
        return names

    def names(self, channel):
        answer = self.session.ask(wire.LIST, wire.varint(channel) + b"\0" + wire.varint(2000)
                                  + b"\1\0")
        return [header.name for header in wire.listing(answer.body)[0]]

    def remove(self, channel, names):
        """How many of the names are gone."""
        answer = self.session.ask(wire.REMOVE, wire.varint(channel) + wire.varint(len(names))
                                  + b"".join(wire.blob(name) for name in names))
        if answer.kind != wire.REMOVED:
            return 0
        fields = wire.Fields(answer.body)
        return sum(fields.varint() > 0 for _ in range(fields.varint()))

    def rotate(self, channel, generation=1):
        return self.session.ask(
            wire.ROTATE, wire.varint(channel) + wire.varint(generation) + wire.KeyPair().public)

    def fill(self, channel):
        """Puts junk until the relay takes no more; the fault's code and how much was taken."""
        taken, sizes = 0, [JUNK, 1 << 10, 16]
        while taken < 2 * MAILBOX_BYTES:
            answer = self.session.ask(wire.PUT, wire.put_body(
                channel, [(0, b"\1" + os.urandom(56), os.urandom(sizes[0]))]))
            said = wire.fault(answer)
            if not said:
                taken += sizes[0]
            elif len(sizes) == 1:
                return said.code, taken
            else:
                sizes.pop(0)
        return None, taken


def code(answer):
    said = wire.fault(answer)
    return said.code if said else None


def a_revoked_maker(household):
    """H3: the device that made the mailboxes is revoked, and can do nothing there any more."""
    household.grow("admin")
    household.goes_on("tablet", "ben")
    thief = household.attacker("ada")
    household.says("tablet", ["device", "revoke", "Ada's phone", "--yes"])
    household.sync("tablet")
    boxes = household.mailboxes()
    check(len(boxes) == 4, "mailboxes, with those of Ada's private database: %r" % boxes)
    with thief:
        for channel, (mailbox, *_) in enumerate(boxes):
            answer = thief.by_own_key(channel, mailbox)
            check(code(answer) == wire.STRUCK_OFF, "the revoked maker is told %r" % (answer,))
            check(thief.by_access_key(channel, mailbox) is None, "its old keys open the mailbox")
    check([row[2] for row in household.mailboxes()] == [row[2] for row in boxes],
          "the revoked maker changed something")
    children, opened = household.children(), 0
    with thief:
        for channel, mailbox in enumerate(children):
            # It has made some of them, and reads in handoffs who revoked it; it manages none.
            answer = thief.by_own_key(2 * channel, mailbox)
            check(code(answer) == wire.REFUSED, "the revoked maker manages a child: %r" % (answer,))
            answer = thief.by_access_key(2 * channel + 1, mailbox, thief.own)
            if answer and answer.kind == wire.OPENED:
                opened += 1
                for done in (thief.rotate(2 * channel + 1), thief.session.ask(
                        wire.RESET, wire.varint(2 * channel + 1))):
                    check(code(done) == wire.NOT_ALLOWED, "it changes a handoff: %r" % (done,))
    check(opened > 0, "no handoff opens to it of %d children" % len(children))
    # It reads for itself what became of it, by words that say so.
    done = household.run("ada", "sync")
    said = done.stdout + done.stderr
    check("removed" in said or "revoked" in said, "the revoked device hears: " + said)
    household.goes_on("tablet", "ben")
    household.says("cleo", ["sync"])
    print("H3: a revoked maker of the mailboxes -> struck off, its keys open nothing, others go on")


def an_only_manager(household):
    """H3, in the window: it was the only one that managed, and used that before anybody noticed."""
    household.found()
    household.join("ben", "Ben", "admin")
    household.goes_on("ada", "ben")
    household.says("cleo", ["init", "--person", "Cleo", "--device", "Cleo's phone"])
    link = household.says("ada", ["invite", "--role", "child", "--at-once"]).strip().splitlines()[-1]
    household.says("cleo", ["join", link], "joined Home")
    household.sync("ada", "cleo", "ben")
    thief = household.attacker("ada")
    boxes = household.mailboxes()
    with thief:
        # While it still may: everybody else off the list, everything gone, and another key.
        for channel, (mailbox, *_) in enumerate(boxes):
            check(thief.by_own_key(channel, mailbox).kind == wire.OPENED, "the maker is shut out")
            roster = wire.Fields(thief.session.ask(wire.ROSTER, wire.varint(channel)).body)
            for _ in range(roster.varint()):
                key, rank = roster.take(32), roster.take(1)[0]
                roster.varint(), roster.varint()
                if key != thief.own.public and rank in (wire.AUTHOR, wire.MANAGER):
                    done = thief.session.ask(
                        wire.SET_RANK, wire.varint(channel) + key + bytes([wire.STRUCK]))
                    check(done.kind == wire.DONE, "the manager cannot strike off: %r" % (done,))
            check(thief.remove(channel, thief.names(channel)) > 0, "nothing was there to remove")
            check(thief.rotate(channel).kind == wire.ROTATED, "the manager cannot change the key")
    done = household.run("ben", "sync")
    said = done.stdout + done.stderr
    check(done.returncode != 0, "a sync by which nothing could be exchanged ends with 0: " + said)
    check("transport repair" in said, "ben is not told what to do: " + said)
    household.says("cleo", ["transport", "repair", "1"], "owner or admin", status=4)
    household.says("ben", ["transport", "repair", "1"], "created again")
    household.goes_on("ben")
    # Whoever follows is told once, as it might be somebody's trap.
    done = household.run("cleo", "sync")
    said = done.stdout + done.stderr
    check(done.returncode == PARTIAL and "uses the new mailboxes with number 1" in said, "cleo is told: " + said)
    household.says("cleo", ["sync"])
    household.says("cleo", ["list"], "of ben")
    # Links that are sent from now on lead to where the household is.
    household.says("dora", ["init", "--person", "Dora", "--device", "Dora's phone"])
    link = household.says("ben", ["invite", "--role", "member", "--at-once"]).strip().splitlines()[-1]
    household.says("dora", ["join", link], "joined Home")
    household.goes_on("ben", "dora")
    print("H3: the only manager locks everybody out -> `transport repair` makes it anew, all follow")


def a_changed_key(household):
    """Who is on no list when the key is changed is told that, and not that it was removed."""
    household.found()
    household.says("cleo", ["init", "--person", "Cleo", "--device", "Cleo's phone"])
    link = household.says("ada", ["invite", "--role", "member", "--at-once"]).strip().splitlines()[-1]
    household.says("cleo", ["join", link], "joined Home")
    # Nobody but Ada's device manages, and it has not synced since: Cleo's is not listed yet.
    thief = household.attacker("ada")
    with thief:
        for channel, (mailbox, *_) in enumerate(household.mailboxes()):
            check(thief.by_own_key(channel, mailbox).kind == wire.OPENED, "the maker is shut out")
            check(thief.rotate(channel).kind == wire.ROTATED, "the manager cannot change the key")
    done = household.run("cleo", "sync")
    said = done.stdout + done.stderr
    check(done.returncode != 0 and "the access key was changed" in said
          and "ask an owner or admin of the household to sync" in said and "removed" not in said,
          "cleo is told: %d %s" % (done.returncode, said))
    household.says("cleo", ["doctor"], "the access key was changed", status=PARTIAL)
    # The remedy is one: Ada's device sets the key that members have, and lists Cleo's.
    household.sync("ada", "cleo")
    household.goes_on("ada", "cleo")
    print("H3: a device that is not listed yet finds a changed key -> told so, listed, goes on")


def a_child_at_the_handoffs(household):
    """H8: a child takes nothing of others away, lays no handoffs and changes no keys."""
    household.grow("member")
    household.goes_on("ada", "ben")
    child = household.attacker("cleo")
    with child:
        boxes = child.open_to_it(household)
        for number, mailbox in enumerate(boxes):
            channel = 8 * number
            check(child.by_access_key(channel, mailbox, child.own).kind == wire.OPENED, "shut out")
            names = child.names(channel)
            check(names and child.remove(channel, names) < len(names), "it removed what was others'")
            kept = child.names(channel)
            check(kept, "it emptied the mailbox")
            check(code(child.rotate(channel)) == wire.NOT_ALLOWED, "a child changes the key")
            listed = child.session.ask(
                wire.SET_RANK, wire.varint(channel) + child.own.public + bytes([wire.MANAGER]))
            check(code(listed) == wire.NOT_ALLOWED, "a child makes itself a manager")
            check(code(child.session.ask(wire.RESET, wire.varint(channel))) == wire.NOT_ALLOWED,
                  "a child lets the mailbox begin anew")
            for place in range(3):
                made = child.session.create(
                    channel + 1 + place, os.urandom(16), wire.KeyPair(), child.own,
                    parent=bytes([wire.HANDOFF]) + mailbox)
                # Where anybody may register it gets a mailbox of its own at most.
                check(code(made) == wire.NOT_ALLOWED, "a child lays a handoff: %r" % (made,))
    # Ben is away while the keys turn over, twice.
    household.says("ada", ["device", "revoke", "Ada's tablet", "--yes"])
    household.sync("ada")
    household.says("ada", ["member", "remove", "Cleo", "--yes"])
    household.sync("ada")
    household.goes_on("ben", "ada")
    print("H8: a child removes, lays rekey handoffs, changes keys -> refused; who was away comes in")


def an_admin_at_the_handoffs(household):
    """H8 by an admin: emptied rekey handoffs are laid again, and lead in who was away."""
    household.grow("admin")
    household.goes_on("ada", "ben")
    # An invitation knows the keys of before only, and is on no list.
    household.says("dora", ["init", "--person", "Dora", "--device", "Dora's phone"])
    link = household.says("ada", ["invite", "--role", "member", "--at-once"]).strip().splitlines()[-1]
    household.sync("ada")
    household.says("ada", ["device", "revoke", "Ada's tablet", "--yes"])
    household.sync("ada", "ben")
    admin, emptied = household.attacker("ben"), 0
    with admin:
        for channel, mailbox in enumerate(household.children()):
            answer = admin.by_access_key(channel, mailbox, admin.own)
            if answer and answer.kind == wire.OPENED:
                done = admin.session.ask(wire.RESET, wire.varint(channel))
                check(done.kind == wire.DONE, "an admin cannot empty a handoff: %r" % (done,))
                emptied += 1
    check(emptied > 0, "no handoff opens to the admin")
    household.says("ada", ["transport", "repair", "1"])
    household.says("dora", ["join", link], "joined Home")
    household.goes_on("ada", "ben", "dora")
    print("H8: an admin empties rekey handoffs -> laid again; who was away comes in")


def a_child_that_fills(household):
    """H11: a child fills its share, under its name and without; the others' work goes on."""
    household.grow("member")
    household.goes_on("ada", "ben")
    household.sync("cleo")
    child = household.attacker("cleo")
    with child:
        boxes = child.open_to_it(household)
        for channel, mailbox in enumerate(boxes):
            check(child.by_access_key(channel, mailbox, child.own).kind == wire.OPENED, "shut out")
            fault, taken = child.fill(channel)
            check(fault == wire.SHARE and taken <= SHARE, "%r after %d" % (fault, taken))
            check(taken > SHARE // 2, "refused after %d already" % taken)
    with child:
        # Every time with another name: all of those have one share together.
        for channel, mailbox in enumerate(boxes):
            total = 0
            for attempt in range(4):
                child.by_access_key(4 * channel + attempt, mailbox, wire.KeyPair())
                fault, taken = child.fill(4 * channel + attempt)
                total += taken
                check(fault == wire.SHARE, "a guest is refused with %r" % fault)
            check(total <= GUESTS, "guests stored %d" % total)
    # What the child wrote may hide something, so syncs say so; all that is the others' gets through.
    household.goes_on("ada", "ben", status=PARTIAL)
    full = household.used(boxes)
    done = household.run("ada", "sync")
    check("Cleo" in done.stdout + done.stderr, "Ada is not told who it is: " + done.stderr)
    # What Cleo does herself does not fit, and her node says so.
    household.says("cleo", ["done", "Work 1 of ada"])
    done = household.run("cleo", "sync")
    check(done.returncode == PARTIAL and "share" in done.stderr,
          "cleo's sync: %d %s" % (done.returncode, done.stderr))
    household.says("ada", ["transport", "repair", "1"], "Cleo", "nobody can use")
    after = household.used(boxes)
    check(all(new < old // 4 for new, old in zip(after, full)), "%r became %r" % (full, after))
    household.sync("cleo")
    household.goes_on("ada", "ben")
    print("H11: a child fills the mailbox -> its share, named, cleared; the others' work goes on")


def main():
    programs = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    backend, cluster = None, None
    if "--postgres" in sys.argv:
        postgres.must_be_there("relay members on PostgreSQL")
        cluster = postgres.Cluster()
    stories = [a_revoked_maker, an_only_manager, a_changed_key, a_child_at_the_handoffs,
               an_admin_at_the_handoffs,
               a_child_that_fills]
    for story in [story for story in stories if story.__name__ in programs[2:] or not programs[2:]]:
        if cluster:
            cluster.create(story.__name__)
            backend = cluster.url(story.__name__)
        household = Household(programs[0], programs[1], story.__name__[:12], backend)
        try:
            story(household)
            checked = household.relay.ask("verify")
            check(checked.returncode == 0, "verify: " + checked.stdout + checked.stderr)
        finally:
            household.close()
    if cluster:
        cluster.close()
    print("relay members: %s" % (
        "%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
