package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
)

// An elsewhere is a tool host that SSH reaches, and a user of haft on this machine.
type elsewhere struct {
	address   string
	dir, home string // there
	here      string // the folder of the session
	env       []string
}

// newElsewhere sets a tool host up whose user has these settings. Bin is where it has haft;
// "" means that it has none.
func newElsewhere(t *testing.T, bin, settings string, server *script.Server) *elsewhere {
	t.Helper()
	base := t.TempDir()
	e := &elsewhere{dir: filepath.Join(base, "there", "it's here"), home: filepath.Join(base, "there", "home"), here: filepath.Join(base, "here", "project")}
	for path, text := range map[string]string{
		filepath.Join(e.home, ".haft", "settings.json"): settings,
		filepath.Join(e.dir, "a.txt"):                   "text of there\n",
		filepath.Join(e.here, "a.txt"):                  "text of here\n",
		filepath.Join(e.here, "CLAUDE.md"):              "INSTRUCTIONS OF HERE\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sshd := needtest.StartSSHD(t, "HOME="+e.home, "PATH="+strings.Trim(bin+":/usr/bin:/bin", ":"))
	e.address = fmt.Sprintf("ssh://127.0.0.1:%d%s", sshd.Port, strings.ReplaceAll(e.dir, " ", "%20"))
	e.env = []string{
		"HOME=" + filepath.Join(base, "here"), "PATH=" + sshd.Bin + ":" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE"), "IS_SANDBOX=1",
		"ANTHROPIC_BASE_URL=" + server.URL(), "ANTHROPIC_API_KEY=sk-ant-of-here",
	}
	return e
}

// run answers one prompt with the tools on the host, and returns both outputs.
func (e *elsewhere) run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command(haftCommand(t), append([]string{"-p", "--tools-on", e.address}, args...)...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = e.here, e.env, &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func haftFolder(t *testing.T) string { return filepath.Dir(haftCommand(t)) }

func callOf(name, input string) script.Turn {
	return script.Turn{Blocks: []script.Block{{Tool: name, Input: json.RawMessage(input)}}}
}

func saysDone() script.Turn { return script.Turn{Blocks: []script.Block{{Text: "done"}}} }

// asking is what a request says.
type asking struct {
	tools   []string
	text    string
	results []string // of the last message
}

func requestsOf(t *testing.T, server *script.Server) (all []asking) {
	t.Helper()
	for _, q := range server.Requests() {
		var body struct {
			Tools    []struct{ Name string }
			Messages []struct{ Content []map[string]any }
		}
		if err := json.Unmarshal(q.Body, &body); err != nil {
			t.Fatal(err)
		}
		a := asking{text: string(q.Body)}
		for _, x := range body.Tools {
			a.tools = append(a.tools, x.Name)
		}
		for _, block := range body.Messages[len(body.Messages)-1].Content {
			if block["type"] == "tool_result" {
				raw, _ := json.Marshal(block["content"])
				a.results = append(a.results, string(raw))
			}
		}
		all = append(all, a)
	}
	return all
}

// TestToolsRunOnAnotherMachine lets a model and its agent work over SSH: the tools of this
// machine are gone, those of the other one are described from the first request on, and the
// model is told the truth about where it is.
func TestToolsRunOnAnotherMachine(t *testing.T) {
	server := scriptedBy(t, func(q *script.Request) script.Turn {
		switch body := string(q.Body); {
		case strings.Contains(body, "LOOK AROUND") && q.Turn == 0:
			return callOf("mcp__toolhost__Read", `{"file_path":"a.txt"}`)
		case strings.Contains(body, "PROMPT") && q.Turn == 0:
			return callOf("mcp__toolhost__Bash", `{"command":"pwd; cat a.txt; touch made"}`)
		case strings.Contains(body, "PROMPT") && q.Turn == 1:
			return callOf("Agent", `{"description":"Look","prompt":"LOOK AROUND","subagent_type":"reader","run_in_background":false}`)
		}
		return saysDone()
	})
	e := newElsewhere(t, haftFolder(t), `{"permissions":{"allow":["Bash"]}}`, server)
	out, errs, err := e.run(t, "--agents", `{"reader":{"description":"Reads","prompt":"You read.","tools":["Read","Grep"]}}`, "PROMPT about @a.txt")
	if err != nil || out != "done\n" {
		t.Fatalf("%q, %q, %v", out, errs, err)
	}
	all := requestsOf(t, server)
	first := all[0]
	for _, name := range []string{"Bash", "Edit", "Glob", "Grep", "Read", "Write", "WebFetch"} {
		if slices.Contains(first.tools, name) || !slices.Contains(first.tools, "mcp__toolhost__"+name) {
			t.Errorf("%s is not only there: the first request has %q", name, first.tools)
		}
	}
	for _, name := range []string{"REPL", "LSP", "Monitor", "Skill", "SlashCommand", "EnterWorktree", "KillShell"} {
		if slices.Contains(first.tools, name) {
			t.Errorf("%s works on this machine", name)
		}
	}
	if !slices.Contains(first.tools, "Agent") || !strings.Contains(first.text, "are on another machine, "+e.address) {
		t.Errorf("the first request has %q", first.tools)
	}
	for _, wrong := range []string{"Platform:", "Working directory:", "INSTRUCTIONS OF HERE", "text of here", e.here} {
		if strings.Contains(first.text, wrong) {
			t.Errorf("the model is told %q", wrong)
		}
	}
	if got := strings.Join(all[1].results, ""); !strings.Contains(got, e.dir) || !strings.Contains(got, "text of there") {
		t.Errorf("the command returned %s", got)
	}
	if _, err := os.Stat(filepath.Join(e.dir, "made")); err != nil {
		t.Error(err)
	}
	i := slices.IndexFunc(all, func(a asking) bool { return strings.Contains(a.text, "You read.") })
	if i < 0 {
		t.Fatal("no agent was asked")
	}
	if child := all[i]; !slices.Equal(child.tools, []string{"mcp__toolhost__Grep", "mcp__toolhost__Read"}) || !strings.Contains(child.text, "are on another machine, "+e.address) || strings.Contains(child.text, e.here) {
		t.Errorf("the agent has %q", child.tools)
	}
	if got := strings.Join(all[i+1].results, ""); !strings.Contains(got, "text of there") {
		t.Errorf("the agent read %s", got)
	}
}

// TestNobodyIsAskedElsewhere: without a user, what the rules there leave open is denied there,
// and what rules here deny is denied here. Neither plan mode nor the flags that take tools away
// are weaker than for tools of this machine.
func TestNobodyIsAskedElsewhere(t *testing.T) {
	const allow, nothing = `{"permissions":{"allow":["Bash"]}}`, `{}`
	for _, c := range []struct {
		name, settings string
		args           []string
		want           string
	}{
		{"the rules there leave it open", nothing, nil, "it does not support elicitation"},
		{"not even the mode that asks nobody here answers for there", nothing, []string{"--permission-mode", "bypassPermissions"}, "it does not support elicitation"},
		{"a rule here denies the command", allow, []string{"--disallowedTools", "Bash(touch:*)"}, "Bash(touch:*)"},
		{"a rule here denies the tool", allow, []string{"--disallowedTools", "Bash"}, "mcp__toolhost__Bash"},
		{"other tools were chosen", allow, []string{"--tools", "Read"}, "mcp__toolhost__Bash"},
		{"no tool that runs commands", allow, []string{"--restricted"}, "mcp__toolhost__Bash"},
		{"nothing may be changed", allow, []string{"--permission-mode", "plan"}, "plan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := scripted(t, &script.Scenario{Turns: []script.Turn{callOf("mcp__toolhost__Bash", `{"command":"touch made"}`), saysDone()}})
			e := newElsewhere(t, haftFolder(t), c.settings, server)
			out, errs, err := e.run(t, append(c.args, "go")...)
			all := requestsOf(t, server)
			if err != nil || len(all) != 2 {
				t.Fatalf("%d requests, %q, %q, %v", len(all), out, errs, err)
			}
			if got := strings.Join(all[1].results, ""); !strings.Contains(got, c.want) {
				t.Errorf("the result is %s, want %q in it", got, c.want)
			}
			if _, err := os.Stat(filepath.Join(e.dir, "made")); err == nil {
				t.Error("the command ran")
			}
		})
	}
}

// TestQuestionsOfAToolHostComeHere answers what the rules there leave open, once, as the
// program at the other end of the stream.
func TestQuestionsOfAToolHostComeHere(t *testing.T) {
	server := scripted(t, &script.Scenario{Turns: []script.Turn{callOf("mcp__toolhost__Bash", `{"command":"touch made"}`), saysDone()}})
	e := newElsewhere(t, haftFolder(t), `{}`, server)
	cmd := exec.Command(haftCommand(t), "-p", "--tools-on", e.address, "--input-format", "stream-json", "--output-format", "stream-json", "--permission-prompt-tool", "stdio")
	cmd.Dir, cmd.Env, cmd.Stderr = e.here, e.env, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, `{"type":"user","message":{"role":"user","content":"go"}}`)
	var questions []string
	for lines := bufio.NewReader(stdout); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var m struct {
			Type      string
			RequestID string `json:"request_id"`
			Request   struct{ Subtype, Message string }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		switch m.Type {
		case "control_request":
			questions = append(questions, m.Request.Subtype)
			fmt.Fprintf(in, `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"action":"accept","content":{"decision":"allow"}}}}`+"\n", m.RequestID)
		case "result":
			in.Close()
		}
	}
	if err := cmd.Wait(); err != nil || !slices.Equal(questions, []string{"elicitation"}) {
		t.Errorf("asked %q, %v", questions, err)
	}
	if _, err := os.Stat(filepath.Join(e.dir, "made")); err != nil {
		t.Error(err)
	}
}

