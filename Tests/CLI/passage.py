"""What stands in a relay's place and passes frames on, for the scripts in which a relay or a line lies.

`Between` shows the relay's own certificate, passes every frame on in clear and lets a `Passage` look at
it and change it.
"""
import asyncio
import ssl
import struct
import threading

from wire import (BEHIND, CLOSED, OPEN, ON_CHANNELS, PUSHED, PUT, PUT_PACKED, SUBSCRIBE, Fields, Frame,
                  base_of, client_context, frame, packed, parse, put_body, puts, varint)


class Cut(Exception):
    """Ends a connection at once, after some last bytes."""

    def __init__(self, last=b""):
        super().__init__()
        self.last = last


class Passage:
    """What passes on one connection. Keeps which mailbox a channel and a request are about.

    Packed puts are shown in their plain form, and passed on as they are where nobody changed one
    before; nodes are subscribed for plain pushes.
    """

    def __init__(self, between, number):
        self.between = between
        self.number = number
        self.mailboxes = {}
        self.requests = {}
        # By channel: after what the node packs, and after what the relay unpacks.
        self.node_bases = {}
        self.relay_bases = {}

    def mailbox(self, frame):
        """The mailbox that a request, its answer or a push is about; None for none."""
        if frame.kind in ON_CHANNELS or frame.kind in (PUSHED, BEHIND, CLOSED):
            return self.mailboxes.get(Fields(frame.body).varint())
        asked = self.requests.get(frame.request)
        return self.mailbox(asked) if asked else None

    def answer(self, data):
        """Sends bytes to the node in the relay's name."""
        self.to_node.write(data)

    def from_node(self, frame):
        original, channel, before = frame, None, b""
        if frame.kind in ON_CHANNELS:
            fields = Fields(frame.body)
            channel = fields.varint()
            before = self.node_bases.get(channel, b"")
        if frame.kind == OPEN:
            self.mailboxes[channel] = fields.take(16)
            self.node_bases[channel] = self.relay_bases[channel] = b""
        elif frame.kind == SUBSCRIBE:
            original = frame = Frame(SUBSCRIBE, frame.request, varint(channel) + b"\0")
        elif frame.kind == PUT_PACKED:
            items = packed(before, fields)
            frame = Frame(PUT, frame.request, put_body(channel, items))
        if frame.kind == PUT:
            self.node_bases[channel] = base_of(*puts(frame.body)[1][-1][1:])
        self.requests[frame.request] = frame
        passing = self.asked(frame)
        is_known = before == self.relay_bases.get(channel, b"")
        for passed in passing:
            if isinstance(passed, Frame) and passed.kind == PUT:
                at, items = puts(passed.body)
                self.relay_bases[at] = base_of(*items[-1][1:])
        return [original] if passing == [frame] and is_known else passing

    def from_relay(self, frame):
        passed = self.told(frame, self.requests.get(frame.request))
        self.requests.pop(frame.request, None)
        return passed

    def asked(self, frame):
        """What to pass to the relay for a request."""
        return [frame]

    def told(self, frame, asked):
        """What to pass to the node for an answer (with its request) or a push."""
        return [frame]


class Between:
    """Stands in the relay's place, on a port of its own.

    `paths` are of the certificate and key to show; `passage` makes what looks at each connection.
    Both, and `port_behind`, may be changed while it runs; then they are of new connections.
    """

    def __init__(self, paths, port_behind, passage=Passage, recorder=None):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.num_tickets = 0
        self.context.load_cert_chain(*paths)
        self.port_behind = port_behind
        self.passage = passage
        self.recorder = recorder
        self.connections = 0
        self.failures = []
        self.tasks = set()
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(started,), daemon=True)
        self.thread.start()
        started.wait()

    def run(self, started):
        asyncio.set_event_loop(self.loop)
        self.loop.set_exception_handler(lambda *_: None)
        self.server = self.loop.run_until_complete(
            asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=self.context, limit=1 << 22))
        self.port = self.server.sockets[0].getsockname()[1]
        started.set()
        self.loop.run_forever()

    def stop(self):
        def end():
            self.server.close()
            for task in self.tasks:
                task.cancel()
            self.loop.call_later(0.1, self.loop.stop)
        self.loop.call_soon_threadsafe(end)
        self.thread.join()

    def address(self, real):
        """The relay's address line with this port in the place of the relay's."""
        return "hearth-relay://127.0.0.1:%d/%s" % (self.port, real.rsplit("/", 1)[1])

    async def serve(self, reader, writer):
        self.connections += 1
        self.tasks.add(asyncio.current_task())
        passage = self.passage(self, self.connections)
        passage.to_node = writer
        try:
            behind, writer_behind = await asyncio.open_connection(
                "127.0.0.1", self.port_behind, ssl=client_context(), limit=1 << 22)
            ways = [
                asyncio.ensure_future(self.pass_on(reader, writer_behind, passage.from_node, 0)),
                asyncio.ensure_future(self.pass_on(behind, writer, passage.from_relay, 1))]
            try:
                done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                if not any(isinstance(way.exception(), Cut) for way in done):
                    # What was said before the end still arrives.
                    await asyncio.wait(ways, timeout=0.2)
            finally:
                for way in ways:
                    way.cancel()
                for way in await asyncio.gather(*ways, return_exceptions=True):
                    if isinstance(way, Exception) and not isinstance(way, (Cut, OSError)):
                        self.failures.append(repr(way))
                writer_behind.transport.abort()
        except (OSError, ssl.SSLError):
            pass
        finally:
            self.tasks.discard(asyncio.current_task())
            writer.transport.abort()

    async def pass_on(self, reader, writer, change, way):
        while True:
            try:
                head = await reader.readexactly(4)
                rest = await reader.readexactly(struct.unpack(">I", head)[0])
            except (asyncio.IncompleteReadError, OSError):
                return
            if self.recorder:
                self.recorder(way, head + rest)
            try:
                passing = change(parse(rest))
            except Cut as cut:
                writer.write(cut.last)
                await writer.drain()
                raise
            for passed in passing:
                writer.write(passed if isinstance(passed, bytes) else frame(*passed))
            await writer.drain()
