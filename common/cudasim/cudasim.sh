#!/bin/bash
# Runs CUDA programs on the CPU and says what a GPU would have suffered from. The Makefile installs this as build/cudasim.
#   cudasim run FILE.cu [options] [-- arguments of the program]
#   cudasim compile FILE.cu [MORE.cu OBJECT.o ...] -o PROGRAM [options]     then: CUDASIM=check PROGRAM
#   cudasim compile -c FILE.cu -o OBJECT.o [options]
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
usage() { sed -n '2,13s/^# \{0,1\}//p' "$0"; }
die() { echo "cudasim: $*" >&2; exit 2; }

[ $# -gt 0 ] || { usage >&2; exit 2; }
command=$1
shift
case $command in run | compile) ;; help | --help | -h) usage; exit 0 ;; *) die "there is no command '$command'; run or compile" ;; esac
files=() objects=() flags=() out= mode=check report=text link=yes
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
    -c) link=no ;;
    -[IDlLW]*) flags+=("$1") ;;
    -*) die "there is no option '$1'; see cudasim help" ;;
    *) [ "$command" = compile ] || [ ${#files[@]} = 0 ] || die "one file at a time: '${files[0]}' and '$1'; arguments of the program come behind --"
       case $1 in *.o) objects+=("$1") ;; *) files+=("$1") ;; esac ;;
    esac
    shift
done
[ ${#files[@]} -gt 0 ] || die "which file? see cudasim help"
for file in "${files[@]}" "${objects[@]}"; do [ -r "$file" ] || die "can't read $file"; done
[ "$command" = run ] || [ -n "$out" ] || die "compile needs -o"
[ $link = yes ] || [ ${#files[@]} = 1 ] || die "compile -c takes one file"

# check: every load and store calls the diagnosis; fast: none does
sanitize="-O1 -fno-tree-sra -fno-unroll-loops -fsanitize=thread --param tsan-instrument-func-entry-exit=0 --param tsan-distinguish-volatile=1"
[ $mode = check ] || sanitize=-O2
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
program=${out:-$work/program}
cxx="${CXX:-g++} -std=c++17 -g -w -ffp-contract=on $sanitize"
compile() {   # FILE OBJECT
    $cxx -E -x c++ -include cuda_runtime.h -D__CUDACC__ -D__CUDASIM__ -I "$source_dir/include" -I "$(dirname "$1")" "${flags[@]}" "$1" >"$work/source.ii" &&
        "$here/cudasim_translate" <"$work/source.ii" >"$work/translated.ii" &&
        $cxx -fpreprocessed -x c++ -c -o "$2" "$work/translated.ii"
}
if [ $link = no ]; then
    compile "${files[0]}" "$out" || exit 1
    exit 0
fi
for file in "${files[@]}"; do
    compile "$file" "$work/${#objects[@]}.o" || exit 1
    objects+=("$work/${#objects[@]}.o")
done
${CXX:-g++} -o "$program" "${objects[@]}" "$here/libcudasim.a" "${flags[@]}" -llapacke -lopenblas -fopenmp -ldl || exit 1
[ "$command" = run ] || exit 0
export CUDASIM=$mode CUDASIM_REPORT=$report
if [ $report = json ]; then
    code=0
    CUDASIM_OUTPUT="$work/report" "$program" "$@" || code=$?
    [ ! -e "$work/report" ] || cat "$work/report"
    exit $code
fi
"$program" "$@"
