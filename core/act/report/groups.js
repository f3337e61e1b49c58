// SPDX-License-Identifier: Apache-2.0
"use strict";

// The groups as a tree in a table (ARIA: treegrid).  A line is a group, or a
// file of a group that is open.  All lines are equally high and only those in
// view exist, so 100,000 groups cost no more than ten.  The table itself has
// the focus; aria-activedescendant names the current line, which therefore may
// come and go.

const COLUMNS = [
	{ sort: "name", title: "Group", down: false },
	{ sort: "files", title: "Files", down: true, extra: true },
	{ sort: "score", title: "Score", down: false, extra: true,
		tip: "The least score in the group" },
	{ sort: "exact", title: "Exact", down: true, extra: true },
	{ sort: "near", title: "Near", down: true, extra: true },
	{ sort: "saved", title: "In copies", down: true },
];

// Browsers limit the height of an element; more lines than this scroll faster.
const MOST_HEIGHT = 8e6;
const SPARE = 6; // lines above and below those in view
const PRINTED = 300;

class GroupTable {
	// order(sort, down) is called when the user wants another order.
	constructor(model, filter, order) {
		this.model = model;
		this.filter = filter;
		this.order = order;
		this.rows = new Rows(model);
		this.chosen = new Chosen(model, () => this.showChosen());
		this.printing = false;
		this.groups = new Uint32Array(0);
		this.opened = new Set();
		this.layout = [];
		this.lines = new Map();
		this.current = 0;
		this.most = 1;
		this.build();
		this.listen();
	}

	build() {
		this.frame = make("div", "frame");
		this.frame.tabIndex = 0;
		this.frame.setAttribute("role", "treegrid");
		this.frame.setAttribute("aria-labelledby", "groups-title");
		this.frame.setAttribute("aria-colcount", COLUMNS.length);
		this.frame.setAttribute("aria-multiselectable", "true");
		this.head = make("div", "cells head");
		this.head.setAttribute("role", "row");
		this.head.setAttribute("aria-rowindex", "1");
		for (const column of COLUMNS)
			this.head.append(this.title(column));
		this.all = this.rows.checkbox("Choose all that are shown", false);
		this.all.addEventListener("change", () => this.chooseAll());
		this.head.firstChild.prepend(this.all);
		this.scroll = make("div", "scroll");
		this.scroll.tabIndex = -1; // browsers focus scrollable elements
		this.scroll.setAttribute("role", "rowgroup");
		this.space = make("div");
		this.space.setAttribute("role", "presentation");
		this.scroll.append(this.space);
		this.frame.append(this.head, this.scroll);
		document.getElementById("table").replaceChildren(this.frame);
		this.measure();
	}

	title(column) {
		const cell = make("div", column.sort === "name" ? "" : "number");

		cell.setAttribute("role", "columnheader");
		cell.classList.toggle("extra", !!column.extra);
		cell.append(makeButton("", column.title, () =>
			this.order(column.sort, this.filter.sort === column.sort ?
				!this.filter.down : column.down)));
		cell.lastChild.title = column.tip ?? "";
		return cell;
	}

	listen() {
		this.scroll.addEventListener("scroll", () => this.draw());
		this.scroll.addEventListener("focus", () =>
			this.frame.focus({ preventScroll: true }));
		this.frame.addEventListener("keydown", (e) => this.key(e));
		this.scroll.addEventListener("click", (e) => this.click(e));
		new ResizeObserver(() => {
			this.measure();
			this.draw();
		}).observe(this.scroll);
		addEventListener("beforeprint", () => this.print(true));
		addEventListener("afterprint", () => this.print(false));
	}

	measure() {
		const height = parseFloat(getComputedStyle(
			document.documentElement).getPropertyValue("--row"));

		if (height === this.height)
			return;
		this.height = height;
		this.clearLines();
		this.arrange();
	}

	// ---- which lines there are ----

	show(groups) {
		this.groups = groups;
		this.most = this.scale(groups);
		this.current = 0;
		this.scroll.scrollTop = 0;
		this.clearLines();
		this.arrange();
		this.showOrder();
		this.showChosen();
		this.draw();
	}

	// ---- choosing ----

	choose(g) {
		this.chosen.set([g], !this.chosen.has(g));
	}

