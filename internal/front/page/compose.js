// The input box of a session: what is written, what is attached, what completes it, and what waits.
import { el, button, input, say, indexOf } from "./dom.js";
import { line } from "./words.js";

const draftKey = "haft-draft-", mostText = 1 << 20, mostImage = 5 << 20, mostShown = 12;

function draftOf(id) {
	try {
		return sessionStorage.getItem(draftKey + id) || "";
	} catch {
		return "";
	}
}

export class Composer {
	// page has act(promise, done, problem), warn(text) and sent().
	constructor(source, id, page) {
		Object.assign(this, { source, id, page, files: [], found: [], chosen: -1, asked: 0 });
		this.menu = el("ul.menu", { role: "listbox", id: "completions", label: "Completions", hidden: true, on: { mousedown: (e) => (e.preventDefault(), this.take(indexOf(e.target))) } });
		this.queue = el("ol.queue", { label: "Prompts that wait", hidden: true });
		this.attached = el("ul.attached", { label: "Attached", hidden: true });
		this.picker = el("input", { type: "file", multiple: true, hidden: true, label: "Files to attach", on: { change: () => (this.attach(this.picker.files), (this.picker.value = "")) } });
		this.text = el("textarea", { rows: 1, dir: "auto", placeholder: "Write a prompt", label: "Prompt", "aria-autocomplete": "list", "aria-controls": "completions", on: {
			paste: (e) => this.transfer(e, e.clipboardData), keydown: (e) => this.key(e), input: () => this.written(), blur: () => this.close(),
		} });
		this.text.value = draftOf(id);
		this.node = el("footer.full-only", this.queue, this.attached, this.menu, el("form", { on: { submit: (e) => (e.preventDefault(), this.send()) } },
			this.picker, button("+", "attach", () => this.picker.click(), { label: "Attach files", title: "Attach files and images" }), this.text, el("button.allow", { type: "submit" }, "Send")));
		// Files are attached wherever they are dropped: a browser would leave the page for them.
		addEventListener("dragover", (e) => e.dataTransfer?.types.includes("Files") && e.preventDefault());
		addEventListener("drop", (e) => this.transfer(e, e.dataTransfer));
	}

	focus() { this.text.focus(); }

	// set puts a text into the box, before what is there.
	set(text) {
		this.text.value = [text, this.text.value].filter(Boolean).join("\n\n");
		this.written();
		this.focus();
	}

	written() {
		this.text.style.height = "auto";
		this.text.style.height = Math.min(240, this.text.scrollHeight) + "px";
		this.keepDraft();
		this.complete();
	}

	// keepDraft keeps what is written for when the page is loaded again in this tab.
	keepDraft() {
		try {
			sessionStorage.setItem(draftKey + this.id, this.text.value);
		} catch {} // a browser that stores nothing
	}

	key(e) {
		if (e.isComposing) return;
		const n = this.found.length;
		if (n && (e.key === "ArrowDown" || e.key === "ArrowUp")) this.choose((this.chosen + (e.key === "ArrowDown" ? 1 : n - 1)) % n);
		else if (n && e.key === "Escape") this.close();
		else if (n && (e.key === "Tab" || e.key === "Enter" && !this.whole())) this.take(this.chosen);
		else if (e.key === "Tab" && this.suggestion && !this.text.value) this.set(this.suggestion);
		else if (e.key === "Enter" && !e.shiftKey) this.send();
		else return;
		e.preventDefault();
		e.stopPropagation();
	}

	// word is what is completed at the cursor: a command at the beginning, or a mention.
	word() {
		const before = this.text.value.slice(0, this.text.selectionStart);
		const m = /^(\/)([\w:-]*)$/.exec(before) || /(?:^|\s)(@)([^\s@]*)$/.exec(before);
		return m && { sign: m[1], text: m[2], from: before.length - m[2].length };
	}

	// whole reports whether a command is written as it is.
	whole() { return this.word()?.sign === "/" && this.found[this.chosen]?.value === this.word().text; }

	async complete() {
		const word = this.word(), mine = ++this.asked;
		if (!word) return this.close();
		try {
			const list = word.sign === "/" ? await this.commands() : (await this.source.get("suggestions?query=" + encodeURIComponent(word.text))).paths.map((p) => ({ value: p, about: "" }));
			if (mine !== this.asked) return;
			const has = word.text.toLowerCase(), begins = (i) => i.value.toLowerCase().startsWith(has);
			this.found = (word.sign === "/" ? [...list.filter(begins), ...list.filter((i) => !begins(i) && i.value.toLowerCase().includes(has))] : list).slice(0, mostShown);
			this.menu.replaceChildren(...this.found.map((i, n) => el("li", { role: "option", id: "completion-" + n, "data-index": n }, el("b", word.sign + i.value), el("span", line(i.about, 90)))));
			this.menu.hidden = !this.found.length;
			this.choose(0);
		} catch {
			this.close(); // what is not running, or may not be asked, completes nothing
		}
	}

