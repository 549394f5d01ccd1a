// Sessions at a glance: those that ask first, then those that work, then the rest.
import { el, button, visible, announce, shortcut, dialog } from "./dom.js";
import { money, tokens, folder, ago, count } from "./words.js";
import { request, events, addressOf } from "./source.js";
import { Rows } from "./rows.js";

const order = (s) => ["asks", "working"].indexOf(s.state) + 1 || 3;

export async function openList() {
  const page = new ListPage();
  document.body.prepend(page.node);
  await page.fetch();
  page.node.dataset.ready = "true";
  events(() => "/events", { sessions: (change) => page.merge(change) }, (on) => page.node.classList.toggle("offline", !on));
  addEventListener("keydown", (e) => page.key(e));
}

class ListPage {
  constructor() {
    this.all = [];
    this.found = [];
    this.search = el("input", { type: "search", placeholder: "Search", "aria-label": "Search sessions", on: { input: () => this.filter() } });
    this.status = el("p", { class: "meta", role: "status" });
    this.box = el("div", { class: "conversation list", tabindex: 0, role: "region", "aria-label": "Sessions" });
    this.rows = new Rows(this.box, { render: (i) => this.row(this.found[i]), label: "Sessions", guess: 76 });
    this.rows.follow = false;
    this.node = el("div", { class: "sessions" }, el("header", {}, el("h1", {}, "haft"), this.search, this.status), el("main", {}, this.create(), this.box));
  }

  create() {
    const dir = el("input", { type: "text", placeholder: "Folder", "aria-label": "Folder", required: true, list: "folders" });
    const text = el("textarea", { rows: 2, placeholder: "What should be done?", "aria-label": "Prompt", required: true });
    const mode = el("select", { "aria-label": "Permission mode" }, ["default", "acceptEdits", "plan"].map((m) => el("option", { value: m }, m)));
    const model = el("input", { type: "text", placeholder: "Model (default)", "aria-label": "Model" });
    this.cwds = el("datalist", { id: "folders" });
    const problem = el("p", { class: "warning", role: "alert", hidden: true });
    const send = async (e) => {
      e.preventDefault();
      problem.hidden = true;
      try {
        const made = await request("POST", "/sessions", { cwd: dir.value.trim(), prompt: text.value, mode: mode.value, model: model.value.trim() || undefined });
        location.assign(addressOf(made.id));
      } catch (err) {
        problem.hidden = false;
        problem.textContent = "Could not start a session: " + err.message;
      }
    };
    return el("details", { class: "create" }, el("summary", {}, "New session"), el("form", { on: { submit: send } }, dir, this.cwds, text, el("div", { class: "buttons" }, mode, model, el("button", { type: "submit", class: "allow" }, "Start")), problem));
  }

  async fetch() {
    try {
      this.merge({ ...(await request("GET", "/sessions")), all: true });
    } catch (err) {
      this.status.textContent = "Could not load the sessions: " + err.message;
      throw err;
    }
  }

  // merge takes in a list, or what changed in it.
  merge(change) {
    const gone = new Set([...(change.removed || []), ...change.sessions.map((s) => s.id)]);
    this.all = [...change.sessions, ...(change.all ? [] : this.all.filter((s) => !gone.has(s.id)))].sort((a, b) => order(a) - order(b) || b.modified - a.modified);
    this.filter();
  }

  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (s) => [s.title, s.prompt, s.cwd, s.model, s.last, s.state, s.id].join(" ").toLowerCase();
    this.found = this.all.filter((s) => words.every((w) => text(s).includes(w)));
    const n = (state) => this.all.filter((s) => s.state === state).length;
    const asks = n("asks");
    const say = [asks && count(asks, "session needs you", "sessions need you"), n("working") && n("working") + " working", count(this.found.length, "session")].filter(Boolean).join(" · ");
    if (this.status.textContent !== say) this.status.textContent = say;
    document.title = (asks ? `(${asks}) ` : "") + "haft";
    this.cwds.replaceChildren(...[...new Set(this.all.map((s) => s.cwd))].slice(0, 50).map((f) => el("option", { value: f })));
    this.rows.setTotal(this.found.length);
    for (const i of [...this.rows.mounted.keys()]) this.rows.update(i);
  }

  row(s) {
    const title = visible(s.title || s.prompt || s.last || s.id).split("\n")[0].slice(0, 160);
    const link = el("a", { href: addressOf(s.id) }, title);
    return el("article", { class: "entry", tabindex: -1, "aria-label": `${title}, ${s.state}` },
      el("span", { class: "chip s-" + s.state }, s.state), el("h2", {}, link),
      el("p", { class: "last" }, visible(s.last || "").slice(0, 240)),
      el("p", { class: "meta" }, el("span", { title: visible(s.cwd) }, visible(folder(s.cwd))), el("span", {}, visible(s.model || "")), el("span", {}, money(s.cost, s.unpriced || s.partial)), el("span", {}, tokens(s.usage.input + s.usage.output + s.usage.cache_read + s.usage.cache_write) + " tokens"), s.modified && el("span", {}, ago(s.modified)),
        button("Rename", { class: "plain" }, () => this.rename(s, link)), button("Delete", { class: "plain", "aria-label": "Delete " + title }, () => this.remove(s, title))));
  }

  rename(s, link) {
    const input = el("input", { type: "text", value: s.title || "", "aria-label": "Title" });
    const end = () => input.replaceWith(link);
    input.addEventListener("blur", end);
    input.addEventListener("keydown", async (e) => {
      if (e.key === "Escape") end();
      if (e.key !== "Enter") return;
      try {
        await request("PATCH", "/sessions/" + encodeURIComponent(s.id), { title: input.value.trim() });
        this.fetch();
      } catch (err) {
        announce("Could not rename: " + err.message);
      }
    });
    link.replaceWith(input);
    input.focus();
  }

  remove(s, title) {
    dialog("Delete this session?", [el("p", {}, title), el("p", { class: "note" }, "The conversation and its checkpoints are deleted. Files stay as they are.")], "Delete", async () => {
      try {
        await request("DELETE", "/sessions/" + encodeURIComponent(s.id));
        this.fetch();
      } catch (err) {
        this.status.textContent = "Could not delete: " + err.message;
      }
    });
  }

  key(e) {
    const at = Number(document.activeElement?.closest?.("[data-index]")?.dataset.index ?? -1);
    const go = (n) => this.rows.show(n)?.querySelector("a").focus();
    shortcut(e, { "/": () => this.search.focus(), j: () => go(at + 1), k: () => go(at - 1) });
  }
}
