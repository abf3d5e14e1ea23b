# src.mk - both headers out of their rooms.

ROOMS := $(filter-out src/page/% src/package/% src/bindings/%,$(wildcard src/*/*.h src/*/*/*.h))
SPINES := src/sampling.h src/sampling_gpu.h
MAKE_HEADER = awk -v dir=src -v lines="$(LINES)" -f src/headers.awk

## headers: write sampling.h and sampling_gpu.h from the rooms in src/ (LINES=1: a compiler's messages name the rooms)
headers: | $(B)
	@for h in sampling.h sampling_gpu.h; do $(MAKE_HEADER) src/$$h > $(B)/made.h || exit 1; \
	  cmp -s $(B)/made.h $$h || { cp $(B)/made.h $$h && echo "$$h"; }; done

## bindings: write the sections of sampling.py and sampling.js that the table of functions makes (src/bindings/functions.txt)
bindings: | $(B)
	@for b in python:sampling.py javascript:sampling.js; do f=src/bindings/$${b#*:}; \
	  awk -v make=$${b%:*} -f src/bindings/functions.awk src/bindings/functions.txt $$f > $(B)/made.txt || exit 1; \
	  cmp -s $(B)/made.txt $$f || { cp $(B)/made.txt $$f && echo "$$f"; }; done

DECLINED = awk -f src/schema/declined.awk $(sort $(wildcard src/schema/*.h)) src/grammar/regex.h src/grammar/README.md

## declined: write the table of what schemas are declined for into src/grammar/README.md, from the texts of the rooms
declined: | $(B)
	@$(DECLINED) > $(B)/made.txt && { cmp -s $(B)/made.txt src/grammar/README.md || cp $(B)/made.txt src/grammar/README.md; }

# what make test and .ci/run ask: are they what src/ makes?
test-rooms: | $(B)
	@for h in sampling.h sampling_gpu.h; do awk -v dir=src -f src/headers.awk src/$$h | cmp -s - $$h || \
	  { echo "$$h is not what src/ makes of it: change the rooms in src/, then run \"make headers\"" >&2; exit 1; }; done
	@$(DECLINED) | cmp -s - src/grammar/README.md || \
	  { echo "src/grammar/README.md does not say what is declined: run \"make declined\"" >&2; exit 1; }
	@awk -f tests/tools/rooms.awk src/README.md $(SPINES) $(ROOMS)
	@echo "rooms: sampling.h and sampling_gpu.h are what src/ makes"

## single: write one header with some parts alone (PARTS="grammar kv" NO="avx512" OUT=my.h; src/README.md)
single:
	@sh src/single.sh "$(PARTS)" "$(NO)" "$(OUT)"

## sizes: measure how large headers with some parts alone are, and how long they compile; write the sizes into README.md
sizes: | $(B)
	@CC=gcc sh tests/tools/sizes.sh $(B)/sizes

# ---- the library ----
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
VERSION := $(shell awk '/^.define SAMP_VERSION_(MAJOR|MINOR|PATCH) / { v = v dot $$3; dot = "." } /_PATCH / { exit } END { print v }' sampling.h)
SOVERSION := $(firstword $(subst ., ,$(VERSION)))
SO := libsampling.so.$(VERSION)

## lib: build libsampling.so and libsampling.a in build/, with all parts but the one for llama.cpp (CFLAGS="-O2 -fopenmp": batches in threads)
lib: $(B)/libsampling.a $(B)/libsampling.so

$(B)/libsampling.o: src/package/sampling.c sampling.h | $(B)
	$(CC) $(CFLAGS) $(C11) -fPIC -fvisibility=hidden -c $< -o $@

$(B)/libsampling.a: $(B)/libsampling.o
	rm -f $@
	$(AR) rcs $@ $<

$(B)/libsampling.so: $(B)/libsampling.o
	$(CC) $(CFLAGS) -shared -Wl,-soname,libsampling.so.$(SOVERSION) $< -o $(B)/$(SO) -lm
	ln -sf $(SO) $(B)/libsampling.so.$(SOVERSION)
	ln -sf libsampling.so.$(SOVERSION) $@

# The folder of a python3 in whose .pth files it looks; none in PREFIX: PYTHONPATH has to say where sampling.py is
SHARE := $(PREFIX)/share/sampling
PYTHON_SITE = for p in $(PREFIX)/bin/python3 python3 /usr/bin/python3; do \
	  $$p -c 'import site; print([d for d in site.getsitepackages() if d.startswith("$(PREFIX)/lib/")][0])' 2> /dev/null && break; done

## install: install headers, library, bindings, manual page, and files for pkg-config and CMake (PREFIX=/usr/local, DESTDIR=)
install: lib $(B)/sampling.3
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/man/man3 $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/cmake/sampling
	install -m 644 sampling.h sampling_gpu.h src/bindings/sampling.hpp $(DESTDIR)$(PREFIX)/include/
	install -m 644 $(B)/sampling.3 $(DESTDIR)$(PREFIX)/share/man/man3/
	install -m 644 $(B)/libsampling.a $(DESTDIR)$(LIBDIR)/
	install -m 755 $(B)/$(SO) $(DESTDIR)$(LIBDIR)/
	ln -sf $(SO) $(DESTDIR)$(LIBDIR)/libsampling.so.$(SOVERSION)
	ln -sf libsampling.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libsampling.so
	@for f in pkgconfig/sampling.pc cmake/sampling/sampling-config.cmake cmake/sampling/sampling-config-version.cmake; do \
	  sed 's|@PREFIX@|$(PREFIX)|g; s|@LIBDIR@|$(LIBDIR)|g; s|@VERSION@|$(VERSION)|g; s|@SOVERSION@|$(SOVERSION)|g' src/package/$${f##*/} \
	    > $(DESTDIR)$(LIBDIR)/$$f && chmod 644 $(DESTDIR)$(LIBDIR)/$$f || exit 1; echo "$(DESTDIR)$(LIBDIR)/$$f"; done
	@for f in python/sampling.py python/sampling.pyi javascript/sampling.js javascript/sampling.d.ts javascript/wasm.js; do \
	  install -d $(DESTDIR)$(SHARE)/$${f%/*} && install -m 644 src/bindings/$${f##*/} $(DESTDIR)$(SHARE)/$$f && \
	    ln -sf $(LIBDIR)/libsampling.so.$(SOVERSION) $(DESTDIR)$(SHARE)/$${f%/*}/libsampling.so || exit 1; echo "$(DESTDIR)$(SHARE)/$$f"; done
	@site=$$($(PYTHON_SITE)); [ -z "$$site" ] || { install -d $(DESTDIR)$$site && echo $(SHARE)/python > $(DESTDIR)$$site/sampling.pth && \
	  echo "$(DESTDIR)$$site/sampling.pth"; }
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig 2> /dev/null || true # so that programs find it

## uninstall: remove what make install has installed
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/include/sampling.h $(DESTDIR)$(PREFIX)/include/sampling.hpp $(DESTDIR)$(PREFIX)/include/sampling_gpu.h \
	  $(DESTDIR)$(PREFIX)/share/man/man3/sampling.3 $(DESTDIR)$(LIBDIR)/libsampling.* $(DESTDIR)$(LIBDIR)/pkgconfig/sampling.pc
	rm -rf $(DESTDIR)$(LIBDIR)/cmake/sampling $(DESTDIR)$(SHARE)/python $(DESTDIR)$(SHARE)/javascript
	@rmdir $(DESTDIR)$(SHARE) 2> /dev/null || true
	@site=$$($(PYTHON_SITE)); [ -z "$$site" ] || rm -f $(DESTDIR)$$site/sampling.pth

## man: build the manual page, build/sampling.3, from the header's first comment (man -l build/sampling.3)
man: $(B)/sampling.3

$(B)/sampling.3: src/package/man.awk sampling.h | $(B)
	awk -f $< sampling.h > $@

.PHONY: headers bindings declined test-rooms single sizes lib install uninstall man
