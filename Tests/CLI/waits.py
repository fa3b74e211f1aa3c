#!/usr/bin/env python3
"""Local work goes on while a sync waits: for relays that accept and then say nothing.

    waits.py HEARTH HEARTH_RELAY [--show]

Anna has a folder and two relays, Ben the folder alone, Cleo the first relay alone. Both relays are
stopped, so that they take connections and never answer. No time is measured: what must not wait for a sync has to be over
before that sync is.
"""
import json
import os
import shutil
import signal
import subprocess
import sys

from nodes import Nodes, Relay, check, failures

OFFLINE = 3


class Waits(Nodes):
    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, shows, "hearth-waits-")
        os.mkdir(self.path("folder"))
        self.relays = [Relay(relay, self.path("relay-%d" % number)) for number in (1, 2)]

    def begin(self, home, *arguments):
        """Starts a command without waiting for it."""
        return subprocess.Popen(
            self.command(home, *arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=self.environment)

    def titles(self, home):
        listed = json.loads(self.says(home, ["list", "--all", "--json"]))
        return {chore["title"] for chore in listed["chores"]}

    def signal_relays(self, number):
        for relay in self.relays:
            relay.process.send_signal(number)

    def waiting(self, process, words):
        check(process.poll() is None, "%s: the sync was over before: nothing is shown" % words)

    def close(self):
        for relay in self.relays:
            relay.process.send_signal(signal.SIGCONT)
            relay.kill()
        shutil.rmtree(self.root)


def beginning(waits):
    waits.says("anna", ["init", "--person", "Anna", "--device", "laptop"])
    waits.says("anna", ["household", "create", "Home", "--time-zone", "UTC"])
    waits.says("anna", ["transport", "add", "folder", waits.path("folder")])
    for home, person in (("ben", "Ben"), ("cleo", "Cleo")):
        link = waits.says("anna", ["invite"], "hearth join").strip().splitlines()[-1].split()[-1]
        waits.says(home, ["init", "--person", person, "--device", "phone"])
        waits.says(home, ["join", "-"], piped=link + "\n")
        waits.says("anna", ["sync"])
    for relay in waits.relays:
        waits.says("anna", ["transport", "add", "relay", relay.address])
    for home in ("anna", "ben", "cleo", "anna"):
        waits.says(home, ["sync"])
    waits.says("cleo", ["transport", "add", "relay", waits.relays[0].address])
    waits.says("cleo", ["transport", "remove", "1"])
    waits.says("cleo", ["sync"])


def commands_pass_a_sync(waits):
    """What a person does is done while the sync of the same node hangs."""
    waits.says("anna", ["add", "Before"])
    waits.signal_relays(signal.SIGSTOP)
    sync = waits.begin("anna", "sync")
    for number in range(3):
        waits.says("anna", ["add", "Meanwhile %d" % number])
    waits.says("anna", ["done", "Meanwhile 1"])
    waits.says("anna", ["today"], "Meanwhile 2")
    waits.waiting(sync, "commands")
    # The folder is given to all the same.
    while sync.poll() is None and "Before" not in waits.titles("ben"):
        waits.says("ben", ["sync"])
    waits.waiting(sync, "the folder")
    said, _ = sync.communicate(timeout=120)
    check(sync.returncode == OFFLINE, "the sync ends with %d: %s" % (sync.returncode, said))
    for relay in waits.relays:
        check(relay.address.split("/")[2] in said, "the sync does not name %s: %s" % (
            relay.address, said))
    waits.says("anna", ["sync"], status=OFFLINE)
    waits.says("ben", ["sync"])
    check({"Before", "Meanwhile 0", "Meanwhile 1", "Meanwhile 2"} <= waits.titles("ben"),
          "Ben has %r" % waits.titles("ben"))


def syncs_pass_a_watch(waits):
    """A watch that hangs keeps no command and no other sync of its node from anything."""
    watch = waits.begin("anna", "sync", "--watch")
    for number in range(3):
        waits.says("anna", ["add", "Watched %d" % number])
        waits.says("anna", ["list"], "Watched %d" % number)
    waits.says("anna", ["sync"], status=OFFLINE)
    waits.says("ben", ["sync"])
    check("Watched 2" in waits.titles("ben"), "Ben lacks what was written beside a watch")
    waits.waiting(watch, "the watch")
    watch.send_signal(signal.SIGINT)
    watch.communicate(timeout=120)


def news_pass_through(waits):
    """What one transport brings goes out over the others in the same sync."""
    waits.signal_relays(signal.SIGCONT)
    waits.says("cleo", ["add", "Over the relay"])
    waits.says("cleo", ["sync"])
    waits.says("anna", ["sync"])
    waits.says("ben", ["sync"])
    check("Over the relay" in waits.titles("ben"), "Ben has %r" % waits.titles("ben"))
    waits.says("ben", ["add", "Over the folder"])
    waits.says("ben", ["sync"])
    waits.says("anna", ["sync"])
    waits.says("cleo", ["sync"])
    check(waits.titles("cleo") == waits.titles("ben"), "Cleo has %r, Ben %r" % (
        waits.titles("cleo"), waits.titles("ben")))


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--show"]
    waits = Waits(*arguments, "--show" in sys.argv)
    try:
        for story in (beginning, commands_pass_a_sync, syncs_pass_a_watch, news_pass_through):
            if waits.shows:
                print("\n--- " + story.__name__.replace("_", " "))
            story(waits)
    finally:
        waits.close()
    print("waits: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
