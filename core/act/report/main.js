// SPDX-License-Identifier: Apache-2.0
"use strict";

// Puts the parts together: a change of the filter goes to all of them.

class Page {
	constructor(model) {
		this.model = model;
		this.filter = new Filter(model);
		this.groups = new GroupTable(model, this.filter, (sort, down) =>
			this.order(sort, down));
		this.form = document.getElementById("filter");
		this.input = (name) => document.getElementById("filter-" + name);
		this.listen();
	}

	// The groups first: the reader waits for them.
	start() {
		showAbout(this.model);
		this.update();
		this.treemap = new Treemap(this.model, (d) => this.enter(d));
		this.histogram = new Histogram(this.model);
		this.treemap.show(this.treemap.last(0));
		this.histogram.show(this.found);
		showPairs(this.model, (d) => {
			this.enter(d);
			document.getElementById("where-title").scrollIntoView();
		});
		showUnread(this.model);
	}

	update() {
		const { model, filter } = this;

		this.found = filter.groups();
		this.groups.show(filter.sorted(this.found));
		this.histogram?.show(this.found);
		this.input("reset").disabled = filter.isClear;
		document.getElementById("count").textContent = this.summary(
			d3.sum(this.found, (g) => model.inCopies(g)));
	}

	summary(bytes) {
		const all = this.model.groupCount;
		const n = this.found.length;
		const of = n === all ? formatCount(n, "group", "groups") :
			`${formatCount(n)} of ${formatCount(all, "group",
				"groups")}`;
		const where = this.filter.dir ? " with files in " +
			nameText(this.model.dirBytes(this.filter.dir)) : "";

		return `${of}${where}: ${formatSize(bytes)} in copies`;
	}

	// ---- input ----

	listen() {
		let timer = 0;

		this.form.addEventListener("submit", (e) => e.preventDefault());
		this.form.addEventListener("input", () => {
			clearTimeout(timer);
			timer = setTimeout(() => this.take(), 90);
		});
		this.form.addEventListener("reset", (e) => {
			e.preventDefault();
			this.clear();
		});
		addEventListener("keydown", (e) => this.key(e));
	}

	take() {
		const { filter } = this;
		const score = (name, none) => {
			const value = parseInt(this.input(name).value, 10);

			return value >= 1 && value <= 100 ? value : none;
		};

		filter.text = this.input("text").value;
		filter.kind = this.input("kind").value;
		filter.least = Number(this.input("size").value);
		filter.low = score("low", 0);
		filter.high = score("high", 100);
		this.update();
	}

	clear() {
		this.filter.clear();
		for (const name of ["text", "low", "high"])
			this.input(name).value = "";
		this.input("kind").value = "all";
		this.input("size").value = "0";
		if (this.filter.dir)
			this.enter(0);
		else
			this.update();
	}

	enter(d) {
		this.filter.dir = d;
		this.treemap.show(d || this.treemap.last(0));
		this.update();
	}

	order(sort, down) {
		this.filter.sort = sort;
		this.filter.down = down;
		this.groups.show(this.filter.sorted(this.found));
	}

	key(event) {
		const typing = event.target.closest("input, select, textarea");

		if (event.key === "/" && !typing) {
			this.input("text").focus();
			event.preventDefault();
		} else if (event.key === "Escape" &&
			event.target === this.input("text")) {
			this.clear();
		}
	}
}

let page;

async function startPage() {
	try {
		page = new Page(await readModel());
		page.start();
		document.documentElement.dataset.state = "ready";
		performance.mark("ready");
	} catch (error) {
		const failure = document.getElementById("failure");

		failure.textContent = "The report cannot be shown: " +
			(typeof DecompressionStream === "undefined" ?
				"this browser is too old." : error.message);
		failure.hidden = false;
		document.documentElement.dataset.state = "failed";
	}
}

startPage();
