#!/usr/bin/env python3
"""Attacks a relay as a client without manners would, while two nodes go on as usual.

    relay_hostile_client.py HEARTH HEARTH_RELAY

First what is refused one by one: captured proofs sent again, other certificates, other zones'
keys, frames in wrong states. Then attacks.py floods, starves and bombs the relay from addresses of
its own, several attacks at once. Two nodes add chores and sync all the time: each sync must
succeed, in about its usual time. The relay must live on with bounded memory.
"""
import json
import os
import re
import shutil
import ssl
import statistics
import subprocess
import sys
import time

import passage
import wire
from nodes import Nodes, Relay, check, failures

HERE = os.path.dirname(os.path.abspath(__file__))
# A sync under attack: the middle one, as a multiple of the usual and in seconds, and the longest.
MOST_TIMES, MOST_SECONDS, LONGEST_SECONDS = 10, 2, 10
MOST_MEGABYTES = 512
OFFLINE = 3
SLOW_SECONDS, UNREAD_SECONDS, ATTACK_SECONDS = 60, 40, 5


class Family(Nodes):
    def __init__(self, hearth, relay):
        super().__init__(hearth, False, "hearth-relay-attacked-")
        self.program = relay
        self.relay = Relay(relay, self.path("relay-data"), log=self.path("relay.log"))
        self.port = int(self.relay.port)
        self.paths = wire.identity_files(self.relay.data, self.port, self.path("identity"))
        self.number = 0
        self.peak = 0

    def gather(self):
        for home in ("ada", "ben"):
            self.says(home, ["init", "--person", home, "--device", home])
        self.says("ada", ["household", "create", "Home", "--time-zone", "UTC"])
        self.says("ada", ["transport", "add", "relay", self.relay.address])
        link = self.says("ada", ["invite"], "hearth join").strip().splitlines()[-1]
        self.says("ben", ["join", link], "joined Home")

    def round(self):
        """One adds a chore, both sync; gives how long the syncs took."""
        self.number += 1
        self.says("ada", ["add", "Chore %d" % self.number])
        times = []
        for home in ("ada", "ben"):
            began = time.monotonic()
            self.says(home, ["sync"], "published" if home == "ada" else "received")
            times.append(time.monotonic() - began)
        self.peak = max(self.peak, self.memory())
        return times

    def memory(self):
        """The relay's resident memory in MiB; it has to live."""
        check(self.relay.process.poll() is None, "the relay ended")
        with open("/proc/%d/status" % self.relay.process.pid) as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) // 1024

    def proof_of_node(self):
        """A proof that a node sent, with its mailbox: heard in between."""
        heard = []

        class Heard(passage.Passage):
            def asked(self, frame):
                if frame.kind == wire.PROVE:
                    heard.append((self.mailbox(frame), frame.body))
                return [frame]

        between = passage.Between(self.paths, self.port, Heard)
        self.go_by(between.address(self.relay.address), "ada")
        self.go_by(self.relay.address, "ada", status=0)
        between.stop()
        check(heard, "no proof was heard")
        return heard[0]

    def go_by(self, address, home, status=0, *words):
        """Syncs by another address, and by the former again afterwards."""
        self.says(home, ["transport", "remove", "1"])
        self.says(home, ["transport", "add", "relay", address])
        self.says(home, ["sync"], *words, status=status)


def is_refused(answer, name, code=wire.REFUSED):
    said = wire.fault(answer)
    check(said is not None and said.code == code and len(said.words) > 3,
          "%s is answered by %r" % (name, answer))
    return said


