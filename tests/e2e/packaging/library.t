#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program is compiled against the installed library, as its manual says, and
# gets the digests that kin prints.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

run_make install PREFIX="$T/p" || exit 1
export PKG_CONFIG_PATH=$T/p/lib/pkgconfig LD_LIBRARY_PATH=$T/p/lib
example=$T/p/share/doc/libkin-dev/examples/example.c

compile() { # COMPILER [OPTION...]
	# shellcheck disable=SC2046 # words
	"$@" -Wall -Wextra -Werror -o "$T/example" "$example" \
		$(pkg-config --cflags --libs kin)
}
ok "the example compiles" compile "${CC:-gcc}"
gen_text 300 1 >"$T/a"
edit_text 5 2 <"$T/a" >"$T/b"
: >"$T/empty"
"$T/example" "$T/a" "$T/b" >"$T/said"
for name in sise simhash rdc sif ssdeep xxh128; do
	for file in "$T/a" "$T/b"; do
		is "$(sed -n "s|^$file $name ||p" "$T/said")" \
			"$("$KIN" digest -a "$name" <"$file" - | sed 's/  -$//')" \
			"$name of ${file##*/} is what kin prints"
	done
	is "$(sed -n "s/^score $name //p" "$T/said")" \
		"$("$KIN" compare -m "$name" "$T/a" "$T/b")" \
		"the score by $name, too"
done
ok "an empty file" "$T/example" "$T/empty" "$T/a"
not_ok "a file that is missing" "$T/example" "$T/a" "$T/missing"

is "$(nm -D --defined-only "$T/p/lib/libkin.so" |
	sed -n 's/.* T \(.*\)@@KIN_1$/\1/p')" \
	"$(sed -n 's/^\t\(kin_.*\);$/\1/p' core/lib/kin.map)" \
	"the library exports its interface and nothing else"
is "$(readelf -d "$T/p/lib/libkin.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')" \
	libkin.so.1 "and has a version in its name"
if command -v g++ >/dev/null; then
	printf '#include <kin.h>\nint main() { return !kin_version(); }\n' \
		>"$T/main.cc"
	example=$T/main.cc
	ok "a C++ program compiles" compile g++
	ok "... and runs" "$T/example"
else
	skip "a C++ program" "no g++"
fi

finish