	chooseAll() {
		const { groups, chosen } = this;

		chosen.set(groups, !groups.every((g) => chosen.has(g)));
	}

	showChosen() {
		const { groups, chosen } = this;
		const n = groups.reduce((sum, g) => sum + chosen.has(g), 0);

		this.all.checked = n > 0 && n === groups.length;
		this.all.indeterminate = n > 0 && n < groups.length;
		for (const row of this.space.children)
			this.showChoice(row);
	}

	showChoice(row) {
		const { group, file } = this.at(row.line);

		if (file !== undefined)
			return;
		row.querySelector(".choose").checked = this.chosen.has(group);
		row.setAttribute("aria-selected",
			String(this.chosen.has(group)));
	}

	// What the full width of the lines that compare stands for.  One group
	// that is much larger than all others would leave them without any.
	scale(groups) {
		let [most, next] = [1, 1];

		for (const g of groups) {
			const bytes = this.model.inCopies(g);

			next = Math.max(next, Math.min(bytes, most));
			most = Math.max(most, bytes);
		}
		return Math.min(most, 4 * next);
	}

	showOrder() {
		COLUMNS.forEach((column, i) => {
			const cell = this.head.children[i];

			if (column.sort === this.filter.sort)
				cell.setAttribute("aria-sort", this.filter.down ?
					"descending" : "ascending");
			else
				cell.removeAttribute("aria-sort");
		});
	}

	// layout: the open groups in view, with the line where each starts.
	arrange() {
		let before = 0;

		this.layout = [];
		if (this.opened.size)
			this.groups.forEach((g, i) => {
				if (!this.opened.has(g))
					return;
				this.layout.push({ place: i, line: i + before });
				before += this.fileCount(g);
			});
		this.count = this.groups.length + before;
		this.full = this.count * this.height;
		this.space.style.height =
			Math.min(this.full, MOST_HEIGHT) + "px";
		this.frame.setAttribute("aria-rowcount", this.count + 1);
		this.frame.querySelector(".none")?.remove();
		if (!this.count)
			this.frame.append(make("p", "none",
				this.model.groupCount ?
					"No group passes the filter." :
					"No near-duplicates were found."));
	}

	fileCount(g) {
		return this.model.endFile(g) - this.model.firstFile(g);
	}

	// { group, place } of a line, and file, of which a group's own has none.
	at(line) {
		const i = d3.bisector((o) => o.line).right(this.layout, line) - 1;
		const open = this.layout[i];
		let place = line;

		if (open) {
			const group = this.groups[open.place];
			const after = line - open.line - this.fileCount(group);

			if (after <= 0 && line > open.line)
				return { group, place: open.place,
					file: this.model.firstFile(group) +
						line - open.line - 1 };
			place = line > open.line ? open.place + after :
				open.place;
		}
		return { group: this.groups[place], place };
	}

	lineOf(place) {
		const i = d3.bisector((o) => o.place).left(this.layout, place);
		const before = this.layout[i - 1];

		return before ? before.line + place - before.place +
			this.fileCount(this.groups[before.place]) : place;
	}

	// ---- drawing ----

	// Where the view starts, in the height that all lines would have.
	get top() {
		const { scrollTop, clientHeight } = this.scroll;

		if (this.full <= MOST_HEIGHT)
			return scrollTop;
		return scrollTop / (MOST_HEIGHT - clientHeight) *
			(this.full - clientHeight);
	}

	scrollTo(top) {
		const { clientHeight } = this.scroll;

		this.scroll.scrollTop = this.full <= MOST_HEIGHT ? top :
			top / (this.full - clientHeight) *
				(MOST_HEIGHT - clientHeight);
	}

	clearLines() {
		this.lines.clear();
		this.space.textContent = "";
	}

	draw() {
		if (this.printing)
			return;

		const top = this.top;
		const first = Math.max(0, Math.floor(top / this.height) - SPARE);
		const end = Math.min(this.count, SPARE +
			Math.ceil((top + this.scroll.clientHeight) /
				this.height));

		for (const [line, row] of this.lines)
			if (line < first || line >= end) {
				row.remove();
				this.lines.delete(line);
			}
		for (let line = first; line < end; line++)
			this.place(this.line(line), line,
				top - this.scroll.scrollTop);
		this.mark();
	}

