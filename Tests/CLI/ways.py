#!/usr/bin/env python3
"""One node, several households, several ways: each household goes over those that are meant for it.

    ways.py HEARTH HEARTH_RELAY [--show]

Anna is in three households: Home goes over a folder, Flat over a relay, Garden over both. What the
folder and the relay hold is looked at from outside.
"""
import json
import os
import shutil
import sys

from nodes import FAILED, Nodes, Relay, check, failures

PARTIAL, USAGE = 2, 64


class Ways(Nodes):
    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, shows, "hearth-ways-")
        self.folder = self.path("folder")
        os.mkdir(self.folder)
        self.relay = Relay(os.path.abspath(relay), self.path("relay-data"))

    def json(self, home, *arguments, **options):
        return json.loads(self.says(home, [*arguments, "--json"], **options))

    def link(self, home, *arguments):
        return self.says(home, arguments, "hearth join").strip().splitlines()[-1]

    def sync(self, *homes, status=0):
        for home in homes:
            self.says(home, ["sync"], status=status)

    def lines(self, home):
        """What `transport list` says: of each number what it carries."""
        listed = self.json(home, "transport", "list")["transports"]
        return {item["number"]: item["cargo"] for item in listed}

    def carries(self, home, number, *names, private=False):
        cargo = self.lines(home)[number]
        check(not cargo["everything"] and cargo["households"] == sorted(names)
              and cargo["privateDatabase"] == private, "%s carries %r" % (home, cargo))

    def digits(self, home, household):
        return self.json(home, "compare", "--household", household)["digits"]

    def equal(self, household, *homes):
        found = {self.digits(home, household) for home in homes}
        check(len(found) == 1, "%s differs between %s" % (household, ", ".join(homes)))

    def in_folder(self):
        """The zones that the folder holds, by tag."""
        place = os.path.join(self.folder, "z")
        return set(os.listdir(place))

    def in_relay(self):
        """The mailboxes that the relay has, by id, which is the tag of a zone's."""
        done = self.relay.ask("stats", "--json")
        check(done.returncode == 0, "stats: " + done.stderr)
        return {json.loads(line)["mailbox"] for line in done.stdout.splitlines()}


def beginning(ways):
    ways.says("anna", ["init", "--person", "Anna", "--device", "laptop"])
    for name in ("Home", "Flat", "Garden"):
        ways.says("anna", ["household", "create", name, "--time-zone", "UTC"])
    add = ["transport", "add"]
    ways.says("anna", ["add", "Plants", "--household", "Flat"])
    ways.says("anna", ["doctor"], "there is no transport", "shared Flat", status=PARTIAL)
    ways.says("anna", [*add, "folder", ways.folder, "--only", "Home"], "for Home",
              "warning: none of your transports carries Flat now", "carry 1 --also Flat",
              "warning: none of your transports carries your private database now")
    ways.says("anna", ["sync"], "warning: none of your transports carries Flat, which has changes")
    ways.says("anna", ["doctor"], "none of your transports carries Flat", "carry 1 --also Flat",
              status=PARTIAL)
    # Naming the place once more lets it carry more.
    ways.says("anna", [*add, "folder", ways.folder, "--household", "Garden"], "for Garden, Home")
    ways.says("anna", ["invite", "--household", "Flat"], "none of your transports carries Flat",
              "--also Flat", status=3)
    ways.says("anna", ["status"], "none of your transports carries it")
    ways.says("anna", [*add, "relay", ways.relay.address, "--only", "flat", "--only", "Garden"],
              "for Flat, Garden")
    ways.says("anna", ["transport", "list"], "CARRIES", "Garden, Home", "Flat, Garden")
    ways.carries("anna", 1, "Garden", "Home")
    ways.carries("anna", 2, "Flat", "Garden")
    check("none of your ways" not in ways.says("anna", ["status"]), "a household is stranded")
    ways.sync("anna")
    (home, flat) = ({"Home", "Garden"}, {"Flat", "Garden"})
    check(len(ways.in_folder()) == 2 * len(home), "the folder has %r" % ways.in_folder())
    check(len(ways.in_relay()) == 2 * len(flat), "the relay has %r" % ways.in_relay())
    both = ways.in_folder() & ways.in_relay()
    check(len(both) == 2, "the folder and the relay share %r" % both)
    ways.of_home = ways.in_folder() - both


def refusals(ways):
    carry = ["transport", "carry"]
    ways.says("anna", [*carry, "9", "--everything"], "there is no transport 9", status=FAILED)
    ways.says("anna", [*carry, "1"], "no option says what", status=USAGE)
    ways.says("anna", [*carry, "1", "--only", "Home", "--also", "Flat"],
              "these options exclude each other", status=USAGE)
    ways.says("anna", [*carry, "1", "--only", "Nowhere"], "no household named", status=FAILED)
    ways.says("anna", ["transport", "add", "folder", ways.folder, "--only", "Nowhere"],
              "no household named", status=FAILED)
    ways.carries("anna", 1, "Garden", "Home")


