"""What a hostile client does to a relay. Run by relay_hostile_client.py, each in a process.

    attacks.py NAME PORT SECONDS

Prints one JSON object of counts. Each attacker has addresses of its own (127.0.0.0/8), as the
relay's limits count by address.
"""
import json
import os
import random
import select
import socket
import ssl
import struct
import sys
import threading
import time

import wire

PUT_BYTES = 1 << 20


def plain(port, source, seconds=5):
    return socket.create_connection(("127.0.0.1", port), seconds, (source, 0))


def counted(counts, key):
    counts[key] = counts.get(key, 0) + 1


def ending(session):
    """How the relay ended a connection: the code of its farewell, or that it just closed."""
    try:
        while True:
            answer = session.receive()
            if answer is None:
                return "closed"
            if answer.kind == wire.FAREWELL:
                return "farewell %d" % wire.fault(answer).code
    except (TimeoutError, OSError) as error:
        return type(error).__name__


def garbage(port, seconds):
    """Bytes of chance, before and inside of TLS; frames of chance before and after the hello."""
    counts, end = {}, time.monotonic() + seconds
    chance = random.Random(1)
    while time.monotonic() < end:
        try:
            with plain(port, "127.0.1.1") as raw:
                raw.sendall(chance.randbytes(chance.randint(1, 4096)))
            with wire.Session(port, 5, source="127.0.1.1") as session:
                if chance.random() < 0.7:
                    session.hello()
                for _ in range(chance.randint(1, 20)):
                    body = chance.randbytes(chance.randint(0, 200))
                    session.send(chance.choice((
                        body, struct.pack(">I", len(body)) + body,
                        wire.frame(chance.randint(0, 255), chance.randint(0, 2 ** 32), body))))
                counted(counts, ending(session))
        except OSError as error:
            counted(counts, type(error).__name__)
    return counts


def bombs(port, seconds):
    """Huge announced lengths and counts; each may hold a few bytes at most."""
    big = wire.varint(2 ** 62)
    announced = [struct.pack(">I", size) for size in (1025, 2228224, 2228225, 2 ** 31, 2 ** 32 - 1)]
    inside = [wire.frame(kind, 7, b"\0" + rest) for kind, rest in (
        (wire.PUT, big), (wire.PUT, b"\x01\0" + big), (wire.PUT, b"\x01\0\x01n" + big),
        (wire.REMOVE, big), (wire.FETCH, big), (wire.FETCH, b"\x01" + big),
        (wire.LIST, b"\0" + big + b"\0\0"), (wire.FETCH_AFTER, b"\0" + big),
        (wire.PUT_PACKED, big), (wire.PUT_PACKED, b"\x01\0" + big),
        (wire.PUT_PACKED, b"\x01\0\x01" + big), (wire.PUT_PACKED, b"\x01\0\x01\x04" + big),
        (wire.PUT_PACKED, b"\x01\0\x01\x04\x01" + big),
        (wire.CREATE, bytes(65) + big), (0x21, big))]
    counts, end = {}, time.monotonic() + seconds
    while time.monotonic() < end:
        for bomb in announced + inside:
            try:
                with wire.Session(port, 5, source="127.0.1.2") as session:
                    session.hello().send(bomb)
                    counted(counts, ending(session))
            except OSError as error:
                counted(counts, type(error).__name__)
    return counts


def slow(port, seconds):
    """Connections that say nothing, half a TLS hello, or a frame byte by byte; all are kept."""
    held, counts, end = [], {}, time.monotonic() + seconds
    for number in range(600):
        source = "127.0.2.%d" % (1 + number % 3)
        try:
            kept = plain(port, source)
            if number % 3 == 1:
                kept.sendall(bytes.fromhex("1603010200010001fc0303"))
            elif number % 3 == 2 and number < 120:
                kept = wire.client_context().wrap_socket(kept)
                kept.sendall(wire.frame(wire.HELLO, 1, b"HRLY\2\2")[:3])
            held.append((number, kept))
        except OSError as error:
            counted(counts, "not let in: " + type(error).__name__)
    while time.monotonic() < end:
        time.sleep(1)
        for number, kept in held:
            if number % 3 == 2:
                try:
                    kept.send(b"\0")
                except OSError:
                    pass
    for number, kept in held:
        counted(counts, "still there" if is_open(kept) else "ended by the relay")
    return counts


