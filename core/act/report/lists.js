// SPDX-License-Identifier: Apache-2.0
"use strict";

// What the report is about, directories that are alike, and files without digests.

const SHOWN = { first: 6, pairs: 200, unread: 2000 };

function showAbout(model) {
	const { made, threshold, kinfs, complete } = model.about;
	const put = (id, content) =>
		document.getElementById(id).replaceChildren(content);
	const [exact, near] = [d3.sum(model.exact), d3.sum(model.near)];

	document.title += " in " + nameText(model.root);
	put("root", nameElement(model.root, "path"));
	put("made", formatDate(made));
	put("threshold", `at least ${threshold} % alike`);
	put("version", "kinfs " + kinfs);
	document.getElementById("notice").hidden = complete;
	put("saved", formatSize(exact));
	put("exact", formatSize(exact));
	put("near", formatSize(near));
	put("group-count", formatCount(model.groupCount));
	put("file-count", formatCount(model.fileCount));
	document.getElementById("share").setAttribute("width",
		exact && 1000 * exact / (exact + near));
}

// The first and the last pair of each directory that others are like, in the
// order of the report.
function pairFamilies(model) {
	const families = [];

	for (let i = 0; i < model.pairCount; i++) {
		const last = families[families.length - 1];

		if (last && model.pairA[last.start] === model.pairA[i])
			last.end = i + 1;
		else
			families.push({ start: i, end: i + 1 });
	}
	return families;
}

// choose(d) is called when the user wants to see directory d.
function showPairs(model, choose) {
	const list = document.getElementById("pairs-list");
	const families = pairFamilies(model);

	if (!families.length) {
		list.append(make("p", "soft", "None were found."));
		return;
	}
	document.getElementById("pairs-count").textContent =
		formatCount(model.pairCount, "pair", "pairs");
	const show = (n) => {
		const table = makeTable("Directories that are alike",
			["Directory", "is like", "Score", "In copies"],
			families.slice(0, n).map((family) =>
				familyRow(model, family, choose)), 2);

		list.replaceChildren(table);
		if (families.length > SHOWN.pairs && n === SHOWN.pairs)
			list.append(make("p", "status",
				`The first ${SHOWN.pairs} are shown.`));
		else if (families.length > n)
			list.append(makeButton("quiet more", `Show all ${
				formatCount(families.length)}`, () =>
				show(SHOWN.pairs)));
	};

	show(SHOWN.first);
	addEventListener("beforeprint", () => show(SHOWN.pairs));
}

function familyRow(model, { start, end }, choose) {
	const name = (d) => {
		const button = makeButton("link", "", () => choose(d));

		button.append(nameElement(model.dirBytes(d)));
		return button;
	};
	const like = make("div");
	const scores = model.pairScore.slice(start, end);
	const [least, most] = [d3.min(scores), d3.max(scores)];
	const saved = model.dirInCopies(model.pairA[start]) +
		d3.sum(model.pairB.slice(start, end), (d) =>
			model.dirInCopies(d));

	like.append(name(model.pairB[start]));
	if (end - start > 1)
		like.append(moreLike(model, start + 1, end, name));
	return [name(model.pairA[start]), like,
		least === most ? most : `${most} to ${least}`,
		formatSize(saved)];
}

// Made when they are first looked at, or printed.
function moreLike(model, start, end, name) {
	const details = make("details");
	const fill = () => {
		if (details.children.length > 1)
			return;

		const list = make("ul");

		for (let i = start; i < end; i++) {
			const line = make("li");

			line.append(make("span", "soft score",
				model.pairScore[i]), name(model.pairB[i]));
			list.append(line);
		}
		details.append(list);
	};

	details.append(make("summary", "soft", `and ${end - start} more`));
	details.addEventListener("toggle", fill);
	addEventListener("beforeprint", () => {
		fill();
		details.open = true;
	});
	return details;
}

// States in words.
const STATES = {
	"error:EACCES": "no permission to read",
	"error:EIO": "the disk could not read it",
	"error:ENOENT": "gone while it was read",
	"error:ESTALE": "changed while it was read",
	"text:damaged": "its text is damaged: it is compared by its bytes",
	"text:limit": "its text is beyond the limits: it is compared by its bytes",
	"skipped:cross": "on another filesystem, see -o cross",
	"skipped:exclude": "left out by -o exclude",
	"skipped:min_size": "smaller than -o min_size",
	"skipped:max_size": "larger than -o max_size",
};

function showUnread(model) {
	const list = document.getElementById("unread-list");
	const states = new Map();

	for (const { path, state } of model.unread) {
		if (!states.has(state))
			states.set(state, []);
		states.get(state).push(path);
	}
	document.getElementById("unread-count").textContent =
		model.unread.length ? formatCount(model.unread.length, "path",
			"paths") : "";
	if (!states.size)
		list.append(make("p", "soft", "Every file was read."));
	for (const [state, files] of [...states].sort())
		list.append(unreadDetails(state, files));
}

// The names are made when they are first looked at.
function unreadDetails(state, files) {
	const details = make("details");
	const summary = make("summary", "",
		STATES[state] ? `${state}, ${STATES[state]}` : state);

	summary.append(make("span", "soft",
		formatCount(files.length, "path", "paths")));
	details.append(summary);
	details.addEventListener("toggle", () => {
		if (details.children.length === 1)
			fillUnread(details, files);
	});
	return details;
}

function fillUnread(details, files) {
	const list = make("ul");

	for (const path of files.slice(0, SHOWN.unread)) {
		const line = make("li");

		line.append(nameElement(bytesOf(path)));
		list.append(line);
	}
	details.append(list);
	if (files.length > SHOWN.unread)
		details.append(make("p", "status",
			`The first ${formatCount(SHOWN.unread)} are shown; ` +
			"kin status --failed --skipped lists all."));
}
