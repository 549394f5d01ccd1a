// Package subagent provides the tools with which an agent gives work to other agents: Agent
// starts one, SendMessage sends a message to one, and TeamCreate and TeamDelete let several
// work together.
//
//	tools := subagent.New(crew)
//
// The tools describe the work; a [Crew] runs the agents. Both are safe for concurrent use.
//
// Trust: each call of a started agent goes through the same pipeline as the caller's: starting
// the agent allows nothing. Its report is text that a model wrote.
package subagent

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/tool"
)

// A Crew runs agents.
type Crew interface {
	// Agents lists the kinds of agents that can be given work.
	Agents() []Kind
	// Run gives a job to a new agent and waits for it. There is always a report.
	Run(ctx context.Context, j Job, progress func(tool.AgentProgress)) Report
	// Start gives a job to a new agent, which works in parallel to its caller. An error is for
	// the model.
	Start(ctx context.Context, j Job) (Started, error)
	// Send sends a message to an agent of this session. An error is for the model.
	Send(ctx context.Context, m Message) (Sent, error)
	// Listed lists the agents of this session, whether they are working or not.
	Listed() []Listed
	// NewTeam creates a team and returns where its tasks are stored. EndTeam ends a team and
	// all agents in it. Errors are for the model.
	NewTeam(ctx context.Context, name, description string) (tasks string, err error)
	EndTeam(ctx context.Context, name string) (members []string, err error)
}

// A Kind is a kind of agent that can be given work.
type Kind struct {
	Name, Description string
	// Tools describes its tools to the model.
	Tools string
	// Worktree says that it works in a copy of the repository.
	Worktree bool
	// Background is set for one that always works in parallel to its caller.
	Background bool
	// Denied is set if a rule denies starting it.
	Denied bool
}

// A Job is work for an agent.
type Job struct {
	// UseID is the call that gives the job, Caller the agent that makes the call; "" is the
	// main conversation.
	UseID, Caller string

	Description, Prompt string
	// Kind is the kind of agent; "" means the general one. Model is its model; "" means the
	// model of the kind.
	Kind, Model string
	// Effort is how hard the model thinks; "" means the effort of the kind.
	Effort string
	// Mode is its permission mode, which applies if it is stricter than the session's; ""
	// means the mode of the kind.
	Mode string
	// Name is its name in a team, Team the team.
	Name, Team string
	// Worktree lets it work in a copy of the repository.
	Worktree bool
	// Dir is the folder that it works in; "" means the project's.
	Dir string
	// Text is the skill or command to carry out; the zero value means none.
	Text Text
}

// Status is how an agent's work ended.
type Status string

const (
	Completed Status = "completed"
	Empty     Status = "empty"     // it ended without a word
	Stalled   Status = "stalled"   // its model stopped answering
	Cancelled Status = "cancelled" // someone stopped it
	Budget    Status = "budget"    // it came to a limit
	Failed    Status = "error"
	Moved     Status = "moved" // it works on, and the caller was let go
)

// A Report is the report of an agent, including its results so far if it did not finish.
type Report struct {
	ID, Kind string
	Status   Status
	// Text is its final text, or its text so far.
	Text string
	// Why is what prevented it from finishing.
	Why      string
	Model    string
	ToolUses int
	Tools    map[string]int // by name
	Tokens   int64
	Took     time.Duration
	// Output is the file of its transcript, of one that was moved; "" if there is none.
	Output string
	// Worktree is where it worked, if it left changes there, and Branch is its branch.
	Worktree, Branch string
}

// Started is an agent that works in parallel to its caller.
type Started struct {
	ID, Kind, Output string // Output is the file of its transcript; "" if there is none
}

// A Message is from one agent to another.
type Message struct {
	From, To, Text string
}

// Sent is the outcome of sending a message.
type Sent struct {
	To string
	// Woken is set if the agent had finished and is working again.
	Woken bool
}

