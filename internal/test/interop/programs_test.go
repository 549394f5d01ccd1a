package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// A program is one of others that works with Claude Code, and has to with haft. Its packages are pinned.
type program struct {
	name, shows string
	packages    []string
	nightly     bool // what installs too much for every run
	run         func(*testing.T, *place)
}

var programs = []program{
	{"ai-sdk-provider-claude-code", "three calls, of which one resumes a session and one asks for an object", []string{"ai-sdk-provider-claude-code@3.6.0", "ai@6.0.326", "zod@4.6.7"}, false, aiSDK},
	{"claude-agent-acp", "an editor's session: a permission, an edit, a second turn", []string{"@agentclientprotocol/claude-agent-acp@0.99.1"}, false, acpAdapter},
	{"claude-code-router", "a conversation with a tool, through the router to a server with chat completions", []string{"@musistudio/claude-code-router@2.0.0"}, false, router},
	{"ccusage", "counts the tokens of a session of haft", []string{"ccusage@20.0.24", "@ccusage/ccusage-linux-x64@20.0.24"}, false, ccusage},
	{"ccusage 18", "the same, as it counted before", []string{"ccusage@18.0.11"}, false, ccusage},
	{"cc-safety-net", "its hook denies `git reset --hard` and lets `git status` run", []string{"cc-safety-net@2.4.5"}, false, safetyNet},
	{"ccstatusline", "reads what a status line is told, and its line is shown unchanged", []string{"ccstatusline@2.2.30"}, false, statusLine},
}

// A place is where a program runs: with packages, a project, a home folder and haft.
type place struct {
	modules, dir, home, haft string
	env                      []string
}

// TestProgramsOfOthers runs each program with haft and a scripted model. The table in
// docs/migrate.md is made of those that passed.
func TestProgramsOfOthers(t *testing.T) {
	needtest.Peers(t)
	var rows strings.Builder
	for _, p := range programs {
		fmt.Fprintf(&rows, "| `%s` | %s |\n", p.packages[0], p.shows)
		t.Run(p.name, func(t *testing.T) {
			if p.nightly && !needtest.Nightly() {
				t.Skip("runs at night")
			}
			root := scratch(t)
			at := &place{modules: filepath.Join(needtest.NPM(t, p.packages...), "node_modules"), dir: filepath.Join(root, "project"), home: filepath.Join(root, "home"), haft: build(t)}
			for _, dir := range []string{at.dir, at.home} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			at.env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + at.home, "TMPDIR=" + root, "LANG=C.UTF-8", "IS_SANDBOX=1", "HAFT=" + at.haft, "PROJECT=" + at.dir,
				"ANTHROPIC_API_KEY=sk-ant-scripted", "CLAUDE_CODE_MAX_RETRIES=0",
			}
			p.run(t, at)
		})
	}
	if !t.Failed() {
		golden.Part(t, "../../../docs/migrate.md", "programs", "| program | what the test does |\n|---|---|\n"+rows.String())
	}
}

// scratch is a folder that is removed when what was killed there has ended.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("", "programs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for patience := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if err := os.RemoveAll(dir); err == nil {
				return
			} else if time.Now().After(patience) {
				t.Error(err)
				return
			}
		}
	})
	return dir
}

// model serves these turns to everything that is started from now on.
func (at *place) model(t *testing.T, turns ...script.Turn) *script.Server {
	t.Helper()
	return at.serve(t, script.Scenario{Turns: turns})
}

// serve serves a scenario.
func (at *place) serve(t *testing.T, s script.Scenario) *script.Server {
	t.Helper()
	side := says("side")
	s.Side = &side
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	at.env = append(at.env, "ANTHROPIC_BASE_URL="+srv.URL())
	return srv
}

func (at *place) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(at.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// command is a command in the project.
func (at *place) command(t *testing.T, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = at.dir, at.env
	return cmd
}

// output runs a command to its end.
func (at *place) output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := at.command(t, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s\n%s", cmd.Args, err, out, stderr.Bytes())
	}
	return string(out)
}

const aiSDKProgram = `
import { generateObject, generateText, streamText } from 'ai';
import { createClaudeCode } from 'ai-sdk-provider-claude-code';
import { z } from 'zod';
const claude = createClaudeCode({ defaultSettings: { pathToClaudeCodeExecutable: process.env.HAFT, cwd: process.env.PROJECT, allowedTools: ['Bash'] } });
const first = await generateText({ model: claude('sonnet'), prompt: 'first' });
console.log(first.text);
const session = first.providerMetadata['claude-code'].sessionId;
const second = streamText({ model: claude('sonnet', { resume: session }), prompt: 'second' });
const calls = [];
for await (const p of second.fullStream) if (p.type === 'tool-call' || p.type === 'tool-result') calls.push(p.type + ' ' + p.toolName);
console.log(await second.text, calls.join(', '), (await second.providerMetadata)['claude-code'].sessionId === session);
const third = await generateObject({ model: claude('sonnet'), schema: z.object({ n: z.number() }), prompt: 'third' });
console.log(JSON.stringify(third.object));
`

