// Package sysprompt puts together what the model is told besides what the user says: the
// system prompt, the facts about the folder, reminders, and what a compaction carries over.
//
// A [Source] and the functions are safe for concurrent use, and a [Reminder] is called by one
// conversation.
package sysprompt

import (
	"context"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/harness/sysprompt/prompt"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/instructions"
	"github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/internal/knowledge/style"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/world/workspace/worktree"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// System is the system prompt: what is the same for the whole conversation. Custom replaces
// haft's own, nil leaves it, in a style; more is added to either.
func System(custom []string, st style.Style, more string, tools *tool.Set) []model.System {
	opts := &prompt.Options{Append: more, Tools: tools}
	if st.Text != "" {
		opts.Style = &prompt.Style{Text: st.Text, Coding: st.Coding}
	}
	if custom != nil {
		text := strings.Join(custom, "\n")
		opts.Custom = &text
	}
	return prompt.System(opts)
}

// A Source is where the facts come from. Model, Earlier and Ahead may be empty; all other fields are needed.
type Source struct {
	Project *project.Project
	// Model is the name of the model that is told, and Agent the agent; "" is the main one.
	Model, Agent string
	// Earlier are the reminders that the conversation already holds; they are not repeated.
	Earlier []string
	// Ahead is what was already looked up; nil means nothing.
	Ahead *Ahead
	// Readable says which files a model may be shown without the user being asked.
	Readable func(path string) bool
	// MaySkill says which skills no rule denies.
	MaySkill func(name string) bool
	// Dir is where the conversation works.
	Dir func() string
	// Warn hears what is wrong with what was written for models.
	Warn func([]knowledge.Problem)
	// Loaded hears which files of instructions an agent is told, "" being the main one, and
	// which file it came to that they are for, if it is that.
	Loaded func(ctx context.Context, agent, trigger string, files []instructions.File)
}

// A Reminder returns what the model should hear now; first is at the beginning and after a
// compaction.
type Reminder = func(ctx context.Context, first bool) []string

// Facts are what the model is told beside the prompts.
func (s *Source) Facts(reminders ...Reminder) *prompt.Facts {
	g := s.Project.Guard
	return prompt.NewFacts(&prompt.FactsOptions{
		Model: s.Model, Shell: "bash", State: s.repository, Earlier: s.Earlier,
		Elsewhere: s.Project.Elsewhere(), Dir: g.Cwd(), Added: g.Roots()[1:], Cwd: s.Dir, Instructions: s.Instructions, More: Together(reminders...),
	})
}

// repository says what is changed in the folder and what was committed last, if that is quick to find out.
func (s *Source) repository(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, repositoryTime)
	defer cancel()
	dir := s.Project.Guard.Cwd()
	if state, ok := s.Ahead.take(ctx, dir); ok {
		return state
	}
	return worktree.State(ctx, dir)
}

// Together tells what each of several has to tell.
func Together(parts ...Reminder) Reminder {
	return func(ctx context.Context, first bool) (texts []string) {
		for _, part := range parts {
			texts = append(texts, part(ctx, first)...)
		}
		return texts
	}
}

// Once reminds of a text the first time; "" is not one.
func Once(text string) Reminder {
	return func(context.Context, bool) (facts []string) {
		if text != "" {
			facts, text = []string{text}, ""
		}
		return facts
	}
}

// Instructions are what people have written for every conversation in this folder.
func (s *Source) Instructions(ctx context.Context) string {
	files, problems := s.Files()
	s.Warn(problems)
	s.Loaded(ctx, s.Agent, "", files)
	var texts []string
	for _, f := range files {
		texts = append(texts, "From "+f.Path+":\n"+f.Text)
	}
	return strings.Join(texts, "\n\n")
}

// Files are those that the instructions are in.
func (s *Source) Files() ([]instructions.File, []knowledge.Problem) {
	return instructions.Load(s.Project.Guard.Cwd(), s.Project.Home, s.options())
}

// nested are the instructions of the folders that work may come to.
func (s *Source) nested() *instructions.Nested {
	return instructions.NewNested(s.Project.Guard.Cwd(), s.Project.Home, s.options())
}

// waitingSkills are those that a model is offered only when it comes to certain files.
func (s *Source) waitingSkills() []skill.Skill {
	return slices.DeleteFunc(s.Project.Library.Skills.List().Skills, func(k skill.Skill) bool {
		return k.Paths == nil || !k.ForModel || !s.MaySkill(k.Name)
	})
}

func (s *Source) options() *instructions.Options {
	p := s.Project
	sources := p.Options.Sources
	if p.Options.ToolHost != nil { // the project is not here
		sources = []settings.Source{}
		if p.Options.Sources == nil || slices.Contains(p.Options.Sources, settings.User) {
			sources = append(sources, settings.User)
		}
	}
	if p.Options.Safe || p.ModelEnv().Get("CLAUDE_CODE_DISABLE_CLAUDE_MDS") == "1" {
		sources = []settings.Source{}
	}
	return &instructions.Options{Root: p.Dir, Shared: p.Shared(), Sources: sources, Trusted: p.MayInclude, Readable: s.Readable, Excludes: p.InstructionExcludes(), MaxFile: s.room(), MaxTotal: s.room()}
}

// room is how many bytes of instructions the model is told: half of its window, at four bytes
// for a token. 0 means the usual.
func (s *Source) room() int64 { return int64(catalog.Lookup(s.Model).Context) * 2 }
