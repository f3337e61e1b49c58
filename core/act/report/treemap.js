// SPDX-License-Identifier: Apache-2.0
"use strict";

// Directories as areas: two levels below the one that is shown, laid out by
// d3.treemap().  The arrows move between areas, Enter goes into one, Backspace
// back.  An area that would leave the others no room is drawn smaller, and is
// marked as cut.

const TILES = { outer: 200, inner: 200 };
const SMALLEST = 3; // pixels
const LARGEST = 4; // times all that are smaller
const CUT = 3; // so many of them

class Treemap {
	// choose(d) is called when the user wants to see directory d.
	constructor(model, choose) {
		this.model = model;
		this.choose = choose;
		this.element = document.getElementById("treemap");
		this.status = document.getElementById("treemap-status");
		this.dir = 0;
		this.element.addEventListener("keydown", (e) => this.key(e));
		for (const type of ["pointerover", "focusin"])
			this.element.addEventListener(type, (e) =>
				this.tell(e.target.closest(".tile")));
		this.element.addEventListener("pointerleave", () =>
			this.tell(null));
		this.element.addEventListener("click", (e) =>
			this.enter(e.target.closest(".tile")));
		new ResizeObserver(() => this.resize()).observe(this.element);
	}

	// ---- the areas ----

	// A directory with one directory in it and nothing else is one area.
	last(d) {
		const { children, ownExact, ownNear } = this.model;

		while (children[d]?.length === 1 && !ownExact[d] && !ownNear[d])
			d = children[d][0];
		return d;
	}

	area(d, from) {
		const { dirExact, dirNear, dirFiles } = this.model;

		return { dir: d, from, exact: dirExact[d], near: dirNear[d],
			count: dirFiles[d] };
	}

	// The directories in d, the largest first, and its own files.
	areasIn(d, most) {
		const { children, ownExact, ownNear, ownFiles } = this.model;
		const areas = (children[d] ?? []).map((c) =>
			this.area(this.last(c), d));
		const rest = { rest: 0, exact: 0, near: 0, count: 0 };

		if (ownExact[d] + ownNear[d])
			areas.push({ files: true, from: d, exact: ownExact[d],
				near: ownNear[d], count: ownFiles[d] });
		areas.sort((a, b) => b.exact + b.near - a.exact - a.near);
		for (const a of areas.splice(most)) {
			rest.rest++;
			rest.exact += a.exact;
			rest.near += a.near;
			rest.count += a.count;
		}
		return rest.rest ? [...areas, rest] : areas;
	}

	tree() {
		const inner = (a) => a.dir && this.model.children[a.dir] ?
			this.scaled(this.areasIn(a.dir, TILES.inner), a.scale) :
			null;

		return { children: this.scaled(this.areasIn(this.dir,
			TILES.outer), 1).map((a) =>
			({ ...a, children: inner(a) })) };
	}

	// Areas with the scale at which each is drawn: all add up to the whole.
	scaled(areas, whole) {
		const size = (a) => a.exact + a.near;
		const order = d3.sort(areas, size);
		const drawn = new Map();
		let sum = 0;

		order.forEach((a, i) => {
			const most = sum && i >= order.length - CUT ?
				LARGEST * sum : Infinity;

			drawn.set(a, Math.min(size(a), most));
			sum += drawn.get(a);
		});
		return areas.map((a) => ({ ...a, cut: drawn.get(a) < size(a),
			scale: whole * drawn.get(a) / sum }));
	}

	// ---- drawing ----

	show(d) {
		const had = this.element.contains(document.activeElement);

		this.dir = d;
		this.crumbs();
		this.draw();
		this.tell(null);
		if (had)
			this.tiles()[0]?.focus();
	}

	draw() {
		const { clientWidth, clientHeight } = this.element;
		const root = d3.hierarchy(this.tree()).sum((a) =>
			a.children ? 0 : a.scale ?? 0);
		const tiles = document.createDocumentFragment();

		this.width = clientWidth;
		this.height = clientHeight;
		this.element.textContent = "";
		if (!root.value) {
			this.element.append(make("p", "empty",
				"There are no copies here."));
			return;
		}
		d3.treemap().size([clientWidth, clientHeight]).round(true)
			.paddingInner((n) => n.depth ? 2 : 4)
			.paddingTop((n) => this.isRoomy(n) ? 20 : 0)
			.paddingRight((n) => this.isRoomy(n) ? 4 : 0)
			.paddingBottom((n) => this.isRoomy(n) ? 4 : 0)
			.paddingLeft((n) => this.isRoomy(n) ? 4 : 0)(root);
		for (const node of root.children)
			this.drawNode(tiles, node);
		this.element.append(tiles);
		this.tiles()[0]?.setAttribute("tabindex", "0");
	}

	// Where there is room for a title and areas within.
	isRoomy(node) {
		return node.depth === 1 && node.children &&
			node.x1 - node.x0 > 70 && node.y1 - node.y0 > 56;
	}

	drawNode(tiles, node) {
		if (!this.isRoomy(node)) {
			tiles.append(this.tile(node, false));
			return;
		}
		tiles.append(this.tile(node, true));
		for (const child of node.children)
			if (Math.min(child.x1 - child.x0,
				child.y1 - child.y0) >= SMALLEST)
				tiles.append(this.tile(child, false));
	}

