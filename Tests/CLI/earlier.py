#!/usr/bin/env python3
"""Households that an earlier program wrote open, show the same people, and go on.

    earlier.py HEARTH [--show]
    earlier.py HEARTH --make ARCHIVE    writes the archive with that program, once for each format

`earlier-N.tar.xz` keeps two households of format N of segments: one in which nothing was attacked
shows the same people as then, lets somebody in and builds its records anew. In the other a removed admin, offline since, revoked the owner's link by which Fay came, which
must not expel her: she is a member, and the audit says that the revocation has no effect.
"""
import json
import os
import re
import shutil
import sys
import tarfile

from nodes import Nodes, check, failures

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHIVES = sorted(name for name in os.listdir(HERE) if re.fullmatch(r"earlier-\d+\.tar\.xz", name))
PEACEFUL, ATTACKED = "peaceful", "attacked"


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


def join(node, place, name, link):
    home = "%s/%s" % (place, name.lower())
    node.init(home, name, "phone")
    node.says(home, ["join", link], "joined")
    return home


def make(node):
    """A founder who handed over, an admin, a child, one removed; a further device; words."""
    ada = found(node, PEACEFUL)
    ben = join(node, PEACEFUL, "Ben", node.link(ada, "--role", "admin", "--at-once"))
    cleo = join(node, PEACEFUL, "Cleo", node.link(ada))
    dora = join(node, PEACEFUL, "Dora", node.link(ada, "--role", "child"))
    earl = join(node, PEACEFUL, "Earl", node.link(ada))
    all_of_them = (ada, ben, cleo, dora, earl)
    node.sync(*all_of_them)
    node.says(dora, ["done", "Dishes"])
    node.says(ben, ["add", "Windows"])
    node.sync(*all_of_them)
    node.says(ben, ["member", "remove", "Earl", "--yes"])
    node.says(ada, ["member", "role", "Cleo", "admin"])
    node.sync(ada, ben, cleo, dora)

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
    said = {place: {home: node.people("%s/%s" % (place, home)) for home in homes}
            for place, homes in ((PEACEFUL, ("ada", "ben", "cleo")), (ATTACKED, ("ada",)))}
    with open(node.path("said.json"), "w") as file:
        json.dump(said, file)
    return said


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
    homes = [PEACEFUL + "/" + name for name in ("ada", "ben", "cleo")]
    for home in homes:
        then = said[PEACEFUL][home.split("/")[1]]
        check(node.people(home) == then, "%s shows %r, and did %r" % (home, node.people(home), then))
    reopen(node, PEACEFUL, *homes)
    gil = join(node, PEACEFUL, "Gil", node.link(homes[0]))
    node.says(gil, ["add", "Gil's bike"])
    node.sync(homes[0], homes[1], homes[2], gil)
    node.sync(homes[0], homes[1], homes[2], gil)
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


def main():
    arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
    node = Earlier(arguments[0], "--show" in sys.argv)
    if "--make" in sys.argv:
        print(json.dumps(make(node), indent=1))
        with tarfile.open(arguments[1], "w:xz") as archive:
            for name in (PEACEFUL, ATTACKED, "said.json"):
                archive.add(node.path(name), name)
    else:
        check(ARCHIVES, "no households of before are kept")
        for name in ARCHIVES:
            with tarfile.open(os.path.join(HERE, name)) as archive:
                archive.extractall(node.root, filter="data")
            with open(node.path("said.json")) as file:
                said = json.load(file)
            peaceful(node, said)
            attacked(node, said)
            for place in (PEACEFUL, ATTACKED):
                shutil.rmtree(node.path(place))
    shutil.rmtree(node.root)
    print("earlier: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