func aiSDK(t *testing.T, at *place) {
	at.serve(t, script.Scenario{
		Turns: []script.Turn{says("one"), runs("echo hi"), says("two")},
		Parts: []script.Part{{When: "third", Turns: []script.Turn{{Blocks: []script.Block{{Tool: "StructuredOutput", Input: json.RawMessage(`{"n":3}`)}}}}}},
	})
	program := at.file(t, "program.mjs", aiSDKProgram)
	if err := os.Symlink(at.modules, filepath.Join(at.home, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("one\ntwo tool-call Bash, tool-result Bash true\n{\"n\":3}\n", at.output(t, "node", program)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func router(t *testing.T, at *place) {
	srv := at.model(t, runs("echo routed-$((6*7))"), says("It says 42."))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + free.Addr().String()
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	at.file(t, ".claude-code-router/config.json", fmt.Sprintf(`{"PORT":%d,"LOG":false,"NON_INTERACTIVE_MODE":true,
		"Providers":[{"name":"scripted","api_base_url":"%s/v1/chat/completions","api_key":"k","models":["m"]}],"Router":{"default":"scripted,m"}}`, port, srv.URL()))
	server := at.command(t, "node", filepath.Join(at.modules, "@musistudio/claude-code-router/dist/cli.js"), "start")
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // if it is still there
		_ = server.Wait()
	})
	for ready := time.Now().Add(time.Minute); ; {
		if resp, err := http.Get(address + "/health"); err == nil {
			resp.Body.Close()
			break
		}
		if time.Now().After(ready) {
			t.Fatalf("the router does not answer:\n%s", log.Bytes())
		}
		time.Sleep(50 * time.Millisecond) // until it listens, which it does not tell
	}
	at.env = append(at.env, "ANTHROPIC_BASE_URL="+address)
	if got := at.output(t, at.haft, "-p", "look", "--dangerously-skip-permissions"); got != "It says 42.\n" {
		t.Errorf("%q\n%s", got, log.Bytes())
	}
	last := srv.Requests()[len(srv.Requests())-1]
	if last.API == script.Messages || !bytes.Contains(last.Body, []byte("routed-42")) {
		t.Errorf("the model was sent %s", last.Body)
	}
}

func safetyNet(t *testing.T, at *place) {
	srv := at.model(t, runs("git reset --hard"), runs("git status --short; echo was-run"), says("Done."))
	hook := "node " + filepath.Join(at.modules, "cc-safety-net/dist/bin/cc-safety-net.js") + " hook --coding-cli"
	at.file(t, ".claude/settings.json", `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"`+hook+`"}]}]}}`)
	at.output(t, "git", "init", "-q")
	if got := at.output(t, at.haft, "-p", "clean up", "--dangerously-skip-permissions"); got != "Done.\n" {
		t.Errorf("%q", got)
	}
	requests := srv.Requests()
	if last := requests[len(requests)-1].Body; !bytes.Contains(last, []byte("BLOCKED by")) || !bytes.Contains(last, []byte("was-run")) {
		t.Errorf("the model was sent %s", last)
	}
}

// statusLine starts haft in a terminal and reads the line from it.
func statusLine(t *testing.T, at *place) {
	tmux := needtest.Program(t, "tmux")
	at.model(t, says("Hello."))
	line := "node " + filepath.Join(at.modules, "ccstatusline/dist/ccstatusline.js")
	at.file(t, ".claude/settings.json", `{"statusLine":{"type":"command","command":"`+line+`"}}`)
	at.env = append(at.env, "TERM=xterm-256color")
	socket := filepath.Join(t.TempDir(), "s")
	run := func(args ...string) string {
		return at.output(t, tmux, append([]string{"-S", socket, "-f", os.DevNull}, args...)...)
	}
	run("new-session", "-d", "-x", "120", "-y", "40", at.haft, "--model", "opus")
	t.Cleanup(func() { _ = exec.Command(tmux, "-S", socket, "kill-server").Run() }) // if haft has not ended
	for patience := time.Now().Add(time.Minute); ; {
		screen := strings.ReplaceAll(run("capture-pane", "-p"), "\u00a0", " ")
		if i := slices.IndexFunc(strings.Split(screen, "\n"), func(l string) bool { return strings.HasPrefix(l, "Model: Claude Opus 5.5 | Ctx: ") }); i >= 0 {
			if l := strings.Split(screen, "\n")[i]; strings.Contains(l, `\u{`) || !strings.Contains(l, "no git") {
				t.Errorf("the line is %q", l)
			}
			return
		}
		if time.Now().After(patience) {
			t.Fatalf("the line is not on the screen:\n%s", screen)
		}
		time.Sleep(50 * time.Millisecond) // until the screen has changed, which it does not tell
	}
}

func says(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }

func runs(command string) script.Turn {
	input, _ := json.Marshal(map[string]string{"command": command})
	return script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: input}}}
}
