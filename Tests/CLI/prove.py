#!/usr/bin/env python3
"""`Scripts/prove` and `Scripts/simulate` say first how long each part takes, and go on to the end.

    prove.py

Nothing is built: `swift`, `python3`, the models and the fuzzers are stand-ins that fail where they are told to.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from nodes import check, failures

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRODUCTS = ("membership-promises", "hearth", "hearth-relay", "hearth-sim")
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >>"$STAGE/calls"
case " $* " in
  *" --show-bin-path "*) echo "$STAGE/bin" ;;
esac
if [ -n "$FAILS" ]; then
  case "$(basename "$0") $*" in *"$FAILS"*) exit 7 ;; esac
fi
"""


class Stage:
    """A copy of the scripts, with stand-ins for what they run."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="hearth-prove-")
        shutil.copytree(os.path.join(ROOT, "Scripts"), self.path("Scripts"))
        for folder in ("bin", "path", "Simulations/Corpus", "Simulations/Scenarios"):
            os.makedirs(self.path(folder))
        for name in ("bin/" + product for product in PRODUCTS):
            self.stand_in(name)
        for name in ("path/swift", "path/python3", "path/make", "Scripts/models", "Scripts/fuzz"):
            self.stand_in(name)

    def path(self, *names):
        return os.path.join(self.root, *names)

    def stand_in(self, name):
        with open(self.path(name), "w") as file:
            file.write(STAND_IN)
        os.chmod(self.path(name), 0o755)

    def run(self, script, fails="", **environment):
        with open(self.path("calls"), "w"):
            pass
        return subprocess.run(
            ["sh", self.path("Scripts", script)], capture_output=True, text=True, timeout=120,
            env=dict(os.environ, PATH=self.path("path") + ":" + os.environ["PATH"],
                     STAGE=self.root, FAILS=fails, **environment))

    def calls(self):
        with open(self.path("calls")) as file:
            return file.read()


def announced(said):
    """The titles and times that are said before the first part begins."""
    return re.findall(r"^ +\d+ +((?:about )?\d+ (?:s|min|h \d+ min)) +(.*)$",
                      said.split("\n---")[0], re.MULTILINE)


def main():
    stage = Stage()
    try:
        for script, titles in (
                ("prove", ("membership: 100000 random histories with liars", "300 kills of a node",
                           "300 kills of a relay", "hostile members: a search for cost",
                           "simulations")),
                ("simulate", ("scenarios", "300 quick seeds from 0", "6 deep seeds from 0"))):
            listed = stage.run(script, PARTS_LIST="1")
            check(listed.returncode == 0 and not stage.calls(),
                  "%s: PARTS_LIST does something: %s" % (script, listed))
            parts = announced(listed.stdout)
            named = [title for _, title in parts]
            check(all(title in named for title in titles), "%s lists %r" % (script, named))
            check(all(time.startswith("about ") for time, _ in parts), "guesses: %r" % parts)
            check("in all about" in listed.stdout, "%s: no sum" % script)
        good = stage.run("prove")
        check(good.returncode == 0, "prove: %s%s" % (good.stdout, good.stderr))
        check(re.search(r"all \d+ parts are good$", good.stdout.strip()), good.stdout[-200:])
        # Hostile members are not left to the small numbers of a quick look.
        calls = stage.calls()
        check(re.search(r"hostile\.py .* --fuzz 600$", calls, re.MULTILINE), "no search for cost")
        check(re.search(r"--mode hostile --from 0 --count 10000 ", calls), "few hostile seeds")
        count = len(announced(good.stdout))
        check(good.stdout.count("\n--- ") >= count + 1, "fewer parts than were announced")
        # What was measured is said the next time, and only of what was done.
        known = announced(stage.run("prove", PARTS_LIST="1").stdout)
        check(not any(time.startswith("about ") for time, _ in known), "measured: %r" % known)
        other = announced(stage.run("prove", PARTS_LIST="1", PROVE_KILLS="7").stdout)
        check([title for time, title in other if time.startswith("about ")]
              == ["7 kills of a node", "7 kills of a relay"], "guessed: %r" % other)
        for fails, title in (
                ("membership-promises random 0 100000",
                 "membership: 100000 random histories with liars"),
                ("kill_loop.py", "300 kills of a node"), ("hearth-sim exhaustive", "simulations")):
            bad = stage.run("prove", fails=fails)
            check(bad.returncode == 1, "%s: status %d" % (fails, bad.returncode))
            check("hearth-sim mutants" in stage.calls(), "%s: the rest was left out" % fails)
            summary = bad.stdout.split("--- prove, ")[-1]
            failed = re.findall(r"^ +FAILED \(\d+\) +\d+ \w+ +(.*)$", summary, re.MULTILINE)
            check(failed == [title], "%s: the summary tells of %r" % (fails, failed))
            check("1 of %d parts failed" % count in bad.stdout, "%s: no count" % fails)
        check("FAILED (7)" in bad.stdout and "every order of a few changes" in bad.stdout,
              "what failed within the simulations is not told")
        for name in ("PROVE_DEPTH", "PROVE_SEARCH", "SIM_HOSTILE"):
            wrong = stage.run("prove", **{name: "deep"})
            check(wrong.returncode == 64 and not stage.calls(), "%s=deep: %s" % (name, wrong))
    finally:
        shutil.rmtree(stage.root)
    print("prove: %d failed" % len(failures))
    sys.exit(1 if failures else 0)


main()
