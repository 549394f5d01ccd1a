//go:build unix

package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/test/waiting"
	"github.com/haftdev/haft/internal/world/mcp/config"
)

func TestMain(m *testing.M) {
	if waiting.Serving() {
		return
	}
	if os.Getenv("PAGE_TEST_SERVER") != "" {
		serveForm()
		return
	}
	os.Exit(m.Run())
}

// form has a field of each kind that a server may ask for.
var form = in{"type": "object", "required": []string{"name", "colour"}, "properties": in{
	"name":   in{"type": "string", "title": "Your name", "minLength": 2},
	"mail":   in{"type": "string", "format": "email"},
	"colour": in{"type": "string", "oneOf": []in{{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}}, "default": "b"},
	"sizes":  in{"type": "array", "items": in{"type": "string", "enum": []string{"small", "large"}}},
	"count":  in{"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
	"sure":   in{"type": "boolean", "description": "really"},
}}

// serveForm is an MCP server with a tool that asks the user.
func serveForm() {
	server := sdk.NewServer(&sdk.Implementation{Name: "asker", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "ask", Description: "Asks the user.", InputSchema: map[string]any{"type": "object"}, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if answer, ok := r.Params.InputResponses["form"].(*sdk.ElicitResult); ok {
			raw, _ := json.Marshal(answer.Content)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: answer.Action + " " + string(raw)}}}, nil
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"form": &sdk.ElicitParams{Message: "Who are you?", RequestedSchema: form}}}, nil
	})
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// Calls show that they run and what they report, also to a page that is loaded meanwhile.
func showsProgress(t *testing.T, s *site, p *tab) {
	settings := filepath.Join(os.Getenv("HAFT_HOME"), "settings.json")
	allowed, err := json.Marshal(in{"permissions": in{"allow": waiting.Allowed}})
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(settings), 0o700), os.WriteFile(settings, allowed, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(settings)
	s.create(p, waiting.Prompt)
	running := func(kind waiting.Kind) string {
		title := kind.Tool[strings.LastIndex(kind.Tool, "_")+1:] + " runs"
		return fmt.Sprintf(`document.querySelector(".session")?.dataset.ready && [...document.querySelectorAll(".running")].some((e) => e.textContent.includes(%q) && e.textContent.includes(%q))`, title, kind.Report)
	}
	for i, kind := range waiting.Kinds {
		p.wait(running(kind))
		if i == 0 {
			p.do("Page.reload", nil)
			p.wait(running(kind))
		}
		if err := kind.End(s.dir); err != nil {
			t.Fatal(err)
		}
		p.wait("!(" + running(kind) + ")")
	}
	said(p, waiting.Done)
	p.wait(`!document.querySelector(".running")`)
}

// asker is that server as settings would have it.
func asker(t testing.TB) []config.Entry {
	t.Helper()
	command, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(in{"type": "stdio", "command": command, "args": []string{}, "env": map[string]string{"PAGE_TEST_SERVER": "1"}})
	worker, _ := json.Marshal(in{"type": "stdio", "command": command, "args": []string{}, "env": map[string]string{waiting.Variable: "1"}})
	return []config.Entry{{Name: "asker", Raw: raw, Scope: "dynamic", Origin: "the test"}, {Name: waiting.Server, Raw: worker, Scope: "dynamic", Origin: "the test"}}
}

// said waits until the model has said something.
func said(p *tab, text string) {
	p.b.t.Helper()
	p.wait(fmt.Sprintf(`[...document.querySelectorAll(".i-text")].some((e) => e.textContent.includes(%q))`, text))
}

// "Always allow" saves every rule that is suggested, except those that only a terminal may save.
func TestAlwaysAllowSavesAllRules(t *testing.T) {
	t.Parallel()
	h := httptest.NewServer(http.FileServerFS(os.DirFS(".")))
	t.Cleanup(h.Close)
	p := openBrowser(t).tab(800, 600)
	p.open(h.URL + "/index.html")
	var got struct {
		Label string
		Rules []string
	}
	p.eval(`(async () => {
		const { Question } = await import("/ask.js");
		const rule = (ruleContent, destination) => ({ type: "addRules", behavior: "allow", destination, rules: [{ toolName: "Bash", ruleContent }] });
		const request = { tool_name: "Bash", input: { command: "a && b && c" }, permission_suggestions: [rule("a", "localSettings"), rule("b", "localSettings"), rule("c", "session"), rule("d", "userSettings")] };
		let sent;
		const q = new Question({ id: "q", digest: "d", kind: "permission", request }, async (answer) => { sent = answer; });
		document.body.prepend(q.node);
		const label = q.always.textContent;
		while (q.always.disabled) await new Promise((r) => setTimeout(r, 20));
		q.always.click();
		return { label, rules: sent.answer.updatedPermissions.map((s) => s.rules[0].ruleContent) };
	})()`, &got)
	if strings.Join(got.Rules, " ") != "a b c" || !strings.Contains(got.Label, "Bash(c) in this session") {
		t.Errorf("the button %q saves %q", got.Label, got.Rules)
	}
}

