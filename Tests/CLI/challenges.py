#!/usr/bin/env python3
"""Challenges through the command line: one person's devices, beside somebody else's.

    challenges.py HEARTH [HEARTH_RELAY] [--show]

Anna has a laptop, and a phone with a history of its own that becomes hers; Ben belongs to the same
household. Everything is played over a folder, and once more over a relay if its program is given.
"""
import json
import os
import shutil

import nodes
from nodes import FAILED, NOT_ALLOWED, USAGE, check, play_over_each_way

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHIPPED = os.path.join(ROOT, "Catalogue", "hearth.json")
NOTE = "Kolibri on the third bench"


class Family(nodes.Family):
    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, relay, shows, "hearth-challenges-")
        with open(SHIPPED) as file:
            self.offers = json.load(file)["challenges"]
        self.titles = {offer["id"]: offer["title"] for offer in self.offers}

    def json(self, home, *arguments):
        done = self.says(home, [*arguments, "--json"])
        document = json.loads(done) if done else {}
        check(document.get("schema") == 1, "%s: %s has no schema" % (home, arguments))
        return document

    def follow(self, home):
        folder = [] if self.relay else ["--folder", self.place]
        self.says(home, ["public", "follow", self.address, *folder], "following hearth")

    def history(self, home, *arguments):
        return self.json(home, "challenge", "history", "--limit", "200", *arguments)["entries"]

    def ids(self, home):
        return [(one["challenge"], one["outcome"]) for one in self.history(home)]

    def today(self, home):
        shown = self.json(home, "challenge", "today")
        return shown["challenge"], shown["state"]

    def alike(self, words, *homes):
        """The devices must show the same, down to the last key."""
        first = (self.history(homes[0]), self.today(homes[0]))
        for home in homes[1:]:
            check((self.history(home), self.today(home)) == first,
                  "%s: %s and %s differ: %r, %r" % (
                      words, homes[0], home, first, (self.history(home), self.today(home))))


def beginning(family):
    """Nothing to draw from, and what to do about it; then one, the same until it is done."""
    family.init("pat", "Pat", "desk")
    family.says("pat", ["public", "publisher", "new"])
    family.address = family.json(
        "pat", "public", "publish", SHIPPED, "--to", family.place)["places"][0]["address"]
    family.init("laptop", "Anna", "laptop")
    for command in (["challenge"], ["challenge", "list"], ["challenge", "show", "bench"],
                    ["challenge", "pick", "bench"], ["challenge", "done"], ["challenge", "skip"]):
        family.says("laptop", command, "you follow no catalogue of challenges yet",
                    "hearth public follow", status=FAILED)
    family.says("laptop", ["challenge", "undo"], "nothing to undo", status=FAILED)
    family.says("laptop", ["challenge", "history"], "no entries match")
    family.says("laptop", ["challenge", "stats"], "done: 0, skipped: 0")
    family.follow("laptop")
    first = family.json("laptop", "challenge")
    check(first["choice"] == "drawn" and first["state"] == "pending", "drawn: %r" % first)
    check(family.titles[first["challenge"]] == first["title"], "another title: %r" % first)
    family.says("laptop", ["challenge"], first["title"], "not done yet", "hearth challenge done")
    check(family.today("laptop")[0] == first["challenge"], "another one was drawn")
    family.says("laptop", ["challenge", "done", "--rating", "6"], "use 1 to 5", status=USAGE)
    family.says("laptop", ["challenge", "skip", "--reason", "lazy"], "too hard, no time",
                status=USAGE)
    family.says("laptop", ["challenge", "skip", "--reason", "no time"], "skipped: ")
    family.says("laptop", ["challenge"], "skipped: no time", "hearth challenge pick")
    family.says("laptop", ["challenge", "skip"], "already skipped", status=FAILED)
    done = family.json("laptop", "challenge", "done", "--rating", "4", "--note", NOTE)
    check(done["state"] == "completed" and done["entry"]["rating"] == 4
          and done["entry"]["note"] == NOTE and done["streak"] == 1, "done: %r" % done)
    for command in ("done", "skip"):
        family.says("laptop", ["challenge", command], "is already done", status=FAILED)
    family.says("laptop", ["challenge", "pick", first["challenge"]], "is already done",
                status=FAILED)
    family.says("laptop", ["challenge", "history"], first["title"], "4", NOTE)
    family.first = first["challenge"]


def household(family):
    family.says("laptop", ["household", "create", "Home", "--time-zone", "UTC"])
    family.says("laptop", ["transport", "add", family.kind, family.place], "transport 1")
    check(family.ids("laptop") == [(family.first, "completed")], "a household changes the history")
    link = family.link("laptop", "invite")
    family.init("ben", "Ben", "tablet")
    family.says("ben", ["join", link], "joined Home as member")
    family.sync("laptop", "ben")


