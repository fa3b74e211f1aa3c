"""What relays acknowledged on the wire, and whether a log has it."""
import sqlite3

import passage
import wire


class Acknowledged:
    """What the relay said it has: (mailbox, name) to position, digest of the blob, generation."""

    def __init__(self):
        self.entries = {}
        self.generations = {}
        self.count = 0

    def passage(self, between, number):
        passage = Noted(between, number)
        passage.notes = self
        return passage


class Noted(passage.Passage):
    def told(self, frame, asked):
        if frame.kind == wire.OPENED:
            self.generation(asked, frame.body[:16])
        elif frame.kind == wire.STORED:
            mailbox = self.mailbox(asked)
            items = wire.puts(asked.body)[1]
            for (_, name, blob), (outcome, position) in zip(items, wire.outcomes(frame.body)):
                if outcome != wire.OUTCOME_CONFLICT:
                    self.notes.count += 1
                    self.notes.entries[mailbox, name, position] = wire.blob_digest(blob)
        return [frame]

    def generation(self, asked, generation):
        self.notes.generations.setdefault(self.mailbox(asked), set()).add(generation)


def lost(rows, entries):
    """Which acknowledged entries are not among a log's rows.

    Rows are of mailbox, name, position, the blob's digest, and whether the blob is there.
    """
    there, later = {}, {}
    for mailbox, name, position, digest, isLive in rows:
        there[mailbox, name, position] = digest, isLive
        later[mailbox, name] = max(later.get((mailbox, name), 0), position)
    found = []
    for (mailbox, name, position), digest in entries.items():
        held, isLive = there.get((mailbox, name, position), (None, False))
        # Dropped is only what a later entry of the same name replaced or removed.
        if held != digest or not (isLive or later[mailbox, name] > position):
            found.append(name.hex())
    return found


def missing(path, acknowledged):
    """Which acknowledged entries an exported log lacks, and which mailboxes began anew."""
    log = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    rows = log.execute(
        "SELECT m.name, e.name, e.position, e.digest, e.blob IS NOT NULL"
        " FROM entries e JOIN mailboxes m ON m.number = e.mailbox").fetchall()
    generations = dict(log.execute("SELECT name, generation FROM mailboxes"))
    log.close()
    anew = [mailbox.hex() for mailbox, several in acknowledged.generations.items()
            if several != {generations.get(mailbox)}]
    return lost(rows, acknowledged.entries), anew
