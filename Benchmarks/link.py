#!/usr/bin/env python3
"""What one change costs on the lines to a relay: bytes and turns, with TLS, as a tap sees them.

    link.py HEARTH HEARTH_RELAY

Two nodes of a household watch (`hearth sync --watch`), each over a tap of its own that counts what
passes. One of them ticks off a chore, again and again; printed is the median of what each line
carried from then until both were silent. A turn is a change of direction on the line.
"""
import asyncio
import os
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Tests", "CLI"))
from nodes import Nodes, Relay, failures  # noqa: E402

SILENCE_SECONDS = 2.0
ROUNDS = 9


class Tap:
    """Passes on what a client and the relay say, and counts it."""

    def __init__(self, port):
        self.port = port
        self.clear()

    def clear(self):
        self.up = self.down = self.turns = 0
        self.last = None

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            await asyncio.gather(
                self.pass_on(reader, far_writer, True), self.pass_on(far_reader, writer, False))
        except (ConnectionError, asyncio.CancelledError):
            pass  # The watchers end before the tap does.

    async def pass_on(self, reader, writer, is_up):
        while data := await reader.read(1 << 16):
            if is_up:
                self.up += len(data)
            else:
                self.down += len(data)
            if self.last != is_up:
                self.turns += 1
                self.last = is_up
            writer.write(data)
            await writer.drain()
        writer.close()


async def silence(*taps):
    """Waits until nothing has passed for a while."""
    before = None
    while (now := [(tap.up, tap.down) for tap in taps]) != before:
        before = now
        await asyncio.sleep(SILENCE_SECONDS)


async def measure(hearth, program):
    nodes = Nodes(hearth, False, "hearth-link-")
    relay = Relay(program, nodes.path("relay"))
    pin = relay.address.split("/")[-1]
    taps = {"anna": Tap(int(relay.port)), "ben": Tap(int(relay.port))}
    places = {name: "hearth-relay://127.0.0.1:%d/%s" % (await tap.start(), pin)
              for name, tap in taps.items()}

    async def says(*arguments):
        return await asyncio.to_thread(nodes.says, *arguments)

    await says("anna", ["init", "--person", "Anna"])
    await says("anna", ["household", "create", "Home", "--time-zone", "UTC"])
    for number in range(ROUNDS):
        await says("anna", ["add", "Chore %d" % number, "--points", "5"])
    await says("anna", ["transport", "add", "relay", places["anna"]])
    link = (await says("anna", ["invite"])).strip().splitlines()[-1]
    await says("ben", ["init", "--person", "Ben"])
    await says("ben", ["join", link, "--folder", places["ben"]])
    watchers = [
        subprocess.Popen(nodes.command(name, "sync", "--watch"), stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, env=nodes.environment) for name in taps]
    await silence(*taps.values())
    counts = {name: [] for name in taps}
    for number in range(ROUNDS):
        for tap in taps.values():
            tap.clear()
        await says("anna", ["done", "Chore %d" % number])
        await silence(*taps.values())
        for name, tap in taps.items():
            counts[name].append((tap.up, tap.down, tap.turns))
    for watcher in watchers:
        watcher.terminate()
        watcher.wait()
    relay.kill()
    shutil.rmtree(nodes.root)
    for name, role in (("anna", "who writes"), ("ben", "who reads")):
        up, down, turns = (statistics.median(column) for column in zip(*counts[name]))
        print("%s: %d bytes to the relay, %d from it, %d turns" % (role, up, down, turns))


if len(sys.argv) != 3:
    raise SystemExit(__doc__.strip())
asyncio.run(measure(*sys.argv[1:]))
raise SystemExit(1 if failures else 0)
