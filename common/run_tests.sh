#!/bin/sh
# Runs every test program it is given and ends with one line: N passed, N failed, N skipped.
# A program that crashes, or ends without having run a test, counts as one failure.
passed=0 failed=0 skipped=0
# Allocations too large are tested: under a sanitizer too they must fail, not end the program.
export ASAN_OPTIONS="allocator_may_return_null=1:${ASAN_OPTIONS:-}"
# CUDA code that was built without nvcc runs on the simulator, diagnosed; a finding ends the program with exit code 3. A GPU's code takes no notice. Of each
# kernel 100 launches are diagnosed in each program, then one in 20: loops over columns launch the same kernel thousands of times.
export CUDASIM="${CUDASIM:-check}" CUDASIM_SAMPLE="${CUDASIM_SAMPLE:-100}"
log=$(mktemp) && trap 'rm -f "$log"' EXIT
for t; do
    name=${t#*/} name=${name%.test}
    start=$(date +%s)
    timeout 600 "$t" >"$log" 2>&1
    code=$?
    p=$(grep -c '^\[       OK \]' "$log")
    # cmocka names each failed and skipped test again in its summary
    f=$(sed -n 's/^\[  FAILED  \] \([a-z_0-9]*\)$/\1/p' "$log" | sort -u | grep -c .)
    s=$(sed -n 's/^\[  SKIPPED \] \([a-z_0-9]*\)$/\1/p' "$log" | sort -u | grep -c .)
    if [ $code -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    if [ $((p + f + s)) -eq 0 ]; then f=1; fi
    printf '%-44s %3d passed %3d failed %3d skipped  %3d s\n' "$name" "$p" "$f" "$s" $(($(date +%s) - start))
    if [ "$f" -gt 0 ]; then
        sed 's/^/    /' "$log"
        case $code in 124) echo "    stopped after 600 s" ;; 0) ;; *) echo "    exit code $code" ;; esac
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
