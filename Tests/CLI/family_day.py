#!/usr/bin/env python3
"""A small family day through the command line, compared with what it printed before.

    family_day.py HEARTH [--write]

Compares the transcript with family_day.txt and the form of every JSON document with
family_day.json (keys may be added, never lost or changed in type); --write makes both anew. Then
looks at exit codes, signals, pipes, the environment and read-only folders.
"""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TRANSCRIPT, FORMS = (os.path.join(HERE, "family_day." + end) for end in ("txt", "json"))
READING = [
    "list", "list --all", "today", "week", "show dishes", "points", "points explain Anna",
    "leaderboard --all", "history", "log", "status", "digest", "verify", "doctor", "conflicts",
    "member list", "device list", "household list", "transport list", "settings list",
    "settings get list-order", "export", "version", "exit-codes", "sync",
]
failures = []


def check(holds, words):
    if not holds:
        failures.append(words)
        print("FAILED " + words)


class Stage:
    def __init__(self, hearth):
        self.hearth = os.path.abspath(hearth)
        self.root = tempfile.mkdtemp(prefix="hearth-day-")
        self.lines = []
        self.environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("HEARTH_", "CLICOLOR", "COLUMNS", "NO_COLOR", "XDG_"))}
        self.environment.update(HOME=self.root, TZ="UTC", LC_ALL="C.UTF-8")

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def run(self, *arguments, prefix=(), **environment):
        return subprocess.run(
            [*prefix, self.hearth, *arguments], capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL, env=dict(self.environment, **environment))

    def on(self, home, *arguments):
        """Runs a command of the day and keeps what it printed, without what differs each time."""
        done = self.run("--home", self.path(home), *arguments)
        self.lines.append(self.plain("$ hearth --home %s %s" % (home, " ".join(arguments))))
        for stream, text in (("", done.stdout), ("! ", done.stderr)):
            self.lines += [self.plain(stream + line) for line in text.splitlines()]
        if done.returncode:
            self.lines.append("exit %d" % done.returncode)
        return done

    def plain(self, text):
        text = text.replace(self.root, "ROOT")
        text = re.sub(r"hearth://\S+", "LINK", text)
        text = re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", "DATE", text)
        text = re.sub(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) DATE", "DAY DATE", text)
        text = re.sub(r"\b[0-9a-f]{8,64}\b", "HEX", text)
        text = re.sub(r"\(\d+ bytes\)", "(N bytes)", text)
        return re.sub(r" {2,}", "  ", text).rstrip()


def day(stage):
    os.mkdir(stage.path("folder"))
    on = stage.on
    on("anna", "init", "--person", "Anna", "--device", "laptop")
    on("anna", "household", "create", "Home", "--time-zone", "UTC")
    on("anna", "transport", "add", "folder", stage.path("folder"))
    link = on("anna", "invite").stdout.strip().splitlines()[-1]
    on("ben", "init", "--person", "Ben", "--device", "phone")
    on("ben", "join", link)
    on("anna", "sync")
    on("anna", "add", "Wash the dishes", "--every", "day", "--points", "3", "--tag", "kitchen")
    on("anna", "add", "Repair the bicycle", "--points", "20", "--assign", "Ben")
    on("anna", "add", "Old plan")
    on("anna", "archive", "old")
    on("anna", "done", "dishes")
    on("anna", "done", "dishes")
    on("ben", "sync")
    on("anna", "sync")
    on("ben", "sync")
    on("ben", "done", "bicycle")
    on("ben", "show", "old")
    on("ben", "done", "r")
    on("ben", "done", "disches")
    on("ben", "sync")
    on("anna", "sync")
    on("anna", "undo")
    on("anna", "undo")
    on("anna", "settings", "set", "list-order", "points")
    on("anna", "settings", "set", "week-start", "Sunday")
    on("ben", "settings", "set", "duplicate", "everybody")
    for words in ("list", "today", "show dishes", "points Ben", "leaderboard --all",
                  "settings list", "household list", "conflicts"):
        on("anna", *words.split())


def form(value):
    """The form of a JSON value: keys and types; elements of a list are taken together."""
    if isinstance(value, dict):
        return {key: form(item) for key, item in value.items()}
    if isinstance(value, list):
        merged = None
        for item in value:
            item = form(item)
            both = isinstance(merged, dict) and isinstance(item, dict)
            # Optional keys of some elements do not belong to what every element has.
            merged = {k: v for k, v in merged.items() if k in item} if both else item
        return [merged] if value else []
    return type(value).__name__


def keeps(old, new, place):
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            if key not in new:
                check(False, "JSON of %s lost the key %s" % (place, key))
            else:
                keeps(old[key], new[key], place + "." + key)
    elif isinstance(old, list) and isinstance(new, list):
        if old and new:
            keeps(old[0], new[0], place + "[]")
    else:
        check(old == new, "JSON of %s is %s, was %s" % (place, new, old))


