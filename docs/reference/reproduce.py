#!/usr/bin/env python3
"""Reproduce Hearth's frozen format examples without Hearth or libsodium.

Reads Tests/HearthCryptoTests/Golden/*.swift and checks every envelope, key file, invite, capsule,
recovery key and number to compare there against the tables of this folder: hashes by hashlib,
XChaCha20-Poly1305 below, curves and Argon2id by the `cryptography` package (44 or later).
"""
import hashlib
import pathlib
import re
import struct

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "Tests/HearthCryptoTests/Golden"
WORDS = GOLDEN / "RecoveryGolden.swift"
SOURCES = GOLDEN.parents[2] / "Sources/HearthCrypto"
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
BODY = b"five points for the dishes"
RANDOM = b"\xc0" * 32


def golden():
    """The constants of the Swift sources: name -> list of texts."""
    values = {}
    for file in sorted(GOLDEN.glob("*.swift")):
        source = re.sub(r"\\\n\s*", "", file.read_text())
        for part in source.split("static let ")[1:]:
            texts = re.findall(r'"""\s*(\w+)\s*"""|"(\w+)"', part)
            values[part.split(" ")[0]] = [first or second for first, second in texts]
    return values


def rotate(value, count):
    return ((value << count) | (value >> (32 - count))) & 0xFFFFFFFF


def rounds(state):
    def quarter(a, b, c, d):
        for x, y, z, count in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[x] = (state[x] + state[y]) & 0xFFFFFFFF
            state[z] = rotate(state[z] ^ state[x], count)

    for _ in range(10):
        for column in range(4):
            quarter(column, column + 4, column + 8, column + 12)
        for column in range(4):
            quarter(column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)


SIGMA = list(struct.unpack("<4I", b"expand 32-byte k"))


def chacha_block(key, counter, nonce):
    state = SIGMA + list(struct.unpack("<8I", key)) + [counter, *struct.unpack("<3I", nonce)]
    work = state[:]
    rounds(work)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(state, work)))


