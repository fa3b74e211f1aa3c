#!/usr/bin/env python3
"""Who does chores: readers, people who have gone, people of one name; and what is taken back.

    who.py HEARTH [HEARTH-RELAY] [--show]

Also what `doctor` finds where a device is out, copied, or lacked by a folder. Over a folder, and
once more over a relay if its program is given.
"""
import json
import os
import shutil

import nodes
from nodes import FAILED, check, play_over_each_way

PARTIAL = 2


class Family(nodes.Family):
    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, relay, shows, "hearth-who-")

    def json(self, home, *arguments, status=0):
        done = self.run(home, *arguments, "--json")
        name = "%s: hearth %s --json" % (home, " ".join(arguments))
        check(done.returncode == status, "%s: exit %d: %s" % (name, done.returncode, done.stderr))
        return json.loads(done.stdout or "{}")

    def join(self, home, person, device, *options):
        self.init(home, person, device)
        return self.says(home, ["join", self.link("ada", "invite", *options)], "joined Home")

    def refused(self, home, arguments, *words, status=FAILED):
        """Refused with these words, and without a suggestion that leads astray."""
        done = self.run(home, *arguments)
        name = "%s: hearth %s" % (home, " ".join(arguments))
        check(done.returncode == status, "%s: exit %d: %s" % (name, done.returncode, done.stderr))
        for word in words:
            check(word in done.stderr, "%s does not say %r: %s" % (name, word, done.stderr.strip()))
        check("did you mean" not in done.stderr, "%s: %s" % (name, done.stderr.strip()))

    def remark(self, home, arguments, *words):
        """The command does it, and says the words as a remark."""
        done = self.run(home, *arguments)
        name = "%s: hearth %s" % (home, " ".join(arguments))
        check(done.returncode == 0, "%s: exit %d: %s" % (name, done.returncode, done.stderr))
        for word in words:
            check(word in done.stderr, "%s does not say %r: %s" % (name, word, done.stderr.strip()))


def beginning(family):
    family.init("ada", "Ada", "laptop")
    family.says("ada", ["household", "create", "Home", "--time-zone", "UTC"], "Home")
    family.says("ada", ["transport", "add", family.kind, family.place])
    family.says("ada", ["add", "Dishes", "--points", "3", "--every", "day"])
    family.says("ada", ["add", "Plants", "--points", "2", "--every", "mon"])
    family.join("dan", "Dan", "phone")
    family.join("ray", "Ray", "tablet", "--role", "reader")
    family.sync("ada")


READER = "Ray is a reader of Home and does no chores"


def reader(family):
    for arguments in (["assign", "Dishes", "Ray"], ["add", "Dust", "--assign", "Ray"],
                      ["edit", "Dishes", "--rotate", "Ada,Ray"], ["done", "Dishes", "--by", "ray"],
                      ["points", "Ray"], ["badges", "Ray"]):
        family.refused("ada", arguments, READER, "hearth member role Ray child")
    family.says("ada", ["member", "role", "Ray", "child"], "Ray is a child now")
    family.refused("ada", ["assign", "Dishes", "Ray"], "no device of Ray has confirmed")
    family.sync("ray", "ada")
    family.remark("ada", ["assign", "Dishes", "Ray"], 'assigned "Dishes" to Ray')
    family.says("ada", ["points", "Ray"], "Ray: 0 points")
    family.says("ada", ["leaderboard", "--all"], "Ray")
    family.remark("ray", ["done", "Dishes"], "done: Dishes")
    family.sync("ray", "ada")
    family.says("ada", ["history"], "Ray")
    said = family.says("ray", ["sync"])
    check("published" not in said, "Ray is introduced once more: " + said)


def taken_back(family):
    family.remark("ada", ["done", "Dishes", "--early"], "done: Dishes")
    due = family.json("ada", "list")["chores"]
    due = next(chore["next"]["due"] for chore in due if chore["title"] == "Plants")
    family.remark("ada", ["skip", "Plants", "--reason", "rain"],
                  "skipped: Plants on Mon %s (undo with `hearth undo`)" % due)
    family.remark("ada", ["undo"], "undone: skip of Plants on Mon %s" % due)
    now = family.json("ada", "list")["chores"]
    check(next(chore["next"]["due"] for chore in now if chore["title"] == "Plants") == due,
          "the skip was not taken back")
    skipped = family.json("ada", "skip", "Plants")
    check(skipped["day"] == due, "skip: %r" % skipped)
    undone = family.json("ada", "undo")
    check((undone["undid"], undone["day"]) == ("skipped", due), "undo: %r" % undone)
    # What was skipped by somebody else is not yours to take back.
    family.remark("dan", ["skip", "Plants"], "skipped: Plants")
    family.sync("dan", "ada")
    family.remark("ada", ["undo"], "undone: Dishes")
    family.remark("dan", ["undo"], "undone: skip of Plants")
    family.sync("dan", "ada")
    # Counted from completion: the day is the one on which it is due again.
    family.says("ada", ["add", "Filter", "--every", "3d", "--after-completion", "--due", "today"])
    family.remark("ada", ["skip", "Filter"], "skipped: Filter on ")
    family.remark("ada", ["undo"], "undone: skip of Filter on ")
    family.refused("ada", ["undo"], "there is nothing of yours to undo")


