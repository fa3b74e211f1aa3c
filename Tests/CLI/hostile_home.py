"""A household for hostile.py: what commands cost, what victims must still be able to do."""
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time

import hostile_relay
from nodes import Nodes, Relay

PARTIAL = 2
MIB = 1 << 20

# What must hold of every victim, in figures.
MOST_TIMES_USUAL = 2
MOST_RSS_MIB = 200
# What a sync that brings nothing may take, whatever lies about: a person waits no longer for it.
MOST_AGAIN_SECONDS = 0.5
# A command that can be repeated runs until so much CPU time was measured. Ten and more runs vary by
# 3 to 14 ms each, their mean by less than 5 ms: nothing is added to what it may take.
MEASURED_SECONDS = 1.0
# A sync that takes files runs once. 25 runs of one command, on a machine that compiled meanwhile,
# lay at most 50 ms apart; a bomb that costs less than this is none.
SLACK_SECONDS = 0.05
# Each log has a directory of its own in a folder, and the honest files that victims are measured by
# have one: 4,000 more of them took a sync that brings nothing 21 microseconds each.
LOOK_SECONDS = 0.000025
# Other work on the machine at most doubles what a run takes: two processors may be one core.
MOST_NOISE = 2
# A command that takes more CPU time is ended, and has failed.
LIMIT_SECONDS = 20
# So that a bomb ends the program that reads it and not the machine.
LIMIT_MEMORY_BYTES = 8 << 30
# The honest bytes that victims are measured by, at the most; beyond them cost grows in proportion.
MOST_HONEST_FILES = 4_096
MOST_HONEST_BYTES = MIB
# What a sync that brings nothing, and what shows and checks what is here, can be repeated.
STEADY = {"idle": "sync", "list": "list", "status": "status", "verify": "verify"}
# What notices and findings are about that say of somebody what no honest program does. Others tell
# who came and went, whose clock is wrong, what is missing: of those who did nothing, too.
ACCUSING_NOTICES = {"fork", "falseClaim", "limit", "void", "difference"}
ACCUSING_FINDINGS = {"fork", "claim", "version", "limit", "entries", "settings", "snapshot"}
# What a file holds beside the edits of its chore, about, and what an edit adds to it; the most
# edits that one file can hold.
FILE_OVERHEAD_BYTES, EDIT_BYTES, MOST_EDITS = 700, 26, 4_000


class Stuck(Exception):
    """A step that a row builds upon did not work, so nothing can be said of its promise."""


class Cost:
    """What a command said and what it took."""

    def __init__(self, status, out, err, cpu, rss, seconds):
        self.status, self.out, self.err = status, out, err
        self.said = out + err
        self.cpu, self.rss, self.seconds = cpu, rss, seconds

    @property
    def is_ended(self):
        """Whether it had to be ended, or ended itself by a fault."""
        return self.status < 0 or self.status > 127

    def __str__(self):
        how = "ended by signal %d after " % -self.status if self.status < 0 else ""
        return "%s%.3f s CPU, %d MiB" % (how, self.cpu, self.rss)


