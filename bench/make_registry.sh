#!/bin/sh
# Turns lists of files into the generated tables. Usage: make_registry.sh BUILD FILE...
# lessons/05_reduction/cuda_2_shared.cu must define `reduction_cuda_2_shared`, bench/device_cuda.cu `bench_device_cuda`,
# gp/cuda_naive.cu `gp_backend_cuda_naive`, lessons/05_reduction/exercise/sum_check.c `exercise_sum`; a wrong name is a link error that says the right one.
set -eu
out=$1
shift

folder() { d=${1%/*}; d=${d##*/}; echo "${d#[0-9][0-9]_}"; }
problem() { echo "$(folder "$1")_problem"; }
stem() { b=${1##*/}; echo "${b%.*}"; }

{
    for f; do
        case $f in
        lessons/*/exercise/*) ;;
        lessons/*/problem.c) echo "extern const Problem $(problem "$f");" ;;
        lessons/*.py) ;;
        lessons/*) echo "extern const Approach $(folder "$f")_$(stem "$f");" ;;
        esac
    done
} > "$out/registry.h"

{
    echo '#include "bench/bench.h"'
    echo '#include "bench/device.h"'
    echo '#include "bench/worker.h"'
    echo 'const Registered registry[] = {'
    for f; do
        case $f in
        lessons/*/problem.c | lessons/*/exercise/*) ;;
        lessons/*.py) echo "    { \"$(folder "$f")\", \"$f\", &$(problem "$f"), &bench_worker }," ;;
        lessons/*) echo "    { \"$(folder "$f")\", \"$f\", &$(problem "$f"), &$(folder "$f")_$(stem "$f") }," ;;
        esac
    done
    echo '};'
    echo 'const size_t registry_size = sizeof registry / sizeof *registry;'
    for f; do
        case $f in bench/device_*) echo "extern const Device bench_$(stem "$f");" ;; esac
    done
    echo 'const RegisteredDevice devices[] = {'
    for f; do
        case $f in bench/device_*) d=$(stem "$f"); echo "    { \"${d#device_}\", &bench_$d }," ;; esac
    done
    echo '};'
    echo 'const size_t devices_size = sizeof devices / sizeof *devices;'
} > "$out/registry.c"

{
    echo '#include "gp/backend.h"'
    for f; do
        case $f in gp/*) echo "extern const GpBackend gp_backend_$(stem "$f");" ;; esac
    done
    echo 'const GpRegisteredBackend gp_backends[] = {'
    for f; do
        case $f in gp/*) s=$(stem "$f"); echo "    { \"${s%%_*}/${s#*_}\", &gp_backend_$s }," ;; esac
    done
    echo '};'
    echo 'const size_t gp_backends_size = sizeof gp_backends / sizeof *gp_backends;'
} > "$out/gp_backends.c"

exercise() { e=$(stem "$1"); echo "${e%_check}"; }
{
    echo '#include "lessons/learn/course.h"'
    for f; do
        case $f in lessons/*/exercise/*) echo "extern const Exercise exercise_$(exercise "$f");" ;; esac
    done
    echo 'const RegisteredExercise registered_exercises[] = {'
    for f; do
        case $f in lessons/*/exercise/*) echo "    { \"$(exercise "$f")\", &exercise_$(exercise "$f") }," ;; esac
    done
    echo '};'
    echo 'const size_t registered_exercises_size = sizeof registered_exercises / sizeof *registered_exercises;'
} > "$out/exercises.c"
