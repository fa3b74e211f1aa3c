#!/usr/bin/env python3
"""What `hearth-relay` says where it cannot serve or do what it was told: one clear line each.

    relay_refusals.py HEARTH_RELAY [--show]

Each command must end with 1 (64 for options that cannot be), say what is wrong and what to do, and
name no type of the program or its libraries.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile

from nodes import Relay, check, failures

FAILED, USAGE = 1, 64
# What an operator has no use for.
NAMES = ("Error Domain", "NSCocoa", "NIO", "IOError", "bind(", "errno", "Optional(", "SQLITE_",
         "nilError", "0x")


class Operator:
    def __init__(self, program, shows):
        self.program = os.path.abspath(program)
        self.shows = shows
        self.root = tempfile.mkdtemp(prefix="hearth-relay-refusals-")

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def folder(self, name):
        """The data of a relay that was there once, and ended in order."""
        data = self.path(name)
        relay = Relay(self.program, data)
        relay.process.terminate()
        check(relay.process.wait(timeout=30) == 0, "the relay ends with an error")
        relay.process.stdout.close()
        return data

    def says(self, arguments, *words, status=FAILED):
        try:
            done = subprocess.run(
                [self.program, *arguments], capture_output=True, text=True, timeout=20)
        except subprocess.TimeoutExpired:
            check(False, "hearth-relay %s serves" % " ".join(arguments))
            return
        if self.shows:
            print("$ hearth-relay %s\n  %s" % (" ".join(arguments), done.stderr.strip()))
        name = "hearth-relay " + " ".join(arguments)
        check(done.returncode == status, "%s: exit %d: %s" % (
            name, done.returncode, done.stderr.strip()))
        said = done.stderr.strip()
        if status == FAILED:
            check(len(said.splitlines()) == 1, "%s says more than a line: %s" % (name, said))
            check(said.startswith("Error: "), "%s says %r" % (name, said))
        for word in words:
            check(word in said, "%s does not say %r: %s" % (name, word, said))
        # The folder's name is random, and may hold any of them.
        for word in NAMES:
            check(word not in said.replace(self.root, ""), "%s says %r: %s" % (name, word, said))

    def serves(self, data, *words, listen="127.0.0.1:0", status=FAILED, options=()):
        self.says(
            ["serve", "--data", data, "--listen", listen, "--health", "off", *options], *words,
            status=status)


def folders(operator):
    """What lies in the folder is not what it must be."""
    data = operator.folder("damaged")
    with open(os.path.join(data, "relay.sqlite"), "r+b") as log:
        log.write(b"no database at all" * 200)
    operator.serves(data, "is damaged", "move it aside")
    operator.says(["stats", "--data", data], "is damaged")

    data = operator.folder("torn")
    os.truncate(os.path.join(data, "relay.sqlite"), 5000)
    operator.serves(data, "is damaged", "move it aside")

    data = operator.folder("strange")
    os.remove(os.path.join(data, "identity.key"))
    operator.serves(data, "identity.key", "restore a copy", "move the log aside")
    check(not os.path.exists(os.path.join(data, "identity.key")), "new keys were made")

    data = operator.folder("spoilt")
    with open(os.path.join(data, "identity.key"), "r+b") as key:
        key.write(b"junk")
    operator.serves(data, "identity.key is damaged", "restore a copy")

    data = operator.path("file")
    with open(data, "w") as file:
        file.write("no folder")
    operator.serves(
        data, "cannot be made", "than a folder is in its place", "choose another --data")
    operator.serves(os.path.join(data, "below"), "cannot be made", "choose another --data")
    if os.geteuid() != 0:
        data = operator.path("closed")
        os.mkdir(data, 0o500)
        operator.serves(data, "this user lacks the permission", "folder's permissions")
    operator.serves("/proc/hearth", "cannot be made", "choose another --data")


def addresses(operator):
    """Where it shall listen it cannot."""
    data = operator.folder("addresses")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        operator.serves(
            data, "127.0.0.1:%d" % port, "another program uses this port",
            "choose another --listen", listen="127.0.0.1:%d" % port)
        operator.says(
            ["serve", "--data", data, "--listen", "127.0.0.1:0", "--health", str(port)],
            "another program uses this port", "choose another --health")
    # An address for documents (RFC 5737), which no machine has.
    operator.serves(
        data, "this machine does not have this address", listen="192.0.2.1:7440")
    operator.serves(data, "there is no such host", listen="no-such-host.invalid:7440")
    operator.serves(data, "--listen is HOST:PORT", listen="7440", status=USAGE)
    operator.serves(
        data, "cannot be used", "in PEM",
        options=("--certificate", data, "--certificate-key", data))
    running = Relay(operator.program, data)
    operator.serves(data, "another relay serves", "stop it")
    running.kill()


def commands(operator):
    """What the operator asks of a log cannot be."""
    data = operator.folder("commands")
    nothing = "0" * 32
    operator.says(["stats", "--data", operator.path("none")], "there is no relay in")
    operator.says(["remove", nothing, "--data", data], "no mailbox of that name")
    operator.says(["remove", nothing, "--yes", "--data", data], "no mailbox of that name")
    operator.says(
        ["remove", "12", "--yes", "--data", data], "32 hexadecimal digits", status=USAGE)
    operator.says(["quota", nothing, "5", "--data", data], "no mailbox of that name")
    operator.says(["token", "--uses", "0", "--data", data], "from 1 to", status=USAGE)
    for option in ("--mailbox-bytes", "--total-bytes", "--connections"):
        operator.serves(data, option, "from 1", status=USAGE, options=(option, "0"))
    copy = operator.path("none", "copy")
    operator.says(["export", copy, "--data", data], copy, "there is no such folder")
    operator.says(["export", data, "--data", data], "exists", status=USAGE)
    operator.says(["serve", "--total-bytes", "much"], "--total-bytes", status=USAGE)


def main():
    operator = Operator(sys.argv[1], "--show" in sys.argv)
    try:
        for story in (folders, addresses, commands):
            story(operator)
    finally:
        shutil.rmtree(operator.root, ignore_errors=True)
    print("relay refusals: %s" % ("%d checks failed" % len(failures) if failures else "good"))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