def is_open(kept):
    kept.settimeout(0.01)
    try:
        while kept.recv(4096):
            pass
        return False
    except (TimeoutError, ssl.SSLWantReadError):
        return True
    except OSError:
        return False


def own_mailbox(port, source, channel=0):
    """A session with a mailbox of its own, its name and key."""
    mailbox, access = os.urandom(16), wire.KeyPair()
    session = wire.Session(port, 20, source=source).hello()
    answer = session.create(channel, mailbox, access, wire.KeyPair())
    if answer.kind != wire.OPENED:
        raise SystemExit("no mailbox: %r" % (answer,))
    return session, mailbox, access


def unread(port, seconds):
    """Subscribers who read nothing, also of what they asked for, while much is written."""
    writer, mailbox, access = own_mailbox(port, "127.0.1.3")
    blob = os.urandom(PUT_BYTES)
    for number in range(2):
        writer.must(
            wire.PUT, wire.put_body(0, [(0, b"%d" % number, blob)]), wire.STORED)
    held = []
    for _ in range(40):
        session = wire.Session(port, 20, source="127.0.1.3").hello()
        session.enter(0, mailbox, access)
        session.ask(wire.SUBSCRIBE, b"\0\1")
        for _ in range(60):
            session.send(wire.frame(
                wire.FETCH, session.next(), b"\0\x02" + wire.blob(b"0") + wire.blob(b"1")))
        held.append(session)
    puts, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        writer.must(
            wire.PUT, wire.put_body(0, [(1, b"again", os.urandom(1024))]), wire.STORED)
        puts += 1
        time.sleep(0.002)
    counts = {"puts": puts}
    for session in held:
        counted(counts, ending(session))
    return counts


def halves(port, seconds):
    """Frames of full length that lack their last byte: more than the relay may hold."""
    session, mailbox, access = own_mailbox(port, "127.0.1.4")
    held, counts = [session], {}
    size = 2 * PUT_BYTES
    half = struct.pack(">I", size) + bytes([wire.PUT, 1]) + bytes(size - 3)
    for _ in range(200):
        try:
            session = wire.Session(port, 20, source="127.0.1.4").hello()
            session.enter(0, mailbox, access)
            held.append(session)
            session.send(half)
        except OSError as error:
            counted(counts, type(error).__name__)
    time.sleep(seconds)
    counts["held"] = sum(is_open(session.socket) for session in held)
    if not 1 < counts["held"] < 100:
        raise SystemExit("of 200 frames of 2 MiB %d are held" % counts["held"])
    return counts


