"""Attacks of trust.py by those who hold a link: found, shared, kept after a removal, used twice."""
import re

from nodes import check
from trust_home import DAY, MINUTE, Stuck

DAYS = 400
TRIES = 60
NEW_KEY = re.compile(r"\bnew keys?\b|\bkeys? (was|were) made\b")
REASON = re.compile(r"\b(as|because|since|so that|who)\b")


def t4(home):
    """Mallory finds a link that Ben used up 400 days ago. She sets her clock back to that day, has
    nothing but the files of that day from before Ben came, makes fresh nodes until her device id
    sorts before Ben's, joins, and brings what she wrote to everybody's files. Ben stays, Mallory is
    not in and reads nothing of what is written afterwards, and the audit says why."""
    homes = ("ada", "ben", "cleo")
    home.clocks = {name: -DAYS * DAY for name in homes}
    home.found("ada", "Ada", "laptop")
    home.join("cleo", "Cleo", "pad", home.link("ada", "invite"))
    home.must("ada", "sync")
    link = home.link("ada", "invite")
    home.keep("day-0")
    # An id in the lower half of all would make Mallory try for long.
    ben = first_home(home, "ben", "Ben", lambda device: device >= "8")
    home.clocks[ben] = -DAYS * DAY
    home.must(ben, "join", link)
    homes = ("ada", ben, "cleo")
    home.must(ben, "add", "Ben's plants")
    home.must(ben, "done", "Dishes")
    home.settle(*homes, rounds=2)
    home.clocks = {}
    home.must("ada", "add", "Windows")
    home.settle(*homes, rounds=2)
    family = (("Ada", "owner"), ("Ben", "member"), ("Cleo", "member"))
    if home.people("ada") != sorted(family):
        raise Stuck("on day 400 Ada shows %r" % home.people("ada"))
    bens = home.device_id(ben)

    home.turn_back("day-0")
    mallory = first_home(
        home, "mallory", "Mallory", lambda device: device < bens, -DAYS * DAY + 5 * MINUTE)
    home.intrude(mallory, link)
    home.clocks = {}
    home.merge()
    home.settle(*homes, mallory)
    for name in ("ada", ben):
        home.writes(name, "Secret of " + name)
    home.settle(*homes, mallory)
    home.belongs(homes, *family)
    home.agree(*homes)
    home.have(homes, "Dishes", "Ben's plants", "Windows", "Secret of ada", "Secret of " + ben)
    home.cannot_read([mallory], "Ben's plants", "Windows", "Secret of ada", "Secret of " + ben)
    mallorys = home.device_id(mallory)
    for name in homes:
        tried = home.entries(name, kind="join", deviceId=mallorys)
        check(tried and all(entry.get("voidReason") for entry in tried),
              "%s: the audit does not say why Mallory is not in: %r" % (
                  name, [(entry["text"], entry.get("voidReason")) for entry in tried]))
        check(not [entry for entry in home.entries(name, kind="join", deviceId=bens)
                   if entry.get("voidReason")], "%s: Ben's joining is void in the audit" % name)


def first_home(home, prefix, person, fits, clock=0):
    """Makes nodes until the device id of one fits; gives its home."""
    for number in range(TRIES):
        name = "%s%d" % (prefix, number)
        if clock:
            home.clocks[name] = clock
        home.init(name, person, "phone")
        if fits(home.device_id(name)):
            return name
    raise Stuck("no device id of %d fits" % TRIES)


def t5(home):
    """A second holder of a link for several comes in under Ben's name, while Ben's joining is known
    to everybody. Both are shown, with one name and two ids, and Ben keeps his records and points:
    nobody takes a place that is taken."""
    home.found("ada", "Ada", "laptop")
    link = home.link("ada", "invite", "--uses", "3", "--at-once")
    home.join("ben", "Ben", "phone", link)
    home.must("ben", "add", "Ben's plants")
    home.must("ben", "done", "Dishes")
    home.settle("ben", "ada", "ben", rounds=1)
    home.join("twin", "Ben", "tablet", link)
    home.must("twin", "add", "The other Ben's bins")
    homes = ("ada", "ben", "twin")
    home.settle(*homes)
    home.belongs(homes, ("Ada", "owner"), ("Ben", "member"), ("Ben", "member"))
    home.agree(*homes)
    home.have(homes, "Dishes", "Ben's plants", "The other Ben's bins")
    ids = [home.person_id(name) for name in ("ben", "twin")]
    check(ids[0] != ids[1], "both Bens have one id")
    for name in homes:
        points = [home.json(name, "points", person).get("total") for person in ids]
        check(points == [3, 0], "%s: the points of both Bens are %r" % (name, points))


