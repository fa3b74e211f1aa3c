#!/usr/bin/env python3
"""No file of any home or folder holds what follows from recovery words.

    recovery.py HEARTH

The story itself is a plain transcript: Transcripts/recovery.txt. Here it is played in short, since
this needs the bytes of files: a forged capsule is refused, and at the end no file holds a word's
secret or a key that follows from it, be it raw, in hexadecimal digits or in base64.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from keys import base64_forms, recovery_secrets
from write_down import write_down

FAILED, CORRUPT = 1, 7
failures = []


def check(holds, words):
    if not holds:
        failures.append(words)
        print("FAILED " + words)


class Stage:
    def __init__(self, hearth):
        self.hearth = os.path.abspath(hearth)
        self.root = tempfile.mkdtemp(prefix="hearth-recovery-")
        self.folder = self.path("folder")
        os.mkdir(self.folder)
        self.environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("HEARTH_", "CLICOLOR", "COLUMNS", "NO_COLOR", "XDG_"))}
        self.environment.update(HOME=self.root, TZ="UTC", LC_ALL="C.UTF-8")

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def run(self, home, *arguments, piped=""):
        return subprocess.run(
            [self.hearth, "--home", self.path(home), *arguments], capture_output=True, text=True,
            timeout=120, input=piped, env=self.environment)

    def must(self, home, *arguments, piped=""):
        done = self.run(home, *arguments, piped=piped)
        if done.returncode != 0:
            sys.exit("hearth %s ended with %d: %s" % (
                " ".join(arguments), done.returncode, done.stderr))
        return done.stdout

    def words(self, home, command, typed="", is_wrong=False, status=0):
        """Makes words and types two of them back; gives them."""
        words, told, ended = write_down(
            [self.hearth, "--home", self.path(home), "words", command, "--force"], typed, is_wrong,
            self.environment)
        check(ended == status, "words %s ended with %d: %s" % (command, ended, told))
        asked = told.count("from your paper, word ")
        check(asked == (1 if is_wrong else 2), "%s: %d words were asked for" % (command, asked))
        return words


def play(stage):
    """The story of Transcripts/recovery.txt in short, with a forged capsule; gives all words."""
    stage.must("laptop", "init", "--person", "Anna", "--device", "laptop")
    stage.must("laptop", "household", "create", "Home", "--time-zone", "UTC")
    stage.must("laptop", "transport", "add", "folder", stage.folder)
    stage.must("ben", "init", "--person", "Ben", "--device", "phone")
    stage.must("ben", "join", stage.must("laptop", "invite").strip().splitlines()[-1])
    spoilt = stage.words("laptop", "show", is_wrong=True, status=FAILED)
    words = stage.words("laptop", "show")
    stage.must("laptop", "sync")
    shutil.move(stage.path("laptop"), stage.path("stolen"))
    recover = ["recover", "--transport", stage.folder]
    capsule = os.path.join(stage.folder, "i", recovery_secrets(words)["locator"].hex() + ".cap")
    with open(capsule, "rb") as file:
        good = file.read()
    with open(capsule, "wb") as file:
        file.write(good[:-1] + bytes([good[-1] ^ 1]))
    done = stage.run("bare", *recover, piped=words)
    check(done.returncode == CORRUPT and "damaged or forged" in done.stderr,
          "a forged capsule: %d %s" % (done.returncode, done.stderr))
    check(not re.search(r"\b(malformed|badLength|invalid|tooLarge): ", done.stderr),
          "a forged capsule: says a word for programs: " + done.stderr)
    left = [name for name in os.listdir(stage.root) if name.startswith("bare")]
    check(not left, "a forged capsule: left %s behind" % left)
    with open(capsule, "wb") as file:
        file.write(good)
    stage.must("new", *recover, "--device", "new laptop", "--revoke-others", piped=words)
    stage.must("new", "words", "check", piped=words)
    stage.must("stolen", "sync")
    new = stage.words("new", "rotate", typed=words + "\n")
    check(not os.path.exists(capsule), "the old capsule is still in the folder")
    stage.must("second", *recover, "--device", "tablet", piped=new)
    # A device that joined by a link gets the place of the capsule, and no file of it tells.
    link = stage.must("new", "device", "add").strip().splitlines()[-1]
    stage.must("added", "init", "--person", "Anna", "--device", "phone")
    stage.must("added", "join", link)
    stage.must("new", "sync")
    stage.must("added", "sync")
    place = os.path.join(stage.folder, "i", recovery_secrets(new)["locator"].hex() + ".cap")
    os.remove(place)
    stage.must("added", "sync")
    check(os.path.exists(place), "the device that was added does not renew the capsule")
    right = json.loads(stage.must("added", "words", "check", "--json", piped=new))
    check(right["right"] and [c.get("fault") for c in right["capsules"]] == [None], "%r" % right)
    return [spoilt, words, new]


def scan(stage, sheets):
    needles = {}
    for number, words in enumerate(sheets):
        several = words.split()
        for start in range(10):
            needles["words %d" % number, start] = " ".join(several[start:start + 3]).encode()
        for name, secret in recovery_secrets(words).items():
            if name == "locator":
                continue
            needles[name, number, "raw"] = secret
            needles[name, number, "hex"] = secret.hex().encode()
            needles[name, number, "HEX"] = secret.hex().upper().encode()
            for shift, text in enumerate(base64_forms(secret)):
                needles[name, number, "base64", shift] = text
    files = 0
    for folder, _, present in os.walk(stage.root):
        for name in present:
            files += 1
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
            for what, needle in needles.items():
                check(needle not in content, "%s is in %s" % (what, os.path.join(folder, name)))
    check(files > 20, "only %d files were looked at" % files)
    example = recovery_secrets(
        "abandon amount liar amount expire adjust cage candy arch gather drum buyer")
    check(example["locator"].hex() == "0ceb22084f9e53ff77971f927eae419b",
          "the derivation of the reference is not this one")
    return files


def main():
    stage = Stage(sys.argv[1])
    files = scan(stage, play(stage))
    shutil.rmtree(stage.root)
    print("recovery: %d failures, %d files without a secret" % (len(failures), files))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