// plans approves a plan by the keyboard: the plan is shown as Markdown, and the mode changes.
func plans(t *testing.T, s *site, p *tab) {
	id := s.createIn(p, "plan it", "plan")
	p.wait(`document.querySelector(".question h2")?.textContent === "Approve this plan?" && document.querySelector(".question .what strong")?.textContent === "planned.txt"`)
	if got := p.text(".question .buttons"); !strings.Contains(got, "Approve and accept edits") || !strings.Contains(got, "Keep planning") {
		t.Errorf("the buttons say %q", got)
	}
	p.wait(armed)
	p.press("a")
	said(p, "Done as planned.")
	if raw, err := os.ReadFile(filepath.Join(s.dir, "planned.txt")); err != nil || string(raw) != "as planned\n" {
		t.Errorf("the file is %q: %v", raw, err)
	}
	var now serve.Session
	if s.get("/sessions/"+id, &now); now.Mode != "acceptEdits" {
		t.Errorf("the mode is %q", now.Mode)
	}
	p.wait(`document.querySelector('header select').selectedOptions[0].textContent === "Accept edits"`)
}

// fillsIn fills in a form of an MCP server; what is missing is asked for before it is sent.
func fillsIn(t *testing.T, s *site, p *tab) {
	id := s.create(p, "fill in a form")
	p.wait(`document.querySelector(".question h2")?.textContent === "asker asks" || ` + armed)
	if !strings.Contains(p.text(".question h2"), "asker asks") {
		p.press("y") // the call itself
	}
	p.wait(`document.querySelector(".question:not(.settled) form")?.textContent.includes("Who are you?")`)
	p.wait(armed)
	p.click(`.question:not(.settled) button.allow`)
	p.wait(`document.activeElement.required && !document.activeElement.checkValidity()`)
	p.write("Ada")
	p.click(`.question input[value="large"]`)
	p.click(`.question form > label input[type="checkbox"]`)
	p.click(`.question:not(.settled) button.allow`)
	said(p, "Filled in.")
	var view serve.Timeline
	s.get("/sessions/"+id+"/timeline", &view)
	result := ""
	for _, i := range view.Items {
		if i.Call != nil {
			result = i.Call.Result
		}
	}
	if want := `accept {"colour":"b","count":3,"name":"Ada","sizes":["large"],"sure":true}`; result != want {
		t.Errorf("the server got %q, want %q", result, want)
	}
}

// showsChanges shows what the whole session changed, each file once.
func showsChanges(t *testing.T, s *site, p *tab) {
	s.createIn(p, "two changes", "acceptEdits")
	said(p, "Both written.")
	p.wait(`document.querySelectorAll(".side .files li").length === 2`)
	p.eval(`document.querySelector(".conversation").focus()`, nil)
	p.press("d")
	p.wait(`document.querySelectorAll("dialog .diff").length === 2`)
	text := p.text("dialog")
	if !strings.Contains(text, "Changes of this session") || !strings.Contains(text, "+one") || strings.Contains(text, "+1one") || !strings.Contains(text, "second.txt") {
		t.Errorf("the changes are %q", text)
	}
	p.click("dialog .buttons button")
	p.wait(`!document.querySelector("dialog")`)
}

// stopsTask shows a task that runs beside the turns, also after a reload, and stops it.
func stopsTask(t *testing.T, s *site, p *tab) {
	s.create(p, "in the background")
	said(p, "It runs.")
	p.wait(`document.querySelector(".side .tasks li")?.textContent.includes("Wait long")`)
	p.do("Page.reload", nil)
	p.wait(`document.querySelector(".side .tasks li")?.textContent.includes("Wait long")`)
	p.click(".side .tasks button")
	p.wait(`document.querySelector(".session")?.dataset.ready && !document.querySelector(".side .tasks")`)
}
