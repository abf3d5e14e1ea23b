#!/bin/sh
# The Go module, where nothing of the repository is: its tests without a network, and answer.go in a program that requires it.
# Usage: go.sh DIR
set -eu
. tests/ship/packages/common.sh
command -v go > /dev/null || skip "there is no go (make deps-ship)"
quiet make module
mkdir -p "$dir/module" "$dir/user"
tar xzf build/dist/go/sampling-go-*.tar.gz -C "$dir/module" --strip-components=1
cp tests/ship/packages/answer.go "$dir/user/main.go"
printf 'module user\n\ngo 1.19\n\nrequire sampling v0.0.0\n\nreplace sampling => ../module\n' > "$dir/user/go.mod"
export GOFLAGS=-mod=mod GOPROXY=off GOCACHE="$dir/cache" GOPATH="$dir/path" GOTOOLCHAIN=local
(cd "$dir/module" && quiet go test -v .)
tests=$(grep -c '^--- PASS' "$dir/log")
answers sh -c 'cd user && go run .'
echo "packages: go: $(basename build/dist/go/*.tar.gz) gives the answer, $tests tests by $(go version | cut -d' ' -f3)"
