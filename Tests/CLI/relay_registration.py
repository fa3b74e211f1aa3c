#!/usr/bin/env python3
"""A household at relays where not everybody may register: by token, and by the operator's list.

    relay_registration.py HEARTH HEARTH_RELAY [--show]

One token is good for the two mailboxes of the household and for nothing more. Everybody else joins,
removes, invites and comes back without any: what that needs belongs to the household's mailbox.
"""
import os
import shutil
import sqlite3
import sys

from nodes import Nodes, Relay, check, failures

PARTIAL = 2


class Family(Nodes):
    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, shows, "hearth-registration-")
        self.program = relay
        self.relay = None

    def begin(self, policy):
        """A relay of its own for each story, with homes of its own."""
        self.policy = policy
        self.relay = Relay(
            self.program, self.path(policy + "-data"),
            options=("--health", "off", "--registration", policy))

    def home(self, name):
        return "%s-%s" % (self.policy, name)

    def link(self, name, *options):
        said = self.says(self.home(name), ["invite", *options], "hearth join")
        return [line for line in said.splitlines() if line.startswith("hearth://")
                or "hearth join " in line][-1].strip().split()[-1]

    def joins(self, name, link):
        self.says(self.home(name), ["init", "--person", name.capitalize(), "--device", "phone"])
        self.says(self.home(name), ["join", link], "joined Home")

    def rows(self, sql):
        """What stands in the relay's database."""
        database = sqlite3.connect("file:%s?mode=ro" % os.path.join(
            self.relay.data, "relay.sqlite"), uri=True)
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()

    def generations(self):
        return [row[0] for row in self.rows(
            "SELECT access_generation FROM mailboxes WHERE parent IS NULL ORDER BY number")]

    def children(self):
        return dict(self.rows(
            "SELECT child, count(*) FROM mailboxes WHERE parent IS NOT NULL GROUP BY child"))


def refused(family, home, reason, remedy):
    """What waits is not called nothing, the reason comes once, and the remedy is no restart.

    A device that never had a mailbox open was not removed, and no key of its was changed.
    """
    said = family.run(home, "sync")
    check(said.returncode == PARTIAL and "refuses this device" in said.stdout
          and "nothing to publish" not in said.stdout, "a refused sync: " + said.stdout)
    check(said.stderr.count("does not admit this device") == 1 and remedy in said.stderr,
          "the reason of a refusal: " + said.stderr)
    check(reason in said.stderr and "removed" not in said.stderr
          and "access key" not in said.stderr, "the cause of a refusal: " + said.stderr)
    family.says(home, ["status"], "not synced yet")
    said = family.run(home, "doctor")
    check(said.returncode == PARTIAL and remedy in said.stdout
          and "start the relay" not in said.stdout, "doctor: " + said.stdout)


def founding(family):
    """Ada alone has a right to register, for two mailboxes."""
    ada = family.home("ada")
    family.says(ada, ["init", "--person", "Ada", "--device", "laptop"])
    family.says(ada, ["household", "create", "Home", "--time-zone", "UTC"])
    address = family.relay.address
    if family.policy == "token":
        family.says(ada, ["transport", "add", "relay", address], "relay")
        refused(family, ada, "the relay's operator lets nobody make one without a token",
                "hearth transport add relay ADDRESS --token TOKEN")
        made = family.relay.ask("token", "--uses", "2")
        check(made.returncode == 0, "token: " + made.stderr)
        family.says(
            ada, ["transport", "add", "relay", address, "--token", made.stdout.strip()], "relay")
    else:
        family.says(ada, ["transport", "add", "relay", address], "relay")
        refused(family, ada, "the relay's operator has not listed its key",
                "hearth-relay token --allow")
        said = family.run(ada, "sync")
        line = [part for part in (said.stdout + said.stderr).split() if len(part) == 64]
        check(len(line) > 0, "the key to list is not told: " + said.stdout + said.stderr)
        listed = family.relay.ask("token", "--allow", line[0])
        check(listed.stdout.strip() == "listed", "listing: " + listed.stderr)
    family.says(ada, ["sync"], "published")
    check(family.rows("SELECT count(*) FROM mailboxes") == [(2,)], "Ada made other mailboxes")