def others(ways):
    """Each newcomer reaches a household by its way; a further way carries that one alone."""
    (home, flat) = (ways.link("anna", "invite", "--household", "Home"),
                    ways.link("anna", "invite", "--household", "Flat"))
    garden = ways.link("anna", "invite", "--household", "Garden", "--uses", "2",
                       "--at-once")
    ways.says("ben", ["init", "--person", "Ben", "--device", "tablet"])
    ways.says("ben", ["join", home], "joined Home")
    check(ways.lines("ben")[1]["everything"], "the first way does not carry everything")
    ways.says("ben", ["transport", "carry", "1", "--only", "Home"], "carries Home")
    ways.says("ben", ["join", flat], "joined Flat")
    ways.carries("ben", 2, "Flat")
    ways.says("cara", ["init", "--person", "Cara", "--device", "phone"])
    ways.says("cara", ["join", garden], "joined Garden")
    ways.says("dora", ["init", "--person", "Dora", "--device", "phone"])
    ways.says("dora", ["join", garden, "--folder", ways.folder], "joined Garden")
    ways.says("dora", ["household", "create", "Den", "--time-zone", "UTC"])
    ways.says("dora", ["transport", "carry", "1", "--only", "Garden"], "carries Garden",
              "none of your transports carries Den now")
    os.mkdir(ways.path("den"))
    ways.says("dora", ["transport", "add", "folder", ways.path("den"), "--only", "Den"], "for Den")
    ways.says("dora", ["transport", "remove", "2"], "none of your transports carries Den now")
    ways.sync("anna", "ben", "cara", "dora", "anna")
    check(not ways.in_relay() & ways.of_home, "Home came to lie at the relay")
    check(len(ways.in_folder()) == 4, "the folder has %r" % ways.in_folder())


def same_state(ways):
    """What is done arrives by whichever way, and by two at once no other than by one."""
    ways.says("ben", ["add", "Dishes", "--points", "5", "--household", "Home"])
    ways.says("ben", ["add", "Stairs", "--points", "7", "--household", "Flat"])
    ways.says("cara", ["add", "Weeds", "--points", "3"])
    ways.says("dora", ["add", "Water", "--points", "2", "--household", "Garden"])
    # Anna asks the folder before the relay, so she carries to the folder with her second sync.
    ways.sync("ben", "cara", "dora", "anna", "anna", "cara", "dora", "ben")
    ways.equal("Home", "anna", "ben")
    ways.equal("Flat", "anna", "ben")
    # Cara is at the relay and Dora at the folder: Anna carries between them.
    ways.equal("Garden", "anna", "cara", "dora")
    for home, household, title in (
            ("anna", "Home", "Dishes"), ("anna", "Flat", "Stairs"), ("dora", "Garden", "Weeds"),
            ("cara", "Garden", "Water")):
        ways.says(home, ["list", "--household", household], title)
    ways.says("anna", ["doctor"])


def away(ways):
    """A relay that is away harms no household that does not need it, and no invitation either."""
    ways.relay.kill()
    ways.says("anna", ["invite", "--household", "Home"], "hearth join")
    ways.says("anna", ["invite", "--household", "Flat"], "no invitation was made", status=3)
    ways.says("ben", ["add", "Oven", "--points", "4", "--household", "Home"])
    ways.sync("ben", "anna", status=3)
    ways.says("anna", ["list", "--household", "Home"], "Oven")
    ways.relay.start()
    ways.sync("anna", "ben")


def taken_off(ways):
    """What goes over a way no more is not kept up to date there."""
    before = {name: len(os.listdir(os.path.join(ways.folder, "z", name)))
              for name in ways.in_folder()}
    ways.says("anna", ["transport", "carry", "1", "--only", "Home"], "carries Home")
    ways.says("anna", ["add", "Fence", "--points", "9", "--household", "Garden"])
    ways.sync("anna", "cara")
    ways.equal("Garden", "anna", "cara")
    after = {name: len(os.listdir(os.path.join(ways.folder, "z", name)))
             for name in ways.in_folder()}
    check(before == after, "Garden still goes over the folder")
    ways.says("anna", ["transport", "carry", "1", "--also", "Garden"], "carries Garden, Home")
    ways.sync("anna", "dora")
    ways.equal("Garden", "anna", "dora")


