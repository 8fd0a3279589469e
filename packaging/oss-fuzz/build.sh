#!/bin/bash -eu
# Builds every fuzzer with OSS-Fuzz's compiler and options, and packs the corpora of fuzz/corpus. Fuzzers run in a
# different image without this image's packages, so their libraries are static. GoogleTest is compiled again, because
# the system's GoogleTest and this compiler use different C++ standard libraries.
tools=(-G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX"
    -DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_CXX_FLAGS="$CXXFLAGS" -DCMAKE_PREFIX_PATH="$WORK/prefix")
cmake -S /usr/src/googletest -B "$WORK/googletest" "${tools[@]}" -DCMAKE_INSTALL_PREFIX="$WORK/prefix" -DBUILD_GMOCK=OFF
ninja -C "$WORK/googletest" install
cmake -S . -B "$WORK/build" "${tools[@]}" -DWARPAES_FUZZ=ON -DWARPAES_STATIC_LIBCRYPTO=ON -DWARPAES_TESTS=OFF \
    -DWARPAES_CLI=OFF -DWARPAES_CUDA=OFF -DWARPAES_PROVIDER=OFF -DWARPAES_PYTHON=OFF -DWARPAES_INSTALL=OFF
ninja -C "$WORK/build" fuzzers
for program in "$WORK"/build/fuzz/fuzz_*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    name=$(basename "$program")
    cp "$program" "$OUT/"
    corpus=$(mktemp -d)
    tar xJf "fuzz/corpus/${name#fuzz_}.tar.xz" -C "$corpus"
    (cd "$corpus" && zip -qr "$OUT/${name}_seed_corpus.zip" .)
done
