# Parts of a long check: what each will take is said first, each runs whatever became of the others,
# and the end is a summary and a status.
#
# A script that reads this file defines parts_all, which calls `part SECONDS TITLE COMMAND...` for
# each part, and then calls parts_run NAME FOLDER. SECONDS is a guess for two cores; where the folder
# holds what the part took here last time, with the same title, that is said instead.

parts_began=$(date +%s)

# Seconds as people say them.
parts_words() {
  if [ "$1" -ge 5400 ]; then
    printf '%d h %d min' "$(($1 / 3600))" "$(($1 % 3600 / 60))"
  elif [ "$1" -ge 90 ]; then
    printf '%d min' "$((($1 + 30) / 60))"
  else
    printf '%d s' "$1"
  fi
}

# What a part took here last time; nothing where it has not run to its end yet.
parts_known() {
  [ -f "$parts_times" ] || return 0
  awk -F '\t' -v title="$1" '$2 == title && $1 ~ /^[0-9]+$/ { seconds = $1 } END { print seconds }' \
    "$parts_times"
}

part() {
  parts_guess=$1
  parts_title=$2
  shift 2
  parts_number=$((parts_number + 1))
  if [ "$parts_mode" = announce ]; then
    parts_last=$(parts_known "$parts_title")
    parts_total=$((parts_total + ${parts_last:-$parts_guess}))
    printf '  %2d  %-13s %s\n' "$parts_number" \
      "${parts_last:+}$([ -n "$parts_last" ] || printf 'about ')$(parts_words \
        "${parts_last:-$parts_guess}")" "$parts_title"
    return 0
  fi
  parts_start=$(date +%s)
  printf '\n--- %d of %d: %s (%s so far)\n' "$parts_number" "$parts_count" "$parts_title" \
    "$(parts_words "$((parts_start - parts_began))")"
  parts_status=0
  "$@" || parts_status=$?
  parts_took=$(($(date +%s) - parts_start))
  if [ "$parts_status" -eq 0 ]; then
    parts_verdict=good
    # The last word about a part counts; what failed may have ended early.
    printf '%d\t%s\n' "$parts_took" "$parts_title" >>"$parts_times"
  else
    parts_verdict="FAILED ($parts_status)"
    parts_failed=$((parts_failed + 1))
    printf -- '--- %s: FAILED with status %d; the other parts follow\n' "$parts_title" \
      "$parts_status"
  fi
  parts_summary="$parts_summary$(printf '  %-12s %-13s %s' "$parts_verdict" \
    "$(parts_words "$parts_took")" "$parts_title")
"
}

# parts_run NAME FOLDER: says what comes, does it, sums it up; fails where a part did.
parts_run() {
  mkdir -p "$2"
  parts_times=$2/$1-times
  parts_mode=announce parts_number=0 parts_total=0
  printf '%s does, one after another:\n' "$1"
  parts_all
  parts_count=$parts_number
  printf '  in all about %s; parts without "about" by what they took here last time\n' \
    "$(parts_words "$parts_total")"
  [ "${PARTS_LIST:-}" != 1 ] || return 0
  parts_mode=run parts_number=0 parts_failed=0 parts_summary=
  parts_all
  printf '\n--- %s, %s:\n%s' "$1" "$(parts_words "$(($(date +%s) - parts_began))")" \
    "$parts_summary"
  if [ "$parts_failed" -gt 0 ]; then
    printf -- '--- %d of %d parts failed\n' "$parts_failed" "$parts_count"
    return 1
  fi
  printf -- '--- all %d parts are good\n' "$parts_count"
}
