"""How files of hostile.py's rows come to a relay: somebody stores them by a program of their own.

It speaks the relay's protocol itself (wire.py) under the keys of a node's home, and asks for no
rule of Hearth's: the relay alone decides what it takes.
"""
import glob
import os

import wire
from relay_members import Attacker

MOST_ITEMS, MOST_BYTES = 400, 1 << 20


def entries(stash):
    """The segments of a folder as entries of a relay: by mailbox, the name and bytes of each."""
    found = {}
    for path in sorted(glob.glob(os.path.join(stash, "*", "*", "*", "*.seg"))):
        *_, zone, author, name = path[:-len(".seg")].split(os.sep)
        with open(path, "rb") as file:
            found.setdefault(bytes.fromhex(zone), []).append(
                (b"\1" + bytes.fromhex((author + name).replace("-", "")), file.read()))
    return found


def batches(items):
    """Lists of entries of which each may go in one request."""
    batch, size = [], 0
    for name, data in items:
        if batch and (len(batch) == MOST_ITEMS or size + len(name) + len(data) > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((0, name, data))
        size += len(name) + len(data)
    if batch:
        yield batch


def is_open(answer):
    return answer is not None and answer.kind == wire.OPENED


def store(household, by, stash):
    """Stores a folder's segments at the relay under the keys of somebody's home.

    Gives how many there are and how many the relay took, and the codes with which it refused.
    """
    prepared = entries(stash)
    files, taken, codes = sum(map(len, prepared.values())), 0, set()
    with Attacker(household, household.path(by)) as device:
        for channel, (mailbox, items) in enumerate(prepared.items()):
            answers = [device.by_own_key(channel, mailbox)]
            if not is_open(answers[-1]):
                # Its key is on no list, or not any more; what it knows of the household is left.
                answers.append(device.by_access_key(channel, mailbox, device.own))
            if is_open(answers[-1]):
                answers = [device.session.ask(wire.PUT, wire.put_body(channel, batch))
                           for batch in batches(items)]
            for answer in filter(None, answers):
                if answer.kind == wire.STORED:
                    outcomes = wire.outcomes(answer.body)
                    taken += sum(how == wire.OUTCOME_STORED for how, _ in outcomes)
                elif wire.fault(answer):
                    codes.add(wire.fault(answer).code)
    return files, taken, codes
