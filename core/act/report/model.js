// SPDX-License-Identifier: Apache-2.0
"use strict";

// The data of the report: the columns of core/act/report/report.c as arrays.  There is
// no object for a group, a content or a file, only its number: with 100,000
// groups the page must be there at once.

class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	number() {
		const bytes = this.bytes;
		let byte = bytes[this.at++];
		let value = byte & 127;

		for (let unit = 128; byte > 127; unit *= 128) {
			byte = bytes[this.at++];
			value += (byte & 127) * unit;
		}
		return value;
	}

	column(array) {
		for (let i = 0; i < array.length; i++)
			array[i] = this.number();
		if (this.at > this.bytes.length)
			throw new Error("the data ends too early");
		return array;
	}

	// Counts as places: n + 1 of them, the last is the end.
	places(n) {
		const places = this.column(new Uint32Array(n));
		const starts = new Uint32Array(n + 1);

		for (let i = 0; i < n; i++)
			starts[i + 1] = starts[i] + places[i];
		return starts;
	}

	// Where n texts start, and the end of the last.
	texts(n) {
		const starts = new Uint32Array(n + 1);

		for (let i = 0; i < n; i++) {
			starts[i] = this.at;
			this.at = this.bytes.indexOf(0, this.at) + 1;
			if (!this.at)
				throw new Error("the data ends too early");
		}
		starts[n] = this.at;
		return starts;
	}
}

class Model {
	constructor(bytes) {
		const r = new Reader(bytes);

		if (r.number() !== 2)
			throw new Error("the data is of another version");
		this.bytes = bytes;
		this.dirCount = r.number();
		this.fileCount = r.number();
		this.memberCount = r.number();
		this.groupCount = r.number();
		this.pairCount = r.number();
		this.unreadCount = r.number();
		this.linkCount = r.number();
		this.root = Uint8Array.from(document.body.dataset.root
			.match(/../gu) ?? [], (hex) => parseInt(hex, 16));
		this.readColumns(r);
		this.sumGroups();
		this.sumDirs();
	}

	readColumns(r) {
		const u32 = (n) => r.column(new Uint32Array(n));

		this.dirParent = u32(this.dirCount);
		this.groupStart = r.places(this.groupCount);
		this.memberStart = r.places(this.memberCount);
		this.score = r.column(new Uint8Array(this.memberCount));
		this.size = r.column(new Float64Array(this.memberCount));
		this.fileDir = u32(this.fileCount);
		this.fileTime = r.column(new Float64Array(this.fileCount));
		const states = r.column(new Uint8Array(this.fileCount));
		this.fileKeep = states.map((s) => s & 1);
		this.fileGoes = states.map((s) => s & 2);
		this.fileDisk = r.column(new Float64Array(this.fileCount));
		this.linkStart = r.places(this.fileCount);
		this.linkDir = u32(this.linkCount);
		this.pairScore = u32(this.pairCount);
		this.pairA = u32(this.pairCount);
		this.pairB = u32(this.pairCount);
		this.unreadDir = u32(this.unreadCount);
		this.dirName = r.texts(this.dirCount);
		this.fileName = r.texts(this.fileCount);
		this.linkName = r.texts(this.linkCount);
		this.unreadText = r.texts(2 * this.unreadCount);
	}

	// The file of a content that stays, as core/act/report/report.c chooses it.
	keptFile(m) {
		let f = this.memberStart[m];

		while (f + 1 < this.memberStart[m + 1] && this.fileGoes[f])
			f++;
		return f;
	}

	sumGroups() {
		const { groupCount, groupStart, memberStart } = this;

		this.exact = new Float64Array(groupCount);
		this.near = new Float64Array(groupCount);
		this.low = new Uint8Array(groupCount);
		this.dirExact = new Float64Array(this.dirCount);
		this.dirNear = new Float64Array(this.dirCount);
		this.dirFiles = new Uint32Array(this.dirCount);
		for (let g = 0; g < groupCount; g++) {
			this.low[g] = 100;
			for (let m = groupStart[g]; m < groupStart[g + 1]; m++)
				if (memberStart[m + 1] > memberStart[m])
					this.sumMember(g, m);
		}
	}

