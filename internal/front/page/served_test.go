//go:build unix

package page_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/front/page"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/internal/test/waiting"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

const token = "the-token-of-the-test-server"

// A site is a server with a scripted model and a user of its own, and a browser.
type site struct {
	t       testing.TB
	url     string
	dir     string
	store   *session.Store
	browser *browser
	network *network
	home    *serve.Home
	address string // where the server listens, behind the network
	run     func(net.Listener)
	end     func()
	phone   string // its name and port for other machines
}

// A network is between the browser and the server, and can be cut.
type network struct {
	mu    sync.Mutex
	off   bool
	conns map[net.Conn]bool
}

func (n *network) serve(l net.Listener, server string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", server)
		n.mu.Lock()
		if err != nil || n.off {
			c.Close()
			if up != nil {
				up.Close()
			}
			n.mu.Unlock()
			continue
		}
		n.conns[c], n.conns[up] = true, true
		n.mu.Unlock()
		pipe := func(to, from net.Conn) {
			_, _ = io.Copy(to, from)
			to.Close()
			from.Close()
			n.mu.Lock()
			defer n.mu.Unlock()
			delete(n.conns, from)
		}
		go pipe(up, c)
		go pipe(c, up)
	}
}

// cut ends every connection and refuses new ones, or lets them be made again.
func (n *network) cut(off bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.off = off
	for c := range n.conns {
		c.Close()
	}
}

// newSite starts one. What the model does depends on the first prompt.
func newSite(t testing.TB, parts func(dir string) []script.Part) *site {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "HAFT_HOME": filepath.Join(home, ".haft"), "CLAUDE_CONFIG_DIR": filepath.Join(home, ".claude"), "XDG_RUNTIME_DIR": "", "XDG_CACHE_HOME": filepath.Join(home, ".cache")} {
		t.(interface{ Setenv(k, v string) }).Setenv(name, value)
	}
	st := &site{t: t, dir: filepath.Join(home, "project"), store: session.Open("")}
	if err := os.Mkdir(st.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	st.browser = openBrowser(t) // first, so that it ends last
	m, err := script.Serve(&script.Options{Scenario: &script.Scenario{Parts: slices.Concat(parts(st.dir), waiting.Parts(st.dir))}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close(); st.network.cut(true) })
	st.network = &network{conns: map[net.Conn]bool{}}
	go st.network.serve(front, l.Addr().String())
	_, port, _ := net.SplitHostPort(front.Addr().String())
	st.phone = "phone.test:" + port
	talk := harness.TalkOptions{Client: anthropic.New(&anthropic.Options{BaseURL: m.URL(), Key: "k"}), Model: "claude-sonnet-4-5", Watch: live.Open("test")}
	talk.MCP.Entries, talk.MCP.Wait = asker(t), 20*time.Second
	st.run = func(l net.Listener) {
		st.t.Helper()
		kept, err := serve.OpenHome(filepath.Join(home, "serve"), false)
		if err != nil {
			st.t.Fatal(err)
		}
		st.home = kept
		s := serve.New(&serve.Options{
			Harness: harness.Options{Preview: "off", Embedded: []tool.Tool{waiting.Tool()}}, Talk: talk, Token: token, Version: "test", Files: page.Files, Hosts: []string{front.Addr().String(), st.phone}, Devices: kept.Devices(), Logins: kept.Logins(),
			Export: func(ctx context.Context, id string, out io.Writer) error {
				info, err := st.store.Info(id)
				if err != nil {
					return err
				}
				return page.ExportOf(ctx, out, &info, nil)
			},
		})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx, l) }()
		st.end = sync.OnceFunc(func() {
			cancel()
			if err := errors.Join(<-done, kept.Close()); err != nil {
				st.t.Error(err)
			}
		})
	}
	st.run(l)
	st.address = l.Addr().String()
	t.Cleanup(func() { st.end() })
	st.url = "http://" + front.Addr().String()
	return st
}

