#!/bin/sh
# The wheel and the sdist, each installed without a network into a Python of its own, which sees nothing of the repository: all
# tests of the binding, the page's programs, and answer.py. Usage: python.sh DIR
set -eu
. tests/ship/packages/common.sh
command -v python3 > /dev/null || skip "there is no python3"
python3 -m venv "$dir/venv" > "$dir/log" 2>&1 || skip "python3 makes no venv with pip"
python3 -m venv "$dir/built" > "$dir/log" 2>&1
quiet make wheel

quiet "$dir/venv/bin/pip" install --no-index build/dist/python/*.whl
answers "$dir/venv/bin/python" answer.py
"$CC" -std=c11 -O0 -w -DSAMP_NO_AVX512 -DSAMP_NO_AVX2 -fPIC -fvisibility=hidden -shared -I. tests/ship/bindings/counted.c -o "$dir/counted.so" -lm
"$CC" -std=c11 -O0 -w -I. tests/ship/bindings/tokens.c -o "$dir/tokens" -lm
cp tests/ship/bindings/*.py "$dir"
export PYTHONDONTWRITEBYTECODE=1
cd "$dir"
./tokens > tokens.txt
venv/bin/python tokens.py > said.txt && diff tokens.txt said.txt || fail "not the tokens that C gives"
# where a file beside the library is looked for, and the stub's place, are the binding's own matter
SAMPLING_LIBRARY=$dir/counted.so quiet venv/bin/python test_sampling.py test_library test_stub
tests=$(cat "$dir/log")
SAMPLING_LIBRARY=$dir/counted.so quiet venv/bin/python misuse.py
cd "$root"
pages=$(sh tests/ship/bindings/pages.sh "$dir/pages" src/bindings/python.md "$dir/venv/bin/python") || fail "the page's programs"
quiet "$dir/venv/bin/pip" uninstall -y sampling
[ -z "$(find "$dir/venv" -name '*sampling*')" ] || fail "not uninstalled: $(find "$dir/venv" -name '*sampling*')"

CC="$CC" CFLAGS=-O0 quiet "$dir/built/bin/pip" install --no-index build/dist/python/*.tar.gz
answers "$dir/built/bin/python" answer.py
echo "packages: python: $(basename build/dist/python/*.whl) and the sdist give the answer; $tests, ${pages##*: }"