def documents(stage):
    forms = {}
    for words in READING:
        done = stage.run("--home", stage.path("anna"), *words.split(), "--json")
        check(done.returncode in (0, 2), "%s --json: exit %d" % (words, done.returncode))
        try:
            document = json.loads(done.stdout)
        except ValueError:
            check(False, "%s --json prints no JSON: %r" % (words, done.stdout[:100]))
            continue
        check(document.get("schema") == 1, "%s --json has no schema" % words)
        forms[words] = form(document)
    return forms


def errors(stage):
    home = ("--home", stage.path("anna"))
    for status, code, arguments in (
        (64, "usage", [*home, "lst"]), (64, "usage", [*home, "list", "--frobnicate"]),
        (64, "usage", [*home, "done"]), (1, "failed", [*home, "show", "quark"]),
        (64, "usage", [*home, "settings", "get", "colour"]),
        (5, "noNode", ["--home", stage.path("nobody"), "list"]),
        (3, "offline", [*home, "transport", "add", "folder", stage.path("missing")]),
        (1, "failed", ["--home", stage.path("anna"), "--household", "Castle", "list"]),
    ):
        plain, done = stage.run(*arguments), stage.run(*arguments, "--json")
        check(plain.returncode == status, "%r: exit %d" % (arguments, plain.returncode))
        check(not plain.stdout and not done.stdout, "%r prints on standard output" % arguments)
        try:
            error = json.loads(done.stderr.strip().splitlines()[-1])
            check(error["schema"] == 1, "%r: no schema" % arguments)
            error = error["error"]
            check(
                (error["code"], error["exit"]) == (code, status) and error["message"],
                "%r: %r" % (arguments, error))
        except (ValueError, KeyError, IndexError):
            check(False, "%r --json: %r" % (arguments, done.stderr))
    listed = json.loads(stage.run("exit-codes", "--json").stdout)["exitCodes"]
    check(
        [item["code"] for item in listed] == [0, 1, 2, 3, 4, 5, 6, 7, 64, 130, 143],
        "exit codes: %r" % listed)
    for item in listed:
        check(item["meaning"] in stage.run("help", "exit-codes").stdout, "help lacks %r" % item)


def surroundings(stage):
    anna = stage.path("anna")
    listed = stage.run("--home", anna, "list").stdout
    for done in (
        stage.run("list", "--home", anna), stage.run("list", HEARTH_HOME=anna),
        stage.run("--home", anna, "list", HEARTH_HOME=stage.path("nobody")),
    ):
        check(done.stdout == listed, "the node's folder is not found: %s" % done.stderr)
    os.makedirs(stage.path("data"))
    shutil.copytree(anna, stage.path("data", "hearth"))
    done = stage.run("list", XDG_DATA_HOME=stage.path("data"))
    check(done.stdout == listed, "XDG_DATA_HOME: " + done.stderr)
    check(stage.run("list").returncode == 5, "a node where none should be")
    coloured = stage.run("--home", anna, "list", CLICOLOR_FORCE="1").stdout
    check("\x1b[1m" in coloured, "CLICOLOR_FORCE does not colour")
    plain = stage.run("--home", anna, "list", CLICOLOR_FORCE="1", NO_COLOR="1").stdout
    check("\x1b" not in plain, "NO_COLOR does not win")
    check("\x1b" in stage.run("--home", anna, "--color", "always", "list").stdout, "--color")


def passphrases(stage):
    home = ("--home", stage.path("safe"))
    secret, wrong = stage.path("secret"), stage.path("wrong")
    for path, words in ((secret, "correct horse battery\n"), (wrong, "wrong\n")):
        with open(path, "w") as file:
            file.write(words)
    done = stage.run(*home, "init", "--person", "Sam", HEARTH_PASSPHRASE_FILE=secret)
    check(done.returncode == 0, "init with a passphrase: " + done.stderr)
    for status, options, environment in (
        (4, [], {}), (4, [], {"HEARTH_PASSPHRASE_FILE": wrong}),
        (0, [], {"HEARTH_PASSPHRASE_FILE": secret}), (0, ["--passphrase-file", secret], {}),
        (0, ["--passphrase-file", secret], {"HEARTH_PASSPHRASE_FILE": wrong}),
        # A variable that holds the passphrase itself is not read.
        (4, [], {"HEARTH_PASSPHRASE": "correct horse battery"}),
        (1, [], {"HEARTH_PASSPHRASE_FILE": stage.path("missing")}),
    ):
        done = stage.run(*home, *options, "status", **environment)
        check(
            done.returncode == status,
            "passphrase %r %r: exit %d, %s" % (options, environment, done.returncode, done.stderr))
        check("horse" not in done.stderr + done.stdout, "the passphrase is printed")


