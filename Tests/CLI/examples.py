#!/usr/bin/env python3
"""Builds the example applications as packages of their own, and runs them.

    examples.py HEARTH_RELAY [--scratch FOLDER] [--flags FLAGS] [--show]

Each is built as a developer would build it: it depends on this checkout by path and sees nothing
but the products. --scratch is where they are built; all three share it, so Hearth is built once,
and not at all where this checkout was built with the same flags.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from nodes import Relay, check, failures

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Examples:
    def __init__(self, options):
        self.scratch = os.path.abspath(options.scratch or os.path.join(ROOT, ".build-examples"))
        self.flags = options.flags.split()
        self.shows = options.show
        self.home = tempfile.mkdtemp(prefix="hearth-examples-")
        self.relay = Relay(os.path.abspath(options.relay), os.path.join(self.home, "relay"))

    def forget_plan(self):
        """The package manager takes the plan of another package in the same folder for its own."""
        for name in ("debug.yaml", "debug/description.json"):
            pathlib.Path(self.scratch, name).unlink(missing_ok=True)

    def swift(self, verb, name, *arguments):
        self.forget_plan()
        done = subprocess.run(
            ["swift", verb, "--package-path", os.path.join(ROOT, "Examples", name),
             "--scratch-path", self.scratch, *self.flags, *arguments],
            capture_output=True, text=True, timeout=3_600)
        said = done.stdout + done.stderr
        if self.shows:
            print(said)
        check(done.returncode == 0, "swift %s of %s: exit %d: %s" % (
            verb, name, done.returncode, said[-2_000:]))
        return said

    def run(self, name, *arguments, piped="", status=0):
        program = os.path.join(self.scratch, "debug", name)
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=120, input=piped,
            env=dict(os.environ, HOME=self.home))
        if self.shows:
            print("$ %s %s\n%s%s" % (name, " ".join(arguments), done.stdout, done.stderr))
        check(done.returncode == status, "%s %s: exit %d: %s" % (
            name, " ".join(arguments), done.returncode, done.stdout + done.stderr))
        return done.stdout.splitlines()

    def notes(self):
        self.swift("build", "Notes")
        lines = self.run("Notes")
        check(lines == ["Dishes: 3 votes", "both replicas are equal"], "Notes says %r" % lines)

    def shopping(self):
        said = self.swift("test", "Shopping")
        check("3 tests" in said and "passed" in said, "the tests of Shopping did not run")
        lines = self.run("Shopping")
        check(lines[0] == "3 × Milk, with a photo of 300000 bytes", "Shopping says %r" % lines)
        check(lines[1].endswith(": Open until eight."), "Shopping says %r" % lines)
        check(lines[2].startswith("conflict in name: ") and "Market hall" in lines[2]
              and "Green market" in lines[2], "Shopping says %r" % lines)
        check(lines[3:] == ["both replicas are equal"], "Shopping says %r" % lines)

    def chat(self):
        self.swift("build", "Chat")
        anna, ben = (os.path.join(self.home, name) for name in ("anna", "ben"))
        link = self.run("Chat", anna, "Anna", self.relay.address, piped="Hello!\n")[0]
        lines = self.run("Chat", ben, "Ben", "-", piped=link + "\nHi Anna\n")
        check("Anna: Hello!" in lines and "Ben: Hi Anna" in lines, "Ben sees %r" % lines)
        lines = self.run("Chat", anna)
        check(lines == ["Anna: Hello!", "Ben: Hi Anna"], "Anna sees %r" % lines)
        self.run("Chat", anna, "Anna", status=1)
        self.run("Chat", os.path.join(self.home, "zoe"), "Zoe", "-", piped="nonsense\n", status=1)

    def close(self):
        self.forget_plan()
        self.relay.kill()
        shutil.rmtree(self.home, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("relay")
    parser.add_argument("--scratch")
    parser.add_argument("--flags", default="")
    parser.add_argument("--show", action="store_true")
    examples = Examples(parser.parse_args())
    try:
        examples.notes()
        examples.shopping()
        examples.chat()
    finally:
        examples.close()
    print("examples: " + ("%d checks failed" % len(failures) if failures else "all as they should be"))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