def crypt(key, nonce, context, text, seals):
    """XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): the other text, and the tag."""
    state = SIGMA + list(struct.unpack("<8I", key)) + list(struct.unpack("<4I", nonce[:16]))
    rounds(state)
    key, nonce = struct.pack("<8I", *state[:4], *state[12:]), bytes(4) + nonce[16:]
    first = chacha_block(key, 0, nonce)
    r = int.from_bytes(first[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    stream = b"".join(chacha_block(key, 1 + i, nonce) for i in range(len(text) // 64 + 1))
    other = bytes(a ^ b for a, b in zip(text, stream))
    sealed = other if seals else text
    message = context + bytes(-len(context) % 16) + sealed + bytes(-len(sealed) % 16)
    message += struct.pack("<QQ", len(context), len(sealed))
    total = 0
    for start in range(0, len(message), 16):
        block = int.from_bytes(message[start : start + 16] + b"\1", "little")
        total = (total + block) * r % ((1 << 130) - 5)
    total = (total + int.from_bytes(first[16:32], "little")) % (1 << 128)
    return other, total.to_bytes(16, "little")


def open_aead(key, nonce, context, sealed):
    plaintext, tag = crypt(key, nonce, context, sealed[:-16], False)
    assert tag == sealed[-16:], "tag"
    return plaintext


def seal_capsule(key, associated, body):
    header = b"HRC1\1"
    context = b"HRTH/capsule/v1" + header + associated
    nonce = h(24, RANDOM + context + h(32, body), key)
    sealed = nonce + b"".join(crypt(key, nonce, context, body, True))
    length = len(context).to_bytes(8, "big")
    return header + h(32, b"HRTH/capsule-commit/v1" + length + context + sealed, key) + sealed


def h(count, message, key=b""):
    return hashlib.blake2b(message, digest_size=count, key=key).digest()


def kdf(key, number, context, count=32):
    salt = number.to_bytes(8, "little") + bytes(8)
    return hashlib.blake2b(
        digest_size=count, key=key, salt=salt, person=context + bytes(8)
    ).digest()


def unpad(plaintext):
    content = plaintext.rstrip(b"\0")
    assert content[-1] == 0x80, "padding"
    return content[:-1]


def ed25519(seed):
    return Ed25519PrivateKey.from_private_bytes(seed)


P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def sum_of(one, other):
    """Of two points of edwards25519 (RFC 8032, 5.1.4), as pairs."""
    (x1, y1), (x2, y2) = one, other
    k = D * x1 * x2 * y1 * y2 % P
    return (
        (x1 * y2 + x2 * y1) * pow(1 + k, P - 2, P) % P,
        (y1 * y2 + x1 * x2) * pow(1 - k, P - 2, P) % P,
    )


def point(scalar):
    """The encoded multiple of the base point."""
    base = 15112221349535400772501151409588531511454012693041857206046113283949847762202
    step, total = (base, 4 * pow(5, P - 2, P) % P), (0, 1)
    while scalar:
        if scalar & 1:
            total = sum_of(total, step)
        step, scalar = sum_of(step, step), scalar >> 1
    return (total[1] | (total[0] & 1) << 255).to_bytes(32, "little")


def pseudonym(seed, relay_id):
    """The own key at a relay of whoever has the signing pair of a seed."""
    expanded = hashlib.sha512(seed).digest()[:32]
    clamped = int.from_bytes(expanded, "little") & (1 << 254) - 8 | 1 << 254
    factor = h(64, b"HRTH/relay-key/v2" + delimited(relay_id, point(clamped)))
    return point(int.from_bytes(factor, "little") * clamped % L)


def public(pair):
    return pair.public_key().public_bytes_raw()


def box(seed):
    return public(X25519PrivateKey.from_private_bytes(hashlib.sha512(seed).digest()[:32]))


GROUP, ZONE = b"\xa0" * 16, b"\xb0" * 16
MASTER, EPOCH, SECRET = b"\1" * 32, b"\2" * 32, b"\3" * 32
SIGNER = ed25519(kdf(MASTER, 1, b"HRTHsign"))
DEVICE = h(16, b"HRTH/device/v1" + public(SIGNER) + box(kdf(MASTER, 2, b"HRTHbox1")))


def epoch_id(key):
    return h(32, b"HRTH/epoch-commit/v1" + GROUP + ZONE, key)


def envelope(data):
    clear, nonce, sealed = data[:142], data[142:166], data[166:-64]
    tags, links = kdf(SECRET, 1, b"HRTHtag1"), kdf(EPOCH, 5, b"HRTHlnk1")
    author = h(16, b"HRTH/author-tag/v1" + DEVICE, tags)
    assert clear[:6] in (b"HRE1\1\1", b"HRE1\1\2")
    assert clear[6:22] == h(16, b"HRTH/zone-tag/v1", tags) and clear[22:38] == author
    assert clear[46:62] == h(16, b"HRTH/epoch-tag/v1" + epoch_id(EPOCH))
    assert clear[78:110] == h(32, b"HRTH/link/v1" + b"\xd0" * 32, links)
    assert clear[110:] == h(32, b"HRTH/link/v1" + b"\xe0" * 32, links)
    key = h(32, author + clear[38:46], kdf(EPOCH, 1, b"HRTHenv1"))
    context = b"HRTH/segment/v1" + clear + ZONE + epoch_id(EPOCH)
    plaintext = open_aead(key, nonce, context, sealed)
    assert nonce == h(24, RANDOM + clear + h(32, plaintext), kdf(MASTER, 3, b"HRTHnonc"))
    signed = b"HRTH/segment-sig/v1" + h(64, ZONE + DEVICE + data[:-64])
    SIGNER.public_key().verify(data[-64:], signed)
    return unpad(plaintext)


def key_file(data):
    context, salt = data[:30], data[14:30]
    if data[5] == 0:
        key = h(32, b"HRTH/key-file-plain/v1" + salt)
    else:
        passes, memory = struct.unpack(">II", data[6:14])
        argon = Argon2id(salt=salt, length=32, iterations=passes, lanes=1, memory_cost=memory)
        key = argon.derive(b"correct horse")
    length = len(context).to_bytes(8, "big")
    commitment = h(32, b"HRTH/key-file-commit/v1" + length + context + data[62:], key)
    assert data[30:62] == commitment, "commitment"
    return unpad(open_aead(key, data[62:86], context, data[86:]))


def check_argon2():
    """The reference itself, by RFC 9106 section 5.3; libsodium offers neither lanes nor secrets."""
    argon = Argon2id(
        salt=b"\2" * 16, length=32, iterations=3, lanes=4, memory_cost=32, ad=b"\4" * 12,
        secret=b"\3" * 8,
    )
    tag = "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"
    assert argon.derive(b"\1" * 32).hex() == tag, "RFC 9106"


def invite(values, capsule):
    text, *values = values
    sign_key, box_key, invite_id, rendezvous, capsule_key, proof = map(bytes.fromhex, values)
    seed = bytes(range(16))
    root = h(32, b"HRTH/invite/v1" + seed)
    pair = ed25519(kdf(root, 1, b"HRTHinvs"))
    assert public(pair) == sign_key and box(kdf(root, 2, b"HRTHinvb")) == box_key
    assert h(16, b"HRTH/invite-id/v1" + sign_key + box_key) == invite_id
    assert h(16, b"HRTH/invite-place/v1" + (16).to_bytes(8, "big") + invite_id) == rendezvous
    assert kdf(root, 4, b"HRTHinvc") == capsule_key
    assert pair.sign(b"HRTH/join/v1" + h(64, h(32, BODY))) == proof
    symbols = [ALPHABET.index(character) for character in text]
    bits = int("".join(f"{symbol:05b}" for symbol in symbols[:26]), 2)
    assert bits == int.from_bytes(seed, "big") << 2
    powers = [1]
    while len(powers) < 31:
        powers.append(powers[-1] << 1 ^ (0x25 if powers[-1] & 16 else 0))
    for power in (1, 2):
        value = 0
        for symbol in symbols:
            shifted = powers[(powers.index(value) + power) % 31] if value else 0
            value = shifted ^ symbol
        assert value == 0, "check characters"
    context = b"HRTH/capsule/v1" + capsule[:5] + b"\7"
    length = len(context).to_bytes(8, "big")
    commitment = h(32, b"HRTH/capsule-commit/v1" + length + context + capsule[37:], capsule_key)
    assert capsule[5:37] == commitment, "commitment"
    assert unpad(open_aead(capsule_key, capsule[37:61], context, capsule[61:])) == BODY


def recovery_words(entropy, words):
    source = (SOURCES / "RecoveryWordList+English.swift").read_text()
    english = source.split('"""')[1].replace("\\\n", "").split()
    digest = hashlib.sha256("".join(word + "\n" for word in english).encode()).hexdigest()
    assert digest == "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"
    bits = int.from_bytes(entropy, "big") << 4 | hashlib.sha256(entropy).digest()[0] >> 4
    assert [english[bits >> 11 * (11 - place) & 2047] for place in range(12)] == words.split()


def recovery(values):
    sign_key, box_key, name, relay, locator, access, capsule_key, proof, digest = map(
        bytes.fromhex, values
    )
    root = h(32, b"HRTH/recovery/v1" + bytes(range(16)))
    pair = ed25519(kdf(root, 1, b"HRTHrecs"))
    assert public(pair) == sign_key and box(kdf(root, 2, b"HRTHrecb")) == box_key
    assert h(16, b"HRTH/recovery-id/v1" + sign_key + box_key) == name
    assert pseudonym(kdf(root, 1, b"HRTHrecs"), b"\x09") == relay
    assert kdf(root, 4, b"HRTHrecc") == access
    assert kdf(access, 1, b"HRTHrloc", 16) == locator
    assert kdf(access, 2, b"HRTHrcap") == capsule_key
    assert pair.sign(b"HRTH/test/v1" + h(64, BODY)) == proof
    body = BODY + b"\x80" + bytes(4094 - len(BODY)) + b"\x80"
    capsule = seal_capsule(capsule_key, b"HRTH/recovery-capsule/v1" + locator, body)
    assert len(capsule) == 4096 + 77 and h(32, capsule) == digest


def delimited(*parts):
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def digits(domain, *parts):
    digest = h(64, domain + delimited(*parts))
    for _ in range(8192):
        digest = h(64, domain + digest)
    groups = (digest[start : start + 5] for start in range(0, 30, 5))
    return "".join(f"{int.from_bytes(group, 'big') % 100000:05}" for group in groups)


def device_keys(number):
    master = bytes([number]) * 32
    return public(ed25519(kdf(master, 1, b"HRTHsign"))), box(kdf(master, 2, b"HRTHbox1"))


def comparison(values):
    number, frontier, commitment, short = values
    first, second, third = (device_keys(number) for number in (1, 2, 3))

    def half(person, *devices):
        hashes = sorted(h(32, b"HRTH/safety-device/v1" + sign + box) for sign, box in devices)
        return digits(b"HRTH/safety-person/v1", bytes([person]) * 16, b"".join(hashes))

    assert "".join(sorted([half(1, first, second), half(2, third)])) == number
    assert digits(b"HRTH/frontier-digits/v1", BODY) == frontier
    keys = [*first, *second, b"\x09"]
    sent = b"HRTH/sas-commit/v1" + delimited(b"\1" * 32, *keys)
    assert bytes.fromhex(commitment) == b"\1" + h(32, sent)
    digest = h(32, b"HRTH/sas/v1" + delimited(b"\1" * 32, b"\2" * 32, *keys))
    groups = (int.from_bytes(digest[start : start + 8], "big") for start in (0, 8))
    assert "".join(f"{group % 1000000:06}" for group in groups) == short


def main():
    check_argon2()
    values = golden()
    lists = ("invite", "recoveryWords", "recoveryRoot", "comparison")
    data = {name: bytes.fromhex(texts[0]) for name, texts in values.items() if name not in lists}
    assert envelope(data["segment"]) == b"\0" + BODY
    assert envelope(data["snapshotChunk"]) == b"\0"
    assert envelope(data["compressedSegment"])[:9].hex() == "0100000bb828b52ffd"
    assert key_file(data["lockedKeyFile"]) == (
        b"\0\2\0\0\0\x20" + b"\1" * 32 + b"\0\0\0\2\2\3"
    )
    assert key_file(data["plainKeyFile"]) == b"\0\1\0\0\0\x20" + b"\1" * 32
    invite(values["invite"], data["capsule"])
    wrapped, later = data["wrappedHistory"], b"\4" * 32
    context = b"HRTH/epoch-history/v1" + epoch_id(later) + epoch_id(EPOCH)
    assert open_aead(kdf(later, 3, b"HRTHhis1"), wrapped[:24], context, wrapped[24:]) == EPOCH
    pairs = re.findall(r'entropy: "(\w+)",\s*words:\s*"([a-z ]+)"', WORDS.read_text())
    assert len(pairs) == 9
    for entropy, words in pairs:
        recovery_words(bytes.fromhex(entropy), words)
    recovery(values["recoveryRoot"])
    comparison(values["comparison"])
    print("every frozen example was reproduced")


if __name__ == "__main__":
    main()
