"""What a catalogue may say: its keys in their order, and the values each may have.

The same for people is docs/reference/catalogue.md; Scripts/check-catalogue holds files to it.
"""
import difflib
import json
import re
from datetime import datetime

CATEGORIES = ("adventure", "calm", "connection", "creativity", "curiosity", "kindness", "kitchen",
              "movement")
SEASONS = ("spring", "summer", "autumn", "winter")
MINUTES_OF_TIME = {"quick": (1, 15), "medium": (16, 60), "extended": (61, 480)}

SLUG = r"[a-z0-9]+(-[a-z0-9]+){0,5}"
NAME = r"[a-z]+(_[a-z]+){0,5}"
MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def shown(value):
    return json.dumps(value, ensure_ascii=False)[:80]


class Text:
    """A text of some length that matches a pattern as a whole."""

    def __init__(self, least, most, pattern=r"[ -~]*"):
        self.least, self.most, self.pattern = least, most, re.compile(pattern)

    def faults(self, value):
        if not isinstance(value, str):
            yield "has to be text, not %s" % shown(value)
        elif not self.least <= len(value) <= self.most:
            yield "has %d characters instead of %d to %d" % (len(value), self.least, self.most)
        elif not self.pattern.fullmatch(value):
            yield "%s does not match %s" % (shown(value), self.pattern.pattern)
        elif value != value.strip() or "  " in value:
            yield "%s has spaces too many" % shown(value)


class Moment(Text):
    """A moment in UTC, to the second."""

    def __init__(self):
        super().__init__(20, 20, MOMENT)

    def faults(self, value):
        found = list(super().faults(value))
        yield from found
        if not found:
            try:
                datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ")
            except ValueError:
                yield "%s is no moment that exists" % shown(value)


class Word:
    """One word of an enum."""

    def __init__(self, *words):
        self.words = words

    def faults(self, value):
        if value in self.words and isinstance(value, str):
            return
        near = difflib.get_close_matches(str(value).lower(), self.words, 1, 0.5)
        hint = "; did you mean %s?" % shown(near[0]) if near else ""
        yield "%s is not one of %s%s" % (shown(value), ", ".join(self.words), hint)


class Number:
    """A whole number of a range."""

    def __init__(self, least, most):
        self.least, self.most = least, most

    def faults(self, value):
        if type(value) is not int:
            yield "has to be a whole number, not %s" % shown(value)
        elif not self.least <= value <= self.most:
            yield "%d is not in %d to %d" % (value, self.least, self.most)


class Truth:
    """True or false."""

    def faults(self, value):
        if type(value) is not bool:
            yield "has to be true or false, not %s" % shown(value)


class Scalar:
    """Text, whole number or truth; the entry's kind says which."""

    def faults(self, value):
        if type(value) not in (str, int, bool):
            yield "has to be text, a whole number, true or false, not %s" % shown(value)


class Listing:
    """A list of items, which are looked at one by one elsewhere."""

    def faults(self, value):
        if not isinstance(value, list):
            yield "has to be a list, not %s" % shown(value)


class Row:
    """A list without repetitions; `order` is "sorted", the words in their order, or None."""

    def __init__(self, kind, least, most, order=None):
        self.kind, self.least, self.most, self.order = kind, least, most, order

    def faults(self, value):
        if not isinstance(value, list):
            yield "has to be a list, not %s" % shown(value)
            return
        found = [fault for item in value for fault in self.kind.faults(item)]
        yield from found
        if not self.least <= len(value) <= self.most:
            yield "has %d entries instead of %d to %d" % (len(value), self.least, self.most)
        if found:
            return
        if len(set(value)) < len(value):
            yield "says something twice"
        key = None if self.order == "sorted" else (self.order or value).index
        if value != sorted(value, key=key):
            yield "is not in order: %s" % ", ".join(sorted(value, key=key))


TITLE = Text(3, 60, r"[A-Z][ -~]*[^.!,;: ]")
PROSE = Text(40, 400, r"[A-Z][ -~]*[.!?]")
TAGS = Row(Text(2, 40, SLUG), 1, 5, "sorted")
PUBLISHED = {"createdAt": Moment(), "updatedAt": Moment()}
# Key order is the order of the file. A key in OPTIONAL may be left out.
FIELDS = {
    "challenges": {
        "id": Text(3, 40, SLUG), "language": Word("en"), "title": TITLE, "description": PROSE,
        "category": Word(*CATEGORIES), "timeInvestment": Word(*MINUTES_OF_TIME),
        "minutes": Number(1, 480),
        "socialRequirement": Word("solo", "pair", "household", "community"),
        "costLevel": Word("free", "small", "medium", "large"), "difficultyLevel": Number(1, 5),
        "locationType": Word("home", "outdoor", "public", "specific", "anywhere"),
        "energy": Word("low", "medium", "high"), "minimumAge": Number(3, 18), "adultHelp": Truth(),
        "materials": Row(Text(3, 40, r"[a-z][ -~]*"), 0, 6, "sorted"),
        "seasons": Row(Word(*SEASONS), 0, 3, SEASONS),
        "weather": Word("any", "dry", "clear", "wet"),
        "dayParts": Row(Word("morning", "afternoon", "evening"), 0, 2,
                        ("morning", "afternoon", "evening")),
        "tags": TAGS, **PUBLISHED},
    "choreTemplates": {
        "id": Text(3, 40, SLUG), "language": Word("en"), "title": TITLE,
        "category": Word("care", "cleaning", "cooking", "errands", "garden", "laundry",
                         "paperwork", "pets", "tidying", "upkeep"),
        "room": Word("away", "bathroom", "bedroom", "desk", "hallway", "kitchen", "laundry-room",
                     "living-room", "outdoors", "whole-home"),
        "points": Number(1, 30), "minutes": Number(1, 240),
        "every": Text(1, 27, r"[a-z0-9,]+"),
        "dayOfMonth": Text(1, 4, r"[1-9]|[12]\d|3[01]|last"), "afterCompletion": Truth(),
        "at": Text(5, 5, r"([01]\d|2[0-3]):[0-5]\d"), "minimumAge": Number(3, 18),
        "adultHelp": Truth(), "seasons": Row(Word(*SEASONS), 0, 3, SEASONS),
        "steps": Row(Text(3, 80, r"[A-Z][ -~]*[^.,; ]"), 2, 8), "tags": TAGS, **PUBLISHED},
    "featureFlags": {
        "id": Text(3, 40, NAME), "version": Number(1, 1 << 31), "value": Truth(),
        "description": PROSE, **PUBLISHED},
    "appConfiguration": {
        "id": Text(3, 40, NAME), "version": Number(1, 1 << 31),
        "kind": Word("boolean", "integer", "text"), "value": Scalar(),
        "minimum": Number(-(1 << 53), 1 << 53), "maximum": Number(-(1 << 53), 1 << 53),
        "description": PROSE, **PUBLISHED},
}
OPTIONAL = {"choreTemplates": ("every", "dayOfMonth", "at"),
            "appConfiguration": ("minimum", "maximum")}
TOP = {"schema": Number(1, 1), "catalogue": Text(3, 40, SLUG), "version": Number(1, 1 << 31),
       "retired": Row(Text(3, 40, r"[a-z0-9_-]+"), 0, 100_000, "sorted"),
       **{kind: Listing() for kind in FIELDS}}
