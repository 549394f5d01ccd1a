// Package worktree provides the tools EnterWorktree and ExitWorktree, which let a session work
// in a git worktree.
//
//	tools := worktree.New(worktree.Options{Root: project, Dir: shell.Dir, Move: shell.Move})
//
// Each agent may be in one worktree at a time. The tools are safe for concurrent
// use; a worktree that is left behind stays on the disk.
//
// Trust: they create and remove branches, and folders below .worktrees in the project's
// repository. Package workspace/worktree prevents loss: a worktree with uncommitted work
// stays, a branch with commits stays, and work that is discarded on request is kept under a
// reference.
package worktree

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/workspace/worktree"
	"github.com/haftdev/haft/tool"
)

var (
	//go:embed enter.md
	enterText string
	//go:embed exit.md
	exitText string
)

// Options are what the tools need of the session. All must be set.
type Options struct {
	// Root is a folder in the repository.
	Root string
	// Dir returns where an agent works, and Move makes it work elsewhere: in dir, as part of
	// the copy home.
	Dir  func(agent string) string
	Move func(agent, home, dir string) error
}

// New returns the tools.
func New(opts Options) []tool.Tool {
	s := &stays{opts: opts, in: make(map[string]*stay)}
	return []tool.Tool{s.enter(), s.exit()}
}

// stays are the worktrees that agents are in.
type stays struct {
	opts Options

	mu sync.Mutex
	in map[string]*stay // by agent
}

// A stay is one agent's time in a worktree.
type stay struct {
	tree *worktree.Tree
	from string // where the agent was before
	made bool   // the worktree was made for it
}

// enterInput is what the model sends to EnterWorktree.
type enterInput struct {
	Name string `json:"name,omitempty" jsonschema:"Name of the new worktree, such as fix-login. Default: the current time." haft:"max=64;example=fix-login"`
	Path string `json:"path,omitempty" jsonschema:"Path of an existing worktree, to enter that one instead." haft:"max=4096"`
}

// enterOutput is what programs get from EnterWorktree.
type enterOutput struct {
	Path    string `json:"worktreePath"`
	Branch  string `json:"worktreeBranch,omitempty"`
	Message string `json:"message"`
}

func (s *stays) enter() tool.Tool {
	return tool.New(tool.Def[enterInput, enterOutput]{
		Name: "EnterWorktree", SearchHint: "git worktree isolated copy branch parallel work", Description: enterText,
		Validate:  func(_ context.Context, c *tool.Call, in enterInput) *tool.Problem { return s.checkEnter(c.Agent, in) },
		Classify:  func(in enterInput) string { return strings.TrimSpace("enter a git worktree " + in.Name + in.Path) },
		Run:       s.runEnter,
		Render:    func(out enterOutput) tool.Result { return tool.Text(out.Message) },
		Summarize: func(in enterInput) string { return in.Name + in.Path },
		Deferred:  true, OnInterrupt: tool.InterruptBlock,
	})
}

func (s *stays) checkEnter(agent string, in enterInput) *tool.Problem {
	switch {
	case in.Name != "" && in.Path != "":
		return &tool.Problem{Message: "Give a name for a new worktree or the path of an existing one, not both."}
	case in.Name != "":
		if err := worktree.CheckName(in.Name); err != nil {
			return &tool.Problem{Message: err.Error() + "."}
		}
	}
	if stay := s.of(agent); stay != nil {
		return &tool.Problem{Message: fmt.Sprintf("You are already in the worktree %s. Leave it with ExitWorktree first.", stay.tree.Path)}
	}
	return nil
}

func (s *stays) of(agent string) *stay {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in[agent]
}