	place(row, line, shift) {
		row.style.transform =
			`translateY(${line * this.height - shift}px)`;
	}

	// Lines stay in the order of the table, for those that read it aloud.
	line(line) {
		let row = this.lines.get(line);

		if (row)
			return row;
		row = this.makeRow(line);
		this.lines.set(line, row);
		this.space.insertBefore(row, [...this.space.children].find((r) =>
			r.line > line) ?? null);
		return row;
	}

	makeRow(line) {
		const { group, place, file } = this.at(line);
		const row = file === undefined ?
			this.rows.group(group, this.opened.has(group),
				this.most, this.chosen.has(group)) :
			this.rows.file(group, file);

		row.line = line;
		row.id = "line-" + line;
		row.setAttribute("role", "row");
		row.setAttribute("aria-rowindex", line + 2);
		if (file === undefined) {
			row.setAttribute("aria-posinset", place + 1);
			row.setAttribute("aria-setsize", this.groups.length);
		}
		for (const cell of row.children)
			cell.setAttribute("role", "gridcell");
		this.showChoice(row);
		return row;
	}

	// ---- the current line ----

	mark() {
		for (const row of this.space.children) {
			const current = row.line === this.current;

			row.classList.toggle("current", current);
		}
		if (this.lines.has(this.current))
			this.frame.setAttribute("aria-activedescendant",
				"line-" + this.current);
		else
			this.frame.removeAttribute("aria-activedescendant");
	}

	go(line) {
		const view = this.scroll.clientHeight;
		const at = Math.max(0, Math.min(line, this.count - 1));
		const from = at * this.height;

		this.current = at;
		if (from < this.top)
			this.scrollTo(from);
		else if (from + this.height > this.top + view)
			this.scrollTo(from + this.height - view);
		this.draw();
	}

	open(g, wanted) {
		if (this.opened.has(g) === wanted)
			return;
		if (wanted)
			this.opened.add(g);
		else
			this.opened.delete(g);
		this.clearLines();
		this.arrange();
		this.draw();
	}

	click(event) {
		const row = event.target.closest(".row");

		if (!row || event.target.closest("button"))
			return;
		this.current = row.line;
		const { group, file } = this.at(row.line);

		if (event.target.closest(".choose"))
			this.choose(group);
		else if (file === undefined && !String(getSelection()))
			this.open(group, !this.opened.has(group));
		else
			this.mark();
	}

	// Left in a group: it closes; in a file: to its group.
	left({ group, place, file }) {
		if (file === undefined)
			this.open(group, false);
		else
			this.go(this.lineOf(place));
	}

	key(event) {
		const page = Math.max(1, Math.floor(this.scroll.clientHeight /
			this.height) - 1);
		const to = { ArrowDown: this.current + 1,
			ArrowUp: this.current - 1, PageDown: this.current + page,
			PageUp: this.current - page, Home: 0,
			End: this.count - 1 }[event.key];

		if (event.altKey || event.ctrlKey || event.metaKey ||
			!this.count || event.target !== this.frame)
			return;
		if (to !== undefined)
			this.go(to);
		else if (!this.act(event.key, this.at(this.current)))
			return;
		event.preventDefault();
	}

	act(key, at) {
		const isGroup = at.file === undefined;

		if (key === "ArrowLeft")
			this.left(at);
		else if (key === "ArrowRight" && isGroup)
			this.open(at.group, true);
		else if (key === "Enter" && isGroup)
			this.open(at.group, !this.opened.has(at.group));
		else if (key === " ")
			this.choose(at.group);
		else if (key === "a")
			this.chooseAll();
		else if (key === "c" && !isGroup)
			this.lines.get(this.current)?.querySelector(".copy")
				.click();
		else
			return false;
		return true;
	}

	// ---- paper ----

	// On paper the first lines are all there.
	print(start) {
		this.printing = start;
		this.clearLines();
		if (!start) {
			this.frame.querySelector(".none")?.remove();
			this.arrange();
			this.draw();
			return;
		}
		for (let i = 0; i < Math.min(this.count, PRINTED); i++)
			this.line(i);
		if (this.count > PRINTED)
			this.frame.append(make("p", "none",
				`The first ${PRINTED} of ${
					formatCount(this.count)} lines.`));
	}
}