//go:embed agent.md
var description string

// callInput is what the model sends to Agent.
type callInput struct {
	Description string `json:"description" jsonschema:"What the agent does, in three to five words, for the user." haft:"min=1;max=200;example=Find dead code"`
	Prompt      string `json:"prompt" jsonschema:"The whole task. The agent knows nothing of this conversation." haft:"min=1;example=List the exported functions of package x that nothing calls."`
	Kind        string `json:"subagent_type,omitempty" jsonschema:"The agent's type. Default: general-purpose." haft:"max=100;example=Explore"`
	Model       string `json:"model,omitempty" jsonschema:"A model for it, such as haiku. Default: the agent's own, or this conversation's." haft:"max=100"`
	Effort      string `json:"effort,omitempty" jsonschema:"Its effort level. Default: the agent's own, or this conversation's." haft:"enum=low|medium|high|xhigh|max"`
	Background  *bool  `json:"run_in_background,omitempty" jsonschema:"false waits for the report, true returns at once." haft:"when=background"`
	Mode        string `json:"mode,omitempty" jsonschema:"A permission mode for it; one less strict than the session's has no effect." haft:"enum=default|acceptEdits|plan|auto|dontAsk|bypassPermissions"`
	Isolation   string `json:"isolation,omitempty" jsonschema:"worktree: it works in a copy of the repository, on its own branch." haft:"enum=worktree"`
	Name        string `json:"name,omitempty" jsonschema:"Its name in a team." haft:"max=64"`
	Team        string `json:"team_name,omitempty" jsonschema:"The team it joins." haft:"max=64"`
	Dir         string `json:"cwd,omitempty" jsonschema:"The folder in the project to work in, as an absolute path. Default: the project." haft:"max=4096;when=agentDirs"`
}

// WaitFlag is the flag of sessions in which calls wait for their agents unless they say
// otherwise.
const WaitFlag = "waitForAgents"

// backgroundFlag is the flag of sessions in which work can continue in the background.
const backgroundFlag = "background"

// DirFlag is the flag of sessions in which an agent can be given a folder to work in.
const DirFlag = "agentDirs"

// Output is what programs get from Agent. The names are those of Claude Code. The totals are
// set for an agent that has ended, even if they are zero.
type Output struct {
	Status      string         `json:"status"`
	Prompt      string         `json:"prompt"`
	AgentID     string         `json:"agentId,omitempty"`
	AgentType   string         `json:"agentType,omitempty"`
	Content     []Content      `json:"content,omitempty"`
	ToolUses    *int           `json:"totalToolUseCount,omitempty"`
	DurationMS  *int64         `json:"totalDurationMs,omitempty"`
	Tokens      *int64         `json:"totalTokens,omitempty"`
	Tools       map[string]int `json:"toolStats,omitempty"`
	Model       string         `json:"resolvedModel,omitempty"`
	Why         string         `json:"reason,omitempty"`
	Worktree    string         `json:"worktreePath,omitempty"`
	Branch      string         `json:"worktreeBranch,omitempty"`
	IsAsync     bool           `json:"isAsync,omitempty"`
	Description string         `json:"description,omitempty"`
	OutputFile  string         `json:"outputFile,omitempty"`
	CanRead     bool           `json:"canReadOutputFile,omitempty"`
}

// Content is a block of text.
type Content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// launched is the status of an agent that works on beside its caller.
const launched = "async_launched"

// New returns the tools of a crew.
func New(crew Crew) []tool.Tool {
	return []tool.Tool{newAgent(crew), newList(crew), newSend(crew), newTeam(crew), newEndTeam(crew)}
}

