# Sourced by site/serve and tests/run: installs what is missing and builds. Run from the root of the checkout.
# Debian packages come by apt, everything else by npm. Nothing asks a question.

export CI=true DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 npm_config_yes=true
# A second checkout, elsewhere, finds the first one's objects.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true
logs=build/logs
mkdir -p "$logs"
jobs=$(nproc 2>/dev/null || echo 2)
system_path=$PATH

say() { printf '%s\n' "$*"; }

# quietly NAME COMMAND...: output goes to build/logs/NAME.log, and its end to the terminal if the command fails.
quietly() {
  local log="$logs/$1.log"
  shift
  if "$@" >"$log" 2>&1 </dev/null; then return 0; fi
  say "--- failed: $*" && tail -n 60 "$log" && say "--- the whole of it: $log"
  return 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo --preserve-env=DEBIAN_FRONTEND "$@"; fi
}

# need PROGRAM_OR_FILE PACKAGE...: remembers the packages where it is absent. `*` in a file name is allowed.
wanted=()
need() {
  local probe=$1
  shift
  case $probe in
    /*) compgen -G "$probe" >/dev/null && return ;;
    *) command -v "$probe" >/dev/null && return ;;
  esac
  wanted+=("$@")
}

# Waits for another apt, refreshes the lists, installs.
install_wanted() {
  [ ${#wanted[@]} = 0 ] && return 0
  say "installing by apt: ${wanted[*]}"
  quietly apt-update as_root apt-get -o DPkg::Lock::Timeout=300 update || true
  quietly apt-install as_root apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${wanted[@]}" || return 1
  wanted=()
  hash -r
}

need_build_tools() {
  need /etc/ssl/certs/ca-certificates.crt ca-certificates
  need g++ g++
  need cmake cmake
  need ninja ninja-build
  need /usr/include/nlohmann/json.hpp nlohmann-json3-dev
  need /usr/include/catch2/catch*.hpp catch2
  need emcc emscripten
  need node nodejs
  need npm npm
  need git git
  need ccache ccache
}

node_is_new_enough() {
  command -v node >/dev/null && node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null
}

# The page's tools need Node 20.19 or 22.12. Debian 12 has 18: then Node and npm come as npm packages into the build folder.
prepare_node() {
  local folder=$PWD/build/node
  [ -x "$folder/bin/node" ] && PATH=$folder/bin:$system_path
  if ! node_is_new_enough; then
    local machine
    case $(uname -m) in aarch64 | arm64) machine=arm64 ;; *) machine=x64 ;; esac
    say "taking Node 22 from npm into build/node (here: $(node --version))"
    mkdir -p "$folder/bin"
    PATH=$system_path quietly npm-node npm install --no-save --no-package-lock --prefix "$folder" \
      "node-linux-$machine@22" npm@10 || return 1
    ln -sf "../node_modules/node-linux-$machine/bin/node" "$folder/bin/node"
    ln -sf ../node_modules/npm/bin/npm-cli.js "$folder/bin/npm"
    ln -sf ../node_modules/npm/bin/npx-cli.js "$folder/bin/npx"
    PATH=$folder/bin:$system_path
  fi
  export PATH
  hash -r
  node_is_new_enough || { say "Node $(node --version) is too old for the page's tools"; return 1; }
}

# npm ci in web/, unless the lockfile is the one installed last.
prepare_web() {
  local stamp=web/node_modules/.installed
  [ -f web/package-lock.json ] || return 1
  cmp -s web/package-lock.json "$stamp" && return 0
  say "installing the page's tools by npm"
  quietly npm-ci npm ci --prefix web --ignore-scripts --no-audit --no-fund && cp web/package-lock.json "$stamp"
}

# build PRESET [cmake --build arguments]: configures when needed and builds.
build() {
  local preset=$1 folder=build/${1#ci-}
  shift
  # A build folder made by another preset, or by another checkout, starts afresh.
  if [ -f "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt"; then
    rm -rf "$folder"
  fi
  quietly "configure-$preset" cmake --preset "$preset" &&
    quietly "build-$preset" cmake --build "$folder" -j "$jobs" "$@"
}

build_page() {
  quietly build-page npm run --prefix web build
}
