#!/usr/bin/env python3
"""A publisher, two readers, a relay and a folder through the command line.

    public.py HEARTH HEARTH_RELAY [--postgres] [--show]

Publishes the catalogue of this repository, follows it, asks for parts of it, takes the relay away,
tampers with files, and makes chores of every template. With --postgres the relay's log is in a
private PostgreSQL cluster; where that is not installed, this is said and nothing is tested, unless
HEARTH_REQUIRE_POSTGRES is set.
"""
import glob
import json
import os
import shutil
import sqlite3
import sys

import postgres
from nodes import FAILED, Nodes, Relay, USAGE, check, failures

OFFLINE = 3
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHIPPED = os.path.join(ROOT, "Catalogue", "hearth.json")
# What a title is, and what somebody makes of it behind the publisher's back.
TITLE, OTHER = b"Test three benches", b"Test seven benches"


class Bazaar(Nodes):
    def __init__(self, hearth, relay, shows, cluster=None):
        super().__init__(hearth, shows, "hearth-public-cli-")
        self.cluster = cluster
        self.relay = Relay(os.path.abspath(relay), self.path("relay-data"),
                           backend=cluster.url() if cluster else None)
        with open(SHIPPED) as file:
            self.catalogue = json.load(file)
        self.file = self.write(self.catalogue)
        self.address = ""

    def write(self, catalogue):
        path = self.path("catalogue.json")
        with open(path, "w") as file:
            json.dump(catalogue, file)
        return path

    def published(self, *arguments, status=0):
        done = self.says("pat", ["public", "publish", self.file, "--json", *arguments],
                         status=status)
        return json.loads(done)

    def records(self, home, *arguments):
        done = self.run(home, "public", "list", "--json", *arguments)
        check(done.returncode == 0, "list %s: %s" % (" ".join(arguments), done.stderr))
        return [] if done.returncode else json.loads(done.stdout)["records"]

    def ids(self, home, *arguments):
        return sorted(record["id"] for record in self.records(home, *arguments))

    def version(self, home):
        followed = json.loads(self.run(home, "public", "status", "--json").stdout)["followed"]
        return followed[0].get("version") if followed else None


def publishing(bazaar):
    """The shipped catalogue goes to a relay, once."""
    bazaar.says("pat", ["init", "--person", "Pat"])
    bazaar.says("pat", ["public", "publish", bazaar.file, "--to", bazaar.relay.address],
                "no publisher's key", status=FAILED)
    bazaar.says("pat", ["public", "publisher", "show"], "publisher new", status=FAILED)
    made = bazaar.says("pat", ["public", "publisher", "new"], "publisher ")
    bazaar.says("pat", ["public", "publisher", "new"], "already", status=FAILED)
    check(made in bazaar.says("pat", ["public", "publisher", "show"]), "another fingerprint")
    bazaar.says("pat", ["public", "publish", bazaar.file], "--to", status=USAGE)
    bazaar.says("pat", ["public", "publish", bazaar.file, "--to", "/nowhere"], "neither",
                status=USAGE)
    count = sum(len(bazaar.catalogue[key]) for key in (
        "challenges", "choreTemplates", "featureFlags", "appConfiguration"))
    first = bazaar.published("--to", bazaar.relay.address)
    check(first["version"] == 1 and first["records"] == count and first["changed"],
          "published: %r" % first)
    check(first["places"][0]["sent"] == count, "sent: %r" % first["places"])
    bazaar.address = first["places"][0]["address"]
    again = bazaar.published()
    check(again["version"] == 1 and not again["changed"] and again["places"][0]["sent"] == 0,
          "published again: %r" % again)
    bazaar.says("pat", ["public", "status"], "publishing hearth: version 1", "127.0.0.1")


