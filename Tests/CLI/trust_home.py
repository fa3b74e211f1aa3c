"""A household for trust.py: a way that can be set back, wrong clocks, what replicas show."""
import contextlib
import json
import os
import shutil
import subprocess

import nodes
from nodes import check

MINUTE, HOUR, DAY = 60, 3600, 86400
CRASHED = 128

# Moves the wall clock of one program. A wait until a moment of that clock is moved back, so that it
# lasts as long as it was meant to; moments of the clock that counts from the start of the machine
# are small numbers, and stay.
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#define NEXT(name) static typeof(name) *next; if (!next) next = dlsym(RTLD_NEXT, #name)
static long moved(void) {
  const char *text = getenv("CLOCK_SECONDS");
  return text ? atol(text) : 0;
}
static struct timespec back(const struct timespec *moment) {
  struct timespec result = *moment;
  if (result.tv_sec > 1000000000L) result.tv_sec -= moved();
  return result;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
  NEXT(clock_gettime);
  int status = next(clock, now);
  if (!status && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += moved();
  return status;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  NEXT(gettimeofday);
  int status = next(now, zone);
  if (!status) now->tv_sec += moved();
  return status;
}
time_t time(time_t *place) {
  NEXT(time);
  time_t now = next(NULL) + moved();
  if (place) *place = now;
  return now;
}
int pthread_cond_timedwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
    const struct timespec *restrict until) {
  static typeof(pthread_cond_timedwait) *next;
  if (!next) next = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (!next) next = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  struct timespec moment = back(until);
  return next(condition, mutex, &moment);
}
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
  NEXT(sem_timedwait);
  struct timespec moment = back(until);
  return next(semaphore, &moment);
}
"""


class Stuck(Exception):
    """A step that a row builds upon did not work, so that nothing can be said of its promise."""


def build_clock(folder):
    """Compiles the library that moves clocks; Swift brings a compiler for it."""
    source, library = os.path.join(folder, "clock.c"), os.path.join(folder, "clock.so")
    compiler = next(filter(None, map(shutil.which, ("cc", "clang", "gcc"))), None)
    if compiler is None:
        raise Stuck("there is no C compiler to build the wrong clock with")
    with open(source, "w") as file:
        file.write(CLOCK)
    built = subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"],
        capture_output=True, text=True)
    if built.returncode:
        raise Stuck("the wrong clock cannot be built: " + built.stderr)
    return library


class Home(nodes.Family):
    """Nodes with one way in common.

    `clocks` says for a node by how many seconds its clock goes wrong. `said` is what the syncs of
    each node have said in `settle`.
    """

    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, relay, shows, "hearth-trust-")
        self.clocks = {}
        self.mover = None
        self.said = {}
        self.aside = 0

    # What people type

    def run(self, home, *arguments, piped=""):
        usual = self.environment
        seconds = self.clocks.get(home, 0)
        if seconds:
            self.mover = self.mover or build_clock(self.root)
            self.environment = dict(usual, LD_PRELOAD=self.mover, CLOCK_SECONDS=str(seconds))
        try:
            done = super().run(home, *arguments, piped=piped)
        finally:
            self.environment = usual
        name = "%s: hearth %s" % (home, " ".join(arguments))
        check(0 <= done.returncode < CRASHED, "%s: exit %d: %s" % (
            name, done.returncode, done.stderr.strip()))
        return done

    def must(self, home, *arguments):
        """Does something that an attack or its place is made of; gives what is on the screen."""
        done = self.run(home, *arguments)
        if done.returncode:
            raise Stuck("%s: hearth %s: exit %d: %s" % (
                home, " ".join(arguments), done.returncode, (done.stdout + done.stderr).strip()))
        return done.stdout

    def json(self, home, *arguments):
        """The document of a command; nothing if the command fails."""
        done = self.run(home, *arguments, "--json")
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {}

    def init(self, home, person, device):
        self.must(home, "init", "--person", person, "--device", device)

    def link(self, home, *arguments):
        lines = self.must(home, *arguments).strip().splitlines()
        if not lines or not lines[-1].startswith("hearth://join/"):
            raise Stuck("%s: hearth %s prints no link" % (home, " ".join(arguments)))
        return lines[-1]

    def found(self, home, person, device):
        self.init(home, person, device)
        self.must(home, "household", "create", "Home", "--time-zone", "UTC")
        self.must(home, "transport", "add", self.kind, self.place)
        self.must(home, "add", "Dishes", "--points", "3")
        self.must(home, "sync")

    def join(self, home, person, device, link):
        """Somebody comes in, as somebody whom the household wants."""
        self.init(home, person, device)
        said = self.must(home, "join", link)
        if "joined" not in said:
            raise Stuck("%s does not join: %s" % (home, said))

    def writes(self, home, title):
        """Somebody who belongs to the household adds a chore."""
        done = self.run(home, "add", title)
        check(done.returncode == 0, "%s cannot write: %s" % (home, done.stderr.strip()))

    def intrude(self, home, link):
        """Somebody tries to come in; gives what the program says."""
        done = self.run(home, "join", link)
        self.run(home, "sync")
        return (done.stdout + done.stderr).strip()

    def settle(self, *homes, rounds=3):
        """Everybody syncs until all know what one knows; some may be told that they are out."""
        for _ in range(rounds):
            for home in homes:
                done = self.run(home, "sync")
                self.said[home] = self.said.get(home, "") + done.stdout + done.stderr

    # What a node shows

    def status(self, home):
        return self.json(home, "status")

    def device_id(self, home):
        return self.status(home)["deviceId"]

    def person_id(self, home):
        return self.status(home)["personId"]

    def people(self, home):
        """Who belongs to the household as this node sees it, with the role, by name."""
        return sorted(
            (item["name"], item["role"]) for item in self.json(home, "member").get("members", []))

    def titles(self, home):
        return [chore["title"] for chore in self.json(home, "list", "--all").get("chores", [])]

    def ended(self, home):
        """How it ended for this node, if it did: `removed`, `revoked`, `left`, `recovered`."""
        households = self.status(home).get("households", [])
        ended = households[0].get("standing", {}).get("ended") if households else None
        return ended and ended.get("kind")

    def told(self, home):
        """The notices of this node, and what its syncs said."""
        notices = [item["text"] for item in self.status(home).get("notices", [])]
        return notices + self.said.get(home, "").splitlines()

    def invitation(self, home, **terms):
        """The newest invitation that has these terms."""
        found = [
            item for item in self.json(home, "invite", "list").get("invitations", [])
            if all(item.get(key) == value for key, value in terms.items())]
        if not found:
            raise Stuck("%s knows no invitation with %r" % (home, terms))
        return max(found, key=lambda item: item["made"])

    def entries(self, home, *options, **terms):
        """What the audit tells of these terms."""
        return [
            item for item in self.json(home, "audit", *options).get("entries", [])
            if all(item.get(key) == value for key, value in terms.items())]

    def arrived(self, home, kind, by):
        """What a node wrote for an attack has come to another one; else the row says nothing.

        Whoever was never in has no name there: it is found by the device.
        """
        check(self.entries(home, kind=kind, deviceId=self.device_id(by)),
              "%s has nothing of the attack: the audit lacks %s by %s" % (home, kind, by))

    # What is promised

    def belongs(self, homes, *people):
        """On each of the nodes exactly these people are in, and the node itself is."""
        for home in homes:
            seen = self.people(home)
            check(seen == sorted(people), "%s shows %s instead of %s" % (
                home, named(seen), named(sorted(people))))
            check(self.ended(home) is None, "%s is told that it is out (%s)" % (
                home, self.ended(home)))

    def agree(self, *homes):
        digits = {home: self.json(home, "compare").get("digits") for home in homes}
        check(None not in digits.values() and len(set(digits.values())) == 1,
              "nodes differ: %r" % digits)

    def have(self, homes, *titles):
        for home in homes:
            lacks = set(titles) - set(self.titles(home))
            check(not lacks, "%s lacks %s" % (home, ", ".join(sorted(lacks))))

    def cannot_read(self, homes, *titles):
        for home in homes:
            reads = set(titles) & set(self.titles(home))
            check(not reads, "%s reads %s" % (home, ", ".join(sorted(reads))))

    def is_out(self, *homes):
        """Each of the nodes is told that it was removed, or a relay lets it in no more."""
        for home in homes:
            refused = self.relay and "does not admit this device" in self.said.get(home, "")
            check(self.ended(home) == "removed" or refused, "%s is not told that it was removed" % (
                home))

    # The way

    def kept(self):
        return self.relay.data if self.relay else self.path("folder")

    def keep(self, name):
        """Copies what the folder or the relay holds now."""
        with self.standstill():
            shutil.copytree(self.kept(), self.path(name))

    def turn_back(self, name):
        """The way holds what it held when `keep` copied it, and what it held lies aside.

        Who is at it now sees nothing later: a copy of the folder, or a relay whose operator has
        put an old backup there.
        """
        with self.standstill():
            self.aside += 1
            os.rename(self.kept(), self.path("aside-%d" % self.aside))
            shutil.copytree(self.path(name), self.kept())

    def merge(self):
        """Both come together again.

        The folder gets the files that lay aside. A relay goes on with the backup and what has come
        since, and everybody's node gives it what it lacks.
        """
        if not self.relay:
            merge_files(self.path("aside-%d" % self.aside), self.path("folder"))

    def standstill(self):
        return Standstill(self.relay)

    @contextlib.contextmanager
    def out_of_reach(self):
        """Nobody can read the way meanwhile, or write there."""
        away = self.path("out-of-reach")
        with self.standstill():
            os.rename(self.kept(), away)
            try:
                yield
            finally:
                os.rename(away, self.kept())


class Standstill:
    """The relay, if there is one, does not run meanwhile."""

    def __init__(self, relay):
        self.relay = relay

    def __enter__(self):
        if self.relay:
            self.relay.kill()

    def __exit__(self, *_):
        if self.relay:
            self.relay.start()


def merge_files(source, target):
    """Brings every file of one folder into another; of two with one name the newer stays."""
    for place, _, names in os.walk(source):
        there = os.path.join(target, os.path.relpath(place, source))
        os.makedirs(there, exist_ok=True)
        for name in names:
            old, new = os.path.join(there, name), os.path.join(place, name)
            if not os.path.exists(old) or os.path.getmtime(old) < os.path.getmtime(new):
                shutil.copy2(new, old)


def named(people):
    return ", ".join("%s (%s)" % person for person in people) or "nobody"
