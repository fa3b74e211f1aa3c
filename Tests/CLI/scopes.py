#!/usr/bin/env python3
"""One node, several households, several transports: each carries the households of its scope.

    scopes.py HEARTH HEARTH_RELAY [--show]

Anna is in three households: Home goes over a folder, Flat over a relay, Garden over both. What the
folder and the relay hold is looked at from outside.
"""
import json
import os
import shutil
import sys

from nodes import FAILED, Nodes, Relay, check, failures

PARTIAL, USAGE = 2, 64


class Scopes(Nodes):
    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, shows, "hearth-scopes-")
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
        return {item["number"]: item["scope"] for item in listed}

    def carries(self, home, number, *names, private=False):
        scope = self.lines(home)[number]
        check(not scope["everything"] and scope["households"] == sorted(names)
              and scope["privateDatabase"] == private, "%s carries %r" % (home, scope))

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


def beginning(scopes):
    scopes.says("anna", ["init", "--person", "Anna", "--device", "laptop"])
    for name in ("Home", "Flat", "Garden"):
        scopes.says("anna", ["household", "create", name, "--time-zone", "UTC"])
    add = ["transport", "add"]
    scopes.says("anna", ["add", "Plants", "--household", "Flat"])
    scopes.says("anna", ["doctor"], "there is no transport", "shared Flat", status=PARTIAL)
    scopes.says("anna", [*add, "folder", scopes.folder, "--only", "Home"], "for Home",
              "warning: none of your transports carries Flat now", "carry 1 --also Flat",
              "warning: none of your transports carries your private database now")
    scopes.says("anna", ["sync"], "warning: none of your transports carries Flat, which has changes")
    scopes.says("anna", ["doctor"], "none of your transports carries Flat", "carry 1 --also Flat",
              status=PARTIAL)
    # Naming the place once more lets it carry more.
    scopes.says("anna", [*add, "folder", scopes.folder, "--household", "Garden"], "for Garden, Home")
    scopes.says("anna", ["invite", "--household", "Flat"], "none of your transports carries Flat",
              "--also Flat", status=3)
    scopes.says("anna", ["status"], "none of your transports carries it")
    scopes.says("anna", [*add, "relay", scopes.relay.address, "--only", "flat", "--only", "Garden"],
              "for Flat, Garden")
    scopes.says("anna", ["transport", "list"], "CARRIES", "Garden, Home", "Flat, Garden")
    scopes.carries("anna", 1, "Garden", "Home")
    scopes.carries("anna", 2, "Flat", "Garden")
    check("none of your transports" not in scopes.says("anna", ["status"]), "a household is stranded")
    scopes.sync("anna")
    (home, flat) = ({"Home", "Garden"}, {"Flat", "Garden"})
    check(len(scopes.in_folder()) == 2 * len(home), "the folder has %r" % scopes.in_folder())
    check(len(scopes.in_relay()) == 2 * len(flat), "the relay has %r" % scopes.in_relay())
    both = scopes.in_folder() & scopes.in_relay()
    check(len(both) == 2, "the folder and the relay share %r" % both)
    scopes.of_home = scopes.in_folder() - both


def refusals(scopes):
    carry = ["transport", "carry"]
    scopes.says("anna", [*carry, "9", "--everything"], "there is no transport 9", status=FAILED)
    scopes.says("anna", [*carry, "1"], "no option says what", status=USAGE)
    scopes.says("anna", [*carry, "1", "--only", "Home", "--also", "Flat"],
              "these options exclude each other", status=USAGE)
    scopes.says("anna", [*carry, "1", "--only", "Nowhere"], "no household named", status=FAILED)
    scopes.says("anna", ["transport", "add", "folder", scopes.folder, "--only", "Nowhere"],
              "no household named", status=FAILED)
    scopes.carries("anna", 1, "Garden", "Home")


