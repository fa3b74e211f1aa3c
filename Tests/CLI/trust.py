#!/usr/bin/env python3
"""Who belongs to a household, against those who lost their place and those who never had one.

    trust.py HEARTH [HEARTH_RELAY] [T1 T4 ...] [--show]

Each row is an attack with the stock programs: old copies of the files, links that were found or
shared, clocks that were set back. It is played over a shared folder, and once more over a relay if
its program is given; there an old copy is a backup that the operator puts in place. Prints one line
for each row that was played. A row that breaks a promise prints what was seen instead, and the
script ends with 1. --show prints the whole conversation.
"""
import os
import subprocess
import sys
import time

import trust_links
from nodes import NOT_ALLOWED, check, failures
from trust_home import HOUR, Home, Stuck


def t1(home):
    """Adam founds the household and hands it over to Berta, who removes him. His tablet had seen
    the invitation by which everybody came, and not who used it. It closes that invitation as if
    none of this had happened, and syncs. On all replicas Berta is the owner, who came by the
    invitation is in, and Adam is out with both devices."""
    home.found("adam", "Adam", "laptop")
    link = home.link("adam", "invite", "--uses", "5", "--at-once")
    home.join("tablet", "Adam", "tablet", home.link("adam", "device", "add"))
    home.settle("adam", "tablet", rounds=2)
    home.keep("old")
    for name, person in (("berta", "Berta"), ("cara", "Cara")):
        home.join(name, person, "phone", link)
    home.must("cara", "add", "Cara's plants")
    home.settle("cara", "berta", "adam", rounds=2)
    hand_over(home, "adam", "berta", "Berta")
    home.must("berta", "member", "remove", "Adam", "--yes")
    home.join("dan", "Dan", "phone", home.link("berta", "invite"))
    family = ("berta", "cara", "dan")
    home.settle(*family, rounds=2)
    people = (("Berta", "owner"), ("Cara", "member"), ("Dan", "member"))
    if home.people("cara") != sorted(people):
        raise Stuck("before the attack Cara shows %r" % home.people("cara"))

    home.turn_back("old")
    old = home.invitation("tablet", uses=5)
    home.run("tablet", "invite", "revoke", old["id"])
    home.run("tablet", "sync")
    home.merge()
    everybody = (*family, "adam", "tablet")
    home.settle(*everybody)
    home.writes("berta", "Secret of Berta")
    home.writes("cara", "Secret of Cara")
    home.settle(*everybody)
    home.arrived("cara", "inviteRevoke", "tablet")
    home.belongs(family, *people)
    home.agree(*family)
    home.have(family, "Dishes", "Cara's plants", "Secret of Berta", "Secret of Cara")
    home.cannot_read(("adam", "tablet"), "Secret of Berta", "Secret of Cara")
    home.is_out("adam", "tablet")


def hand_over(home, giver, taker, person):
    paper = home.path("paper")
    with open(paper, "w") as file:
        file.write(home.words(giver))
    home.must(giver, "owner", "transfer", person, "--words-file", paper, "--yes")
    home.must(taker, "sync")
    home.must(taker, "owner", "accept", "--yes")
    home.settle(giver, taker, rounds=2)


def t2(home):
    """Max is an admin, has been offline since before he was removed, and closes the invitations
    that the owner had made. Nora came by one of them after the removal, as an admin, and Olga by
    the other one, as a member who is an admin now. Both stay, with what they wrote, and Max is
    out."""
    home.found("ada", "Ada", "laptop")
    home.join("max", "Max", "phone", home.link("ada", "invite", "--role", "admin", "--at-once"))
    home.join("ben", "Ben", "phone", home.link("ada", "invite"))
    links = [home.link("ada", "invite", "--role", role, "--uses", "2", "--at-once")
             for role in ("admin", "member")]
    home.settle("ada", "max", "ben", rounds=2)
    home.keep("old")
    home.must("ada", "member", "remove", "Max", "--yes")
    for name, person, link in (("nora", "Nora", links[0]), ("olga", "Olga", links[1])):
        home.join(name, person, "phone", link)
        home.must(name, "add", person + "'s plants")
    family = ("ada", "nora", "olga", "ben")
    home.settle("nora", "olga", "ada", rounds=2)
    home.must("ada", "member", "role", "Olga", "admin")
    home.settle(*family, rounds=2)
    people = (("Ada", "owner"), ("Nora", "admin"), ("Olga", "admin"), ("Ben", "member"))
    if home.people("ben") != sorted(people):
        raise Stuck("before the attack Ben shows %r" % home.people("ben"))

    home.turn_back("old")
    for role in ("admin", "member"):
        old = home.invitation("max", uses=2, role=role)
        home.run("max", "invite", "revoke", old["id"])
    home.run("max", "sync")
    home.merge()
    home.settle(*family, "max")
    for name in ("ada", "nora"):
        home.writes(name, "Secret of " + name)
    home.settle(*family, "max")
    secrets = ("Nora's plants", "Olga's plants", "Secret of ada", "Secret of nora")
    home.arrived("ben", "inviteRevoke", "max")
    home.belongs(family, *people)
    home.agree(*family)
    home.have(family, "Dishes", *secrets)
    home.cannot_read(["max"], *secrets)
    home.is_out("max")