def second_device(family):
    """The phone had a history of its own: it is Anna's now, once, and what was undone stays so."""
    own = [offer["id"] for offer in family.offers if offer["id"] != family.first][:3]
    family.init("phone", "Anna", "phone")
    family.follow("phone")
    family.says("phone", ["challenge", "pick", own[0]], "today's challenge: ")
    family.says("phone", ["challenge", "done", "--note", "undone"], "done: ")
    family.says("phone", ["challenge", "undo"], "undone: ", family.titles[own[0]])
    for name in own[1:]:
        family.says("phone", ["challenge", "pick", name])
        family.says("phone", ["challenge", "done", "--rating", "5"])
    link = family.link("laptop", "device", "add")
    joined = family.json("phone", "join", link)
    check(joined.get("privateDatabase") is True, "join --json: %r" % joined)
    family.sync("laptop", "phone")
    family.alike("after joining", "laptop", "phone")
    wanted = sorted((name, "completed") for name in [family.first, *own[1:]])
    check(sorted(family.ids("laptop")) == wanted, "the history is %r" % family.ids("laptop"))
    # What was done goes before what was drawn or picked: the laptop's own, done first.
    check(family.today("phone") == (family.first, "completed"), "%r" % (family.today("phone"),))
    statistics = family.json("phone", "challenge", "stats")
    check(statistics["completed"] == 3 and statistics["streak"] == 1
          and statistics["rated"] == 3 and statistics["stars"] == 14, "stats: %r" % statistics)
    # Written on one device, taken back on the other.
    entry = next(one for one in family.history("laptop") if one["challenge"] == own[1])
    family.says("laptop", ["challenge", "undo", "--event", entry["entry"][:4]], "at least 8",
                status=USAGE)
    family.says("laptop", ["challenge", "undo", "--event", entry["entry"][:12]], "undone: ")
    family.sync("laptop", "phone")
    family.alike("after an undo", "laptop", "phone")
    check(len(family.ids("phone")) == 2, "the phone keeps what was undone")


def apart(family):
    """Both choose while they see nothing of each other; the one that was done is the day's."""
    one, other = [offer["id"] for offer in family.offers
                  if offer["id"] not in dict(family.ids("laptop"))][:2]
    family.says("laptop", ["challenge", "pick", one])
    family.says("phone", ["challenge", "pick", other])
    family.says("phone", ["challenge", "done"])
    family.sync("laptop", "phone", "laptop")
    family.alike("apart", "laptop", "phone")
    check(family.today("laptop") == (other, "completed"), "%r" % (family.today("laptop"),))
    # And one challenge done on both is one entry, with the last word of both.
    family.says("laptop", ["challenge", "pick", one])
    family.sync("laptop", "phone")
    family.says("laptop", ["challenge", "done", "--rating", "2"])
    family.says("phone", ["challenge", "done", "--note", "from the phone"])
    family.sync("laptop", "phone", "laptop")
    family.alike("done twice", "laptop", "phone")
    found = [entry for entry in family.history("laptop") if entry["challenge"] == one]
    check(len(found) == 1 and found[0]["rating"] == 2 and found[0]["note"] == "from the phone",
          "done on both: %r" % found)


def wishes(family):
    """What is wanted is said once, for all devices, and the list follows it."""
    family.says("phone", ["settings", "set", "challenge-categories", "Calm, kitchen"],
                "set for the person")
    family.says("phone", ["settings", "set", "challenge-minutes", "20"])
    family.says("phone", ["settings", "set", "challenge-cost", "gold"], "free", status=USAGE)
    family.says("phone", ["settings", "set", "challenge-rest", "7", "--scope", "device"],
                "cannot be set for the device", status=USAGE)
    family.sync("phone", "laptop")
    listed = family.json("laptop", "challenge", "list")["challenges"]
    wanted = sorted(offer["id"] for offer in family.offers
                    if offer["category"] in ("calm", "kitchen") and offer["minutes"] <= 20)
    check(len(wanted) > 1 and sorted(one["challenge"] for one in listed) == wanted,
          "the list is another")
    every = family.json("laptop", "challenge", "list", "--all")["challenges"]
    check(len(every) == len(family.offers), "not all are listed")
    check({one["challenge"] for one in every if one["isWanted"]} == set(wanted), "isWanted")
    done = {one["challenge"] for one in every if one.get("lastDone")}
    check(done == {name for name, _ in family.ids("laptop")}, "last done: %r" % done)
    shown = family.json("laptop", "challenge", "show", "bench-test")["challenge"]
    check(shown["title"] == family.titles["bench-test"] and not shown["isWanted"], "%r" % shown)
    family.says("laptop", ["challenge", "show", "bench-test"], "exclude it from the draw")
    family.says("laptop", ["challenge", "show", "tset benches"], "there is no challenge",
                status=FAILED)
    family.says("laptop", ["challenge", "list", "--category", "kitchn"], "use adventure",
                status=USAGE)


