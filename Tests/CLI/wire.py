"""The relay's protocol spoken by another program: frames, keys, proofs.

Written from docs/reference/relay-protocol.md. Signatures come from libsodium, the system library
that Hearth uses too; TLS is Python's. `Session` is a client that does what it is told, also what
is wrong. What stands in a relay's place is in passage.py.
"""
import base64
import collections
import ctypes
import ctypes.util
import hashlib
import os
import socket
import ssl
import struct

HELLO, OPEN, PROVE, CREATE, CLOSE, PUT, REMOVE, LIST, FETCH = range(1, 10)
FETCH_AFTER, SUBSCRIBE, UNSUBSCRIBE, ROTATE, SET_RANK, ROSTER = range(10, 16)
PING, GOODBYE, PUT_PACKED, RESET = 0x10, 0x11, 0x12, 0x13
WELCOME, CHALLENGE, OPENED, STORED, REMOVED, LISTING, BLOBS, ENTRIES = range(0x41, 0x49)
SUBSCRIBED, ROTATED, DONE, PONG, SEATS, FAULT = 0x49, 0x4A, 0x4B, 0x4C, 0x4D, 0x4F
PUSHED, BEHIND, CLOSED, FAREWELL, PUSHED_PACKED = range(0x81, 0x86)
# Requests that name a channel first.
ON_CHANNELS = {*range(OPEN, ROSTER + 1), PUT_PACKED, RESET}
MOST_HEAD, MOST_BASE, LEAST_COPY = 192, 256, 4
MALFORMED, WRONG_STATE, REFUSED, QUOTA, RATE_LIMITED, TOO_MANY = 1, 3, 4, 5, 6, 8
NOT_ALLOWED, STRUCK_OFF, SHARE = 13, 20, 21
GUEST, AUTHOR, MANAGER, STRUCK = range(4)
HANDOFF, PLACE, CAPSULE_PLACE = 1, 2, 3
OUTCOME_STORED, OUTCOME_SAME, OUTCOME_CONFLICT = range(3)
REMOVAL, REPLACEABLE, LIVE = 1, 2, 4

sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
if sodium.sodium_init() < 0:
    raise SystemExit("libsodium does not start")


class WireError(Exception):
    """The other side did something else than was asked."""


# Numbers and frames

def varint(number):
    out = b""
    while number >= 128:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def blob(data):
    return varint(len(data)) + data


def frame(kind, request, body=b""):
    rest = bytes([kind]) + varint(request) + body
    return struct.pack(">I", len(rest)) + rest


Frame = collections.namedtuple("Frame", "kind request body")


class Fields:
    """Takes a body apart."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise WireError("a frame ends early")
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self):
        shift = number = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def blob(self):
        return self.take(self.varint())

    def header(self):
        """position, flags, name, length of the blob, digest"""
        return Header(self.varint(), self.take(1)[0], self.blob(), self.varint(), self.take(32))

    def fault(self):
        return Fault(self.varint(), self.varint(), self.blob().decode())


Header = collections.namedtuple("Header", "position flags name size digest")
Fault = collections.namedtuple("Fault", "code wait words")


def parse(rest):
    fields = Fields(rest)
    kind = fields.take(1)[0]
    return Frame(kind, fields.varint(), rest[fields.at:])


def puts(body):
    """The channel, and replaceable, name and blob of each."""
    fields = Fields(body)
    channel, count = fields.varint(), fields.varint()
    return channel, [(fields.take(1)[0], fields.blob(), fields.blob()) for _ in range(count)]


def put_body(channel, items):
    return varint(channel) + varint(len(items)) + b"".join(
        bytes([flag]) + blob(name) + blob(data) for flag, name, data in items)


def base_of(name, data):
    """What the next packed item of the same way and channel may repeat."""
    return (data[:MOST_HEAD] + name)[:MOST_BASE]


def packed(base, fields):
    """Replaceable, name and blob of each packed item, after what was said before."""
    items = []
    for _ in range(fields.varint()):
        flag, name_size, size = fields.take(1)[0], fields.varint(), fields.varint()
        head, window = min(size, MOST_HEAD), base
        while len(window) - len(base) < head + name_size:
            control = fields.varint()
            if control & 1:
                count, at = (control >> 1) + LEAST_COPY, fields.varint()
                if at + count > len(window):
                    raise WireError("a packed item repeats what was not said")
                window += window[at:at + count]
            else:
                window += fields.take((control >> 1) + 1)
        text = window[len(base):]
        name, data = text[head:], text[:head] + fields.take(size - head)
        if len(text) != head + name_size or fields.take(4) != packed_check(name, data):
            raise WireError("a packed item is not what was packed")
        items.append((flag, name, data))
        base = base_of(name, data)
    return items


def packed_check(name, data):
    return digest("HRTH/relay-packed/v1", sized(name), data, size=16)[:4]


def packed_body(channel, items):
    """A packed put that repeats nothing."""
    return varint(channel) + varint(len(items)) + b"".join(
        bytes([flag]) + varint(len(name)) + varint(len(data))
        + varint(2 * (len(data[:MOST_HEAD] + name) - 1)) + data[:MOST_HEAD] + name
        + data[MOST_HEAD:] + packed_check(name, data) for flag, name, data in items)


def outcomes(body):
    fields = Fields(body)
    return [(fields.take(1)[0], fields.varint()) for _ in range(fields.varint())]


def listing(body):
    """Headers, position looked through to, position of the head, chain at the former."""
    fields = Fields(body)
    headers = [fields.header() for _ in range(fields.varint())]
    return headers, fields.varint(), fields.varint(), fields.take(32)


def header_bytes(header):
    return (varint(header.position) + bytes([header.flags]) + blob(header.name)
            + varint(header.size) + header.digest)


def names(body):
    """Of a fetch or removal."""
    fields = Fields(body)
    fields.varint()
    return [fields.blob() for _ in range(fields.varint())]


def fetched(body):
    fields = Fields(body)
    return [fields.blob() if fields.take(1)[0] else None for _ in range(fields.varint())]


def blobs_body(blobs):
    return varint(len(blobs)) + b"".join(
        b"\0" if data is None else b"\1" + blob(data) for data in blobs)


# Hashes, keys and proofs

def digest(domain, *parts, size=32, key=b""):
    return hashlib.blake2b(domain.encode() + b"".join(parts), digest_size=size, key=key).digest()


def derive(key, number, context, size=32):
    """libsodium's crypto_kdf."""
    return hashlib.blake2b(
        key=key, digest_size=size, salt=number.to_bytes(8, "little").ljust(16, b"\0"),
        person=context.encode().ljust(16, b"\0")).digest()


