#!/usr/bin/env python3
"""Loses a laptop and brings everything back from twelve words and the shared folder.

    recovery.py HEARTH

A household of two as people would do it: words shown and confirmed, the laptop lost, a new one
recovered; then wrong words, forged and missing capsules, replaced words, a removed person. At the
end no file of any home or folder may hold a word's secret or a key that follows from it, be it
raw, in hexadecimal digits or in base64.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from keys import base64_forms, recovery_secrets

FAILED, OFFLINE, NOT_ALLOWED, CORRUPT, USAGE = 1, 3, 4, 7, 64
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

    def document(self, home, *arguments, piped=""):
        return json.loads(self.must(home, *arguments, "--json", piped=piped))

    def refuses(self, name, status, said, home, *arguments, piped="", isBare=False):
        done = self.run(home, *arguments, piped=piped)
        check(done.returncode == status, "%s: exit %d instead of %d: %s" % (
            name, done.returncode, status, done.stderr.strip()[:400]))
        check(said in done.stderr, "%s: does not say %r but %r" % (name, said, done.stderr[:400]))
        check(
            not re.search(r"\b(malformed|badLength|invalid|tooLarge): ", done.stderr),
            "%s: says a word for programs: %r" % (name, done.stderr[:400]))
        check(len(done.stderr.strip().splitlines()) <= 3, "%s: more than one error" % name)
        if isBare:
            left = [n for n in os.listdir(self.root) if n.startswith(home)]
            check(not left, "%s: left %s behind" % (name, left))

    def words(self, home, command, old="", spoil=False):
        """Makes words, types two of them back, and gives them with the exit code."""
        process = subprocess.Popen(
            [self.hearth, "--home", self.path(home), "words", command, "--force"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment)
        if old:
            process.stdin.write(old + "\n")
            process.stdin.flush()
        found, asked = {}, 0
        while len(found) < 12:
            line = process.stdout.readline()
            if not line:
                sys.exit("no words: " + process.stderr.read())
            found.update({int(n): w for n, w in re.findall(r"(\d+)\. +([a-z]+)", line)})
        self.remarks = ""
        for line in process.stderr:
            self.remarks += line
            place = re.search(r"from your paper, word (\d+)", line)
            if place:
                asked += 1
                word = found[int(place.group(1))]
                process.stdin.write(("zoo" if spoil and word != "zoo" else word) + "\n")
                process.stdin.flush()
        process.stdin.close()
        check(asked == (1 if spoil else 2), "%s: %d words were asked for" % (command, asked))
        return " ".join(found[n] for n in range(1, 13)), process.wait(timeout=60)


def digest(stage, home, name="Home"):
    zones = stage.document(home, "digest")["zones"]
    return [(z["name"], z["digest"]) for z in zones if z["database"] == "shared"]


def household(stage):
    stage.must("laptop", "init", "--person", "Anna", "--device", "laptop")
    stage.must("laptop", "household", "create", "Home", "--time-zone", "UTC")
    stage.must("laptop", "transport", "add", "folder", stage.folder)
    invited = stage.run("laptop", "invite")
    check("only device" in invited.stderr, "invite does not warn: " + invited.stderr)
    check("only device" in stage.must("laptop", "status"), "status does not warn")
    stage.must("ben", "init", "--person", "Ben", "--device", "phone")
    stage.must("ben", "join", invited.stdout.strip().splitlines()[-1])
    check("only device" not in stage.must("ben", "status"), "a member is warned like an owner")
    stage.must("laptop", "sync")
    stage.must("laptop", "add", "Wash the dishes", "--every", "day", "--points", "3")
    stage.must("laptop", "add", "Repair the bicycle", "--points", "20", "--assign", "Ben")
    stage.must("laptop", "done", "dishes")
    stage.must("laptop", "sync")
    stage.must("ben", "sync")
    stage.must("ben", "done", "bicycle")
    stage.must("ben", "sync")


def make_words(stage):
    stage.refuses("words without a terminal", USAGE, "terminal only", "laptop", "words", "show")
    stage.refuses(
        "words in JSON", USAGE, "terminal only", "laptop", "words", "show", "--json")
    _, status = stage.words("laptop", "show", spoil=True)
    check(status == FAILED, "a wrong confirmation ended with %d" % status)
    stage.refuses(
        "check without words", FAILED, "no recovery words", "laptop", "words", "check",
        piped=" ".join(["abandon"] * 11 + ["about"]))
    words, status = stage.words("laptop", "show")
    check(status == 0, "words show ended with %d" % status)
    check(
        "hearth recover --transport " + stage.folder in stage.remarks,
        "words show does not say what to type on a new device: " + stage.remarks)
    stage.refuses("a second look", FAILED, "cannot be shown again", "laptop", "words", "show",
                  "--force")
    check("only device" not in stage.must("laptop", "status"), "still warned with words")
    check("right" in stage.must("laptop", "words", "check", piped=words.upper()), "check")
    numbered = "\n".join("%d. %s" % (n + 1, w) for n, w in enumerate(words.split()))
    stage.must("laptop", "words", "check", piped=numbered)
    stage.must("laptop", "sync")
    stage.must("ben", "sync")
    return words


def lose_and_recover(stage, words):
    before = digest(stage, "laptop")
    shutil.copytree(stage.path("laptop"), stage.path("stolen"))
    shutil.rmtree(stage.path("laptop"))
    # What Ben does while Anna has nothing comes back as well.
    stage.must("ben", "add", "Water the plants", "--points", "2")
    stage.must("ben", "sync")
    done = stage.run("new", "recover", "--transport", stage.folder, "--device", "new laptop",
                     "--revoke-others", piped=words)
    check(done.returncode == 0, "recover ended with %d: %s" % (done.returncode, done.stderr))
    for said in ("Anna is back", "Home", "Ben (20 points)", "Anna (3 points)", "chores:  3",
                 "revoked: laptop"):
        check(said in done.stdout, "recover does not say %r: %s" % (said, done.stdout))
    check("words rotate" in done.stderr, "recover does not say what is next: " + done.stderr)
    print(done.stdout + done.stderr)
    check(before != digest(stage, "new"), "nothing of Ben's came")
    for home in ("ben", "new", "ben"):
        stage.must(home, "sync")
    check(digest(stage, "new") == digest(stage, "ben"), "digests differ after recovery")
    status = stage.must("ben", "status")
    check("recovery words were used" in status, "Ben is not told: " + status)
    check(stage.must("new", "words", "check", piped=words).startswith("right"), "check on new")
    # The thief's copy still reaches the folder, and learns nothing that is written from now on.
    stage.must("ben", "add", "Change the locks", "--points", "5")
    stage.must("ben", "sync")
    stage.run("stolen", "sync")
    stage.run("stolen", "add", "Sell the bicycle")
    stage.run("stolen", "sync")
    check("locks" not in stage.must("stolen", "list", "--all"), "the stolen laptop reads on")
    for home in ("ben", "new"):
        stage.must(home, "sync")
        check("Sell" not in stage.must(home, "list", "--all"), "the stolen laptop writes on")
    check("locks" in stage.must("new", "list", "--all"), "the new laptop reads nothing new")
    check(digest(stage, "new") == digest(stage, "ben"), "digests differ after the theft")


def refuse(stage, words):
    bare = dict(isBare=True)
    recover = ["bare", "recover", "--transport", stage.folder]
    several = words.split()
    stage.refuses("eleven words", USAGE, "1 missing", *recover,
                  piped=" ".join(several[:11]), **bare)
    swapped = " ".join([several[1], several[0]] + several[2:])
    done = stage.run("ben", "words", "check", piped=swapped)
    check(
        "malformed:" not in done.stderr and done.returncode != 0,
        "swapped words: %d %s" % (done.returncode, done.stderr))
    for place in ("hearth-relay://192.0.2.7:7440/0k3f", "hearth-relais://192.0.2.7:7440/"):
        said = "52 characters" if "relay:" in place else "begins with hearth-relay://"
        stage.refuses("a shortened address", USAGE, said, "bare", "recover", "--transport", place,
                      piped=words, **bare)
    stage.refuses("a folder around the home", USAGE, "private key", "bare", "recover", "--transport",
                  stage.path("."), piped=words, **bare)
    stage.refuses("a word of no list", USAGE, "Word 1", *recover,
                  piped=" ".join(["hearth"] + several[1:]), **bare)
    stage.refuses("no words", USAGE, "nothing was typed", *recover, **bare)
    other = "abandon amount liar amount expire adjust cage candy arch gather drum buyer"
    stage.refuses("words of others", FAILED, "nothing in", *recover, piped=other, **bare)
    stage.refuses("no folder", OFFLINE, "cannot be read", "bare", "recover", "--transport",
                  stage.path("nowhere"), piped=words, **bare)
    stage.refuses("a home in use", FAILED, "not empty", "ben", "recover", "--transport",
                  stage.folder, piped=words)
    places = [os.path.join(stage.folder, "i", name) for name in os.listdir(stage.folder + "/i")]
    capsule = next(p for p in places if recovery_secrets(words)["locator"].hex() in p)
    with open(capsule, "rb") as file:
        good = file.read()
    with open(capsule, "wb") as file:
        file.write(good[:-1] + bytes([good[-1] ^ 1]))
    stage.refuses("a forged capsule", CORRUPT, "damaged or forged", *recover, piped=words, **bare)
    os.remove(capsule)
    stage.refuses("no capsule", FAILED, "nothing in", *recover, piped=words, **bare)
    stage.must("new", "sync")
    check(os.path.exists(capsule), "a missing capsule was not put back by sync")
    return capsule


def rotate(stage, words, capsule):
    with open(capsule, "rb") as file:
        old = file.read()
    stage.refuses("rotate with others", NOT_ALLOWED, "not your present", "new", "words", "rotate",
                  "--force", piped="abandon amount liar amount expire adjust cage candy arch "
                  "gather drum buyer\n")
    new, status = stage.words("new", "rotate", old=words)
    check(status == 0 and new != words, "rotate ended with %d" % status)
    check(not os.path.exists(capsule), "the old capsule is still in the folder")
    stage.refuses("old words", FAILED, "nothing in", "bare", "recover", "--transport",
                  stage.folder, piped=words, isBare=True)
    with open(capsule, "wb") as file:
        file.write(old)
    stage.refuses("old words, old capsule", NOT_ALLOWED, "newer recovery words replaced", "bare",
                  "recover", "--transport", stage.folder, piped=words, isBare=True)
    os.remove(capsule)
    stage.refuses("check of old words", NOT_ALLOWED, "not your present", "new", "words", "check",
                  piped=words)
    shown = stage.document("second", "recover", "--transport", stage.folder, "--device", "tablet",
                           piped=new)
    check([h["name"] for h in shown["households"]] == ["Home"] and shown["person"] == "Anna",
          "recover --json says %s" % shown)
    stage.must("new", "sync")
    check("add the device tablet" in stage.must("new", "status"), "the own device is not told")
    check(digest(stage, "second") == digest(stage, "new"), "digests differ on the second device")
    return new


def hand_on(stage, words):
    """A device that joined by a link gets the place of the capsule, and no file of it tells."""
    link = stage.must("new", "device", "add").strip().splitlines()[-1]
    stage.must("added", "init", "--person", "Anna", "--device", "phone")
    stage.must("added", "join", link)
    stage.must("new", "sync")
    stage.must("added", "sync")
    place = os.path.join(
        stage.folder, "i", recovery_secrets(words)["locator"].hex() + ".cap")
    os.remove(place)
    stage.must("added", "sync")
    check(os.path.exists(place), "the device that was added does not renew the capsule")
    right = stage.document("added", "words", "check", piped=words)
    check(right["right"] and [c.get("fault") for c in right["capsules"]] == [None], "%r" % right)


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
    household(stage)
    words = make_words(stage)
    lose_and_recover(stage, words)
    capsule = refuse(stage, words)
    new = rotate(stage, words, capsule)
    hand_on(stage, new)
    files = scan(stage, [words, new])
    shutil.rmtree(stage.root)
    print("recovery: %d failures, %d files without a secret" % (len(failures), files))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