	tile(node, outer) {
		const a = node.data;
		const width = node.x1 - node.x0;
		const height = node.y1 - node.y0;
		const share = a.near / (a.exact + a.near);
		const tile = make("div", "tile");
		const name = this.label(a);

		tile.classList.add(outer ? "outer" :
			a.rest ? "rest" : "m" + Math.min(4,
				Math.floor(share * 5)));
		tile.classList.toggle("file", !!a.files);
		tile.classList.toggle("cut", a.cut);
		tile.classList.toggle("bare", width < 46 || height < 19);
		tile.classList.toggle("flat", outer ? width < 120 :
			height < 38 || width < 70);
		// In parts of the whole: paper is less wide than the window.
		tile.style.left = 100 * node.x0 / this.width + "%";
		tile.style.top = 100 * node.y0 / this.height + "%";
		tile.style.width = 100 * width / this.width + "%";
		tile.style.height = 100 * height / this.height + "%";
		tile.area = a;
		tile.tabIndex = -1;
		tile.setAttribute("role", a.dir ? "button" : "img");
		tile.setAttribute("aria-label", this.sentence(a));
		name.classList.add("name");
		tile.append(name, make("span", "size",
			formatSize(a.exact + a.near)));
		return tile;
	}

	label(a) {
		const { model } = this;

		if (a.rest)
			return make("span", "", formatCount(a.rest) + " more");
		if (a.files)
			return make("span", "", "files here");
		return nameElement(model.join(model.dirChain(a.dir)
			.slice(model.dirChain(a.from).length)
			.map((d) => model.dirNameBytes(d))));
	}

	path(a) {
		if (a.rest)
			return formatCount(a.rest, "smaller directory",
				"smaller directories");
		if (a.files)
			return "Files in " + (a.from ?
				nameText(this.model.dirBytes(a.from)) :
				"the top directory");
		return nameText(this.model.dirBytes(a.dir));
	}

	sentence(a) {
		const parts = [];

		if (a.exact)
			parts.push(formatSize(a.exact) + " exact");
		if (a.near)
			parts.push(formatSize(a.near) + " near");
		return `${this.path(a)}: ${parts.join(" and ")} in ` +
			formatCount(a.count, "copy", "copies") +
			(a.cut ? "; drawn smaller than it is" : "");
	}

	tell(tile) {
		const cut = this.element.querySelector(".cut") ?
			" A double edge: drawn smaller than it is." : "";

		this.status.textContent = tile ? this.sentence(tile.area) :
			this.model.groupCount ? "The larger the area, the more " +
				`are in copies; blue is exact, amber near.${cut}` :
				"";
	}

	// Only a width that changed needs another layout.
	resize() {
		if (this.element.clientWidth !== this.width)
			this.draw();
	}

	// ---- moving ----

	tiles() {
		return [...this.element.querySelectorAll(".tile")];
	}

	enter(tile) {
		if (tile?.area.dir)
			this.choose(tile.area.dir);
	}

	up() {
		if (this.dir)
			this.choose(this.first(this.dir));
	}

	// The directory above that is shown as an area of its own.
	first(d) {
		const { dirParent } = this.model;
		let above = dirParent[d];

		while (above && this.last(above) !== above)
			above = dirParent[above];
		return above;
	}

	key(event) {
		const tile = event.target.closest(".tile");
		const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0],
			ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];

		if (event.altKey || event.ctrlKey || event.metaKey)
			return;
		if (way && tile)
			this.move(tile, way);
		else if (event.key === "Enter" || event.key === " ")
			this.enter(tile);
		else if (event.key === "Backspace" || event.key === "Escape")
			this.up();
		else
			return;
		event.preventDefault();
	}

	// To the nearest centre in that direction, straight ones first.
	move(from, [dx, dy]) {
		const centre = (t) => [t.offsetLeft + t.offsetWidth / 2,
			t.offsetTop + (t.classList.contains("outer") ? 10 :
				t.offsetHeight / 2)];
		const [x, y] = centre(from);
		let best = null;
		let least = Infinity;

		for (const tile of this.tiles()) {
			const [tx, ty] = centre(tile);
			const along = (tx - x) * dx + (ty - y) * dy;
			const aside = Math.abs((tx - x) * dy) +
				Math.abs((ty - y) * dx);

			if (along > 0 && along + 2 * aside < least) {
				least = along + 2 * aside;
				best = tile;
			}
		}
		if (best) {
			from.tabIndex = -1;
			best.tabIndex = 0;
			best.focus();
		}
	}

	// ---- beside it ----

	crumbs() {
		const { model } = this;
		const nav = document.getElementById("crumbs");
		const chain = model.dirChain(this.dir);

		nav.textContent = "";
		if (!chain.length) {
			nav.append("all directories");
			return;
		}
		nav.append(makeButton("link", "all directories", () =>
			this.choose(0)));
		for (const d of chain) {
			const name = nameElement(model.dirNameBytes(d));

			nav.append(make("span", "sep", "/"));
			if (d === this.dir) {
				name.setAttribute("aria-current", "location");
				nav.append(name);
				continue;
			}
			nav.append(makeButton("link", "", () =>
				this.choose(d)));
			nav.lastChild.append(name);
		}
	}
}
