#!/usr/bin/env python3
"""Files of the shared folder that a disk or a program has spoilt where they lie.

    decay.py HEARTH [--show]

Everybody who has everything goes by names, so only somebody new reads those files. They must be told
what is wrong and who can mend it; a device that has the content must see it, put it right when told
to, and in time without being told.
"""
import json
import os
import shutil
import sys

from nodes import Nodes, check, failures

FAILED, PARTIAL = 1, 2
SPOILS = {
    "one bit": lambda data: data[:100] + bytes([data[100] ^ 4]) + data[101:],
    "cut short": lambda data: data[:-40],
    "all zero": lambda data: bytes(len(data)),
    "empty": lambda data: b"",
    "too much": lambda data: data + b"and more",
}


class Shelf(Nodes):
    """Nodes at one folder, and the files in it."""

    def __init__(self, hearth, shows):
        super().__init__(hearth, shows, "hearth-decay-")
        os.mkdir(self.path("folder"))

    def files(self):
        found = {}
        for place, _, names in os.walk(self.path("folder")):
            for name in names:
                if name.endswith(".seg"):
                    path = os.path.join(place, name)
                    with open(path, "rb") as file:
                        found[path] = file.read()
        return found

    def spoil(self, files, way):
        for path, data in files.items():
            with open(path, "wb") as file:
                file.write(SPOILS[way](data))


def beginning(shelf):
    shelf.says("ada", ["init", "--person", "Ada", "--device", "laptop"], "next:")
    shelf.says("ada", ["household", "create", "Home", "--time-zone", "UTC"], "Home")
    shelf.says("ada", ["transport", "add", "folder", shelf.path("folder")])
    for number in range(3):
        shelf.says("ada", ["add", "Chore %d" % number], "added")
        shelf.says("ada", ["sync"])
    shelf.says("ada", ["doctor"], "all is well")


def a_newcomer_is_told(shelf):
    link = shelf.says("ada", ["invite"], "hearth join").strip().splitlines()[-1]
    whole = shelf.files()
    check(len(whole) >= 5, "%d files are too few" % len(whole))
    shelf.says("ben", ["init", "--person", "Ben", "--device", "phone"], "next:")
    for way in SPOILS:
        shelf.spoil(whole, way)
        shelf.says("ben", ["join", link], "cannot be used", "hearth sync --check", "Ada",
                   status=FAILED)
        shelf.says("ada", ["doctor"], "%d files in" % len(whole), "hearth sync --check",
                   status=PARTIAL)
        check(shelf.files() != whole, "looking put the files right that are %s" % way)
        shelf.says("ada", ["sync", "--check"], "put %d damaged files right" % len(whole))
        check(shelf.files() == whole, "files that were %s are not as they were" % way)
    shelf.says("ada", ["doctor"], "all is well")
    shelf.says("ben", ["join", link], "joined Home as member")
    chores = json.loads(shelf.says("ben", ["list", "--json"]))["chores"]
    check(len(chores) == 3, "Ben sees %d chores" % len(chores))


def without_being_told(shelf):
    """Each sync reads a few; in time all are right again, by whoever has them."""
    shelf.says("ada", ["sync"])
    whole = shelf.files()
    shelf.spoil(whole, "one bit")
    rounds = 0
    while shelf.files() != whole and rounds < 200:
        shelf.says("ben", ["sync"])
        rounds += 1
    check(shelf.files() == whole, "after %d rounds not all files are right" % rounds)
    done = json.loads(shelf.says("ben", ["sync", "--check", "--json"]))
    check(done["transports"][0]["restored"] == 0, "%r" % done)


def what_nobody_has(shelf):
    """A file whose content is nowhere is told of, and harms nothing."""
    place = next(iter(shelf.files()))
    name = os.path.basename(place)[:-36] + "0" * 32 + ".seg"
    with open(os.path.join(os.path.dirname(place), name), "wb") as file:
        file.write(b"rubbish")
    told = shelf.run("ben", "sync", "--check")
    check(told.returncode in (0, PARTIAL), "exit %d" % told.returncode)
    check(name in told.stderr and "damaged" in told.stderr, told.stderr)
    check(os.path.exists(os.path.join(os.path.dirname(place), name)), "it was taken away")
    both = shelf.run("ben", "sync", "--check", "--watch")
    check(both.returncode == 64 and "leave --watch out" in both.stderr, both.stderr)


def main():
    shelf = Shelf(sys.argv[1], "--show" in sys.argv)
    for story in (beginning, a_newcomer_is_told, without_being_told, what_nobody_has):
        if shelf.shows:
            print("\n--- " + story.__name__.replace("_", " "))
        story(shelf)
    shutil.rmtree(shelf.root)
    print("decay: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
