#!/bin/sh
# Fails unless the options that `npyfs --help` and its verbs' --help show are those that man/npyfs.1 lists,
# and the shell completions know every one; or if the overview of the verbs lacks one that a verb's usage has.
#
#   scripts/check_help.sh BINARY
set -eu
binary=$1
root=$(dirname "$0")/..
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# An option opens a line, or follows another one there: "  -f,--foreground", "  --views LIST".
{
  "$binary" --help
  for verb in mount umount ls info cat extract; do
    "$binary" "$verb" --help
  done
} | grep -E '^[[:space:]]+-' | grep -oE '(^[[:space:]]+|[ ,])--?[a-zA-Z][a-z0-9-]*' | tr -d ' ,' | sort -u > "$scratch/help"

# Likewise in the page: what its list items give with Fl, `.It Fl -views Ar list`, `.It Fl f , Fl -foreground`.
grep -E '^\.It .*Fl ' "$root/man/npyfs.1" | grep -oE 'Fl -?[a-zA-Z][a-z0-9-]*' | sed 's/^Fl /-/' | sort -u > "$scratch/man"

failed=0
if ! diff "$scratch/help" "$scratch/man" > "$scratch/difference"; then
  echo "options in --help (<) and in man/npyfs.1 (>) differ:" >&2
  grep '^[<>]' "$scratch/difference" >&2
  failed=1
fi
for file in npyfs _npyfs; do
  grep -E '^--' "$scratch/help" > "$scratch/long" || true
  while read -r option; do
    if ! grep -qE -- "$option([^a-z-]|\$)" "$root/scripts/completions/$file"; then
      echo "scripts/completions/$file does not know $option" >&2
      failed=1
    fi
  done < "$scratch/long"
done
# What a verb's own usage line shows, the overview of all verbs shows too.
"$binary" --help > "$scratch/overview"
for verb in mount umount ls info cat extract; do
  "$binary" "$verb" --help | sed -n 1p | grep -oE '\[-[^]]*' | tr -d '[' > "$scratch/usage" || true
  while read -r option; do
    if ! grep -E "npyfs $verb " "$scratch/overview" | grep -qE -- "[[ ]$option([] ]|\$)"; then
      echo "$binary --help shows $verb without $option" >&2
      failed=1
    fi
  done < "$scratch/usage"
done
if [ ! -s "$scratch/help" ]; then
  echo "$binary --help shows no option" >&2
  failed=1
fi
exit $failed
