package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/harness/crew"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/harness/sysprompt"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/knowledge/instructions"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/session"
)

// The records are what a conversation leaves on the disk.
type records struct {
	World *World
	title atomic.Pointer[string]
	notes *sysprompt.Notes
	Began time.Time
}

// Journal is the session on the disk; clearing the conversation begins another.
func (c *records) Journal() *session.Session { return c.World.link.Journal() }

// busy keeps other processes from continuing the session while a turn runs, and lets them do so
// between turns, unless something works on.
func (c *records) busy(ctx context.Context, busy bool) error {
	switch {
	case busy:
		return c.Journal().TakeUp(ctx)
	case c.Running() != "":
		return nil
	}
	return c.Journal().PutDown()
}

// Dir is where the conversation works.
func (c *records) Dir() string { return c.World.Shell.Dir("") }

// Agents are the session's agents that can be sent messages: working, finished, or lost
// with an earlier process.
func (c *records) Agents() []crew.Known { return c.World.Crew.List() }

// folderFor checks the folder that an agent will work in: it must be one of the
// conversation's.
func (c *records) folderFor(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("cannot use the folder for the agent: %w", err)
	}
	if !slices.ContainsFunc(c.World.Engine.Guard().Roots(), func(root string) bool { return pathin.Contains(root, resolved) }) {
		return "", fmt.Errorf("%s is not in the project: choose a folder in the project for the agent", dir)
	}
	return resolved, nil
}

// lendText lets an agent that does a skill or command do what that allows itself, until it
// is taken back. One that has done it and continues with something else may not.
func (c *records) lendText(policy agent.Permissions, s crew.Spec) (takeBack func(), err error) {
	if s.Text.Name == "" || s.Again {
		return func() {}, nil
	}
	p, err := c.World.piece(knowledge.Kind(s.Text.Kind), s.Text.Name)
	if err != nil {
		return nil, err
	}
	if p.Digest != s.Text.Digest {
		return nil, fmt.Errorf("the %s %s changed while it was being loaded; use it again", s.Text.Kind, s.Text.Name)
	}
	return policy.Allow(p.Fields.List("allowed-tools"))
}

// hooksFor are the hooks for the time that an agent works.
func (c *records) hooksFor(d agentdef.Definition, s crew.Spec) (*agentHooks, error) {
	own, err := c.World.definition(d)
	if err != nil {
		return nil, err
	}
	hooks := &agentHooks{world: c.World, id: s.ID, texts: []project.Text{own}}
	if s.Text.Name == "" {
		return hooks, nil
	}
	p, err := c.World.piece(knowledge.Kind(s.Text.Kind), s.Text.Name)
	if err != nil {
		return nil, err
	}
	done, err := c.World.textOf(p)
	hooks.texts = append(hooks.texts, done)
	return hooks, err
}

// recall lets an agent continue with what it knew.
func (c *records) recall(ctx context.Context, id string, o *agent.Options) error {
	if c.Journal().Dir() == "" {
		return errors.New("the session is not saved, so what the agent knew is lost")
	}
	known, err := c.Journal().Agent(ctx, id)
	if err != nil {
		return err
	}
	c.World.nested.Recall(id, agent.Reminders(known.History))
	o.History, o.Revealed = known.History, state[[]string](known, agent.StateRevealed)
	return nil
}

// Running names the background commands that end when the conversation is closed; "" means
// that there are none.
func (c *records) Running() string {
	commands := c.World.running.now()
	if len(commands) == 0 {
		return ""
	}
	return strings.TrimPrefix(listed(commands), "\n")
}

// KeepImage stores a user's image with the session. The model may read it without asking.
func (c *records) KeepImage(png []byte) (path string, err error) {
	dir := c.Journal().Dir()
	if dir == "" {
		return "", errors.New("could not save the image: this session is not saved. Mention the file instead: @picture.png")
	}
	dir = filepath.Join(dir, "images")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("could not save the image: %w", err)
	}
	path = filepath.Join(dir, session.NewUUID()+".png")
	if err := os.WriteFile(path, png, 0o600); err != nil {
		return "", fmt.Errorf("could not save the image: %w", err)
	}
	c.World.Project.Kept.Add(dir)
	return path, nil
}

// Instructions are the files that are sent to the model at the beginning.
func (c *records) Instructions() []instructions.File {
	files, _ := c.World.told("", nil).Files()
	return files
}

// NoteFiles are the files that the user can keep notes in.
func (c *records) NoteFiles() []instructions.Target {
	p := c.World.Project
	home := p.Home
	if len(p.Options.Sources) > 0 && !slices.Contains(p.Options.Sources, settings.User) {
		home = "" // what would not be read is not written
	}
	return instructions.Targets(p.Dir, home)
}

// Note saves a user's note for later conversations, and tells the model of this one. It
// returns the file.
func (c *records) Note(source settings.Source, note string) (path string, err error) {
	for _, t := range c.NoteFiles() {
		if t.Source != source {
			continue
		}
		if err := t.Append(note); err != nil {
			return "", err
		}
		c.notes.Add(fmt.Sprintf("The user added this note to %s. It applies from now on and in later sessions: %s", t.Path, strings.TrimSpace(note)))
		return t.Path, nil
	}
	return "", fmt.Errorf("notes can be added to project, local or user, not to %q", source)
}

