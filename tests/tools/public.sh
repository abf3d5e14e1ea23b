#!/bin/sh
# Every public function of both headers is called where memory fails, or where there is none (test_nomem.c; what makes a
# sampler: the list of makers.h): names those that are not, and what is tested there and is no public function.
set -eu
cd "$(dirname "$0")/../.."
public() { sed -n 's/^SAMP_API [^(]*[ *]\(samp_[a-z0-9_]*\)(.*/\1/p' sampling.h sampling_gpu.h | sort -u; }
tested() {
    { sed -n 's/^ *\(X\|NONE\)(\(samp_[a-z0-9_]*\),.*/\2/p' tests/unit/test_nomem.c
      sed -n 's/.*X(\([a-z0-9_]*\), samp_init_.*/samp_init_\1/p' tests/support/makers.h; } | sort -u
}
status=0 public=$(public) tested=$(tested)
has() { case "
$1
" in *"
$2
"*) return 0 ;; esac; return 1; }
for name in $public; do
    has "$tested" "$name" || { echo "public: $name is missing (a sampler: in tests/support/makers.h, else in test_nomem.c)" >&2; status=1; }
done
for name in $tested; do
    has "$public" "$name" || { echo "test_nomem.c: $name is no public function" >&2; status=1; }
done
# An editor shows the comment that stands directly above a declaration.
awk '/^SAMP_API .*\(/ && before !~ /\*\/[ \t]*$/ { name = $0; at = FNR; open = 1 }
     open && /;[ \t]*$/ { print FILENAME ":" at ": no comment above " name; failed = 1 }
     open && /[;{]/ { open = 0 }
     { before = $0 } END { exit failed }' sampling.h sampling_gpu.h >&2 || status=1
[ $status != 0 ] || echo "== public: $(echo "$public" | wc -l) functions, each one without memory"
exit $status
