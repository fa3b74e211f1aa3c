"""Expands recurrence rules with python-dateutil.

Each line of standard input is LIMIT|YYYY-MM-DD|RRULE value. Each line of standard output is the
first LIMIT dates as day ordinals relative to 1970-01-01, separated by spaces.
"""
import datetime
import itertools
import sys

try:
    from dateutil.rrule import rrulestr
except ImportError:
    print("no-dateutil")
    sys.exit(0)

EPOCH = datetime.date(1970, 1, 1).toordinal()

for line in sys.stdin:
    limit, start, value = line.rstrip("\n").split("|")
    rule = rrulestr(value, dtstart=datetime.datetime.fromisoformat(start))
    dates = itertools.islice(rule, int(limit))
    print(" ".join(str(date.toordinal() - EPOCH) for date in dates))