func (s *stays) runEnter(ctx context.Context, c *tool.Call, in enterInput) (enterOutput, error) {
	if p := s.checkEnter(c.Agent, in); p != nil {
		return enterOutput{}, tool.Errorf("%s", p.Message)
	}
	now := &stay{from: s.opts.Dir(c.Agent), made: in.Path == ""}
	repo, err := worktree.Open(ctx, s.opts.Root)
	if err == nil {
		now.tree, err = find(ctx, repo, in, now.from)
	}
	switch {
	case ctx.Err() != nil:
		return enterOutput{}, ctx.Err()
	case errors.Is(err, worktree.ErrNoRepository):
		return enterOutput{}, tool.Errorf("Could not enter a worktree: %s is not in a git repository with a commit. Work where you are.", s.opts.Root)
	case err != nil:
		return enterOutput{}, tool.Errorf("Could not enter the worktree: %w.", err)
	}
	if err := s.opts.Move(c.Agent, now.tree.Path, now.tree.Path); err != nil {
		return enterOutput{}, tool.Errorf("Could not enter the worktree %s, which exists: %w.", now.tree.Path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in[c.Agent] = now
	return enterOutput{now.tree.Path, now.tree.Branch, now.welcome()}, nil
}

// find makes the worktree, or finds the one that is asked for.
func find(ctx context.Context, repo *worktree.Repo, in enterInput, from string) (*worktree.Tree, error) {
	if in.Path == "" {
		name := in.Name
		if name == "" {
			name = time.Now().Format("20060102-150405.000")
		}
		return repo.Add(ctx, name)
	}
	path := in.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(from, path)
	}
	tree, err := repo.Find(ctx, path)
	if err == nil && tree.Path == repo.Root {
		return nil, fmt.Errorf("%s is the main working tree, not a worktree", path)
	}
	return tree, err
}

func (s *stay) welcome() string {
	text := "You are in the worktree " + s.tree.Path
	if s.tree.Branch != "" {
		text += " on the branch " + s.tree.Branch
	}
	return text + ". Commands start there. Give file tools absolute paths inside it: the main copy has its own files."
}

// remove removes the worktree, or says what keeps it.
func (s *stay) remove(ctx context.Context, discard bool, out *exitOutput) error {
	// The agent may be on another branch than the one it began on.
	repo, err := worktree.Open(ctx, s.tree.Path)
	if err == nil {
		s.tree, err = repo.Find(ctx, s.tree.Path)
	}
	var gone worktree.Removed
	if err == nil {
		gone, err = s.tree.Remove(ctx, &worktree.RemoveOptions{Discard: discard})
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, worktree.ErrWork):
		return s.refusal(ctx)
	case err != nil:
		return tool.Errorf("Could not remove the worktree %s: %w. To leave it, use the action keep.", out.Path, err)
	}
	out.KeptBranch, out.Saved = gone.KeptBranch, gone.Saved
	return nil
}

// refusal says what is in the worktree and nowhere else.
func (s *stay) refusal(ctx context.Context) error {
	var b strings.Builder
	fmt.Fprintf(&b, "The worktree %s was not removed because it contains work that exists nowhere else:\n", s.tree.Path)
	loss, err := s.tree.Loss(ctx)
	if err != nil {
		fmt.Fprintf(&b, "(could not list it: %v)\n", err)
	}
	show(&b, "uncommitted change", loss.Files)
	show(&b, "commit", loss.Commits)
	b.WriteString("Commit and merge that work, leave the worktree with the action keep, or ask the user whether to discard it with discard_changes.")
	return tool.Errorf("%s", b.String())
}

func show(b *strings.Builder, what string, lines []string) {
	for i, line := range lines {
		if i == maxShown {
			fmt.Fprintf(b, "- and %s\n", plural.Of(len(lines)-i, "more "+what))
			return
		}
		fmt.Fprintf(b, "- %s: %s\n", what, strings.TrimSpace(line))
	}
}

// exitInput is what the model sends to ExitWorktree.
type exitInput struct {
	Action  string `json:"action" jsonschema:"Keep the worktree or remove it." haft:"enum=keep|remove;example=keep"`
	Discard bool   `json:"discard_changes,omitempty" jsonschema:"With remove: discard the work that is only in the worktree. Only if the user said so."`
}

