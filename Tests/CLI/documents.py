#!/usr/bin/env python3
"""Runs what the documents tell a newcomer to type, in a fresh home.

    documents.py HEARTH

Every fenced `console` block is an excerpt of a transcript in Tests/CLI/Transcripts, which the
pipeline plays. Every fenced `sh` block of docs/start.md and README.md runs as it stands, line after line, on the
node of the person whom the latest `hearth init` or `hearth join` named. What asks for a link (`hearth join -`) gets
the one that `invite` printed, on standard input. Blocks that call make are the pipeline's own. Every command that any document names in
backticks must exist.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import transcript

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = "/media/family/hearth"
failures = []


def read(name):
    with open(os.path.join(ROOT, name)) as file:
        return file.read()


def walk(hearth, name):
    """Runs the blocks of one document; gives how many commands there were."""
    stage = tempfile.mkdtemp(prefix="hearth-documents-")
    os.makedirs(os.path.join(stage, "bin"))
    os.symlink(hearth, os.path.join(stage, "bin", "hearth"))
    shared = os.path.join(stage, "shared")
    os.mkdir(shared)
    node, link, count = "nobody", "", 0
    for block in re.findall(r"^```sh\n(.*?)^```", read(name), re.DOTALL | re.MULTILINE):
        if re.search(r"^make ", block, re.MULTILINE):
            continue
        person = re.search(r"hearth (?:init|join -) --person (\w+)", block)
        node = person.group(1) if person else node
        environment = {
            "PATH": os.path.join(stage, "bin") + ":" + os.environ["PATH"], "HOME": stage,
            "HEARTH_HOME": os.path.join(stage, node), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
        for line in block.replace(SHARED, shared).splitlines():
            if not line.strip():
                continue
            count += 1
            done = subprocess.run(
                ["sh", "-c", line], capture_output=True, text=True, timeout=60, cwd=stage,
                env=environment, input=link + "\n" if "hearth join -" in line else "")
            if done.returncode != 0:
                failures.append(line)
                print("FAILED %s: %s\n  exit %d: %s" % (
                    name, line, done.returncode, done.stderr.strip()))
            found = re.findall(r"^hearth://\S+$", done.stdout, re.MULTILINE)
            link = found[-1] if found else link
    shutil.rmtree(stage)
    return count


def excerpts():
    """Compares the `console` blocks with the transcripts: each command, with all that it prints."""
    folder = os.path.join(ROOT, "Tests", "CLI", "Transcripts")
    played = {
        (step.person, step.command, *step.expected)
        for name in sorted(os.listdir(folder))
        for step in transcript.steps(read(os.path.join(folder, name)))}
    places = ["README.md", "docs/start.md"]
    count = 0
    for place in places:
        for _, text in transcript.blocks(os.path.join(ROOT, place)):
            for step in transcript.steps(text):
                count += 1
                if (step.person, step.command, *step.expected) not in played:
                    failures.append(step.command)
                    print("FAILED %s: no transcript has `%s` with this output" % (
                        place, step.command))
    if count == 0:
        failures.append("console")
        print("FAILED no document shows what a command prints")


def named_commands(hearth):
    """Every command that a document names, with its subcommand where it has some."""
    known = {}
    places = [
        os.path.relpath(os.path.join(folder, file), ROOT)
        for folder, _, files in os.walk(os.path.join(ROOT, "docs")) for file in files
        if file.endswith(".md")]
    for place in sorted(places) + ["README.md"]:
        for words in re.findall(r"`hearth ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)", read(place)):
            words = words.split()
            known.setdefault(words[0], []).append(place)
    for command in sorted(known):
        if command == "help":
            continue
        done = subprocess.run(
            [hearth, "help", command], capture_output=True, text=True, timeout=60)
        if done.returncode != 0 or "USAGE" not in done.stdout:
            failures.append(command)
            print("FAILED there is no `hearth %s`: %s" % (command, ", ".join(known[command])))
    return len(known)


def main():
    hearth = os.path.abspath(sys.argv[1])
    steps = sum(walk(hearth, name) for name in ("docs/start.md", "README.md"))
    excerpts()
    commands = named_commands(hearth)
    if steps < 20:
        failures.append("steps")
        print("FAILED only %d commands were found in the documents" % steps)
    print("%d commands of the documents typed, %d named ones looked up, %d wrong" % (
        steps, commands, len(failures)))
    sys.exit(1 if failures else 0)


main()
