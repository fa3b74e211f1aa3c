#!/usr/bin/env python3
"""Two relays on a PostgreSQL cluster whose primary is lost while four nodes write.

    relay_failover.py HEARTH HEARTH_RELAY [--show]

A synchronous standby takes over: nothing that a relay acknowledged may be missing, and nobody has
to help. An asynchronous one takes over without the last commits: the nodes notice and store them
again. Without its standby a synchronous primary acknowledges nothing. Recorders between nodes and
relays note what was acknowledged, and it is looked for in the standby before anybody writes there.
"""
import http.client
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import passage
import postgres
import wire
from acknowledged import Acknowledged, lost, missing
from failover_waiting import Waiting
from nodes import Nodes, Relay, check, failures
from postgres import Cluster, wait_until

PARTIAL, OFFLINE = 2, 3
PEOPLE = {"ada": 0, "ben": 0, "cleo": 1, "dora": 1}
MOST_ROUNDS = 4
ROUNDS_BEFORE, ROUNDS_AFTER = 12, 6
# A relay finds a dead connection only when it uses it, and is away until it has another.
MOST_AWAY_AGAIN_SECONDS = 2
# What a node says of a log that goes on where it was: none of these.
# The last of them where others have stored so much again that the log is longer than before.
LOST_WORDS = ("rolled back", "not the one that it showed", "lost its data", "restarted its log",
              "contradicts what it reported")
HELP = ("report this", "contradicts itself", "use another relay", "damaged", *LOST_WORDS)
# What no standby has to hold is refused.
WEAK = ("off", "local", "remote_write")


class Health(threading.Thread):
    """What `/healthz` of a relay answers, and when that changed."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.changes = []
        self.isEnding = False

    def run(self):
        while not self.isEnding:
            status = self.ask()
            if not self.changes or self.changes[-1][1] != status:
                self.changes.append((time.monotonic(), status))
            time.sleep(0.03)

    def ask(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status
        except OSError as error:
            return repr(error)
        finally:
            connection.close()

    @property
    def status(self):
        return self.changes[-1][1] if self.changes else None


class Worker(threading.Thread):
    """One node's person: adds and syncs, and notes what a sync acknowledged, and when."""

    def __init__(self, family, home):
        super().__init__(daemon=True)
        self.family = family
        self.home = home
        self.added = []
        # Of each sync that ended with 0 after something was added: began, ended, how many chores.
        self.acknowledged = []
        self.statuses = {}
        self.longest = 0
        self.isEnding = False

    def run(self):
        try:
            while not self.isEnding:
                self.round()
        except BaseException as error:
            check(False, "%s: %r" % (self.home, error))

    def round(self):
        title = "%s's chore %d" % (self.home, len(self.added) + 1)
        done = self.family.run(self.home, "add", title)
        check(done.returncode == 0, "%s: add: %s" % (self.home, done.stderr))
        self.added.append(title)
        began = time.monotonic()
        done = self.family.run(self.home, "sync")
        self.longest = max(self.longest, time.monotonic() - began)
        said = done.stdout + done.stderr
        self.statuses[done.returncode] = self.statuses.get(done.returncode, 0) + 1
        check(done.returncode in (0, OFFLINE, PARTIAL), "%s: sync: exit %d: %s" % (
            self.home, done.returncode, said))
        for word in HELP:
            check(word not in said, "%s says %r: %s" % (self.home, word, said))
        if done.returncode == 0:
            self.acknowledged.append((began, time.monotonic(), len(self.added)))

    def titles(self):
        """Every chore whose sync was acknowledged."""
        return set(self.added[:self.acknowledged[-1][2]] if self.acknowledged else [])

    def since(self, moment):
        """The syncs that began after a moment and were acknowledged."""
        return [one for one in self.acknowledged if one[0] > moment]