def joining(family):
    """Three come by links, without any token: what they meet at belongs to the household."""
    for name, role in (("ben", "admin"), ("cleo", "member"), ("dan", "member")):
        family.joins(name, family.link("ada", "--role", role, "--at-once"))
    for name in ("ada", "ben", "cleo", "dan"):
        family.says(family.home(name), ["sync"])
    check(family.children().get(2, 0) >= 3, "meeting places: %r" % family.children())
    check(family.rows("SELECT count(*) FROM mailboxes WHERE parent IS NULL") == [(2,)],
          "a meeting place stands alone")


def removing(family):
    """Ben has no right to register, and removes Dan: the keys turn over with that command."""
    before = family.generations()
    ben, dan, cleo = (family.home(name) for name in ("ben", "dan", "cleo"))
    family.says(ben, ["member", "remove", "Dan", "--yes"], "removed Dan")
    family.says(ben, ["sync"])
    after = family.generations()
    check(len(after) == 2 and all(new > old for new, old in zip(after, before)),
          "the keys are those of before: %r, then %r" % (before, after))
    check(family.children().get(1, 0) >= 1, "there is no handoff: %r" % family.children())
    family.says(ben, ["add", "Secret plans"])
    family.says(ben, ["sync"], "published")
    family.says(ben, ["doctor"], "all is well")
    check("keys from before" not in family.says(ben, ["status"]), "status tells of old keys")
    # Dan's node still has the old keys: it is told, and neither gets nor makes anything.
    mailboxes = family.rows("SELECT count(*), sum(head) FROM mailboxes")
    family.says(dan, ["add", "Late words"])
    done = family.run(dan, "sync")
    said = done.stdout + done.stderr
    check(done.returncode == 0 and "access key" not in said and "operator" not in said,
          "Dan, who was removed, is told of something else: " + said)
    family.says(dan, ["status"], "you were removed from Home by Ben")
    check("Secret plans" not in family.says(dan, ["list"]), "Dan reads on")
    check(family.rows("SELECT count(*), sum(head) FROM mailboxes") == mailboxes,
          "Dan's node wrote to the relay")
    # Cleo was away, has the old keys only, and comes in through the handoff.
    family.says(cleo, ["sync"], "received")
    family.says(cleo, ["list"], "Secret plans")
    family.says(cleo, ["add", "Welcome back"])
    family.says(cleo, ["sync"], "published")
    family.says(family.home("ada"), ["sync"], "received")
    family.says(family.home("ada"), ["list"], "Secret plans", "Welcome back")


def inviting(family):
    """A member without a right to register invites, lets in after asking, and makes words."""
    ben = family.home("ben")
    family.joins("eve", family.link("ben", "--role", "member"))
    family.says(family.home("eve"), ["list"], "Secret plans")
    link = family.link("ben", "--approve")
    fay = family.home("fay")
    family.says(fay, ["init", "--person", "Fay", "--device", "phone"])
    family.says(fay, ["join", link], "asked Home to approve this device")
    number = [part for part in family.says(ben, ["approve"], "number: ").splitlines()
              if "number:" in part][0].split("number:")[1].strip()
    family.says(ben, ["approve", "Fay", "--number", number], "Fay is a member of Home now")
    family.says(fay, ["sync"], "joined Home")
    family.says(fay, ["list"], "Secret plans")
    check(family.rows("SELECT count(*) FROM mailboxes WHERE parent IS NULL") == [(2,)],
          "somebody made a mailbox that stands alone")


def operating(family):
    """What the operator sees of it, and that all is well."""
    verified = family.relay.ask("verify")
    check(verified.stdout.strip() == "all is well", "verify: " + verified.stdout)
    shown = family.relay.ask("stats").stdout
    check(", a rekey handoff of " in shown and ", a meeting place of " in shown, "stats: " + shown)
    copy = family.path(family.policy + "-copy.sqlite")
    check(family.relay.ask("export", copy).returncode == 0, "the export fails")
    copied = sqlite3.connect(copy)
    children = dict(copied.execute(
        "SELECT child, count(*) FROM mailboxes WHERE parent IS NOT NULL GROUP BY child"))
    copied.close()
    check(children == family.children(), "the copy has %r" % children)


def story(family):
    for policy in ("token", "allow-list"):
        family.begin(policy)
        try:
            for part in (founding, joining, removing, inviting, operating):
                part(family)
        finally:
            family.relay.kill()


def main():
    family = Family(sys.argv[1], sys.argv[2], "--show" in sys.argv)
    try:
        story(family)
    finally:
        if family.relay and family.relay.process.poll() is None:
            family.relay.kill()
        shutil.rmtree(family.root, ignore_errors=True)
    print("relay registration: %s" % ("%d checks failed" % len(failures) if failures else "good"))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
