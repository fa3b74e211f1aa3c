#!/usr/bin/env python3
"""Writes down the recovery words that a command shows, and types back those that it asks for.

    write_down.py [--wrong] FILE COMMAND...

The words go into the file, as one line. What else the command says is passed on, and its exit
status is this one's; what this gets on standard input, the command gets first. With --wrong the
words are typed back wrongly.
"""
import re
import subprocess
import sys


def write_down(command, typed="", is_wrong=False, environment=None):
    """Gives the words, what else was said, and the exit status."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment)
    process.stdin.write(typed)
    process.stdin.flush()
    words, told = {}, ""
    while len(words) < 12:
        line = process.stdout.readline()
        if not line:
            break
        words.update({int(n): word for n, word in re.findall(r"(\d+)\. +([a-z]+)", line)})
    for line in process.stderr:
        told += line
        place = re.search(r"from your paper, word (\d+)", line)
        if place:
            word = words[int(place.group(1))]
            if is_wrong:
                word = "zone" if word == "zoo" else "zoo"
            process.stdin.write(word + "\n")
            process.stdin.flush()
    told += process.stdout.read()
    process.stdin.close()
    return " ".join(words[n] for n in sorted(words)), told, process.wait(timeout=120)


def main():
    arguments = sys.argv[1:]
    is_wrong = arguments[:1] == ["--wrong"]
    paper, *command = arguments[1:] if is_wrong else arguments
    words, told, status = write_down(command, sys.stdin.read(), is_wrong)
    if words:
        with open(paper, "w") as file:
            file.write(words + "\n")
    print(told, end="")
    sys.exit(status)


if __name__ == "__main__":
    main()