def others(scopes):
    """Each newcomer reaches a household by its way; a further way carries that one alone."""
    (home, flat) = (scopes.link("anna", "invite", "--household", "Home"),
                    scopes.link("anna", "invite", "--household", "Flat"))
    garden = scopes.link("anna", "invite", "--household", "Garden", "--uses", "2",
                       "--at-once")
    scopes.says("ben", ["init", "--person", "Ben", "--device", "tablet"])
    scopes.says("ben", ["join", home], "joined Home")
    check(scopes.lines("ben")[1]["everything"], "the first way does not carry everything")
    scopes.says("ben", ["transport", "carry", "1", "--only", "Home"], "carries Home")
    scopes.says("ben", ["join", flat], "joined Flat")
    scopes.carries("ben", 2, "Flat")
    scopes.says("cara", ["init", "--person", "Cara", "--device", "phone"])
    scopes.says("cara", ["join", garden], "joined Garden")
    scopes.says("dora", ["init", "--person", "Dora", "--device", "phone"])
    scopes.says("dora", ["join", garden, "--folder", scopes.folder], "joined Garden")
    scopes.says("dora", ["household", "create", "Den", "--time-zone", "UTC"])
    scopes.says("dora", ["transport", "carry", "1", "--only", "Garden"], "carries Garden",
              "none of your transports carries Den now")
    os.mkdir(scopes.path("den"))
    scopes.says("dora", ["transport", "add", "folder", scopes.path("den"), "--only", "Den"], "for Den")
    scopes.says("dora", ["transport", "remove", "2"], "none of your transports carries Den now")
    scopes.sync("anna", "ben", "cara", "dora", "anna")
    check(not scopes.in_relay() & scopes.of_home, "Home came to lie at the relay")
    check(len(scopes.in_folder()) == 4, "the folder has %r" % scopes.in_folder())


def same_state(scopes):
    """What is done arrives by whichever way, and by two at once no other than by one."""
    scopes.says("ben", ["add", "Dishes", "--points", "5", "--household", "Home"])
    scopes.says("ben", ["add", "Stairs", "--points", "7", "--household", "Flat"])
    scopes.says("cara", ["add", "Weeds", "--points", "3"])
    scopes.says("dora", ["add", "Water", "--points", "2", "--household", "Garden"])
    # Anna asks the folder before the relay, so she carries to the folder with her second sync.
    scopes.sync("ben", "cara", "dora", "anna", "anna", "cara", "dora", "ben")
    scopes.equal("Home", "anna", "ben")
    scopes.equal("Flat", "anna", "ben")
    # Cara is at the relay and Dora at the folder: Anna carries between them.
    scopes.equal("Garden", "anna", "cara", "dora")
    for home, household, title in (
            ("anna", "Home", "Dishes"), ("anna", "Flat", "Stairs"), ("dora", "Garden", "Weeds"),
            ("cara", "Garden", "Water")):
        scopes.says(home, ["list", "--household", household], title)
    scopes.says("anna", ["doctor"])


def away(scopes):
    """A relay that is away harms no household that does not need it, and no invitation either."""
    scopes.relay.kill()
    scopes.says("anna", ["invite", "--household", "Home"], "hearth join")
    scopes.says("anna", ["invite", "--household", "Flat"], "no invitation was made", status=3)
    scopes.says("ben", ["add", "Oven", "--points", "4", "--household", "Home"])
    scopes.sync("ben", "anna", status=3)
    scopes.says("anna", ["list", "--household", "Home"], "Oven")
    scopes.relay.start()
    scopes.sync("anna", "ben")


def taken_off(scopes):
    """What goes over a way no more is not kept up to date there."""
    before = {name: len(os.listdir(os.path.join(scopes.folder, "z", name)))
              for name in scopes.in_folder()}
    scopes.says("anna", ["transport", "carry", "1", "--only", "Home"], "carries Home")
    scopes.says("anna", ["add", "Fence", "--points", "9", "--household", "Garden"])
    scopes.sync("anna", "cara")
    scopes.equal("Garden", "anna", "cara")
    after = {name: len(os.listdir(os.path.join(scopes.folder, "z", name)))
             for name in scopes.in_folder()}
    check(before == after, "Garden still goes over the folder")
    scopes.says("anna", ["transport", "carry", "1", "--also", "Garden"], "carries Garden, Home")
    scopes.sync("anna", "dora")
    scopes.equal("Garden", "anna", "dora")


