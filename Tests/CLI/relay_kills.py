#!/usr/bin/env python3
"""Kills a relay under the load of ten nodes, again and again, and looks whether anything was lost.

    relay_kills.py HEARTH HEARTH_RELAY [--kills 100] [--seed N]

Five people with two devices each add and complete chores and sync, all at once. Between them and
the relay stands a recorder that notes which entries the relay acknowledged. The relay is killed
with SIGKILL at random moments, each time after it acknowledged something since its last start, and
started again. Then every chore whose command reported success must be on all ten nodes, every
acknowledged entry must be in the relay's log under the position that it was given, and plain
`hearth sync` must bring all nodes to the same state.
"""
import argparse
import json
import random
import re
import shutil
import sqlite3
import sys
import threading
import time

import passage
import wire
from acknowledged import Acknowledged, missing
from nodes import Nodes, Relay, check, failures

PARTIAL, OFFLINE = 2, 3
PEOPLE = ("Anna", "Ben", "Cleo", "Dora", "Emil")
MOST_ROUNDS = 4
# What none of the nodes may have to say: it would ask somebody for help.
HELP = ("report this", "contradicts itself", "use another relay", "damaged", "revoke")


class Worker(threading.Thread):
    """One node's person: adds, completes, syncs, and notes what was reported as done."""

    def __init__(self, family, home, seed):
        super().__init__()
        self.family = family
        self.home = home
        self.chance = random.Random(seed)
        self.added, self.completed, self.statuses = [], [], {}
        self.number = 0
        self.isEnding = False

    def run(self):
        while not self.isEnding:
            self.add()
            if self.chance.random() < 0.4:
                self.complete()
            self.sync()

    def add(self):
        self.number += 1
        title = "%s's chore %d" % (self.home, self.number)
        if self.command("add", title, "--points", "1") == 0:
            self.added.append(title)

    def complete(self):
        left = sorted(set(self.added) - set(self.completed))
        if left:
            title = self.chance.choice(left)
            if self.command("done", title) == 0:
                self.completed.append(title)

    def sync(self):
        self.command("sync")

    def command(self, *arguments):
        done = self.family.run(self.home, *arguments)
        key = arguments[0], done.returncode
        self.statuses[key] = self.statuses.get(key, 0) + 1
        said = done.stdout + done.stderr
        good = (0, OFFLINE, PARTIAL) if arguments[0] == "sync" else (0,)
        check(done.returncode in good, "%s: %s: exit %d: %s" % (
            self.home, " ".join(arguments), done.returncode, said))
        # Once a person has a second device the other one asks whose it is, as it must.
        asked = re.sub(r"you have a further device in .* ends it\n", "", said)
        for word in HELP:
            check(word not in asked, "%s says %r: %s" % (self.home, word, said))
        return done.returncode


class Family(Nodes):
    def __init__(self, hearth, relay):
        super().__init__(hearth, False, "hearth-relay-kills-")
        self.relay = Relay(relay, self.path("relay-data"), log=self.path("relay.log"))
        self.acknowledged = Acknowledged()
        self.between = passage.Between(
            wire.identity_files(self.relay.data, int(self.relay.port), self.path("identity")),
            int(self.relay.port), self.acknowledged.passage)
        self.homes = []

    def link(self, home, *arguments):
        return self.says(home, arguments, "hearth join").strip().splitlines()[-1]

    def gather(self):
        first = PEOPLE[0].lower() + "1"
        self.says(first, ["init", "--person", PEOPLE[0], "--device", "first"])
        self.says(first, ["household", "create", "Home", "--time-zone", "UTC"])
        self.says(first, ["transport", "add", "relay", self.between.address(self.relay.address)])
        link = self.link(first, "invite", "--uses", "10", "--at-once")
        for person in PEOPLE:
            home = person.lower() + "1"
            if home != first:
                self.says(home, ["init", "--person", person, "--device", "first"])
                self.says(home, ["join", link], "joined Home")
            other = person.lower() + "2"
            self.says(other, ["init", "--person", person, "--device", "second"])
            self.says(other, ["join", self.link(home, "device", "add")], "joined Home")
            self.homes += [home, other]

    def titles(self, home):
        """Of chores, and of those that were completed."""
        document = json.loads(self.says(home, ["export", "--json"]))
        return [{item[key] for item in document[place]}
                for place, key in (("chores", "title"), ("entries", "title"))]

    def digests(self, home):
        zones = json.loads(self.says(home, ["digest", "--json"]))["zones"]
        return sorted((zone["zone"], zone["digest"]) for zone in zones
                      if zone["database"] == "shared")


