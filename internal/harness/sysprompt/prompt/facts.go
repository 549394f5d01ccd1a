package prompt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/sys/regular"
)

// Facts are what the model is told about where and when a conversation takes place.
type Facts struct {
	opts FactsOptions

	mu   sync.Mutex
	told facts
}

// FactsOptions are where facts come from.
type FactsOptions struct {
	// Dir is the working directory; Added are other folders that belong to the work.
	Dir   string
	Added []string
	// Elsewhere describes where the work is if it is on another machine: the model is told
	// this instead of Dir, Added, State and this machine's platform. "" means that the work is
	// on this machine.
	Elsewhere string
	// Cwd returns where the shell is now; nil means that it stays in Dir.
	Cwd func() string
	// Instructions returns the project's instructions, such as the text of HAFT.md;
	// nil means none. It is called only when all facts are told.
	Instructions func(context.Context) string
	// More returns further facts, such as the available skills; nil means none. First is as in
	// [Facts.Tell].
	More func(ctx context.Context, first bool) []string
	// Model and Shell are the names of the model and of the shell that runs its commands;
	// "" means that they are not told.
	Model, Shell string
	// State returns what the repository is like, such as its changed files; nil means that
	// it is not told. It is called only when all facts are told.
	State func(context.Context) string
	// Earlier are the facts that the model was told before this process started, oldest first.
	// Unchanged facts are not told again.
	Earlier []string
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// facts are those that may change.
type facts struct{ date, cwd, branch string }

// NewFacts returns the facts of one conversation.
func NewFacts(opts *FactsOptions) *Facts {
	f := new(Facts)
	if opts != nil {
		f.opts = *opts
	}
	if f.opts.Now == nil {
		f.opts.Now = time.Now
	}
	if f.opts.Cwd == nil {
		f.opts.Cwd = func() string { return f.opts.Dir }
	}
	return f
}

// Tell returns all facts if first is set, because the model knows none or has forgotten them,
// and otherwise only those that have changed.
func (f *Facts) Tell(ctx context.Context, first bool) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, now := f.told, f.look()
	f.told = now
	var notes []string
	if first {
		notes = append(notes, f.instructions(ctx), f.environment(ctx, now))
	} else {
		notes = append(notes, changes(before, now))
	}
	if f.opts.More != nil {
		notes = append(notes, f.opts.More(ctx, first)...)
	}
	var said []string
	for _, n := range notes {
		if strings.TrimSpace(n) != "" && !f.known(n) {
			said = append(said, n)
		}
	}
	f.opts.Earlier = nil // a model that is told everything again has forgotten it
	return said
}

// known reports whether the model was told a fact before this process began, and
// nothing else since about what may change.
func (f *Facts) known(note string) bool {
	note = strings.TrimSpace(note)
	for _, told := range slices.Backward(f.opts.Earlier) {
		switch {
		case told == note:
			return true
		case isChange(told) && kind(note) != kind(instructionsIntro), kind(told) == kind(note):
			return false
		}
	}
	return false
}

// kind is what a fact begins with, by which one takes the place of another.
func kind(note string) string {
	words := strings.Fields(note)
	return strings.Join(words[:min(len(words), 2)], " ")
}

// isChange reports whether a fact tells what is not as it was.
func isChange(note string) bool {
	return strings.HasPrefix(note, "The date is ") || strings.HasPrefix(note, "The working directory is ") || strings.HasPrefix(note, "The git repository is ") || strings.HasPrefix(note, "The permission mode is ")
}

const instructionsIntro = "The user and the project have left these instructions."

const environmentIntro = "Your environment, as of this message:"

func (f *Facts) look() facts {
	now := facts{date: f.opts.Now().Format("Monday, 2006-01-02")}
	if f.opts.Elsewhere == "" {
		now.cwd, now.branch = f.opts.Cwd(), Branch(f.opts.Dir)
	}
	return now
}

func (f *Facts) instructions(ctx context.Context) string {
	if f.opts.Instructions == nil {
		return ""
	}
	text := strings.TrimSpace(f.opts.Instructions(ctx))
	if text == "" {
		return ""
	}
	return instructionsIntro + " Follow them: they override your own habits, and what the user says in this conversation overrides them.\n\n" + text
}

func (f *Facts) environment(ctx context.Context, now facts) string {
	var b strings.Builder
	b.WriteString(environmentIntro + "\n")
	if f.opts.Elsewhere != "" {
		b.WriteString(f.opts.Elsewhere + "\n")
	} else {
		f.here(&b, now)
	}
	if f.opts.Model != "" {
		fmt.Fprintf(&b, "Model: %s\n", f.opts.Model)
	}
	fmt.Fprintf(&b, "Date: %s", now.date)
	if f.opts.State != nil && now.branch != "" {
		if state := f.opts.State(ctx); state != "" {
			b.WriteString("\n" + state)
		}
	}
	return b.String()
}

// here describes the folder and this machine.
func (f *Facts) here(b *strings.Builder, now facts) {
	fmt.Fprintf(b, "Working directory: %s\n", now.cwd)
	if now.cwd != f.opts.Dir {
		fmt.Fprintf(b, "Project: %s\n", f.opts.Dir)
	}
	for _, dir := range f.opts.Added {
		fmt.Fprintf(b, "Additional working directory: %s\n", dir)
	}
	if now.branch == "" {
		b.WriteString("Git repository: no\n")
	} else {
		fmt.Fprintf(b, "Git repository: yes, %s\n", now.branch)
	}
	fmt.Fprintf(b, "Platform: %s/%s\n", runtime.GOOS, runtime.GOARCH)
	if f.opts.Shell != "" {
		fmt.Fprintf(b, "Shell: %s\n", f.opts.Shell)
	}
}

// changes tells what is not as it was.
func changes(before, now facts) string {
	var b strings.Builder
	if before.date != now.date {
		fmt.Fprintf(&b, "The date is now %s.\n", now.date)
	}
	if before.cwd != now.cwd {
		fmt.Fprintf(&b, "The working directory is now %s.\n", now.cwd)
	}
	if before.branch != now.branch && now.branch != "" {
		fmt.Fprintf(&b, "The git repository is now %s.\n", now.branch)
	}
	return b.String()
}

// Branch describes what a folder's repository has checked out, such as "on branch main"; ""
// means that the folder is in no repository. It reads one or two small files and starts no
// program.
func Branch(dir string) string {
	git := gitDir(dir)
	if git == "" {
		return ""
	}
	head, err := readLine(filepath.Join(git, "HEAD"))
	if err != nil {
		return ""
	}
	if ref, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		return "on branch " + ref
	}
	if len(head) >= 12 {
		return "at commit " + head[:12]
	}
	return ""
}

// gitDir returns the folder of the repository that dir is in; "" if it is in none.
func gitDir(dir string) string {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		git := filepath.Join(at, ".git")
		info, err := os.Stat(git)
		switch {
		case err == nil && info.IsDir():
			return git
		case err == nil && info.Mode().IsRegular(): // a worktree or a submodule
			line, err := readLine(git)
			path, ok := strings.CutPrefix(line, "gitdir: ")
			if err != nil || !ok {
				return ""
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(at, path)
			}
			return path
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// readLine returns the first line of a small file. Its content is the repository's,
// so it is not trusted: it is bounded, and has no characters that could pretend to be
// more than one line.
func readLine(path string) (string, error) {
	head, _, err := regular.Head(path, 300)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(head), "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' || r == '\uFFFD' {
			return -1
		}
		return r
	}, strings.TrimSpace(line)), nil
}