def somebody_else(family):
    """Ben has every byte, and nothing of it; the folder or relay cannot read it either."""
    family.sync("ben")
    check(family.history("ben") == [], "Ben has a history")
    family.follow("ben")
    family.says("ben", ["settings", "set", "challenge-minutes", "1"])
    family.says("ben", ["challenge"], "exclude every challenge", "hearth challenge list --all",
                status=FAILED)
    family.says("ben", ["settings", "unset", "challenge-minutes"])
    family.says("ben", ["challenge"], "not done yet")
    check(family.history("ben") == [], "a draw is in the history")
    secrets = [NOTE.encode(), b"from the phone"]
    looked = 0
    for root, _, names in os.walk(family.path("relay-data" if family.relay else "folder")):
        for name in names:
            with open(os.path.join(root, name), "rb") as file:
                data = file.read()
            looked += 1
            check(not any(secret in data for secret in secrets), "%s tells a note" % name)
    check(looked > 1, "nothing was looked into")
    with open(family.path("laptop", "node.db"), "rb") as file:
        database = file.read()
    for name in ("node.db-wal",):
        if os.path.exists(family.path("laptop", name)):
            with open(family.path("laptop", name), "rb") as file:
                database += file.read()
    # The same question has an answer where the note was written.
    check(NOTE.encode() in database, "the note cannot be found where it is")


def pages(family):
    """Each entry is on one page, newest first."""
    for offer in family.offers[:23]:
        family.says("ben", ["challenge", "pick", offer["id"]])
        family.says("ben", ["challenge", "done"])
    page = family.json("ben", "challenge", "history")
    check(len(page["entries"]) == 20 and "next" in page, "a page has %d" % len(page["entries"]))
    entries = list(page["entries"])
    page = family.json("ben", "challenge", "history", "--before", page["next"])
    check("next" not in page, "there is a third page")
    entries += page["entries"]
    check([one["challenge"] for one in entries] == [
        offer["id"] for offer in reversed(family.offers[:23])], "the pages are not all of it")
    calm = [one for one in entries if one["category"] == family.offers[0]["category"]]
    found, cursor = [], []
    while True:
        page = family.json("ben", "challenge", "history", "--category",
                           family.offers[0]["category"], "--limit", "7", *cursor)
        found += page["entries"]
        if "next" not in page:
            break
        cursor = ["--before", page["next"]]
    check(found == calm and len(calm) > 7, "%d of %d of a category" % (len(found), len(calm)))
    family.says("ben", ["challenge", "history", "--since", "tomorrow"], "no entries match")
    check(len(family.history("ben", "--since", "yesterday")) == 23, "since yesterday")
    family.says("ben", ["challenge", "history", "--limit", "3"], "more: hearth challenge history")
    family.says("ben", ["challenge", "history", "--limit", "0"], "use 1 to 200", status=USAGE)
    family.says("ben", ["challenge", "history", "--before", "x"], "start again", status=USAGE)
    family.says("ben", ["challenge", "history", "--since", "x"], "not a date", status=USAGE)


def offline(family):
    """The catalogue and every place are gone: what was drawn and done is still here."""
    title = family.titles[family.today("phone")[0]]
    family.says("phone", ["public", "unfollow", "hearth"])
    family.says("phone", ["challenge"], title, "done")
    family.says("phone", ["challenge", "history"], family.titles[family.first])
    family.says("phone", ["challenge", "list"], "you follow no catalogue of challenges",
                status=FAILED)
    check("description" not in family.json("phone", "challenge"), "a description without a book")


def cut_off(family):
    """A phone that was lost keeps what it had, adds nothing, and sees nothing new."""
    before = family.ids("laptop")
    family.words_of_anna = family.words("laptop")
    family.says("laptop", ["device", "revoke", "Anna's phone"], "revoked Anna's phone")
    family.sync("laptop", "phone", "phone")
    family.says("phone", ["challenge", "undo"], "was revoked in your private database",
                "hearth device add", status=NOT_ALLOWED)
    check(family.ids("phone") == before, "the phone lost what it had")
    # What was drawn before may be any of them.
    done = dict(family.ids("laptop"))
    another = next(offer["id"] for offer in family.offers if offer["id"] not in done)
    family.says("laptop", ["challenge", "pick", another])
    family.says("laptop", ["challenge", "done", "--note", "after the phone was lost"])
    family.sync("laptop", "phone")
    check(family.ids("phone") == before, "the lost phone reads on")
    check(len(family.ids("laptop")) == len(before) + 1, "the laptop does not write on")


def recovered(family):
    """Everything is lost but the words."""
    family.sync("laptop")
    before = (family.history("laptop"), family.today("laptop"))
    check(len(before[0]) > 3, "there is little to bring back")
    shutil.move(family.path("laptop"), family.path("stolen"))
    family.says(
        "new", ["recover", "--transport", family.place, "--device", "new laptop",
                "--revoke-others"], "Anna is back", piped=family.words_of_anna)
    check((family.history("new"), family.today("new")) == before, "the history did not come back")
    family.says("new", ["challenge", "undo"], "undone: ")
    family.sync("new", "stolen")
    check(len(family.history("new")) == len(before[0]) - 1, "the new laptop writes nothing")
    check(family.history("stolen") == before[0], "the stolen laptop reads on")


play_over_each_way(
    "challenges", Family,
    (beginning, household, second_device, apart, wishes, somebody_else, pages, offline, cut_off,
     recovered), by_folder_only=(pages,))
