#!/usr/bin/env python3
"""Households that an earlier program wrote open, show the same people, and go on.

    earlier.py HEARTH [--show]
    earlier.py HEARTH --make ARCHIVE    writes a new archive with that program

Each `earlier-N.tar.xz` keeps two households as the program of then left them, and is never written
again: a new one gets the next number. In the first household nothing was attacked. It shows the
same people and devices as then, lets somebody in and builds its records anew; recovery words of
then bring a lost device back. In the other a removed admin, offline since, revoked the owner's link
by which Fay came, which must not expel her: she is a member, and the audit says that the revocation
has no effect.

`earlier-refused.tar.xz` keeps one home and the folder of a household from before entry became final
(docs/decisions/0069). It is refused with words that help, and stays as it is.
"""
import hashlib
import json
import os
import re
import shutil
import sys
import tarfile

from nodes import FAILED, Nodes, check, failures

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHIVES = sorted(
    (name for name in os.listdir(HERE) if re.fullmatch(r"earlier-\d+\.tar\.xz", name)),
    key=lambda name: int(re.search(r"\d+", name).group()))
REFUSED_ARCHIVE = os.path.join(HERE, "earlier-refused.tar.xz")
PEACEFUL, ATTACKED, REFUSED = "peaceful", "attacked", "refused"


class Earlier(Nodes):
    def __init__(self, hearth, shows, root=None):
        super().__init__(hearth, shows, "hearth-earlier-")
        if root:
            self.root = root

    def init(self, home, person, device):
        self.says(home, ["init", "--person", person, "--device", device], "next:")

    def link(self, home, *words):
        return self.says(home, ["invite", *words]).strip().splitlines()[-1]

    def sync(self, *homes):
        for _ in range(2):
            for home in homes:
                self.says(home, ["sync"])

    def people(self, home):
        members = json.loads(self.says(home, ["member", "list", "--json"]))["members"]
        return sorted([member["name"], member["role"]] for member in members)

    def devices(self, home):
        devices = json.loads(self.says(home, ["device", "list", "--json"]))["devices"]
        return sorted([device["name"], device["person"]] for device in devices)

    def chores(self, home):
        chores = json.loads(self.says(home, ["list", "--all", "--json"]))["chores"]
        return sorted(chore["title"] for chore in chores)


def found(node, place):
    folder = node.path(place, "folder")
    os.makedirs(folder)
    ada = place + "/ada"
    node.init(ada, "Ada", "laptop")
    node.says(ada, ["household", "create", "Home", "--time-zone", "UTC"])
    node.says(ada, ["transport", "add", "folder", folder])
    node.says(ada, ["add", "Dishes", "--points", "2"])
    node.says(ada, ["sync"])
    return ada


def join(node, place, name, link, home=None, device="phone"):
    home = "%s/%s" % (place, home or name.lower())
    node.init(home, name, device)
    node.says(home, ["join", link], "joined")
    return home


def hand_over(node, giver, taker, name, words):
    paper = node.path("paper")
    with open(paper, "w") as file:
        file.write(words + "\n")
    node.says(giver, ["owner", "transfer", name, "--words-file", paper, "--yes"])
    os.remove(paper)
    node.says(taker, ["sync"])
    node.says(taker, ["owner", "accept", "--yes"])


