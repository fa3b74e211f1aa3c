#!/usr/bin/env python3
"""Newcomers who read from their joining on, through the command line.

    newcomers.py HEARTH [HEARTH_RELAY] [--show]

Anna's household exists for a while when she sets the rule. Everything is played over a folder, and
once more over a relay if its program is given.
"""
import json
import os
import re
import shutil

import nodes
from nodes import FAILED, NOT_ALLOWED, USAGE, check, play_over_each_way

PARTIAL = 2
OFFLINE = 3


class Family(nodes.Family):
    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, relay, shows, "hearth-newcomers-")

    def json(self, home, *arguments):
        return json.loads(self.says(home, [*arguments, "--json"]))

    def household(self, home):
        return self.json(home, "status")["households"][0]

    def digest(self, home):
        """The digests of the household's zones of records."""
        return sorted(
            zone["digest"] for zone in self.json(home, "digest")["zones"]
            if zone["database"] == "shared" and zone["kind"] == "data")

    def agree(self, *homes):
        digests = [self.digest(home) for home in homes]
        check(digests[0] and all(one == digests[0] for one in digests),
              "%s differ" % ", ".join(homes))

    def texts(self, home):
        """The chores that a node shows."""
        return self.says(home, ["list", "--all"])


def beginning(family):
    family.init("anna", "Anna", "laptop")
    family.says("anna", ["household", "create", "Home", "--time-zone", "UTC"])
    family.says("anna", ["transport", "add", family.kind, family.place], "transport 1")
    link = family.link("anna", "invite", "--role", "admin", "--at-once")
    family.init("ben", "Ben", "phone")
    family.says("ben", ["join", link], "joined Home as admin")
    link = family.link("anna", "invite")
    family.init("cara", "Cara", "pad")
    family.says("cara", ["join", link], "joined Home as member")
    for home, chore in (("anna", "dishes"), ("ben", "bins"), ("anna", "secret plan")):
        family.says(home, ["add", chore])
        family.sync(home)
    family.sync("cara", "ben", "anna")
    family.agree("anna", "ben", "cara")


def everything(family):
    """The rule of every household at first: no snapshot is made for anybody."""
    family.says("anna", ["household", "newcomers"], "newcomers read everything")
    said = family.json("anna", "household", "newcomers")
    check(said["newcomers"] == "everything" and "was" not in said, "shown: %r" % said)
    check(family.household("anna")["newcomers"] == "everything", "status tells another rule")
    family.says("anna", ["household", "newcomers", "nothing"], "not a rule", status=USAGE)
    family.says("anna", ["household", "newcomers", "everything"], "as before")


def from_joining(family):
    family.old = family.link("anna", "invite")
    said = family.json("anna", "household", "newcomers", "from-joining")
    check(said["was"] == "everything" and said["newcomers"] == "from-joining", "set: %r" % said)
    check(len(said["closedInvitations"]) == 1, "the open link was not closed: %r" % said)
    family.sync("ben")
    for home in ("anna", "ben"):
        family.says(home, ["status"], "newcomers read the present state and later changes")
    family.says("ben", ["audit"], "let newcomers read only later changes")
    family.init("late", "Mallory", "phone")
    # What the link led to is gone from folder and relay.
    family.says("late", ["join", family.old], "was closed", status=FAILED)


def at_once(family):
    """Nina comes while everybody else is offline, and sees how things stand."""
    family.says("anna", ["done", "dishes"])
    link = family.link("anna", "invite", "--role", "member")
    family.init("nina", "Nina", "tablet")
    family.says("nina", ["join", link], "joined Home as member")
    for word in ("dishes", "bins", "secret plan"):
        check(word in family.texts("nina"), "Nina lacks %s" % word)
    family.sync("anna")
    family.agree("anna", "nina")
    standing = family.household("nina")
    check(not standing["waiting"] and not standing["standing"]["awaitsSnapshot"],
          "Nina waits: %r" % standing)
    family.says("nina", ["add", "plants"])
    family.sync("nina", "anna", "ben", "nina")
    family.agree("anna", "ben", "nina")
    family.says("nina", ["household", "newcomers", "everything"],
                "Nina is a member and may not set what newcomers may read: ask Anna or Ben",
                status=NOT_ALLOWED)
    family.says("nina", ["verify"])


def by_approval(family):
    link = family.link("anna", "invite", "--approve", "--role", "child")
    family.init("otto", "Otto", "watch")
    asked = family.says("otto", ["join", link], "asked Home")
    number = re.search(r"number: ([\d ]+)", asked).group(1).strip()
    family.says("ben", ["approve", "Otto", "--number", number], "Otto is a child of Home now")
    family.says("otto", ["sync"], "joined Home as child: Ben approved")
    check("plants" in family.texts("otto"), "Otto lacks the plants")
    family.says("otto", ["done", "bins"])
    family.sync("otto", "anna", "ben", "nina", "otto")
    family.agree("anna", "ben", "nina", "otto")