def following(bazaar):
    """A reader without any household follows it and looks around."""
    bazaar.says("rita", ["init", "--person", "Rita"])
    bazaar.says("rita", ["public", "list"], "no catalogue is followed yet")
    for wrong in (bazaar.address[:-1] + "X", bazaar.address.split("://")[1],
                  bazaar.address.replace("/hearth", "/")):
        bazaar.says("rita", ["public", "follow", wrong], "a catalogue's", status=USAGE)
    bazaar.says("rita", ["public", "follow", bazaar.address[:-1]], "no such catalogue",
                status=FAILED)
    check(bazaar.version("rita") is None, "what was refused is followed")
    bazaar.says("rita", ["public", "follow", bazaar.address], "following hearth", "version 1")
    bazaar.says("rita", ["public", "status"], "hearth", "just now", "127.0.0.1")
    challenges = bazaar.catalogue["challenges"]
    check(len(bazaar.ids("rita", "--type", "challenge")) == len(challenges), "challenges")
    wanted = sorted(item["id"] for item in challenges if item["category"] == "calm"
                    and 10 <= item["minutes"] <= 20 and not item["adultHelp"])
    check(len(wanted) > 1, "the question finds too little to prove anything")
    question = ["--type", "challenge", "--where", "category=calm", "--where", "minutes=10..20",
                "--where", "adultHelp=no"]
    check(bazaar.ids("rita", *question) == wanted, "filtered here")
    check(bazaar.ids("rita", "--remote", *question) == wanted, "filtered at the relay")
    tagged = sorted(item["id"] for item in challenges if "walking" in item["tags"])
    check(bazaar.ids("rita", "--remote", "--type", "challenge", "--where", "tags=walking")
          == tagged, "one of several values")
    every = bazaar.ids("rita", "--remote", "--type", "challenge")
    check(len(every) == len(challenges), "all at the relay, page by page: %d" % len(every))
    bazaar.says("rita", ["public", "list", "--remote"], "--type", status=USAGE)
    bazaar.says("rita", ["public", "list", "--where", "nonsense"], "not a condition", status=USAGE)
    bazaar.says("rita", ["public", "list", "--where", "minutes=9..3"], "empty", status=USAGE)
    title = challenges[0]["title"]
    bazaar.says("rita", ["public", "get", "challenge/" + challenges[0]["id"]], title, "minutes")
    shown = json.loads(bazaar.says(
        "rita", ["public", "get", "challenge/" + challenges[0]["id"], "--json"]))
    check(shown["body"] == challenges[0], "the body is another")
    bazaar.says("rita", ["public", "get", "challenge/none"], "no followed catalogue",
                status=FAILED)
    bazaar.says("rita", ["public", "get", "nonsense"], "TYPE/ID", status=USAGE)


def changing(bazaar):
    """One item changes, one goes, one is new: only they travel, with the next sync."""
    changed = json.loads(json.dumps(bazaar.catalogue))
    changed["version"] = 5
    changed["challenges"][0]["minutes"] = 7
    gone = changed["challenges"].pop(2)["id"]
    new = dict(changed["challenges"][0], id="brand-new", title="Brand new")
    changed["challenges"].append(new)
    bazaar.write(changed)
    report = bazaar.published()
    check(report["version"] == 5 and report["places"][0]["sent"] == 2
          and report["places"][0]["removed"] == 1, "changes: %r" % report)
    bazaar.says("rita", ["sync"], "catalogue hearth: version 5")
    bazaar.says("rita", ["sync"])
    ids = bazaar.ids("rita", "--type", "challenge")
    check("brand-new" in ids and gone not in ids, "the changes did not arrive")
    found = bazaar.ids("rita", "--type", "challenge", "--where", "minutes=7")
    check({"brand-new", changed["challenges"][0]["id"]} <= set(found), "minutes: %r" % found)


