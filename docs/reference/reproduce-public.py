#!/usr/bin/env python3
"""Make the golden bytes of public catalogues once more, from public-catalogues.md alone.

Prints Tests/HearthRelayProtocolTests/Catalogue/Golden/PublicGoldenBytes.swift; with --check it compares instead.
Needs the `cryptography` package for Ed25519; hashes come from hashlib.
"""
import hashlib
import pathlib
import struct
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

GOLDEN = "Tests/HearthRelayProtocolTests/Catalogue/Golden/PublicGoldenBytes.swift"


def rising(first, count):
    return bytes((first + place) & 255 for place in range(count))


def varint(number):
    out = b""
    while number >= 128:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def blob(data):
    return varint(len(data)) + data


def text(words):
    return blob(words.encode())


def value(thing):
    if isinstance(thing, bool):
        return bytes([2 if thing else 1])
    if isinstance(thing, int):
        return b"\3" + varint(thing << 1 if thing >= 0 else (-thing << 1) - 1)
    return b"\4" + text(thing)


def digest(domain, *parts, count=32):
    return hashlib.blake2b(domain.encode() + b"".join(parts), digest_size=count).digest()


def delimited(data):
    return struct.pack(">Q", len(data)) + data


def subkey(key, number, context):
    return hashlib.blake2b(
        b"", digest_size=32, key=key, salt=struct.pack("<Q", number) + bytes(8),
        person=context.encode() + bytes(8)).digest()


def pair(seed):
    key = Ed25519PrivateKey.from_private_bytes(seed)
    return key, key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def sign(key, domain, message):
    return key.sign(domain.encode() + hashlib.blake2b(message, digest_size=64).digest())


def frame(kind, request, body):
    data = bytes([kind]) + varint(request) + body
    return struct.pack(">I", len(data)) + data


def base32(data):
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    bits = "".join(format(byte, "08b") for byte in data)
    bits += "0" * (-len(bits) % 5)
    return "".join(alphabet[int(bits[place:place + 5], 2)] for place in range(0, len(bits), 5))


MASTER = rising(0, 32)
KEY, PUBLIC = pair(subkey(MASTER, 1, "HRTHpubl"))
CATALOGUE = digest("HRTH/catalogue-id/v1", PUBLIC, b"hearth", count=16)


def record(kind, name, revision, fields, body):
    data = b"\1" + text(kind) + text(name) + varint(revision) + varint(len(fields))
    data += b"".join(text(field) + value(thing) for field, thing in fields) + text(body)
    return data + sign(KEY, "HRTH/public-record/v1", CATALOGUE + data)


def vectors():
    challenge = record("challenge", "bench-test", 1, [
        ("adultHelp", True), ("category", "calm"), ("minutes", 40), ("tags", "games"),
        ("tags", "walking")], '{"id":"bench-test"}')
    flag = record("flag", "ml_personalization", 300, [("value", False), ("version", -2)], "{}")
    root = digest(
        "HRTH/public-root/v1", CATALOGUE, struct.pack(">Q", 2), *[
            delimited(kind) + delimited(name) + digest("HRTH/public-digest/v1", data)
            for kind, name, data in ((b"challenge", b"bench-test", challenge),
                                     (b"flag", b"ml_personalization", flag))])
    head = b"\1" + PUBLIC + text("hearth") + varint(300) + varint(1) + varint(2) + root
    head += varint(1763683200000)
    head += sign(KEY, "HRTH/public-head/v1", CATALOGUE + head)
    pack = b"HRTC\1" + blob(head) + varint(2) + blob(challenge) + blob(flag)
    query = text("challenge") + text("bench-test") + varint(100) + varint(5)
    query += text("category") + b"\0" + value("calm") + text("adultHelp") + b"\0" + value(True)
    query += text("minutes") + b"\1" + value(10)[1:] + text("minutes") + b"\2" + value(30)[1:]
    query += text("minutes") + b"\3" + value(-1)[1:] + value(300)[1:]

    # A catalogue is made with the publisher's key as the manager's.
    relay, pin, theirs, ours = (rising(first, 32) for first in (0x20, 0x40, 0x60, 0x80))
    seed = hashlib.blake2b(
        b"HRTH/relay-access-key/v1" + delimited(relay) + delimited(CATALOGUE), digest_size=32,
        key=subkey(MASTER, 2, "HRTHpubl")).digest()
    access, access_public = pair(seed)
    made = hashlib.blake2b(
        struct.pack(">Q", 1) + delimited(access_public) + delimited(PUBLIC) + delimited(b"token")
        + delimited(b""), digest_size=32).digest()

    def creation(key, public):
        name = digest("HRTH/relay-key-id/v1", public, count=16)
        return sign(
            key, "HRTH/relay-create/v1", relay + pin + theirs + ours + CATALOGUE + name + made)

    create = varint(3) + b"\1" + access_public + PUBLIC + blob(b"token") + b"\0" + ours
    create += creation(access, access_public) + creation(KEY, PUBLIC) + text("hearth")
    return {
        "publisher": PUBLIC, "catalogue": CATALOGUE, "accessKey": access_public,
        "challenge": challenge, "flag": flag, "root": root, "head": head, "pack": pack,
        "fingerprint": digest("HRTH/publisher-print/v1", PUBLIC, count=16),
        "create": frame(0x04, 4, create),
        "openPublic": frame(0x20, 2, varint(3) + CATALOGUE),
        "query": frame(0x21, 7, varint(3) + query),
        "found": frame(
            0x60, 7, b"\1" + blob(head) + varint(1) + blob(challenge) + b"\1" + text("bench-test")),
        "foundNothing": frame(0x60, 8, b"\0" + varint(0) + b"\0"),
    }


def literal(data):
    digits = data.hex()
    return "\n      + ".join(
        '"%s"' % digits[place:place + 80] for place in range(0, len(digits), 80))


def swift(found):
    lines = ["/// The vectors, computed by docs/reference/reproduce-public.py from the page on them.",
             "enum PublicGoldenBytes {"]
    for name, data in found.items():
        lines.append("  static let %s =\n    %s" % (name, literal(data)))
    address = "hearth-catalogue://127.0.0.1:7440/%s/%s/hearth" % (
        base32(rising(0x40, 32)), base32(PUBLIC))
    lines.append('  static let address =\n    "%s"' % '"\n    + "'.join(
        address[place:place + 80] for place in range(0, len(address), 80)))
    return "\n".join(lines + ["}"]) + "\n"


def main():
    made = swift(vectors())
    if sys.argv[1:] == ["--check"]:
        golden = pathlib.Path(__file__).resolve().parents[2] / GOLDEN
        same = "".join(golden.read_text().split()) == "".join(made.split())
        print("public catalogues: the golden bytes are the same" if same
              else "public catalogues: OTHER BYTES")
        sys.exit(0 if same else 1)
    print(made, end="")


main()