def t9(home):
    """Ben is removed while the link for several by which he came is open. He uses it with his old
    node, and with a fresh one; later once more with a fresh one that sees only the files of before
    his removal, which come to everybody's then. He is not in, and reads nothing of what is written
    after his removal. The removal closed the link, which the admin's list of invitations shows."""
    home.found("ada", "Ada", "laptop")
    link = home.link("ada", "invite", "--uses", "5", "--at-once")
    for name, person in (("ben", "Ben"), ("cleo", "Cleo")):
        home.join(name, person, "phone", link)
    family = ("ada", "cleo")
    home.settle("ada", "ben", "cleo", rounds=2)
    home.keep("before")
    home.must("ada", "member", "remove", "Ben", "--yes")
    home.settle(*family, rounds=2)
    for name in family:
        shown = home.invitation(name, uses=5)
        check(shown["state"] == "revoked", "%s shows the link as %s with %d uses left after "
              "the removal" % (name, shown["state"], shown["usesLeft"]))
    home.writes("ada", "Secret one")
    home.settle(*family, "ben", rounds=2)

    home.intrude("ben", link)
    home.init("fresh", "Benjamin", "new phone")
    home.intrude("fresh", link)
    home.settle(*family, "ben", "fresh", rounds=2)
    home.writes("cleo", "Secret two")
    home.settle(*family, "ben", "fresh", rounds=2)
    people = (("Ada", "owner"), ("Cleo", "member"))
    home.belongs(family, *people)
    home.have(family, "Secret one", "Secret two")
    home.cannot_read(("ben", "fresh"), "Secret one", "Secret two")

    home.turn_back("before")
    home.init("late", "Benno", "third phone")
    home.intrude("late", link)
    home.merge()
    everybody = (*family, "ben", "fresh", "late")
    home.settle(*everybody)
    home.writes("ada", "Secret three")
    home.settle(*everybody)
    home.arrived("cleo", "join", "late")
    home.belongs(family, *people)
    home.agree(*family)
    home.have(family, "Secret one", "Secret two", "Secret three")
    home.cannot_read(("ben", "fresh", "late"), "Secret one", "Secret two", "Secret three")


def t10(home):
    """Ben and Cleo use one link for one person at two copies of the files, which come together
    later. Exactly one of them is in, for everybody alike. The next sync of an owner and of a member
    is enough for a new key: the other one's node cannot read what either of them writes then. And
    the programs say why that key was made."""
    home.found("ada", "Ada", "laptop")
    home.join("dora", "Dora", "pad", home.link("ada", "invite"))
    home.settle("ada", "dora", rounds=2)
    link = home.link("ada", "invite")
    home.keep("apart")
    home.join("ben", "Ben", "phone", link)
    home.must("ben", "sync")
    if home.relay:
        # Who turns out to be out gives nothing to a relay: Dora brings what Ben wrote.
        home.must("dora", "sync")
    home.turn_back("apart")
    home.join("cleo", "Cleo", "phone", link)
    home.must("cleo", "sync")
    home.merge()
    home.settle("ben", "cleo", *(["dora"] if home.relay else []), rounds=1)
    home.settle("ada", "dora", rounds=1)
    home.writes("ada", "Secret of Ada")
    home.writes("dora", "Secret of Dora")
    everybody = ("ada", "dora", "ben", "cleo")
    home.settle(*everybody)

    people = [name for name, _ in home.people("ada")]
    inside = [name for name in ("Ben", "Cleo") if name in people]
    check(len(inside) == 1, "Ada shows %s" % ", ".join(people))
    for name in ("dora", *(person.lower() for person in inside)):
        check(home.people(name) == home.people("ada"), "%s shows %r, and Ada %r" % (
            name, home.people(name), home.people("ada")))
    others = [name for name in ("Ben", "Cleo") if name not in inside]
    home.have(["ada", "dora", *map(str.lower, inside)], "Secret of Ada", "Secret of Dora")
    home.cannot_read(map(str.lower, others), "Secret of Ada", "Secret of Dora")
    for name in ("ben", "cleo"):
        home.arrived("dora", "join", name)
    late = others[0]
    synced = home.run("ada", "sync")
    check("%s joined Home with a link that was no longer valid" % late in synced.stdout + synced.stderr,
          "a sync does not tell Ada that %s waits: %s" % (late, synced.stdout + synced.stderr))
    numbered = home.run("ada", "approve", late, "--number", " ".join(["11111"] * 6))
    check(numbered.returncode == 4 and "has no number to compare" in numbered.stderr,
          "a number that nobody compared lets %s in: %s%s" % (
              late, numbered.stdout, numbered.stderr))
    told = [line for name in ("ada", "dora") for line in (
        *home.told(name), *home.must(name, "audit", "--all").splitlines())]
    lines = {line.strip() for line in told if NEW_KEY.search(line)}
    # Whoever is not in may have no name there.
    names = [*others, *(home.device_id(name.lower())[:8] for name in others)]
    check([line for line in lines if REASON.search(line) or any(name in line for name in names)],
          "nothing says that a key was made because of %s, but %s" % (
              " and ".join(others), sorted(lines)))
    # Who lets somebody in who had waited is told without `--all`, with both names.
    home.must("ada", "approve", late, "--yes")
    for name in ("ada", "dora"):
        home.run(name, "sync")
        lines = [line for line in home.must(name, "audit").splitlines() if "had waited" in line]
        check(len(lines) == 1 and "Ada approved %s with " % late in lines[0],
              "%s: the audit tells of who had waited: %r" % (name, lines))
