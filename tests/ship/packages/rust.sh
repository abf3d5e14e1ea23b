#!/bin/sh
# The crate, unpacked where nothing of the repository is: its tests without a network, and answer.rs in a program that depends on it;
# by each cargo that is there (Debian's, and another one before it in PATH). Usage: rust.sh DIR
set -eu
. tests/ship/packages/common.sh
command -v cargo > /dev/null || skip "there is no cargo (make deps-ship)"
quiet make crate
# A test that structs have the sizes that they have in C
sizes() {
    structs=$(sed -n 's/^pub struct \(samp_[a-z_]*\) {$/\1/p' "$dir/crate/src/ffi.rs" | grep -vxF "$(sed -n '/_private/{x;s/^pub struct \([a-z_]*\) {/\1/p;d};h' "$dir/crate/src/ffi.rs")")
    {
        cat "$dir/crate/sampling.c"
        printf '#include <stdio.h>\nint main(void)\n{\n'
        for one in $structs; do printf 'printf("    assert_eq!(size_of::<ffi::%s>(), %%zu);\\n", sizeof(%s));\n' "$one" "$one"; done
        printf 'return 0;\n}\n'
    } > "$dir/crate/sizes.c"
    ${CC:-cc} -std=c11 -O0 -I"$dir/crate" "$dir/crate/sizes.c" -o "$dir/crate/sizes" -lm
    printf 'use sampling::ffi;\nuse std::mem::size_of;\n\n#[test]\nfn sizes_of_c() {\n'
    "$dir/crate/sizes"
    printf '}\n'
}
said=
for cargo in $(which -a cargo | awk '!seen[$0]++' | head -n 2); do
    version=$("$cargo" --version | cut -d' ' -f2)
    rm -rf "$dir/crate" "$dir/user"
    mkdir -p "$dir/crate" "$dir/user/src"
    tar xzf build/dist/rust/sampling-*.crate -C "$dir/crate" --strip-components=1
    cp tests/ship/packages/answer.rs "$dir/user/src/main.rs"
    sizes > "$dir/crate/tests/sizes.rs"
    printf '[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nsampling = { path = "../crate" }\n' > "$dir/user/Cargo.toml"
    export PATH="$(dirname "$cargo"):$PATH" CARGO_TARGET_DIR="$dir/target-$version"
    (cd "$dir/crate" && quiet cargo test --offline)
    said="$said, by cargo $version $(awk '/^test result: ok/ { n += $4 } END { print n }' "$dir/log") tests"
    answers sh -c 'cd user && cargo run --quiet --offline'
done
echo "packages: rust: $(basename build/dist/rust/*.crate) gives the answer${said}"