def make(node):
    """A founder who handed over, an admin, a child, one removed; a further device; words."""
    ada = found(node, PEACEFUL)
    ben = join(node, PEACEFUL, "Ben", node.link(ada, "--role", "admin", "--at-once"))
    cleo = join(node, PEACEFUL, "Cleo", node.link(ada))
    dora = join(node, PEACEFUL, "Dora", node.link(ada, "--role", "child"))
    earl = join(node, PEACEFUL, "Earl", node.link(ada))
    link = node.says(ada, ["device", "add"]).strip().splitlines()[-1]
    tablet = join(node, PEACEFUL, "Ada", link, home="tablet", device="tablet")
    everybody = (ada, tablet, ben, cleo, dora)
    node.sync(*everybody, earl)
    node.says(dora, ["done", "Dishes"])
    node.says(ben, ["add", "Windows"])
    node.sync(*everybody, earl)
    node.says(ben, ["member", "remove", "Earl", "--yes"])
    node.says(ada, ["member", "role", "Cleo", "admin"])
    words = node.words(ada)
    hand_over(node, ada, ben, "Ben", words)
    node.sync(*everybody)
    attack(node)
    said = {place: {home: node.people("%s/%s" % (place, home)) for home in homes}
            for place, homes in (
                (PEACEFUL, ("ada", "ben", "cleo", "tablet")), (ATTACKED, ("ada",)))}
    said["devices"] = {home: node.devices(PEACEFUL + "/" + home) for home in said[PEACEFUL]}
    said["words"] = words
    check(["Ben", "owner"] in said[PEACEFUL]["cleo"], "Ben does not own the household: %r" % said)
    check(["tablet", "Ada"] in said["devices"]["cleo"], "there is no further device: %r" % said)
    with open(node.path("said.json"), "w") as file:
        json.dump(said, file)
    return said


def attack(node):
    """Earl, removed and offline, revokes the owner's link by which Fay came."""
    ada = found(node, ATTACKED)
    earl = join(node, ATTACKED, "Earl", node.link(ada, "--role", "admin", "--at-once"))
    link = node.link(ada, "--uses", "3", "--at-once")
    node.sync(ada, earl)
    node.says(ada, ["member", "remove", "Earl", "--yes"])
    keep(node, ATTACKED)
    fay = join(node, ATTACKED, "Fay", link)
    node.says(fay, ["add", "Fay's plants"])
    node.sync(ada, fay)
    # Earl has seen neither; his folder is the one from before.
    swap(node, ATTACKED)
    listed = json.loads(node.says(earl, ["invite", "list", "--json"]))["invitations"]
    for invitation in listed:
        if invitation["uses"] == 3:
            node.says(earl, ["invite", "revoke", invitation["id"]])
    merge(node, ATTACKED)
    for home in (ada, fay, ada):
        node.run(home, "sync")


def tree(folder):
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]


def keep(node, place):
    os.system("cp -a %s %s" % (node.path(place, "folder"), node.path(place, "then")))


def swap(node, place):
    os.rename(node.path(place, "folder"), node.path(place, "now"))
    os.rename(node.path(place, "then"), node.path(place, "folder"))


def merge(node, place):
    os.system("cp -an %s/. %s" % (node.path(place, "now"), node.path(place, "folder")))
    os.system("rm -rf %s" % node.path(place, "now"))


def reopen(node, place, *homes):
    """Where they lie now, the shared folder is another one."""
    for home in homes:
        ways = json.loads(node.says(home, ["transport", "list", "--json"]))["transports"]
        node.says(home, ["transport", "add", "folder", node.path(place, "folder")])
        for way in ways:
            node.says(home, ["transport", "remove", way["path"]])


def peaceful(node, said):
    homes = [PEACEFUL + "/" + name for name in sorted(said[PEACEFUL])]
    for home in homes:
        name = home.split("/")[1]
        people, then = node.people(home), said[PEACEFUL][name]
        check(people == then, "%s shows %r, and did %r" % (home, people, then))
        devices, then = node.devices(home), said.get("devices", {}).get(name)
        check(then in (None, devices), "%s shows %r, and did %r" % (home, devices, then))
    reopen(node, PEACEFUL, *homes)
    gil = join(node, PEACEFUL, "Gil", node.link(homes[0]))
    node.says(gil, ["add", "Gil's bike"])
    node.sync(*homes, gil)
    if "words" in said:
        homes.append(recover(node, said["words"]))
    node.sync(*homes, gil)
    for home in [*homes, gil]:
        check(node.chores(home) == ["Dishes", "Gil's bike", "Windows"],
              "%s has %r" % (home, node.chores(home)))
        check(len(node.people(home)) == 5, "%s shows %r" % (home, node.people(home)))
    # A removal lets everybody judge all changes again.
    node.says(homes[0], ["member", "remove", "Gil", "--yes"])
    node.sync(*homes)
    for home in homes:
        check({"Dishes", "Windows"} <= set(node.chores(home)),
              "%s has %r after a removal" % (home, node.chores(home)))
        node.says(home, ["verify"])


