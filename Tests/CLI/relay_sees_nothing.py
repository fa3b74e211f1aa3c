#!/usr/bin/env python3
"""Stands in a relay's place while a household lives, and looks for anything that can be read.

    relay_sees_nothing.py HEARTH HEARTH_RELAY

Everything that whoever runs a relay can get is kept: each byte of the protocol after TLS was taken
off, the files of the data folder, every value in its tables, what it logs, its metrics, an export.
In it are looked for: titles, names and other words of the household, ids, public and secret keys
read from the nodes' homes, recovery words and what follows from them, and times. In plain, in
UTF-16, hexadecimal digits, base64 and base 32, also inside of what zlib or zstd can decompress.
Then things are planted, and each has to be found. Prints what such an operator can see.
"""
import collections
import ctypes
import ctypes.util
import glob
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
import zlib

import keys
import passage
import wire
from nodes import Nodes, Relay, check, failures

HOUSEHOLD, ZONE = "Villa Wackelzahn", "Pacific/Chatham"
ANNA, BEN, CLEO = "Annegrit Quast", "Benedikt Öchsle", "Cleopatra Żmuda"
LAPTOP, PHONE, TABLET, WATCH, LAST = (
    "Schreibrechner", "Fernsprecher", "Wischbrett", "Armbanduhr", "Ersatzrechner")
CHORES = (
    "Kanarienvogel füttern", "Regenrinne säubern", "Geburtstag geheim planen", "鳥かごを洗う")
NOTE, TAG, LATER = "Schlüssel liegt unter dem Blumentopf", "gartenzwerg", "Schlösser austauschen"
WORDS = (HOUSEHOLD, ZONE, ANNA, BEN, CLEO, LAPTOP, PHONE, TABLET, WATCH, LAST, *CHORES, NOTE, TAG,
         LATER, "Annegrit", "Benedikt", "Cleopatra", "Kanarienvogel", "list-order", "page-size")
MAXIMUM_UNPACKED = 1 << 20
# Chance gives no form of so many bytes; shorter ones are left out.
LEAST_BYTES = 7
zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
for function in (zstd.ZSTD_findFrameCompressedSize, zstd.ZSTD_decompress, zstd.ZSTD_compress):
    function.restype = ctypes.c_size_t


