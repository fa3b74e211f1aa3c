"""Rows of hostile.py about who belongs to the household: T6 to T8, which need a changed program.

trust.py plays T1 to T5 and T9 to T11, which need none.
"""
import json

from hostile_home import PARTIAL, Stuck
from hostile_rows import VICTIMS, row, suffer

# What the audit says of who claims to have seen somebody's operation and not what that one saw.
UNSEEN = "claims to have seen an operation, but not what that operation builds on"


def shown(home, name, *arguments):
    """What a command of a victim shows, as a document."""
    return json.loads(home.tries(name, *arguments, "--json", allowed=(0, PARTIAL)) or "{}")


def devices(home, name, person):
    """The names of a person's devices as a victim knows them."""
    return [one["name"] for one in shown(home, name, "device")["devices"]
            if one["person"] == person]


# T6: a recovery that is finished.

def undone(home, reason, *deed):
    """A thief has Ann's laptop. Ann comes back with her words, which ends the laptop: Berta sees it
    and goes on, and Ben hears of it only after the thief has tried to undo it."""
    home.join("berta", "Berta", "admin")
    home.join("rae", "Rae", "reader")
    words = home.words("ann")
    home.everybody_knows("ann", "berta", "ben", "rae")
    back = home.run("new", "recover", "--transport", home.place, "--revoke-others",
                    "--device", "new", piped=words + "\n")
    if back.returncode not in (0, PARTIAL):
        raise Stuck("hearth recover: exit %d: %s" % (back.returncode, back.stdout + back.stderr))
    home.sync("new", "berta")
    for role in ("child", "member"):
        home.do("berta", "member", "role", "Rae", role)
    home.sync("new", "rae")
    # Rae helps the thief, who cannot read any more what others write.
    stash, _, _ = home.prepare(
        ("ann", "unseen", "--eyes", home.path("rae"), "--witness", "Berta", *deed))
    if home.relay:
        home.shut_out(["ann"], stash)
    home.release(stash, by="rae")
    homes = ["new", "berta", "ben"]
    for _ in range(3):
        for name in homes:
            home.tries(name, "sync", allowed=(0, PARTIAL))
    for name in homes:
        stands(home, name, reason)
    digits = {name: shown(home, name, "compare").get("digits") for name in homes}
    home.holds(None not in digits.values() and len(set(digits.values())) == 1,
               "the members' logs differ: %r" % digits)
    home.do("new", "add", "Secret of Ann")
    home.works(homes)
    home.run("ann", "sync")
    home.holds("Secret of Ann" in home.tries("ben", "list")
               and "Secret of Ann" not in home.run("ann", "list").stdout,
               "the thief reads what Ann writes, or Ben does not")
    home.equal(homes)
    home.welcomes(homes)


def stands(home, name, reason):
    """Ann has the device that her words brought, Berta is an admin, and the audit names the thief's
    device and says why nothing of it counts."""
    people = sorted((one["name"], one["role"]) for one in shown(home, name, "member")["members"])
    home.holds(people == [("Ann", "owner"), ("Ben", "member"), ("Berta", "admin"),
                          ("Rae", "member")], "%s shows %r" % (name, people))
    home.holds(devices(home, name, "Ann") == ["new"],
               "%s: Ann's devices are %r" % (name, devices(home, name, "Ann")))
    entries = shown(home, name, "audit", "--all")["entries"]
    laptop = next(one["deviceId"] for one in entries if one["kind"] == "genesis")
    # The joining of a device that the laptop let in for this, if there is one.
    fresh = [one["deviceId"] for one in entries if one["kind"] == "join" and one.get("voidReason")]
    tried = [one for one in entries if one["kind"] in ("revokeDevice", "remove")]
    home.holds(sorted(one["kind"] for one in tried) == ["remove", "revokeDevice"]
               and all(one.get("voidReason") for one in tried),
               "%s: what the thief did is not without effect in the audit: %r" % (name, tried))
    home.holds(all(one["deviceId"] == (fresh or [laptop])[0] for one in tried),
               "%s: the audit names somebody else than the thief: %r" % (name, tried))
    home.holds(all(reason in one.get("voidReason", "") for one in tried if one["kind"] == "remove"),
               "%s: the audit does not say %r: %r" % (name, reason, tried))


