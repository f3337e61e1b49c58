#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin-extract: documents that do harm cost themselves their text.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

EXTRACT=${KIN%/*}/kin-extract
cd "$T" || exit 1
mkdir docs
python3 "$HELPERS/documents.py" docs bad || bail "documents are made" "no"
cd docs || exit 1

status_of() { # FILE
	"$EXTRACT" --json "$1" | jq -r .status
}

for file in laughs.docx external.docx; do
	is "$(status_of $file)" damaged "$file: no entity is ever defined"
	is "$("$EXTRACT" $file 2>/dev/null)" "" "... and nothing comes out"
done
for file in deep.docx long.docx bomb.docx many.zip; do
	is "$(status_of $file)" limit "$file: more than is allowed"
done
is "$(status_of overlapping.zip)" ok "overlapping.zip: what is there, once"
is "$("$EXTRACT" --json overlapping.zip | jq '.members | length')" 1 \
	"... and no more"
is "$(status_of pageloop.pdf)" none "pageloop.pdf: no pages"
is "$(status_of formloop.pdf)" ok "formloop.pdf: a form in itself is not drawn"
for file in docx pdf zip odt epub rtf gz xz; do
	is "$(status_of cut.$file)" damaged "cut.$file: cut off, damaged"
done

# All of them together, in processes that live on.
"$EXTRACT" --json laughs.docx a.docx deep.docx a.pdf cut.pdf many.zip a.zip |
	jq -r .status | tr '\n' ' ' >../all
is "$(cat ../all)" "damaged ok limit ok damaged limit ok " \
	"a document that does harm harms no other"
finish
