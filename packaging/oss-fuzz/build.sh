#!/bin/bash -eu
# Builds every fuzzer with OSS-Fuzz's compiler and options, and packs the corpora of fuzz/corpus.
cmake -S . -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_CXX_FLAGS="$CXXFLAGS" \
    -DWARPAES_FUZZ=ON -DWARPAES_TESTS=OFF -DWARPAES_CUDA=OFF -DWARPAES_PYTHON=OFF
ninja -C "$WORK/build" fuzzers
for program in "$WORK"/build/fuzz/fuzz_*; do
    [ -x "$program" ] || continue
    name=$(basename "$program")
    cp "$program" "$OUT/"
    corpus=$(mktemp -d)
    tar xJf "fuzz/corpus/${name#fuzz_}.tar.xz" -C "$corpus"
    (cd "$corpus" && zip -qr "$OUT/${name}_seed_corpus.zip" .)
done
