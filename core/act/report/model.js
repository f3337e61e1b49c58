// SPDX-License-Identifier: Apache-2.0
"use strict";

// The data of the report: the lines that core/act/report/report.c describes, as
// columns.  There is no object for a group, a content or a file, only its number:
// with 100,000 groups the page must be there at once.  A name is bytes, a
// character for each.

function bytesOf(name) {
	return Uint8Array.from(name, (c) => c.charCodeAt(0));
}

// The name that an object has under a key.
function nameOf(object, key) {
	const hex = object[key + "_hex"];
	const text = object[key];

	if (hex)
		return hex.replace(/../gu, (two) =>
			String.fromCharCode(parseInt(two, 16)));
	return /^[\0-\x7f]*$/u.test(text) ? text : Array.from(
		new TextEncoder().encode(text), (byte) =>
			String.fromCharCode(byte)).join("");
}

class Model {
	constructor(lines) {
		const about = lines.pop();
		const pairs = lines.filter((line) => line.like !== undefined);

		if (about.version !== 4)
			throw new Error("the data is of another version");
		this.about = about;
		this.root = bytesOf(nameOf(about, "root"));
		this.keep = about.keep.map((directory) =>
			this.absolute(bytesOf(nameOf(directory, "path"))));
		this.dirs = new Map([["", 0]]);
		this.dirParent = [0];
		this.dirName = [""];
		this.readGroups(lines.filter((line) => line.members));
		this.pairCount = pairs.length;
		this.pairScore = pairs.map(({ score }) => score);
		this.pairA = pairs.map((pair) => this.dirOf(nameOf(pair, "path")));
		this.pairB = pairs.map((pair) => this.dirOf(nameOf(pair, "like")));
		this.unread = lines.filter((line) => line.state).map((line) =>
			({ path: nameOf(line, "path"), state: line.state }));
		this.dirCount = this.dirName.length;
		this.sumGroups();
		this.sumDirs();
	}

	// The number of a directory, larger than that of its parent.
	dirOf(path) {
		const known = this.dirs.get(path);

		if (known !== undefined)
			return known;

		const parents = [];
		const names = [];

		this.addPath(path, parents, names);
		this.dirs.set(path, this.dirName.length);
		this.dirParent.push(parents[0]);
		return this.dirName.push(names[0]) - 1;
	}

	addPath(path, dirs, names) {
		const slash = path.lastIndexOf("/");

		dirs.push(this.dirOf(path.slice(0, Math.max(slash, 0))));
		names.push(path.slice(slash + 1));
	}

	readGroups(groups) {
		this.groupCount = groups.length;
		this.groupStart = [0];
		this.memberStart = [0];
		this.linkStart = [0];
		this.score = [];
		this.size = [];
		this.fileDir = [];
		this.fileName = [];
		this.fileTime = [];
		this.fileDisk = [];
		this.fileKeep = [];
		this.fileGoes = [];
		this.linkDir = [];
		this.linkName = [];
		for (const { members } of groups) {
			members.forEach((member) => this.readMember(member));
			this.groupStart.push(this.score.length);
		}
		this.fileCount = this.fileName.length;
	}

	readMember({ score, size, files }) {
		this.score.push(score);
		this.size.push(size);
		for (const file of files) {
			this.fileTime.push(file.mtime);
			this.fileDisk.push(file.on_disk);
			this.fileKeep.push(Boolean(file.keep));
			this.fileGoes.push(Boolean(file.removable));
			this.addPath(nameOf(file, "path"), this.fileDir,
				this.fileName);
			for (const link of file.links ?? [])
				this.addPath(nameOf(link, "path"), this.linkDir,
					this.linkName);
			this.linkStart.push(this.linkName.length);
		}
		this.memberStart.push(this.fileName.length);
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

	dirNameBytes(d) {
		return bytesOf(this.dirName[d]);
	}

	fileNameBytes(f) {
		return bytesOf(this.fileName[f]);
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
				bytesOf(this.linkName[l])));
		return names;
	}

	absolute(path) {
		const { root } = this;

		return this.join(root.length > 1 ? [root, path] :
			[root.subarray(1), path]);
	}

	// Lower case, for searching; made when they are first asked for.
	get searchNames() {
		return this.names ??= this.decodeAll(this.fileName);
	}

	get searchDirs() {
		if (!this.ownDirs) {
			const own = this.decodeAll(this.dirName);

			this.ownDirs = own;
			for (let d = 1; d < this.dirCount; d++)
				own[d] = own[this.dirParent[d]] + own[d] + "/";
		}
		return this.ownDirs;
	}

	decodeAll(names) {
		return names.length ? loose.decode(bytesOf(names.join("\0")))
			.toLowerCase().split("\0") : [];
	}
}

async function inflate(text) {
	const binary = atob(text);
	const packed = new Uint8Array(binary.length);

	for (let i = 0; i < packed.length; i++)
		packed[i] = binary.charCodeAt(i);

	const stream = new Blob([packed]).stream()
		.pipeThrough(new DecompressionStream("deflate"));

	const lines = await new Response(stream).text();

	return JSON.parse(`[${lines.trimEnd().replaceAll("\n", ",")}]`);
}

async function readModel() {
	const element = document.getElementById("data");
	const data = await inflate(element.textContent);

	element.remove();
	return new Model(data);
}