def offline(bazaar):
    """The relay is away: everything is still here, and sync says so in one line."""
    bazaar.relay.kill()
    check(len(bazaar.ids("rita", "--type", "chore-template"))
          == len(bazaar.catalogue["choreTemplates"]), "templates offline")
    bazaar.says("rita", ["public", "list", "--remote", "--type", "flag"], "cannot be reached",
                status=OFFLINE)
    done = bazaar.run("rita", "sync")
    check(done.returncode == 0, "sync fails for a catalogue: %s" % done.stderr)
    warnings = [line for line in done.stderr.splitlines() if "warning" in line]
    check(len(warnings) == 1 and "version 5 stays here" in warnings[0], "warnings: %r" % warnings)
    bazaar.says("rita", ["public", "status"], "cannot be reached")
    bazaar.says("late", ["init", "--person", "Lee"])
    bazaar.says("late", ["public", "follow", bazaar.address], "not fetched yet", status=OFFLINE)
    report = bazaar.published(status=OFFLINE)
    check("cannot be reached" in report["places"][0]["failure"], "no failure: %r" % report)
    bazaar.relay.start()
    bazaar.says("late", ["sync"], "catalogue hearth: version 5")


def exchange_in_database(bazaar):
    """Makes another title of one in every record that has it; gives how many there were."""
    old, new = ("'\\x%s'::bytea" % title.hex() for title in (TITLE, OTHER))
    return len(bazaar.cluster.rows(
        "UPDATE hearth_relay.entries SET blob = overlay(blob PLACING %s FROM position(%s IN blob))"
        " WHERE position(%s IN blob) > 0 RETURNING position" % (new, old, old)))


def exchange_in_file(bazaar):
    data = sqlite3.connect(os.path.join(bazaar.relay.data, "relay.sqlite"))
    changed = 0
    rows = data.execute("SELECT number, bytes FROM blobs").fetchall()
    for number, blob in rows:
        if TITLE in blob:
            data.execute("UPDATE blobs SET bytes = ? WHERE number = ?",
                         (blob.replace(TITLE, OTHER), number))
            changed += 1
    data.commit()
    data.close()
    return changed


def tampering(bazaar):
    """What lies at the relay is exchanged behind its back: nobody takes it."""
    bazaar.relay.kill()
    sound = bazaar.relay.ask("verify")
    check(sound.returncode == 0, "verify finds something wrong: %s" % sound.stdout)
    changed = exchange_in_database(bazaar) if bazaar.cluster else exchange_in_file(bazaar)
    check(changed == 1, "%d blobs were tampered with" % changed)
    spoilt = bazaar.relay.ask("verify")
    check(spoilt.returncode != 0, "verify does not notice: %s" % spoilt.stdout)
    bazaar.relay.start()
    bazaar.says("rita", ["public", "list", "--remote", "--type", "challenge"],
                "not signed by the catalogue's publisher", status=FAILED)
    bazaar.says("sam", ["init", "--person", "Sam"])
    bazaar.says("sam", ["public", "follow", bazaar.address], "withholds records", status=FAILED)
    bazaar.says("rita", ["public", "get", "challenge/bench-test"], TITLE.decode())
    # Who has the right record does not ask for it again, and with it the new version is whole.
    bazaar.says("rita", ["sync"], "version 6")
    bazaar.says("rita", ["public", "get", "challenge/bench-test"], TITLE.decode())


def folder(bazaar):
    """The same catalogue in a folder; a tampered or old file is refused, in words."""
    place = bazaar.path("shared")
    os.mkdir(place)
    # Two places at once: none is left out.
    second = bazaar.path("second")
    os.mkdir(second)
    report = bazaar.published("--to", second, "--to", place)
    check(len(report["places"]) == 3 and glob.glob(os.path.join(second, "*.hearth-catalogue")),
          "a place was left out: %r" % report)
    address = next(item["address"] for item in report["places"] if item["place"] == place)
    check(address.startswith("hearth-catalogue:///"), "address: " + address)
    bazaar.says("fred", ["init", "--person", "Fred"])
    bazaar.says("fred", ["public", "follow", address], "name the folder", status=USAGE)
    bazaar.says("fred", ["public", "follow", address, "--folder", place], "version 5")
    file = glob.glob(os.path.join(place, "*.hearth-catalogue"))[0]
    with open(file, "rb") as pack:
        old = pack.read()
    changed = json.loads(json.dumps(bazaar.catalogue))
    changed["version"] = 6
    bazaar.write(changed)
    bazaar.published()
    bazaar.says("fred", ["sync"], "version 6")
    with open(file, "rb") as pack:
        good = pack.read()
    for data, words in ((old, "old copy"), (good[:-1], "damaged"),
                        (good.replace(TITLE, OTHER), "withholds records")):
        with open(file, "wb") as pack:
            pack.write(data)
        bazaar.says("fred", ["sync"], words, "version 6 stays here")
        check(bazaar.version("fred") == 6, "the version is another")
    with open(file, "wb") as pack:
        pack.write(good)
    done = bazaar.run("fred", "sync")
    check("warning" not in done.stderr, "a warning stays: %s" % done.stderr)
    bazaar.says("fred", ["public", "unfollow", "hearth"], "no longer followed")
    bazaar.says("fred", ["public", "unfollow", "hearth"], "no catalogue hearth", status=FAILED)


