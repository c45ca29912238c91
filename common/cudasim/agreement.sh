#!/usr/bin/env bash
# What NVIDIA's tools say of the corpus and of the programs on a GPU, for the tables in README.md: agreement.sh FOLDER, from the project's root.
# Writes programs.txt (what each printed, beside what it promises), sanitizer.txt (each entry under each of compute-sanitizer's tools: its lines of errors)
# and ncu.csv (Nsight Compute's counters of each kernel). Needs nvcc, compute-sanitizer and ncu.
set -u
out=${1:?agreement.sh FOLDER} work=$(mktemp -d)
here=$(dirname "$0") arch=${ARCH:-native}
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/log"
# A kernel that never ends tells nothing under the tools: they wait too.
never_ends='endless_loop|spins_on_another_thread'
# Entries that end at a refused launch have no kernel to count.
counted='strided_load|right_rows|right_shifted|strided_store|column_of_a_tile|right_padded_tile|right_doubles|right_broadcast|contended_atomic|right_own_counters'
counters=l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
counters+=,l1tex__t_requests_pipe_lsu_mem_global_op_st.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
counters+=,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
counters+=,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
counters+=,smsp__inst_executed_op_shared_ld.sum,smsp__inst_executed_op_shared_st.sum

build() { nvcc -std=c++17 -O2 -lineinfo -arch="$arch" -o "$work/$(basename "$1" .cu)" "$1" 2>&1 | grep -v warning >"$work/log/build.$(basename "$1")"; }
export -f build; export work arch
ls "$here"/corpus/*.cu "$here"/programs/*.cu | xargs -P "$(nproc)" -I{} bash -c 'build {}'

for f in "$here"/programs/*.cu; do
    name=$(basename "$f" .cu) promise=$(sed -n 's|^// prints: ||p' "$f")
    printed=$(timeout 60 "$work/$name" 2>&1)
    if [ "$printed" = "$promise" ]; then echo "$name: equal: $printed"; else echo "$name: DIFFERENT: printed '$printed', promised '$promise'"; fi
done >"$out/programs.txt"

# One line an error: what it is and where; the same one of many threads once.
sanitize()
{
    local file=$1 entry=$2 tool=$3 options=
    [ "$tool" = memcheck ] && options='--leak-check full'
    timeout -s KILL 60 compute-sanitizer --tool "$tool" $options --print-limit 20 "$work/$file" "$entry" >"$work/log/$file.$entry.$tool" 2>&1
    local code=$?
    { echo "== $file $entry $tool (exit code $code)"
      grep '^=========' "$work/log/$file.$entry.$tool" | grep -Ev 'COMPUTE-SANITIZER|Saved host|Host Frame|Device Frame: main|^========= *$' |
          sed 's/(0x[0-9a-f]*)//g; s/0x[0-9a-f]*/ADDRESS/g; s/([0-9]*,[0-9]*,[0-9]*)/(..)/g; s/^========= *//; s/+ADDRESS//g; s|/[^ ]*/corpus/|corpus/|g' |
          sort | uniq -c | sort -rn | head -24
    } >"$work/log/sorted.$file.$entry.$tool"
}
export -f sanitize
for f in "$here"/corpus/*.cu; do
    name=$(basename "$f" .cu)
    for entry in $("$work/$name" | grep -Ev "^($never_ends)$"); do
        for tool in memcheck racecheck initcheck synccheck; do echo "$name $entry $tool"; done
    done
done >"$work/jobs"
xargs -P 12 -L 1 bash -c 'sanitize "$@"' _ <"$work/jobs"
while read -r name entry tool; do cat "$work/log/sorted.$name.$entry.$tool"; done <"$work/jobs" >"$out/sanitizer.txt"

count() { timeout 60 ncu --csv --clock-control none --metrics "$counters" "$@" 2>/dev/null | grep '^"' | sed "s|^|\"$*\",|; s|$work/||g"; }
{
    for entry in $("$work/launches" | grep -E "^($counted)$"); do count "$work/launches" "$entry"; done
    for name in transpose matrix_tiles reductions histogram stencil softmax layer_norm convolution nbody scan bitonic_sort spmv warp_votes; do count "$work/$name"; done
} >"$out/ncu.csv"