class Household(Nodes):
    def __init__(self, hearth, relay):
        super().__init__(hearth, False, "hearth-relay-sees-")
        self.frames = []
        self.relay = Relay(
            relay, self.path("relay-data"), log=self.path("relay.log"), options=("--health", "0"))
        self.health = self.health_port()
        self.between = passage.Between(
            wire.identity_files(self.relay.data, int(self.relay.port), self.path("identity")),
            int(self.relay.port), recorder=lambda way, data: self.frames.append((way, data)))
        self.place = self.between.address(self.relay.address)

    def health_port(self):
        """The port that the relay logs right after it printed its address."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with open(self.path("relay.log")) as log:
                found = re.search(r'"health":"(\d+)"', log.read())
            if found:
                return int(found.group(1))
            time.sleep(0.02)
        raise SystemExit("the relay never logged its health port")

    def link(self, home, *arguments):
        return self.says(home, arguments, "hearth join").strip().splitlines()[-1]

    def init(self, home, person, device):
        self.says(home, ["init", "--person", person, "--device", device])

    def sync(self, *homes):
        for home in homes:
            self.says(home, ["sync"])

    def add(self, home, title, *options):
        self.says(home, ["add", title, *options])


def live(family):
    """Everything that a household does; gives the recovery words."""
    family.init("laptop", ANNA, LAPTOP)
    family.says("laptop", ["household", "create", HOUSEHOLD, "--time-zone", ZONE])
    family.says("laptop", ["transport", "add", "relay", family.place])
    family.add("laptop", CHORES[0], "--every", "day", "--points", "7", "--note", NOTE)
    words = family.words("laptop")
    link = family.link("laptop", "invite")
    family.init("ben", BEN, TABLET)
    family.says("ben", ["join", link], "joined")
    family.add("ben", CHORES[1], "--tag", TAG, "--due", "tomorrow")
    family.sync("ben", "laptop")
    family.says("laptop", ["member", "role", "Benedikt", "admin"])
    family.sync("ben")
    link = family.link("ben", "invite", "--approve", "--role", "child")
    family.init("cleo", CLEO, WATCH)
    asked = family.says("cleo", ["join", link], "number:")
    number = re.search(r"number: ([\d ]+)", asked).group(1).strip()
    family.says("laptop", ["approve", "Cleopatra", "--number", number], "child")
    family.sync("cleo", "ben")
    family.init("phone", ANNA, PHONE)
    family.says("phone", ["join", family.link("laptop", "device", "add")], "joined")
    family.says("phone", ["settings", "set", "list-order", "due", "--scope", "person"])
    family.says("laptop", ["settings", "set", "page-size", "37", "--scope", "person"])
    family.says("laptop", ["settings", "set", "missed", "stack", "--scope", "household"])
    watching(family)
    family.sync("laptop", "phone", "ben", "cleo")
    family.says("cleo", ["done", "Kanarienvogel"])
    family.says("ben", ["edit", "Regenrinne", "--title", CHORES[2]])
    family.says("ben", ["assign", "Geburtstag", "Annegrit"])
    family.sync("cleo", "ben", "laptop", "phone")
    family.says("laptop", ["member", "remove", "Cleopatra", "--yes"], "removed")
    family.add("laptop", CHORES[3])
    family.sync("laptop", "cleo", "ben", "phone")
    family.says(
        "last", ["recover", "--transport", family.place, "--device", LAST, "--revoke-others"],
        "is back", piped=words)
    family.add("last", LATER)
    family.sync("last", "ben", "laptop", "ben", "last")
    check(LATER in family.says("ben", ["list", "--all"]), "the story does not end as it should")
    return words


def watching(family):
    """One listens while another writes, so that there are pushes."""
    process = subprocess.Popen(
        family.command("phone", "sync", "--watch"), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env=family.environment)
    lines, heard = [], threading.Event()

    def read():
        for line in process.stdout:
            lines.append(line)
            if "received" in line:
                heard.set()
            elif "watching" in line:
                family.says("laptop", ["add", CHORES[3] + " 2"])
                family.sync("laptop")

    thread = threading.Thread(target=read)
    thread.start()
    check(heard.wait(30), "nothing was pushed: %r" % lines)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    thread.join()
    process.stdout.close()


# What an operator has

def evidence(family):
    """Names and bytes of everything; frames of one way are joined."""
    found = {}
    for way, name in enumerate(("frames from nodes", "frames to nodes")):
        found[name] = b"\n".join(data for side, data in family.frames if side == way)
    for path in glob.glob(os.path.join(family.relay.data, "*")) + [family.path("relay.log")]:
        with open(path, "rb") as file:
            found["file " + os.path.basename(path)] = file.read()
    with urllib.request.urlopen(
            "http://127.0.0.1:%d/metrics" % family.health, timeout=20) as metrics:
        found["metrics"] = metrics.read()
    stats = family.relay.ask("stats", "--json")
    check(stats.returncode == 0, "stats: " + stats.stderr)
    found["stats"] = stats.stdout.encode()
    copy = family.path("export-%d.sqlite" % len(family.frames))
    exported = family.relay.ask("export", copy)
    check(exported.returncode == 0, "export: " + exported.stderr)
    with open(copy, "rb") as file:
        found["export"] = file.read()
    # Values too: in a file they may be cut at the ends of pages.
    database = sqlite3.connect("file:%s?mode=ro" % copy, uri=True)
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
        found["table " + table] = b"\n".join(
            value if isinstance(value, bytes) else str(value).encode()
            for row in database.execute('SELECT * FROM "%s"' % table) for value in row)
    database.close()
    return found


def unpacked(found):
    """What can be decompressed anywhere in it."""
    out = []
    for name, data in found.items():
        for place in re.finditer(rb"\x28\xb5\x2f\xfd", data):
            rest = data[place.start():]
            size = zstd.ZSTD_findFrameCompressedSize(rest, ctypes.c_size_t(len(rest)))
            if size <= len(rest):
                buffer = ctypes.create_string_buffer(MAXIMUM_UNPACKED)
                count = zstd.ZSTD_decompress(
                    buffer, ctypes.c_size_t(MAXIMUM_UNPACKED), rest, ctypes.c_size_t(size))
                if count <= MAXIMUM_UNPACKED:
                    out.append(("zstd in " + name, buffer.raw[:count]))
        for bits, magic in ((15, rb"\x78[\x01\x5e\x9c\xda]"), (31, rb"\x1f\x8b\x08")):
            for place in re.finditer(magic, data):
                try:
                    plain = zlib.decompressobj(bits).decompress(
                        data[place.start():place.start() + MAXIMUM_UNPACKED], MAXIMUM_UNPACKED)
                except zlib.error:
                    continue
                if len(plain) > 16:
                    out.append(("zlib in " + name, plain))
    return out


# What is looked for

def base32(data):
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    bits, count = int.from_bytes(data, "big"), len(data) * 8
    # Whole characters only: the last may share bits with what follows.
    return "".join(alphabet[bits >> count - 5 * (place + 1) & 31] for place in range(count // 5))


def byte_forms(data):
    yield from (data, data.hex().encode(), data.hex().upper().encode(), base32(data).encode())
    yield from keys.base64_forms(data)


def text_forms(text):
    for form in {text, text.lower(), text.upper()}:
        yield from (form.encode(), form.encode("utf-16-le"), form.encode("utf-16-be"),
                    form.encode().hex().encode(), *keys.base64_forms(form.encode()))


def needles_of(family, words):
    """Bytes to what they are."""
    found = {}
    for text in WORDS:
        found.update((form, "the words %r" % text) for form in text_forms(text))
    listed = words.split()
    for start in range(len(listed) - 2):
        found.update((form, "recovery words") for form in text_forms(
            " ".join(listed[start:start + 3])))
    secrets = {"recovery " + name: secret for name, secret in keys.recovery_secrets(words).items()
               if name != "locator"}
    counts = collections.Counter()
    for home in ("laptop", "phone", "ben", "cleo", "last"):
        for reader in (keys.home_keys, keys.home_ids):
            one = reader(family.path(home))
            counts[reader.__name__] += len(one)
            secrets.update((("%s of %s" % (name, home)), value) for name, value in one.items())
    for name, value in secrets.items():
        found.update((form, name) for form in byte_forms(value))
    found = {form: what for form, what in found.items() if len(form) >= LEAST_BYTES}
    print("relay sees: %d needles: %d words, %d keys and %d ids of 5 homes, in each form" % (
        len(found), len(WORDS), counts["home_keys"], counts["home_ids"]))
    return found


class Times:
    """Moments within the run as numbers of any usual form, and as text."""

    def __init__(self, first, last):
        self.last = last
        # What it is, a regular expression, and the share of all values that it takes.
        self.forms = []
        for unit, scale, widths in (("seconds", 1, (4, 8)), ("milliseconds", 1000, (6, 8)),
                                    ("microseconds", 10 ** 6, (8,))):
            low, high = int(first * scale), int(last * scale) + 1
            for width in widths:
                free = next(n for n in range(width) if (high >> 8 * n) - (low >> 8 * n) < 64)
                tops = range(low >> 8 * free, (high >> 8 * free) + 1)
                share = len(tops) * 256 ** free / 256 ** width
                for order in ("big", "little"):
                    values = [re.escape(top.to_bytes(width - free, order)) for top in tops]
                    gap = b"[\\x00-\\xff]{%d}" % free
                    some = b"(?:" + b"|".join(values) + b")"
                    self.add("%s of %d bytes, %s end first" % (unit, width, order),
                             some + gap if order == "big" else gap + some, share)
            for doubled in (1, 2):
                tops = range(low * doubled >> 14, (high * doubled >> 14) + 1)
                values = [re.escape(wire.varint(top)) for top in tops]
                self.add(unit + " as a varint" + (", zigzag" if doubled == 2 else ""),
                         b"[\\x80-\\xff]{2}(?:" + b"|".join(values) + b")",
                         len(tops) * 2 ** 14 / 2 ** (7 * (2 + len(wire.varint(tops[0])))))
            # All digits but those of the last hour.
            self.add(unit + " in digits", str(low)[:6].encode() + b"[0-9]{%d}" % (
                len(str(low)) - 6), 0)
        days = {time.strftime(form, time.gmtime(moment)) for moment in (first, last)
                for form in ("%Y-%m-%d", "%Y%m%d", "%a, %d %b %Y")}
        self.add("a date", b"|".join(re.escape(day.encode()) for day in sorted(days)), 0)

    def add(self, name, pattern, share):
        self.forms.append((name, re.compile(b"(?=(?:" + pattern + b"))", re.DOTALL), share))

    def search(self, name, data):
        """Forms that are there more often than chance would have it in random bytes."""
        for form, pattern, share in self.forms:
            expected = len(data) * share
            count = sum(1 for _ in pattern.finditer(data))
            if count > 3 + expected + 5 * expected ** 0.5 or (share == 0 and count):
                yield "%d × %s in %s, %.2f expected" % (count, form, name, expected)


def search(found, needles, times):
    """Everything that is found of what must not be there."""
    hits = []
    for name, data in [*found.items(), *unpacked(found)]:
        hits += ["%s in %s" % (what, name) for needle, what in needles.items() if needle in data]
        # The relay may say when it did something itself.
        if name != "file relay.log":
            hits += times.search(name, data)
    return hits


# Would it be found?

def planted(needles, times):
    """Each form of each kind, put between bytes of chance; gives those that are not found."""
    def misses(what, data):
        noise = os.urandom(997)
        return [] if search({"planted": noise + data + noise}, needles, times) else [what]

    missed = []
    for text in (CHORES[0], BEN, CHORES[3]):
        packer = zlib.compressobj(wbits=31)
        plain = text.encode() + bytes(64)
        for what, data in (
                ("UTF-8", text.encode()), ("UTF-16", text.encode("utf-16-be")),
                ("hex", text.encode().hex().encode()), ("zlib", zlib.compress(plain)),
                ("gzip", packer.compress(plain) + packer.flush()), ("zstd", packed(plain))):
            missed += misses("%s of %r" % (what, text), data)
        for shift in range(3):
            missed += misses("base64", keys.base64.b64encode(bytes(shift) + text.encode() + b"--"))
    moment = times.last - 1
    for width, scale in ((4, 1), (8, 1), (6, 1000), (8, 1000), (8, 10 ** 6)):
        for order in ("big", "little"):
            data = b"".join(int((moment + n / 50) * scale).to_bytes(width, order) + os.urandom(9)
                            for n in range(20))
            missed += misses("times of %d bytes" % width, data)
    for data in (wire.varint(int(moment * 1000)), wire.varint(int(moment * 2000))):
        missed += misses("varint", (data + b"\xff") * 20)
    missed += misses("digits", b'{"at":%d}' % (moment * 1000))
    return missed


def packed(data):
    buffer = ctypes.create_string_buffer(len(data) + 512)
    count = zstd.ZSTD_compress(
        buffer, ctypes.c_size_t(len(buffer)), data, ctypes.c_size_t(len(data)), 3)
    return buffer.raw[:count]


def leak(family):
    """A client that does put a title and an id in clear, by the same way."""
    device = next(iter(keys.home_ids(family.path("ben")).values()))
    access = wire.KeyPair()
    with wire.Session(family.between.port) as session:
        session.hello().create(0, os.urandom(16), access, wire.KeyPair())
        session.must(wire.PUT, wire.put_body(
            0, [(0, b"x", CHORES[0].encode()), (0, device, b"y")]), wire.STORED)


# What can be seen

def sight(found_path):
    """What whoever has the database can count."""
    log = sqlite3.connect("file:%s?mode=ro" % found_path, uri=True)
    rows = []
    for number, generation, head, roster in log.execute(
            "SELECT number, access_generation, head, roster FROM mailboxes ORDER BY head DESC"):
        authors, lives, last, kinds = set(), set(), {}, collections.Counter()
        for name, flags in log.execute(
                "SELECT name, flags FROM entries WHERE mailbox = ?", (number,)):
            kinds[name[0]] += not flags & wire.REMOVAL
            if name[0] == 1:
                author = name[1:25]
                authors.add(name[1:17])
                lives.add(author)
                last[author] = max(last.get(author, 0), int.from_bytes(name[33:41], "big"))
        ranks = listed_ranks(roster)
        sizes = [size for (size,) in log.execute(
            "SELECT size FROM entries WHERE mailbox = ? AND flags & 1 = 0", (number,))]
        rows.append((head, len(authors), sum(last.values()), generation, ranks[wire.MANAGER],
                     ranks[wire.AUTHOR], ranks[wire.STRUCK], kinds[1], kinds[2], kinds[3],
                     kinds[4], min(sizes, default=0), max(sizes, default=0)))
    log.close()
    check(any(row[4] for row in rows), "no mailbox lists who manages it")
    print("relay sees: mailboxes: entries, writers, changes written, times its key was set, "
          "managers, listed, struck off, segments, snapshots, capsules, granted keys, sizes")
    for row in rows:
        print("  %4d %3d %4d %3d %3d %3d %3d %5d %3d %3d %3d %7d to %d" % row)


def listed_ranks(roster):
    """How many keys of each rank a mailbox lists."""
    fields = wire.Fields(roster)
    # The last seat's number, and what those without a seat stored.
    fields.varint(), fields.varint(), fields.varint()
    ranks = collections.Counter()
    for _ in range(fields.varint()):
        fields.varint(), fields.take(32)
        ranks[fields.take(1)[0]] += 1
        fields.varint(), fields.varint()
    check(fields.at == len(roster), "the list of a mailbox goes on after its seats")
    return ranks


def main():
    began = time.time()
    family = Household(sys.argv[1], sys.argv[2])
    words = live(family)
    found = evidence(family)
    times = Times(began, time.time())
    needles = needles_of(family, words)
    for hit in sorted(set(search(found, needles, times))):
        check(False, "an operator reads " + hit)
    for what in planted(needles, times):
        check(False, "what was planted is not found: " + what)
    before = len(family.frames)
    leak(family)
    hits = search(evidence(family), needles, times)
    for place in ("frames from nodes", "export", "table blobs", "table entries"):
        check(any(place in hit for hit in hits), "a leak is not found in " + place)
    print("relay sees: %d frames, %d connections, %d bytes in %d places; nothing readable" % (
        before, family.between.connections, sum(map(len, found.values())), len(found)))
    sight(glob.glob(family.path("export-%d.sqlite" % before))[0])
    family.between.stop()
    check(not family.between.failures, "the recorder: %s" % family.between.failures[:3])
    family.relay.kill()
    shutil.rmtree(family.root)
    print("relay sees: %s" % ("%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
