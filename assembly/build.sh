#!/bin/sh
# Compiles the kernels into build/kernels.wasm, and those that need SIMD into build/vectors.wasm, unless that is what their
# sources and the compiler give already. They are two modules, because a processor without AVX refuses all of a module with SIMD.
set -eu
cd "$(dirname "$0")/.."
inputs() { cat assembly/*.ts assembly/build.sh bun.lock; }
if [ -f build/kernels.wasm ] && [ -f build/vectors.wasm ] && inputs | cmp -s - build/kernels.inputs; then exit 0; fi

if [ ! -f build/kernels.inputs ]; then echo 'Building for the first time, which may take a minute …' >&2; fi
# Two that compile at once each put a whole file in place.
mkdir -p build
trap 'rm -f build/kernels.$$.* build/vectors.$$.*' EXIT
compile() {
  bun node_modules/assemblyscript/bin/asc.js "assembly/$1" -o "build/$2.$$.wasm" \
    -O3 --converge --noAssert --runtime stub --use abort= $3
  mv "build/$2.$$.wasm" "build/$2.wasm"
}
inputs > build/kernels.$$.inputs
compile index.ts kernels ''
compile vectors.ts vectors '--enable simd'
mv build/kernels.$$.inputs build/kernels.inputs