class Household(Nodes):
    """Ann owns a household with Ben, a member; who else there is, each row says.

    `relay` are the options of a relay in the place of the folder; none where it is None.
    `faults` and `dear` collect what does not hold; `figures` what was measured.
    """

    def __init__(self, programs, shows, relay=None):
        super().__init__(programs.hearth, shows, "hearth-hostile-")
        self.hostile = os.path.abspath(programs.hostile)
        # `dear` are faults of time that other work on the machine can cause too.
        self.faults, self.dear, self.figures = [], [], []
        # What the dearest sync took that brought nothing.
        self.again = 0.0
        os.mkdir(self.path("folder"))
        self.relay = None if relay is None else Relay(
            programs.relay, self.path("relay-data"), options=("--health", "off", *relay))
        self.place = self.relay.address if self.relay else self.path("folder")
        self.do("ann", "init", "--person", "Ann", "--device", "laptop")
        self.do("ann", "household", "create", "Home", "--time-zone", "UTC")
        self.do("ann", "transport", "add", "relay" if self.relay else "folder", self.place)
        self.join("ben", "Ben")
        self.do("ann", "add", "Dishes", "--points", "3")
        self.do("ann", "add", "Plants", "--points", "5", "--every", "week")
        self.sync("ann", "ben")

    def close(self):
        if self.relay:
            self.relay.kill()
        shutil.rmtree(self.root)

    # Steps that a row builds upon.

    def do(self, home, *arguments, allowed=(0,)):
        """A command that has to work, whatever else."""
        done = self.run(home, *arguments)
        if done.returncode not in allowed:
            raise Stuck("%s: hearth %s: exit %d: %s" % (
                home, " ".join(arguments), done.returncode, (done.stdout + done.stderr).strip()))
        return done.stdout

    def sync(self, *homes):
        for home in homes:
            self.do(home, "sync", allowed=(0, PARTIAL))

    def join(self, home, person, role="member", inviter="ann", device=None):
        arguments = ["invite", "--role", role, *(["--at-once"] if role == "admin" else [])]
        link = self.do(inviter, *arguments).strip().splitlines()[-1]
        self.do(home, "init", "--person", person, "--device", device or "phone-" + home)
        # Others' files that it cannot use are told of, and let it in all the same.
        self.do(home, "join", link, allowed=(0, PARTIAL))
        self.sync(home, inviter)

    def add_device(self, home, person, of):
        link = self.do(of, "device", "add").strip().splitlines()[-1]
        self.do(home, "init", "--person", person, "--device", "device-" + home)
        self.do(home, "join", link)
        self.sync(home, of)

    def everybody_knows(self, *homes):
        for _ in range(2):
            self.sync(*homes)

    def forge(self, home, *arguments):
        """Runs the hostile program; gives the files and bytes that it says it wrote."""
        command = [self.hostile, arguments[0], "--home", self.path(home), *arguments[1:]]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=600, env=self.environment)
        if self.shows:
            print("$ hearth-hostile %s (%s)\n  %s" % (
                " ".join(arguments), home, (done.stdout + done.stderr).strip()))
        if done.returncode:
            raise Stuck("hearth-hostile %s: %s" % (" ".join(arguments), done.stderr.strip()))
        self.told = done.stdout
        line = next(one for one in done.stdout.splitlines() if one.startswith("{"))
        return json.loads(line)

    def prepare(self, *deeds):
        """Lets deeds be done into a folder of their own; gives it, its files and bytes."""
        stash = tempfile.mkdtemp(prefix="stash-", dir=self.root)
        written = [self.forge(deed[0], *deed[1:], "--folder", stash) for deed in deeds]
        return stash, sum(one["files"] for one in written), sum(one["bytes"] for one in written)

    def release(self, stash, folder="folder", by=None):
        """Brings prepared files into a folder, or to the relay under the keys of a home."""
        if not self.relay:
            shutil.copytree(stash, self.path(folder), dirs_exist_ok=True)
            return
        files, taken, codes = self.store(by, stash)
        self.figures.append("the relay takes %d of %d files from %s" % (taken, files, by))
        if taken != files or codes:
            raise Stuck("the relay takes %d of %d files from %s, and refuses with codes %s" % (
                taken, files, by, sorted(codes)))

    def store(self, by, stash):
        try:
            return hostile_relay.store(self, by, stash)
        except hostile_relay.wire.WireError as error:
            raise Stuck("%s at the relay: %s" % (by, error))

    def shut_out(self, homes, stash):
        """The relay takes nothing from those who do not belong to the household."""
        for home in homes:
            files, taken, codes = self.store(home, stash)
            self.figures.append("the relay takes %d of %d files from %s, refuses with codes %s" % (
                taken, files, home, sorted(codes)))
            self.holds(files and not taken and codes, "the relay takes %d files from %s" % (
                taken, home))

    # What commands cost.

    def cost(self, home, *arguments):
        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_SECONDS, LIMIT_SECONDS + 2))
            resource.setrlimit(resource.RLIMIT_AS, (LIMIT_MEMORY_BYTES, LIMIT_MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        # A fault of a Swift program would else be explained for a minute.
        environment = dict(self.environment, SWIFT_BACKTRACE="enable=no")
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            began = time.monotonic()
            process = subprocess.Popen(
                self.command(home, *arguments), stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                env=environment, preexec_fn=limits)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            cost = Cost(
                process.returncode, out.read().decode("utf-8", "replace"),
                err.read().decode("utf-8", "replace"), usage.ru_utime + usage.ru_stime,
                usage.ru_maxrss // 1024, time.monotonic() - began)
        if self.shows:
            print("$ hearth --home %s %s  (%s, exit %d)\n  %s" % (
                home, " ".join(arguments), cost, cost.status,
                cost.said.strip()[:2000].replace("\n", "\n  ")))
        return cost

    def steady(self, home, *arguments):
        """What a command takes on average that can be repeated; what it says the first time."""
        costs = [self.cost(home, *arguments)]
        while sum(one.cpu for one in costs) < MEASURED_SECONDS and not costs[-1].is_ended:
            costs.append(self.cost(home, *arguments))
        first = costs[0]
        return Cost(
            costs[-1].status, first.out, first.err, sum(one.cpu for one in costs) / len(costs),
            max(one.rss for one in costs), sum(one.seconds for one in costs))

    def usual(self, homes, honest, files, byte_count):
        """What as many honest bytes cost each home: the sync that takes them, a sync that takes
        nothing (`idle`), and what shows and checks them afterwards."""
        count = max(1, min(files, MOST_HONEST_FILES))
        wanted = min(byte_count, MOST_HONEST_BYTES)
        edits = max(0, min(MOST_EDITS, (wanted // count - FILE_OVERHEAD_BYTES) // EDIT_BYTES))
        stash, _, taken = self.prepare(
            (honest, "honest", "--number", str(count), "--edits", str(edits)))
        more, times = max(1.0, files / count), max(1.0, byte_count / max(1, taken))
        # Where fewer came than honest ones can be made here, only what they add is multiplied.
        without = {home: {name: self.steady(home, command).cpu for name, command in STEADY.items()}
                   for home in homes} if max(more, times) > 1 else {}
        self.release(stash, by=honest)
        found = {}
        for home in homes:
            sync = self.cost(home, "sync")
            if sync.status not in (0, PARTIAL):
                raise Stuck("honest files do not work: " + sync.said)
            costs = {name: self.steady(home, command) for name, command in STEADY.items()}
            if costs["list"].status or "Honest 0" not in costs["list"].out:
                raise Stuck("honest files are not taken: " + sync.said + costs["list"].said)
            costs["sync"] = sync
            before = without.get(home, {})
            found[home] = {
                name: stretched(
                    before.get("idle" if name == "sync" else name, cost.cpu), cost.cpu,
                    times if name in ("sync", "verify") else more)
                for name, cost in costs.items()}
        return found

    def within(self, what, cost, usual, slack=0.0):
        """The command must end as it should, and have taken no more than it may."""
        most = MOST_TIMES_USUAL * usual + slack
        self.figures.append("%s %s of at most %.3f s" % (what, cost, most))
        if cost.is_ended:
            return self.fault("%s: %s" % (what, cost))
        self.cheap(cost, most, "%s took %.3f s CPU, usual are %.3f s" % (what, cost.cpu, usual))
        if cost.rss > MOST_RSS_MIB:
            self.fault("%s took %d MiB" % (what, cost.rss))
        return True

    def takes_little_again(self, home, usual, slack=0.0):
        """What waits or was refused may not cost again, each time and for ever."""
        again = self.steady(home, "sync")
        self.again = max(self.again, again.cpu)
        self.cheap(again, MOST_AGAIN_SECONDS,
                   "%s: a sync that brings nothing took %.3f s CPU" % (home, again.cpu))
        return self.within(home + " sync again", again, usual, slack)

    def cheap(self, cost, most, words):
        """The CPU time must be within a limit; whether a slow machine is to blame is noted."""
        if cost.cpu > most:
            (self.dear if cost.cpu <= MOST_NOISE * most else self.faults).append(words)

    def fault(self, words):
        self.faults.append(words)
        return False

    def holds(self, is_so, words):
        return bool(is_so) or self.fault(words)

    # What victims must still be able to do.

    def tries(self, home, *arguments, allowed=(0,)):
        """A victim's command, which must succeed."""
        done = self.cost(home, *arguments)
        self.holds(
            done.status in allowed, "%s: hearth %s: exit %d: %s" % (
                home, " ".join(arguments), done.status, done.said.strip()[:300]))
        return done.out

    def works(self, homes):
        """Everybody adds, does and exchanges; what one writes all get."""
        for home in homes:
            self.tries(home, "add", "After of " + home, "--points", "1")
            self.tries(home, "sync", allowed=(0, PARTIAL))
        for home in homes:
            self.tries(home, "sync", allowed=(0, PARTIAL))
            shown = self.tries(home, "list")
            for other in homes:
                self.holds("After of " + other in shown,
                           "%s lacks what %s added" % (home, other))
        last = homes[-1]
        self.tries(last, "done", "After of " + homes[0])
        self.tries(last, "sync", allowed=(0, PARTIAL))
        self.tries(homes[0], "sync", allowed=(0, PARTIAL))
        self.holds("After of " + homes[0] in self.tries(homes[0], "export", "--csv"),
                   "what %s did does not reach %s" % (last, homes[0]))

    def digest(self, home):
        try:
            zones = json.loads(self.cost(home, "digest", "--json").out)["zones"]
        except (ValueError, KeyError):
            return None
        return sorted(zone["digest"] for zone in zones
                      if zone["database"] == "shared" and zone["kind"] == "data")

    def equal(self, homes):
        for home in homes:
            self.tries(home, "sync", allowed=(0, PARTIAL))
        digests = [self.digest(home) for home in homes]
        self.holds(digests[0] and all(one == digests[0] for one in digests),
                   "the replicas of %s differ" % ", ".join(homes))

    def welcomes(self, homes, name="nia"):
        """A newcomer gets in, writes, and is read."""
        try:
            self.join(name, name.capitalize(), inviter=homes[0])
            self.do(name, "add", "From " + name)
            self.sync(name)
        except (Stuck, subprocess.TimeoutExpired) as stuck:
            return self.fault("a newcomer cannot join and write: %s" % str(stuck)[:300])
        for home in homes:
            self.tries(home, "sync", allowed=(0, PARTIAL))
            self.holds("From " + name in self.tries(home, "list"),
                       "%s does not read what a newcomer wrote" % home)
        return self.equal([*homes, name])

    def accusations(self, home):
        """What a person who looks is told of others that no honest program does: the device where
        it is named apart, and the words, numbers left out."""
        found = set()
        for command in (("log", "--limit", "100000"), ("status",), ("doctor",)):
            done = self.cost(home, *command, "--json")
            try:
                told = json.loads(done.out)
            except ValueError:
                self.fault("%s: %s --json: %s" % (home, command[0], done.said.strip()[:300]))
                continue
            said = [one for one in told.get("notices", []) if one["kind"] in ACCUSING_NOTICES]
            said += [one for one in told.get("findings", []) if one["topic"] in ACCUSING_FINDINGS]
            found.update((one.get("device"), numberless(one["text"])) for one in said)
        return found

    def tells(self, home):
        """All that a person who looks is told, accused or not, with the numbers left out."""
        found = set()
        for command in (("log", "--limit", "100000"), ("status",), ("doctor",)):
            told = json.loads(self.cost(home, *command, "--json").out)
            said = told.get("notices", []) + told.get("findings", [])
            found.update(numberless(one["text"]) for one in said)
        return found

    def device_id(self, home):
        return json.loads(self.do(home, "status", "--json"))["deviceId"]

    def names(self, home, before, *culprits):
        """Somebody who looks is told of the culprit: in a notice or finding that was not there."""
        new = self.accusations(home) - before
        self.figures += ["%s is told: %s" % (home, text) for _, text in sorted(new, key=str)]
        return self.holds(
            any(is_named(culprit, text) for _, text in new for culprit in culprits),
            "no notice and no finding of %s names %s" % (home, culprits[0]))

    def spares(self, home, before, honest, *names):
        """Nobody is told that somebody honest did harm."""
        device = self.device_id(honest)
        for accused, text in self.accusations(home) - before:
            self.holds(
                accused != device and not any(is_named(name, text) for name in names),
                "%s is told of %s, who did nothing: %s" % (home, honest, text))


def numberless(text):
    return re.sub(r"\d+", "#", re.sub(r"\b[0-9a-f]{8,}\b", "#", text))


def is_named(name, text):
    """Whether a text without numbers holds a name, and not as a part of another one."""
    return re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(numberless(name)), text) is not None


def stretched(before, after, times):
    """What a command takes where as much as came between is there so many times."""
    return before + max(0.0, after - before) * times
