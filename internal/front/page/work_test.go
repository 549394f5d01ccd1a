//go:build unix

package page_test

import (
	"encoding/base64"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
)

// workScenes are a whole piece of work: a plan, a question, a change, a comment on it, a commit, and
// what comes after.
func workScenes(dir string) []script.Part {
	file := filepath.Join(dir, "src", "greet.sh")
	write := func(text string) script.Block { return calls("Write", in{"file_path": file, "content": text}) }
	return []script.Part{
		{When: "Write a script that greets", Turns: []script.Turn{
			{Blocks: []script.Block{calls("ExitPlanMode", in{"plan": "## Greet\n\n1. Ask how to greet\n2. Write `src/greet.sh`"})}},
			{Blocks: []script.Block{calls("AskUserQuestion", in{"questions": []in{{"question": "How does it greet?", "header": "Greeting", "multiSelect": false, "options": []in{{"label": "Politely", "description": "Good day"}, {"label": "Briefly", "description": "Hi"}}}}})}},
			{Blocks: []script.Block{write("#!/bin/sh\necho hi\nexit 0\n")}},
			says("The script is **written**."),
			{Blocks: []script.Block{write("#!/bin/sh\necho \"Good day, $1\"\nexit 0\n")}},
			says("It greets by name now."),
			{Blocks: []script.Block{calls("Bash", in{"command": "git add src/greet.sh && git commit -q -m 'Add a greeting'", "description": "Commit the script"})}},
			says("Committed."),
			slow(300),
			says("The queued prompt has its answer."),
			says("I have read the file."),
		}},
		{When: "keep me company", Turns: []script.Turn{says("Gladly.")}},
	}
}

