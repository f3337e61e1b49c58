// SPDX-License-Identifier: Apache-2.0
"use strict";

// Numbers, sizes and names as text.  A name is bytes: it reaches the page only
// through text nodes, and whatever is not a visible character is spelt out.

const counts = new Intl.NumberFormat("en");

function formatCount(n, one, many) {
	return counts.format(n) + (one ? " " + (n === 1 ? one : many) : "");
}

function formatSize(bytes) {
	const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let unit = -1;

	if (bytes < 1024)
		return bytes === 0 ? "0" : `${bytes} B`;
	for (; bytes >= 1023.95 && unit < units.length - 1; unit++)
		bytes /= 1024;
	return `${bytes.toFixed(1)} ${units[unit]}`;
}

function formatDate(seconds) {
	const date = new Date(seconds * 1000);
	const two = (n) => String(n).padStart(2, "0");

	if (!seconds || Number.isNaN(date.getTime()))
		return "";
	return `${date.getFullYear()}-${two(date.getMonth() + 1)}-` +
		`${two(date.getDate())} ${two(date.getHours())}:` +
		two(date.getMinutes());
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const loose = new TextDecoder("utf-8", { ignoreBOM: true });

// Controls, and characters that change the direction of text or are invisible.
const INVISIBLE = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u00ad" +
	"\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff" +
	"\\ufff9-\\ufffb]", "u");

function escapeCharacter(c) {
	const code = c.codePointAt(0);
	const known = { 9: "\\t", 10: "\\n", 13: "\\r" }[code];

	if (known)
		return known;
	return code < 0x100 ? "\\x" + code.toString(16).padStart(2, "0") :
		"\\u" + code.toString(16).padStart(4, "0");
}

// The character of UTF-8 at a place, or "" where there is none.
function characterAt(bytes, at) {
	for (let len = 1; len <= 4 && at + len <= bytes.length; len++)
		try {
			return strict.decode(bytes.subarray(at, at + len));
		} catch {
			// perhaps a longer one
		}
	return "";
}

// [text, is it spelt out] for each part of a name.
function partsOf(bytes) {
	const parts = [];
	const add = (text, escaped) => {
		const last = parts[parts.length - 1];

		if (last && last[1] === escaped)
			last[0] += text;
		else
			parts.push([text, escaped]);
	};

	for (let at = 0; at < bytes.length;) {
		const c = characterAt(bytes, at);

		if (!c)
			add("\\x" + bytes[at].toString(16).padStart(2, "0"),
				true);
		else
			add(INVISIBLE.test(c) ? escapeCharacter(c) : c,
				INVISIBLE.test(c));
		at += c ? new TextEncoder().encode(c).length : 1;
	}
	return parts;
}

function isPlain(bytes) {
	const text = loose.decode(bytes);

	return !INVISIBLE.test(text) && !text.includes("\ufffd");
}

// The name as one text.
function nameText(bytes) {
	if (isPlain(bytes))
		return loose.decode(bytes);
	return partsOf(bytes).map((part) => part[0]).join("");
}

// The name for a shell, where it cannot be typed: $'...' of bash and zsh.
function shellText(bytes) {
	const quoted = (byte) => byte > 31 && byte < 127 && byte !== 39 &&
		byte !== 92 ? String.fromCharCode(byte) :
		"\\x" + byte.toString(16).padStart(2, "0");

	if (isPlain(bytes))
		return loose.decode(bytes);
	return "$'" + Array.from(bytes, quoted).join("") + "'";
}

// The name as a word of bash and zsh.
function shellWord(bytes) {
	const text = loose.decode(bytes);

	if (!isPlain(bytes))
		return shellText(bytes);
	return /^[\w/.,:@%+=-]+$/u.test(text) ? text :
		"'" + text.replaceAll("'", "'\\''") + "'";
}

// The name as an element, in which parts that are spelt out are marked.
function nameElement(bytes, className) {
	const name = make("bdi", className);

	if (isPlain(bytes)) {
		name.textContent = loose.decode(bytes);
		return name;
	}
	for (const [text, escaped] of partsOf(bytes))
		name.append(escaped ? make("span", "escape", text) : text);
	return name;
}

function make(tag, className, text) {
	const element = document.createElement(tag);

	if (className)
		element.className = className;
	if (text !== undefined)
		element.textContent = text;
	return element;
}

function makeButton(className, text, act) {
	const button = make("button", className, text);

	button.type = "button";
	button.addEventListener("click", act);
	return button;
}

// A plain table: the first column is text, the others are numbers.
function makeTable(caption, titles, rows, textColumns = 1) {
	const table = make("table");
	const head = table.createTHead().insertRow();
	const body = table.createTBody();

	table.setAttribute("aria-label", caption);
	titles.forEach((title, i) => {
		const cell = make("th", i < textColumns ? "" : "number", title);

		cell.scope = "col";
		head.append(cell);
	});
	for (const row of rows) {
		const line = body.insertRow();

		row.forEach((content, i) => {
			line.insertCell().append(content);
			if (i >= textColumns)
				line.lastChild.className = "number";
		});
	}
	return table;
}
