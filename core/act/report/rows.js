// SPDX-License-Identifier: Apache-2.0
"use strict";

// The lines of the groups, as elements.

class Rows {
	constructor(model) {
		this.model = model;
	}

	// check: whether the group is chosen.
	group(g, open, most, check) {
		const { model } = this;
		const row = make("div", "cells row group");
		const name = make("div");
		const f = model.firstFile(g);
		const arrow = make("span", "open", "›");

		arrow.setAttribute("aria-hidden", "true");
		name.append(this.checkbox("Choose this group", check), arrow,
			nameElement(model.fileNameBytes(f)),
			this.placeElement(f, "  "));
		row.setAttribute("aria-level", "1");
		row.setAttribute("aria-expanded", String(open));
		row.append(name, this.number(formatCount(model.endFile(g) - f)),
			this.number(model.low[g]),
			this.sizeCell(model.exact[g]),
			this.sizeCell(model.near[g]), this.totalCell(g, most));
		return row;
	}

	checkbox(label, checked) {
		const box = make("input", "choose");

		box.type = "checkbox";
		box.checked = checked;
		box.tabIndex = -1;
		box.setAttribute("aria-label", label);
		return box;
	}

	number(text) {
		return make("div", "number extra", text);
	}

	sizeCell(bytes) {
		const cell = this.number(formatSize(bytes));

		cell.classList.toggle("zero", !bytes);
		return cell;
	}

	// With a line that compares it with the largest.
	totalCell(g, most) {
		const { model } = this;
		const cell = make("div", "number total",
			formatSize(model.inCopies(g)));
		const unit = 1000 / Math.max(most, model.inCopies(g));
		const near = unit * model.near[g];
		const exact = unit * model.exact[g];
		const space = "http://www.w3.org/2000/svg";
		const svg = document.createElementNS(space, "svg");
		const rect = (kind, x, width) => {
			const r = document.createElementNS(space, "rect");

			r.setAttribute("class", kind);
			r.setAttribute("x", x);
			r.setAttribute("width", width);
			r.setAttribute("height", 10);
			svg.append(r);
		};

		svg.setAttribute("viewBox", "0 0 1000 10");
		svg.setAttribute("preserveAspectRatio", "none");
		svg.setAttribute("aria-hidden", "true");
		rect("near", 1000 - near, near);
		rect("exact", 1000 - near - exact, exact);
		cell.append(svg);
		return cell;
	}

	placeElement(f, before) {
		const { model } = this;
		const d = model.fileDir[f];
		const place = make("span", "place");

		if (before)
			place.append(before);
		if (d)
			place.append(nameElement(model.dirBytes(d)));
		if (d && !before)
			place.append("/");
		return place;
	}

	file(g, f) {
		const { model } = this;
		const m = model.memberOf(f);
		const row = make("div", "row file");
		const path = make("div");
		const copy = makeButton("copy", "Copy path", () =>
			this.copy(f, copy));

		path.append(this.placeElement(f),
			nameElement(model.fileNameBytes(f)));
		if (model.linkStart[f + 1] > model.linkStart[f])
			path.append(make("span", "tag", formatCount(
				model.linkStart[f + 1] - model.linkStart[f],
				"other name", "other names")));
		if (model.fileKeep[f])
			path.append(make("span", "tag", "to be kept"));
		copy.tabIndex = -1;
		row.setAttribute("aria-level", "2");
		row.append(this.markCell(g, m, f),
			make("div", "size number", formatSize(model.size[m])),
			path, make("div"),
			make("div", "date", formatDate(model.fileTime[f])));
		row.children[3].append(copy);
		return row;
	}

	markCell(g, m, f) {
		const { model } = this;
		const cell = make("div", "mark");

		if (f > model.memberStart[m])
			cell.textContent = "same";
		else if (m === model.groupStart[g])
			cell.append(make("b", "", "head"));
		else
			cell.append(make("b", "", model.score[m]), " %");
		cell.title = f > model.memberStart[m] ?
			"An exact copy of the file above" :
			m === model.groupStart[g] ?
				"The others are compared with this one" :
				"Alike with the head";
		return cell;
	}

	async copy(f, button) {
		let said = "Copied";

		try {
			await navigator.clipboard.writeText(
				shellText(this.model.fileBytes(f)));
		} catch {
			said = "Not allowed";
		}
		button.textContent = said;
	}
}