def pipes_and_signals(stage):
    anna = stage.path("anna")
    done = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$0" --home "$1" list | head -1', stage.hearth, anna],
        capture_output=True, text=True, timeout=60, env=stage.environment)
    check(done.returncode == 0 and not done.stderr, "list | head: %r" % done)
    closed = subprocess.run(
        ["bash", "-c", '"$0" --home "$1" export --json | true; echo "${PIPESTATUS[0]}"',
         stage.hearth, anna], capture_output=True, text=True, timeout=60, env=stage.environment)
    check(closed.stdout.strip() == "0" and not closed.stderr, "a closed pipe: %r" % closed)
    for number in (signal.SIGINT, signal.SIGTERM):
        watch = subprocess.Popen(
            [stage.hearth, "--home", anna, "sync", "--watch"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=stage.environment)
        line = watch.stderr.readline()
        check("watching" in line, "sync --watch says %r" % line)
        # While it watches, others can work; and what they write reaches the folder by itself.
        title = "Written while watching %d" % number
        check(stage.run("--home", anna, "add", title).returncode == 0, "add beside --watch")
        line = watch.stdout.readline()
        check("published 1 segment" in line, "sync --watch publishes: %r" % line)
        watch.send_signal(number)
        try:
            _, said = watch.communicate(timeout=20)
            check(watch.returncode == 0 and "stopped" in said, "signal %d: exit %d, %r" % (
                number, watch.returncode, said))
        except subprocess.TimeoutExpired:
            watch.kill()
            check(False, "signal %d does not end sync --watch" % number)
        started = time.monotonic()
        check(stage.run("--home", anna, "list").returncode == 0, "the lock was left")
        check(time.monotonic() - started < 3, "the lock was waited for")


def terminals(stage):
    """On a terminal of forty columns, lines fit and headers are emphasised."""
    listed = []
    for environment in ({"COLUMNS": "40"}, {"COLUMNS": "40", "NO_COLOR": "1"}):
        master, slave = pty.openpty()
        done = subprocess.run(
            [stage.hearth, "--home", stage.path("anna"), "list"], stdout=slave, stderr=slave,
            stdin=slave, timeout=60, env=dict(stage.environment, TERM="xterm", **environment))
        os.close(slave)
        text = b""
        try:
            while chunk := os.read(master, 65536):
                text += chunk
        except OSError:
            pass
        os.close(master)
        check(done.returncode == 0, "list on a terminal: exit %d" % done.returncode)
        listed.append(text.decode().replace("\r", ""))
    check("\x1b[1m" in listed[0] and "\x1b" not in listed[1], "emphasis on a terminal")
    bare = re.sub(r"\x1b\[\d+m", "", listed[0]).splitlines()
    check(bare == listed[1].splitlines(), "emphasis changes words")
    check("…" in listed[1], "a narrow terminal shortens nothing")


def read_only(stage):
    """A node whose folder and files may not be written by the one who runs the command."""
    home = stage.path("sealed")
    shutil.copytree(stage.path("anna"), home)
    for name in os.listdir(home):
        os.chmod(os.path.join(home, name), 0o444)
    os.chmod(home, 0o555)
    os.chmod(stage.root, 0o755)
    prefix = ()
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            print("read-only folder: passed over, root is not kept out and there is no setpriv")
            return
        prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        if stage.run("version", prefix=prefix).returncode != 0:
            print("read-only folder: passed over, the program cannot be run as another user")
            return
    for words in (["list"], ["add", "Not to be"], ["sync"]):
        done = stage.run("--home", home, *words, prefix=prefix)
        check(
            done.returncode == 1 and "hearth: error:" in done.stderr and home in done.stderr,
            "read-only %r: exit %d, %s" % (words, done.returncode, done.stderr))
    done = stage.run("--home", stage.path("sealed", "new"), "init", "--person", "X", prefix=prefix)
    check(
        done.returncode == 1 and "permission" in done.stderr,
        "init in a read-only folder: exit %d, %s" % (done.returncode, done.stderr))
    os.chmod(home, 0o755)


def long_words(stage):
    """Texts far beyond what is allowed, as long as the system lets an argument be."""
    home = ("--home", stage.path("anna"))
    for arguments in (["add", "x" * 131_000], ["add", "y", "--note", "x" * 131_000],
                      ["done", "z" * 131_000], ["settings", "set", "name", "n" * 131_000]):
        done = stage.run(*home, *arguments)
        check(
            done.returncode in (1, 64) and len(done.stderr) < 1_000,
            "%s: exit %d, %d characters" % (
                arguments[0], done.returncode, len(done.stderr)))


def main():
    stage = Stage(sys.argv[1])
    day(stage)
    forms = documents(stage)
    transcript = "\n".join(stage.lines) + "\n"
    if "--write" in sys.argv:
        with open(TRANSCRIPT, "w") as file:
            file.write(transcript)
        with open(FORMS, "w") as file:
            json.dump(forms, file, indent=1, sort_keys=True)
            file.write("\n")
    with open(TRANSCRIPT) as file:
        known = file.read()
    if transcript != known:
        before, after = known.splitlines(), transcript.splitlines()
        place = next((i for i, pair in enumerate(zip(before, after)) if pair[0] != pair[1]),
                     min(len(before), len(after)))
        check(False, "the transcript differs in line %d:\n  was %r\n  is  %r" % (
            place + 1, before[place:place + 2], after[place:place + 2]))
    with open(FORMS) as file:
        for words, old in json.load(file).items():
            keeps(old, forms.get(words, {}), words)
    for part in (errors, surroundings, passphrases, pipes_and_signals, terminals, read_only,
                 long_words):
        part(stage)
    shutil.rmtree(stage.root)
    print("family day: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