def using(bazaar):
    """Chores are made of templates; feature flags have defaults and an own wish."""
    bazaar.says("rita", ["household", "create", "Home", "--time-zone", "UTC"])
    bazaar.says("rita", ["add"], "--template", status=USAGE)
    bazaar.says("rita", ["add", "--template", "no-such-template"], "no followed catalogue",
                status=FAILED)
    bazaar.says("rita", ["add", "--template", "challenge/bench-test"], "no chore template",
                status=USAGE)
    templates = bazaar.catalogue["choreTemplates"]
    for item in templates[:12] + [item for item in templates[12:] if "dayOfMonth" in item][:2]:
        bazaar.says("rita", ["add", "--template", item["id"]], "added")
        shown = json.loads(bazaar.says("rita", ["show", item["title"], "--json"]))
        text = json.dumps(shown)
        check(item["title"] in text and item["category"] in text, "chore of " + item["id"])
        check(json.dumps(item["steps"][0])[1:-1] in text, "steps of " + item["id"])
    own = templates[0]
    bazaar.says("rita", ["add", "My own", "--template", "chore-template/" + own["id"],
                         "--points", "9", "--every", "day"], "My own")
    flag = bazaar.catalogue["featureFlags"][2]
    check(flag["value"] is True, "the third flag is not on")
    name = "feature_flag_" + flag["id"]
    check(bazaar.says("rita", ["settings", "get", name]).strip() == "yes", "flag by default")
    bazaar.says("rita", ["settings", "set", name, "no"])
    check(bazaar.says("rita", ["settings", "get", name]).strip() == "no", "own wish")
    bazaar.says("rita", ["settings", "list"], name)
    bazaar.says("rita", ["settings", "set", name, "perhaps"], "use", status=USAGE)
    check(bazaar.says("rita", ["settings", "get", "feature_flag_unknown"]).strip() == "no",
          "an unknown flag is off")


def in_the_database(bazaar):
    """The relay's folder holds its key and no log; the log is where it was meant to be."""
    held = sorted(os.listdir(bazaar.relay.data))
    check(held == ["identity.key", "lock"], "the relay's folder holds %r" % held)
    check(int(bazaar.cluster.psql("SELECT count(*) FROM hearth_relay.public_records"))
          > len(bazaar.catalogue["challenges"]), "the catalogue is not in the database")


def main():
    cluster = None
    name = "public"
    if "--postgres" in sys.argv:
        name = "public on PostgreSQL"
        postgres.must_be_there(name)
        cluster = postgres.Cluster()
        cluster.create()
    bazaar = Bazaar(sys.argv[1], sys.argv[2], "--show" in sys.argv, cluster)
    for story in (publishing, following, changing, offline, folder, using, tampering):
        if bazaar.shows:
            print("\n--- " + story.__name__)
        story(bazaar)
    if cluster:
        in_the_database(bazaar)
    bazaar.relay.kill()
    if cluster:
        cluster.close()
    shutil.rmtree(bazaar.root)
    print("%s: %s" % (name, "%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
