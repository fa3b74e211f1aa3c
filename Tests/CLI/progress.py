#!/usr/bin/env python3
"""Sees how far long transfers over a slow line have got, as a person at a terminal does.

    progress.py HEARTH HEARTH_RELAY [--show]

Standard error is a terminal in some runs and none in others: the line has to come only on a
terminal and only where it takes long, to grow, to fit, and to be gone in the end.
"""
import base64
import fcntl
import os
import pty
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

from nodes import Nodes, Relay, check, failures

COLUMNS = 72
NOTES = 110
NOTE_BYTES = 12_000
SLOW_BYTES_A_SECOND = 300_000
LINE = re.compile(
    r"(receiving|sending) (\d+)\.(\d)(?: of (\d+\.\d))? MB \((\d+)(?: of (\d+))? files?\)")


class Line:
    """Stands before a relay and passes bytes on, at most so many a second, or all at once."""

    def __init__(self, port_behind):
        self.port_behind = port_behind
        self.rate = None
        self.socket = socket.socket()
        # What waits in the system counts as sent.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen()
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            before, _ = self.socket.accept()
            behind = socket.create_connection(("127.0.0.1", self.port_behind))
            for source, target in ((before, behind), (behind, before)):
                threading.Thread(target=self.carry, args=(source, target), daemon=True).start()

    def carry(self, source, target):
        try:
            while data := source.recv(16_384):
                if self.rate:
                    time.sleep(len(data) / self.rate)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Screen:
    """The lines of a terminal that has no more to it than a return to the line's begin."""

    def __init__(self, text):
        self.drawn = []
        self.lines = []
        for line in text.replace("\r\n", "\n").split("\n"):
            cells = []
            for part in line.split("\r"):
                cells[:len(part)] = part
                if part.strip():
                    self.drawn.append(part.rstrip())
            self.lines.append("".join(cells).rstrip())


def at_terminal(family, home, *arguments, until=None):
    """Runs a command with its output on a terminal and gives the terminal's text; interrupts it
    once it said a word."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    process = subprocess.Popen(
        family.command(home, *arguments), stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
        env=family.environment)
    os.close(theirs)
    text = b""
    while True:
        try:
            data = os.read(ours, 65_536)
        except OSError:
            break
        if not data:
            break
        text += data
        if until and ("\n" in text.decode(errors="replace").split(until)[-1]
                      and until.encode() in text):
            process.send_signal(signal.SIGINT)
            until = None
    os.close(ours)
    text = text.decode()
    if family.shows:
        print("$ hearth --home %s %s\n  %r" % (home, " ".join(arguments), text))
    check(process.wait(timeout=120) == 0, "%s: %s: %s" % (home, arguments[0], text))
    return text


def check_line(name, text, way, has_sum, times=3):
    """There is a line, it grows, it fits, and nothing of it stays."""
    screen = Screen(text)
    found = [LINE.search(drawn) for drawn in screen.drawn]
    found = [match for match in found if match and match.group(1) == way]
    check(len(found) >= times, "%s: the line was drawn %d times: %r" % (name, len(found), text))
    tenths = [int(match.group(2)) * 10 + int(match.group(3)) for match in found]
    check(tenths == sorted(tenths), "%s: it goes back: %s" % (name, tenths))
    check(tenths and tenths[-1] > tenths[0], "%s: it does not move: %s" % (name, tenths))
    if has_sum:
        check(all(match.group(4) for match in found), "%s: no sum is told: %r" % (name, text))
    for drawn in screen.drawn:
        if LINE.search(drawn):
            check(len(drawn) < COLUMNS, "%s: %d columns: %r" % (name, len(drawn), drawn))
    check("\x1b" not in text, "%s: control codes although NO_COLOR is set: %r" % (name, text))
    left = [line for line in screen.lines if LINE.search(line)]
    check(not left, "%s: it stays: %r" % (name, left))
    return "%s: drawn %d times, up to %s" % (name, len(found), found[-1].group(0) if found else "")


def check_none(name, text):
    check("receiving" not in text and "sending" not in text, "%s: a line: %r" % (name, text))


def fill(family, home, count, chance):
    for number in range(count):
        note = base64.b64encode(chance.randbytes(NOTE_BYTES * 3 // 4)).decode()
        family.says(home, ["add", "Chore %d of %s" % (chance.getrandbits(60), home),
                           "--note", note])


def main():
    family = Nodes(sys.argv[1], "--show" in sys.argv, "hearth-progress-")
    relay = Relay(sys.argv[2], family.path("relay"))
    line = Line(int(relay.port))
    address = "hearth-relay://127.0.0.1:%d/%s" % (line.port, relay.address.rsplit("/", 1)[1])
    chance = random.Random(7)
    for home in ("ada", "ben", "cleo", "dora"):
        family.says(home, ["init", "--person", home.title(), "--device", home])
    family.says("ada", ["household", "create", "Home", "--time-zone", "UTC"])
    family.says("ada", ["transport", "add", "relay", address])
    check_none("nothing to do", at_terminal(family, "ada", "sync"))
    link = family.says("ada", ["invite", "--uses", "5", "--at-once"], "hearth join").strip().splitlines()[-1]

    fill(family, "ada", NOTES, chance)
    line.rate = SLOW_BYTES_A_SECOND
    told = [check_line("sync, giving", at_terminal(family, "ada", "sync"), "sending", False, 2)]
    text = at_terminal(family, "ben", "join", link)
    told.append(check_line("join", text, "receiving", True))
    check(any(screen.startswith("joined Home") for screen in Screen(text).lines),
          "join: what it printed is not whole: %r" % text)
    line.rate = None

    # Without a terminal there is none, with --json neither, and none where it is quick.
    line.rate = SLOW_BYTES_A_SECOND
    # As bytes: as text, Python would take a return for a line's end.
    done = subprocess.run(
        family.command("cleo", "join", link), stdin=subprocess.DEVNULL, capture_output=True,
        env=family.environment, timeout=120)
    said = done.stdout + done.stderr
    check(done.returncode == 0, "cleo: %r" % said)
    check_none("no terminal", said.decode())
    check(b"\r" not in said and b"joined Home" in said, "without a terminal: %r" % said)
    line.rate = None
    family.says("dora", ["join", link])
    fill(family, "dora", 60, chance)
    family.says("dora", ["sync"])
    check_none("quick", at_terminal(family, "cleo", "sync"))
    line.rate = SLOW_BYTES_A_SECOND
    check_none("json", at_terminal(family, "ada", "sync", "--json"))
    text = at_terminal(family, "ben", "sync")
    told.append(check_line("sync, receiving", text, "receiving", True))
    fill(family, "dora", 60, chance)
    line.rate = None
    family.says("dora", ["sync"])
    line.rate = SLOW_BYTES_A_SECOND
    text = at_terminal(family, "ben", "sync", "--watch", until="received")
    told.append(check_line("sync --watch", text, "receiving", True))
    line.rate = None

    # By a folder it is quick.
    folder = family.path("shared")
    os.mkdir(folder)
    family.says("ada", ["transport", "add", "folder", folder])
    check_none("a folder, json", at_terminal(family, "ada", "sync", "--json"))
    relay.kill()
    print("\n".join("  " + words for words in told))
    print("progress: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    if not failures:
        shutil.rmtree(family.root)
    sys.exit(1 if failures else 0)


main()
