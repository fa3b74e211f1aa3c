#!/usr/bin/env python3
"""Files of the shared folder that a disk or a program has spoilt where they lie.

    decay.py HEARTH [--show]

Everybody who has everything goes by names, so only somebody new reads those files. They must be told
what is wrong and who can mend it; a device that has the content must see it, put it right when told
to, and in time without being told. So it is with the files that nobody but newcomers and people with
recovery words ever read: capsules. `sync --check` ends with 0 exactly if nothing stays damaged.
"""
import glob
import json
import os
import shutil
import sys

from nodes import Nodes, check, failures

FAILED, PARTIAL = 1, 2
SPOILS = {
    "one bit": lambda data: data[:100] + bytes([data[100] ^ 4]) + data[101:],
    "cut short": lambda data: data[:-40],
    "all zero": lambda data: bytes(len(data)),
    "empty": lambda data: b"",
    "too much": lambda data: data + b"and more",
}


class Shelf(Nodes):
    """Nodes at one folder, and the files in it."""

    def __init__(self, hearth, shows):
        super().__init__(hearth, shows, "hearth-decay-")
        os.mkdir(self.path("folder"))

    def files(self):
        found = {}
        for place, _, names in os.walk(self.path("folder")):
            for name in names:
                if name.endswith(".seg"):
                    path = os.path.join(place, name)
                    with open(path, "rb") as file:
                        found[path] = file.read()
        return found

    def capsules(self):
        return set(glob.glob(self.path("folder", "i", "*.cap")))

    def spoil(self, files, way):
        for path, data in files.items():
            with open(path, "wb") as file:
                file.write(SPOILS[way](data))


def beginning(shelf):
    shelf.says("ada", ["init", "--person", "Ada", "--device", "laptop"], "next:")
    shelf.says("ada", ["household", "create", "Home", "--time-zone", "UTC"], "Home")
    shelf.says("ada", ["transport", "add", "folder", shelf.path("folder")])
    for number in range(3):
        shelf.says("ada", ["add", "Chore %d" % number], "added")
        shelf.says("ada", ["sync"])
    shelf.says("ada", ["doctor"], "all is well")


def a_newcomer_is_told(shelf):
    link = shelf.says("ada", ["invite"], "hearth join").strip().splitlines()[-1]
    whole = shelf.files()
    check(len(whole) >= 5, "%d files are too few" % len(whole))
    shelf.says("ben", ["init", "--person", "Ben", "--device", "phone"], "next:")
    for way in SPOILS:
        shelf.spoil(whole, way)
        shelf.says("ben", ["join", link], "cannot be used", "hearth sync --check", "Ada",
                   status=FAILED)
        shelf.says("ada", ["doctor"], "%d files in" % len(whole), "hearth sync --check",
                   status=PARTIAL)
        check(shelf.files() != whole, "looking put the files right that are %s" % way)
        shelf.says("ada", ["sync", "--check"], "repaired %d damaged files" % len(whole))
        check(shelf.files() == whole, "files that were %s are not as they were" % way)
    shelf.says("ada", ["doctor"], "all is well")
    shelf.says("ben", ["join", link], "joined Home as member")
    chores = json.loads(shelf.says("ben", ["list", "--json"]))["chores"]
    check(len(chores) == 3, "Ben sees %d chores" % len(chores))


def without_being_told(shelf):
    """Each sync reads a few; in time all are right again, by whoever has them."""
    # Ada confirms Ben's joining; Ben must have that before he can put it right.
    shelf.says("ada", ["sync"])
    shelf.says("ben", ["sync"])
    whole = shelf.files()
    shelf.spoil(whole, "one bit")
    rounds = 0
    while shelf.files() != whole and rounds < 200:
        shelf.says("ben", ["sync"])
        rounds += 1
    check(shelf.files() == whole, "after %d rounds not all files are right" % rounds)
    done = json.loads(shelf.says("ben", ["sync", "--check", "--json"]))
    check(done["transports"][0]["restored"] == 0, "%r" % done)


