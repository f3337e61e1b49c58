// SPDX-License-Identifier: Apache-2.0
"use strict";

// Which groups are shown, and in which order.

class Filter {
	constructor(model) {
		this.model = model;
		this.dir = 0;
		this.sort = "saved";
		this.down = true;
		this.clear();
	}

	clear() {
		this.text = "";
		this.kind = "all";
		this.least = 0;
		this.low = 0;
		this.high = 100;
	}

	get isClear() {
		return !this.text && this.kind === "all" && !this.least &&
			!this.hasScore && !this.dir;
	}

	get hasScore() {
		return this.low > 0 || this.high < 100;
	}

	// Groups that pass, in the order of the report.
	groups() {
		const { model, kind, least } = this;
		const tests = [];
		const found = [];

		if (kind === "exact")
			tests.push((g) => model.exact[g] > 0);
		if (kind === "near")
			tests.push((g) => model.near[g] > 0);
		if (least)
			tests.push((g) => model.inCopies(g) >= least);
		if (this.dir)
			tests.push(this.anyFile(this.filesWithin()));
		if (this.text)
			tests.push(this.anyFile(this.filesNamed()));
		if (this.hasScore)
			tests.push((g) => this.hasMember(g));
		for (let g = 0; g < model.groupCount; g++)
			if (tests.every((test) => test(g)))
				found.push(g);
		return Uint32Array.from(found);
	}

	// Copies of one content have the score 100 with one another.
	hasMember(g) {
		const { score, groupStart, memberStart } = this.model;
		const { low, high } = this;

		if (high === 100 && this.model.exact[g])
			return true;
		for (let m = groupStart[g] + 1; m < groupStart[g + 1]; m++)
			if (score[m] >= low && score[m] <= high)
				return memberStart[m + 1] > memberStart[m];
		return false;
	}

	anyFile(test) {
		const model = this.model;

		return (g) => {
			for (let f = model.firstFile(g); f < model.endFile(g);
				f++)
				if (test(f))
					return true;
			return false;
		};
	}

	filesWithin() {
		const { dirCount, dirParent, fileDir } = this.model;
		const within = new Uint8Array(dirCount);

		within[this.dir] = 1;
		for (let d = this.dir + 1; d < dirCount; d++)
			within[d] = within[dirParent[d]];
		return (f) => within[fileDir[f]];
	}

	filesNamed() {
		const { searchNames, searchDirs, fileDir } = this.model;
		const text = this.text.toLowerCase();
		const dirs = searchDirs.map((path) => path.includes(text));

		if (!text.includes("/"))
			return (f) => dirs[fileDir[f]] ||
				searchNames[f].includes(text);
		return (f) => dirs[fileDir[f]] ||
			(searchDirs[fileDir[f]] + searchNames[f])
				.includes(text);
	}

	// ---- order ----

	keys(groups) {
		const model = this.model;
		const keys = new Float64Array(model.groupCount);
		const key = {
			saved: (g) => model.inCopies(g),
			exact: (g) => model.exact[g],
			near: (g) => model.near[g],
			score: (g) => model.low[g],
			files: (g) => model.endFile(g) - model.firstFile(g),
		}[this.sort];

		for (const g of groups)
			keys[g] = key(g);
		return keys;
	}

	nameKeys(groups) {
		const { searchNames, searchDirs, fileDir } = this.model;
		const keys = [];

		for (const g of groups) {
			const f = this.model.firstFile(g);

			keys[g] = searchNames[f] + "\0" +
				searchDirs[fileDir[f]];
		}
		return keys;
	}

	sorted(groups) {
		const keys = this.sort === "name" ? this.nameKeys(groups) :
			this.keys(groups);
		const sign = this.down ? -1 : 1;

		return groups.slice().sort((a, b) => {
			if (keys[a] === keys[b])
				return a - b;
			return keys[a] < keys[b] ? -sign : sign;
		});
	}
}