def replays(family):
    """Negative test 21: proofs count once, at one relay, under one certificate."""
    name = "21: relay-auth proof "
    mailbox, body = family.proof_of_node()
    with wire.Session(family.port, source="127.0.4.1") as session:
        session.hello()
        is_refused(session.ask(wire.PROVE, body), name + "without a challenge", wire.WRONG_STATE)
        channel = wire.Fields(body).varint()
        wanted = session.challenge(channel, mailbox)[0]
        check(wanted == body[1:17], "21: the mailbox has another key than the node proved")
        is_refused(session.ask(wire.PROVE, body), name + "replayed")
        is_refused(session.ask(wire.PROVE, body), name + "replayed again", wire.WRONG_STATE)
    # Another relay, with another certificate and a copy of this one's mailboxes.
    copy = family.path("other-data")
    Relay(family.program, copy).kill()
    for name in os.listdir(copy):
        if name.startswith("relay.sqlite"):
            os.remove(os.path.join(copy, name))
    check(family.relay.ask("export", os.path.join(copy, "relay.sqlite")).returncode == 0, "export")
    other = Relay(family.program, copy)
    paths = wire.identity_files(copy, int(other.port), family.path("other-identity"))
    with wire.Session(int(other.port)) as session:
        session.hello()
        check(session.challenge(channel, mailbox)[0] == body[1:17],
              "21: the other relay does not have the mailbox")
        is_refused(session.ask(wire.PROVE, body), name + "sent to another relay")
    own, access = os.urandom(16), wire.KeyPair()
    with wire.Session(family.port, source="127.0.4.1") as session:
        made = session.hello().create(0, own, access, wire.KeyPair())
        check(made.kind == wire.OPENED, "no mailbox of its own: %r" % (made,))
        # Right but for one thing; and right.
        for wrong, values in (("for another relay", {"relay": os.urandom(32)}),
                              ("for another certificate", {"pin": os.urandom(32)}),
                              ("for another mailbox", {"bound": mailbox}),
                              (None, {})):
            nonce = session.challenge(1, own)[1]
            answer = session.ask(wire.PROVE, session.proof(access, 1, own, nonce, **values))
            if wrong:
                is_refused(answer, name + wrong)
            else:
                check(answer.kind == wire.OPENED, "a right proof is refused: %r" % (answer,))
        session.challenge(2, own)
        is_refused(session.ask(wire.PROVE, session.proof(access, 2, own, os.urandom(32))),
                   name + "of another nonce")
    under_another_certificate(family, paths, own, access)
    other.kill()
    return mailbox


def under_another_certificate(family, paths, own, access):
    """Somebody in between shows a certificate of his own and passes everything on."""
    between = passage.Between(paths, family.port)
    with wire.Session(between.port) as session:
        session.hello()
        for number, (pinned, kind) in enumerate((
                (session.certificate, wire.FAULT),
                # What would be proven to somebody who does not look at the certificate.
                (wire.certificate_at(family.port), wire.OPENED))):
            nonce = session.challenge(number, own)[1]
            answer = session.ask(wire.PROVE, session.proof(
                access, number, own, nonce, pin=wire.pin(pinned)))
            check(answer.kind == kind, "21: seen under another certificate: %r" % (answer,))
    # A node that was given the address of the one in between proves nothing that opens.
    false = "hearth-relay://127.0.0.1:%d/%s" % (
        between.port, wire.pin_text(wire.certificate_at(between.port)))
    family.go_by(false, "ben", 2, "does not admit this device")
    # A node that knows the right address is told.
    family.says("ben", ["transport", "remove", "1"])
    family.says("ben", ["transport", "add", "relay", between.address(family.relay.address)],
                "its certificate is another one", status=OFFLINE)
    family.says("ben", ["transport", "add", "relay", family.relay.address])
    family.says("ben", ["sync"])
    between.stop()
    try:
        wire.Session(family.port, context=wire.client_context(ssl.TLSVersion.TLSv1_2))
        check(False, "21: TLS 1.2 is spoken")
    except ssl.SSLError as error:
        check("PROTOCOL_VERSION" in str(error).upper().replace(" ", "_"),
              "21: TLS 1.2 is refused in a strange way: %s" % error)
    print("21: relay-auth proof replayed, sent to another relay, seen under another certificate; "
          "TLS 1.2; unpinned certificate -> refused")


