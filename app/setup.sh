# Sourced by app/run and tests/run: packages, configure, build. Idempotent; says nothing when nothing changed.
# Expects ROOT to be the checkout. Sets BUILD.

# One line per purpose, so that a missing package is easy to see. All are in Debian 12.
FW_PACKAGES="
g++ cmake ninja-build lld-19 pkg-config
llvm-19-dev libzstd-dev libedit-dev libxml2-dev zlib1g-dev
qt6-base-dev qt6-svg-dev qt6-charts-dev libqt6opengl6-dev libgl1-mesa-dev libxkbcommon-dev qt6-qpa-plugins
libdnnl-dev libsleef-dev
nlohmann-json3-dev libfmt-dev libspdlog-dev libcli11-dev libboost-dev libboost-graph-dev
libgtest-dev libgmock-dev libbenchmark-dev
opencl-headers ocl-icd-opencl-dev pocl-opencl-icd
graphviz fonts-inter fonts-jetbrains-mono
python3
"
BUILD="$ROOT/build/release"

fw_install_packages() {
    local missing="" p
    for p in $FW_PACKAGES; do
        dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || missing="$missing $p"
    done
    [ -z "$missing" ] && return 0
    echo "installing:$missing" >&2
    local sudo=""
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { echo "these packages are missing and sudo is not there; as root run: apt-get install$missing" >&2; return 1; }
        sudo=sudo
    fi
    export DEBIAN_FRONTEND=noninteractive
    # The package lists may be old or absent on a fresh machine.
    $sudo apt-get install -y --no-install-recommends $missing >"$ROOT/build/apt.log" 2>&1 ||
        { $sudo apt-get update >"$ROOT/build/apt.log" 2>&1 && $sudo apt-get install -y --no-install-recommends $missing >>"$ROOT/build/apt.log" 2>&1; } ||
        { tail -n 20 "$ROOT/build/apt.log" >&2; echo "packages could not be installed; see build/apt.log" >&2; return 1; }
}

# fw_build TARGETS...: quiet unless something is compiled or fails.
fw_build() {
    if [ ! -f "$BUILD/build.ninja" ]; then
        echo "configuring" >&2
        cmake -S "$ROOT" --preset release >"$ROOT/build/configure.log" 2>&1 || { tail -n 30 "$ROOT/build/configure.log" >&2; return 1; }
    fi
    local pending
    pending=$(ninja -C "$BUILD" -n "$@" 2>/dev/null | grep -c '^\[' || true)
    [ "$pending" -gt 0 ] && echo "building ($pending steps, on $(nproc) cores)" >&2
    ninja -C "$BUILD" "$@" >"$ROOT/build/build.log" 2>&1 || { grep -E "error|FAILED" -A3 "$ROOT/build/build.log" | head -n 60 >&2; echo "the build failed; see build/build.log" >&2; return 1; }
}
