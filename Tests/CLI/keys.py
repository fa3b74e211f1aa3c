"""What a node's home and recovery words hold and lead to: keys and ids, to be looked for elsewhere.

Written from docs/reference: key-file-format.md, envelope-format.md, database.md and
recovery-format.md. Homes without a passphrase only.
"""
import base64
import ctypes
import hashlib
import os
import re
import sqlite3

from wire import derive, digest, sodium

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def opened(sealed, context, key):
    """XChaCha20-Poly1305: nonce, ciphertext, tag."""
    out = ctypes.create_string_buffer(len(sealed) - 40)
    if sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
            out, None, None, sealed[24:], ctypes.c_ulonglong(len(sealed) - 24), context,
            ctypes.c_ulonglong(len(context)), sealed[:24], key) != 0:
        raise ValueError("what is sealed does not open")
    return out.raw


def public_of(seed, function, secret_bytes):
    public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(secret_bytes)
    getattr(sodium, function)(public, secret, seed)
    return public.raw


def master_secret(home):
    with open(os.path.join(home, "key"), "rb") as file:
        data = file.read()
    if data[:6] != b"HRK1\1\0":
        raise ValueError("no key file without a passphrase: " + home)
    body = opened(data[62:], data[:30], digest("HRTH/key-file-plain/v1", data[14:30]))
    return body[6:6 + int.from_bytes(body[2:6], "big")]


def home_keys(home):
    """Secrets, and public keys that only members know, of a home; by what they are."""
    master = master_secret(home)
    seeds = {context: derive(master, number, context) for number, context in (
        (1, "HRTHsign"), (2, "HRTHbox1"), (3, "HRTHnonc"), (5, "HRTHlocl"))}
    found = {"master secret": master, **{"seed " + name: key for name, key in seeds.items()}}
    found["device's signing key"] = public_of(seeds["HRTHsign"], "crypto_sign_seed_keypair", 64)
    found["device's box key"] = public_of(seeds["HRTHbox1"], "crypto_box_seed_keypair", 32)
    local = seeds["HRTHlocl"]
    database = sqlite3.connect("file:%s?mode=ro" % os.path.join(home, "node.db"), uri=True)
    zones = list(database.execute('SELECT number, id, "group", secret FROM hearth_zones'))
    for number, zone, group, secret in zones:
        found["zone secret", zone] = opened(secret, b"HRTH/local-zone/v1" + zone, local)
        for (key,) in database.execute("SELECT key FROM hearth_epochs WHERE zone = ?", (number,)):
            epoch = key[:32]
            root = opened(key[32:], b"HRTH/local-epoch/v1" + group + zone + epoch, local)
            found["epoch id", epoch] = epoch
            found["epoch key", epoch] = root
            found["relay access root", epoch] = derive(root, 6, "HRTHracc")
    database.close()
    return found


def home_ids(home):
    """Ids of zones, groups, devices and records, by what they are."""
    database = sqlite3.connect("file:%s?mode=ro" % os.path.join(home, "node.db"), uri=True)
    found = {}
    for table, column in [("hearth_zones", "id"), ("hearth_zones", "group"),
                          ("hearth_authors", "device")] + [
            (name, "id") for (name,) in database.execute("SELECT name FROM hearth_types")]:
        for (value,) in database.execute('SELECT DISTINCT "%s" FROM "%s"' % (column, table)):
            found["%s of %s" % (column, table), value] = value
    database.close()
    return found


def recovery_secrets(words):
    """What follows from words; what is called locator is no secret."""
    source = open(os.path.join(
        ROOT, "Sources", "HearthCrypto", "RecoveryWordList+English.swift")).read()
    listed = re.findall(r"[a-z]+", source.split('"""')[1].replace("\\\n", " "))
    bits = 0
    for word in words.split():
        bits = bits << 11 | listed.index(word)
    entropy = (bits >> 4).to_bytes(16, "big")
    if hashlib.sha256(entropy).digest()[0] >> 4 != bits & 15:
        raise ValueError("the checksum of words")
    root = digest("HRTH/recovery/v1", entropy)
    access = derive(root, 4, "HRTHrecc")
    return {
        "entropy": entropy, "root": root, "signing seed": derive(root, 1, "HRTHrecs"),
        "box seed": derive(root, 2, "HRTHrecb"),
        "access": access, "capsule key": derive(access, 2, "HRTHrcap"),
        "locator": derive(access, 1, "HRTHrloc", 16)}


def base64_forms(data):
    """The characters of base64 that no neighbouring byte takes part in, at each offset."""
    for shift in range(3):
        text = base64.b64encode(bytes(shift) + data)
        yield text[4 if shift else 0:-4]