def others_keys(family, mailbox):
    """Keys of one mailbox open no other; what is unknown looks like what is forbidden."""
    own, access = os.urandom(16), wire.KeyPair()
    with wire.Session(family.port, source="127.0.4.2") as session:
        session.hello().create(0, own, access, wire.KeyPair())
        forbidden = is_refused(session.enter(1, mailbox, access), "another zone's key")
        unknown = is_refused(session.enter(1, os.urandom(16), access), "an unknown mailbox")
        check(forbidden == unknown, "%r is not %r" % (forbidden, unknown))
        nonces = [session.challenge(2 + n, name) for n, name in enumerate((mailbox, own[::-1]))]
        check(len(nonces[0][0]) == len(nonces[1][0]), "challenges differ")
        is_refused(session.create(4, mailbox, access, wire.KeyPair()), "making another's mailbox")
        # Keys that were replaced are out, also where they opened before.
        with wire.Session(family.port, source="127.0.4.2") as late:
            late.hello().enter(0, own, access)
            newer = wire.KeyPair()
            rotated = session.ask(wire.ROTATE, b"\0\x01" + newer.public)
            check(rotated.kind == wire.ROTATED, "no rotation: %r" % (rotated,))
            closed = late.receive()
            check(closed.kind == wire.CLOSED, "not closed after a rotation: %r" % (closed,))
            is_refused(late.ask(wire.FETCH, b"\0\x01\x01n"), "an old session", wire.WRONG_STATE)
            is_refused(late.enter(1, own, access), "an old key")
    # Nobody is asked for more than a relay can say: after many tries the address has to wait.
    with wire.Session(family.port, source="127.0.4.3") as session:
        session.hello()
        codes = [wire.fault(session.enter(0, mailbox, access)).code for _ in range(130)]
        check(codes[0] == wire.REFUSED and codes[-1] == wire.RATE_LIMITED,
              "after 130 wrong proofs: %d" % codes[-1])


def wrong_states(family):
    """Every request before it has its turn."""
    mailbox, access = os.urandom(16), wire.KeyPair()
    with wire.Session(family.port, source="127.0.4.4") as session:
        said = wire.fault(session.ask(wire.PING))
        check(said.code == wire.WRONG_STATE, "a ping before hello: %r" % (said,))
    right = {
        wire.HELLO: b"HRLY\2\2", wire.PROVE: b"\0" + bytes(16 + 32 + 64) + b"\0\0",
        wire.CREATE: b"\0\0" + bytes(64) + b"\0\0" + bytes(32 + 128), wire.CLOSE: b"\0",
        wire.PUT: wire.put_body(0, [(0, b"n", b"b")]),
        wire.PUT_PACKED: wire.packed_body(0, [(0, b"n", b"b")]), wire.REMOVE: b"\0\x01\x01n",
        wire.LIST: b"\0\0\x01\0\0", wire.FETCH: b"\0\x01\x01n", wire.FETCH_AFTER: b"\0\0\x01",
        wire.SUBSCRIBE: b"\0\0", wire.UNSUBSCRIBE: b"\0", wire.ROTATE: b"\0\x01" + access.public,
        wire.SET_RANK: b"\0" + access.public + b"\1", wire.ROSTER: b"\0", wire.RESET: b"\0"}
    with wire.Session(family.port, source="127.0.4.4") as session:
        session.hello()
        for kind, body in right.items():
            is_refused(session.ask(kind, body), "request %02x too early" % kind, wire.WRONG_STATE)
        session.challenge(0, mailbox)
        for kind, body in right.items():
            if kind not in (wire.PROVE, wire.CREATE, wire.CLOSE):
                is_refused(
                    session.ask(kind, body), "request %02x while challenged" % kind,
                    wire.WRONG_STATE)
        is_refused(session.ask(wire.OPEN, b"\0" + mailbox), "a second open", wire.WRONG_STATE)
        check(session.ask(wire.PING).kind == wire.PONG, "the session does not go on")


def attack(family, name, seconds):
    return subprocess.Popen(
        [sys.executable, os.path.join(HERE, "attacks.py"), name, str(family.port), str(seconds)],
        stdout=subprocess.PIPE, text=True)


