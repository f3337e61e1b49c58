// SPDX-License-Identifier: Apache-2.0
"use strict";

// The groups that the reader chose, and what can be taken out of the page: the
// paths of their files, or the command that makes their exact copies one.  The
// command has the groups in it, as kin groups --json prints them, in ASCII: what
// is pasted into a terminal has no character that the terminal obeys.

class Chosen {
	// changed() is called when groups were chosen or not any more.
	constructor(model, changed) {
		const on = (name, act) => document.getElementById(
			"chosen-" + name).addEventListener("click", act);

		this.model = model;
		this.changed = changed;
		this.groups = new Set();
		this.bar = document.getElementById("chosen");
		this.status = document.getElementById("chosen-count");
		this.text = document.getElementById("chosen-text");
		on("paths", (e) => this.copy(this.paths(), e.target));
		on("dedup", (e) => this.copy(this.dedup(), e.target));
		on("none", () => this.set([...this.groups], false));
	}

	has(g) {
		return this.groups.has(g);
	}

	set(groups, wanted) {
		for (const g of groups)
			if (wanted)
				this.groups.add(g);
			else
				this.groups.delete(g);
		this.show();
		this.changed();
	}

	show() {
		const exact = d3.sum(this.groups, (g) => this.model.exact[g]);

		this.bar.hidden = !this.groups.size;
		this.text.hidden = true;
		this.status.textContent =
			`${formatCount(this.groups.size, "group", "groups")} ` +
			`chosen: ${formatSize(exact)} could be saved`;
		document.getElementById("chosen-dedup").disabled = !exact;
	}

	// In the order of the report.
	get sorted() {
		return [...this.groups].sort((a, b) => a - b);
	}

	paths() {
		const { model } = this;
		const lines = [];

		for (const g of this.sorted)
			for (let f = model.firstFile(g); f < model.endFile(g);
				f++)
				for (const name of model.namesOf(f))
					lines.push(shellText(
						model.absolute(name)));
		return lines.join("\n") + "\n";
	}

	path(bytes) {
		try {
			return { path: strict.decode(bytes) };
		} catch {
			return { path_hex: Array.from(bytes, (byte) =>
				byte.toString(16).padStart(2, "0")).join("") };
		}
	}

	file(f) {
		const [own, ...links] = this.model.namesOf(f);

		return { ...this.path(own), nlink: 1 + links.length,
			links: links.map((name) => this.path(name)) };
	}

	// A group of the exact copies of each content that has some.
	lines(g) {
		const { model } = this;
		const lines = [];

		for (let m = model.groupStart[g]; m < model.groupStart[g + 1];
			m++) {
			const files = d3.range(model.memberStart[m],
				model.memberStart[m + 1]);

			if (files.length < 2)
				continue;
			lines.push({ ...this.root(), members: [{ score: 100,
				head: true, size: model.size[m],
				files: files.map((f) => this.file(f)) }] });
		}
		return lines;
	}

	root() {
		const { path, path_hex: hex } = this.path(this.model.root);

		return hex ? { root_hex: hex } : { root: path };
	}

	dedup() {
		const ascii = (text) => text.replace(/[^ -~]/gu, (c) =>
			Array.from({ length: c.length }, (_, i) => "\\u" +
				c.charCodeAt(i).toString(16).padStart(4, "0"))
				.join(""));
		const lines = this.sorted.flatMap((g) => this.lines(g));
		const { about, keep } = this.model;
		const options = [about.order, ...keep.map(shellWord)]
			.map((which) => `--keep ${which} `).join("");

		return `kin dedup ${options}- <<'END'\n` + lines.map((line) =>
			ascii(JSON.stringify(line)) + "\n").join("") + "END\n";
	}

	// Where the browser does not allow it, the reader can.
	async copy(text, button) {
		const { textContent } = button;

		try {
			await navigator.clipboard.writeText(text);
			button.textContent = "Copied";
			setTimeout(() => {
				button.textContent = textContent;
			}, 1500);
		} catch {
			this.text.value = text;
			this.text.hidden = false;
			this.text.select();
		}
	}
}