	sumMember(g, m) {
		const { memberStart, fileDir, fileDisk } = this;
		const kept = this.keptFile(m);
		const head = m === this.groupStart[g];

		if (!head) {
			this.near[g] += fileDisk[kept];
			this.dirNear[fileDir[kept]] += fileDisk[kept];
			this.dirFiles[fileDir[kept]]++;
			this.low[g] = Math.min(this.low[g], this.score[m]);
		}
		for (let f = memberStart[m]; f < memberStart[m + 1]; f++)
			if (this.fileGoes[f]) {
				this.exact[g] += fileDisk[f];
				this.dirExact[fileDir[f]] += fileDisk[f];
				this.dirFiles[fileDir[f]]++;
			}
	}

	// Parents come before their children.
	sumDirs() {
		const { dirCount, dirParent } = this;

		this.ownExact = this.dirExact.slice();
		this.ownNear = this.dirNear.slice();
		this.ownFiles = this.dirFiles.slice();
		this.children = Array.from({ length: dirCount }, () => null);
		for (let d = dirCount - 1; d > 0; d--) {
			const parent = dirParent[d];

			this.dirExact[parent] += this.dirExact[d];
			this.dirNear[parent] += this.dirNear[d];
			this.dirFiles[parent] += this.dirFiles[d];
			if (this.dirInCopies(d))
				(this.children[parent] ??= []).push(d);
		}
	}

	// Of these bytes only the exact ones could be saved.
	inCopies(g) {
		return this.exact[g] + this.near[g];
	}

	dirInCopies(d) {
		return this.dirExact[d] + this.dirNear[d];
	}

	firstFile(g) {
		return this.memberStart[this.groupStart[g]];
	}

	endFile(g) {
		return this.memberStart[this.groupStart[g + 1]];
	}

	// The content of a file.
	memberOf(f) {
		return d3.bisectRight(this.memberStart, f) - 1;
	}

	// ---- names ----

	nameOf(starts, i) {
		return this.bytes.subarray(starts[i], starts[i + 1] - 1);
	}

	dirNameBytes(d) {
		return this.nameOf(this.dirName, d);
	}

	fileNameBytes(f) {
		return this.nameOf(this.fileName, f);
	}

	// From below the root to the directory.
	dirChain(d) {
		const chain = [];

		for (; d; d = this.dirParent[d])
			chain.push(d);
		return chain.reverse();
	}

	join(names) {
		const length = names.reduce((n, name) => n + name.length + 1,
			-1);
		const path = new Uint8Array(Math.max(length, 0));
		let at = 0;

		for (const name of names) {
			if (at)
				path[at++] = 47;
			path.set(name, at);
			at += name.length;
		}
		return path;
	}

	dirBytes(d) {
		return this.join(this.dirChain(d).map((i) =>
			this.dirNameBytes(i)));
	}

	pathIn(d, name) {
		return this.join([...this.dirChain(d).map((i) =>
			this.dirNameBytes(i)), name]);
	}

	fileBytes(f) {
		return this.pathIn(this.fileDir[f], this.fileNameBytes(f));
	}

	// The paths of a file: the first, and its other names (hard links).
	namesOf(f) {
		const names = [this.fileBytes(f)];

		for (let l = this.linkStart[f]; l < this.linkStart[f + 1]; l++)
			names.push(this.pathIn(this.linkDir[l],
				this.nameOf(this.linkName, l)));
		return names;
	}

	// Relative where the list of groups did not tell the root.
	absolute(path) {
		const { root } = this;

		if (!root.length)
			return path;
		return this.join(root.length > 1 ? [root, path] :
			[root.subarray(1), path]);
	}

	// Lower case, for searching; made when they are first asked for.
	get searchNames() {
		return this.names ??= this.decodeAll(this.fileName,
			this.fileCount);
	}

	get searchDirs() {
		if (!this.dirs) {
			const own = this.decodeAll(this.dirName, this.dirCount);

			this.dirs = own;
			for (let d = 1; d < this.dirCount; d++)
				own[d] = own[this.dirParent[d]] + own[d] + "/";
		}
		return this.dirs;
	}

	decodeAll(starts, n) {
		if (!n)
			return [];
		return loose.decode(this.bytes.subarray(starts[0],
			starts[n] - 1)).toLowerCase().split("\0");
	}
}

async function inflate(text) {
	const binary = atob(text);
	const packed = new Uint8Array(binary.length);

	for (let i = 0; i < packed.length; i++)
		packed[i] = binary.charCodeAt(i);

	const stream = new Blob([packed]).stream()
		.pipeThrough(new DecompressionStream("deflate"));

	return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function readModel() {
	const element = document.getElementById("data");
	const bytes = await inflate(element.textContent);

	element.remove();
	return new Model(bytes);
}
