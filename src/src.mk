# src.mk - both headers out of their rooms.

ROOMS := $(wildcard src/*/*.h src/*/*/*.h)
SPINES := src/sampling.h src/sampling_gpu.h
MAKE_HEADER = awk -v dir=src -v lines="$(LINES)" -f src/headers.awk

## headers: write sampling.h and sampling_gpu.h from the rooms in src/ (LINES=1: a compiler's messages name the rooms)
headers: | $(B)
	@for h in sampling.h sampling_gpu.h; do $(MAKE_HEADER) src/$$h > $(B)/made.h || exit 1; cmp -s $(B)/made.h $$h || { cp $(B)/made.h $$h && echo "$$h"; }; done

# what make test and .ci/run ask: are they what src/ makes?
test-rooms: | $(B)
	@for h in sampling.h sampling_gpu.h; do awk -v dir=src -f src/headers.awk src/$$h | cmp -s - $$h || \
	  { echo "$$h is not what src/ makes of it: change the rooms in src/, then run \"make headers\"" >&2; exit 1; }; done
	@echo "rooms: sampling.h and sampling_gpu.h are what src/ makes"

## single: one header with some parts alone, for projects that count bytes (PARTS="grammar kv" NO="avx512" OUT=my.h; src/README.md)
single:
	@sh src/single.sh "$(PARTS)" "$(NO)" "$(OUT)"

.PHONY: headers test-rooms single
