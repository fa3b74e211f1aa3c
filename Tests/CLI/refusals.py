#!/usr/bin/env python3
"""Gives the program wrong input and broken surroundings, and looks how it refuses.

    refusals.py HEARTH

Each case must end with the documented exit code, one clear line on standard error that names what
to do, nothing on standard output, and the node's digest as it was before.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

FAILED, PARTIAL, OFFLINE, NO_NODE, LOCKED, CORRUPT, USAGE = 1, 2, 3, 5, 6, 7, 64


class Stage:
    def __init__(self, hearth):
        self.hearth = os.path.abspath(hearth)
        self.root = tempfile.mkdtemp(prefix="hearth-refusals-")
        self.failures = 0
        self.cases = 0

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def run(self, home, *arguments, piped=""):
        return subprocess.run(
            [self.hearth, "--home", self.path(home), *arguments], capture_output=True, text=True,
            timeout=60, input=piped)

    def must(self, home, *arguments):
        done = self.run(home, *arguments)
        if done.returncode != 0:
            sys.exit("hearth %s ended with %d: %s" % (
                " ".join(arguments), done.returncode, done.stderr))
        return done.stdout

    def digest(self, home):
        return self.must(home, "digest")

    def refuses(self, name, status, words, home, *arguments, keeps=True, piped=""):
        """The command must end with the status and say the words, and change nothing."""
        self.cases += 1
        before = self.digest(home) if keeps else None
        done = self.run(home, *arguments, piped=piped)
        faults = []
        if done.returncode != status:
            faults.append("exit %d instead of %d" % (done.returncode, status))
        for word in words:
            if word not in done.stderr + done.stdout:
                faults.append("does not say %r" % word)
        if len(done.stderr) > 2_000:
            faults.append("says %d characters" % len(done.stderr))
        if keeps and self.digest(home) != before:
            faults.append("changed the node")
        if faults:
            self.failures += 1
            print("FAILED %s: %s\n  %s" % (name, "; ".join(faults), done.stderr.strip()[:500]))


def arguments(stage):
    for name, words in (
        (["frobnicate"], ["no command"]), (["leaderbord"], ["leaderboard"]),
        (["add", "x", "--due", "2026-13-40"], ["not a date", "tomorrow"]),
        (["add", "x", "--points", "-1"], ["0 to 100000"]),
        (["add", "x", "--points", str(10 ** 12)], ["0 to 100000"]),
        (["add", "x", "--every", "never-ever"], ["never-ever"]),
        (["add", "x", "--tag", "t" * 41], ["1 to 40 characters"]),
        (["add", "- wash"], ["begins with a dash", "-- '- wash'"]),
        (["add", "x", "--note", "- hot"], ["begins with a dash", "--note='- hot'"]),
        (["add", "x", "-- no help"], ["-- no help"]),
        (["done", ""], ["the chore's name is empty"]),
        (["done", "dishes", "--at", "99:00"], ["is not a time of day"]),
        (["done", "dishes", "--at", "never"], ["not a date or a time"]),
        (["help", "nosuch"], ["there is no command"]),
        (["help", "member", "nosuch"], ["there is no command"]),
        (["settings", "set", "duplicate", "all"], ["first, each, split"]),
        (["settings", "set", "time-zone", "Nowhere/None"], ["Europe/Berlin"]),
        (["settings", "set", "name", "x" * 81], ["1 to 80 characters"]),
        (["household", "create", "x" * 81], ["1 to 80 characters"]),
        (["public", "list", "--where", "minutes=abc..5"], ["not a range"]),
        (["transport", "add", "relay", "hearth-relay://127.0.0.1:7440/abc"], ["52 characters"]),
    ):
        stage.refuses(" ".join(name), USAGE, words, "anna", *name)
    done = stage.run("anna", "add", "--", "- wash")
    stage.refuses("a dash", 0, ["- wash"], "anna", "list")
    # Bytes that are no text come through as what Python calls surrogates.
    stage.refuses("no UTF-8", USAGE, ["is not UTF-8"], "anna", "add", "bad\udcff")
    stage.refuses("no UTF-8, JSON", USAGE, ["is not UTF-8"], "anna", "--json", "add", "bad\udcff")
    stage.refuses("empty title", USAGE, ["1 to 200"], "anna", "add", "")
    stage.refuses("blank title", USAGE, ["1 to 200"], "anna", "add", "   ")
    stage.refuses("long title", USAGE, ["1 to 200"], "anna", "add", "x" * 100_000)
    # The system lets no argument be that long, so it comes through a pipe.
    stage.refuses(
        "title of 10 MB", FAILED, ["65536 bytes", "1 to 200"], "anna", "add", "-",
        piped="x" * (10 << 20))
    stage.refuses("piped blank title", USAGE, ["1 to 200"], "anna", "add", "-", piped=" \n")
    stage.refuses("no such chore", FAILED, ["no chore"], "anna", "done", "quark")
    stage.refuses("wrong link", USAGE, ["hearth://join"], "anna", "join", "hello")
    stage.refuses(
        "no folder", OFFLINE, ["does not exist"], "anna", "transport", "add", "folder", stage.path("missing"))
    stage.refuses("second init", FAILED, ["already"], "anna", "init", "--person", "X")
    stage.refuses("no node", NO_NODE, ["hearth init"], "nobody", "list", keeps=False)


def secret_folders(stage):
    """A shared folder that holds the key, or may come to, is none."""
    home = stage.path("anna")
    os.mkdir(stage.path("anna", "below"))
    os.symlink(home, stage.path("alias"))
    link = stage.must("anna", "invite").strip().splitlines()[-1]
    stage.must("anna", "public", "publisher", "new")
    with open(stage.path("catalogue.json"), "w") as file:
        file.write('{"schema": 1, "catalogue": "mine", "version": 1}')
    for name, place, word in (
        ("no folder", "", "empty"), ("the home", home, "own home"),
        ("above the home", stage.root, "contains"), ("the root", "/", "contains"),
        ("below the home", stage.path("anna", "below"), "is in this node"),
        ("a link to the home", stage.path("alias"), "own home"),
        ("below a link", stage.path("alias", "below"), "is in this node"),
    ):
        words = [word] if not place else [word, "private key"]
        stage.refuses(name, USAGE, words, "anna", "transport", "add", "folder", place)
        stage.refuses(name + ", join", USAGE, words, "anna", "join", link, "--folder", place)
        stage.refuses(
            name + ", publish", USAGE, words, "anna", "public", "publish",
            stage.path("catalogue.json"), "--to", place)
    stage.must("gert", "init", "--person", "Gert", "--device", "g")
    stage.refuses(
        "another's home", USAGE, ["home of a node"], "gert", "transport", "add", "folder", home)
    stage.refuses("forget nothing", FAILED, ["no transport"], "anna", "transport", "remove", "")
    os.rmdir(stage.path("anna", "below"))
    os.remove(stage.path("alias"))


def damaged_homes(stage):
    """Where a file of a node is gone, no advice costs what is left."""
    for what, words in (("gone", ["is missing"]), ("empty", ["is empty"])):
        name = "home-" + what
        shutil.copytree(stage.path("anna"), stage.path(name))
        for end in ("", "-wal", "-shm"):
            if os.path.exists(stage.path(name, "node.db" + end)):
                os.remove(stage.path(name, "node.db" + end))
        if what == "empty":
            open(stage.path(name, "node.db"), "wb").close()
        for _ in range(2):
            stage.refuses(
                "database " + what, CORRUPT, words + ["keep the folder", "hearth recover"], name,
                "list", keeps=False)
    shutil.copytree(stage.path("anna"), stage.path("exchanged"))
    shutil.copy(stage.path("gert", "key"), stage.path("exchanged", "key"))
    stage.refuses(
        "another device's key", CORRUPT, ["exchanged/key", "another device's", "right key file"],
        "exchanged", "list", keeps=False)
    open(stage.path("nothing"), "wb").close()
    with open(stage.path("words"), "w") as file:
        file.write("correct horse")
    stage.must("closed", "--passphrase-file", stage.path("words"), "init", "--person", "C")
    stage.refuses(
        "an empty passphrase", 4, ["the passphrase is empty"], "closed", "list",
        "--passphrase-file", stage.path("nothing"), keeps=False)


def invitations(stage):
    link = stage.must("anna", "invite").strip().splitlines()[-1]
    stage.must("ben", "init", "--person", "Ben", "--device", "b")
    # What stands there already would be no damage.
    other = "00" if link[20:22] == "zz" else "zz"
    stage.refuses("damaged link", USAGE, ["damaged"], "ben", "join", link[:20] + other + link[22:])
    stage.refuses(
        "folder without the invitation", FAILED, ["--folder"], "ben", "join", link, "--folder",
        stage.path("empty"))
    stage.must("ben", "join", link)
    stage.must("carla", "init", "--person", "Carla", "--device", "c")
    # What was fetched of the household's log stays; the people of the node do not change.
    stage.refuses("used link", FAILED, ["used"], "carla", "join", link, keeps=False)
    stage.refuses("joined already", FAILED, ["already"], "ben", "join", link)


def output(stage):
    """What cannot be printed is a failure; a reader that went away is none."""
    def must(name, holds, done):
        stage.cases += 1
        if not holds:
            stage.failures += 1
            print("FAILED %s: exit %d: %s" % (name, done.returncode, done.stderr.strip()[:300]))

    def written(target, *arguments):
        return subprocess.run(
            [stage.hearth, "--home", stage.path("anna"), *arguments], stdout=target,
            stderr=subprocess.PIPE, text=True, timeout=60)

    with open("/dev/full", "wb", buffering=0) as full:
        for line in (
            "export --json", "export --csv", "list", "list --json", "invite", "invite --json",
            "device add", "status", "--help", "--version", "help add"):
            done = written(full, *line.split())
            must(
                line + " > /dev/full", done.returncode == FAILED
                and "standard output could not be written: No space left" in done.stderr, done)
    states = [item["state"] for item in json.loads(
        stage.must("anna", "invite", "list", "--json"))["invitations"]]
    must("invitations nobody was given are open: %r" % states, "open" not in states, done)
    for line in ("list", "export --json"):
        reader, writer = os.pipe()
        os.close(reader)
        done = written(writer, *line.split())
        os.close(writer)
        must(line + " | head", done.returncode == 0 and done.stderr == "", done)


def help_of_groups(stage):
    """Options before the command harm no help."""
    for line, word in (
        ("help owner", "transfer"), ("owner -h", "transfer"), ("transport -h", "Add a transport"),
        ("", "SUBCOMMANDS"), ("transport", "SUBCOMMANDS"), ("--version", "hearth "),
    ):
        stage.refuses("hearth --home D " + line, 0, [word], "anna", *line.split())
    for line in ("--version", "manual"):
        said = stage.must("anna", line, "--json")
        stage.refuses("%s --json" % line, 0, ['"schema"'], "anna", line, "--json")
        try:
            json.loads(said)
        except ValueError:
            stage.failures += 1
            print("FAILED %s --json prints no JSON: %r" % (line, said[:100]))


def places(stage):
    """Links and addresses that lead nowhere change nothing and say what to look at."""
    folder, away = stage.path("folder"), stage.path("away")
    link = stage.must("anna", "invite").strip().splitlines()[-1]
    approved = stage.must("anna", "invite", "--approve").strip().splitlines()[-1]
    for invitation in json.loads(stage.must("anna", "invite", "list", "--json"))["invitations"]:
        if invitation["admission"] == "approve":
            stage.must("anna", "invite", "revoke", invitation["id"])
    stage.must("dora", "init", "--person", "Dora", "--device", "d")
    stage.refuses(
        "closed link by approval", FAILED, ["was closed", "ask Anna"], "dora", "join", approved)
    stage.refuses(
        "short address", USAGE, ["52 characters"], "dora", "join", link, "--folder",
        "hearth-relay://127.0.0.1:7440/abc")
    parts = link.split("/")
    stage.refuses(
        "damaged path", USAGE, ["damaged"], "dora", "join", "/".join(parts[:5] + ["zzzzzzzz"]))
    os.rename(folder, away)
    stage.refuses(
        "invite without the folder", OFFLINE, ["no invitation was made"], "anna", "invite")
    stage.refuses(
        "link to no folder", OFFLINE, ["there is no folder", "--folder"], "dora", "join", link)
    os.rename(away, folder)
    os.rename(os.path.join(folder, "z"), stage.path("z"))
    open(os.path.join(folder, "z"), "wb").close()
    before = stage.must("anna", "invite", "list").count("open")
    stage.refuses(
        "invite while nothing can be stored", OFFLINE, ["the invitation was closed again"], "anna",
        "invite", keeps=False)
    stage.cases += 1
    if stage.must("anna", "invite", "list").count("open") != before:
        stage.failures += 1
        print("FAILED an invitation that nobody was given is open")
    os.remove(os.path.join(folder, "z"))
    os.rename(stage.path("z"), os.path.join(folder, "z"))
    os.rename(folder, away)
    listed = stage.must("dora", "transport", "list", "--json")
    stage.cases += 1
    if json.loads(listed)["transports"]:
        stage.failures += 1
        print("FAILED a failed join left a transport: %s" % listed)
    # The folder is elsewhere on this device, and the node knows where.
    added = stage.run("dora", "transport", "add", "folder", away)
    stage.refuses("join over an own folder", 0, ["joined Home"], "dora", "join", link, keeps=False)
    os.rename(away, folder)
    stage.cases += 1
    if "or `hearth join -`" not in added.stderr:
        stage.failures += 1
        print("FAILED transport add does not tell of joining: " + added.stderr)
    strange = stage.path("strange\x1b[31m\u202e")
    os.mkdir(strange)
    stage.must("erik", "init", "--person", "Erik", "--device", "e")
    stage.must("erik", "household", "create", "Hut", "--time-zone", "UTC")
    stage.must("erik", "transport", "add", "folder", strange)
    link = stage.must("erik", "invite").strip().splitlines()[-1]
    shutil.rmtree(strange)
    stage.refuses(
        "link to a strange folder", OFFLINE, ["strange\\u{1b}[31m\\u{202e}"], "dora", "join", link)


def surroundings(stage):
    folder, away = stage.path("folder"), stage.path("away")
    os.rename(folder, away)
    stage.refuses("folder gone", OFFLINE, ["folder"], "anna", "sync")
    os.rename(away, folder)
    stage.must("anna", "sync")
    holder = subprocess.Popen(
        ["flock", stage.path("anna", "lock"), "sleep", "20"], start_new_session=True)
    try:
        done = subprocess.run(["flock", "-n", stage.path("anna", "lock"), "true"])
        while done.returncode == 0:
            done = subprocess.run(["flock", "-n", stage.path("anna", "lock"), "true"])
        stage.refuses("second process", LOCKED, ["another process"], "anna", "list", keeps=False)
    finally:
        os.killpg(holder.pid, 9)
        holder.wait()
    shutil.copytree(stage.path("anna"), stage.path("broken"))
    with open(stage.path("broken", "node.db"), "r+b") as database:
        database.write(b"this is no database" * 100)
    stage.refuses("corrupt database", CORRUPT, ["damaged"], "broken", "list", keeps=False)
    shutil.copytree(stage.path("anna"), stage.path("keyless"))
    with open(stage.path("keyless", "key"), "r+b") as key:
        key.truncate(40)
    stage.refuses("cut key file", CORRUPT, ["key"], "keyless", "list", keeps=False)
    os.remove(stage.path("keyless", "key"))
    for command in (["list"], ["init", "--person", "Nia"], ["status"]):
        stage.refuses(
            "no key file: " + command[0], CORRUPT, ["node.db is there without", "recover"],
            "keyless", *command, keeps=False)
    shutil.copyfile(stage.path("anna", "key"), stage.path("keyless", "key"))
    os.chmod(stage.path("keyless", "key"), 0o600)
    if "Dishes" not in stage.must("keyless", "list"):
        stage.failures += 1
        print("FAILED no key file: with the key back a chore is gone")


def full_disk(stage):
    """A node and a folder on a small file system of their own, where one may be mounted."""
    disk = stage.path("disk")
    os.mkdir(disk)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True)
    if mounted.returncode != 0:
        print("full disk: passed over, no file system may be mounted here")
        return
    try:
        stage.must("disk/node", "init", "--person", "Dan", "--device", "d")
        stage.must("disk/node", "household", "create", "Small", "--time-zone", "UTC")
        stage.must("disk/node", "add", "Before")
        with open(os.path.join(disk, "filler"), "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"x" * 4096)
            except OSError:
                pass
        status, count = 0, 0
        while status == 0 and count < 3000:
            done = stage.run("disk/node", "add", "Chore %d" % count)
            status, count = done.returncode, count + 1
        stage.cases += 1
        if status != FAILED or "full" not in done.stderr:
            stage.failures += 1
            print("FAILED full disk: exit %d, %s" % (status, done.stderr.strip()[:300]))
        os.remove(os.path.join(disk, "filler"))
        listed = stage.must("disk/node", "list")
        stage.must("disk/node", "add", "After")
        stage.must("disk/node", "verify")
        if "Before" not in listed:
            stage.failures += 1
            print("FAILED full disk: an acknowledged chore is gone")
    finally:
        subprocess.run(["umount", "-l", disk])


def main():
    stage = Stage(sys.argv[1])
    os.mkdir(stage.path("folder"))
    os.mkdir(stage.path("empty"))
    stage.must("anna", "init", "--person", "Anna", "--device", "a")
    stage.must("anna", "household", "create", "Home", "--time-zone", "Europe/Berlin")
    stage.must("anna", "transport", "add", "folder", stage.path("folder"))
    stage.must("anna", "add", "Dishes", "--every", "day")
    for part in (
        arguments, help_of_groups, output, secret_folders, places, invitations, damaged_homes,
        surroundings, full_disk,
    ):
        part(stage)
    shutil.rmtree(stage.root)
    print("%d refusals, %d wrong" % (stage.cases, stage.failures))
    sys.exit(1 if stage.failures else 0)


main()