def subscriptions(port, seconds):
    """More subscriptions of one mailbox than there may be, and each again and again."""
    session, mailbox, access = own_mailbox(port, "127.0.1.5")
    counts = {"channels": 1, "subscribed": 0}
    sessions = [(session, 1)]
    for _ in range(40):
        session = wire.Session(port, 60, source="127.0.1.5").hello()
        opened = 0
        for begin in range(0, 256, 32):
            part = range(begin, begin + 32)
            nonces = [Asked(session, wire.OPEN, wire.varint(n) + mailbox) for n in part]
            nonces = [asked.answer().body[16:] for asked in nonces]
            proofs = [Asked(session, wire.PROVE, session.proof(access, n, mailbox, nonce))
                      for n, nonce in zip(part, nonces)]
            for proof in proofs:
                answer = proof.answer()
                opened += answer.kind == wire.OPENED
                if answer.kind != wire.OPENED:
                    counted(counts, "refused with %d" % wire.fault(answer).code)
        counts["channels"] += opened
        sessions.append((session, opened))
        stay([session for session, _ in sessions])
    # Everybody listens, ten times over; then one entry goes to all.
    for session, opened in sessions:
        for begin in range(0, opened * 10, 50):
            for asked in [Asked(session, wire.SUBSCRIBE, wire.varint(n % opened) + b"\1")
                          for n in range(begin, min(begin + 50, opened * 10))]:
                counts["subscribed"] += asked.answer().kind == wire.SUBSCRIBED
        stay([session for session, _ in sessions])
    first = sessions[0][0]
    began = time.monotonic()
    first.must(wire.PUT, wire.put_body(0, [(0, b"n", bytes(1024))]), wire.STORED)
    counts["pushed"] = 0
    for session, opened in sessions[1:]:
        while opened:
            pushed = session.pushes.pop() if session.pushes else session.receive()
            if pushed is None:
                break
            counts["pushed"] += pushed.kind in (wire.PUSHED, wire.BEHIND)
            opened -= 1
    counts["milliseconds to push to all"] = round(1000 * (time.monotonic() - began))
    return counts


def stay(sessions):
    """Keeps sessions from being ended for their silence."""
    for asked in [Asked(session, wire.PING, b"") for session in sessions]:
        asked.answer()


class Asked:
    """A request that was sent and not waited for."""

    def __init__(self, session, kind, body):
        self.session = session
        self.request = session.next()
        session.send(wire.frame(kind, self.request, body))

    def answer(self):
        kept = self.session.__dict__.setdefault("answers", {})
        while self.request not in kept:
            answer = self.session.receive()
            if answer is None or answer.kind == wire.FAREWELL:
                raise SystemExit("the relay ended the session: %r" % (answer,))
            if answer.request:
                kept[answer.request] = answer
            else:
                self.session.pushes.append(answer)
        return kept.pop(self.request)


def flood(port, seconds):
    """Connections as fast as they can be made, from two addresses, by four threads."""
    counts, end = {}, time.monotonic() + seconds

    def connect(source):
        while time.monotonic() < end:
            try:
                with wire.Session(port, 5, source=source) as session:
                    session.send(wire.frame(wire.HELLO, 1, b"HRLY\2\2"))
                counted(counts, "made")
            except OSError as error:
                counted(counts, type(error).__name__)

    threads = [threading.Thread(target=connect, args=("127.0.3.%d" % (1 + n % 2),))
               for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts


def wrong(port, seconds, one=wire.frame(wire.CLOSE, 9, b"\xc8\x01")):
    """Frames that are right and in the wrong state, as fast as one connection at a time takes
    them; whoever is sent away comes again."""
    sent, answered, connections, end = 0, 0, 0, time.monotonic() + seconds
    while time.monotonic() < end:
        connections += 1
        try:
            session = wire.Session(port, 20, source="127.0.1.6").hello()
        except (OSError, wire.WireError):
            continue
        session.socket.setblocking(False)
        waiting, tail = b"", b""
        while time.monotonic() < end:
            waiting = waiting or one * 1000
            isIdle = True
            try:
                count = session.socket.send(waiting)
                waiting, sent, isIdle = waiting[count:], sent + count, False
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                pass
            except OSError:
                break
            try:
                data = tail + session.socket.recv(1 << 18)
                if data == tail:
                    break
                # Answers repeat the request's number, 9; so many faults have come.
                answered, tail, isIdle = answered + data.count(b"\x4f\x09"), data[-1:], False
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
            except OSError:
                break
            if isIdle:
                select.select([session.socket], [session.socket] if waiting else [], [], 0.05)
        session.socket.close()
    return {"sent a second": round(sent / len(one) / seconds), "faults": answered,
            "connections": connections}


def pings(port, seconds):
    """The same with pings."""
    return wrong(port, seconds, wire.frame(wire.PING, 9))


if __name__ == "__main__":
    os.nice(10)
    print(json.dumps(globals()[sys.argv[1]](int(sys.argv[2]), float(sys.argv[3]))))