// TestAToolHostHasNothingOfTheSession looks at the processes on the host while a command runs,
// then kills haft: what ran on the host ends.
func TestAToolHostHasNothingOfTheSession(t *testing.T) {
	server := scripted(t, &script.Scenario{Turns: []script.Turn{callOf("mcp__toolhost__Bash", `{"command":"sleep 1000 & sleep 1001 & touch started; wait"}`), saysDone()}})
	e := newElsewhere(t, haftFolder(t), `{"permissions":{"allow":["Bash"]}}`, server)
	cmd := exec.Command(haftCommand(t), "-p", "--tools-on", e.address, "go")
	cmd.Dir, cmd.Env = e.here, e.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(e.dir, "started")); err == nil {
			break
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatal("the command did not start")
		}
	}
	there := processesIn(t, e.dir)
	served := 0
	for pid, said := range there {
		if strings.Contains(said, "mcp\x00serve") {
			served++
		}
		for _, secret := range []string{"ANTHROPIC", "sk-ant-of-here", filepath.Dir(e.here)} {
			if strings.Contains(said, secret) {
				t.Errorf("the process %d of the tool host has %q: %q", pid, secret, said)
			}
		}
	}
	if served == 0 || len(there) < 3 {
		t.Fatalf("the tool host runs %v", there)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for begin := time.Now(); len(processesIn(t, e.dir)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("still running on the tool host: %v", processesIn(t, e.dir))
		}
	}
}