def what_nobody_has(shelf):
    """A file whose content is nowhere is told of, and harms nothing."""
    place = next(iter(shelf.files()))
    name = os.path.basename(place)[:-36] + "0" * 32 + ".seg"
    with open(os.path.join(os.path.dirname(place), name), "wb") as file:
        file.write(b"rubbish")
    told = shelf.run("ben", "sync", "--check")
    check(told.returncode == PARTIAL, "what stays damaged ended with %d" % told.returncode)
    found = json.loads(shelf.run("ben", "sync", "--check", "--json").stdout)["transports"][0]
    check((found["unmended"], found["restored"]) == (1, 0), "%r" % found)
    shelf.says("ben", ["sync"])
    check(name in told.stderr and "damaged" in told.stderr, told.stderr)
    check(os.path.exists(os.path.join(os.path.dirname(place), name)), "it was taken away")
    os.remove(os.path.join(os.path.dirname(place), name))
    shelf.says("ben", ["sync", "--check"])
    both = shelf.run("ben", "sync", "--check", "--watch")
    check(both.returncode == 64 and "leave --watch out" in both.stderr, both.stderr)


def strange_files(shelf):
    """Other things under names of ours: told by doctor, put right or told by sync --check."""
    whole = shelf.files()
    first, second, third = sorted(whole)[:3]
    os.remove(first)
    os.mkdir(first)
    os.remove(second)
    os.symlink("/etc/hostname", second)
    os.remove(third)
    os.mkfifo(third)
    shelf.says("ada", ["doctor"], "3 files in", "is a folder, link, pipe or device", status=PARTIAL)
    shelf.says("ada", ["sync", "--check"], "repaired 3 damaged files", "repaired: z/",
               os.path.basename(second))
    check(shelf.files() == whole, "what stood in the place of files is there still")
    shelf.says("ada", ["doctor"], "all is well")
    # Somebody else's data stands under the name: never deleted, so it is told of again.
    os.remove(first)
    os.mkdir(first)
    with open(os.path.join(first, "letter.txt"), "w") as file:
        file.write("mine")
    shelf.run("ada", "sync", "--check")
    shelf.says("ada", ["doctor"], os.path.basename(first), status=PARTIAL)
    check(os.path.exists(os.path.join(first, "letter.txt")), "a stranger's file was deleted")
    shutil.rmtree(first)
    # A name with too much in it.
    longer = second[:-4] + "abc.seg"
    os.rename(second, longer)
    shelf.says("ada", ["doctor"], "a name that was cut or lengthened", status=PARTIAL)
    shelf.says("ada", ["sync", "--check"], "cut or lengthened", status=PARTIAL)
    os.remove(longer)
    shelf.says("ada", ["sync", "--check"])
    check(shelf.files() == whole, "not all files are back")
    shelf.says("ada", ["doctor"], "all is well")


def closed_folder(shelf):
    """A folder that may not be read is named, with what to do."""
    if os.geteuid() == 0:
        return
    os.chmod(shelf.path("folder"), 0)
    shelf.says("ada", ["doctor"], shelf.path("folder"), "permission was refused", "chmod",
               status=PARTIAL)
    os.chmod(shelf.path("folder"), 0o700)
    os.chmod(shelf.path("folder", "z"), 0)
    shelf.says("ada", ["doctor"], "reading failed at z", "permission was refused", "chmod",
               status=PARTIAL)
    os.chmod(shelf.path("folder", "z"), 0o700)