	// commands are those of the session; they change rarely.
	async commands() {
		this.known ||= this.source.get("input").then((i) => i.commands.map((c) => ({ value: c.name, about: [c.arguments, c.description].filter(Boolean).join(" – ") })));
		try {
			return await this.known;
		} catch (err) {
			this.known = null;
			throw err;
		}
	}

	choose(n) {
		this.chosen = n;
		[...this.menu.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === n)));
		this.menu.children[n]?.scrollIntoView({ block: "nearest" });
		if (this.found.length) this.text.setAttribute("aria-activedescendant", "completion-" + n);
	}

	// take completes the word; a folder goes on.
	take(n) {
		const word = this.word(), item = this.found[n];
		if (!word || !item) return;
		const after = this.text.value.slice(this.text.selectionStart), more = item.value.endsWith("/");
		this.text.value = this.text.value.slice(0, word.from) + item.value + (more ? "" : " ") + after.trimStart();
		const at = word.from + item.value.length + (more ? 0 : 1);
		this.text.setSelectionRange(at, at);
		this.written();
	}

	close() {
		this.asked++;
		this.found = [];
		this.menu.hidden = true;
		this.text.removeAttribute("aria-activedescendant");
	}

	transfer(e, data) {
		if (!data?.files.length) return;
		e.preventDefault();
		this.attach(data.files);
	}

	// attach reads files: images, and texts.
	async attach(list) {
		for (const f of list) {
			const image = /^image\/(png|jpeg|gif|webp)$/.test(f.type), most = image ? mostImage : mostText;
			const read = new FileReader();
			if (f.size > most) {
				this.page.warn(`${f.name} is larger than ${most >> 20} MB. Mention it with @ instead.`);
				continue;
			}
			read[image ? "readAsDataURL" : "readAsText"](f);
			await new Promise((done) => (read.onloadend = done));
			const name = f.name.replace(/[\n"<>]/g, "_") || "file";
			if (!image && (read.result || "").includes("\0")) this.page.warn(`${name} is neither text nor an image that models can see.`);
			else if (read.result !== null) this.files.push(image ? { name, image: { media_type: f.type, data: read.result.split(",")[1] } } : { name, text: read.result });
		}
		this.showFiles();
	}

	showFiles() {
		this.attached.hidden = !this.files.length;
		this.attached.replaceChildren(...this.files.map((f) => el("li", button(f.name + " ×", "small", () => ((this.files = this.files.filter((x) => x !== f)), this.showFiles()), { label: "Remove " + f.name }))));
	}

	async send() {
		const text = this.text.value.trim(), files = this.files;
		if (!text && !files.length) return;
		this.text.value = "";
		this.files = [];
		this.written();
		this.showFiles();
		const images = files.filter((f) => f.image).map((f) => f.image), texts = files.filter((f) => !f.image);
		if (await this.page.act(this.say(text, images, texts))) return this.page.sent();
		this.set(text);
		this.files = files;
		this.showFiles();
	}

	// say sends a prompt.
	say(text, images, files) { return this.source.post("prompts", { uuid: crypto.randomUUID?.(), text, images, files }); }

	// showQueue shows the prompts that wait, which can be taken back.
	async showQueue(running) {
		const mine = (this.looked = (this.looked || 0) + 1);
		const list = running ? await this.source.get("input").then((i) => i.queued, () => []) : [];
		if (mine !== this.looked) return;
		this.queue.hidden = !list.length;
		this.queue.replaceChildren(...list.map((q) => {
			const withdraw = (then) => () => this.page.act(this.source.cancel(q.uuid), () => (this.showQueue(true), then?.()), "Could not take it back: ");
			return el("li", el("span", { dir: "auto" }, line(q.text, 200)), button("Edit", "small", withdraw(() => this.set(q.text)), { label: "Edit " + line(q.text, 40) }), button("Remove", "small deny", withdraw(), { label: "Remove " + line(q.text, 40) }));
		}));
	}

	// suggest offers what to say next; Tab takes it.
	suggest(text) {
		this.suggestion = text;
		this.text.placeholder = text ? text + " (Tab)" : "Write a prompt";
	}
}