def sized(data):
    return struct.pack(">Q", len(data)) + data


def pin(certificate):
    return digest("HRTH/relay-pin/v1", certificate)


def pin_text(certificate):
    """Base 32 with the alphabet of the invite format."""
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    bits = int.from_bytes(pin(certificate), "big") << 4
    return "".join(alphabet[bits >> 5 * place & 31] for place in reversed(range(52)))


def chain_start(mailbox, generation):
    return digest("HRTH/relay-chain-start/v1", mailbox, generation)


def chain_next(chain, position, flags, name, size, blob_digest):
    return digest(
        "HRTH/relay-chain/v1", chain, struct.pack(">QQ", position, flags & 3), sized(name),
        struct.pack(">Q", size), blob_digest)


def blob_digest(data):
    return digest("HRTH/relay-blob/v1", data)


class KeyPair:
    """Ed25519."""

    def __init__(self, seed=None):
        self.public = ctypes.create_string_buffer(32)
        self.secret = ctypes.create_string_buffer(64)
        sodium.crypto_sign_seed_keypair(self.public, self.secret, seed or os.urandom(32))
        self.public = self.public.raw
        self.id = digest("HRTH/relay-key-id/v1", self.public, size=16)

    def sign(self, domain, message):
        text = domain.encode() + hashlib.blake2b(message, digest_size=64).digest()
        signature = ctypes.create_string_buffer(64)
        sodium.crypto_sign_detached(
            signature, None, text, ctypes.c_ulonglong(len(text)), self.secret)
        return signature.raw


class Pseudonym:
    """A device's key at one relay, from the seed of its Ed25519 pair: blinded, as the reference has it."""

    def __init__(self, seed, relay):
        expanded = hashlib.sha512(seed).digest()
        scalar = bytes([expanded[0] & 248]) + expanded[1:31] + bytes([expanded[31] & 127 | 64])
        own = KeyPair(seed).public
        factor = self.reduced(digest("HRTH/relay-key/v2", sized(relay), sized(own), size=64))
        self.scalar = self.filled(32, sodium.crypto_core_ed25519_scalar_mul, scalar, factor)
        self.public = self.filled(32, sodium.crypto_scalarmult_ed25519_base_noclamp, self.scalar)
        assert self.public == self.filled(
            32, sodium.crypto_scalarmult_ed25519_noclamp, factor, own)
        self.nonces = hashlib.blake2b(
            b"HRTH/relay-nonce/v1" + factor, digest_size=32, key=expanded[32:]).digest()
        self.id = digest("HRTH/relay-key-id/v1", self.public, size=16)

    @staticmethod
    def filled(size, function, *inputs):
        out = ctypes.create_string_buffer(size)
        function(out, *inputs)
        return out.raw

    @classmethod
    def reduced(cls, wide):
        return cls.filled(32, sodium.crypto_core_ed25519_scalar_reduce, wide)

    def sign(self, domain, message):
        text = domain.encode() + hashlib.blake2b(message, digest_size=64).digest()
        nonce = self.reduced(hashlib.blake2b(text, digest_size=64, key=self.nonces).digest())
        point = self.filled(32, sodium.crypto_scalarmult_ed25519_base_noclamp, nonce)
        challenge = self.reduced(hashlib.sha512(point + self.public + text).digest())
        product = self.filled(32, sodium.crypto_core_ed25519_scalar_mul, challenge, self.scalar)
        return point + self.filled(32, sodium.crypto_core_ed25519_scalar_add, product, nonce)


