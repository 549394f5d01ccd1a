// Everything on the page is made here, by createElement and text nodes: what a model, a tool
// or a file name says is never read as HTML.

// el makes an element. Props: class, text, on (events), style (by CSSOM, which the page's
// content security policy allows), else attributes; false and null leave one out.
export function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

const svgSpace = "http://www.w3.org/2000/svg";

// svg makes an element of a drawing.
export function svg(tag, props, ...children) {
  return fill(document.createElementNS(svgSpace, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "on") for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
    else if (name === "style") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else if (name === "class") node.setAttribute("class", value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const c of children.flat(9)) if (c !== null && c !== undefined && c !== false) node.append(c);
  return node;
}

// button makes a button that does something.
export function button(label, props, f) {
  return el("button", { type: "button", ...props, on: { click: f } }, label);
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

// announce lets screen readers say something.
export function announce(text) {
  const place = document.getElementById("announce");
  if (place) place.textContent = text;
}

// typing reports whether keys are text where the focus is.
export function typing(node) { return /^(INPUT|TEXTAREA|SELECT)$/.test(node?.tagName || ""); }

// shortcut does what a key stands for, unless it is text.
export function shortcut(e, keys) {
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || typing(e.target) || !keys[e.key]) return;
  e.preventDefault();
  e.stopPropagation();
  keys[e.key]();
}

// dialog shows something and asks whether to do what the label says.
export function dialog(title, content, label, f) {
  const confirm = () => {
    node.close();
    f();
  };
  const node = el("dialog", { "aria-label": title, on: { close: () => node.remove() } }, el("h2", {}, title), content,
    el("div", { class: "buttons" }, label && button(label, { class: "allow" }, confirm), button("Close", {}, () => node.close())));
  document.body.append(node);
  node.showModal();
}
