package harness

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/tools/commandtool"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// A setup is what is set for the folder and the agent that leads, and the host of its processes.
type setup struct {
	Project *project.Project
	// lead is the main agent chosen by the options or the settings; removeLeadRules removes
	// its denials, in case a session has another main agent.
	lead *agentdef.Definition
	host *shellrun.Host
}

// deniesNothing refuses a denial that a user has typed and that names no tool, because the
// user relies on it. Programs name tools of other versions, so their denials only cause a
// warning, and so do allow rules, which have no effect.
func (w *setup) deniesNothing() error {
	if len(w.Project.Options.Disallowed)+len(project.Denials(w.lead)) == 0 || !w.Project.Options.Typed || w.Project.Options.IgnoreBadRules {
		return nil
	}
	for _, problem := range w.misnamed(w.lead) {
		if problem.Rule.Origin == project.CommandLine && problem.Rule.Behavior == tool.Deny {
			return &project.UsageError{Err: fmt.Errorf("the rule %q from the command line would deny nothing: %w", problem.Rule.Text, problem.Err)}
		}
	}
	return nil
}

// definition is an agent as what brings hooks. One that the command line brings has no file.
func (w *setup) definition(d agentdef.Definition) (project.Text, error) {
	t := project.Text{Name: "the agent " + d.Name, Path: d.Path, Digest: d.Digest}
	if d.Hooks == nil {
		return t, nil
	}
	source := d.Source
	if t.Path == "" {
		source, t.Path = settings.Flag, t.Name+" from the command line"
	}
	var err error
	if t.Hooks, err = knowledge.ParseHooks(source, t.Path, d.Hooks); err != nil {
		return t, fmt.Errorf("cannot use %s: %w", t.Name, err)
	}
	t.Now = func() (string, error) {
		now, err := w.Project.Library.Agents.Find(d.Name)
		return now.Digest, err
	}
	return t, nil
}

// misnamed are the rules about tools that do not exist.
func (w *setup) misnamed(lead *agentdef.Definition) []permission.RuleProblem {
	opts, err := w.Project.Policy()
	rules := append(opts.Rules, project.Denials(lead)...)
	if err != nil || len(rules) == 0 {
		return nil
	}
	var problems []permission.RuleProblem
	for _, r := range rules {
		if err := project.Misnamed(r); err != nil {
			problems = append(problems, permission.RuleProblem{Rule: r, Err: err})
		}
	}
	return problems
}

// idleHooks says which matchers of hooks for calls name a tool that does not exist.
func (w *setup) idleHooks() (texts []string) {
	hooks := w.Project.Counts.Hooks()
	if len(hooks) == 0 {
		return nil
	}
	names, before := builtin.Names(), settings.Hook{}
	for _, h := range hooks {
		again := h.Event == before.Event && h.Matcher == before.Matcher && h.If == before.If // as in one group
		if before = h; again || !slices.Contains(aboutCalls, h.Event) {
			continue
		}
		for _, text := range append(hook.Unmatched(h.Matcher, names), hook.Unmatched(h.If, names)...) {
			name, _, _ := strings.Cut(text, "(")
			if strings.Contains(text, "mcp") || project.Elsewhere(name) { // those of servers are not known yet
				continue
			}
			texts = append(texts, fmt.Sprintf("%s: the matcher %q of the %s hook matches no tool.%s", h.Origin, text, h.Event, near.Hint(name, names)))
		}
	}
	return texts
}

// Sandbox says what confines commands, as far as it is known.
func (w *setup) Sandbox() Sandbox {
	set := w.Project.Counts.Sandbox()
	s := Sandbox{Mode: set.Mode, Enabled: set.Enabled}
	if set.Mode == settings.SandboxOff {
		s.Known = true
		return s
	}
	s.Tier, s.Known = w.host.KnownTier(sandbox.Offline)
	return s
}

// runHook runs the process of a hook, confined if the settings say so.
func (w *setup) runHook(ctx context.Context, cmd *exec.Cmd) (code int, done bool, err error) {
	box := w.Project.Boxes.Hook(w.host)
	if box == nil {
		return 0, false, nil
	}
	code, err = runConfined(ctx, w.host.Runner(), cmd, box)
	return code, true, err
}

