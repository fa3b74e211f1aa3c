#!/usr/bin/env python3
"""What people are told of decisions that others take, also where both decide at the same time.

    told.py HEARTH [HEARTH-RELAY] [--show]

Nobody may learn only from a log that somebody was removed, that the household has another owner,
that a sheet of recovery words holds no more, or that the device at hand is out. Nor may work be lost
or an old copy come back without anybody hearing of it afterwards.
"""
import json
import os
import re
import shutil
import subprocess
import sys

from nodes import FAILED, NOT_ALLOWED, Nodes, Relay, check, failures

PARTIAL, OFFLINE = 2, 3


class Home(Nodes):
    def __init__(self, hearth, shows):
        super().__init__(hearth, shows, "hearth-told-")
        os.mkdir(self.path("folder"))

    def begin(self, home, person, device="phone"):
        self.says(home, ["init", "--person", person, "--device", device], "next:")

    def link(self, home, *arguments):
        return self.says(home, arguments, "hearth join").strip().splitlines()[-1]

    def join(self, home, person, inviter):
        link = self.link(inviter, "invite")
        self.begin(home, person)
        self.says(home, ["join", link], "joined Home")

    def sync(self, *homes):
        for home in homes:
            self.says(home, ["sync"])

    def paper(self, home, words):
        path = self.path("paper-" + home)
        with open(path, "w") as file:
            file.write(words)
        return path

    def away(self, *homes):
        """The homes go on with a copy of the folder."""
        shutil.copytree(self.path("folder"), self.path("island"), dirs_exist_ok=True)
        for home in homes:
            self.says(home, ["transport", "remove", self.path("folder")])
            self.says(home, ["transport", "add", "folder", self.path("island")])

    def back(self, *homes):
        shutil.copytree(self.path("island"), self.path("folder"), dirs_exist_ok=True)
        for home in homes:
            self.says(home, ["transport", "remove", self.path("island")])
            self.says(home, ["transport", "add", "folder", self.path("folder")])

    def rotate(self, home, old, *words, status=0):
        """Makes new words on a terminal's behalf; gives them."""
        process = subprocess.Popen(
            self.command(home, "words", "rotate", "--force"), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        process.stdin.write(old + "\n")
        process.stdin.flush()
        found, said = {}, ""
        while len(found) < 12:
            line = process.stdout.readline()
            if not line:
                raise SystemExit("no words: " + process.stderr.read())
            found.update({int(n): w for n, w in re.findall(r"(\d+)\. +([a-z]+)", line)})
        for line in process.stderr:
            said += line
            place = re.search(r"from your paper, word (\d+)", line)
            if place:
                process.stdin.write(found[int(place.group(1))] + "\n")
                process.stdin.flush()
        process.stdin.close()
        check(process.wait(timeout=120) == status, "%s: words rotate: %s" % (home, said))
        for word in words:
            check(word in said, "%s: words rotate does not say %r: %s" % (home, word, said))
        return " ".join(found[n] for n in range(1, 13))


def joining(home):
    home.begin("ada", "Ada", "laptop")
    home.says("ada", ["household", "create", "Home", "--time-zone", "UTC"])
    home.says("ada", ["transport", "add", "folder", home.path("folder")])
    home.join("ben", "Ben", "ada")
    home.join("cleo", "Cleo", "ada")
    home.says("ada", ["sync"], "Cleo belongs to Home now")
    home.says("ada", ["log"], "Ben belongs to Home now", "Cleo belongs to Home now")
    home.says("ben", ["sync"], "Cleo belongs to Home now")
    home.says("ada", ["member", "role", "Cleo", "admin"])
    home.says("cleo", ["sync"], "you are admin in Home now, were member")
    home.join("dan", "Dan", "cleo")
    home.sync("ada", "ben")
    home.says("cleo", ["member", "remove", "Dan"])
    home.says("ben", ["sync"], "Dan does not belong to Home any more: removed by Cleo")
    home.says("ada", ["sync"], "removed by Cleo")
    home.says("ada", ["status"], "removed by Cleo")
    home.says("ada", ["log"], "removed by Cleo")
    # Nobody is told of what they did themselves.
    told = home.run("cleo", "log").stdout
    check("Dan does not belong" not in told, "Cleo is told of her own deed: " + told)


def offers(home):
    paper = home.paper("ada", home.words("ada"))
    home.says("ada", ["owner", "withdraw"], "no offer of yours", status=FAILED)
    home.says("ada", ["owner", "transfer", "Ben", "--words-file", paper], "offered to Ben")
    home.sync("ben")
    home.says("ada", ["owner", "withdraw", "--words-file", paper], "not offered to Ben any more")
    # Accepting looks first.
    home.says("ben", ["owner", "accept"], "nobody has offered", status=FAILED)
    home.says("ada", ["audit"], "Ada withdrew the offer of the household")
    # Who has an offer and is removed meanwhile can still take it, and everybody is told.
    home.says("ada", ["owner", "transfer", "Ben", "--words-file", paper])
    home.sync("ben")
    home.away("ben")
    home.says("ada", ["member", "remove", "Ben"], "Ben has your offer of Home", "hearth owner")
    home.says("ben", ["owner", "accept"], "you are the owner of Home now", "hearth words show")
    home.back("ben")
    for name in ("ada", "cleo"):
        home.says(name, ["sync"], "Ben now owns Home (previously Ada)")
    home.says("ada", ["status"], "Ben now owns Home")
    # And who is removed and fetches first cannot.
    paper = home.paper("ben", home.words("ben"))
    home.says("ben", ["owner", "transfer", "Cleo", "--words-file", paper])
    home.sync("cleo")
    home.says("ben", ["member", "remove", "Cleo"], "Cleo has your offer")
    home.says("cleo", ["owner", "accept"], "you were removed from Home by Ben", status=NOT_ALLOWED)


def stranded(home):
    """Somebody's only device is lost."""
    home.join("eve", "Eve", "ben")
    home.says("eve", ["add", "Eve's chore"])
    home.sync("eve", "ben")
    home.says(
        "ben", ["device", "revoke", "Eve's phone"], "Eve has 0 devices left",
        "Eve can return with recovery words", "hearth device add --for Eve")
    home.says("eve", ["sync"], "this device was revoked in Home by Ben")
    link = home.link("ben", "invite")
    home.says(
        "eve", ["join", link], "is already in the group", "hearth device add --for PERSON",
        status=NOT_ALLOWED)
    home.says("eve", ["add", "Too late"], "hearth device add --for Eve", status=NOT_ALLOWED)
    home.says("ben", ["member", "remove", "Eve"])
    home.says("eve", ["sync"])
    link = home.link("ben", "invite")
    home.says("eve", ["join", link], "joined Home")
    titles = [item["title"] for item in json.loads(home.run("eve", "list", "--json").stdout)["chores"]]
    check("Eve's chore" in titles, "Eve's work is lost: %r" % titles)


def sheets(home):
    """Words are made anew where nobody can hear of it, and on two devices at once."""
    home.join("fay", "Fay", "ben")
    first = home.words("fay")
    home.begin("tablet", "Fay", "tablet")
    home.says("tablet", ["join", home.link("fay", "device", "add")])
    home.sync("fay", "tablet")
    os.rename(home.path("folder"), home.path("gone"))
    unheard = home.rotate("fay", first, "KEEP BOTH SHEETS", status=OFFLINE)
    os.rename(home.path("gone"), home.path("folder"))
    home.says(
        "new1", ["recover", "--transport", home.path("folder")], "nothing in", status=FAILED,
        piped=unheard)
    home.says("fay", ["sync"])
    home.says("fay", ["words", "check"], "right", piped=unheard)
    home.sync("tablet")
    home.away("tablet")
    one = home.rotate("fay", unheard, "destroy the old sheet")
    other = home.rotate("tablet", unheard, "destroy the old sheet")
    home.back("tablet")
    for _ in range(2):
        home.sync("tablet", "fay")
    right = {}
    for name, words in (("fay", one), ("tablet", other)):
        verdict = home.run("fay", "words", "check", piped=words)
        right[name] = verdict.returncode == 0
    check(sorted(right.values()) == [False, True], "words that hold: %r" % right)
    loser = "fay" if right["tablet"] else "tablet"
    home.says(loser, ["status"], "the recovery words made on this device are not valid",
              "Keep that sheet")


def undone(home):
    """A rescue by words that nobody has seen is undone by what the lost device had decided before.

    Had somebody of higher rank seen it, it would stay.
    """
    home.join("gus", "Gus", "ben")
    old = home.words("gus")
    home.sync("gus")
    home.away("gus")
    home.rotate("gus", old)
    home.says(
        "rescue", ["recover", "--transport", home.path("folder"), "--revoke-others"], "Gus is back",
        piped=old)
    home.sync("rescue")
    home.back("gus")
    home.sync("gus", "ben")
    home.says("rescue", ["sync"], "this device does not belong to Home", "has no effect")
    home.says("rescue", ["status"], "this device does not belong to Home")
    ended = json.loads(home.run("rescue", "status", "--json").stdout)["households"][0]["standing"]
    check(ended.get("ended", {}).get("kind") == "overruled", "standing: %r" % ended)


def again(home):
    """Who leaves with two devices and comes back with one has not lost the other one."""
    home.join("hal", "Hal", "ben")
    home.begin("hal2", "Hal", "laptop")
    home.says("hal2", ["join", home.link("hal", "device", "add")])
    home.sync("hal", "hal2", "hal", "ben")
    home.says("hal", ["member", "leave"])
    home.sync("ben", "hal2")
    home.says("hal", ["join", home.link("ben", "invite")], "joined Home")
    for _ in range(2):
        home.sync("hal", "ben", "hal2")
    told = home.run("hal", "log").stdout + home.run("hal2", "status").stdout
    check("was revoked" not in told, "Hal's laptop was cut off: " + told)


def lost_work(home):
    """Who is removed sees what counts for nothing and where it is; an admin takes it over."""
    home.join("ida", "Ida", "ben")
    home.sync("ben", "ida")
    home.says("ida", ["add", "Ida's chore"])
    home.says("ben", ["member", "remove", "Ida"])
    # The folder still takes it with the sync that brings the news.
    home.says("ida", ["sync"], "removed from Home by Ben", "1 change that you made",
              "an owner or admin can adopt it", "hearth quarantine")
    home.says("ida", ["status"], "you are no member",
              "1 change that you made and the others had not received has no effect",
              "an owner or admin can adopt it")
    standing = json.loads(home.run("ida", "status", "--json").stdout)["households"][0]["standing"]
    check((standing["ownQuarantined"], standing["onlyHere"]) == (1, 0), "standing: %r" % standing)
    home.sync("ben")
    home.says("ben", ["quarantine"], "by Ida", "hearth quarantine adopt NUMBER")
    numbers = re.findall(r"^(\d+)\. .* by Ida", home.run("ben", "quarantine").stdout, re.M)
    check(len(numbers) == 1, "Ida's work is not in Ben's quarantine: %r" % numbers)
    home.says("ben", ["quarantine", "adopt", numbers[0], "--yes"], "adopted 1 change")
    home.says("ida", ["join", home.link("ben", "invite")], "joined Home")
    titles = [c["title"] for c in json.loads(home.run("ben", "list", "--json").stdout)["chores"]]
    check("Ida's chore" in titles, "Ida's work is lost: %r" % titles)


def withheld(home):
    """A folder keeps back what somebody else has seen: doctor says so as well."""
    home.sync("ben", "ida", "hal", "ben", "ida", "hal")
    before = files(home.path("folder"))
    home.says("ida", ["add", "Unseen"])
    home.sync("ida")
    hidden = files(home.path("folder")) - before
    home.sync("ben")
    home.says("ben", ["add", "Seen"])
    home.sync("ben")
    home.away("hal")
    for name in hidden:
        os.remove(os.path.join(home.path("island"), name))
    home.says("hal", ["sync"], "waiting for others")
    home.says("hal", ["doctor"], "withheld: ", "1 change of phone (Ida)", "has seen is missing here",
              "remedy: sync again", status=PARTIAL)
    home.back("hal")
    home.says("hal", ["sync"])
    home.says("hal", ["doctor"], "all is well")


def files(folder):
    return {os.path.relpath(os.path.join(place, name), folder)
            for place, _, names in os.walk(folder) for name in names if name.endswith(".seg")}


def is_told(home, name, words, *quiet):
    """The notice is told, kept in the log, and shown by status with and without --json."""
    home.says(name, ["status"], "this device found it rolled back to an old copy on")
    told = json.loads(home.run(name, "status", "--json").stdout)
    check(told["transports"][-1]["setBack"].startswith("20"), "%r" % told["transports"])
    for document in (told, json.loads(home.run(name, "log", "--json").stdout)):
        notices = [n for n in document["notices"] if n["kind"] == "transport"]
        check(len(notices) == 1 and words in notices[0]["text"], "%s: %r" % (name, notices))
    home.says(name, ["log"], words, "this device publishes its data there again")
    for other in quiet:
        check(words not in home.run(other, "log").stdout, other + " is told of nothing")


def old_folder(home):
    """A copy of the folder comes back that is older than what was seen."""
    for number in range(2):
        home.says("ben", ["sync"])
    shutil.copytree(home.path("folder"), home.path("copy"))
    home.says("ben", ["add", "Later"])
    home.sync("ben", "ida")
    before = home.run("ben", "log").stdout
    check("was rolled back" not in before, "told without a reason: " + before)
    shutil.rmtree(home.path("folder"))
    shutil.copytree(home.path("copy"), home.path("folder"))
    home.says("ben", ["sync"], "published 1 segment", "was rolled back", "1 change")
    is_told(home, "ben", "the folder " + home.path("folder") + " was rolled back", "ida")
    home.says("ida", ["sync"])
    home.says("ben", ["sync"], "nothing to publish")
    # Told once a day, however often it happens.
    shutil.rmtree(home.path("folder"))
    shutil.copytree(home.path("copy"), home.path("folder"))
    home.says("ben", ["sync"], "was rolled back")
    is_told(home, "ben", "the folder " + home.path("folder") + " was rolled back")
    # An empty folder in its place is filled with the very sync that tells of it.
    shutil.rmtree(home.path("folder"))
    os.mkdir(home.path("folder"))
    home.says("ben", ["sync"], "this sync writes there what this device has", "published", status=PARTIAL)
    home.says("ben", ["sync"], "nothing to publish")


def old_relay(home):
    """A backup of a relay is restored that is older than what was seen."""
    program = next((a for a in sys.argv[2:] if not a.startswith("-")), None)
    if program is None:
        return
    relay = Relay(program, home.path("relay"))
    home.begin("jo", "Jo", "laptop")
    home.says("jo", ["household", "create", "Flat", "--time-zone", "UTC"])
    home.says("jo", ["transport", "add", "relay", relay.address])
    home.says("jo", ["sync"])
    relay.kill()
    shutil.copytree(home.path("relay"), home.path("backup"))
    relay.start()
    home.says("jo", ["add", "Later"])
    home.says("jo", ["sync"])
    relay.kill()
    shutil.rmtree(home.path("relay"))
    shutil.copytree(home.path("backup"), home.path("relay"))
    relay.start()
    home.says("jo", ["sync"], "rolled back", "published 1 segment")
    is_told(home, "jo", "the relay at 127.0.0.1:%s was rolled back" % relay.port)
    home.says("jo", ["sync"], "nothing to publish")
    relay.kill()


def main():
    home = Home(sys.argv[1], "--show" in sys.argv)
    for story in (
            joining, offers, stranded, sheets, undone, again, lost_work, withheld, old_folder,
            old_relay):
        if home.shows:
            print("\n--- " + story.__name__)
        story(home)
    shutil.rmtree(home.root)
    print("told: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
