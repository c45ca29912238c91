#!/bin/sh
# What the build needs from the system, and how to get it. Usage: deps.sh CC [NVCC]; DEPS=skip does nothing.
# As root, or with a sudo that asks for no password, missing Debian packages are installed, after saying which and why;
# otherwise the one command to run is printed.
set -u
cc=$1 nvcc=${2:-}
[ "${DEPS:-}" = skip ] && exit 0

has_header() { printf '#include <%s>\n' "$1" | $cc -E -o /dev/null - 2>/dev/null; }
required= optional= why=
need() { required="$required $1" why="$why
  $1: $2"; }
wish() { optional="$optional $1" why="$why
  $1: $2 (goes on without)"; }

command -v "${cc%% *}" >/dev/null || { echo "deps: there is no C compiler '$cc'; install gcc, or name one: make CC=..." >&2; exit 2; }
has_header stdlib.h || need libc6-dev "the C library's headers"
# The reference BLAS has a cblas.h too.
printf '#include <cblas.h>\n' | $cc -E - 2>/dev/null | grep -q openblas_get_config ||
    need libopenblas-dev "linear algebra on the CPU, and the reference for it"
has_header lapacke.h || need liblapacke-dev "Cholesky on the CPU"
has_header cjson/cJSON.h || need libcjson-dev "results files"
has_header csv.h || need libcsv-dev "data in CSV files"
has_header nlopt.h || need libnlopt-dev "training: bounded quasi-Newton"
has_header Random123/philox.h || need librandom123-dev "reproducible random inputs"
has_header cmocka.h || need libcmocka-dev "the tests"
command -v g++ >/dev/null || need g++ "CUDA code: nvcc's host compiler, or that of the simulator"
command -v gnuplot >/dev/null || wish gnuplot-nox "the plots of the report"
command -v python3 >/dev/null || wish python3 "approaches written in Python"
packages=$(echo $required $optional)
[ -z "$packages" ] && exit 0

echo "Missing on this machine:$why"
if ! command -v apt-get >/dev/null; then
    echo "This system has no apt-get: install what these Debian packages hold, then run make again: $packages"
elif [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then
    as_root=; [ "$(id -u)" = 0 ] || as_root=sudo
    echo "Installing them with apt-get (DEPS=skip turns this off) ..."
    if $as_root apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $packages >/dev/null; then exit 0; fi
    echo "apt-get failed; its messages are above."
else
    echo "Run:  sudo apt-get install $packages"
fi
[ -z "$required" ] || { echo "Then run make again." >&2; exit 2; }
