# package.mk - packages of other languages' forms, into build/dist; nothing is sent anywhere.

DIST := build/dist
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
