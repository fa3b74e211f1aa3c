#!/usr/bin/env python3
"""The private database through the command line: one person's devices, beside somebody else's.

    devices.py HEARTH [HEARTH_RELAY] [--show]

Anna has a laptop and a phone, Ben belongs to the same household. Everything is played over a
folder, and once more over a relay if its program is given.
"""
import json
import os
import re
import shutil

import nodes
from nodes import FAILED, NOT_ALLOWED, check, play_over_each_way


class Family(nodes.Family):
    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, relay, shows, "hearth-devices-")

    def get(self, home, key):
        return self.says(home, ["settings", "get", key]).strip()

    def set(self, home, key, value):
        self.says(home, ["settings", "set", key, value, "--scope", "person"], "for the person")

    def json(self, home, *arguments):
        return json.loads(self.says(home, [*arguments, "--json"]))

    def private(self, home):
        return self.json(home, "status").get("privateDatabase", {})

    def zones(self):
        """The names of the zones in the folder; none of a relay, whose files say nothing."""
        place = os.path.join(self.path("folder"), "z")
        return set(os.listdir(place)) if os.path.isdir(place) else set()


def beginning(family):
    family.init("laptop", "Anna", "laptop")
    family.set("laptop", "list-order", "due")
    family.says("laptop", ["household", "create", "Home", "--time-zone", "UTC"])
    family.says("laptop", ["transport", "add", family.kind, family.place], "transport 1")
    family.says("laptop", ["status"], "private:   only on this device")
    link = family.link("laptop", "invite")
    family.init("ben", "Ben", "tablet")
    family.set("ben", "page-size", "3")
    family.says("ben", ["join", link], "joined Home as member")
    family.sync("laptop", "ben")
    check(family.private("laptop").get("isShared") is False, "an only device shares")


def second_device(family):
    """The phone has the laptop's settings; what it had itself is added to them."""
    before = family.zones()
    link = family.link("laptop", "device", "add")
    family.own = family.zones() - before
    family.init("phone", "Anna", "phone")
    family.set("phone", "list-order", "points")
    family.set("phone", "page-size", "7")
    joined = family.json("phone", "join", link)
    check(joined.get("deviceOf") == "Anna" and joined.get("privateDatabase") is True,
          "join --json: %r" % joined)
    family.sync("laptop")
    # The laptop has confirmed the phone.
    family.sync("phone")
    for home in ("laptop", "phone"):
        check(family.get(home, "list-order") == "due", "%s: what Anna had set is gone" % home)
        check(family.get(home, "page-size") == "7", "%s: what the phone had set is gone" % home)
        zones = [zone for zone in family.json(home, "digest")["zones"]
                 if zone["database"] == "private"]
        # The one of records and its control zone; none of what the phone had before.
        check(len(zones) == 2, "%s lists %d private zones" % (home, len(zones)))
    check(
        family.json("laptop", "digest")["zones"] == family.json("phone", "digest")["zones"],
        "the phone and the laptop differ")
    family.says("phone", ["status"], "private:   2 devices")
    family.says("laptop", ["device"], "PRIVATE", "yes")
    if not family.relay:
        check(len(family.own) == 2, "the private database has %d zones" % len(family.own))
    # The link serves once, for both.
    family.init("late", "Mallory", "phone")
    family.says("late", ["join", link], "used", status=FAILED)
    check(family.private("late").get("isShared") is False, "a used link gave something")


def concurrent(family):
    """Both set something while they see nothing of each other."""
    family.set("laptop", "color", "never")
    family.set("phone", "default-household", "Home")
    family.set("laptop", "list-order", "title")
    family.set("phone", "list-order", "points")
    family.sync("laptop", "phone", "laptop")
    for home in ("laptop", "phone"):
        check(family.get(home, "color") == "never", "%s lacks the colour" % home)
        check(family.get(home, "default-household") == "Home", "%s lacks the household" % home)
    check(
        family.get("laptop", "list-order") == family.get("phone", "list-order") != "due",
        "the two devices do not agree")


def somebody_else(family):
    """Ben has every byte, and nothing of it."""
    family.sync("ben")
    check(family.get("ben", "page-size") == "3", "Ben's page has another size")
    check(family.get("ben", "list-order") == "title", "Ben's list has another order")
    status = family.json("ben", "status")
    check(status["privateDatabase"]["devices"] == 1, "Ben's private database: %r" % status)
    zones = family.json("ben", "verify")["zones"]
    # Of each of his groups the control zone and the one of records.
    check(len(zones) == 4, "Ben holds %d zones" % len(zones))
    rows = family.json("ben", "device", "list")["devices"]
    check(
        [row.get("hasPrivateDatabase") for row in rows if row["person"] == "Anna"] == [None, None],
        "Ben is told of Anna's private database: %r" % rows)