def removed(family):
    family.says("ada", ["add", "Bins", "--assign", "Dan"])
    family.says("ada", ["edit", "Plants", "--rotate", "Ada,Dan"])
    left = family.says("ada", ["status"])
    check(family.place in left, left)
    family.remark(
        "ada", ["member", "remove", "Dan"], "2 chores are still Dan's: \"Bins\", \"Plants\"",
        "hearth assign CHORE PERSON --always", "hearth edit CHORE --rotate NAME,NAME")
    for arguments in (["add", "Dust", "--assign", "Dan"], ["done", "Dishes", "--by", "Dan"],
                      ["edit", "Dishes", "--rotate", "Ada,Dan"], ["assign", "Dishes", "dan"]):
        family.refused("ada", arguments, "Dan does not belong to Home any more")
    family.says("ada", ["points", "Dan"], "Dan: 0 points")
    family.says("ada", ["assign", "Bins", "Ada", "--always"])
    # Somebody who is there goes before somebody who has gone.
    family.join("dana", "Dana", "phone")
    family.sync("ada")
    family.remark("ada", ["assign", "Bins", "Da", "--always"], "to Dana")
    family.refused("ada", ["member", "role", "Dan", "child"], "does not belong to this household")
    # What Dan writes before hearing of it is told as what it is, also where ways are listed.
    family.says("dan", ["add", "Too late"])
    done = family.run("dan", "sync")
    check("you were removed from Home by Ada" in done.stderr, "dan: " + done.stderr)
    said = family.says("dan", ["status"], "you were removed from Home by Ada")
    if "never synced" in said:
        check("lacks 1 change of Home, but this device is removed" in said
              and "has all segments" not in said, "Dan's status contradicts itself: " + said)
    family.says("dan", ["doctor"], "membership: you were removed", "ask an owner or admin",
                status=PARTIAL)


def one_name(family):
    for home in ("eve", "eva"):
        family.init(home, "Eve", "phone")
    family.says("eve", ["join", family.link("ada", "invite")], "joined Home")
    family.sync("ada")
    family.says("eva", ["join", family.link("ada", "invite", "--approve")], "asked Home")
    family.says("ada", ["approve", "Eve", "--yes"], "Eve is a member", "Home has another Eve (")
    family.sync("eva", "ada")
    ids = {home: family.json(home, "status")["personId"] for home in ("eve", "eva")}
    for arguments in (["member", "remove", "Eve"], ["assign", "Bins", "Eve"], ["points", "Eve"]):
        family.refused("ada", arguments, "fits 2 people", ids["eve"][:8] + "  Eve",
                       ids["eva"][:8] + "  Eve", "the id in its place")
    family.says("ada", ["member"], "Eve (%s)" % ids["eve"][:8], "Eve (%s)" % ids["eva"][:8])
    family.remark("ada", ["assign", "Bins", ids["eva"][:6]], 'assigned "Bins" to Eve')
    family.remark("ada", ["add", "Rug", "--assign", ids["eve"][:4]], "added")
    chores = family.json("ada", "list")["chores"]
    check(len([chore for chore in chores if chore["title"] == "Rug"]) == 1, "no Rug")
    family.says("ada", ["member", "remove", ids["eva"][:8]], "removed Eve")
    left = [item["id"] for item in family.json("ada", "member")["members"]]
    check(ids["eve"] in left and ids["eva"] not in left, "the wrong Eve went: %r" % left)
    # The next one of this name is told by the household itself.
    link = family.link("ada", "invite")
    family.init("evi", "eve", "phone")
    family.remark("evi", ["join", link], "hearth: warning: Home has another Eve (")