// notifyDesktop shows a text on the desktop with notify-send, and reports whether that
// worked.
func (w *setup) notifyDesktop(ctx context.Context, text string) bool {
	var env []string
	for _, name := range []string{"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") == "" { // there is no desktop
		return false
	}
	path, err := w.host.Find(ctx, "notify-send")
	if err != nil {
		return false
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	defer null.Close()
	p, err := w.host.Start(ctx, shellrun.Command{
		Path: path, Args: []string{"notify-send", "--app-name=haft", "--", "haft", html.EscapeString(text)}, Env: env, Dir: "/", Output: null,
	})
	if err != nil {
		return false
	}
	select {
	case <-p.Done():
		return p.Status().Code == 0
	case <-time.After(desktopPatience):
	case <-ctx.Done():
	}
	p.End(0)
	return false
}

// ownTools returns the tools that are neither haft's nor an MCP server's: those of the program
// that embeds haft, and those of files that name a command. Like haft's, they are described from
// the first request on, unless they say that they are deferred.
func (w *setup) ownTools() []tool.Tool {
	var own []tool.Tool
	for _, t := range w.Project.Options.Embedded {
		t.Source = embedded
		t.Meta = maps.Clone(t.Meta)
		if t.Meta == nil {
			t.Meta = make(map[string]any)
		}
		t.Meta[tool.AlwaysLoad] = !t.Deferred
		own = append(own, t)
	}
	if w.Project.Options.ToolHost != nil {
		return own // the files here belong to another machine
	}
	tools, _ := w.CommandTools() // what is wrong with others was a warning at the start
	return append(own, tools...)
}

// CommandTools returns the tools of files that name a command, and what is wrong with others.
func (w *setup) CommandTools() (tools []tool.Tool, problems []string) {
	taken := builtin.Names()
	for _, p := range w.Project.Library.Tools.List().Pieces {
		if !p.Fields.Has("command") {
			continue // some other text
		}
		t, err := commandtool.New(p, w.runTool)
		switch {
		case err != nil:
			problems = append(problems, "The tool "+p.Path+" is left out: "+err.Error())
		case slices.Contains(taken, t.Name):
			problems = append(problems, "The tool "+p.Path+" is left out: haft has a tool named "+t.Name)
		default:
			tools = append(tools, t)
		}
	}
	return tools, problems
}

// CommandToolPath is the file of a tool of CommandTools.
func (w *setup) CommandToolPath(name string) string {
	for _, p := range w.Project.Library.Tools.List().Pieces {
		if commandtool.Name(p) == name {
			return p.Path
		}
	}
	return ""
}

// runTool runs the command of a tool, and ends it with all that it has started.
func (w *setup) runTool(ctx context.Context, p commandtool.Process) (out []byte, code int, err error) {
	cmd := exec.Command("sh", "-c", p.Line)
	cmd.Dir, cmd.WaitDelay, cmd.Stdin = p.Dir, 2*time.Second, bytes.NewReader(p.Input)
	if cmd.Dir == "" {
		cmd.Dir = w.Project.Dir
	}
	for _, v := range w.Project.Shell().Environ {
		name, _, _ := strings.Cut(v, "=")
		if _, set := w.Project.Counts.Lookup("env", name); set || slices.Contains(toolEnviron, name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "HAFT_PROJECT_DIR="+w.Project.Dir), p.Vars...)
	stdout := &limitedBuffer{left: maxToolOutput}
	from, to := io.Pipe()
	cmd.Stdout, cmd.Stderr = stdout, to
	var lines sync.WaitGroup
	lines.Go(func() { eachLine(from, p.Errors) })
	code, err = runConfined(ctx, w.host.Runner(), cmd, nil)
	to.Close()
	lines.Wait()
	return stdout.kept.Bytes(), code, err
}

// eachLine calls f with the lines of r, the beginning of a very long one.
func eachLine(r io.Reader, f func(string)) {
	const longest = 4 << 10
	reader := bufio.NewReaderSize(r, longest)
	for {
		line, err := reader.ReadSlice('\n')
		if text := strings.TrimRight(strings.ToValidUTF8(string(line), "\ufffd"), "\r\n"); text != "" {
			f(text)
		}
		for err == bufio.ErrBufferFull {
			_, err = reader.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

// commandWrites returns what the command of a call is known to write.
func (w *setup) commandWrites(c *tool.Call) []string {
	a := analysisOf(c)
	if a == nil {
		return nil
	}
	var paths []string
	for _, path := range a.Writes {
		if name, ok := fullName(path); ok {
			paths = append(paths, name)
		}
	}
	return paths
}

// piece reads a skill or command as it is now.
func (w *setup) piece(kind knowledge.Kind, name string) (knowledge.Piece, error) {
	if kind == knowledge.Command {
		return w.Project.Library.Commands.File(name)
	}
	s, err := w.Project.Library.Commands.Skill(name)
	return s.Piece, err
}

// textOf is a skill or command as what brings hooks.
func (w *setup) textOf(p knowledge.Piece) (project.Text, error) {
	hooks, err := p.Hooks()
	return project.Text{
		Name: "the " + string(p.Kind) + " " + p.Name, Path: p.Path, Hooks: hooks, Vars: p.HookVars(), Digest: p.Digest,
		Now: func() (string, error) {
			now, err := w.piece(p.Kind, p.Name)
			return now.Digest, err
		},
	}, err
}

// mayHave reports whether an agent may have a tool. A definition that names Read means the one
// of the tool host, if the tools run there; a denial by either name counts.
func (w *setup) mayHave(d agentdef.Definition, t *tool.Tool) bool {
	name, there := nameThere(t)
	if !there || w.Project.Options.ToolHost == nil {
		return hasTool(d, t.Name)
	}
	all := d
	all.Tools = nil
	return all.Has(t.Name) && all.Has(name) && (d.Has(t.Name) || d.Has(name))
}

// hasTool reports whether an agent may have a tool. A definition that names the tool of one
// list of work means any list of work: it was written for sessions with that one.
func hasTool(d agentdef.Definition, name string) bool {
	if slices.Contains(listTools, name) && d.Tools != nil && slices.ContainsFunc(listTools, d.Has) {
		d.Tools = append(slices.Clip(d.Tools), name)
	}
	return d.Has(name)
}

// judgeElsewhere lets the rules that deny or ask about haft's own tools count for those of the
// tool host, too. Everything else the haft there decides.
func (w *setup) judgeElsewhere(policy func() *permission.Policy, judge sched.Judge) sched.Judge {
	if w.Project.Options.ToolHost == nil {
		return judge
	}
	known := builtin.Unattached()
	return sched.JudgeFunc(func(ctx context.Context, c tool.Case) tool.Verdict {
		if c.Tool == nil {
			return judge.Judge(ctx, c)
		}
		name, there := nameThere(c.Tool)
		i := slices.IndexFunc(known, func(t tool.Tool) bool { return t.Name == name })
		if !there || i < 0 {
			return judge.Judge(ctx, c)
		}
		call := *c.Call
		call.Tool, call.Facts = name, nil // what is known of the call is known of the tool of the server
		v := policy().Decide(tool.Case{Tool: &known[i], Call: &call})
		if v.Rule != "" && v.Behavior != tool.Allow {
			return tool.Verdict{Behavior: v.Behavior, Message: v.Message, Reason: v.Reason, Rule: v.Rule, Origin: v.Origin}
		}
		return judge.Judge(ctx, c)
	})
}

// misnamedTools says which of the requested tools do not exist.
func (w *setup) misnamedTools() (texts []string) {
	if len(w.Project.Options.Tools) == 0 {
		return nil
	}
	for _, name := range w.Project.Options.Tools {
		if err := project.Misnamed(permission.Rule{Text: name}); err != nil {
			texts = append(texts, fmt.Sprintf("--tools %s: %s", name, err))
		}
	}
	return texts
}

// chosenList is how conversations with a main agent keep their list of work, if the settings,
// the environment or the tools that they are restricted to say so.
func (w *setup) chosenList(lead *agentdef.Definition) string {
	if set := w.Project.TodoTools(); set != "" {
		return set
	}
	if set := listByEnv(w.Project.ModelEnv().Get); set != "" {
		return set
	}
	return listNamed(w.Project.Only(lead))
}

// listNamed is the list that a restriction names; "" if it names none or both.
func listNamed(only []string) string {
	todos, tasks := slices.Contains(only, listTools[0]), slices.ContainsFunc(only, func(name string) bool { return slices.Contains(listTools[1:], name) })
	switch {
	case todos && !tasks:
		return todoTool
	case tasks && !todos:
		return taskTools
	}
	return ""
}

// listByEnv reads the variables by which the reference chooses; "" leaves it open.
func listByEnv(getenv func(string) string) string {
	off := func(name string) bool {
		switch strings.ToLower(getenv(name)) {
		case "0", "false", "no", "off":
			return true
		}
		return false
	}
	switch {
	case off("CLAUDE_CODE_ENABLE_TODO_TOOLS"):
		return noList
	case off("CLAUDE_CODE_ENABLE_TASKS"):
		return todoTool
	case getenv("CLAUDE_CODE_ENABLE_TASKS") != "":
		return taskTools
	}
	return ""
}

// UnusedLists are the flags of a session that leave out the lists of work that no
// conversation has here; none if the model decides.
func (w *setup) UnusedLists() map[string]bool {
	list := w.chosenList(w.lead)
	if list == "" {
		return nil
	}
	return map[string]bool{todo.OffFlag: list != todoTool, task.OffFlag: list != taskTools}
}

// background reports whether commands and agents may continue in the background. The variable by
// which the reference turns that off does so here, too.
func (w *setup) background() bool {
	switch strings.ToLower(w.Project.ModelEnv().Get("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS")) {
	case "", "0", "false", "no", "off":
		return true
	}
	return false
}

// aboutCalls are the events whose matchers are about tools.
var aboutCalls = []string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"}

// desktopPatience is how long notify-send may take.
const desktopPatience = 2 * time.Second
