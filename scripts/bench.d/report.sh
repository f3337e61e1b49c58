# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# The page of kin report with 10, 1,000 and 100,000 groups of three files, which
# are put into the page of a small tree: its size, and when a browser has painted
# it first and can be used; a search in the names, and another order.  Part of
# scripts/bench, which reads this file.

# report_groups NUMBER: as kin groups --json prints them.
report_groups()
{
	seq "$1" | awk -v n="$1" '{
		size = 100 * (n - $1 + 1)
		printf "{\"group\":%d,\"threshold\":60,\"members\":[", $1
		printf "{\"score\":100,\"head\":true,\"size\":%d,", size
		printf "\"files\":[{\"path\":\"d%d/in/file-%d.txt\"},", \
			$1 % 500, $1
		printf "{\"path\":\"d%d/copy-%d.txt\"}]},", ($1 + 1) % 500, $1
		printf "{\"score\":%d,\"size\":%d,\"files\":[{", \
			60 + $1 % 40, size
		printf "\"path\":\"d%d/near-%d.txt\"}]}]}\n", \
			($1 + 2) % 500, $1
	}'
}

# In the page: milliseconds of an action, with what it lays out.
report_timed()
{
	printf '%s' "(() => { const s = performance.now(); $1; " \
		"document.body.offsetHeight; " \
		"return Math.round(performance.now() - s); })()"
}

# report_browser FILE: milliseconds to the first paint, to the use, of a search
# and of an order, a line each.
report_browser()
{
	python3 "$here/../tests/e2e/helper/browser.py" "$top/report/profile" <<-END
		open $1
		until performance.getEntriesByName('first-contentful-paint')[0]
		eval Math.round(performance.getEntriesByName('first-contentful-paint')[0].startTime)
		eval Math.round(performance.getEntriesByName('ready')[0].startTime)
		eval $(report_timed "page.filter.text = 'copy-7'; page.update()")
		eval (page.filter.text = '', page.update(), 0)
		eval $(report_timed "page.order('name', false)")
	END
}

# report_median FIELD: of the lines that report_browser printed.
report_median()
{
	cut -d ' ' -f "$1" report/times | median
}

report_row()
{
	printf '%-24s %12.4g %s\n' "$@"
	note report "$row_groups" "$@"
}

report_pages()
{
	local run page=$top/report/$row_groups.html

	: >report/times
	for ((run = 0; run < runs; run++)); do
		report_browser "$page" | sed 1d | tr '\n' ' ' |
			cut -d ' ' -f 1,2,3,5 >>report/times
	done
	report_row paint "$(report_median 1)" ms
	report_row usable "$(report_median 2)" ms
	report_row search "$(report_median 3)" ms
	report_row order "$(report_median 4)" ms
}

bench_report()
{
	mkdir -p report/source report/mnt
	printf one | tee report/source/a >report/source/b
	"$kinfs" "$top/report/source" "$top/report/mnt" \
		-o "db=$top/report/catalog" || die "mount failed"
	"$kin" wait "$top/report/mnt" >/dev/null || die "kin wait failed"
	"$kin" report -o report/template.html "$top/report/mnt" ||
		die "kin report failed"
	unmount "$top/report/mnt"
	for row_groups in 10 1000 100000; do
		printf '\nreport of %s groups\n' "$row_groups"
		report_groups "$row_groups" >report/groups
		python3 "$here/../tests/e2e/helper/report_groups.py" \
			report/template.html report/groups \
			>"report/$row_groups.html"
		report_row page "$(stat -c %s "report/$row_groups.html")" bytes
		command -v chromium >/dev/null && report_pages
	done
}