def gone(family):
    family.remark("eve", ["member", "leave"], "1 chore is still yours: \"Rug\"")
    family.says("eve", ["doctor"], "membership: you have left Home", status=PARTIAL)


def each_other(family):
    """Two devices of one person end each other: the words are the way back."""
    family.join("kim", "Kim", "one")
    family.says("kim", ["doctor"], "all is well")
    # Eve's leaving made new keys at the relay while Kim's invitation was under way: Kim came in by
    # a door, and can let in others when an admin's device has synced (decision 0062).
    family.sync("ada", "kim")
    link = family.link("kim", "device", "add")
    family.init("kim2", "Kim", "two")
    family.says("kim2", ["join", link], "joined Home")
    family.sync("kim", "kim2", "ada", "kim")
    ids = {home: family.json(home, "status")["deviceId"][:8] for home in ("kim", "kim2")}
    if family.relay:
        return
    # Apart from each other: each at a copy of the folder.
    for home in ("kim", "kim2"):
        shutil.copytree(family.path("folder"), family.path(home + "-folder"))
        family.says(home, ["transport", "remove", "1"])
        family.says(home, ["transport", "add", "folder", family.path(home + "-folder")])
    family.says("kim", ["device", "revoke", ids["kim2"]], "revoked")
    family.says("kim2", ["device", "revoke", ids["kim"]], "revoked")
    for _ in range(2):
        for one, other in (("kim", "kim2"), ("kim2", "kim")):
            shutil.copytree(family.path(one + "-folder"), family.path(other + "-folder"),
                            dirs_exist_ok=True)
        for home in ("kim", "kim2"):
            family.run(home, "sync")
    for home in ("kim", "kim2"):
        done = family.run(home, "doctor")
        check("this device was revoked in Home by Kim" in done.stdout
              and "recover with your words (`hearth recover`, into an empty --home), or ask an "
              "owner or admin for an invitation" in done.stdout,
              "%s: doctor: %s" % (home, done.stdout))


def stolen_words(family):
    """Somebody else uses the words and ends all devices: nothing can be ended from them."""
    family.join("lee", "Lee", "phone")
    words = family.words("lee")
    family.sync("lee", "ada")
    family.says("thief", ["recover", "--transport", family.place, "--revoke-others"],
                "Lee is back", piped=words)
    family.sync("ada")
    done = family.run("lee", "sync")
    digits = family.json("thief", "status")["deviceId"][:8]
    check("tell the owner or an admin of the household at once: they can remove that device "
          "with `hearth device revoke %s`" % digits in done.stderr
          and "words rotate" not in done.stderr, "lee: " + done.stderr)
    family.says("lee", ["doctor"], "this device was replaced", "hearth device add",
                "recover with your words (`hearth recover`", status=PARTIAL)
    family.says("ada", ["device", "revoke", digits], "revoked")


def lacked(family):
    """A folder that has lost a segment."""
    family.says("ada", ["add", "Windows"])
    family.sync("ada")
    os.remove(newest(family.path("folder")))
    family.says("ada", ["status"], "lacks 1 segment")
    family.says("ada", ["doctor"], "transport: ", "lacks 1 segment", "hearth sync", status=PARTIAL)
    family.sync("ada")
    said = family.says("ada", ["status"])
    check("lacks" not in said, "the segment does not come back: " + said)


def newest(folder):
    found = [os.path.join(root, name) for root, _, files in os.walk(folder) for name in files]
    return max(found, key=lambda path: os.stat(path).st_mtime_ns)


def no_database(family):
    """A home whose database is gone: `init` says what everything else says."""
    os.remove(family.path("kim", "node.db"))
    for arguments in (["list"], ["init", "--person", "Kim"]):
        done = family.run("kim", *arguments)
        check(done.returncode == 7 and "its database" in done.stderr
              and "move it aside" in done.stderr, "%r: %d: %s" % (
                  arguments, done.returncode, done.stderr))


def wiped_relay(family):
    """A relay that was wiped and begun anew has another certificate."""
    family.relay.kill()
    shutil.rmtree(family.path("relay-data"))
    family.relay.start()
    family.says("ada", ["doctor"], "is not the relay of this address",
                "remedy: stop unless the relay's operator explains it", status=PARTIAL)
    said = family.run("ada", "doctor").stdout
    check("start the relay" not in said and "remove this one, or" not in said, said)


def over_one_way(family):
    (wiped_relay if family.relay else lacked)(family)


play_over_each_way(
    "who does what", Family,
    (beginning, reader, taken_back, removed, one_name, gone, each_other, stolen_words,
     over_one_way, no_database))
