#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin report: the page of a mount, as a reader sees it in Chromium, also with 10,
# 1,000 and 100,000 groups that were made; names that would like to be HTML;
# the file that it is written to.  The times of the page are printed, not judged:
# scripts/bench does that.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace
open_fuse_to_all
share_programs

src=$T/src
mnt=$T/mnt
page=$T/page.html

kin_report() { # ARGUMENT...
	"$KIN" report "$@"
}

# Group I has a file, a copy of it, and a content that is 60 to 99 % alike, in
# fifty directories; group 1 is the largest.
made_groups() { # NUMBER
	seq "$1" | awk -v n="$1" '{
		size = 100 * (n - $1 + 1)
		printf "{\"group\":%d,\"root\":\"/mnt/of\",\"threshold\":60,", $1
		printf "\"members\":[{\"score\":100,\"head\":true,"
		printf "\"size\":%d,\"files\":[", size
		printf "{\"path\":\"d%d/in/file-%d.txt\",\"mtime\":1.6e9},", \
			$1 % 50, $1
		printf "{\"path\":\"d%d/copy-%d.txt\",\"removable\":true}]},", \
			($1 + 1) % 50, $1
		printf "{\"score\":%d,\"size\":%d,\"files\":[{", \
			60 + $1 % 40, size
		printf "\"path\":\"d%d/near-%d.txt\"}]}]}\n", ($1 + 2) % 50, $1
	} END { print "{\"totals\":{\"complete\":true}}" }'
}

no_rest() {
	is "$(find "$T" -maxdepth 1 -name '.kin-report.*')" "" "$1"
}

page_of() { # GROUPS PAGE: about these groups
	python3 "$HELPERS/report_groups.py" "$T/template.html" "$1" >"$2" ||
		bail "a report of made groups" "failed"
}

# ---- what is asked for, and where it goes ----

mkdir -p "$T/plain" "$T/plain-mnt"
gen_text 50 3 | tee "$T/plain/one" >"$T/plain/two"
mount_kinfs "$T/plain" "$T/plain-mnt"
wait_idle "$T/plain-mnt"
refused "where to write has to be said" "usage: kin report" \
	kin_report "$T/plain-mnt"
refused "of what, too" "of which mount" kin_report -o "$page"
refused "what is no directory" "not in a kinfs mount" \
	kin_report -o "$page" "$PWD/Makefile"
refused "a directory is not replaced" "directory" \
	kin_report -o "$T" "$T/plain-mnt"
refused "nor what is no file" "not a regular file" \
	kin_report -o /dev/null "$T/plain-mnt"
refused "a directory that is not there" "[Nn]o such|not there" \
	kin_report -o "$T/none/page.html" "$T/plain-mnt"

echo old >"$page"
full() {
	(trap '' XFSZ; ulimit -f 4; exec "$KIN" report -o "$page" \
		"$T/plain-mnt")
}
refused "a full disk" "too large|too big" full
is "$(cat "$page")" old "the old page is there after an error"
no_rest "and nothing beside it"

(umask 027; kin_report -o "$T/new.html" "$T/plain-mnt")
is "$(stat -c %a "$T/new.html")" 640 "a new file has the rights of one"
chmod 604 "$page"
ln -s page.html "$T/link.html"
kin_report -o "$T/link.html" "$T/plain-mnt"
is "$(stat -c %a "$page"):$(readlink "$T/link.html")" 604:page.html \
	"the file behind a link is replaced and keeps its rights"
no_rest "with nothing beside it"
is "$(kin_report -o - "$T/plain-mnt" | head -n 1)" "$(head -n 1 "$page")" \
	"- is standard output"
mv "$T/new.html" "$T/template.html"
ok "unmount" unmount "$T/plain-mnt"

# ---- a mount ----