// processesIn are the processes that work in a folder, with their arguments, variables and open
// files.
func processesIn(t *testing.T, dir string) map[int]string {
	t.Helper()
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, entry := range all {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		proc := filepath.Join("/proc", entry.Name())
		if cwd, err := os.Readlink(filepath.Join(proc, "cwd")); err != nil || cwd != dir {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(proc, "cmdline")) // it may have ended
		environ, _ := os.ReadFile(filepath.Join(proc, "environ"))
		files := []string{}
		open, _ := filepath.Glob(filepath.Join(proc, "fd", "*"))
		for _, fd := range open {
			name, _ := os.Readlink(fd) // it may have been closed
			files = append(files, name)
		}
		found[pid] = string(args) + string(environ) + strings.Join(files, "\x00")
	}
	return found
}

// TestAToolHostThatCannotBeUsed: nothing is asked of the model, and the user reads what to do.
func TestAToolHostThatCannotBeUsed(t *testing.T) {
	server := scripted(t, &script.Scenario{Turns: []script.Turn{saysDone()}})
	for _, c := range []struct{ name, bin, dir, want string }{
		{"haft is not there", "", "", "haft is not installed on this host. Install it there"},
		{"the folder is not there", haftFolder(t), "/nope", "/nope cannot be entered on this host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newElsewhere(t, c.bin, `{}`, server)
			e.address += c.dir
			_, errs, err := e.run(t, "go")
			if err == nil || !strings.Contains(errs, "could not start the tools on "+e.address) || !strings.Contains(errs, c.want) {
				t.Errorf("%q, %v; want %q", errs, err, c.want)
			}
		})
	}
	if n := len(server.Requests()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestASessionStaysOnItsToolHost: its model would take the files here for those there.
func TestASessionStaysOnItsToolHost(t *testing.T) {
	server := scriptedBy(t, func(*script.Request) script.Turn { return saysDone() })
	e := newElsewhere(t, haftFolder(t), `{}`, server)
	if out, errs, err := e.run(t, "go"); err != nil {
		t.Fatalf("%q, %q, %v", out, errs, err)
	}
	for _, flag := range []string{"--mcp-config={}", "--add-dir=."} {
		if _, errs, err := e.run(t, flag, "go"); err == nil || !strings.Contains(errs, "cannot be used together") {
			t.Errorf("%s: %q, %v", flag, errs, err)
		}
	}
	cmd := exec.Command(haftCommand(t), "-p", "--continue", "go on")
	cmd.Dir, cmd.Env = e.here, e.env
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "Add --tools-on '"+e.address+"'") {
		t.Errorf("continued here: %s, %v", out, err)
	}
	if out, errs, err := e.run(t, "--continue", "go on"); err != nil || out != "done\n" {
		t.Errorf("%q, %q, %v", out, errs, err)
	}
}