@row("T6.relay", "the same over a relay, where Rae stores what it does not take from the thief",
     relay=())
@row("T6", "a thief's fresh device cites Berta's latest, and not the recovery that she had seen")
def undone_by_fresh(home):
    undone(home, UNSEEN, "--fresh")


@row("T6.stolen.relay", "the same over a relay", relay=())
@row("T6.stolen", "the stolen device itself does so")
def undone_by_stolen(home):
    undone(home, UNSEEN)


@row("T6.closed.relay", "the same over a relay", relay=())
@row("T6.closed", "the stolen device removes Berta as if it had heard of nothing since")
def undone_from_before(home):
    undone(home, "by recovery words", "--closed")


# T7: authors without end.

def outsiders(home, *options):
    home.join("mal", "Mal")
    if home.relay:
        home.join("rae", "Rae", "reader")
        home.do("out", "init", "--person", "Otto", "--device", "outside")
    home.sync("ben")
    home.do("ann", "member", "remove", "Mal", "--yes")
    home.sync("ann", "ben")
    # Whoever has an old key of the zone can have made them: there is nobody to name.
    suffer(home, [("mal", "strangers", "--number", "4000", *options)], [], logs=4000,
           outside=["mal", "out"], helper="rae")


@row("T7.relay", "the same over a relay, which takes none of it but from a reader", relay=())
@row("T7", "with a removed member's keys 4,000 devices introduce themselves")
def strangers_by_old_key(home):
    outsiders(home)


@row("T7.named.relay", "the same over a relay", relay=())
@row("T7.named", "the same, and each names an invitation that there is")
def strangers_by_name(home):
    outsiders(home, "--named")


@row("T7.link.relay", "the same over a relay", relay=())
@row("T7.link", "4,000 devices of a member use one link for one at once")
def crowd(home):
    home.join("mal", "Mal")
    deed = ("mal", "invitations", "--number", "1", "--joins", "4000")
    if suffer(home, [deed], [], logs=4000) is None:
        return
    for victim in VICTIMS:
        found = devices(home, victim, "Mal")
        home.holds(len(found) <= 2, "%s: Mal has %d devices by a link for one" % (
            victim, len(found)))


@row("T7.words.relay", "the same over a relay", relay=())
@row("T7.words", "a member replaces recovery words 400 times, and 4,000 devices forge their signature")
def forged_words(home):
    home.join("mal", "Mal")
    suffer(home, [("mal", "strangers", "--number", "4000", "--words", "--replaced", "400")], [],
           logs=4000)


# T8: invitations without end.

# A person may have made so many invitations to themselves.
MOST_INVITATIONS = 128


@row("T8.relay", "the same over a relay", relay=())
@row("T8", "a reader makes 1,300 invitations, each used by two devices at once")
def flood(home):
    home.join("rae", "Rae", "reader")
    deed = ("rae", "invitations", "--number", "1300", "--joins", "2")
    if suffer(home, [deed], [], logs=2600) is None:
        return
    for victim in VICTIMS:
        found = devices(home, victim, "Rae")
        home.holds(len(found) <= 1 + MOST_INVITATIONS,
                   "%s: Rae has %d devices" % (victim, len(found)))
        void = [one for one in shown(home, victim, "audit", "--all")["entries"]
                if one["person"] == "Rae" and "too many" in one.get("voidReason", "")]
        home.holds(len(void) == 1300 - MOST_INVITATIONS,
                   "%s: the audit calls %d of Rae's invitations too many" % (victim, len(void)))
    # One word ends all of it.
    home.tries("ann", "member", "remove", "Rae", "--yes", allowed=(0, PARTIAL))
    home.tries("ben", "sync", allowed=(0, PARTIAL))
    for victim in VICTIMS:
        home.holds(not devices(home, victim, "Rae"), "%s: Rae's devices stay" % victim)
    home.equal(VICTIMS)