class Family(Nodes):
    """Two people at each of two relays, which have one identity and the same two databases."""

    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, shows, "hearth-failover-")
        self.primary = Cluster("wal_keep_size = '256MB'")
        self.primary.create()
        self.standby = Cluster(source=self.primary)
        self.primary.set("synchronous_standby_names", postgres.STANDBY)
        streams(self.primary, "sync")
        self.url = self.primary.url("relay", self.standby)
        self.acknowledged = Acknowledged()
        self.health, self.relays, self.between = [], [], []
        for number in range(2):
            self.begin(relay, number)
        self.homes = list(PEOPLE)
        self.gather()

    def begin(self, program, number):
        data = self.path("relay-data-%d" % number)
        if number:
            os.mkdir(data, 0o700)
            shutil.copy(os.path.join(self.relays[0].data, "identity.key"), data)
        port = postgres.free_port()
        relay = Relay(program, data, log=self.path("relay-%d.log" % number),
                      options=("--health", str(port)), backend=self.url)
        self.relays.append(relay)
        paths = wire.identity_files(data, int(relay.port), self.path("identity-%d" % number))
        self.between.append(passage.Between(paths, int(relay.port), self.acknowledged.passage))
        self.health.append(Health(port))
        self.health[-1].start()

    def address(self, number):
        return self.between[number].address(self.relays[number].address)

    def gather(self):
        for home, number in PEOPLE.items():
            self.says(home, ["init", "--person", home.capitalize(), "--device", "laptop"])
            if home == "ada":
                self.says(home, ["household", "create", "Home", "--time-zone", "UTC"])
                self.says(home, ["transport", "add", "relay", self.address(0)])
                link = self.link(home, "--uses", "10", "--role", "admin", "--at-once")
            else:
                self.says(home, ["join", link], "joined Home")
                self.move(home, number)

    def move(self, home, number):
        """The link led to the first relay; this home goes to the other one, and to it alone."""
        if number:
            self.says(home, ["transport", "add", "relay", self.address(number)])
            self.says(home, ["transport", "remove", "1"])

    def link(self, home, *options):
        said = self.says(home, ["invite", *options], "hearth://join")
        return said.strip().splitlines()[-1]

    def titles(self, home):
        return {chore["title"] for chore in
                json.loads(self.says(home, ["export", "--json"]))["chores"]}

    def digests(self, home):
        zones = json.loads(self.says(home, ["digest", "--json"]))["zones"]
        return sorted((zone["zone"], zone["digest"]) for zone in zones
                      if zone["database"] == "shared")

    def is_healthy(self, status=200):
        return all(one.status == status for one in self.health)

    def close(self):
        for one in self.health:
            one.isEnding = True
        for one in self.between:
            one.stop()
            check(not one.failures, "the recorder: %s" % one.failures[:3])
        for relay in self.relays:
            relay.kill()
        for cluster in (self.primary, self.standby):
            cluster.close()


def streams(primary, state):
    wait_until(lambda: primary.psql(
        "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '%s'"
        % state, "postgres"), "a standby that is " + state)


def entries_in(cluster):
    """The log in a cluster, also in a standby that nobody may write to."""
    return [(bytes.fromhex(mailbox), bytes.fromhex(name), int(position), bytes.fromhex(digest),
             isLive == "t") for mailbox, name, position, digest, isLive in cluster.rows(
                 "SELECT encode(m.name, 'hex'), encode(e.name, 'hex'), e.position,"
                 " encode(e.digest, 'hex'), e.blob IS NOT NULL FROM hearth_relay.entries e"
                 " JOIN hearth_relay.mailboxes m ON m.number = e.mailbox")]


def replayed(standby):
    """Waits until a standby shows all that it was given."""
    wait_until(lambda: standby.psql(
        "SELECT pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn()") == "t", "replayed")


def settle(family, homes):
    """Plain syncs until all have the same."""
    for _ in range(MOST_ROUNDS):
        for home in homes:
            family.says(home, ["sync"])
        if len({str(family.digests(home)) for home in homes}) == 1:
            return
    check(False, "the nodes differ after %d rounds" % MOST_ROUNDS)


def newcomer_sees(family, home, number, titles):
    """Somebody who has met nobody joins by a relay alone and has every chore of these."""
    host = next(one for one, place in PEOPLE.items() if place == number)
    link = family.link(host)
    family.says(home, ["init", "--person", home.capitalize(), "--device", "new"])
    family.says(home, ["join", link], "joined Home")
    absent = titles - family.titles(home)
    check(not absent, "%s lacks %d chores: %s" % (home, len(absent), sorted(absent)[:3]))
    family.homes.append(home)


def relay_is_sound(family):
    for relay in family.relays:
        verified = relay.ask("verify")
        check(verified.returncode == 0, "verify: " + verified.stdout + verified.stderr)


def standby_has_all(family, entries):
    """What was acknowledged until now is in the standby, to which nobody can have written."""
    replayed(family.standby)
    rows = entries_in(family.standby)
    gone = lost(rows, entries)
    check(not gone, "the standby lacks %d of %d acknowledged entries: %s" % (
        len(gone), len(entries), gone[:3]))
    # Would it be noticed? One of those that lie there goes.
    mailbox, name, position = next(iter(entries))
    less = [row for row in rows if row[:3] != (mailbox, name, position)]
    check(name.hex() in lost(less, entries), "a lost entry is not noticed")
    return len(gone)


