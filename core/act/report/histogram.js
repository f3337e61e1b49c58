// SPDX-License-Identifier: Apache-2.0
"use strict";

// How many copies of the groups that are shown have each score.  Exact copies have
// a bar of their own.  A bar that would hide all others is cut off.

class Histogram {
	constructor(model) {
		this.model = model;
		this.element = document.getElementById("histogram");
		this.status = document.getElementById("histogram-status");
		this.from = Math.max(1,
			Math.floor(Math.min(model.about.threshold, 60) / 10) * 10);
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

	show(groups) {
		const counts = this.count(groups);
		const [first, second] = counts.slice().sort().reverse();
		const most = second && first > 2 * second ? second * 1.25 :
			first;
		const near = d3.sum(counts.subarray(0, 100));
		const plot = make("div", "plot");

		for (let s = this.from; s <= 100; s++)
			plot.append(this.bar(s, counts[s], most));
		this.element.replaceChildren(...this.grid(most), plot,
			make("span", "axis x",
				"Score: per cent alike with the head"),
			make("span", "axis y", "Copies"));
		this.status.textContent =
			`${formatCount(near, "near copy", "near copies")}, ` +
			formatCount(counts[100], "exact copy", "exact copies") +
			(first > most ? "; a jagged bar is higher than drawn" :
				"");
		this.element.setAttribute("aria-label",
			"Copies by score: " + this.status.textContent);
	}

	bar(score, n, most) {
		const bar = make("div", "bar");
		const height = most ? Math.min(n / most, 1) * 100 : 0;

		bar.title = `Score ${score}: ${formatCount(n)}`;
		bar.append(make("i"));
		bar.firstChild.style.height = n ? `max(2px, ${height}%)` : "0";
		if (score % 10 === 0)
			bar.append(make("b", "", score));
		bar.classList.toggle("same", score === 100);
		bar.classList.toggle("over", n > most);
		return bar;
	}

	grid(most) {
		return d3.ticks(0, most, 4).filter(Number.isInteger).map((tick) => {
			const line = make("div", "grid");

			line.append(make("span", "", formatCount(tick)));
			line.style.bottom = `calc(42px + (100% - 66px) * ${
				most ? tick / most : 0})`;
			return line;
		});
	}
}