def t3(home):
    """Ben joins in time by an invitation that expires an hour later. Max, an honest admin, syncs
    only then: first over a folder that is stale, which is his first transport, and then over the
    current way, his second one, which is a folder or a relay. While that one is out of reach, he
    closes nothing. Ben stays a member with all his records."""
    stale_admin(home, stale_folder)
    home.clocks = {}
    home.must("max", "transport", "remove", home.place)
    home.must("max", "transport", "add", "folder", home.path("stale"))
    home.must("max", "transport", "add", home.kind, home.place)
    with home.out_of_reach():
        home.run("max", "sync")
    check(not expired(home, "max"),
          "Max closes the invitation though he has read the stale folder only")
    home.run("max", "sync")
    ben_stays(home)


def t3_lag(home):
    """The second plan of T3: Max has one copy of the folder, which lags, or a relay to which its
    operator has brought back an old backup. He closes the invitation, as it has expired. Ada had
    seen in time that Ben joined: he is in for everybody who knows of him, before what is late
    arrives and from then on, and nobody has to approve him."""
    stale_admin(home, Home.keep)
    home.run("ada", "sync")
    home.run("ben", "sync")
    home.clocks = {}
    home.belongs(("ada", "ben", "dora"), *WITH_BEN)
    lag(home)
    home.belongs(("ada", "ben", "dora"), *WITH_BEN)
    home.settle("ada", "dora", rounds=1)
    synced = home.run("max", "sync")
    check("no longer valid" not in synced.stdout + synced.stderr,
          "Max is told that Ben waits: %s%s" % (synced.stdout, synced.stderr))
    home.belongs(("ada", "ben", "dora", "max"), *WITH_BEN)
    ben_stays(home)


def t3_late(home):
    """The same where no owner or admin had seen in time that Ben joined: Dora had, a member. He is
    in for those who know nothing of the closing. Max's program does not let Ben in by itself,
    however early Ben says that he came: it tells Max that Ben waits. Max approves, and Ben is a
    member with all his records."""
    stale_admin(home, Home.keep)
    home.clocks = {}
    home.belongs(("ben", "dora"), *WITH_BEN)
    lag(home)
    home.belongs(("ben", "dora"), *WITH_BEN)
    home.run("dora", "sync")
    synced = home.run("max", "sync")
    check("Ben joined Home with a link that was no longer valid" in synced.stdout + synced.stderr,
          "a sync does not tell Max that Ben waits: %s%s" % (synced.stdout, synced.stderr))
    home.run("max", "sync")
    home.belongs(("dora", "max"), *(one for one in WITH_BEN if one[0] != "Ben"))
    listed = home.must("max", "approve")
    check("Ben" in listed and "the invitation had expired" in listed,
          "the list of who waits does not say why: " + listed)
    home.must("max", "approve", "Ben", "--yes")
    home.belongs(["max"], *WITH_BEN)
    ben_stays(home)


WITH_BEN = (("Ada", "owner"), ("Ben", "member"), ("Dora", "member"), ("Max", "admin"))


