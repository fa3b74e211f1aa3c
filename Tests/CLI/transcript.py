#!/usr/bin/env python3
"""Plays transcripts: commands as people type them, with the output that they must give.

    transcript.py [--update] HEARTH FILE...

A file is plain text, or a Markdown document of which the `console` blocks are played. Each file
begins in an empty folder; each person has a home of their own there. As many files are played at
the same time as there are processors.

    # A comment.
    anna$ hearth init --person Anna      a command, run by sh in the folder of the transcript
    Anna's node on <device>: device <id> its output, standard error included, line by line
    [status 64]                          its exit status, where that is not 0
    anna& hearth sync --watch            goes on in the background when it has printed what follows

`<name>` stands for one word, the same word everywhere in a file, also in commands that follow; and
`<_>` for any. A line `...` stands for any lines. A line `anna$ ...` without output in the file
expects none. What is in the background ends with the file, or where its person starts something
else there.

A file that names `<way>` is played over a folder and over a relay, which serves meanwhile: `<way>`
is the path or the address, `<kind>` is `folder` or `relay`. A line that begins with `folder: ` or
`relay: ` counts over this way only, and so does what follows it if it is a command.

`write-down FILE COMMAND...` runs a command that shows recovery words: see write_down.py.

`--update` writes what the commands print now into a text file: lines that still fit stay, and in
the others the names stand for the words that were bound before.
"""
import concurrent.futures
import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROMPT = re.compile(r"^(\w+)([$&]) (.*)$")
NAME = re.compile(r"<(\w+)>")
WAYS = ("folder", "relay")
HERE = os.path.dirname(os.path.abspath(__file__))


class Step:
    """A command, where it stands, and the lines that follow it."""

    def __init__(self, person, stays, command, line):
        self.person, self.stays, self.command, self.line = person, stays == "&", command, line
        self.expected = []


