#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the packages say of this tree is right: its version, and which files
# "make install" makes.  "make deb-check" builds and installs them.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

packaging=scripts/packaging
debian=$packaging/debian
version=$("$KIN" --version | grep -oE '[0-9]+(\.[0-9]+)+' | head -1)

isnt "$version" "" "kin has a version"
is "$(sed -n '1s/^kinfs (\(.*\)) .*/\1/p' $debian/changelog)" "$version" \
	"Debian's changelog has the same"
is "$(sed -n 's/^Version: *//p' $packaging/rpm/kinfs.spec)" "$version" \
	"and the spec of RPM"
is "$(sed -n 's/^pkgver=//p' $packaging/arch/PKGBUILD)" "$version" \
	"and PKGBUILD"

# Paths below the root, a line each; a directory stands for all in it.
packaged() {
	cat $debian/*.install $debian/*.manpages
}
installed() { # DIRECTORY [VARIABLE=VALUE...]
	run_make install DESTDIR="$1" PREFIX=/usr \
		"${@:2}" >"$T/said" 2>&1 &&
		(cd "$1" && find . -type f -o -type l) | cut -c 3- | sort
}
owners() { # PATH FILE: how many of its patterns are that, or a directory above
	local pattern count=0
	while read -r pattern; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $1 == $pattern || $1 == $pattern/* ]] && count=$((count + 1))
	done <"$2"
	echo "$count"
}
is_made() { # DIRECTORY PATTERN
	find "$1" -path "$1/$2" -print -quit | grep -q .
}
installed "$T/image" libdir=/usr/lib/this-machine \
	zsh_dir=/usr/share/zsh/vendor-completions >"$T/files"
packaged >"$T/packaged"
isnt "$(wc -l <"$T/files")" 0 "make install makes files"
while read -r path; do
	is "$(owners "$path" "$T/packaged")" 1 "one package has /$path"
done <"$T/files"
while read -r pattern; do
	ok "make install makes /$pattern" is_made "$T/image" "$pattern"
done <"$T/packaged"
is "$(sed -n 's/^ \(kin_.*\)@KIN_1 .*/\1/p' $debian/libkin1.symbols)" \
	"$(sed -n 's/^\t\(kin_.*\);$/\1/p' core/lib/kin.map)" \
	"the symbols of libkin1 are those that the library exports"

# The spec lists the same, with its own words for directories; * is any name.
spec_files() {
	sed -n '/^%files/,$p' $packaging/rpm/kinfs.spec |
		sed -n 's|^%{_bindir}|usr/bin|p; s|^%{_sbindir}|usr/sbin|p
			s|^%{_prefix}|usr|p; s|^%{_libdir}|usr/lib|p
			s|^%{_includedir}|usr/include|p; s|^%{_datadir}|usr/share|p
			s|^%{_mandir}|usr/share/man|p'
}
spec_files >"$T/spec"
installed "$T/rpm" | grep -v '^usr/share/doc/' >"$T/rpm.files"
while read -r path; do
	is "$(owners "$path" "$T/spec")" 1 "one package of RPM has /$path"
done <"$T/rpm.files"
while read -r pattern; do
	ok "make install makes /$pattern" is_made "$T/rpm" "$pattern"
done <"$T/spec"
finish