def stale_admin(home, keep):
    """Two hours ago Ben joined, and only Dora knows it yet.

    `keep(home, "stale")` is called before he came, and keeps what there is then.
    """
    home.clocks = {name: -2 * HOUR for name in ("ada", "ben", "dora", "max")}
    home.found("ada", "Ada", "laptop")
    home.join("max", "Max", "phone", home.link("ada", "invite", "--role", "admin", "--at-once"))
    home.join("dora", "Dora", "pad", home.link("ada", "invite"))
    home.settle("ada", "max", "dora", rounds=2)
    link = home.link("ada", "invite", "--expires", "1h", "--uses", "2", "--at-once")
    home.must("max", "sync")
    keep(home, "stale")
    home.join("ben", "Ben", "phone", link)
    home.must("ben", "add", "Ben's plants")
    home.must("ben", "done", "Dishes")
    home.must("ben", "sync")
    home.must("dora", "sync")


def stale_folder(home, name):
    """A folder that holds what there is now, and gets nothing later."""
    if not home.relay:
        return home.keep(name)
    os.mkdir(home.path(name))
    home.must("ada", "transport", "add", "folder", home.path(name))
    home.must("ada", "sync")
    home.must("ada", "transport", "remove", home.path(name))


def expired(home, name):
    """The closings of expired invitations that one node knows of."""
    return [one for one in home.entries(name, kind="inviteEnd") if "expired" in one["text"]]


def lag(home):
    """Max syncs with what there was before Ben came; then what is late arrives."""
    home.turn_back("stale")
    home.run("max", "sync")
    check(expired(home, "max"), "Max does not close the expired invitation")
    home.merge()


def ben_stays(home):
    everybody = ("ada", "ben", "dora", "max")
    home.settle("ben", "max", "ada", "dora")
    home.writes("ada", "For all")
    home.writes("ben", "Ben's later plants")
    home.settle(*everybody)
    home.belongs(everybody, *WITH_BEN)
    home.agree(*everybody)
    home.have(everybody, "Dishes", "Ben's plants", "For all", "Ben's later plants")
    bens = home.person_id("ben")
    for name in everybody:
        check(expired(home, name), "%s knows nothing of a closing" % name)
        points = home.json(name, "points", bens).get("total")
        check(points == 3, "%s: Ben has %r points" % (name, points))


def t11(home):
    """Zoë has lost her only phone, and has no recovery words. The owner revokes it, is led to
    `hearth device add --for`, and gives her a link. With it she is back on a new device as the same
    person, with her points and her turns; there is no second Zoë, and the audit and everybody's
    notices tell it. For a person of equal or higher rank the option is refused with advice."""
    home.found("ada", "Ada", "laptop")
    for name, person, role in (("zoe", "Zoë", "member"), ("ben", "Ben", "member"),
                               ("max", "Max", "admin"), ("otto", "Otto", "admin")):
        home.join(name, person, "phone", home.link("ada", "invite", "--role", role, "--at-once"))
    home.settle("ada", "zoe", "ben", "max", "otto", rounds=2)
    home.must("zoe", "done", "Dishes")
    home.must("zoe", "sync")
    home.must("ada", "sync")
    home.must("ada", "add", "Bins", "--every", "day", "--rotate", "Zoë,Ben")
    family = ("ada", "ben", "max", "otto")
    home.settle(*family, "zoe", rounds=2)
    zoe = home.person_id("zoe")
    badges = {name: shown_badges(home, name, zoe) for name in (*family, "zoe")}
    check(len(badges["zoe"]["earned"]) == 1 and badges["zoe"]["next"] == 1
          and all(each == badges["zoe"] for each in badges.values()),
          "before the loss Zoë's badges are %r" % badges)

    led = home.run("ada", "device", "revoke", "Zoë's phone", "--yes")
    check(led.returncode == 0 and "hearth device add --for" in led.stdout + led.stderr,
          "device revoke does not lead to `hearth device add --for`: %s" % (
              led.stdout + led.stderr).strip())
    home.writes("ada", "Secret of Ada")
    home.settle(*family, rounds=1)
    for name, person in (("max", "Ada"), ("max", "Otto"), ("ben", "Zoë"), ("ben", "Max")):
        done = home.run(name, "device", "add", "--for", person)
        check(done.returncode == NOT_ALLOWED and "hint:" in done.stderr and not done.stdout,
              "%s: device add --for %s: exit %d: %s" % (
                  name, person, done.returncode, (done.stdout + done.stderr).strip()))
    link = home.link("ada", "device", "add", "--for", "Zoë")
    home.join("new", "Zoë", "new phone", link)
    home.must("new", "done", "Bins")
    home.settle("new", *family, "zoe")
    home.writes("ada", "Later secret")
    home.settle("new", *family, "zoe")
    everybody = ("new", *family)
    home.belongs(everybody, ("Ada", "owner"), ("Ben", "member"), ("Max", "admin"),
                 ("Otto", "admin"), ("Zoë", "member"))
    home.agree(*everybody)
    home.have(everybody, "Dishes", "Secret of Ada", "Later secret")
    home.cannot_read(["zoe"], "Secret of Ada", "Later secret")
    check(home.person_id("new") == zoe, "the new phone is somebody else's")
    for name in everybody:
        ids = [item["id"] for item in home.json(name, "member").get("members", [])
               if item["name"] == "Zoë"]
        check(ids == [zoe], "%s: Zoë has the ids %r, and had %s" % (name, ids, zoe))
        devices = [item["name"] for item in home.json(name, "device").get("devices", [])
                   if item["person"] == "Zoë"]
        check(devices == ["new phone"], "%s: Zoë's devices are %r" % (name, devices))
        points = home.json(name, "points", zoe).get("total")
        check(points == 3, "%s: Zoë has %r points" % (name, points))
        # The badge of before, and the chore of the new phone on the way to the next one.
        now = shown_badges(home, name, zoe)
        check(now == {"earned": badges["zoe"]["earned"], "next": 2},
              "%s: Zoë's badges were %r, and are %r" % (name, badges["zoe"], now))
        # Zoë took hers on the new phone, so that the next one is Ben's.
        shown = turns(home, name)
        check(shown == [(["Ben", "Zoë"], "Ben")], "%s: the turns are %r" % (name, shown))
    texts = [entry["text"] for entry in home.entries("ben")]
    check(any("new phone" in text and "Zoë" in text for text in texts),
          "the audit does not tell of Zoë's new phone: %r" % texts)
    check([text for text in texts if "Ada" in text and "Zoë" in text and "revoked" not in text
           and ("new phone" in text or "device" in text)],
          "the audit does not tell that Ada let in a device for Zoë: %r" % texts)
    for name in ("ben", "max"):
        told = home.told(name)
        check([text for text in told if "Zoë" in text and "revoked" not in text
               and ("new phone" in text or "device" in text)],
              "%s is not told that Zoë has another device: %r" % (name, told))