def an_invitation(shelf):
    """Its file has no digest in its name: who made it knows what belongs there."""
    before = shelf.capsules()
    link = shelf.says("ada", ["invite"], "hearth join").strip().splitlines()[-1]
    place = (shelf.capsules() - before).pop()
    with open(place, "rb") as file:
        whole = file.read()
    shelf.says("cleo", ["init", "--person", "Cleo", "--device", "phone"], "next:")
    for way in SPOILS:
        shelf.spoil({place: whole}, way)
        said = shelf.run("cleo", "join", link)
        check(said.returncode == FAILED, "join by a file that is %s: %d" % (way, said.returncode))
        for word in ("the invitation bundle in", shelf.path("folder"), "is damaged",
                     "hearth sync --check", "ask for a new invitation"):
            check(word in said.stderr, "%s: no %r: %s" % (way, word, said.stderr))
        for word in ("malformed", "authentic", "offset", "bytes long"):
            check(word not in said.stderr.lower(), "%s: raw %r: %s" % (way, word, said.stderr))
        shelf.says("ada", ["sync", "--check"], "repaired 1 damaged file",
                   "an invitation bundle", "was damaged")
        with open(place, "rb") as file:
            check(file.read() == whole, "the invitation is not back after it was " + way)
    # A whole copy elsewhere serves as well as ever; and a plain sync of who made it is enough.
    os.remove(place)
    shelf.says("ben", ["sync"])
    check(not os.path.exists(place), "somebody else put it back")
    shelf.says("ada", ["sync"])
    shelf.says("cleo", ["join", link], "joined Home as member")
    # One that nobody can use any more stays away.
    os.remove(place)
    shelf.says("ada", ["sync"])
    shelf.says("ada", ["sync", "--check"])
    check(not os.path.exists(place), "a used invitation was put back")


def the_words_capsule(shelf):
    """Every device of a person sees whether the words still lead back, and renews what leads."""
    before = shelf.capsules()
    words = shelf.words("ada")
    place = (shelf.capsules() - before).pop()
    link = shelf.says("ada", ["device", "add"], "hearth join").strip().splitlines()[-1]
    shelf.says("tablet", ["init", "--person", "Ada", "--device", "tablet"], "next:")
    shelf.says("tablet", ["join", link], "joined Home")
    shelf.says("tablet", ["doctor"], "does not know where your recovery bundle is", "hearth words check",
               status=PARTIAL)
    shelf.says("tablet", ["sync", "--check"], "does not know where your recovery bundle")
    # One round of the other device is enough.
    shelf.says("ada", ["sync"])
    shelf.says("tablet", ["sync"], "nothing to publish")
    shelf.says("ada", ["sync"], "nothing new")
    for home in ("ada", "tablet"):
        shelf.says(home, ["doctor"], "all is well")
        shelf.says(home, ["words", "check"], "right", piped=words)
    with open(place, "rb") as file:
        whole = file.read()
    for way in SPOILS:
        shelf.spoil({place: whole}, way)
        shelf.says("tablet", ["doctor"], "your recovery bundle is damaged",
                   "hearth sync", status=PARTIAL)
        shelf.says("tablet", ["words", "check"], "right", "is damaged", status=PARTIAL, piped=words)
        shelf.says("tablet", ["sync", "--check"], "repaired 1 damaged file",
                   "repaired: your recovery bundle, which was damaged")
        shelf.says("tablet", ["doctor"], "all is well")
    os.remove(place)
    shelf.says("tablet", ["doctor"], "is missing", status=PARTIAL)
    shelf.says("tablet", ["sync", "--check"], "your recovery bundle, which was missing")
    # The device that made the words is lost; the other one goes on without it.
    shelf.says("tablet", ["device", "revoke", "laptop", "--yes"], "hearth words rotate")
    os.remove(place)
    shelf.says("tablet", ["sync"])
    check(os.path.exists(place), "nobody renews the capsule after its maker was revoked")
    shelf.says("tablet", ["words", "check"], "right", piped=words)
    shelf.says("rescue", ["recover", "--transport", shelf.path("folder")], "Ada is back",
               piped=words)


def main():
    shelf = Shelf(sys.argv[1], "--show" in sys.argv)
    for story in (
            beginning, a_newcomer_is_told, without_being_told, what_nobody_has, strange_files,
            closed_folder, an_invitation, the_words_capsule):
        if shelf.shows:
            print("\n--- " + story.__name__.replace("_", " "))
        story(shelf)
    shutil.rmtree(shelf.root)
    print("decay: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
