#!/bin/sh
# The npm package, installed without a network where nothing of the repository is: answer.mjs by import and by require, with the
# native library (koffi) and with WebAssembly, in Node and in a browser; all tests of the binding over WebAssembly; the library for arm64
# under qemu. Usage: npm.sh DIR
set -eu
. tests/ship/packages/common.sh
command -v node > /dev/null && command -v npm > /dev/null || skip "there is no node, or no npm"
quiet make npm
mkdir "$dir/user"
(cd "$dir/user" && quiet npm install --offline --no-audit --no-fund "$root"/build/dist/npm/sampling-*.tgz)
package=$dir/user/node_modules/sampling
[ ! -e "$dir/user/node_modules/koffi" ] || mv "$dir/user/node_modules/koffi" "$dir/koffi" # npm had it
sed "s/import \(.*\) from 'sampling';/const \1 = require('sampling');/" tests/ship/packages/answer.mjs > "$dir/user/answer.js"
cp tests/ship/packages/answer.mjs "$dir/user"
answers node user/answer.mjs
answers node user/answer.js
ways="WebAssembly"
modules=$root/build/bindings/node_modules
if [ -d "$modules/koffi" ] && [ -e "$package/linux-$(node -p process.arch)" ]; then
    answers env NODE_PATH="$modules" node user/answer.mjs
    NODE_PATH=$modules quiet node -e "process.chdir('$dir/user'); require('$package');
        if (!require('fs').readFileSync('/proc/self/maps', 'utf8').includes('/linux-' + process.arch + '/libsampling.so')) throw Error('not the native library')"
    ways="$ways, koffi"
else
    echo "packages: SKIPPED npm with koffi, which is not there (make test-bindings fetches it)"
fi
if [ -d "$package/linux-arm64" ] && command -v qemu-aarch64 > /dev/null; then
    quiet aarch64-linux-gnu-gcc -std=c11 -I. tests/ship/packages/answer.c "$package/linux-arm64/libsampling.so" -o "$dir/arm64"
    answers qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$package/linux-arm64" "$dir/arm64"
    ways="$ways, the library for arm64"
else
    echo "packages: SKIPPED the library for arm64, there is no cross compiler or no qemu"
fi
if command -v chromium > /dev/null || command -v chromium-headless-shell > /dev/null; then
    answers node "$root/tests/ship/packages/browser.mjs" "$package"
    ways="$ways, a browser"
else
    echo "packages: SKIPPED npm in a browser, there is no chromium (make deps-play)"
fi

# the binding's own tests, with wasm.js in koffi's place
mkdir -p "$dir/wasm/node_modules/koffi"
cp src/bindings/* tests/ship/bindings/*.js "$dir/wasm"
echo "module.exports = require('../../wasm.js');" > "$dir/wasm/node_modules/koffi/index.js"
quiet make build/npm/counted.wasm
quiet "$CC" -std=c11 -O0 -w -I. tests/ship/bindings/tokens.c -o "$dir/tokens" -lm
"$dir/tokens" > "$dir/tokens.txt"
export SAMPLING_LIBRARY="$root/build/npm/counted.wasm"
node "$dir/wasm/tokens.js" | diff "$dir/tokens.txt" - || fail "not the tokens that C gives"
quiet node --expose-gc "$dir/wasm/test_sampling.js"
tests=$(cat "$dir/log")
quiet node --expose-gc "$dir/wasm/test_wrong.js" missing
tests="$tests, $(cat "$dir/log")"
printf '#!/bin/sh\ncp %s/*.js "${1%%/*}" && node "$1"\n' "$package" > "$dir/js.sh"
export SAMPLING_LIBRARY="$package/sampling.wasm"
pages=$(sh tests/ship/bindings/pages.sh "$dir/pages" src/bindings/javascript.md sh "$dir/js.sh") || fail "the page's programs"
echo "packages: npm: $(basename build/dist/npm/*.tgz) gives the answer with $ways; over WebAssembly $tests, ${pages##*: }"