def renamed(scopes):
    """The setting `name` is what a household is called, for everybody and by every command."""
    scopes.says("ben", ["settings", "set", "name", "our  Flat", "--household", "Flat"])
    scopes.says("ben", ["settings", "set", "name", "HOME", "--household", "Flat"],
              "in a household named HOME already", status=FAILED)
    scopes.sync("ben", "anna")
    for home in ("anna", "ben"):
        for line in (["household", "list"], ["status"], ["transport", "list"]):
            scopes.says(home, line, "our  Flat")
        # The new name in any case, the name of the founding, and the id.
        listed = scopes.json(home, "household", "list")["households"]
        number = next(item["id"] for item in listed if item["name"] == "our  Flat")
        for name in ("OUR  FLAT", "flat", number[:8]):
            scopes.says(home, ["list", "--household", name], "Stairs")
    scopes.says("anna", ["settings", "get", "name", "--household", "Garden"], "Garden")
    link = scopes.json("anna", "invite", "--household", "our  Flat", "--approve")
    check(link["household"] == "our  Flat", "invited to %r" % link["household"])
    scopes.says("emil", ["init", "--person", "Emil", "--device", "phone"])
    scopes.says("emil", ["join", link["link"]], "asked our  Flat")
    scopes.says("anna", ["invite", "revoke", scopes.json(
        "anna", "invite", "list", "--household", "Flat")["invitations"][-1]["id"],
        "--household", "Flat"])
    # Somebody who is in another household gives one the name that Anna's has already.
    scopes.says("cara", ["settings", "set", "name", "our  Flat"])
    scopes.sync("cara", "anna")
    scopes.says("anna", ["list", "--household", "our  Flat"], "2 households", number[:8],
              status=FAILED)
    scopes.says("anna", ["list", "--household", number[:8]], "Stairs")
    scopes.says("cara", ["settings", "unset", "name"])
    scopes.says("anna", ["settings", "unset", "name", "--household", number[:8]])
    scopes.sync("cara", "anna", "ben", "dora")
    check([item["name"] for item in scopes.json("ben", "household", "list")["households"]]
          == ["Flat", "Home"], "the old names are not back")


def own_devices(scopes):
    """A further device needs a way that carries the private database as well."""
    scopes.says("anna", ["settings", "set", "list-order", "due", "--scope", "person"])
    scopes.says("anna", ["device", "add", "--household", "Flat"], "carry NUMBER --private", status=3)
    scopes.says("anna", ["transport", "carry", "2", "--private"], "carries Flat, Garden, private")
    before = scopes.in_folder()
    link = scopes.link("anna", "device", "add", "--household", "Flat")
    scopes.says("phone", ["init", "--person", "Anna", "--device", "phone"])
    scopes.says("phone", ["join", link], "joined Flat")
    scopes.sync("anna", "phone")
    check(scopes.says("phone", ["settings", "get", "list-order"]).strip() == "due",
          "the phone has no settings of Anna's")
    check(scopes.in_folder() == before, "the private database came to lie in the folder")


def recovery(scopes):
    """Words bring back what lies at the places that are named, and say what does not."""
    words = scopes.words("anna")
    check("with all of these:" in scopes.told and "hearth recover --transport %s --transport %s" % (
        scopes.folder, scopes.relay.address) in scopes.told, "the way back: " + scopes.told)
    check("do NOT" not in scopes.told, "words show warns: " + scopes.told)
    scopes.sync("anna")
    scopes.says("anna", ["words", "check"], "right", piped=words)
    scopes.says("anna", ["transport", "carry", "2", "--only", "Flat"],
              "none of your transports carries your private database now")
    scopes.says("anna", ["words", "check"], "right", "do NOT restore your private database",
              status=PARTIAL, piped=words)
    lost = scopes.json("anna", "words", "check", status=PARTIAL, piped=words)["notBroughtBack"]
    check(lost == ["private"], "not brought back: %r" % lost)
    scopes.says("anna", ["doctor"], "none of your transports carries your private database",
              status=PARTIAL)
    scopes.says("anna", ["transport", "carry", "2", "--only", "Flat", "--only", "Garden",
                       "--private"], "carries Flat, Garden, private")
    said = scopes.run("new", "recover", "--transport", scopes.folder, "--device", "new", piped=words)
    check(said.returncode == 0, "recover: " + said.stderr)
    for word in ("Home", "Garden", "Flat was not restored", "--transport may be repeated"):
        check(word in said.stdout + said.stderr, "recover does not say %r: %s%s" % (
            word, said.stdout, said.stderr))
    done = scopes.run("newer", "recover", "--transport", scopes.folder, "--transport",
                    scopes.relay.address, "--device", "newer", piped=words)
    check(done.returncode == 0 and "was not restored" not in done.stderr,
          "recover from both: " + done.stderr)
    scopes.carries("newer", 1, "Garden", "Home")
    scopes.carries("newer", 2, "Flat", "Garden", private=True)
    scopes.sync("newer", "anna", "newer")
    for household in ("Home", "Flat", "Garden"):
        scopes.equal(household, "anna", "newer")


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__.strip())
    scopes = Scopes(sys.argv[1], sys.argv[2], "--show" in sys.argv)
    try:
        for story in (beginning, refusals, others, same_state, away, taken_off, renamed,
                      own_devices, recovery):
            story(scopes)
            print("%s: %s" % (story.__name__, "FAILED" if failures else "ok"))
            if failures:
                break
    finally:
        scopes.relay.kill()
        shutil.rmtree(scopes.root)
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