// TestToolsRunInAContainer has a program in place of docker, which runs the command that docker
// would run in a container. The haft there is of another version, which the user is told.
func TestToolsRunInAContainer(t *testing.T) {
	server := scripted(t, &script.Scenario{Turns: []script.Turn{callOf("mcp__toolhost__Bash", `{"command":"cat a.txt"}`), saysDone()}})
	e := newElsewhere(t, haftFolder(t), `{}`, server)
	bin := t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(bin, "docker"):  fmt.Sprintf("#!/bin/sh\n[ \"$1 $2 $3\" = 'exec -i web-1' ] || exit 9\nshift 3\nexec env -i HOME='%s' PATH='%s:/usr/bin:/bin' \"$@\"\n", e.home, e.home),
		filepath.Join(e.home, "haft"): fmt.Sprintf("#!/bin/sh\n'%s' \"$@\" | sed -u 's/0.0.0-devel/9.9.9/'\n", haftCommand(t)),
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	e.address = "docker:web-1:" + e.dir
	e.env = append(e.env, "PATH="+bin+":"+os.Getenv("PATH"))
	out, errs, err := e.run(t, "go")
	if err != nil || !strings.Contains(errs, e.address+" has haft 9.9.9, and this is haft 0.0.0-devel: install the same version on both.") {
		t.Fatalf("%q, %q, %v", out, errs, err)
	}
	if got := strings.Join(requestsOf(t, server)[1].results, ""); !strings.Contains(got, "text of there") {
		t.Errorf("the command returned %s", got)
	}
}
