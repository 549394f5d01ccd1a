// Everything on the page is made here, by createElement and text nodes: what a model, a tool
// or a file name says is never read as HTML, and what hides in it is shown.

// el makes an element: note({ title: "why" }, "text", …). Objects are attributes
// (class is added, label is aria-label, on has events, style goes by CSSOM, which the page's content security
// policy allows), the rest are children; false, null and undefined leave one out.
export function el(name, ...parts) {
	const [tag, ...classes] = name.split(".");
	return fill(document.createElement(tag), classes, parts);
}

const svgSpace = "http://www.w3.org/2000/svg";

// svg makes an element of a drawing.
export function svg(name, ...parts) {
	const [tag, ...classes] = name.split(".");
	return fill(document.createElementNS(svgSpace, tag), classes, parts);
}

function fill(node, classes, parts) {
	if (classes.length) node.setAttribute("class", classes.join(" "));
	for (const part of parts.flat(9)) {
		if (part === null || part === undefined || part === false) continue;
		if (part.constructor === Object) set(node, part);
		else node.append(part instanceof Node ? part : visible(part));
	}
	return node;
}

const spoken = new Set(["title", "aria-label", "placeholder"]), longer = { label: "aria-label" };

function set(node, props) {
	for (const [key, value] of Object.entries(props)) {
		const name = longer[key] || key;
		if (value === null || value === undefined || value === false) continue;
		if (name === "on") for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
		else if (name === "style") for (const [property, v] of Object.entries(value)) node.style.setProperty(property, v);
		else if (name === "class") value && node.setAttribute("class", [node.getAttribute("class"), value].filter(Boolean).join(" "));
		else node.setAttribute(name, value === true ? "" : spoken.has(name) ? visible(value) : value);
	}
}

export function fragment() { return document.createDocumentFragment(); }

// region makes a part that can scroll known to keyboards and screen readers.
export function region(label) { return { tabindex: 0, role: "region", label }; }

// button makes a button that does something; classes are written as "small deny".
export function button(label, classes, f, props) {
	return el("button", { type: "button", class: classes, on: { click: f } }, props, label);
}

// input makes a field for a line of text.
export function input(label, props) { return el("input", { type: "text", label, placeholder: label }, props); }

// indexOf is the index of the row or bar that a node is in, -1 if it is in none.
export function indexOf(node) { return Number(node?.closest?.("[data-index]")?.dataset.index ?? -1); }

export function note(...parts) { return el("p.note", parts); }

// facts is a list of names and values; those without a value are left out.
export function facts(name, list) {
	return el("dl." + name, list.map(([key, value]) => value && [el("dt", key), el("dd", value)]));
}

// choice is a list of which one is chosen; labels are by value.
export function choice(name, labels, chosen, f) {
	return el("select", { label: name, on: { change: f } }, Object.entries(labels).map(([value, label]) => el("option", { value, selected: value === String(chosen) }, label)));
}

// link makes a link to an address that a text names; other schemes than http(s) stay text.
export function link(address, label) {
	if (!/^https?:\/\//i.test(address)) return document.createTextNode(label);
	return el("a", { href: address, rel: "noreferrer noopener nofollow", target: "_blank", title: address }, label);
}

// hidden are characters that change what others look like, or look like nothing.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

// visible shows characters that cannot be seen as what they are, so that a command on the
// screen is the command that runs.
export function visible(text) {
	return String(text).replace(hidden, (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");
}

// say changes the text of a node, if it is another one: screen readers repeat what changes.
export function say(node, text) {
	if (node && node.textContent !== visible(text)) node.textContent = visible(text);
}

// announce lets screen readers say something.
export function announce(text) { say(document.getElementById("announce"), text); }

// lost says why there is no connection; style.css shows it on a page that is offline.
export function lost() { return el("p.warning.lost", { role: "alert" }); }

// connected shows on a page whether there is a connection.
export function connected(page, on, why) {
	page.classList.toggle("offline", !on);
	if (!on) say(page.querySelector(".lost"), why);
}

// typing reports whether keys are text where the focus is.
export function typing(node) { return /^(INPUT|TEXTAREA|SELECT)$/.test(node?.tagName || ""); }

// shortcut does what a key stands for, unless it is text or for an open dialog.
export function shortcut(e, keys) {
	const open = document.querySelector("dialog[open]");
	if (open && !(e.currentTarget instanceof Node && open.contains(e.currentTarget)) || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || typing(e.target) || !keys[e.key]) return;
	e.preventDefault();
	e.stopPropagation();
	keys[e.key]();
}

// dialog shows something and, with a label, asks whether to do what it says.
export function dialog(title, content, label, f) {
	const node = el("dialog", { label: title, on: { close: () => node.remove() } }, el("h2", title), content,
		el("div.buttons", label && button(label, "allow", () => (node.close(), f())), button("Close", "", () => node.close(), { autofocus: true })));
	document.body.append(node);
	node.showModal();
	return node;
}