hostile=$src/hostile
mkdir -p "$hostile" "$src/project/src" "$src/docs"
names=('<script>document.title="owned"</script>'
	'<!--' '&lt;b&gt;' '"'\''`;' 'two
lines' $'bytes \xff\xfe' $'line \xe2\x80\xa8separator'
	$'right \xe2\x80\xaeto left' '{{data}}')
names+=('</script><img src=x onerror=document.title=1>')
for name in "${names[@]}"; do
	mkdir -p "$(dirname "$hostile/$name")" # of an end tag
	gen_text 50 77 >"$hostile/$name"
done
for n in 1 2 3 4; do
	gen_text 100 "1$n" >"$src/project/src/part$n.c"
done
cp -r "$src/project" "$src/project-old"
gen_text 20 20 >"$src/project-old/src/todo.txt"
gen_text 300 5 >"$src/docs/report.txt"
edit_text 3 6 <"$src/docs/report.txt" >"$src/docs/draft.txt"
head -c 300000 /dev/zero >"$src/large"
find "$src" -type f -exec touch -d @1700000000 {} +
touch -d @1600000000 "$src/project-old/src"/*
mount_kinfs "$src" "$mnt" -o max_size=250000 -o "exclude=*.tmp"
echo left out >"$mnt/<i>.tmp"
wait_idle "$mnt"
ok "a report of a mount" kin_report -o "$page" "$mnt"
unlike "$(cat "$page")" '<img|onerror|<script>document|owned' \
	"no name is in it as it is"
unlike "$(sed 's/<script.*//; s/licence.*//' "$page")" \
	'(src|href)="?http' "it refers to nothing elsewhere"
ok "of a part of it" kin_report --exact --keep "$mnt/docs" \
	-o "$T/part.html" "$mnt" "$mnt/project" "$mnt/project-old"
refused "options are those of kin groups" "not a number from 1 to 100" \
	kin_report --threshold 0 -o "$T/part.html" "$mnt"

# ---- files that cannot be read ----

home=$T/home
user() { # COMMAND...
	as_nobody env -u XDG_STATE_HOME -u XDG_RUNTIME_DIR HOME="$home" "$@"
}
mkdir -p "$home/docs" "$home/mnt"
gen_text 50 1 | tee "$home/docs/one" >"$home/docs/two"
echo secret >"$home/docs/<u>secret"
chown -R 65534:65534 "$home"
chmod 000 "$home/docs/<u>secret"
user timeout 600 "$KINFS" "$home/docs" "$home/mnt" || bail "mount"
user timeout 600 "$KIN" wait "$home/mnt" >"$T/output" 2>&1
is "$?" 3 "one file cannot be read"
user "$KIN" report -o "$home/page.html" "$home/mnt" 2>"$T/said"
is "$?" 3 "a report by a user, of a tree with a file that cannot be read"
like "$(cat "$T/said")" "not complete" "which is said"
poll 10 user fusermount3 -u "$home/mnt"

# ---- in a browser ----

if ! command -v chromium >/dev/null && ! command -v chromium-browser \
	>/dev/null; then
	skip "the page in a browser" "no chromium here"
	finish
fi

# Commands of tests/e2e/helper/browser.py; its answers are in said.
browse() {
	mapfile -t said < <(python3 "$HELPERS/browser.py" "$T/profile" 2>&1 ||
		echo "browser: failed")
	case ${said[-1]:-} in
	browser:*) bail "the browser" "${said[@]}" ;;
	esac
}

text() { # SELECTOR: what it shows
	printf '%s' "(document.querySelector('$1')?.innerText ?? 'nothing')"
}
all() { # SELECTOR: what all of them show
	printf '%s' "[...document.querySelectorAll('$1')].map(e => e" \
		".innerText).join('|')"
}
# ---- a mount's page ----

browse <<-END
	open $page
	eval document.title
	eval $(text "#pairs-list tbody")
	eval $(text "#unread-list")
	type /
	type hostile
	until $(text "#count").startsWith('1 of')
	eval $(text "#count")
	eval document.querySelector('.row.group').click()
	eval $(all ".row.file > :nth-child(3)")
	eval document.images.length + document.querySelectorAll('b:not(.bar b, .mark b)').length
	refused
	eval document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.owned = 1'}))
	eval String(window.owned)
	eval fetch('data:,x').then(() => 'loaded', () => 'refused')
	eval new Promise(d => { const i = new Image(); i.onload = () => d('loaded'); i.onerror = () => d('refused'); i.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='; })
END
is "${said[0]}" ready "the page of a mount is shown"
like "${said[1]}" "^Near-duplicates in .*mnt$" "no name is a script"
like "${said[2]}" "project.*project-old" "directories that are alike"
like "${said[3]}" "skipped:.*1 path.*skipped:.*1 path" \
	"files without digests"
like "${said[4]}" "^1 of 6 groups: " "names are searched"
shown=${said[6]}
like "$shown" '<script>document.title="owned"</script>' "a script is text"
like "$shown" '<img src=x onerror=document.title=1>' "an image is text"
like "$shown" '&lt;b&gt;' "an entity is text"
like "$shown" 'two\\nlines' "a line break is spelt out"
like "$shown" 'bytes \\xff\\xfe' "so are bytes that are no text"
like "$shown" 'line \\u2028separator' "a separator of lines"
like "$shown" 'right \\u202eto left' "and what turns text around"
like "$shown" '[{][{]data[}][}]' "a placeholder of the page is text"
is "${said[7]}" 0 "nothing became an element"
is "${said[8]}" nothing "the page loads nothing and makes no error"
is "${said[10]}" undefined "a script that is added does not run"
is "${said[11]}:${said[12]}" refused:refused "and nothing can be loaded"

# ---- groups that are chosen ----

# The command is run as it would be pasted; it plans what kin dedup plans.
browse <<-END
	open $page
	eval (document.querySelector('.head .choose').click(), 0)
	eval $(text "#chosen-count")
	eval btoa(page.groups.chosen.dedup())
	eval btoa(page.groups.chosen.paths())
	eval (document.querySelector('.head .choose').click(), document.getElementById('chosen').hidden)
	refused
END
like "${said[2]}" "^6 groups chosen: .*could be saved" "all groups are chosen"
base64 -d <<<"${said[3]}" >"$T/command"
unlike "$(LC_ALL=C grep -n '[^ -~]' "$T/command")" . \
	"what is pasted is plain ASCII"
is "$(sed '$d' "$T/command" | sed -n '2,$p' | grep -vc '^{"root":')" 0 \
	"kin dedup with the groups behind it"
sed "1s|^kin |'$KIN' |" "$T/command" >"$T/command.sh"
bash "$T/command.sh" >"$T/plan" 2>&1
"$KIN" dedup "$mnt" >"$T/whole" 2>&1
like "$(cat "$T/whole")" "[0-9]+ files would be replaced" \
	"there are copies to plan"
is "$(sort "$T/plan")" "$(sort "$T/whole")" \
	"plans what kin dedup plans, whatever the names"
base64 -d <<<"${said[4]}" >"$T/paths"
is "$(grep -cx "$mnt/docs/draft.txt" "$T/paths")" 1 "or the paths"
is "${said[5]}" true "none is chosen"
is "${said[6]}" nothing "and no error"
kin_report --keep newest --keep "$mnt/docs" -o "$T/keep.html" "$mnt"
browse <<-END
	open $T/keep.html
	eval page.groups.chosen.dedup()
END
like "${said[1]}" "^kin dedup --keep newest --keep $mnt/docs - " \
	"what the report keeps is kept"
mkdir "$T/linked" "$T/linked-mnt"
gen_text 50 3 | tee "$T/linked/one" >"$T/linked/two"
ln "$T/linked/two" "$T/linked/two-again"
mount_kinfs "$T/linked" "$T/linked-mnt"
wait_idle "$T/linked-mnt"
kin_report -o "$T/linked.html" "$T/linked-mnt"
browse <<-END
	open $T/linked.html
	eval document.querySelector('.row.group').click()
	eval $(all ".row.file .tag")
	eval (page.groups.choose(0), btoa(page.groups.chosen.dedup()))
END
is "${said[2]}" "1 other name" "other names of a file are told"
base64 -d <<<"${said[3]}" | sed "1s|^kin |'$KIN' |" >"$T/command.sh"
is "$(bash "$T/command.sh" 2>&1 | sort)" \
	"$("$KIN" dedup "$T/linked-mnt" 2>&1 | sort)" "and go with it"
ok "unmount" unmount "$T/linked-mnt"

browse <<-END
	open $page
	eval document.getElementById('notice').hidden
END
is "${said[1]}" true "a page that is complete does not say otherwise"

browse <<-END
	open $home/page.html
	eval $(text "#unread-count")
	eval (document.querySelector('#unread details').open = true, 0)
	until document.querySelector('#unread li')
	eval $(text "#unread-list")
	eval document.getElementById('notice').hidden || $(text "#notice")
END
like "${said[4]}" "Not all files were hashed" \
	"a page that is not complete says so"
is "${said[1]}" "1 path" "a file that cannot be read"
like "${said[3]}" "error:EACCES, no permission to read.*1 path.*<u>secret" \
	"why, and which"

# ---- ten, a thousand, a hundred thousand groups ----

paint="performance.getEntriesByName('first-contentful-paint')[0]"
for n in 10 1000 100000; do
	made_groups "$n" >"$T/groups"
	page_of "$T/groups" "$T/$n.html"
	browse <<-END
		open $T/$n.html
		eval document.querySelector('[role=treegrid]').ariaRowCount
		eval document.querySelectorAll('.row').length < 80
		eval $(text ".row.group bdi")
		eval $(text "#count")
		eval (document.querySelector('.scroll').focus(), 0)
		key End
		eval $(text ".row.current bdi")
		eval Math.round($paint?.startTime) + ' ms to the first paint, ' + Math.round(performance.getEntriesByName('ready')[0].startTime) + ' ms until it can be used'
		refused
	END
	is "${said[0]}:${said[1]}" "ready:$((n + 1))" "$n groups"
	is "${said[2]}" true "$n: few lines are made"
	is "${said[3]}" file-1.txt "$n: the largest comes first"
	like "${said[4]}" "^(10|1,000|100,000) groups: " "$n: and their number"
	is "${said[6]}" "file-$n.txt" "$n: the last is a key away"
	is "${said[8]}" nothing "$n: no error"
	diag "$n groups: $(stat -c %s "$T/$n.html") bytes, ${said[7]}"
done

# ---- order and filter ----

scores() { # LEAST GREATEST
	echo "{ for (const [n, v] of [['low', '$1'], ['high', '$2']]) { const i = document.getElementById('filter-' + n); i.value = v; i.dispatchEvent(new Event('input', {bubbles: true})); } }"
}

first=$(text ".row.group bdi")
browse <<-END
	open $T/1000.html
	eval document.querySelectorAll('.head button')[5].click()
	eval $first
	eval document.querySelector('[aria-sort]').ariaSort
	eval document.querySelectorAll('.head button')[2].click()
	eval $(text ".row.group .extra:nth-child(3)")
	eval document.querySelectorAll('.head button')[0].click()
	eval $first
	type /
	type FILE-17.t
	until $(text "#count").startsWith('1 ')
	eval $(text "#count")
	key Escape
	until $(text "#count").startsWith('1,000')
	eval $(scores 75 75)
	until !$(text "#count").startsWith('1,000')
	eval $(text "#count")
	eval $(scores '' '')
	until $(text "#count").startsWith('1,000')
	eval $(text "#count")
	eval { const s = document.getElementById('filter-size'); s.value = '65536'; s.dispatchEvent(new Event('input', {bubbles: true})); }
	until !$(text "#count").startsWith('1,000')
	eval $(text "#count")
	type /
	type no such name
	until $(text "#count").startsWith('0 ')
	eval $(text ".frame .none")
	click #filter-reset
	eval $(text "#count")
	eval [...document.querySelectorAll('.tile')].find(t => t.textContent.startsWith('d7')).click()
	eval $(text "#count")
	eval $(text "#crumbs")
END
is "${said[2]}:${said[3]}" file-1000.txt:ascending "the least first"
is "${said[5]}" 60 "ordered by score"
is "${said[7]}" file-1.txt "by name"
like "${said[8]}" "^1 of 1,000 groups: " "part of a name"
like "${said[10]}" "^25 of 1,000 " "one score"
like "${said[12]}" "^1,000 " "and all again"
like "${said[14]}" "^673 of 1,000 " "by size"
like "${said[15]}" "No group" "none is left"
like "${said[16]}" "^1,000 " "cleared"
like "${said[18]}" "^60 of 1,000 groups with files in d7: " "a directory"
like "${said[19]}" "all directories.*d7" "with the way back"

# ---- one that is larger than all others ----

made_groups 20 | sed '1s/"size":[0-9]*/"size":1000000000000/g' >"$T/groups"
page_of "$T/groups" "$T/large.html"
browse <<-END
	open $T/large.html
	eval [...document.querySelectorAll('.tile')].filter(t => t.offsetWidth > 20 && t.offsetHeight > 15).length > 10
	eval $(text "#treemap-status")
	eval document.querySelector('.tile.cut').getAttribute('aria-label')
	eval [...document.querySelectorAll('.row.group svg')].slice(1, 5).every(svg => Math.max(...[...svg.children].map(r => r.getAttribute('width'))) > 20)
	eval $(all ".axis")
	eval [...document.querySelectorAll('.title h2')].map(h => h.innerText).join()
END
is "${said[1]}" true "the others have areas, too"
like "${said[2]}" "double edge" "which is told"
like "${said[3]}" "TiB|GiB.*drawn smaller" "in words as well"
is "${said[4]}" true "and lines beside their sizes"
is "${said[5]}" "Score: per cent alike with the head|Copies" \
	"the axes have names"
like "${said[6]}" "Directories that are alike,Groups" \
	"directories come before groups"

# ---- the keyboard alone ----

here="document.activeElement"
browse <<-END
	open $T/1000.html
	key Tab
	eval $here.className
	key Enter
	eval $here.id
	key Tab
	key Tab
	key Tab
	key Tab
	key Tab
	key Tab
	eval $here.className
	key ArrowDown
	key ArrowDown
	key Enter
	key ArrowDown
	key ArrowDown
	key ArrowDown
	eval document.getElementById($here.getAttribute('aria-activedescendant')).innerText
	key ArrowLeft
	eval $(text ".row.current bdi")
	key ArrowLeft
	eval document.querySelectorAll('[aria-expanded=true], .row.file').length
	key End
	key PageUp
	key Home
	eval $(text ".row.current bdi")
	eval document.querySelector('.tile[tabindex="0"]').focus()
	key ArrowRight
	eval $here.className
	key Enter
	eval $(text "#crumbs")
	key Backspace
	eval $(text "#crumbs")
	eval document.getElementById('histogram').ariaLabel
	eval document.querySelector('.frame').focus()
	key Home
	key Space
	eval $(text "#chosen-count")
	key a
	eval $(text "#chosen-count")
	key a
	eval document.getElementById('chosen').hidden
	eval [...document.querySelectorAll('button, input, select, textarea, [role=button]')].filter(e => !(e.innerText || e.ariaLabel || e.labels?.length)).length
END
is "${said[1]}:${said[2]}" skip:groups "the first key leads to the groups"
is "${said[3]}" frame "the filter, then the table"
like "${said[4]}" "63 %.*d5/near-3.txt" \
	"a group is opened, its third file reached"
is "${said[5]}:${said[6]}" file-3.txt:0 "back to the group, which closes"
is "${said[7]}" file-1.txt "to the end and the start"
like "${said[9]}" "^tile" "from area to area"
like "${said[10]}:${said[11]}" "/.*d[0-9].*:all directories$" \
	"into a directory and back"
like "${said[12]}" "^Copies by score: .* near copies, .* exact copies" \
	"the scores in words"
like "${said[14]}" "^1 group chosen: .*" "a group is chosen"
like "${said[15]}" "^1,000 groups chosen: .*" "all that are shown"
is "${said[16]}" true "and none"
is "${said[17]}" 0 "everything has a name that can be read aloud"

# ---- windows ----

browse <<-END
	open $T/1000.html
	eval getComputedStyle(document.body).backgroundColor
	media prefers-color-scheme dark
	eval getComputedStyle(document.body).backgroundColor
	size 360 740
	open $T/1000.html
	eval document.documentElement.scrollWidth
	click .row.group
	eval $(text ".row.file")
	eval [...document.querySelectorAll('.row')].filter(r => r.getBoundingClientRect().right > 360).length
	size 1000 800
	media print
	eval getComputedStyle(document.body).backgroundColor
	eval (dispatchEvent(new Event('beforeprint')), document.querySelectorAll('.row').length)
	eval new Set([...document.querySelectorAll('.row')].map((r, i, all) => !i || Math.round(r.getBoundingClientRect().top - all[i - 1].getBoundingClientRect().bottom))).size
	eval (dispatchEvent(new Event('afterprint')), document.querySelectorAll('.row').length < 80)
	media screen
	print $T/paper.pdf
END
is "${said[1]}:${said[2]}" "rgb(251, 251, 250):rgb(22, 24, 27)" \
	"light and dark"
between "${said[4]}" 1 360 "a narrow window"
like "${said[5]}" "head.*file-1.txt" "shows a group, too"
is "${said[6]}" 0 "and nothing beyond its edge"
is "${said[7]}" "rgb(255, 255, 255)" "paper is white in the dark, too"
is "${said[8]}:${said[10]}" 300:true "on paper are the first lines"
is "${said[9]}" 2 "without space between them"
between "$(grep -ac '/Type /Page$' "$T/paper.pdf")" 5 30 "and can be printed"

finish