def steps(text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        prompt = PROMPT.match(line)
        if prompt:
            found.append(Step(*prompt.groups(), number))
        elif found and line.strip() and not line.startswith("#"):
            found[-1].expected.append(line.rstrip())
    return found


def over(way, text):
    """The text as it counts over a way, each line where it was."""
    kept, counts = [], True
    for line in text.split("\n"):
        only = next((each for each in WAYS if line.startswith(each + ": ")), None)
        plain = line[len(only) + 2:] if only else line
        if PROMPT.match(plain):
            counts = only in (None, way)
        kept.append(plain if counts and only in (None, way) else "")
    return "\n".join(kept)


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
        for skip in range(len(lines) + 1):
            trial = dict(bound)
            if compare(expected[1:], lines[skip:], trial) is None:
                bound.update(trial)
                return None
        return (expected[1] if len(expected) > 1 else None, "none of %d lines" % len(lines))
    if not lines or not matches(expected[0], lines[0], bound):
        return (expected[0], lines[0] if lines else None)
    return compare(expected[1:], lines[1:], bound)


def renewed(expected, lines, bound):
    """Lines as they go into a file: what fits stays, the names stand for what they are bound to."""
    if compare(expected, lines, bound) is None:
        return expected
    new, left = [], list(expected)
    for line in lines:
        fits = next((old for old in left if matches(old, line, bound)), None)
        if fits:
            left = left[left.index(fits) + 1:]
        else:
            for name, word in sorted(bound.items(), key=lambda item: -len(item[1])):
                if len(word) > 3 and not word.isalpha():
                    line = re.sub(r"(?<!\w)%s(?!\w)" % re.escape(word), "<%s>" % name, line)
        new.append(fits or line)
    return new


class Stage:
    """An empty folder with the programs, and what runs there in the background."""

    def __init__(self, hearth):
        self.path = tempfile.mkdtemp(prefix="hearth-transcript-")
        self.background = {}
        os.makedirs(os.path.join(self.path, "bin"))
        for name, program in (
                ("hearth", hearth), ("write-down", os.path.join(HERE, "write_down.py")),
                ("hearth-relay", os.path.join(os.path.dirname(hearth), "hearth-relay"))):
            os.symlink(program, os.path.join(self.path, "bin", name))

    def started(self, person, command, out):
        environment = {
            "PATH": os.path.join(self.path, "bin") + ":" + os.environ["PATH"], "HOME": self.path,
            "HEARTH_HOME": os.path.join(self.path, person), "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
            "TZ": "UTC"}
        return subprocess.Popen(
            ["sh", "-c", command], stdout=out, stderr=subprocess.STDOUT, cwd=self.path,
            env=environment, stdin=subprocess.DEVNULL, start_new_session=True)

    def printed(self, out):
        out.seek(0)
        text = out.read().decode("utf-8", "replace").replace(self.path, "~")
        return [line.rstrip() for line in text.splitlines() if line.strip()]

    def run(self, step, command, bound, updating):
        """What a command printed and how it ended; of one in the background what it prints soon."""
        if step.stays:
            self.end(step.person)
        out = tempfile.TemporaryFile()
        process = self.started(step.person, command, out)
        if not step.stays:
            try:
                process.wait(timeout=120)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            lines = self.printed(out)
            return lines + (["[status %d]" % process.returncode] if process.returncode else [])
        self.background[step.person] = process
        for _ in range(60 if updating else 200):
            lines = self.printed(out)
            if not updating and compare(step.expected, lines, dict(bound)) is None:
                break
            time.sleep(0.05)
        return lines

    def end(self, person):
        process = self.background.pop(person, None)
        if process:
            try:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(timeout=20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                process.kill()
                process.wait()

    def begin(self, way, bound):
        """Makes the folder, or lets the relay serve."""
        bound.update(kind=way, way="~/shared")
        os.mkdir(os.path.join(self.path, "shared"))
        if way == "relay":
            del bound["way"]
            step = Step("relay", "&", "exec hearth-relay serve --listen 127.0.0.1:0 "
                        "--data relay-data --health off 2> relay-log", 0)
            step.expected = ["<way>"]
            compare(step.expected, self.run(step, step.command, bound, False), bound)

    def close(self):
        for person in list(self.background):
            self.end(person)
        shutil.rmtree(self.path)


def play(hearth, path, way, updating):
    """Plays one file; gives what to report, and what each command printed."""
    stage, bound, report, seen = Stage(hearth), {}, [], {}
    try:
        if way:
            stage.begin(way, bound)
        for offset, text in blocks(path):
            for step in steps(over(way, text) if way else text):
                command = NAME.sub(lambda name: bound.get(name[1], name[0]), step.command)
                lines = stage.run(step, command, bound, updating)
                if updating:
                    seen[offset + step.line] = renewed(step.expected, lines, bound)
                    continue
                seen[offset + step.line] = lines
                difference = compare(step.expected, lines, bound)
                if difference:
                    report.append("%s:%d: %s%s$ %s\n  expected: %s\n  printed:  %s" % (
                        path, offset + step.line, way + ": " if way else "", step.person,
                        step.command, *(each or "nothing more" for each in difference)))
    finally:
        stage.close()
    return report, seen


def update(path, plays):
    """Writes what was printed under each command, once where it is the same over each way."""
    with open(path) as file:
        old = file.read().splitlines()
    new, number = [], 0
    while number < len(old):
        new.append(old[number])
        number += 1
        printed = [seen[number] for seen in plays if number in seen]
        if not printed:
            continue
        while number < len(old) and old[number].strip() and not old[number].startswith("#") \
                and not PROMPT.match(re.sub(r"^(%s): " % "|".join(WAYS), "", old[number])):
            number += 1
        first, last = printed[0], printed[-1]
        for kind, begin, end, start, stop in difflib.SequenceMatcher(
                None, first, last, False).get_opcodes():
            if kind == "equal":
                new += first[begin:end]
            else:
                new += ["folder: " + line for line in first[begin:end]]
                new += ["relay: " + line for line in last[start:stop]]
    with open(path, "w") as file:
        file.write("\n".join(new) + "\n")


def main():
    paths = [word for word in sys.argv[1:] if word != "--update"]
    updating = "--update" in sys.argv[1:]
    if len(paths) < 2:
        sys.exit(__doc__)
    hearth = os.path.abspath(paths.pop(0))
    if updating and any(path.endswith(".md") for path in paths):
        sys.exit("transcript.py: a document is updated by hand")
    total = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        played = {
            path: [pool.submit(play, hearth, path, way, updating) for way in (
                WAYS if any("<way>" in text for _, text in blocks(path)) else [None])]
            for path in paths}
        for path, ways in played.items():
            reports, seen = zip(*(each.result() for each in ways))
            for report in reports:
                print("\n".join(report), end="\n" if report else "")
            if not all(seen):
                print("%s: holds no command" % path)
            total += sum(map(len, seen))
            failed += sum(map(len, reports)) + (0 if all(seen) else 1)
            if updating:
                update(path, seen)
    print("transcripts: %d commands in %d files, %s" % (
        total, len(paths), "as they should be" if failed == 0 else "%d faults" % failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
