#!/usr/bin/env python3
"""Reproduce Hearth's frozen format examples without Hearth or libsodium.

Reads Tests/HearthCryptoTests/Golden/*.swift and checks every envelope, key file, invite and
capsule there against the tables of this folder: hashes by hashlib, XChaCha20-Poly1305 below,
curves and Argon2id by the `cryptography` package (44 or later).
"""
import hashlib
import pathlib
import re
import struct

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "Tests/HearthCryptoTests/Golden"
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


def open_aead(key, nonce, context, sealed):
    """XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03)."""
    state = SIGMA + list(struct.unpack("<8I", key)) + list(struct.unpack("<4I", nonce[:16]))
    rounds(state)
    key, nonce = struct.pack("<8I", *state[:4], *state[12:]), bytes(4) + nonce[16:]
    first = chacha_block(key, 0, nonce)
    r = int.from_bytes(first[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    text, tag = sealed[:-16], sealed[-16:]
    message = context + bytes(-len(context) % 16) + text + bytes(-len(text) % 16)
    message += struct.pack("<QQ", len(context), len(text))
    total = 0
    for start in range(0, len(message), 16):
        block = int.from_bytes(message[start : start + 16] + b"\1", "little")
        total = (total + block) * r % ((1 << 130) - 5)
    total = (total + int.from_bytes(first[16:32], "little")) % (1 << 128)
    assert total.to_bytes(16, "little") == tag, "tag"
    stream = b"".join(chacha_block(key, 1 + i, nonce) for i in range(len(text) // 64 + 1))
    return bytes(a ^ b for a, b in zip(text, stream))


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


def invite(values, capsule):
    text, *values = values
    sign_key, box_key, invite_id, rendezvous, capsule_key, proof = map(bytes.fromhex, values)
    seed = bytes(range(16))
    root = h(32, b"HRTH/invite/v1" + seed)
    pair = ed25519(kdf(root, 1, b"HRTHinvs"))
    assert public(pair) == sign_key and box(kdf(root, 2, b"HRTHinvb")) == box_key
    assert h(16, b"HRTH/invite-id/v1" + sign_key + box_key) == invite_id
    assert kdf(root, 3, b"HRTHinvr", 16) == rendezvous
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


def main():
    values = golden()
    data = {name: bytes.fromhex(texts[0]) for name, texts in values.items() if name != "invite"}
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
    print("every frozen example was reproduced")


if __name__ == "__main__":
    main()