def further_device(family):
    link = family.link("nina", "device", "add")
    family.init("phone", "Nina", "Nina's phone")
    family.says("phone", ["join", link], "joined Home as member")
    family.sync("nina")
    family.agree("nina", "phone")
    family.says("phone", ["add", "windows"])
    family.sync("phone", "nina", "anna", "ben")
    family.agree("anna", "nina", "phone")


def late(family):
    """Cara's last work lies sealed on a stick before she hears of the next newcomer."""
    stick = family.path("stick")
    os.mkdir(stick)
    family.says("cara", ["transport", "add", "folder", stick])
    family.sync("cara")
    hidden = family.path("hidden")
    if family.relay:
        family.relay.kill()
    else:
        os.rename(family.path("folder"), hidden)
    family.says("cara", ["add", "attic"])
    family.says("cara", ["sync"], status=OFFLINE)
    if family.relay:
        family.relay.start()
    else:
        os.rename(hidden, family.path("folder"))
    link = family.link("anna", "invite")
    family.init("pia", "Pia", "pad")
    family.says("pia", ["join", link], "joined Home as member")
    family.says("pia", ["add", "letters"])
    family.sync("cara")
    family.says("cara", ["add", "cellar"])
    family.sync("cara")
    # Pia has everything else, and is told what is missing.
    family.says("pia", ["sync"], "this device lacks changes that newcomers cannot open",
                "waiting for a snapshot from Anna, or one that a second person attests")
    family.says("pia", ["status"], "waiting for a snapshot from Anna")
    check(family.household("pia")["standing"].get("awaitedFrom") == ["Anna"],
          "Pia is not told whom she waits for")
    check(family.household("pia")["standing"]["awaitsSnapshot"], "Pia does not wait")
    check("attic" not in family.texts("pia"), "Pia opened what is closed")
    # What is closed is not kept back by anybody.
    family.says("pia", ["doctor"], "newcomers cannot open", status=PARTIAL)
    kept = family.household("pia")["standing"]["withheld"]
    check(not kept, "Pia is told of what is kept back: %r" % kept)
    family.sync("anna", "pia")
    for word in ("attic", "letters", "cellar", "plants"):
        check(word in family.texts("pia"), "Pia lacks %s" % word)
    check(not family.household("pia")["standing"]["awaitsSnapshot"], "Pia waits on")
    family.sync("cara", "anna", "pia", "nina")
    family.agree("anna", "cara", "pia", "nina")
    family.says("pia", ["verify"])


def removed(family):
    family.says("anna", ["member", "remove", "Otto", "--yes"])
    link = family.link("anna", "invite")
    family.init("rosa", "Rosa", "pad")
    family.says("rosa", ["join", link], "joined Home as member")
    check(not family.household("rosa")["waiting"], "Rosa waits")
    family.sync("anna", "nina", "rosa")
    family.agree("anna", "nina", "rosa")


def recovered(family):
    """The only device of the owner is lost, and the words bring everything back."""
    words = family.words("anna")
    family.says("anna", ["add", "taxes"])
    family.sync("anna")
    shutil.rmtree(family.path("anna"))
    family.says(
        "new", ["recover", "--transport", family.place, "--device", "new laptop",
                "--revoke-others"], "Anna is back", piped=words)
    check("taxes" in family.texts("new"), "the taxes did not come back")
    family.sync("nina", "new")
    check(family.digest("new") == family.digest("nina"), "the recovered device differs")
    family.says("new", ["add", "garden"])
    family.sync("new", "nina", "rosa")
    family.agree("new", "nina", "rosa")


def set_back(family):
    """From then on newcomers read everything that is written, and nothing that was closed."""
    family.says("new", ["household", "newcomers", "everything"], "newcomers read everything now",
                "still cannot read")
    family.says("new", ["add", "roof"])
    link = family.link("new", "invite")
    family.init("tom", "Tom", "pad")
    family.says("tom", ["join", link], "joined Home as member")
    check("roof" in family.texts("tom") and "dishes" in family.texts("tom"), "Tom lacks chores")
    family.sync("nina", "new", "tom")
    family.agree("new", "nina", "tom")


play_over_each_way(
    "newcomers", Family,
    (beginning, everything, from_joining, at_once, by_approval, further_device, late, removed,
     recovered, set_back))
