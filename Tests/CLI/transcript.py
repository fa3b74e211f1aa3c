#!/usr/bin/env python3
"""Plays transcripts: commands as people type them, with the output that they must give.

    transcript.py [--update] HEARTH FILE...

A file is plain text, or a Markdown document of which the `console` blocks are played. Each file
begins in an empty folder; each person has a home of their own there.

    # A comment.
    anna$ hearth init --person Anna      a command, run by sh in the folder of the transcript
    Anna's node on <device>: device <id> its output, standard error included, line by line
    [status 64]                          its exit status, where that is not 0

`<name>` stands for one word, the same word everywhere in a file, and `<_>` for any. A line `...`
stands for any lines. `--update` writes what the commands print now into a text file, with the names
for the words that were bound before. A line `anna$ ...` without output in the file expects none.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROMPT = re.compile(r"^(\w+)\$ (.*)$")
NAME = re.compile(r"<(\w+)>")


class Step:
    """A command, where it stands, and the lines that follow it."""

    def __init__(self, person, command, line):
        self.person, self.command, self.line, self.expected = person, command, line, []


def steps(text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        prompt = PROMPT.match(line)
        if prompt:
            found.append(Step(prompt.group(1), prompt.group(2), number))
        elif found and line.strip() and not line.startswith("#"):
            found[-1].expected.append(line.rstrip())
    return found


def blocks(path):
    """The parts of a file that are played, each with the number of the line before it."""
    with open(path) as file:
        text = file.read()
    if not path.endswith(".md"):
        return [(0, text)]
    return [
        (text.count("\n", 0, match.start(1)), match.group(1))
        for match in re.finditer(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]


def matches(expected, line, bound):
    """Whether a line is as expected; binds the names that are new."""
    pattern, names, last = "", [], 0
    for match in NAME.finditer(expected):
        pattern += re.escape(expected[last:match.start()])
        name = match.group(1)
        if name in bound:
            pattern += re.escape(bound[name])
        elif name in names:
            pattern += "(?P=%s)" % name
        elif name == "_":
            pattern += r"\S+?"
        else:
            pattern += r"(?P<%s>\S+?)" % name
            names.append(name)
        last = match.end()
    found = re.fullmatch(pattern + re.escape(expected[last:]), line)
    if found:
        bound.update(found.groupdict())
    return found is not None


def compare(expected, lines, bound):
    """The first line that differs, as (expected, found); None where all fit."""
    if not expected:
        return None if not lines else (None, lines[0])
    if expected[0].strip() == "...":
        trial = dict(bound)
        for skip in range(len(lines) + 1):
            trial = dict(bound)
            if compare(expected[1:], lines[skip:], trial) is None:
                bound.update(trial)
                return None
        return (expected[1] if len(expected) > 1 else None, "none of %d lines" % len(lines))
    if not lines or not matches(expected[0], lines[0], bound):
        return (expected[0], lines[0] if lines else None)
    return compare(expected[1:], lines[1:], bound)


def run(step, stage):
    environment = {
        "PATH": os.path.join(stage, "bin") + ":" + os.environ["PATH"], "HOME": stage,
        "HEARTH_HOME": os.path.join(stage, step.person), "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
        "TZ": "UTC"}
    done = subprocess.run(
        ["sh", "-c", step.command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=120, cwd=stage, env=environment, stdin=subprocess.DEVNULL)
    lines = [line.rstrip() for line in done.stdout.replace(stage, "~").splitlines() if line.strip()]
    return lines + (["[status %d]" % done.returncode] if done.returncode else [])


def play(hearth, path, updating):
    """Plays one file; gives how many commands there were, and how many went otherwise."""
    stage = tempfile.mkdtemp(prefix="hearth-transcript-")
    os.makedirs(os.path.join(stage, "bin"))
    for program in (hearth, os.path.join(os.path.dirname(hearth), "hearth-relay")):
        if os.path.exists(program):
            os.symlink(program, os.path.join(stage, "bin", os.path.basename(program)))
    bound, count, faults, seen = {}, 0, 0, {}
    try:
        for offset, text in blocks(path):
            for step in steps(text):
                count += 1
                lines = run(step, stage)
                seen[offset + step.line] = lines
                difference = compare(step.expected, lines, bound)
                if difference and not updating:
                    faults += 1
                    print("%s:%d: %s$ %s" % (path, offset + step.line, step.person, step.command))
                    print("  expected: %s" % (difference[0] or "nothing more"))
                    print("  printed:  %s" % (difference[1] or "nothing more"))
    finally:
        shutil.rmtree(stage)
    if updating:
        update(path, seen, bound)
    return count, faults


def update(path, seen, bound):
    """Writes what was printed under each command; keeps what still fits as it is."""
    with open(path) as file:
        old = file.read().splitlines()
    new, number = [], 0
    while number < len(old):
        new.append(old[number])
        number += 1
        if number not in seen:
            continue
        expected = []
        while number < len(old) and old[number].strip() and not PROMPT.match(old[number]) \
                and not old[number].startswith("#"):
            expected.append(old[number])
            number += 1
        lines = seen[number - len(expected)]
        if compare(expected, lines, dict(bound)) is None:
            new += expected
            continue
        for line in lines:
            for name in sorted(bound, key=lambda name: -len(bound[name])):
                line = line.replace(bound[name], "<%s>" % name)
            new.append(line)
    with open(path, "w") as file:
        file.write("\n".join(new) + "\n")


def main():
    arguments = [word for word in sys.argv[1:] if word != "--update"]
    updating = "--update" in sys.argv[1:]
    if len(arguments) < 2:
        sys.exit(__doc__)
    hearth = os.path.abspath(arguments[0])
    total = failed = 0
    for path in arguments[1:]:
        if updating and path.endswith(".md"):
            sys.exit("transcript.py: a document is updated by hand: %s" % path)
        count, faults = play(hearth, path, updating)
        total, failed = total + count, failed + faults
        if count == 0:
            print("%s: holds no command" % path)
            failed += 1
    print("transcripts: %d commands in %d files, %s" % (
        total, len(arguments) - 1, "as they should be" if failed == 0 else "%d faults" % failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
