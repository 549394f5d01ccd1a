package trust

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
)

// Held is something that a project's settings say and that does not count.
type Held struct {
	Item
	// Never is why it cannot count, trusted or not; "" means that it would count
	// if it were trusted.
	Never string `json:"never,omitempty"`
}

func (h Held) String() string {
	if h.Never != "" {
		return fmt.Sprintf("%s: %s", h.Origin, h.Never)
	}
	return h.Item.String() + ": not trusted"
}

// Without returns the settings with nothing of the project in them but what makes
// haft more careful. It is what counts where trust cannot be known.
func Without(s *settings.Settings) *settings.Settings {
	return walk(s, func(settings.Place, ruling) settings.Choice { return settings.Drop })
}

// walk returns the settings without what choose drops of the project. It is asked
// about what could count and what never does; what makes haft more careful, and
// files that are not the project's, stay.
func walk(s *settings.Settings, choose func(settings.Place, ruling) settings.Choice) *settings.Settings {
	own := ownMode(s)
	files := slices.Clone(s.Files())
	for i, file := range files {
		if !file.Source.InProject() {
			continue
		}
		c := newClassifier(file, own)
		files[i] = settings.Of(file).Prune(func(p settings.Place) settings.Choice {
			r := c.rule(p)
			if r.item != nil || r.never != "" {
				return choose(p, r)
			}
			return r.choice
		}).Files()[0]
	}
	return settings.Of(files...)
}

// ownMode is the mode that the user has without the project.
func ownMode(s *settings.Settings) string {
	own := slices.DeleteFunc(slices.Clone(s.Files()), func(f *settings.File) bool { return f.Source.InProject() })
	if mode, ok := settings.Of(own...).Mode(); ok && strictness[mode.Text] > 0 {
		return mode.Text
	}
	return "default"
}

// Untrusted is what a session without a user to ask reports: things were left
// out because nobody has agreed to them. It is an error, and encodes as an event.
type Untrusted struct {
	Folder string `json:"folder"`
	Items  []Item `json:"items"`
}

// NewUntrusted returns the report on what was held back; nil if everything that
// could count does.
func NewUntrusted(f *Folder, held []Held) *Untrusted {
	u := &Untrusted{Folder: f.project}
	for _, h := range held {
		if h.Never == "" {
			u.Items = append(u.Items, h.Item)
		}
	}
	if u.Items == nil {
		return nil
	}
	return u
}

// Unguarded is the error of a session that would run without the hooks of a project
// that guard something, because nobody has agreed to them and nobody can be asked.
type Unguarded struct {
	Folder string `json:"folder"`
	Hooks  []Item `json:"hooks"`
}

// NewUnguarded returns the error for what was held back; nil if there is no guard in it.
func NewUnguarded(folder string, held []Held) *Unguarded {
	u := &Unguarded{Folder: folder}
	for _, h := range held {
		if h.Guards && h.Never == "" {
			u.Hooks = append(u.Hooks, h.Item)
		}
	}
	if u.Hooks == nil {
		return nil
	}
	return u
}

func (u *Unguarded) Error() string {
	keep := "'haft trust --all' to trust it permanently as it is now"
	if slices.ContainsFunc(u.Hooks, func(i Item) bool { return i.Unbound != "" }) {
		keep = "which is needed each time because haft cannot check the content of what the hook runs"
	}
	return fmt.Sprintf("the project %s has hooks that guard it and are not trusted (%s), so nothing was started: use --trust-project to trust the project for this run, %s, or --ignore-project-hooks to run without its hooks",
		u.Folder, names(u.Hooks), keep)
}

func (u *Untrusted) Error() string {
	return fmt.Sprintf("the project %s is not trusted, so these were left out: %s. To review and trust them, run 'haft trust' there", u.Folder, names(u.Items))
}

// names lists the first of some items.
func names(items []Item) string {
	var list []string
	for _, i := range items[:min(len(items), 3)] {
		list = append(list, fmt.Sprintf("%s %q", i.Kind, i.Name))
	}
	if more := len(items) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}