def log_goes_on(family):
    """Every acknowledged entry has its position, and no mailbox began anew."""
    copy = family.path("export.sqlite")
    exported = family.relays[0].ask("export", copy)
    check(exported.returncode == 0, "export: " + exported.stderr)
    gone, anew = missing(copy, family.acknowledged)
    check(not gone, "%d acknowledged entries are not in the log: %s" % (len(gone), gone[:3]))
    check(not anew, "mailboxes that began anew: %s" % anew)


def health_was(family, killed, promoted):
    """Well until the kill, away until the promotion, then well."""
    for one in family.health:
        statuses = [status for _, status in one.changes]
        moments = [moment for moment, _ in one.changes]
        check(statuses[:3] == [200, 503, 200] and statuses[-1] == 200
              and set(statuses) == {200, 503}, "/healthz answered %r" % statuses)
        check(moments[1] > killed and moments[2] > promoted,
              "/healthz changed at another time: %r" % one.changes)
        for place in range(3, len(statuses) - 1, 2):
            check(moments[place + 1] - moments[place] < MOST_AWAY_AGAIN_SECONDS,
                  "/healthz answered 503 long after the promotion: %r" % one.changes)


def failover(family):
    """The primary is lost under load, its synchronous standby takes over: nothing is missing."""
    workers = [Worker(family, home) for home in PEOPLE]
    for worker in workers:
        worker.start()
    try:
        wait_until(lambda: all(len(one.acknowledged) >= ROUNDS_BEFORE for one in workers),
                   "everybody syncs")
        killed = time.monotonic()
        family.primary.kill()
        wait_until(lambda: family.is_healthy(503), "/healthz answers 503")
        entries = dict(family.acknowledged.entries)
        gone = standby_has_all(family, entries)
        wait_until(lambda: all(one.statuses.get(OFFLINE) for one in workers),
                   "everybody is told that nothing was stored")
        promoted = time.monotonic()
        family.standby.promote()
        wait_until(lambda: all(len(one.since(promoted)) >= ROUNDS_AFTER for one in workers),
                   "everybody syncs again")
    finally:
        for worker in workers:
            worker.isEnding = True
        for worker in workers:
            worker.join()
    early = [one for worker in workers for one in worker.since(killed) if one[1] < promoted]
    check(not early, "%d syncs were acknowledged without a database" % len(early))
    wait_until(family.is_healthy, "/healthz answers 200")
    health_was(family, killed, promoted)
    titles = {title for worker in workers for title in worker.titles()}
    newcomer_sees(family, "emil", 0, titles)
    settle(family, family.homes)
    for home in family.homes:
        absent = titles - family.titles(home)
        check(not absent, "%s lacks acknowledged chores: %s" % (home, sorted(absent)[:3]))
        family.says(home, ["verify"])
    log_goes_on(family)
    relay_is_sound(family)
    report(family, workers, killed, promoted, len(entries), gone)


def report(family, workers, killed, promoted, before, gone):
    first = min((one[1] for worker in workers for one in worker.since(killed)),
                default=float("nan"))
    statuses = {}
    for worker in workers:
        for status, count in worker.statuses.items():
            statuses[status] = statuses.get(status, 0) + count
    noticed = max(one.changes[1][0] for one in family.health if len(one.changes) > 1) - killed
    print("relay failover: kill of the primary to 503 at both relays %.2f s, to the promotion "
          "%.2f s, to the first acknowledged sync %.2f s (%.2f s after the promotion began)" % (
              noticed, promoted - killed, first - killed, first - promoted))
    print("relay failover: %d entries acknowledged before and %d in all, lost %d; syncs that ended "
          "well: %d, without the relay: %d, in part: %d; the longest took %.1f s" % (
              before, len(family.acknowledged.entries), gone,
              *(statuses.get(status, 0) for status in (0, OFFLINE, PARTIAL)),
              max(worker.longest for worker in workers)))