def shown_badges(home, name, person):
    """The badges that a person has as one node shows it, with their days, and how many chores
    count for the badge for five."""
    badges = home.json(name, "badges", person).get("badges", [])
    progress = {badge["key"]: badge["progress"] for badge in badges}
    return {"earned": {badge["key"]: badge["earnedOn"] for badge in badges if "earnedOn" in badge},
            "next": progress.get("chores_5")}


def turns(home, name):
    """Who takes turns with the bins as one node shows it, and whose turn is next."""
    bins = [chore for chore in home.json(name, "list", "--all").get("chores", [])
            if chore["title"] == "Bins"]
    return [(sorted(chore["assigned"].split(" → ")), chore.get("next", {}).get("assignee"))
            for chore in bins]


ROWS = {
    "T1": [t1], "T2": [t2], "T3": [t3, t3_lag, t3_late], "T4": [trust_links.t4],
    "T5": [trust_links.t5], "T9": [trust_links.t9], "T10": [trust_links.t10], "T11": [t11]}


def play(name, hearth, relay, shows):
    """Plays one row over one way; says how it ended."""
    before, began = len(failures), time.monotonic()
    way = "relay" if relay else "folder"
    for plan in ROWS[name]:
        home = Home(hearth, relay, shows)
        if shows:
            print("\n--- %s over a %s" % (plan.__name__, way))
        try:
            plan(home)
        except Stuck as stuck:
            check(False, "%s could not be played to its end: %s" % (plan.__name__, stuck))
        except (KeyError, subprocess.TimeoutExpired) as error:
            check(False, "%s could not be played to its end: %r" % (plan.__name__, error))
        finally:
            home.close()
    broken = len(failures) - before
    print("%s over a %s: %s (%.0f s)" % (
        name, way, "%d faults" % broken if broken else "as promised", time.monotonic() - began),
        flush=True)


def main():
    shows = "--show" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--show"]
    chosen = [word for word in words if word in ROWS]
    programs = [word for word in words if word not in ROWS]
    for relay in [None, *programs[1:]]:
        for name in chosen or ROWS:
            play(name, programs[0], relay, shows)
    print("trust: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