// exitOutput is what programs get from ExitWorktree.
type exitOutput struct {
	Action     string `json:"action"`
	Path       string `json:"worktreePath"`
	Branch     string `json:"worktreeBranch,omitempty"`
	Dir        string `json:"originalCwd"`
	KeptBranch string `json:"keptBranch,omitempty"`
	Saved      string `json:"savedAs,omitempty"` // the reference of discarded work
	Message    string `json:"message"`
}

const remove = "remove"

func (s *stays) exit() tool.Tool {
	return tool.New(tool.Def[exitInput, exitOutput]{
		Name: "ExitWorktree", SearchHint: "leave git worktree keep remove", Description: exitText,
		Marks: func(in exitInput) tool.Marks {
			return tool.Marks{ReadOnly: in.Action == "keep", Destructive: in.Action == remove && in.Discard}
		},
		Validate: func(_ context.Context, c *tool.Call, in exitInput) *tool.Problem { return s.checkExit(c.Agent, in) },
		Permission: func(_ context.Context, c *tool.Call, in exitInput) tool.Verdict {
			if in.Action == "keep" {
				return tool.Verdict{Behavior: tool.Allow, Reason: "leaving a worktree changes nothing"}
			}
			return tool.Verdict{Behavior: tool.Ask, Message: s.question(c.Agent, in)}
		},
		Run:       s.runExit,
		Render:    func(out exitOutput) tool.Result { return tool.Text(out.Message) },
		Summarize: func(in exitInput) string { return in.Action },
		Deferred:  true, OnInterrupt: tool.InterruptBlock,
	})
}

func (s *stays) checkExit(agent string, in exitInput) *tool.Problem {
	stay := s.of(agent)
	switch {
	case stay == nil:
		return &tool.Problem{Message: "You are not in a worktree that EnterWorktree entered, so there is nothing to leave."}
	case in.Action == remove && !stay.made:
		return &tool.Problem{Message: fmt.Sprintf("%s existed before you entered it, so ExitWorktree does not remove it. Leave it with the action keep.", stay.tree.Path)}
	}
	return nil
}

// question is what the user is asked about a removal.
func (s *stays) question(agent string, in exitInput) string {
	stay := s.of(agent)
	switch {
	case stay == nil:
		return ""
	case in.Discard:
		return fmt.Sprintf("Remove the worktree %s and discard the work that is only in it?", stay.tree.Path)
	}
	return fmt.Sprintf("Remove the worktree %s?", stay.tree.Path)
}

func (s *stays) runExit(ctx context.Context, c *tool.Call, in exitInput) (exitOutput, error) {
	if p := s.checkExit(c.Agent, in); p != nil {
		return exitOutput{}, tool.Errorf("%s", p.Message)
	}
	stay := s.of(c.Agent)
	out := exitOutput{Action: in.Action, Path: stay.tree.Path, Branch: stay.tree.Branch, Dir: stay.from}
	if in.Action == remove {
		if err := stay.remove(ctx, in.Discard, &out); err != nil {
			return exitOutput{}, err
		}
	}
	if err := s.opts.Move(c.Agent, s.opts.Root, stay.from); err != nil {
		return exitOutput{}, tool.Errorf("Could not return to %s: %w.", stay.from, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.in, c.Agent)
	out.Message = out.farewell()
	return out, nil
}

func (out *exitOutput) farewell() string {
	text := fmt.Sprintf("You are back in %s. The worktree %s", out.Dir, out.Path)
	if out.Action != remove {
		return text + " is kept; to enter it again, call EnterWorktree with its path."
	}
	text += " is removed."
	if out.KeptBranch != "" {
		text += fmt.Sprintf(" Its branch %s is kept, because it has commits that are nowhere else.", out.KeptBranch)
	}
	if out.Saved != "" {
		text += fmt.Sprintf(" What was discarded is kept as %s. To restore it as a branch: git branch NAME %s", out.Saved, out.Saved)
	}
	return text
}

// maxShown is how many files and commits an error names.
const maxShown = 10
