#!/bin/sh
# Fails if a file includes a header of a layer that its own layer may not use: an include only ever
# points left in  base <- source <- format <- tree <- fuse <- cli, and fuse parses no format.
#
#   scripts/check_layers.sh [ROOT]
#   scripts/check_layers.sh --self-test    fails if a wrong include would go unnoticed
set -eu

may_use() {
  case $1 in
    base)   echo "base" ;;
    source) echo "base source" ;;
    format) echo "base source format" ;;
    tree)   echo "base source format tree" ;;
    fuse)   echo "base source tree fuse" ;;
    cli)    echo "base source format tree fuse cli" ;;
  esac
}

# Prints each wrong include under ROOT; succeeds if there is none.
check() {
  wrong=0
  for layer in base source format tree fuse cli; do
    for folder in "$1/src/$layer" "$1/include/npyfs/$layer"; do
      [ -d "$folder" ] || continue
      # "npyfs/tree/x.h" from include/, "tree/x.h" from src/: both name the layer before the file.
      used=$(grep -rhoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<](npyfs/)?(base|source|format|tree|fuse|cli)/[^">]*' "$folder" |
        sed -E 's/.*["<](npyfs\/)?//; s/\/.*//' | sort -u)
      for other in $used; do
        case " $(may_use "$layer") " in
          *" $other "*) ;;
          *)
            wrong=1
            echo "$layer must not include $other/:" >&2
            grep -rnE "include[[:space:]]*[\"<](npyfs/)?$other/" "$folder" >&2
            ;;
        esac
      done
    done
  done
  return $wrong
}

# A tree of one file $2 that includes $3 must be judged as $1 says.
expect() {
  scratch=$(mktemp -d)
  mkdir -p "$scratch/$(dirname "$2")"
  echo "#include \"$3\"" > "$scratch/$2"
  verdict=accepted
  check "$scratch" 2>/dev/null || verdict=refused
  rm -r "$scratch"
  if [ "$verdict" != "$1" ]; then
    echo "check_layers.sh: $2 with #include \"$3\" was $verdict, must be $1" >&2
    exit 1
  fi
}

if [ "${1:-}" = --self-test ]; then
  expect accepted src/source/file.cc npyfs/base/fd.h
  expect accepted src/cli/ls.cc npyfs/format/array.h
  expect accepted src/tree/views.cc string_view
  expect refused src/base/fd.cc npyfs/source/source.h
  expect refused include/npyfs/base/fd.h npyfs/source/source.h
  expect refused src/format/npz.cc npyfs/tree/catalog.h
  expect refused src/fuse/operations.cc npyfs/format/npy_header.h
  expect refused src/tree/nodes.cc fuse/session.h
  exit 0
fi
check "${1:-$(dirname "$0")/..}"
