package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/audit"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/harness/crew"
	"github.com/haftdev/haft/internal/harness/link"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/harness/workdir"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// The rules are the policy in force, and what is told of it.
type rules struct {
	setup

	Engine          *permission.Engine
	policies        childPolicies
	removeLeadRules func()
	link            *link.Link
	verdicts        func() (*audit.Log, error)
	answers         atomic.Int32 // of type answering: who answers in the conversation
}

func (w *rules) folderGone(dir string) {
	w.link.Emit(agent.Notice{Level: "warning", Text: "The folder " + dir + " no longer exists or cannot be entered. Commands are refused until it is back."})
}

// hookRan tells the user about a hook that failed, and what a hook has to say. A program
// that defines hooks in code knows about those itself.
func (w *rules) hookRan(r hook.Run) {
	if r.Failed() && !r.InCode {
		w.link.Warn("hook_failed", hookFault(r))
		w.countFailure(r)
	}
	if r.Message != "" && !r.InCode {
		w.link.Emit(agent.Notice{Level: "notice", Tag: "hook", Text: r.Message})
	}
	if told := w.Project.Options.HookRan; told != nil {
		told(r)
	}
}

// hookFault says what was wrong with a hook, and what that led to.
func hookFault(r hook.Run) string {
	then := "it decides nothing"
	if r.Behavior == tool.Deny {
		then = `it blocks the action (set "on_error": "continue" to continue without it)`
	} else if slices.Contains(settings.Guards, string(r.Event)) {
		then = `work continues without it (set "on_error": "block" to block instead)`
	}
	return fmt.Sprintf("%s: the %s hook %s failed, so %s: %s", r.Origin, r.Event, r.ShortName(), then, r.Err)
}

// MayRead reports whether no rule denies that a file is read.
func (w *rules) MayRead(path string) bool { return w.Engine.Policy().MayRead(path) }

// MayShow reports whether a file may be read for a model without asking the user: no rule
// denies it, and it holds no secrets.
func (w *rules) MayShow(path string) bool { return w.Engine.Policy().MayShow(path) }

func (w *rules) maySearch(path string) bool { return w.Engine.Policy().MaySearch(path) }

// newCrew returns the crew of the world, which can work once there is a conversation.
func (w *rules) newCrew() *crew.Crew {
	limits := w.Project.Limits().Agents
	return crew.New(&crew.Options{
		MaxRunning: limits.Running, MaxDepth: limits.Depth, MaxTokens: int64(limits.Tokens), FirstToken: limits.First, Idle: limits.Idle,
		Kinds: w.kinds, Emit: w.link.Emit, Save: func(known []crew.Known) { w.link.Save(stateAgents, known) },
		Notify: w.link.Notify, Spend: w.link.Spend, Say: w.link.Say,
	})
}

// kinds are the agents that work can be given to.
func (w *rules) kinds() []subagent.Kind {
	var kinds []subagent.Kind
	may := w.mayUse("Agent", "subagent_type")
	for _, d := range w.Project.Library.Agents.List().Definitions {
		tools := "all"
		if d.Tools != nil {
			tools = strings.Join(d.Tools, ", ")
		}
		kinds = append(kinds, subagent.Kind{Name: d.Name, Description: d.Description, Tools: tools, Background: d.Background, Worktree: d.Isolation == "worktree", Denied: !may(d.Name)})
	}
	return kinds
}

func (w *rules) childPolicy(d agentdef.Definition, asked permission.Mode, dir *workdir.Dir) *childPolicy {
	p := &childPolicy{engine: w.Engine, mode: permission.Stricter(permission.Mode(d.Mode), asked), dir: dir}
	for _, text := range d.Rules() {
		p.rules = append(p.rules, &permission.Rule{Text: text, Behavior: tool.Deny, Origin: settings.Origin{Source: settings.Session}})
	}
	return p
}

// policyOf is the policy that the calls of an agent are judged by; "" is the conversation.
func (w *rules) policyOf(agent string) *permission.Policy {
	if p := w.policies.of(agent); p != nil {
		return p.policy()
	}
	return w.Engine.Policy()
}

// AddDirectories lets tools work in more folders, for the rest of the session.
func (w *rules) AddDirectories(dirs []string) error {
	return w.changeRoots(func(roots []string) ([]string, error) {
		for _, dir := range dirs {
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(w.Project.Dir, dir)
			}
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				return nil, fmt.Errorf("%s is not a folder", dir)
			}
			if !slices.Contains(roots, dir) {
				roots = append(roots, dir)
			}
		}
		return roots, nil
	})
}

// RemoveDirectories takes folders back. The project itself stays.
func (w *rules) RemoveDirectories(dirs []string) error {
	return w.changeRoots(func(roots []string) ([]string, error) {
		return append(roots[:1:1], slices.DeleteFunc(roots[1:], func(dir string) bool { return slices.Contains(dirs, dir) })...), nil
	})
}