def losing(family):
    """A standby takes over that lacks the last commits: nodes notice and store them again."""
    # The old primary comes back as a copy of the new one, asynchronous and at its old port.
    old, family.primary = family.primary, family.standby
    old.close()
    family.standby = Cluster(source=family.primary, port=old.port)
    streams(family.primary, "async")
    settle(family, family.homes)
    end = family.primary.psql("SELECT pg_current_wal_flush_lsn()")
    wait_until(lambda: family.standby.psql(
        "SELECT pg_last_wal_replay_lsn() >= '%s'" % end) == "t", "the standby has all")
    family.standby.stop()
    before = set(family.acknowledged.entries)
    last = set()
    for home in family.homes:
        last.add("%s's last chore" % home)
        family.says(home, ["add", "%s's last chore" % home])
        family.says(home, ["sync"], "published")
    # Now each knows a later place of the log than the standby has, and has one chore for itself.
    since = {key: digest for key, digest in family.acknowledged.entries.items()
             if key not in before}
    family.primary.kill()
    wait_until(lambda: family.is_healthy(503), "/healthz answers 503")
    family.standby.start()
    replayed(family.standby)
    gone = len(lost(entries_in(family.standby), since))
    check(gone == len(since) >= len(family.homes), "%d of %d entries are lost, so this proves "
          "nothing" % (gone, len(since)))
    family.standby.promote()
    wait_until(family.is_healthy, "/healthz answers 200")
    noticing(family)
    newcomer_sees(family, "fay", 1, last)
    settle(family, family.homes)
    for home in family.homes:
        check(last <= family.titles(home), "%s lacks what was stored again" % home)
        family.says(home, ["verify"])
    relay_is_sound(family)
    print("relay failover: asynchronous standby: %d acknowledged entries lost, all stored again"
          % gone)


def noticing(family):
    """Each node's next sync says that the log is another, and its notices keep it."""
    for home in family.homes:
        done = family.run(home, "sync")
        said = done.stdout + done.stderr
        check(done.returncode == 0, "%s: sync: exit %d: %s" % (home, done.returncode, said))
        check(any(word in said for word in LOST_WORDS), "%s does not notice: %s" % (home, said))
        check("nothing needs to be done" in said, "%s asks for help: %s" % (home, said))
        for command in ("status", "log"):
            kept = family.says(home, [command])
            check(any(word in kept for word in LOST_WORDS), "%s: %s does not tell: %s" % (
                home, command, kept))


def serve(family):
    """Starts one more relay, which should not serve; gives its exit code and what it says."""
    data = family.path("relay-data-refused")
    shutil.copytree(family.relays[0].data, data, dirs_exist_ok=True)
    try:
        done = subprocess.run(
            [family.relays[0].program, "serve", "--listen", "127.0.0.1:0", "--health", "off",
             "--data", data, "--backend", family.url], capture_output=True, text=True, timeout=30)
    except subprocess.TimeoutExpired as served:
        return 0, repr(served.stdout)
    return done.returncode, done.stderr


def refusing(family):
    """Where a commit may be acknowledged that no standby has, a relay does not serve."""
    database = family.standby
    for value in WEAK:
        database.set("synchronous_commit", value)
        status, said = serve(family)
        check(status != 0 and "synchronous_commit = %s" % value in said
              and "may lose what it acknowledged" in said,
              "%s: exit %d: %s" % (value, status, said))
    # Those that serve already look again at each connection.
    database.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                  " WHERE application_name = 'hearth-relay'")
    wait_until(lambda: family.is_healthy(503), "/healthz answers 503")
    family.says("ada", ["add", "Not kept by one disk alone"])
    done = family.run("ada", "sync")
    check(done.returncode == OFFLINE, "a relay stores what may be lost: exit %d: %s" % (
        done.returncode, done.stdout + done.stderr))
    database.set("synchronous_commit", "on")
    wait_until(family.is_healthy, "/healthz answers 200")
    family.says("ada", ["sync"], "published")


def play(family):
    try:
        for story in (failover, losing, refusing):
            if family.shows:
                print("\n--- " + story.__name__)
            story(family)
    finally:
        family.close()


def main():
    postgres.must_be_there("relay failover")
    programs = [argument for argument in sys.argv[1:] if argument != "--show"]
    shows = "--show" in sys.argv
    began = time.monotonic()
    waiting = Waiting(*programs, shows)
    waiting.start()
    family = Family(*programs, shows)
    play(family)
    waiting.join()
    if failures:
        print("relay failover: %d faults; see %s and %s" % (
            len(failures), family.root, waiting.nodes.root))
        sys.exit(1)
    shutil.rmtree(family.root)
    shutil.rmtree(waiting.nodes.root)
    print("relay failover: as it should be, after %.0f s" % (time.monotonic() - began))


main()
