#!/usr/bin/env python3
"""Fills the disk under a node, and looks how the program refuses.

    refusals.py HEARTH

The node is on a small file system of its own, where one may be mounted. Otherwise this checks
nothing and says so: that is why it is no transcript. All other refusals are in
Tests/CLI/Transcripts/refusals.txt.
"""
import os
import shutil
import subprocess
import sys
import tempfile

FAILED = 1


class Node:
    def __init__(self, hearth, home):
        self.hearth = os.path.abspath(hearth)
        self.home = home

    def run(self, *arguments):
        return subprocess.run(
            [self.hearth, "--home", self.home, *arguments], capture_output=True, text=True,
            timeout=60, stdin=subprocess.DEVNULL)

    def must(self, *arguments):
        done = self.run(*arguments)
        if done.returncode != 0:
            sys.exit("hearth %s ended with %d: %s" % (
                " ".join(arguments), done.returncode, done.stderr))
        return done.stdout


def full_disk(node, disk):
    """The fault is named, nothing that was acknowledged is lost, and with room work goes on."""
    node.must("init", "--person", "Dan", "--device", "d")
    node.must("household", "create", "Small", "--time-zone", "UTC")
    node.must("add", "Before")
    with open(os.path.join(disk, "filler"), "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(b"x" * 4096)
        except OSError:
            pass
    faults = []
    status, count = 0, 0
    while status == 0 and count < 3000:
        done = node.run("add", "Chore %d" % count)
        status, count = done.returncode, count + 1
    if status != FAILED or "full" not in done.stderr:
        faults.append("exit %d, %s" % (status, done.stderr.strip()[:300]))
    os.remove(os.path.join(disk, "filler"))
    listed = node.must("list")
    node.must("add", "After")
    node.must("verify")
    if "Before" not in listed:
        faults.append("an acknowledged chore is gone")
    return faults


def main():
    disk = tempfile.mkdtemp(prefix="hearth-refusals-")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True)
    if mounted.returncode != 0:
        shutil.rmtree(disk)
        print("full disk: passed over, no file system may be mounted here")
        return
    try:
        faults = full_disk(Node(sys.argv[1], os.path.join(disk, "node")), disk)
    finally:
        subprocess.run(["umount", "-l", disk])
        shutil.rmtree(disk)
    for fault in faults:
        print("FAILED full disk: " + fault)
    print("full disk: %s" % ("%d faults" % len(faults) if faults else "refused as it should be"))
    sys.exit(1 if faults else 0)


main()
