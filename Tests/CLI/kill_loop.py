#!/usr/bin/env python3
"""Kills a node while it writes and syncs, again and again, and looks whether anything was lost.

    kill_loop.py HEARTH [--kills 200] [--seed N]

Two nodes of one household share a folder. One adds chores and syncs, as fast as it can, in a
process group of its own; SIGKILL ends it at a random moment. A chore whose `hearth add` returned 0
was acknowledged and must be there for ever. After every kill the node must open and list; in the
end it must verify clean, and both nodes must hold the same state.
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

WORKER = r"""
n=0
while :; do
  n=$((n + 1))
  title="chore $PREFIX $n"
  if "$HEARTH" --home "$HOME_DIR" add "$title" --points 1 >/dev/null 2>&1; then
    printf '%s\n' "$title" >&3
  fi
  [ $((n % 3)) -eq 0 ] && "$HEARTH" --home "$HOME_DIR" sync >/dev/null 2>&1
done
"""


def run(hearth, home, *arguments):
    done = subprocess.run([hearth, "--home", home, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def must(hearth, home, *arguments):
    status, out, err = run(hearth, home, *arguments)
    if status != 0:
        sys.exit("hearth %s ended with %d:\n%s%s" % (" ".join(arguments), status, out, err))
    return out


def titles(hearth, home):
    return {chore["title"] for chore in json.loads(must(hearth, home, "list", "--json"))["chores"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hearth")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print("seed", options.seed)
    chance = random.Random(options.seed)
    root = tempfile.mkdtemp(prefix="hearth-kill-")
    anna, ben, folder = (os.path.join(root, name) for name in ("anna", "ben", "folder"))
    os.mkdir(folder)
    hearth = os.path.abspath(options.hearth)
    must(hearth, anna, "init", "--person", "Anna", "--device", "a")
    must(hearth, ben, "init", "--person", "Ben", "--device", "b")
    must(hearth, anna, "household", "create", "Home", "--time-zone", "Europe/Berlin")
    must(hearth, anna, "transport", "add", "folder", folder)
    link = must(hearth, anna, "invite").strip().splitlines()[-1]
    must(hearth, ben, "join", link)
    acknowledged = os.path.join(root, "acknowledged")
    for kill in range(options.kills):
        environment = dict(os.environ, HEARTH=hearth, HOME_DIR=anna, PREFIX=str(kill))
        with open(acknowledged, "a") as log:
            worker = subprocess.Popen(
                ["sh", "-c", WORKER + "" , "worker"], env=environment, start_new_session=True,
                preexec_fn=lambda: os.dup2(log.fileno(), 3), pass_fds=(3, log.fileno()))
        time.sleep(chance.uniform(0.01, 0.35))
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        if kill % 20 == 0:
            missing = set(open(acknowledged).read().splitlines()) - titles(hearth, anna)
            if missing:
                sys.exit("after kill %d these acknowledged chores are gone: %s" % (
                    kill, sorted(missing)[:5]))
    wanted = set(open(acknowledged).read().splitlines())
    for _ in range(3):
        must(hearth, anna, "sync")
        must(hearth, ben, "sync")
    must(hearth, anna, "verify")
    must(hearth, ben, "verify")
    for home in (anna, ben):
        missing = wanted - titles(hearth, home)
        if missing:
            sys.exit("%s lacks acknowledged chores: %s" % (home, sorted(missing)[:5]))
    shared = [
        [zone for zone in json.loads(must(hearth, home, "digest", "--json"))["zones"]
         if zone["database"] == "shared"] for home in (anna, ben)]
    if json.dumps(shared[0], sort_keys=True) != json.dumps(shared[1], sort_keys=True):
        sys.exit("the nodes differ:\n%s\n%s" % tuple(shared))
    shutil.rmtree(root)
    print("%d kills, %d acknowledged chores, none lost" % (options.kills, len(wanted)))


main()