func newAgent(crew Crew) tool.Tool {
	return tool.New(tool.Def[callInput, Output]{
		Name:       "Agent",
		Aliases:    []string{"Task"},
		SearchHint: "delegate subagent parallel research explore task helper",
		Describe:   func(s *tool.Session) string { return description + returning(s) + "\nAgents:\n" + menu(crew.Agents()) },
		Marks: func(in callInput) tool.Marks {
			return tool.Marks{ReadOnly: !isolated(crew, in), ConcurrencySafe: true}
		},
		Permission: func(_ context.Context, _ *tool.Call, in callInput) tool.Verdict {
			if isolated(crew, in) { // a worktree and a branch are made in the repository
				return tool.Verdict{Behavior: tool.Ask, Reason: "the agent gets its own worktree"}
			}
			return tool.Verdict{Behavior: tool.Allow, Reason: "each of the agent's calls is judged separately"}
		},
		Classify: func(in callInput) string { return in.Prompt },
		Validate: func(_ context.Context, _ *tool.Call, in callInput) *tool.Problem {
			if in.Dir != "" && isolated(crew, in) {
				return &tool.Problem{Message: "An agent that works in a copy of the repository cannot have another folder. Leave out cwd or isolation."}
			}
			return checkKind(crew, in.Kind)
		},
		Run: func(ctx context.Context, c *tool.Call, in callInput) (Output, error) {
			return run(ctx, crew, c, in)
		},
		Render:          render,
		Summarize:       func(in callInput) string { return strings.TrimSpace(in.Kind + " " + in.Description) },
		SummarizeResult: summarize,
	})
}

// returning says when a call returns.
func returning(s *tool.Session) string {
	switch {
	case s != nil && !s.Flags[backgroundFlag]:
		return "\nThe call waits for the report.\n"
	case waits(s):
		return "\nThe call waits for the report. `run_in_background: true` returns at once, and you get the report when it is ready.\n"
	}
	return "\nThe call returns at once, and you get the report when it is ready: do other work meanwhile, or end your turn. `run_in_background: false` waits for it.\n"
}

// isolated reports whether the agent would work in a copy of the repository.
func isolated(crew Crew, in callInput) bool {
	return in.Isolation != "" || slices.ContainsFunc(crew.Agents(), func(k Kind) bool { return k.Worktree && strings.EqualFold(k.Name, in.Kind) })
}

// mostMenu is how many characters the list of agents may have, which is part of every request. It is far more than
// the descriptions that people write for a few dozen agents.
const mostMenu = 24_000

func menu(kinds []Kind) string {
	var b strings.Builder
	entries := make([]knowledge.Entry, len(kinds))
	for i, k := range kinds {
		text := k.Description
		if k.Tools != "" {
			text += fmt.Sprintf(" (Tools: %s)", k.Tools)
		}
		entries[i] = knowledge.Entry{Name: k.Name, Text: text}
		fmt.Fprintf(&b, "- %s: %s\n", k.Name, text)
	}
	if b.Len() <= mostMenu {
		return b.String()
	}
	return knowledge.Menu(entries, mostMenu) + "\n"
}

func checkKind(crew Crew, kind string) *tool.Problem {
	if kind == "" {
		return nil
	}
	var names []string
	for _, k := range crew.Agents() {
		if strings.EqualFold(k.Name, kind) {
			return nil
		}
		names = append(names, k.Name)
	}
	return &tool.Problem{Message: fmt.Sprintf("There is no agent %q. Available: %s.", kind, strings.Join(names, ", "))}
}

// beside reports whether agents of a kind always work beside their caller.
func beside(crew Crew, kind string) bool {
	return slices.ContainsFunc(crew.Agents(), func(k Kind) bool { return k.Background && strings.EqualFold(k.Name, kind) })
}

// waits reports whether calls wait for their agents unless they say otherwise. A
// conversation can work on meanwhile, or end its turn and be told.
func waits(s *tool.Session) bool { return s == nil || s.Flags[WaitFlag] || !s.Flags[backgroundFlag] }