def revoked(family):
    family.says(
        "laptop", ["device", "revoke", "Anna's phone"], "revoked Anna's phone",
        "nor those of your private database", "Anna has 1 device left")
    family.set("laptop", "page-size", "40")
    family.sync("laptop", "phone", "phone")
    check(family.get("phone", "page-size") == "7", "the revoked phone reads on")
    family.says("phone", ["status"], "this device was revoked in your private database by Anna")
    family.says(
        "phone", ["settings", "set", "page-size", "5", "--scope", "person"],
        "this device was revoked in your private database by Anna", "hearth device add",
        status=NOT_ALLOWED)
    family.says("phone", ["settings", "set", "page-size", "5", "--scope", "device"])
    family.sync("phone", "laptop")
    check(family.get("laptop", "page-size") == "40", "the revoked phone writes on")
    check(family.private("laptop").get("devices") == 1, "the phone is still counted")


def approved(family):
    """By a link that carries no keys: the household's owner lets the device in, and Ben himself
    into his private database."""
    link = family.link("ben", "device", "add", "--approve")
    family.init("watch", "Ben", "watch")
    asked = family.says("watch", ["join", link], "asked Home", "number:")
    number = re.search(r"number: ([\d ]+)", asked).group(1).strip()
    family.says("watch", ["status"], "private:   waits until another device of Ben", number)
    family.says("laptop", ["approve"], "Ben with watch", "as member", number)
    family.says("laptop", ["approve", "Ben", "--number", number], "further device of Ben's")
    family.says("watch", ["sync"], "joined Home as member: Anna approved")
    check(family.get("watch", "page-size") != "3", "Anna let somebody into Ben's private database")
    family.says("ben", ["sync"], "watch requests your private database: `hearth approve`")
    family.says("ben", ["status"], "watch requests it: `hearth approve`")
    family.says("ben", ["device"], "no", "hearth device add")
    family.says("ben", ["approve"], "Ben with watch", "for your private database", number)
    family.says(
        "ben", ["approve", "Ben", "--number", number], "watch shares your private database now")
    family.sync("watch")
    check(family.get("watch", "page-size") == "3", "the watch lacks what Ben had set")
    check(family.private("watch").get("devices") == 2, "the watch does not share")
    family.set("watch", "list-order", "points")
    family.sync("watch", "ben")
    check(family.get("ben", "list-order") == "points", "Ben lacks what the watch set")


def revoked_by_the_owner(family):
    """Who says in the household that a device is lost, cuts it off from what is private too."""
    family.sync("laptop")
    family.says("laptop", ["device", "revoke", "watch"], "revoked Ben's watch")
    family.says("ben", ["sync"])
    family.says("ben", ["status"], "watch was revoked in a household", "private:   1 device,")
    family.set("ben", "list-order", "due")
    family.sync("ben", "watch", "watch")
    check(family.get("watch", "list-order") == "points", "the lost watch reads on")


def not_at_hand(family):
    """The folder brings the household first; what is private comes when it does."""
    hidden, zones = family.path("hidden"), family.path("folder", "z")
    link = family.link("laptop", "device", "add")
    family.init("old", "Anna", "old phone")
    for name in family.own:
        shutil.move(os.path.join(zones, name), os.path.join(hidden, name))
    family.says("old", ["join", link], "joined Home as owner", "is not here yet")
    family.says("old", ["status"], "private:   only on this device", "is not here yet")
    family.says("old", ["sync"], "is not here yet")
    shutil.copytree(hidden, zones, dirs_exist_ok=True)
    family.sync("old")
    check(family.private("old").get("devices") == 2, "what arrived late is not joined")
    check(family.get("old", "page-size") == "40", "what arrived late is not shown")


def recovered(family):
    """Everything is lost but the words."""
    family.sync("laptop")
    words = family.words("laptop")
    family.set("laptop", "page-size", "41")
    family.sync("laptop")
    shutil.move(family.path("laptop"), family.path("stolen"))
    family.says(
        "new", ["recover", "--transport", family.place, "--device", "new laptop",
                "--revoke-others"], "Anna is back", "private:   your own settings", piped=words)
    check(family.get("new", "page-size") == "41", "the settings did not come back")
    family.set("new", "page-size", "42")
    family.sync("new", "stolen", "stolen")
    check(family.get("stolen", "page-size") == "41", "the stolen laptop reads on")
    family.sync("ben", "new")
    check(family.private("new").get("devices") == 1, "others are still in the private database")
    # And a further device once more.
    link = family.link("new", "device", "add")
    family.init("third", "Anna", "third")
    family.says("third", ["join", link], "joined Home as owner", "private settings")
    check(family.get("third", "page-size") == "42", "the third device lacks the settings")


play_over_each_way(
    "devices", Family,
    (beginning, second_device, concurrent, somebody_else, revoked, approved,
     revoked_by_the_owner, not_at_hand, recovered), by_folder_only=(not_at_hand,))