// Past returns what was said in the conversation, oldest first: at least the last messages
// and at most twice as many, or all if there are fewer. It leaves out what haft added, and
// what was abandoned by going back.
func (c *records) Past(ctx context.Context, messages int) []session.Entry {
	path, head := c.Journal().Path(), c.Journal().Restored().Last
	if path == "" {
		return nil
	}
	var said []session.Entry
	passed := false
	for e, err := range session.Entries(ctx, path) {
		if err != nil {
			break // a conversation without messages has no file yet
		}
		if e.Agent != "" || e.Message == nil && e.Compaction == nil && e.Back == nil || passed && e.Time.Before(c.Began) {
			continue // what was said after head before going back to it is left out
		}
		passed = passed || e.UUID == head && head != ""
		if said = append(said, e); len(said) >= 2*messages {
			said = slices.Clone(said[messages:])
		}
	}
	return branch(said)
}

// Keep returns what the conversation passes on when it is opened again.
func (c *records) Keep() *Kept {
	e := c.World.Engine
	return &Kept{mode: e.Policy().Mode(), rules: e.Granted(), roots: e.Guard().Roots()}
}

// take takes over what another conversation has passed on; nil takes what the journal has
// stored for the model.
func (c *records) take(k *Kept, r *session.Restored) error {
	w, waiting := c.World, state[[]string](r, stateNotes)
	if k != nil { // what waits is about what this conversation does not know
		waiting = slices.DeleteFunc([]string{k.note}, func(note string) bool { return note == "" })
	}
	c.notes = sysprompt.NewNotes(waiting, func(notes []string) { w.link.Save(stateNotes, notes) })
	if k == nil {
		return nil
	}
	w.Engine.SetMode(k.mode)
	w.Engine.Grant(k.rules...)
	return w.changeRoots(func([]string) ([]string, error) { return k.roots, nil })
}

// PlanRewind says what it takes to restore files to how they were before a message or a
// call; "" means the user's last message.
func (c *records) PlanRewind(ctx context.Context, to string) (*checkpoint.Plan, error) {
	j := c.Journal()
	if j.Path() == "" {
		return nil, errors.New("this session is not saved, so there is nothing to rewind to")
	}
	if _, err := os.Lstat(j.Path()); err != nil {
		return nil, errors.New("this session has no messages yet, so there is nothing to rewind to")
	}
	return checkpoint.NewPlan(ctx, j.Path(), to, j.Blobs())
}

// Restored says which files going back to before each of the user's messages would restore, by
// the id of the message.
func (c *records) Restored(ctx context.Context) (map[string][]string, error) {
	return checkpoint.Restored(ctx, c.Journal().Path())
}

// Rewind carries out a plan, and tells the model; see [checkpoint.Plan.Apply].
func (c *records) Rewind(ctx context.Context, p *checkpoint.Plan, force bool) (undo string, err error) {
	undo, err = p.Apply(ctx, c.Journal(), &checkpoint.ApplyOptions{Force: force})
	if err == nil {
		c.notes.Add(restoredText(p, c.World.Project.Dir))
	}
	return undo, err
}

func (c *records) todosChanged(name string, items []todo.Item) {
	if name == "" {
		c.World.link.Emit(agent.Changed{What: agent.Todos, Value: items})
	}
	c.World.link.Save(stateTodos+name, items)
}

// tasksChanged shows the tasks; their file is their memory.
func (c *records) tasksChanged(l task.List) {
	c.World.link.Emit(agent.Changed{What: agent.Tasks, Value: l.Tasks})
}

// Background moves the command or the agent that a call waits for to the background: the
// call returns, and the model is told when the work ends. "" means everything that the main
// conversation waits for. It reports whether there was anything.
func (c *records) Background(useID string) bool {
	any := c.World.Crew.Background(useID)
	for _, t := range c.World.host.Tasks() {
		if (t.Tag() == useID || useID == "" && t.Owner() == "") && t.Release() {
			any = true
		}
	}
	return any
}

// TaskOutput returns the end of a command's output, at most limit bytes, and how much there
// is in all. It reports false for an id that no command has.
func (c *records) TaskOutput(id string, limit int) (end []byte, total int64, ok bool) {
	task, ok := c.World.host.Task(id)
	if !ok {
		return nil, 0, false
	}
	total = task.Output().Counts().Bytes
	end, _ = task.Output().Since(max(0, total-int64(limit)), limit)
	return end, total, true
}

// Title is the title of the session; "" if it has none.
func (c *records) Title() string {
	if title := c.title.Load(); title != nil {
		return *title
	}
	return ""
}

// name takes over the title that the session has, or gives a new session its first.
func (c *records) name(ctx context.Context, title string) error {
	restored := c.Journal().Restored()
	if restored.Title != "" {
		c.title.Store(&restored.Title)
	}
	if title == "" || restored.Messages > 0 {
		return nil
	}
	return c.Rename(ctx, title)
}

// Rename names the session.
func (c *records) Rename(ctx context.Context, title string) error {
	if title = strings.TrimSpace(title); title == "" {
		return errors.New("title must not be empty")
	}
	if err := SetTitle(ctx, c.Journal(), title); err != nil {
		return err
	}
	c.title.Store(&title)
	c.World.link.Emit(agent.Changed{What: agent.Title, Value: title})
	return nil
}
