#!/usr/bin/env python3
"""A node that was copied, and whose copies both go on, in two places without a way between them.

    copies.py HEARTH [--show]

Each copy lets somebody in. When the two folders come together, everybody must be in on every node,
nothing that anybody wrote may be missing, and who has the copy must be told. What is left is one
device with two lives, which the household can go on with.
"""
import json
import os
import shutil
import sys

from nodes import Nodes, check, failures


class Places(Nodes):
    """Nodes at one of two folders."""

    def __init__(self, hearth, shows):
        super().__init__(hearth, shows, "hearth-copies-")
        for place in ("town", "lake"):
            os.mkdir(self.path(place))

    def json(self, home, *arguments):
        done = self.run(home, *arguments, "--json")
        name = "%s: hearth %s --json" % (home, " ".join(arguments))
        check(done.returncode == 0, "%s: exit %d: %s" % (name, done.returncode, done.stderr))
        return json.loads(done.stdout or "{}")

    def begin(self, home, person, device):
        self.says(home, ["init", "--person", person, "--device", device], "next:")

    def join(self, home, person, inviter):
        link = self.says(inviter, ["invite"], "hearth join").strip().splitlines()[-1]
        self.begin(home, person, "phone")
        self.says(home, ["join", link], "joined Home as member")

    def move(self, home, old, new):
        self.says(home, ["transport", "remove", self.path(old)])
        self.says(home, ["transport", "add", "folder", self.path(new)])

    def meet(self, *homes):
        """All files of each folder come into the other one, and everybody syncs."""
        for _ in range(3):
            for one, other in (("town", "lake"), ("lake", "town")):
                shutil.copytree(self.path(one), self.path(other), dirs_exist_ok=True)
            for home in homes:
                self.says(home, ["sync"])


def beginning(places):
    places.begin("ada", "Ada", "laptop")
    places.says("ada", ["household", "create", "Home", "--time-zone", "UTC"], "Home")
    places.says("ada", ["transport", "add", "folder", places.path("town")])
    places.join("ben", "Ben", "ada")
    places.join("cleo", "Cleo", "ada")
    places.says("ada", ["sync"])


def apart(places):
    """The laptop's disk is copied; one copy and Cleo go to the lake."""
    shutil.copytree(places.path("ada"), places.path("copy"))
    for home in ("copy", "cleo"):
        places.move(home, "town", "lake")
    shutil.copytree(places.path("town"), places.path("lake"), dirs_exist_ok=True)
    places.join("dan", "Dan", "ada")
    places.join("eve", "Eve", "copy")
    for home, title in (("ada", "Paint"), ("copy", "Sweep"), ("dan", "Dust"), ("eve", "Row")):
        places.says(home, ["add", title])
        places.says(home, ["sync"])
    for home, others in (("ben", ["Dan"]), ("cleo", ["Eve"])):
        places.says(home, ["sync"])
        check(people(places, home) == sorted(["Ada", "Ben", "Cleo"] + others),
              "%s sees %r before the places meet" % (home, people(places, home)))


def people(places, home):
    return sorted(item["name"] for item in places.json(home, "member", "list")["members"])


def together(places):
    """The original knows of the new life and goes on by itself: a used-up link needs new keys."""
    places.meet("ben", "cleo", "dan", "eve", "copy")
    for home in ("ben", "cleo"):
        said = places.says(home, ["log"], "Ada's laptop started a new incarnation")
        check("two places" not in said, "%s raises an alarm before the original goes on" % home)
    everybody = ("ada", "ben", "cleo", "dan", "eve", "copy")
    places.meet(*everybody)
    places.meet(*everybody)
    digits = places.json("ben", "compare")["digits"]
    for home in everybody:
        check(people(places, home) == ["Ada", "Ben", "Cleo", "Dan", "Eve"],
              "%s sees %r" % (home, people(places, home)))
        titles = sorted(chore["title"] for chore in places.json(home, "list")["chores"])
        check(titles == ["Dust", "Paint", "Row", "Sweep"], "%s has %r" % (home, titles))
        check(places.json(home, "compare")["digits"] == digits, "%s differs" % home)
        places.says(home, ["verify"])
    places.says("copy", ["log"], "this node's folder was copied or restored", "as incarnation 2")
    places.says("ben", ["audit"], "Dan joined with phone", "Eve joined with phone",
                "Ada's laptop started a new incarnation (its files were restored or copied)")
    places.says("ada", ["log"], "a copy of this device is in use elsewhere",
                "hearth device revoke")
    places.says("ada", ["status"], "a copy of this device is in use elsewhere")
    places.says("ada", ["doctor"], "copy: a copy of this device is in use elsewhere",
                "remedy: if that was not you", status=2)
    places.says("copy", ["doctor"], "all is well")


def afterwards(places):
    """Life goes on: who came by the one copy is removed by the other, and keys change."""
    places.says("copy", ["member", "remove", "Dan", "--yes"], "removed Dan")
    places.meet("copy", "ada", "ben", "cleo", "eve", "dan")
    places.says("ada", ["add", "After Dan"])
    places.meet("ada", "ben", "cleo", "eve", "copy", "dan")
    for home in ("ada", "ben", "cleo", "eve", "copy"):
        titles = [chore["title"] for chore in places.json(home, "list")["chores"]]
        check("After Dan" in titles, "%s lacks what came later: %r" % (home, titles))
        check(people(places, home) == ["Ada", "Ben", "Cleo", "Eve"],
              "%s sees %r afterwards" % (home, people(places, home)))
    places.says("dan", ["status"], "Dan", "removed")
    # The original has written after it knew of the new life: that proves two copies at work.
    for home in ("ben", "cleo"):
        places.says(home, ["status"], "Ada's laptop works in two places", "hearth device revoke")


def main():
    places = Places(sys.argv[1], "--show" in sys.argv)
    for story in (beginning, apart, together, afterwards):
        if places.shows:
            print("\n--- " + story.__name__)
        story(places)
    shutil.rmtree(places.root)
    print("copies: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
