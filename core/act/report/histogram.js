// SPDX-License-Identifier: Apache-2.0
"use strict";

// How many copies have each score, of the groups that pass the other filters.
// A click chooses a score, a click with Shift a range of them.  Exact copies
// have a bar of their own.  A bar that would hide all others is cut off.

class Histogram {
	// choose(low, high) is called when the user wants these scores alone.
	constructor(model, choose) {
		this.model = model;
		this.choose = choose;
		this.element = document.getElementById("histogram");
		this.status = document.getElementById("histogram-status");
		this.from = this.leastScore();
		this.plot = make("div", "plot");
		this.element.append(this.plot, make("span", "axis x",
			"Score: per cent alike with the head"),
			make("span", "axis y", "Copies"));
		for (let s = this.from; s <= 100; s++)
			this.plot.append(this.bar(s));
		this.plot.firstChild.tabIndex = 0;
		this.plot.addEventListener("keydown", (e) => this.key(e));
		for (const type of ["pointerover", "focusin"])
			this.plot.addEventListener(type, (e) =>
				this.tell(e.target.closest(".bar")));
		this.plot.addEventListener("pointerleave", () =>
			this.tell(null));
	}

	// A multiple of ten.
	leastScore() {
		const { score, memberCount } = this.model;
		let least = 60;

		for (let m = 0; m < memberCount; m++)
			least = Math.min(least, score[m]);
		return Math.max(1, Math.floor(least / 10) * 10);
	}

	bar(score) {
		const bar = makeButton("bar", "", (event) => this.pick(score,
			event.shiftKey));

		bar.score = score;
		bar.tabIndex = -1;
		bar.append(make("i"));
		if (score % 10 === 0)
			bar.append(make("b", "", score));
		bar.classList.toggle("same", score === 100);
		return bar;
	}

	pick(score, range) {
		const { low, high } = this.limits;

		if (range && this.picked)
			this.choose(Math.min(low, score), Math.max(high, score));
		else if (this.picked && low === score && high === score)
			this.choose(0, 100);
		else
			this.choose(score, score);
	}

	count(groups) {
		const { score, groupStart, memberStart, fileGoes } = this.model;
		const counts = new Uint32Array(101);

		for (const g of groups)
			for (let m = groupStart[g]; m < groupStart[g + 1]; m++) {
				if (m > groupStart[g])
					counts[Math.min(score[m], 99)]++;
				for (let f = memberStart[m];
					f < memberStart[m + 1]; f++)
					counts[100] += fileGoes[f] > 0;
			}
		return counts;
	}

	show(groups, filter) {
		const counts = this.count(groups);
		const [first, second] = counts.slice().sort().reverse();
		const most = second && first > 2 * second ? second * 1.25 :
			first;
		const ticks = d3.ticks(0, most, 4).filter(Number.isInteger);

		this.counts = counts;
		this.limits = { low: filter.low, high: filter.high };
		this.picked = filter.hasScore;
		this.plot.classList.toggle("picked", this.picked);
		for (const bar of this.plot.children)
			this.draw(bar, most);
		this.drawGrid(ticks, most);
		this.tell(null);
	}

	draw(bar, most) {
		const n = this.counts[bar.score];
		const height = most ? Math.min(n / most, 1) * 100 : 0;
		const within = bar.score >= this.limits.low &&
			bar.score <= this.limits.high;

		bar.firstChild.style.height = n ?
			`max(2px, ${height}%)` : "0";
		bar.classList.toggle("over", n > most);
		bar.setAttribute("aria-pressed", String(this.picked && within));
		bar.setAttribute("aria-label", this.sentence(bar.score));
	}

	drawGrid(ticks, most) {
		for (const old of this.element.querySelectorAll(".grid"))
			old.remove();
		for (const tick of ticks) {
			const line = make("div", "grid");

			line.setAttribute("aria-hidden", "true");
			line.append(make("span", "", formatCount(tick)));
			line.style.bottom = `calc(42px + (100% - 66px) * ${
				most ? tick / most : 0})`;
			this.element.prepend(line);
		}
	}

	sentence(score) {
		const n = this.counts[score];

		if (score === 100)
			return `Score 100: ${formatCount(n, "exact copy",
				"exact copies")}`;
		return `Score ${score}: ${formatCount(n, "near copy",
			"near copies")}`;
	}

	tell(bar) {
		const near = d3.sum(this.counts.subarray(0, 100));

		this.status.textContent = bar ? this.sentence(bar.score) :
			`${formatCount(near, "near copy", "near copies")}, ` +
			formatCount(this.counts[100], "exact copy",
				"exact copies") +
			(this.plot.querySelector(".over") ?
				"; a jagged bar is higher than drawn" : "");
	}

	key(event) {
		const bar = event.target.closest(".bar");
		const next = { ArrowLeft: bar?.previousSibling,
			ArrowRight: bar?.nextSibling,
			Home: this.plot.firstChild,
			End: this.plot.lastChild }[event.key];

		if (!next || event.altKey || event.ctrlKey || event.metaKey)
			return;
		event.preventDefault();
		bar.tabIndex = -1;
		next.tabIndex = 0;
		next.focus();
	}
}