// changeRoots judges calls by other roots from now on.
func (w *rules) changeRoots(change func([]string) ([]string, error)) error {
	roots, err := change(slices.Clone(w.Engine.Guard().Roots()))
	if err != nil {
		return err
	}
	g, err := w.Project.GuardOf(roots, w.Engine.Guard().Cwd())
	if err != nil {
		return err
	}
	w.Engine.SetGuard(g)
	return nil
}

// countFailure writes a failed hook down, for haft doctor.
func (w *rules) countFailure(r hook.Run) {
	log, err := w.verdicts()
	if err != nil {
		return
	}
	_ = log.Append(audit.Entry{ // the user is told all the same
		Time: time.Now().UTC(), Tool: r.Tool, Agent: r.Agent, Behavior: audit.HookFailed, Reason: r.Err.Error(), Rule: r.ShortName(), Origin: r.Origin, Cwd: w.Project.Dir,
	})
}

// resumeLead returns the main agent of a session: the one that it had, unless the user
// names one now. If that agent no longer exists, the session would have tools that it was
// not meant to have, so the user must choose one. Programs provide their own agents and are
// only warned.
func (w *rules) resumeLead(left string) (*agentdef.Definition, error) {
	if left == "" || w.Project.Options.Agent != "" || w.lead != nil && w.lead.Name == left {
		return w.lead, nil
	}
	d, err := w.Project.Leader(left)
	switch {
	case err != nil && w.Project.Options.Typed:
		return nil, &project.UsageError{Err: fmt.Errorf("cannot resume with the agent %q: %s. Choose another one with --agent, such as --agent general-purpose", left, strings.TrimSuffix(err.Error(), "."))}
	case err != nil:
		w.link.Warn("agents", fmt.Sprintf("The session continues without its main agent %s: %s", left, err))
		return w.lead, nil
	}
	w.removeLeadRules()
	w.Engine.AddTemporary(project.Denials(d)...)
	w.link.Tell(fmt.Sprintf("The session continues with %s as its main agent.", left))
	return d, nil
}

// lending judges by the session's current policy with some more rules. A rule that cannot
// be used allows nothing.
func (w *rules) lending(allow []string) sched.Judge {
	var rules []permission.Rule
	for _, text := range allow {
		rules = append(rules, permission.Rule{Text: text, Behavior: tool.Allow, Origin: settings.Origin{Source: settings.Session}})
	}
	return sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		return w.Engine.With("", rules...).Decide(c).Verdict
	})
}

// resumeMode continues in the mode that a session had, if that is more careful than the one
// that it would start with and no other is asked for now. It says so.
func (w *rules) resumeMode(left string) (told string) {
	now := w.Engine.Policy().Mode()
	was, err := permission.ParseMode(left)
	if left == "" || err != nil || w.Project.Options.Mode != "" || slices.Index(permission.Modes(), was) >= slices.Index(permission.Modes(), now) {
		return ""
	}
	w.Engine.SetMode(was)
	return fmt.Sprintf("The session continues in the permission mode %s, as before.", was)
}

// mayUse reports whether no rule denies a call by its name.
func (w *rules) mayUse(toolName, parameter string) func(string) bool {
	return func(name string) bool {
		input, err := json.Marshal(map[string]string{parameter: name})
		if err != nil {
			return false
		}
		v := w.Engine.Policy().Decide(tool.Case{Call: &tool.Call{Tool: toolName, Input: input}})
		return v.Behavior != tool.Deny || v.Rule == ""
	}
}

// previewMode is what the user or the settings say. Otherwise it depends on who can be
// asked: a user at a terminal is asked about the change; a program that drives the session
// decides about commands, or has them denied, as it expects; and if no one can be asked,
// the changes that the rules do not allow are dropped.
func (w *rules) previewMode() project.PreviewMode {
	switch mode := w.Project.Preview(); {
	case mode != "":
		return mode
	case answering(w.answers.Load()) == byUser:
		return project.PreviewAsk
	case answering(w.answers.Load()) == byProgram:
		return project.PreviewOff
	}
	return project.PreviewAuto
}

// runsDirectly reports whether commands run at once where the mode has accepted their edits: a
// program that drives the session is asked where it expects to be, and a user who wants
// previews, or has hooks that judge changes, has them.
func (w *rules) runsDirectly() bool {
	judged := slices.ContainsFunc(w.Project.Hooks.List(), func(h hook.Hook) bool { return h.Preview })
	return w.Project.Preview() == "" && !judged && answering(w.answers.Load()) != byProgram && w.host.Tier(sandbox.Offline).Kind == sandbox.TierBox
}

