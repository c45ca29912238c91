#!/bin/sh
# CUDA's compiler and libraries without root: NVIDIA's pip wheels into the folder .cuda of the repository, where the Makefile
# looks first. Needs python3 with pip, and a driver for CUDA 13 or later (580) to run what is built.
set -eu
target=.cuda
if [ -x $target/nvidia/cu13/bin/nvcc ]; then echo "cuda: already in $target (rm -r $target to fetch it again)"; exit 0; fi
if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "cuda: python3 has no pip; install it (Debian: sudo apt-get install python3-pip) and run make cuda again" >&2
    exit 2
fi
# The driver says up to which CUDA version it runs programs.
if command -v nvidia-smi >/dev/null; then
    supported=$(nvidia-smi | sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p')
    if [ -n "$supported" ] && [ "$supported" -lt 13 ]; then
        echo "cuda: this driver runs CUDA up to $supported, and the wheels hold CUDA 13;" \
             "update the driver to 580 or later, or install the CUDA $supported toolkit" >&2
        exit 2
    fi
else
    echo "cuda: no nvidia-smi here; the code will build, but there is no sign of a GPU to run it"
fi
echo "cuda: fetching nvcc, cuBLAS and cuSOLVER (about 1.5 GB in $target) ..."
rm -rf $target.part
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --target $target.part \
    'nvidia-cuda-nvcc==13.0.*' 'nvidia-nvvm==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cccl==13.0.*' \
    'nvidia-cublas==13.1.*' 'nvidia-cusolver==12.0.*' 'nvidia-cusparse==12.6.*' 'nvidia-nvjitlink==13.0.*'
# The wheels hold libcublas.so.13; a linker looks for libcublas.so.
for library in $target.part/nvidia/cu13/lib/lib*.so.*; do
    name=${library##*/}
    ln -sf "$name" "$target.part/nvidia/cu13/lib/${name%%.so.*}.so"
done
mv $target.part $target
echo "cuda: $($target/nvidia/cu13/bin/nvcc --version | sed -n 's/.*release \([^,]*\),.*/nvcc \1/p') in $target; every later make uses it"
