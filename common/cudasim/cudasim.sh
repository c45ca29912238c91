#!/bin/sh
# Runs CUDA programs on the CPU and says what a GPU would have suffered from. The Makefile installs this as build/cudasim.
#   cudasim run FILE.cu [options] [-- arguments of the program]
#   cudasim compile FILE.cu -o PROGRAM [options]     then: CUDASIM=check PROGRAM
# Options:
#   --card h200|a100|rtx4090|t4   whose limits count (h200)
#   --seed N                      shuffles blocks, warps and threads between barriers; 0: in their order
#   --limit SECONDS               how long a thread may run without coming to a barrier (10)
#   --json                        the report as JSON, on standard output behind the program's own
#   --fast                        no diagnosis: on all cores, only the program's output
#   -I, -D, -l, -L...             for the compiler
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source_dir=@SOURCE@
usage() { sed -n '2,12s/^# \{0,1\}//p' "$0"; }
die() { echo "cudasim: $*" >&2; exit 2; }

[ $# -gt 0 ] || { usage >&2; exit 2; }
command=$1
shift
case $command in run | compile) ;; help | --help | -h) usage; exit 0 ;; *) die "there is no command '$command'; run or compile" ;; esac
file= out= flags= mode=check report=text
while [ $# -gt 0 ]; do
    case $1 in
    --) shift; break ;;
    --card | --seed | --limit | -o) [ $# -gt 1 ] || die "$1 needs a value" ;;
    esac
    case $1 in
    --card) export CUDASIM_CARD="$2"; shift ;;
    --seed) export CUDASIM_SEED="$2"; shift ;;
    --limit) export CUDASIM_LIMIT="$2"; shift ;;
    -o) out=$2; shift ;;
    --json) report=json ;;
    --fast) mode=fast report=quiet ;;
    -[IDlLW]*) flags="$flags $1" ;;
    -*) die "there is no option '$1'; see cudasim help" ;;
    *) [ -z "$file" ] || die "one file at a time: '$file' and '$1'; arguments of the program come behind --"
       file=$1 ;;
    esac
    shift
done
[ -n "$file" ] || die "which file? see cudasim help"
[ -r "$file" ] || die "can't read $file"
[ "$command" = run ] || [ -n "$out" ] || die "compile needs -o PROGRAM"

# check: every load and store calls the diagnosis; fast: none does
sanitize="-O1 -fno-tree-sra -fno-unroll-loops -fsanitize=thread --param tsan-instrument-func-entry-exit=0 --param tsan-distinguish-volatile=1"
[ $mode = check ] || sanitize=-O2
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
program=${out:-$work/program}
cxx="${CXX:-g++} -std=c++17 -g -w -ffp-contract=on $sanitize"
$cxx -E -x c++ -include cuda_runtime.h -D__CUDACC__ -D__CUDASIM__ -I "$source_dir/include" -I "$(dirname "$file")" $flags "$file" >"$work/source.ii" || exit 1
"$here/cudasim_translate" <"$work/source.ii" >"$work/translated.ii" || exit 1
$cxx -fpreprocessed -x c++ -c -o "$work/program.o" "$work/translated.ii" || exit 1
${CXX:-g++} -o "$program" "$work/program.o" "$here/libcudasim.a" $flags -llapacke -lopenblas -fopenmp -ldl || exit 1
[ "$command" = run ] || exit 0
export CUDASIM=$mode CUDASIM_REPORT=$report
if [ $report = json ]; then
    code=0
    CUDASIM_OUTPUT="$work/report" "$program" "$@" || code=$?
    [ ! -e "$work/report" ] || cat "$work/report"
    exit $code
fi
"$program" "$@"