def access_pair(root, mailbox, relay):
    """The pair that opens a mailbox at a relay, of those who hold an epoch's root."""
    return KeyPair(digest("HRTH/relay-access-key/v1", sized(relay), sized(mailbox), key=root))


# TLS

def client_context(latest=ssl.TLSVersion.TLSv1_3):
    """Takes any certificate: who is asked to compare it does so."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = latest
    return context


def certificate_at(port, seconds=20):
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as plain:
        with client_context().wrap_socket(plain) as secured:
            return secured.getpeercert(binary_form=True)


def identity_files(data, port, folder):
    """The relay's certificate and private key as files, from its data folder and what it shows."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(data, "identity.key"), "rb") as file:
        master = file.read()[8:40]
    # PKCS #8 of an Ed25519 key (RFC 8410), around its 32 bytes.
    secret = bytes.fromhex("302e020100300506032b657004220420") + derive(master, 2, "HRTHrtls")
    paths = []
    for name, title, der in (("certificate", "CERTIFICATE", certificate_at(port)),
                             ("key", "PRIVATE KEY", secret)):
        paths.append(os.path.join(folder, name + ".pem"))
        with open(paths[-1], "w") as file:
            file.write("-----BEGIN %s-----\n%s\n-----END %s-----\n" % (
                title, base64.encodebytes(der).decode().strip(), title))
    return paths


# A client

class Session:
    """A connection to a relay. Answers are waited for, pushes are kept in `pushes`."""

    def __init__(self, port, seconds=20, context=None, source="127.0.0.1"):
        plain = socket.create_connection(("127.0.0.1", port), seconds, (source, 0))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.socket = (context or client_context()).wrap_socket(plain)
        except BaseException:
            plain.close()
            raise
        self.certificate = self.socket.getpeercert(binary_form=True)
        self.waiting = b""
        self.request = 0
        self.pushes = []
        self.relay = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def next(self):
        self.request += 1
        return self.request

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """The next frame; None at the end of the connection."""
        while True:
            if len(self.waiting) >= 4:
                size = struct.unpack(">I", self.waiting[:4])[0]
                if len(self.waiting) >= 4 + size:
                    rest, self.waiting = self.waiting[4:4 + size], self.waiting[4 + size:]
                    return parse(rest)
            try:
                data = self.socket.recv(1 << 16)
            except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
                data = b""
            if not data:
                return None
            self.waiting += data

    def ask(self, kind, body=b""):
        """The answer to a request; a farewell counts as one, the end gives None."""
        request = self.next()
        self.send(frame(kind, request, body))
        while True:
            answer = self.receive()
            if answer is None or answer.kind == FAREWELL or answer.request == request:
                return answer
            self.pushes.append(answer)

    def must(self, kind, body, wanted):
        answer = self.ask(kind, body)
        if answer is None or answer.kind != wanted:
            raise WireError("%02x was answered by %r" % (kind, answer))
        return Fields(answer.body)

    def hello(self):
        fields = self.must(HELLO, b"HRLY" + varint(2) + varint(2), WELCOME)
        fields.varint()
        self.relay = fields.take(32)
        return self

    def challenge(self, channel, mailbox):
        """The id of the key that is wanted, and the nonce."""
        fields = self.must(OPEN, varint(channel) + mailbox, CHALLENGE)
        return fields.take(16), fields.take(32)

    def proof(self, pair, channel, mailbox, nonce, **other):
        """The body of a proof; `relay`, `pin` and `bound` put others in place of what is right.

        `author` is the pair of a device's own key, which is proven beside the other.
        """
        mine = os.urandom(32)
        bound = other.get("relay", self.relay) + other.get("pin", pin(self.certificate))
        message = bound + nonce + mine + other.get("bound", mailbox) + pair.id
        body = varint(channel) + pair.id + mine + pair.sign("HRTH/relay-access/v1", message) + b"\0"
        author = other.get("author")
        if not author:
            return body + b"\0"
        shown = message[:-len(pair.id)] + author.public
        return body + b"\1" + author.public + author.sign("HRTH/relay-author/v1", shown)

    def create(self, channel, mailbox, access, manager, credential=b"", parent=b""):
        nonce = self.challenge(channel, mailbox)[1]
        mine = os.urandom(32)
        made = hashlib.blake2b(
            struct.pack(">Q", 0) + sized(access.public) + sized(manager.public)
            + sized(credential) + sized(parent), digest_size=32).digest()
        bound = self.relay + pin(self.certificate) + nonce + mine + mailbox
        return self.ask(
            CREATE, varint(channel) + b"\0" + access.public + manager.public + blob(credential)
            + (parent or b"\0") + mine + b"".join(pair.sign("HRTH/relay-create/v1", bound + pair.id + made)
                              for pair in (access, manager)))

    def enter(self, channel, mailbox, pair, author=None):
        nonce = self.challenge(channel, mailbox)[1]
        return self.ask(PROVE, self.proof(pair, channel, mailbox, nonce, author=author))


def fault(answer):
    """What a fault or farewell says; None of anything else."""
    if answer is None or answer.kind not in (FAULT, FAREWELL):
        return None
    return Fields(answer.body).fault()