// restart ends the server and starts another one in its place, with the same token.
func (s *site) restart() {
	s.t.Helper()
	s.end()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.run(l)
}

// status is that of a request with a header, such as "Haft-Token: x", and a body.
func (s *site) status(method, path, header, body string) int {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if name, value, ok := strings.Cut(header, ": "); ok {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// get asks the server.
func (s *site) get(path string, into any) {
	s.t.Helper()
	r, err := http.NewRequest("GET", s.url+"/v1"+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, raw)
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// code is one that logs a browser in.
func (s *site) code() string {
	s.t.Helper()
	code, err := s.home.Logins().New()
	if err != nil {
		s.t.Fatal(err)
	}
	return code
}

// login opens the list in a new tab, as the address that haft serve prints does.
func (s *site) login(width, height int) *tab {
	s.t.Helper()
	p := s.browser.tab(width, height)
	p.open(s.url + "/#login=" + s.code())
	p.wait(`document.querySelector(".sessions")?.dataset.ready`)
	p.wait(`location.hash === ""`)
	return p
}

// create begins a session in the page, which then shows it.
func (s *site) create(p *tab, prompt string) (id string) {
	s.t.Helper()
	return s.createIn(p, prompt, "default")
}

// createIn begins one in a permission mode.
func (s *site) createIn(p *tab, prompt, mode string) (id string) {
	s.t.Helper()
	p.open(s.url + "/")
	p.wait(`document.querySelector(".sessions")?.dataset.ready`)
	p.press("n")
	p.wait(`document.activeElement.getAttribute("aria-label") === "Folder"`)
	p.write(s.dir)
	p.eval(`document.querySelector('.create textarea').focus()`, nil)
	p.write(prompt)
	p.eval(fmt.Sprintf(`document.querySelector(".create select").value = %q`, mode), nil)
	p.click(`.create button[type="submit"]`)
	p.wait(`location.pathname.startsWith("/s/") && document.querySelector(".session")?.dataset.ready`)
	p.eval(`location.pathname.slice(3)`, &id)
	return id
}

func calls(name string, input in) script.Block {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return script.Block{Tool: name, Input: raw}
}

func says(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }

// slow says many words, a few at a time.
func slow(words int) script.Turn {
	var b strings.Builder
	for n := range words {
		fmt.Fprintf(&b, "word%d ", n)
		if n%20 == 19 {
			b.WriteString("\n\n")
		}
	}
	return script.Turn{Blocks: []script.Block{{Text: b.String() + "\n\n**the end**"}}, Chunk: 30, Delta: 20}
}

func scenes(dir string) []script.Part {
	write := func(name, content string) script.Turn {
		return script.Turn{Blocks: []script.Block{calls("Write", in{"file_path": filepath.Join(dir, name), "content": content})}}
	}
	var reads []script.Turn
	for n := range 25 {
		reads = append(reads, script.Turn{TTFT: 20, Blocks: []script.Block{{Text: "Next."}, calls("Glob", in{"pattern": fmt.Sprintf("*.%d", n)})}})
	}
	return []script.Part{
		{When: "approve me", Turns: []script.Turn{write("approved.txt", "one\ntwo\n"), says("It is **written**.")}},
		{When: "long change", Turns: []script.Turn{write("long.txt", strings.Repeat("a line of a long file\n", 400)), says("Long.")}},
		{When: "deny me", Turns: []script.Turn{write("denied.txt", "no\n"), says("As you wish.")}},
		{When: "try again", Turns: []script.Turn{write("again.txt", "no\n"), says("Tried again.")}},
		{When: "link to me", Turns: []script.Turn{write("linked.txt", "x\n"), write("linked again.txt", "x\n"), says("Linked.")}},
		{When: "two tabs", Turns: []script.Turn{write("tabs.txt", "x\n"), says("Once.")}},
		{When: "talk slowly", Turns: []script.Turn{slow(400)}},
		{When: "talk on", Turns: []script.Turn{slow(120), says("And more.")}},
		{When: "rewind me", Turns: []script.Turn{write("rewound.txt", "x\n"), says("There it is.")}},
		{When: "many steps", Turns: append(reads, says("All seen."))},
		{When: "plan it", Turns: []script.Turn{{Blocks: []script.Block{calls("ExitPlanMode", in{"plan": "## The plan\n\n1. Write **planned.txt**"})}}, write("planned.txt", "as planned\n"), says("Done as planned.")}},
		{When: "two changes", Turns: []script.Turn{write("first.txt", "1\n"), write("second.txt", "2\n"), write("first.txt", "one\n"), says("Both written.")}},
		{When: "in the background", Turns: []script.Turn{{Blocks: []script.Block{calls("Bash", in{"command": "sleep 600", "description": "Wait long", "run_in_background": true})}}, says("It runs.")}},
		{When: "fill in a form", Turns: []script.Turn{{Blocks: []script.Block{calls("mcp__asker__ask", in{})}}, says("Filled in.")}},
		{When: "ask me", Turns: []script.Turn{{Blocks: []script.Block{calls("AskUserQuestion", in{"questions": []in{{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": []in{{"label": "Blue", "description": "calm"}, {"label": "Red", "description": "loud"}}}}})}}, says("Noted.")}},
	}
}

// The page creates sessions, shows them, and steers them.
func TestServedPage(t *testing.T) {
	s := newSite(t, scenes)
	p := s.login(1280, 900)
	for name, f := range map[string]func(*testing.T, *site, *tab){
		"approve by keyboard":                        approves,
		"a long change must have been on the screen": approvesWhatWasSeen,
		"deny and say why":                           denies,
		"an answer that cannot be sent":              repeatsAnswer,
		"a draft":                                    keepsDraft,
		"two tabs":                                   twoTabs,
		"a link to a question":                       linksToQuestion,
		"what the user went back from":               showsWhatWasLeft,
		"interrupt":                                  interrupts,
		"what is open takes the keys":                closesWhatIsOpen,
		"reload in the middle of a stream":           reloads,
		"offline and back":                           offlineAndBack,
		"rewind":                                     rewinds,
		"an image in a prompt":                       sendsImage,
		"a question with choices":                    chooses,
		"a plan":                                     plans,
		"a form of an MCP server":                    fillsIn,
		"all changes of a session":                   showsChanges,
		"a task in the background":                   stopsTask,
		"what running calls report":                  showsProgress,
		"an event is in the document in time":        inTime,
	} {
		t.Run(name, func(t *testing.T) {
			defer func(t testing.TB) { s.t, s.browser.t = t, t }(s.t)
			s.t, s.browser.t = t, t
			f(t, s, p)
			p.clean()
		})
	}
}

const armed = `document.querySelector(".question:not(.settled) button.allow") && !document.querySelector(".question:not(.settled) button.allow").disabled`

func approves(t *testing.T, s *site, p *tab) {
	s.create(p, "approve me")
	p.wait(`document.querySelector(".question .diff .plus")?.textContent.includes("one")`)
	p.wait(`document.title.startsWith("❓") && document.querySelector("header .chip").textContent === "needs you"`)
	p.wait(armed)
	p.press("y")
	p.wait(`[...document.querySelectorAll(".i-text strong")].some((e) => e.textContent === "written")`)
	p.wait(`document.querySelector("header .chip").textContent === "done" && !document.querySelector(".question")`)
	if raw, err := os.ReadFile(filepath.Join(s.dir, "approved.txt")); err != nil || string(raw) != "one\ntwo\n" {
		t.Errorf("the file is %q: %v", raw, err)
	}
	p.open(s.url + "/")
	p.wait(`[...document.querySelectorAll(".entry")].some((e) => e.textContent.includes("approve me") && e.querySelector(".chip").textContent === "done")`)
	p.eval(`document.querySelector('input[type="search"]').focus()`, nil)
	p.write("no such session")
	p.wait(`!document.querySelector(".entry")`)
}

func approvesWhatWasSeen(t *testing.T, s *site, p *tab) {
	s.create(p, "long change")
	p.wait(`document.querySelector(".question .hint")?.textContent.includes("Scroll to the end")`)
	p.press("y") // answers nothing: most of the change has not been on the screen
	p.press("a")
	jump := func(share float64) {
		p.eval(fmt.Sprintf(`(async () => { const w = document.querySelector(".what"); w.scrollTop = w.scrollHeight * %f; await new Promise((r) => setTimeout(r, 700)); })()`, share), nil)
	}
	jump(1) // a jump to the end leaves out the middle
	p.wait(`document.querySelector(".question .hint").textContent.includes("scroll back to what you left out")`)
	var disabled bool
	p.eval(`document.querySelector(".question button.allow").disabled`, &disabled)
	if !disabled {
		t.Error("a change can be allowed whose middle was not on the screen")
	}
	p.eval(`(async () => { const w = document.querySelector(".what"); const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r))); for (let y = 0; y < w.scrollHeight; y += w.clientHeight / 2) { w.scrollTop = y; await frame(); await frame(); } })()`, nil)
	p.wait(armed)
	if _, err := os.Stat(filepath.Join(s.dir, "long.txt")); err == nil {
		t.Error("the file was written before it was allowed")
	}
	p.eval(`document.querySelector(".question").focus()`, nil)
	p.press("y")
	p.wait(`[...document.querySelectorAll(".i-text")].some((e) => e.textContent.includes("Long."))`)
}

func denies(t *testing.T, s *site, p *tab) {
	id := s.create(p, "deny me")
	p.wait(armed)
	p.press("e")
	p.wait(`document.activeElement.getAttribute("aria-label").startsWith("Why not")`)
	p.write("put it elsewhere")
	p.press("Enter")
	p.wait(`[...document.querySelectorAll(".i-text")].some((e) => e.textContent.includes("As you wish."))`)
	if _, err := os.Stat(filepath.Join(s.dir, "denied.txt")); err == nil {
		t.Error("the file was written")
	}
	var view serve.Timeline
	s.get("/sessions/"+id+"/timeline", &view)
	n := slices.IndexFunc(view.Items, func(i *timeline.Item) bool { return i.Call != nil })
	if c := view.Items[n].Call; c.State != "denied" || !strings.Contains(c.Result, "put it elsewhere") {
		t.Errorf("the call is %s: %q", c.State, c.Result)
	}
}

// repeatsAnswer answers while there is no network: the page says so until the answer is sent.
func repeatsAnswer(t *testing.T, s *site, p *tab) {
	s.create(p, "try again")
	p.wait(armed)
	s.network.cut(true)
	p.press("y")
	p.wait(`document.querySelector(".question .hint")?.textContent.includes("Could not send the answer")`)
	var hint string
	p.eval(`new Promise((done) => setTimeout(() => done(document.querySelector(".question .hint").textContent), 500))`, &hint)
	if !strings.Contains(hint, "Could not send the answer") {
		t.Errorf("after half a second the page says %q", hint)
	}
	s.network.cut(false)
	p.wait(`!document.querySelector(".session.offline")`)
	p.wait(armed)
	p.press("y")
	said(p, "Tried again.")
}

// keepsDraft reloads the page while a prompt is written.
func keepsDraft(t *testing.T, s *site, p *tab) {
	s.create(p, "hello")
	p.wait(`document.querySelector("header .chip").textContent === "done"`)
	p.eval(`document.querySelector("footer textarea").focus()`, nil)
	p.write("half a thought")
	p.do("Page.reload", nil)
	p.wait(`document.querySelector(".session")?.dataset.ready && document.querySelector("footer textarea").value === "half a thought"`)
}

func twoTabs(t *testing.T, s *site, p *tab) {
	id := s.create(p, "two tabs")
	q := s.browser.tab(390, 844)
	q.open(s.url + "/s/" + id)
	p.wait(armed)
	q.wait(armed)
	q.click(".question button.allow")
	p.wait(`document.querySelector(".question.settled")?.textContent.includes("the web page on Linux") || !document.querySelector(".question")`)
	for _, x := range []*tab{p, q} {
		x.wait(`[...document.querySelectorAll(".i-text")].filter((e) => e.textContent.includes("Once.")).length === 1`)
		x.clean()
	}
	// What one tab says, the other shows.
	q.eval(`document.querySelector("footer textarea").focus()`, nil)
	q.write("from the phone")
	q.press("Enter")
	p.wait(`[...document.querySelectorAll(".i-prompt")].some((e) => e.textContent.includes("from the phone"))`)
	q.close()
}

// The address of a question opens its session at the question, and at the call when it has
// been answered.
func linksToQuestion(t *testing.T, s *site, p *tab) {
	id := s.create(p, "link to me")
	p.wait(armed)
	var address string
	p.eval(`document.querySelector(".question .perma").href`, &address)
	q := s.browser.tab(390, 844)
	defer q.close()
	q.open(address)
	q.wait(armed)
	q.wait(`document.activeElement.classList.contains("question") && location.pathname === "/s/` + id + `"`)
	q.press("y")
	// The next question is looked at, too, though the address named another one.
	q.wait(armed + ` && document.activeElement.matches(".question:not(.settled)") && document.activeElement.textContent.includes("linked again.txt")`)
	q.press("y")
	q.wait(`[...document.querySelectorAll(".i-text")].some((e) => e.textContent.includes("Linked."))`)
	q.open(address)
	q.wait(`document.activeElement.classList.contains("i-call") && location.hash === "#" + document.activeElement.id.replace("e", "e=")`)
	q.clean()
	q.open(s.url + "/q/no-such-question")
	q.wait(`document.querySelector(".problem")?.textContent.includes("There is no such question.") && document.querySelector(".problem a").href === location.origin + "/"`)
}

// A turn that the user went back from is shown as one.
func showsWhatWasLeft(t *testing.T, s *site, p *tab) {
	made := sessiontest.Create(t, s.store, &session.CreateOptions{Cwd: s.dir})
	kept := sessiontest.Answer("m1", model.TextOf("Kept."))
	kept.UUID = session.NewUUID()
	sessiontest.Add(t, made, sessiontest.Prompt("stays"), kept, sessiontest.Prompt("goes"), sessiontest.Answer("m2", model.TextOf("Gone.")))
	sessiontest.Close(t, made)
	again := sessiontest.Resume(t, s.store, made.ID(), &session.ResumeOptions{At: kept.UUID})
	sessiontest.Add(t, again, sessiontest.Prompt("instead"))
	sessiontest.Close(t, again)
	p.open(s.url + "/s/" + made.ID())
	p.wait(`[...document.querySelectorAll(".item.left")].map((e) => e.querySelector(".body").textContent).join(" ") === "goes Gone."`)
	p.wait(`document.querySelectorAll(".item:not(.left)").length === 3 && document.querySelector(".left .divider").textContent.startsWith("The conversation was taken back")`)
}

func interrupts(t *testing.T, s *site, p *tab) {
	s.create(p, "talk slowly")
	p.wait(`document.querySelector(".arriving")?.textContent.includes("word5")`)
	p.click("header button.deny")
	p.wait(`document.querySelector("header .chip").textContent !== "working" && !document.querySelector(".arriving")`)
	if strings.Contains(p.text(".feed"), "word399") {
		t.Error("the answer was not interrupted")
	}
}

// closesWhatIsOpen presses Esc in a dialog and in the details of a narrow screen: it closes these,
// and the turn continues. A prompt that waits for the turn is said to wait.
func closesWhatIsOpen(t *testing.T, s *site, p *tab) {
	s.create(p, "talk slowly")
	p.wait(`document.querySelector(".arriving")?.textContent.includes("word5")`)
	p.eval(`document.activeElement.blur()`, nil)
	p.press("d")
	p.wait(`document.querySelector("dialog[open]")`)
	p.press("Escape")
	p.wait(`!document.querySelector("dialog")`)
	details := `[...document.querySelectorAll("header button")].find((b) => b.textContent === "Details")`
	p.eval(details+`.click()`, nil)
	p.wait(`document.querySelector(".with-side .side button")`)
	p.press("Escape")
	p.wait(`!document.querySelector(".with-side")`)
	p.eval(details+`.click()`, nil)
	p.eval(`document.querySelector(".side button").click()`, nil)
	p.wait(`!document.querySelector(".with-side")`)
	if !strings.Contains(p.text("header .chip"), "working") {
		t.Errorf("the session is %q", p.text("header .chip"))
	}
	p.eval(`document.querySelector("footer textarea").focus()`, nil)
	p.write("and then?")
	p.press("Enter")
	p.wait(`document.querySelector(".queue li")?.textContent.includes("and then?")`)
	p.click("header button.deny")
	p.wait(`document.querySelector("header .chip").textContent !== "working"`)
}

func reloads(t *testing.T, s *site, p *tab) {
	s.create(p, "talk on")
	p.wait(`document.querySelector(".arriving")?.textContent.includes("word5")`)
	p.do("Page.reload", nil)
	p.wait(`document.querySelector(".i-text strong")?.textContent === "the end" && !document.querySelector(".arriving")`)
	var n int
	p.eval(`(document.querySelector(".feed").textContent.match(/word7 /g) || []).length`, &n)
	if n != 1 {
		t.Errorf("a word of the answer is shown %d times", n)
	}
}

func offlineAndBack(t *testing.T, s *site, p *tab) {
	id := s.create(p, "many steps")
	p.wait(`document.querySelectorAll(".i-call").length > 2`)
	s.network.cut(true)
	p.wait(`document.querySelector("header .chip").textContent === "offline"`)
	s.network.cut(false)
	p.wait(`[...document.querySelectorAll(".i-text")].some((e) => e.textContent.includes("All seen."))`)
	p.wait(`document.querySelector("header .chip").textContent === "done"`)
	var view serve.Timeline
	s.get("/sessions/"+id+"/timeline", &view)
	p.wait(fmt.Sprintf(`document.querySelector("#e%d") && !document.querySelector("#e%d")`, view.Total-1, view.Total)) // none twice, none missing
	// Again and again: what comes late scrolls a page that follows back to its end.
	p.wait(`(document.querySelector(".conversation").scrollTop = 0, document.querySelector("#e0")) && new Set([...document.querySelectorAll(".item")].map((i) => i.id)).size === document.querySelectorAll(".item").length`)
}

func rewinds(t *testing.T, s *site, p *tab) {
	s.create(p, "rewind me")
	p.wait(armed)
	p.press("y")
	p.wait(`[...document.querySelectorAll(".i-text")].some((e) => e.textContent.includes("There it is."))`)
	p.click(".i-prompt .rewind button")
	p.wait(`document.querySelector("dialog li")?.textContent.includes("rewound.txt")`)
	if _, err := os.Stat(filepath.Join(s.dir, "rewound.txt")); err != nil {
		t.Errorf("the preview has changed something: %v", err)
	}
	p.click("dialog button.allow")
	p.wait(`document.querySelector(".asks .note")?.textContent.includes("rewound")`)
	if _, err := os.Stat(filepath.Join(s.dir, "rewound.txt")); err == nil {
		t.Error("the file is still there")
	}
}

func chooses(t *testing.T, s *site, p *tab) {
	s.create(p, "ask me")
	p.click(`.question input[value="Red"]`)
	p.eval(`document.querySelector('.question input[type="text"]').focus()`, nil)
	p.write("Green") // instead of Red
	p.wait(`document.querySelectorAll(".question input:checked").length === 0`)
	p.click(`.question input[value="Blue"]`) // instead of Green
	p.wait(`document.querySelector('.question input[type="text"]').value === ""`)
	p.wait(armed)
	p.click(".question button.allow")
	p.wait(`[...document.querySelectorAll(".i-text")].some((e) => e.textContent.includes("Noted."))`)
	p.wait(`[...document.querySelectorAll(".i-call")].some((e) => { e.querySelector("details").open = true; return e.textContent.includes("Blue"); })`)
}

func sendsImage(t *testing.T, s *site, p *tab) {
	s.create(p, "hello")
	p.wait(`document.querySelector("header .chip").textContent === "done"`)
	p.eval(`(async () => {
		const data = new DataTransfer(), bytes = Uint8Array.from(atob("`+base64.StdEncoding.EncodeToString(picture())+`"), (c) => c.charCodeAt(0));
		data.items.add(new File([bytes], "a.png", {type: "image/png"}));
		const input = document.querySelector("footer textarea");
		input.focus();
		input.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
	})()`, nil)
	p.wait(`document.querySelector(".attached button").textContent.startsWith("a.png")`)
	p.write("what is this?")
	p.press("Enter")
	p.wait(`document.querySelector(".i-prompt img")?.naturalWidth === 160`)
}

// inTime measures from the time in the journal to the row in the document. The best of three
// sessions counts: other programs may need the machine meanwhile.
// An event that the page has received is in the document at the next frame, which does not depend
// on how busy the machine is. The whole way, from the session to the document, is timed.
func inTime(t *testing.T, s *site, p *tab) {
	var script struct{ Identifier string }
	p.b.must(p.b.call(p.session, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": received}, &script))
	defer p.do("Page.removeScriptToEvaluateOnNewDocument", map[string]any{"identifier": script.Identifier})
	best := time.Hour
	for range 3 {
		s.create(p, "many steps")
		var events []struct{ Whole, Here, Frames float64 }
		p.eval(`new Promise((done) => {
			const events = [], known = new Set([...document.querySelectorAll(".item")].map((i) => i.id));
			const look = () => {
				for (const i of document.querySelectorAll(".feed > .item")) {
					const from = received.get(Number(i.dataset.index));
					if (known.has(i.id) || !i.dataset.at || !from) continue;
					known.add(i.id);
					events.push({whole: Date.now() - Number(i.dataset.at), here: performance.now() - from.time, frames: frames - from.frame});
				}
				if (document.querySelector(".feed").textContent.includes("All seen.")) done(events);
			};
			new MutationObserver(look).observe(document.querySelector(".feed"), {childList: true});
			look();
			setTimeout(() => done(events), 30000);
		})`, &events)
		if len(events) < 5 {
			t.Logf("only %d events were seen: the page was late itself", len(events))
			continue
		}
		var whole, here []float64
		for _, e := range events {
			whole, here = append(whole, e.Whole), append(here, e.Here)
			if e.Frames > 2 {
				t.Errorf("an event was in the document %v frames after it was received", e.Frames)
			}
		}
		slices.Sort(whole)
		slices.Sort(here)
		n := len(whole)
		p95 := time.Duration(whole[n*95/100]) * time.Millisecond
		t.Logf("%d events: from the session to the document median %.0f ms, p95 %v; in the page median %.0f ms, p95 %.0f ms, %.0f%% of the whole", n, whole[n/2], p95, here[n/2], here[n*95/100], 100*here[n/2]/max(1, whole[n/2]))
		if best = min(best, p95); best <= 100*time.Millisecond {
			return
		}
	}
	if best > slack*100*time.Millisecond && !raceDetector {
		t.Errorf("an event was in the document after %v (p95)", best)
	}
}

// received notes, in the page, when an item has come and how many frames there were until then.
const received = `globalThis.received = new Map(); globalThis.frames = 0;
(function count() { frames++; requestAnimationFrame(count); })();
const parse = JSON.parse;
JSON.parse = (text, ...more) => {
	const value = parse(text, ...more);
	if (value?.revision) for (const i of value.items || []) if (!received.has(i.index)) received.set(i.index, {time: performance.now(), frame: frames});
	return value;
};`

// slack is by how much a busy machine may miss a limit of time.
const slack = 8

// A session of 10,000 lines is on the screen at once.
func TestFirstPaint(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector distorts what it measures")
	}
	s := newSite(t, scenes)
	made := long(t, s.store, s.dir, 10_000)
	p := s.login(1280, 900)
	var best time.Duration
	p.do("Network.clearBrowserCache", nil) // the first load is that of a new user, of a session that the server has not read
	for n := range 6 {
		used := cpuTime(t)
		p.open(s.url + "/s/" + made.ID())
		p.wait(`document.querySelectorAll(".item:not(.loading)").length > 5 && performance.getEntriesByName("first-contentful-paint").length`)
		used = cpuTime(t) - used
		var r struct {
			Paint    float64
			Requests []string
			Bytes    int
			When     string
		}
		p.eval(`(() => {
			const paint = performance.getEntriesByName("first-contentful-paint")[0].startTime, all = performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"));
			const before = all.filter((e) => e.requestStart < paint);
			return {paint, requests: before.map((e) => new URL(e.name).pathname.replace(/.*\/(?=.)/, "")), bytes: before.reduce((n, e) => n + e.transferSize, 0),
				when: all.map((e) => e.name.replace(/.*\/(?=.)/, "").slice(-24) + " " + [e.startTime, e.requestStart, e.responseStart, e.responseEnd].map(Math.round).join("/")).join(", ")};
		})()`, &r)
		took := time.Duration(r.Paint * float64(time.Millisecond))
		t.Logf("load %d: first paint after %v; before it %d requests, %d bytes; processor time of the server %v (%s)", n, took, len(r.Requests), r.Bytes, used, r.When)
		// These do not depend on how busy the machine is: the document, the style, the script, the
		// session and its timeline.
		if len(r.Requests) > 5 || r.Bytes > 170_000 {
			t.Errorf("load %d: %d requests (%v) with %d bytes before the first paint", n, len(r.Requests), r.Requests, r.Bytes)
		}
		if used > 2*time.Second {
			t.Errorf("load %d: the server took %v of processor time", n, used)
		}
		if best == 0 || took < best {
			best = took
		}
	}
	if best > slack*150*time.Millisecond {
		t.Errorf("the first paint took %v at best", best)
	}
	p.clean()
}

// cpuTime is the processor time of this process, which is that of the server: the browser is
// another one.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A served session of 100,000 events scrolls, loading what is looked at.
func TestServedLongSession(t *testing.T) {
	s := newSite(t, scenes)
	entries, event := 100_000, 12345
	if raceDetector {
		entries, event = 10_000, 1234
	}
	made := long(t, s.store, s.dir, entries)
	p := s.login(1280, 900)
	p.open(s.url + "/s/" + made.ID())
	p.wait(`document.querySelectorAll(".item:not(.loading)").length > 5`)
	var view serve.Timeline
	s.get("/sessions/"+made.ID()+"/timeline?limit=1", &view)
	t.Logf("%d items, slowest jump %v", view.Total, scrolls(p, view.Total))
	p.eval(fmt.Sprintf(`location.hash = "#e=%d"`, event), nil)
	p.wait(fmt.Sprintf(`document.activeElement.id === "e%d"`, event))
	p.clean()
}
