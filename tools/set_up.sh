# Sourced by tools/gangsim, tools/test and tools/format: installs what is missing and builds.
#
# When nothing has changed since the last time, all of this takes a few milliseconds: stamps in the
# build tree are compared with the package database and the sources, and no other tool is started.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
packages_file=$root/tools/packages.txt

say() { printf 'gangsim: %s\n' "$*" >&2; }

fail_environment() {
  say "$*"
  exit 3
}

# show_usage_if_asked ARGS...: if they begin with --help, prints the comment at the beginning of the
# script, and that is all.
show_usage_if_asked() {
  [[ ${1-} == -h || ${1-} == --help ]] || return 0
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
  exit 0
}

# use_preset NAME: the build tree that the functions below work in.
use_preset() {
  preset=$1
  build=$root/build/$preset
  mkdir -p "$build" 2>/dev/null || fail_environment "cannot write the build tree $build"
}

# install_packages SCOPE...: apt-get for the packages of these scopes that are not installed.
install_packages() {
  local stamp database=/var/lib/dpkg/status
  stamp=$root/build/.packages_$(IFS=_ && echo "$*")
  if [[ $stamp -nt $database && $stamp -nt $packages_file ]]; then
    return
  fi
  mkdir -p "$root/build" 2>/dev/null || fail_environment "cannot write the build tree $root/build"
  if ! command -v dpkg-query >/dev/null; then
    say "this is not Debian: continuing without installing packages (tools/packages.txt)"
    touch "$stamp"
    return
  fi

  local installed missing=() reasons=() scope package reason
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
  while read -r scope package reason; do
    if [[ " $* " == *" $scope "* ]] && ! grep -qxF -- "$package" <<<"$installed"; then
      missing+=("$package")
      reasons+=("$(printf '%-22s %s' "$package" "$reason")")
    fi
  done <"$packages_file"

  if ((${#missing[@]})); then
    run_apt_get "${missing[@]}"
  fi
  touch "$stamp"
}

# run_apt_get PACKAGE...: prints what and why (`reasons` of the caller), then installs.
run_apt_get() {
  local log=$root/build/packages.log as_root=() step
  say "installing ${#missing[@]} Debian packages with apt-get:"
  printf '  %s\n' "${reasons[@]}" >&2
  command -v apt-get >/dev/null || fail_environment "apt-get not found; install by hand: $*"
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null ||
      fail_environment "not root, and sudo not found; install by hand: $*"
    as_root=(sudo)
    [[ -t 0 ]] || as_root=(sudo -n)
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive
    apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  : >"$log"
  for step in "update" "install --no-install-recommends $*"; do
    # shellcheck disable=SC2086  # A step is several words.
    if ! "${as_root[@]}" $step >>"$log" 2>&1 </dev/null; then
      [[ $step == update ]] && continue  # The lists may be recent enough; install will tell.
      tail -n 20 "$log" >&2
      fail_environment "apt-get could not install: $* (log: $log)"
    fi
  done
}

# build_targets TARGET...: brings them up to date; starts nothing if they already are.
build_targets() {
  local stamp
  stamp=$build/.built_$(IFS=_ && echo "$*")
  if is_up_to_date "$build/.built_all" || is_up_to_date "$stamp"; then
    return
  fi
  # One build at a time per tree; a process that had to wait finds it built.
  exec 8>"$build/.lock"
  flock 8
  if ! is_up_to_date "$stamp"; then
    local log=$build/build.log started
    started=$(mktemp "$build/.started.XXXXXX") || fail_environment "cannot write $build"
    if ! run_build "$log" "$@"; then
      rm -f "$started"
      cat "$log" >&2
      fail_environment "the build failed, see above (log: $log)"
    fi
    # Dated at the start of the build, so that an edit made during it is seen next time.
    mv "$started" "$stamp"
  fi
  flock -u 8
  exec 8>&-
}

# Whether nothing that the build reads has changed since the stamp was made.
is_up_to_date() {
  local stamp=$1 sources=(CMakeLists.txt CMakePresets.json gang sim harness properties tools)
  [[ -e $stamp && -e $build/build.ninja && $stamp -nt $packages_file ]] || return 1
  if [[ $stamp == *_all ]]; then
    sources+=(tests)
  fi
  # New packages may change what CMake finds.
  [[ -z $(find "$root/build" -maxdepth 1 -name '.packages_*' -newer "$stamp" -print -quit) ]] &&
    [[ -z $(cd "$root" && find "${sources[@]}" -cnewer "$stamp" -print -quit) ]]
}

# progress_of LOG SECONDS: how far a build is, from the last "[12/34] ..." of its log.
progress_of() {
  local done=0 all=0 step='s|^\[\([0-9]*\)/\([0-9]*\)\].*|\1 \2|p'
  read -r done all < <(tail -n 50 "$1" | sed -n "$step" | tail -n 1)
  if ((all)); then
    printf 'building: %d of %d steps (%d %%), %d:%02d min' \
      "$done" "$all" $((100 * done / all)) $(($2 / 60)) $(($2 % 60))
  else
    printf 'building: preparing, %d:%02d min' $(($2 / 60)) $(($2 % 60))
  fi
}

# run_build LOG TARGET...: configures if necessary and builds; reports only a build that takes long.
run_build() {
  local log=$1 pid ticks=0
  shift
  (
    cd "$root" || exit 1
    rules=$build/build.ninja
    # New packages may change what CMake finds.
    if [[ ! -e $rules || -n $(find "$root/build" -maxdepth 1 -name '.packages_*' -newer "$rules") ]]
    then
      cmake --preset "$preset" || exit 1
    fi
    cmake --build --preset "$preset" --target "$@"
  ) >"$log" 2>&1 </dev/null 8>&- &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    if ((ticks == 20)); then
      say "building ${preset} (log: ${log#"$root"/}) ..."
    elif ((ticks > 20)) && [[ -t 2 ]]; then
      printf '\r\033[K%s' "$(progress_of "$log" $((ticks / 10)))" >&2
    elif ((ticks % 600 == 599)); then
      say "$(progress_of "$log" $((ticks / 10)))"
    fi
    sleep 0.1
    ticks=$((ticks + 1))
  done
  if ((ticks > 20)) && [[ -t 2 ]]; then
    printf '\r\033[K' >&2
  fi
  wait "$pid"
}
