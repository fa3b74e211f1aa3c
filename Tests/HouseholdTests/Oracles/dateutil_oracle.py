"""Answers calendar questions with python-dateutil, one line of output per line of input.

rule|LIMIT|YYYY-MM-DD|RRULE value   the first LIMIT dates
months|YYYY-MM-DD|N                 the date N months later
due|ZONE|YYYY-MM-DD|MINUTE          the instant of a local time (PEP 495, fold 0)

Dates are printed as days since 1970-01-01, instants as seconds, separated by spaces.
"""
import datetime
import itertools
import sys
import zoneinfo

try:
    from dateutil.relativedelta import relativedelta
    from dateutil.rrule import rrulestr
except ImportError:
    print("no-dateutil")
    sys.exit(0)

EPOCH = datetime.date(1970, 1, 1).toordinal()

for line in sys.stdin:
    kind, *fields = line.rstrip("\n").split("|")
    if kind == "rule":
        limit, start, value = fields
        rule = rrulestr(value, dtstart=datetime.datetime.fromisoformat(start))
        dates = itertools.islice(rule, int(limit))
    elif kind == "due":
        zone, day, minute = fields
        local = datetime.datetime.fromisoformat(day) + datetime.timedelta(minutes=int(minute))
        print(int(local.replace(tzinfo=zoneinfo.ZoneInfo(zone)).timestamp()))
        continue
    else:
        start, months = fields
        dates = [datetime.date.fromisoformat(start) + relativedelta(months=int(months))]
    print(" ".join(str(date.toordinal() - EPOCH) for date in dates))