func run(ctx context.Context, crew Crew, c *tool.Call, in callInput) (Output, error) {
	job := Job{
		UseID: c.UseID, Caller: c.Agent, Description: in.Description, Prompt: in.Prompt, Kind: in.Kind, Model: in.Model, Effort: in.Effort, Mode: in.Mode,
		Name: in.Name, Team: in.Team, Worktree: in.Isolation == "worktree", Dir: in.Dir,
	}
	background := !waits(c.Session)
	if in.Background != nil {
		background = *in.Background
	}
	always := beside(crew, in.Kind) && c.Session != nil && c.Session.Flags[backgroundFlag]
	if in.Team != "" || always || background {
		s, err := crew.Start(ctx, job)
		if err != nil {
			return Output{}, err
		}
		return worksOn(in, s), nil
	}
	return crew.Run(ctx, job, func(p tool.AgentProgress) { c.Report(p) }).output(in), nil
}

// output is the report as programs get it.
func (r Report) output(in callInput) Output {
	if r.Status == Moved {
		return worksOn(in, Started{ID: r.ID, Kind: r.Kind, Output: r.Output})
	}
	out := Output{
		Status: string(r.Status), Prompt: in.Prompt, AgentID: r.ID, AgentType: r.Kind, Model: r.Model, Why: r.Why,
		ToolUses: &r.ToolUses, Tools: r.Tools, Tokens: &r.Tokens, DurationMS: new(r.Took.Milliseconds()), Worktree: r.Worktree, Branch: r.Branch,
	}
	if r.Text != "" {
		out.Content = []Content{{"text", r.Text}}
	}
	return out
}

// Result is how the report reads to the model: how the agent ended, then what it said.
func (r Report) Result() tool.Result { return render(r.output(callInput{})) }

// worksOn is what a call gives back of an agent that works beside its caller.
func worksOn(in callInput, s Started) Output {
	return Output{
		Status: launched, IsAsync: true, AgentID: s.ID, AgentType: s.Kind, Description: in.Description, Prompt: in.Prompt,
		OutputFile: s.Output, CanRead: s.Output != "",
	}
}

// render tells the model how the agent ended before what it said: a partial
// answer must not pass for a whole one.
func render(out Output) tool.Result {
	text := ""
	for _, c := range out.Content {
		text += c.Text
	}
	switch Status(out.Status) {
	case launched:
		s := fmt.Sprintf("The agent %s is working in the background. You will be told when it has finished; do not wait for it.", out.AgentID)
		if out.OutputFile != "" {
			s += fmt.Sprintf(" Its transcript so far is in %s.", out.OutputFile)
		}
		return tool.Text(s)
	case Completed:
		return tool.Text(text + tail(out))
	case Empty:
		return tool.Text("The agent finished without a report. It may have done its work: check, or ask it with SendMessage." + tail(out))
	}
	s := "The agent did not finish (" + out.Status + ")"
	if out.Why != "" {
		s += ": " + out.Why
	}
	s += "."
	if text != "" {
		s += " Its output so far:\n\n" + text
	}
	return tool.Failure(s + tail(out))
}

func tail(out Output) string {
	s := fmt.Sprintf("\n\n[agent %s, %s]", out.AgentID, plural.Of(value(out.ToolUses), "call"))
	if out.Worktree != "" {
		s += fmt.Sprintf("\n[its changes are in %s, on the branch %s]", out.Worktree, out.Branch)
	}
	return s
}

func summarize(out Output) string {
	if out.Status == launched {
		return "works in the background"
	}
	s := fmt.Sprintf("%s · %s", out.Status, plural.Of(value(out.ToolUses), "call"))
	switch n := value(out.Tokens); {
	case n == 0: // the provider does not say
		return s
	case n < 1000:
		return s + " · " + plural.Of(n, "token")
	default:
		return fmt.Sprintf("%s · %.1fk tokens", s, float64(n)/1000)
	}
}

// value is a total, 0 where there is none.
func value[N int | int64](n *N) N {
	if n == nil {
		return 0
	}
	return *n
}
