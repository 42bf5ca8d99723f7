#!/bin/sh
# Compiles the kernels into build/kernels.wasm, unless that is what their sources and the compiler give already.
set -eu
cd "$(dirname "$0")/.."
inputs() { cat assembly/*.ts assembly/build.sh bun.lock; }
if [ -f build/kernels.wasm ] && inputs | cmp -s - build/kernels.inputs; then exit 0; fi

# Two that compile at once each put a whole file in place.
mkdir -p build
trap 'rm -f build/kernels.$$.*' EXIT
inputs > build/kernels.$$.inputs
bun node_modules/assemblyscript/bin/asc.js assembly/index.ts -o build/kernels.$$.wasm \
  -O3 --converge --noAssert --runtime stub --use abort=
mv build/kernels.$$.wasm build/kernels.wasm
mv build/kernels.$$.inputs build/kernels.inputs