def recover(node, words):
    """Ada is back on a bare machine, with the words that the earlier program made."""
    home = PEACEFUL + "/again"
    node.says(home, ["recover", "--transport", node.path(PEACEFUL, "folder"), "--device", "again"],
              "Ada is back", piped=words + "\n")
    return home


def attacked(node, said):
    ada = ATTACKED + "/ada"
    then = said[ATTACKED]["ada"]
    check(node.people(ada) == then, "%s shows %r, and did %r" % (ada, node.people(ada), then))
    check(["Fay", "member"] in node.people(ada), "Fay is out: %r" % node.people(ada))
    entries = json.loads(node.says(ada, ["audit", "--json"]))["entries"]
    link = [re.search(r"\((\w+), 3 times\)", entry["text"]) for entry in entries
            if entry["kind"] == "invite"]
    link = next(found.group(1) for found in link if found)
    closings = [entry for entry in entries if entry["kind"] == "inviteRevoke"
                and entry["person"] == "Earl" and link in entry["text"]]
    check(closings and all(entry.get("voidReason") for entry in closings),
          "the audit does not say that Earl's revocation has no effect: %r" % closings)
    reopen(node, ATTACKED, ada, ATTACKED + "/fay")
    node.sync(ada, ATTACKED + "/fay")
    check("Fay's plants" in node.chores(ada), "Fay's record is missing: %r" % node.chores(ada))


def refused(node):
    """A household from before entry became final is refused, and no file of it changes."""
    unpack(node, REFUSED_ARCHIVE)
    home, before = REFUSED + "/ada", content(node.path(REFUSED))
    for command in ("status", "list", "sync"):
        node.says(home, [command], "an earlier version", "nothing was changed", "move it aside",
                  "`hearth init`", status=FAILED)
        done = node.run(home, command, "--json")
        try:
            error = json.loads(done.stderr.splitlines()[-1])["error"]
        except (ValueError, IndexError, KeyError):
            error = {}
        said = [error.get(key) for key in ("code", "reason", "exit")]
        check(said == ["failed", "earlierFormat", done.returncode],
              "%s: hearth %s --json says %r" % (home, command, done.stderr))
        after = content(node.path(REFUSED))
        changed = sorted(name for name in before.keys() | after.keys()
                         if before.get(name) != after.get(name))
        check(not changed, "hearth %s changes %s" % (command, ", ".join(changed)))
    shutil.rmtree(node.path(REFUSED))


def content(folder):
    """The digest of each file but the empty ones that programs lock."""
    digests = {}
    for path in tree(folder):
        name = os.path.relpath(path, folder)
        with open(path, "rb") as file:
            written = file.read()
        if written or os.path.basename(name) not in ("lock", "lock.queue"):
            digests[name] = hashlib.sha256(written).hexdigest()
    return digests


def unpack(node, archive):
    with tarfile.open(archive) as file:
        file.extractall(node.root, filter="data")


def write(node, archive):
    """Makes an archive; one that is there stays what the program of then wrote."""
    if os.path.exists(archive):
        sys.exit("%s is there already: give the next number" % archive)
    print(json.dumps(make(node), indent=1))
    if failures:
        return
    with tarfile.open(archive, "w:xz") as file:
        for name in (PEACEFUL, ATTACKED, "said.json"):
            file.add(node.path(name), name)


def main():
    arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
    node = Earlier(arguments[0], "--show" in sys.argv)
    if "--make" in sys.argv:
        write(node, arguments[1])
    else:
        check(ARCHIVES, "no households of before are kept")
        for name in ARCHIVES:
            unpack(node, os.path.join(HERE, name))
            with open(node.path("said.json")) as file:
                said = json.load(file)
            peaceful(node, said)
            attacked(node, said)
            for place in (PEACEFUL, ATTACKED):
                shutil.rmtree(node.path(place))
        refused(node)
    shutil.rmtree(node.root)
    print("earlier: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