def renamed(ways):
    """The setting `name` is what a household is called, for everybody and by every command."""
    ways.says("ben", ["settings", "set", "name", "our  Flat", "--household", "Flat"])
    ways.says("ben", ["settings", "set", "name", "HOME", "--household", "Flat"],
              "in a household named HOME already", status=FAILED)
    ways.sync("ben", "anna")
    for home in ("anna", "ben"):
        for line in (["household", "list"], ["status"], ["transport", "list"]):
            ways.says(home, line, "our  Flat")
        # The new name in any case, the name of the founding, and the id.
        listed = ways.json(home, "household", "list")["households"]
        number = next(item["id"] for item in listed if item["name"] == "our  Flat")
        for name in ("OUR  FLAT", "flat", number[:8]):
            ways.says(home, ["list", "--household", name], "Stairs")
    ways.says("anna", ["settings", "get", "name", "--household", "Garden"], "Garden")
    link = ways.json("anna", "invite", "--household", "our  Flat", "--approve")
    check(link["household"] == "our  Flat", "invited to %r" % link["household"])
    ways.says("emil", ["init", "--person", "Emil", "--device", "phone"])
    ways.says("emil", ["join", link["link"]], "asked our  Flat")
    ways.says("anna", ["invite", "revoke", ways.json(
        "anna", "invite", "list", "--household", "Flat")["invitations"][-1]["id"],
        "--household", "Flat"])
    # Somebody who is in another household gives one the name that Anna's has already.
    ways.says("cara", ["settings", "set", "name", "our  Flat"])
    ways.sync("cara", "anna")
    ways.says("anna", ["list", "--household", "our  Flat"], "2 households", number[:8],
              status=FAILED)
    ways.says("anna", ["list", "--household", number[:8]], "Stairs")
    ways.says("cara", ["settings", "unset", "name"])
    ways.says("anna", ["settings", "unset", "name", "--household", number[:8]])
    ways.sync("cara", "anna", "ben", "dora")
    check([item["name"] for item in ways.json("ben", "household", "list")["households"]]
          == ["Flat", "Home"], "the old names are not back")


def own_devices(ways):
    """A further device needs a way that carries the private database as well."""
    ways.says("anna", ["settings", "set", "list-order", "due", "--scope", "person"])
    ways.says("anna", ["device", "add", "--household", "Flat"], "carry NUMBER --private", status=3)
    ways.says("anna", ["transport", "carry", "2", "--private"], "carries Flat, Garden, private")
    before = ways.in_folder()
    link = ways.link("anna", "device", "add", "--household", "Flat")
    ways.says("phone", ["init", "--person", "Anna", "--device", "phone"])
    ways.says("phone", ["join", link], "joined Flat")
    ways.sync("anna", "phone")
    check(ways.says("phone", ["settings", "get", "list-order"]).strip() == "due",
          "the phone has no settings of Anna's")
    check(ways.in_folder() == before, "the private database came to lie in the folder")


def recovery(ways):
    """Words bring back what lies at the places that are named, and say what does not."""
    words = ways.words("anna")
    check("with all of these:" in ways.told and "hearth recover --transport %s --transport %s" % (
        ways.folder, ways.relay.address) in ways.told, "the way back: " + ways.told)
    check("do NOT" not in ways.told, "words show warns: " + ways.told)
    ways.sync("anna")
    ways.says("anna", ["words", "check"], "right", piped=words)
    ways.says("anna", ["transport", "carry", "2", "--only", "Flat"],
              "none of your transports carries your private database now")
    ways.says("anna", ["words", "check"], "right", "do NOT restore your private database",
              status=PARTIAL, piped=words)
    lost = ways.json("anna", "words", "check", status=PARTIAL, piped=words)["notBroughtBack"]
    check(lost == ["private"], "not brought back: %r" % lost)
    ways.says("anna", ["doctor"], "none of your transports carries your private database",
              status=PARTIAL)
    ways.says("anna", ["transport", "carry", "2", "--only", "Flat", "--only", "Garden",
                       "--private"], "carries Flat, Garden, private")
    said = ways.run("new", "recover", "--transport", ways.folder, "--device", "new", piped=words)
    check(said.returncode == 0, "recover: " + said.stderr)
    for word in ("Home", "Garden", "Flat was not restored", "--transport may be repeated"):
        check(word in said.stdout + said.stderr, "recover does not say %r: %s%s" % (
            word, said.stdout, said.stderr))
    done = ways.run("newer", "recover", "--transport", ways.folder, "--transport",
                    ways.relay.address, "--device", "newer", piped=words)
    check(done.returncode == 0 and "was not restored" not in done.stderr,
          "recover from both: " + done.stderr)
    ways.carries("newer", 1, "Garden", "Home")
    ways.carries("newer", 2, "Flat", "Garden", private=True)
    ways.sync("newer", "anna", "newer")
    for household in ("Home", "Flat", "Garden"):
        ways.equal(household, "anna", "newer")


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__.strip())
    ways = Ways(sys.argv[1], sys.argv[2], "--show" in sys.argv)
    try:
        for story in (beginning, refusals, others, same_state, away, taken_off, renamed,
                      own_devices, recovery):
            story(ways)
            print("%s: %s" % (story.__name__, "FAILED" if failures else "ok"))
            if failures:
                break
    finally:
        ways.relay.kill()
        shutil.rmtree(ways.root)
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