def load(family, kills, chance):
    """Kills and starts while everybody works; gives how long the relay's starts took."""
    workers = [Worker(family, home, chance.random()) for home in family.homes]
    for worker in workers:
        worker.start()
    starts = []
    try:
        for _ in range(kills):
            before, began = family.acknowledged.count, time.monotonic()
            while family.acknowledged.count == before and time.monotonic() < began + 10:
                time.sleep(0.002)
            check(family.acknowledged.count > before, "the relay acknowledged nothing for 10 s")
            time.sleep(chance.expovariate(1 / 0.06))
            family.relay.kill()
            began = time.monotonic()
            family.relay.start()
            starts.append(time.monotonic() - began)
    finally:
        for worker in workers:
            worker.isEnding = True
        for worker in workers:
            worker.join()
    return workers, starts


def settle(family):
    """Plain syncs until all have the same; gives the number of rounds."""
    for rounds in range(1, MOST_ROUNDS + 1):
        for home in family.homes:
            family.says(home, ["sync"])
        if len({str(family.digests(home)) for home in family.homes}) == 1:
            return rounds
    check(False, "the nodes differ after %d rounds" % MOST_ROUNDS)
    return MOST_ROUNDS


def relay_has_all(family):
    copy = family.path("export.sqlite")
    exported = family.relay.ask("export", copy)
    check(exported.returncode == 0, "export: " + exported.stderr)
    lost, anew = missing(copy, family.acknowledged)
    check(not lost, "%d acknowledged entries are not in the relay's log: %s" % (
        len(lost), lost[:3]))
    check(not anew, "mailboxes that began anew: %s" % anew)
    # Would it be noticed? One acknowledged entry goes.
    with sqlite3.connect(copy) as spoilt:
        mailbox, name, position = random.choice(list(family.acknowledged.entries))
        spoilt.execute(
            "DELETE FROM entries WHERE position = ? AND mailbox ="
            " (SELECT number FROM mailboxes WHERE name = ?)", (position, mailbox))
    spoilt.close()
    check(name.hex() in missing(copy, family.acknowledged)[0], "a lost entry is not noticed")
    family.relay.kill()
    verified = family.relay.ask("verify")
    check(verified.returncode == 0, "verify: " + verified.stdout + verified.stderr)


def nodes_have_all(family, workers):
    added = {title for worker in workers for title in worker.added}
    completed = {title for worker in workers for title in worker.completed}
    for home in family.homes:
        chores, entries = family.titles(home)
        lost = added - chores
        check(not lost, "%s lacks %d reported chores: %s" % (home, len(lost), sorted(lost)[:3]))
        undone = completed - entries
        check(not undone, "%s lacks %d completions: %s" % (home, len(undone), sorted(undone)[:3]))
        family.says(home, ["verify"])
    return len(added), len(completed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hearth")
    parser.add_argument("relay")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print("seed", options.seed)
    chance = random.Random(options.seed)
    family = Family(options.hearth, options.relay)
    family.gather()
    began = time.monotonic()
    workers, starts = load(family, options.kills, chance)
    loaded = time.monotonic() - began
    rounds = settle(family)
    added, completed = nodes_have_all(family, workers)
    relay_has_all(family)
    family.between.stop()
    check(not family.between.failures, "the recorder: %s" % family.between.failures[:3])
    statuses = {}
    for worker in workers:
        for key, count in worker.statuses.items():
            statuses[key] = statuses.get(key, 0) + count
    print("relay kills: %d in %.0f s; a start took %.0f ms at most; syncs that ended well: %d, "
          "without the relay: %d, in part: %d" % (
              options.kills, loaded, 1000 * max(starts), *(
                  statuses.get(("sync", status), 0) for status in (0, OFFLINE, PARTIAL))))
    print("relay kills: %d entries acknowledged, all in the relay's log; %d chores and %d "
          "completions reported, all on %d nodes after %d rounds of sync; %d connections" % (
              len(family.acknowledged.entries), added, completed, len(family.homes), rounds,
              family.between.connections))
    if failures:
        print("relay kills: %d faults; see %s" % (len(failures), family.root))
        sys.exit(1)
    shutil.rmtree(family.root)


main()