// A whole piece of work is done in the page alone. With -update, the picture of a review in
// docs/serve.md is taken again.
func TestAWholePieceOfWork(t *testing.T) {
	s := newSite(t, workScenes)
	git := needtest.Program(t, "git")
	for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "Ada"}, {"config", "user.email", "ada@example.com"}, {"commit", "-q", "--allow-empty", "-m", "Begin"}} {
		c := exec.Command(git, args...)
		c.Dir = s.dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	p := s.login(1280, 800)
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []in{{"name": "prefers-reduced-motion", "value": "reduce"}}})
	id := s.createIn(p, "Write a script that greets", "plan")

	// The plan, the question and the change are answered by keyboard.
	p.wait(armed + ` && document.querySelector(".question h2").textContent.includes("plan")`)
	p.press("y")
	p.click(`.question input[value="Briefly"]`)
	p.wait(armed)
	p.click(".question button.allow")
	p.wait(`document.querySelector(".question:not(.settled) .diff .plus")?.textContent.includes("#!/bin/sh")`)
	p.wait(armed)
	p.eval(`document.querySelector(".question:not(.settled)").focus()`, nil)
	p.press("y")
	said(p, "The script is written.")

	// A line of the change is commented on, chosen by keyboard, and the model reads that.
	p.eval(`document.activeElement.blur()`, nil)
	p.press("d")
	p.wait(`document.querySelector("dialog .tree button")?.textContent === "greet.sh" && document.querySelector("dialog .tree").textContent.includes("src/")`)
	p.eval(`document.querySelector("dialog .diff .wide").focus()`, nil)
	for range 2 {
		p.special("ArrowDown", 40)
	}
	p.wait(`document.querySelector("tr.chosen").textContent.includes("echo hi") && document.getElementById("announce").textContent === "line 2: +echo hi"`)
	p.press("Enter")
	p.wait(`document.activeElement.getAttribute("aria-label") === "Comment on src/greet.sh, line 2"`)
	p.write("Greet by name, please.")
	p.wait(`document.querySelector("dialog .hint").textContent === "1 comment"`)
	s.pictureOf(p, "serve-review.webp")
	p.click("dialog .buttons button.allow")
	p.wait(`[...document.querySelectorAll(".i-prompt .said")].some((e) => e.textContent.endsWith("src/greet.sh:2\n> +echo hi\nGreet by name, please."))`)
	p.wait(armed)
	p.eval(`document.querySelector(".question:not(.settled)").focus()`, nil)
	p.press("y")
	said(p, "It greets by name now.")

	// The change is committed, under the rules of the session: the command is asked about.
	p.eval(`document.activeElement.blur()`, nil)
	p.press("d")
	p.wait(`document.querySelector("dialog .commit input")`)
	p.eval(`document.querySelector("dialog .commit input").focus()`, nil)
	p.write("Add a greeting")
	p.press("Enter")
	p.wait(`document.querySelector(".question:not(.settled)")?.textContent.includes("git commit")`)
	p.wait(armed)
	p.eval(`document.querySelector(".question:not(.settled)").focus()`, nil)
	p.press("y")
	said(p, "Committed.")
	log := exec.Command(git, "log", "--format=%s", "-1", "--", "src/greet.sh")
	log.Dir = s.dir
	if out, err := log.Output(); err != nil || strings.TrimSpace(string(out)) != "Add a greeting" {
		t.Errorf("the last commit is %q: %v", out, err)
	}

	// Another model and effort are chosen.
	p.click(`header button[title^="Change the model"]`)
	p.click(`dialog input[value="opus"]`)
	p.eval(`(() => { const e = document.querySelector("dialog select"); e.value = "high"; })()`, nil)
	s.pictureOf(p, "")
	p.click("dialog button.allow")
	p.wait(`document.getElementById("announce").textContent.startsWith("The next request goes to")`)
	var has serve.Input
	s.get("/sessions/"+id+"/input", &has)
	if !strings.Contains(has.Model, "opus") || has.Effort != "high" {
		t.Errorf("the model is %q with effort %q", has.Model, has.Effort)
	}

	// While the model writes, prompts wait where they can be seen, taken back and removed.
	p.eval(`document.querySelector("footer textarea").focus()`, nil)
	p.write("Explain it")
	p.press("Enter")
	p.wait(`document.querySelector(".arriving")?.textContent.includes("word5")`)
	p.write("And then?")
	p.press("Enter")
	p.wait(`document.querySelector(".queue li span")?.textContent === "And then?"`)
	p.write("Remove me")
	p.press("Enter")
	p.wait(`document.querySelectorAll(".queue li").length === 2`)
	p.click(`.queue button[aria-label="Remove Remove me"]`)
	p.wait(`document.querySelectorAll(".queue li").length === 1`)
	p.click(`.queue button[aria-label="Edit And then?"]`)
	p.wait(`document.querySelector("footer textarea").value === "And then?" && document.querySelector(".queue").hidden`)
	p.write(" Edited.")
	p.press("Enter")
	p.wait(`document.querySelector(".queue li span")?.textContent === "And then? Edited."`)
	p.click("header button.deny")
	said(p, "The queued prompt has its answer.")
	p.wait(`document.querySelector(".queue").hidden && [...document.querySelectorAll(".i-prompt .said")].some((e) => e.textContent === "And then? Edited.")`)

	// A command and a file are completed, and any file that is dropped is attached.
	p.write("/cos")
	p.wait(`document.querySelector(".menu li b")?.textContent === "/cost"`)
	p.press("Enter")
	p.wait(`document.querySelector("footer textarea").value === "/cost "`)
	p.press("Enter")
	p.wait(`document.querySelector(".i-command")?.textContent.includes("This session has cost")`)
	p.write("Read @gre")
	p.wait(`document.querySelector(".menu li b")?.textContent === "@src/greet.sh"`)
	p.special("Tab", 9)
	p.wait(`document.querySelector("footer textarea").value === "Read @src/greet.sh "`)
	p.eval(`(() => {
		const data = new DataTransfer();
		data.items.add(new File(["remember this, and `+token+`\n"], "notes.txt", {type: "text/plain"}));
		data.items.add(new File([Uint8Array.from(atob("`+base64.StdEncoding.EncodeToString(picture())+`"), (c) => c.charCodeAt(0))], "a.png", {type: "image/png"}));
		document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
	})()`, nil)
	p.wait(`[...document.querySelectorAll(".attached button")].map((b) => b.textContent).join() === "notes.txt ×,a.png ×"`)
	s.pictureOf(p, "")
	p.press("Enter")
	said(p, "I have read the file.")
	p.wait(`document.querySelector(".i-prompt img")?.naturalWidth === 160 && [...document.querySelectorAll(".i-prompt")].some((e) => e.textContent.includes("remember this"))`)

	// What was said is found, here and from the list.
	p.eval(`document.activeElement.blur()`, nil)
	p.press("s")
	p.wait(`document.activeElement.type === "search"`)
	p.write("by NAME now")
	p.click("dialog .hit button")
	p.wait(`document.activeElement.textContent.includes("It greets by name now.") && !document.querySelector("dialog")`)

	// Secrets are not found; what was typed is.
	var files serve.Suggestions
	if s.get("/sessions/"+id+"/suggestions?query=greet", &files); !slices.Contains(files.Paths, "src/greet.sh") {
		t.Errorf("suggested are %q", files.Paths)
	}
	for query, want := range map[string]int{"remember this": 1, token: 0, "no such words": 0} {
		var found serve.Hits
		s.get("/search?query="+url.QueryEscape(query), &found)
		if len(found.Hits) != want {
			t.Errorf("%q was found %d times: %v", query, len(found.Hits), found)
		}
		for _, hit := range found.Hits {
			if (hit != serve.Hit{Session: id, Item: hit.Item, Kind: timeline.Prompt, At: hit.At, Text: hit.Text}) || !strings.Contains(hit.Text, query) {
				t.Errorf("%q was found as %+v", query, hit)
			}
		}
	}

	// The files are rewound to before the first prompt.
	p.press("g")
	p.wait(`document.querySelector(".i-prompt .said")?.textContent === "Write a script that greets"`)
	p.click(".i-prompt .rewind button")
	p.wait(`document.querySelector("dialog li")?.textContent.includes("greet.sh")`)
	p.click("dialog button.allow")
	p.wait(`[...document.querySelectorAll(".asks .note")].some((e) => e.textContent.includes("rewound"))`)
	if _, err := os.Stat(filepath.Join(s.dir, "src", "greet.sh")); err == nil {
		t.Error("the file is still there")
	}

	// The session is saved as a file.
	p.eval(`(() => { const make = URL.createObjectURL; URL.createObjectURL = (blob) => (blob.text().then((text) => (globalThis.saved = text)), make.call(URL, blob)); })()`, nil)
	p.b.must(p.b.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": t.TempDir()}, nil))
	p.eval(`[...document.querySelectorAll(".side button")].find((b) => b.textContent === "Export").click()`, nil)
	p.wait(`document.getElementById("announce").textContent === "Exported." && globalThis.saved.includes("It greets by name now.") && globalThis.saved.trim().endsWith("</html>")`)

	// The list has the session by its project, with what it has cost, and finds its words.
	p.open(s.url + "/")
	p.wait(`document.querySelector(".entry")`)
	p.eval(`[...document.querySelectorAll("header button")].find((b) => b.textContent === "By project").click()`, nil)
	p.wait(`document.querySelector(".entry .project")?.textContent.endsWith("/project")`)
	p.eval(`document.querySelector('input[type="search"]').focus()`, nil)
	p.write("greets by name")
	p.press("Enter")
	p.wait(`document.querySelector("dialog .hit a")?.getAttribute("href").startsWith("/s/` + id + `#e=")`)
	p.special("Escape", 27)
	p.eval(`[...document.querySelectorAll("header button")].find((b) => b.textContent === "Cost").click()`, nil)
	p.wait(`document.querySelectorAll("dialog .costs tbody tr").length === 2`)
	p.clean()
}

// pictureOf takes a picture for docs, or, without a name, for whoever looks at what a test does.
func (s *site) pictureOf(p *tab, name string) {
	s.t.Helper()
	if dir := os.Getenv("HAFT_LOOKS"); dir != "" {
		var shot struct{ Data []byte }
		p.b.must(p.b.call(p.session, "Page.captureScreenshot", map[string]any{"format": "png"}, &shot))
		names, _ := filepath.Glob(filepath.Join(dir, "work-*.png"))
		if err := os.WriteFile(filepath.Join(dir, "work-"+string(rune('a'+len(names)))+".png"), shot.Data, 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	if name == "" || !golden.Updating() {
		return
	}
	if err := os.WriteFile(filepath.Join("..", "..", "..", "docs", name), p.picture(), 0o644); err != nil {
		s.t.Fatal(err)
	}
}