// setAnswering records who answers in a conversation.
func (w *rules) setAnswering(o *TalkOptions) {
	switch {
	case o.ByProgram:
		w.answers.Store(int32(byProgram))
	case o.Person == nil:
		w.answers.Store(int32(byNobody))
	default:
		w.answers.Store(int32(byUser))
	}
}

// uncovered tells the user which changes a rewind will not undo.
func (w *rules) uncovered(text string) {
	w.link.Emit(agent.Notice{Level: "notice", Text: "Rewind is limited here: " + text + "."})
}

// recover finishes what an earlier process of the session left undone.
func (w *rules) recover(ctx context.Context, k *checkpoint.Keeper) error {
	r, err := k.Recover(ctx)
	if err != nil {
		return err
	}
	if len(r.Calls) > 0 {
		w.link.Emit(agent.Notice{Level: "notice", Text: plural.Forms(len(r.Calls), "call was interrupted when the session ended. Its changes can be rewound.", "calls were interrupted when the session ended. Their changes can be rewound.")})
	}
	if len(r.Restored) > 0 {
		w.link.Emit(agent.Notice{Level: "notice", Text: "Finished an interrupted rewind: " + strings.Join(r.Restored, ", ")})
	}
	for _, path := range r.Left {
		w.link.Emit(agent.Notice{Level: "warning", Text: "A rewind was interrupted. " + path + " has changed since or is outside the project, so it was not restored."})
	}
	return nil
}

// sameToolHost refuses to continue a session on this machine whose tools ran on another one:
// the model would take the files here for those there.
func (w *rules) sameToolHost(before string) error {
	now := w.Project.Options.ToolHost
	switch {
	case before != "" && now == nil:
		return &project.UsageError{Err: fmt.Errorf("cannot continue here: the tools of this session run on %s. Add --tools-on '%[1]s'", before)}
	case before != "" && now.Address != before:
		w.link.Warn("toolhost", fmt.Sprintf("The tools of this session ran on %s before, and now run on %s.", before, now.Address))
	}
	return nil
}

// Warnings are what a user should know before anything runs here: settings that do not take
// effect, with file and line. A conversation reports them when it begins; a caller that
// opens a world without a conversation shows them itself.
func (w *rules) Warnings() []agent.Notice { return w.warnings(w.lead) }

// warnOfSettings reports what has no effect in a conversation with this main agent.
func (w *rules) warnOfSettings(lead *agentdef.Definition) {
	for _, warning := range w.warnings(lead) {
		w.link.Warn(warning.Tag, warning.Text)
	}
}

func (w *rules) warnings(lead *agentdef.Definition) []agent.Notice {
	var list []agent.Notice
	add := func(tag, text string) { list = append(list, agent.Notice{Level: "warning", Tag: tag, Text: text}) }
	for _, text := range w.Project.SettingsFaults() {
		add("settings", text)
	}
	if text := w.Project.WithoutEffect(); text != "" {
		add("settings", text)
	}
	if text := w.Project.ModeFault(); text != "" {
		add("permissions", text)
	}
	for _, problem := range w.Engine.Policy().Problems() {
		add("permissions", problem.String())
	}
	for _, problem := range w.misnamed(lead) {
		add("permissions", problem.String())
	}
	for _, text := range w.idleHooks() {
		add("settings", text)
	}
	for _, text := range w.misnamedTools() {
		add("tools", text)
	}
	if _, err := w.Project.Style(); err != nil {
		add("settings", "The default output style is used. "+err.Error())
	}
	faults, held := w.Project.Check()
	alike := make(map[string]int)
	for _, problem := range faults {
		alike[problem.Text]++
	}
	told, rest := 0, len(faults)
	for _, problem := range faults {
		n := alike[problem.Text]
		if n == 0 || told == maxFaults {
			continue // of its kind one was told, or enough of all
		}
		text := problem.String()
		if n > 1 {
			text += fmt.Sprintf("; the same with %d more", n-1)
		}
		add("knowledge", text)
		alike[problem.Text], told, rest = 0, told+1, rest-n
	}
	if rest > 0 {
		add("knowledge", fmt.Sprintf("%d more files of skills, commands, agents or plugins have problems; list them with: haft doctor", rest))
	}
	if _, problems := w.CommandTools(); w.Project.Options.ToolHost == nil {
		for _, text := range problems {
			add("tools", text)
		}
	}
	if !w.Project.Options.AsksTrust && w.Project.Folder != nil {
		if u := trust.NewUntrusted(w.Project.Folder, slices.Concat(w.Project.Held, held)); u != nil {
			add("trust", u.Error())
		}
	}
	return list
}

// maxFaults is how many files a start names in which something is wrong, each in another way.
// A repository may have dozens, and the warnings come at every start.
const maxFaults = 5