def outcome(name, process):
    try:
        said = process.communicate(timeout=150)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        check(False, name + " does not end")
        return {}
    check(process.returncode == 0, "%s ended with %d" % (name, process.returncode))
    return json.loads(said or "{}")


def under_attack(family, usual):
    """All attacks; two hold on in the background."""
    lasting = {"slow": attack(family, "slow", SLOW_SECONDS),
               "unread": attack(family, "unread", UNREAD_SECONDS)}
    counts = {}
    for name in ("garbage", "bombs", "flood", "wrong", "pings", "halves", "subscriptions"):
        process, times = attack(family, name, ATTACK_SECONDS), []
        while process.poll() is None or not times:
            times += family.round()
        counts[name] = outcome(name, process)
        report(family, name, times, usual, counts[name])
    times = []
    while any(process.poll() is None for process in lasting.values()) or not times:
        times += family.round()
    for name, process in lasting.items():
        counts[name] = outcome(name, process)
        report(family, name, times, usual, counts[name])
    return counts


def report(family, name, times, usual, counts):
    middle, longest = statistics.median(times), max(times)
    print("%-13s %3d syncs, %4.0f ms, %5.0f ms at most; relay %3d MiB; %s" % (
        name, len(times), 1000 * middle, 1000 * longest, family.peak, json.dumps(counts)))
    check(middle <= max(MOST_SECONDS, MOST_TIMES * usual),
          "%s: a sync takes %.1f s, usually %.3f s" % (name, middle, usual))
    check(longest <= LONGEST_SECONDS, "%s: a sync took %.1f s" % (name, longest))


def judge(family, counts):
    """Whether each attack was what it should be, and the relay ended it in its way."""
    check(set(counts["garbage"]) <= {"farewell 1", "farewell 3", "closed", "TimeoutError",
                                     "ConnectionResetError", "BrokenPipeError", "SSLEOFError"},
          "garbage is ended by %r" % counts["garbage"])
    check(counts["garbage"].get("farewell 1", 0) > 20, "little garbage: %r" % counts["garbage"])
    check(set(counts["bombs"]) == {"farewell 1"}, "bombs are ended by %r" % counts["bombs"])
    check(counts["flood"].get("made", 0) > 100, "no flood: %r" % counts["flood"])
    for name in ("wrong", "pings"):
        check(counts[name].get("sent a second", 0) > 10 ** 4 and counts[name]["connections"] > 1,
              "%s: few frames, or for ever: %r" % (name, counts[name]))
    check(counts["subscriptions"].get("subscribed") == 10 ** 5
          and counts["subscriptions"].get("refused with 8", 0) > 0
          and counts["subscriptions"].get("pushed", 0) >= 9_999,
          "subscriptions: %r" % counts["subscriptions"])
    check("still there" not in counts["slow"] and counts["slow"].get("ended by the relay", 0) > 300,
          "slow connections stay: %r" % counts["slow"])
    check(counts["unread"].get("puts", 0) > 100 and "TimeoutError" not in counts["unread"],
          "who does not read stays: %r" % counts["unread"])
    check(family.peak <= MOST_MEGABYTES, "the relay took %d MiB" % family.peak)


def main():
    family = Family(sys.argv[1], sys.argv[2])
    family.gather()
    mailbox = replays(family)
    others_keys(family, mailbox)
    wrong_states(family)
    calm = [moment for _ in range(6) for moment in family.round()]
    usual = statistics.median(calm)
    print("%-13s %3d syncs, %4.0f ms, %5.0f ms at most; relay %3d MiB" % (
        "nobody", len(calm), 1000 * usual, 1000 * max(calm), family.peak))
    counts = under_attack(family, usual)
    judge(family, counts)
    titles = json.loads(family.says("ben", ["list", "--all", "--json"]))["chores"]
    check(len(titles) == family.number, "Ben has %d of %d chores" % (len(titles), family.number))
    family.relay.kill()
    with open(family.path("relay.log")) as log:
        for line in log:
            check(json.loads(line)["level"] == "info", "the relay logs " + line)
    shutil.rmtree(family.root)
    print("relay attacked: %s" % (
        "%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)


main()
