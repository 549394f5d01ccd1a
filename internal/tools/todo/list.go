package todo

import (
	"maps"
	"slices"
	"sync"
)

// An Item is one thing to do.
type Item struct {
	Content    string `json:"content" jsonschema:"What to do, such as Run the tests." haft:"min=1;max=1000;example=Run the tests"`
	Status     Status `json:"status" jsonschema:"Its status." haft:"means=done:completed|complete:completed|finished:completed|todo:pending|open:pending|doing:in_progress|started:in_progress;enum=pending|in_progress|completed;example=pending"`
	ActiveForm string `json:"activeForm,omitempty" jsonschema:"The same as an ongoing action, such as Running the tests. Default: content." haft:"max=1000;example=Running the tests"`
}

// Status is the state of an item.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
)

// A List holds what each agent of a session has to do.
type List struct {
	changed func(agent string, items []Item)

	mu    sync.Mutex
	items map[string][]Item // by agent
}

// ListOptions configure a [List]. A nil *ListOptions means all zero values.
type ListOptions struct {
	// Items is what each agent had to do when a session was left, as
	// ListOptions.Changed was told; nil means nothing. "" is the main conversation.
	Items map[string][]Item
	// Changed, if not nil, is called with each new list of an agent, one at a time and in the
	// order of the changes. It must not call the list.
	Changed func(agent string, items []Item)
}

// NewList returns a list.
func NewList(opts *ListOptions) *List {
	l := &List{items: make(map[string][]Item)}
	if opts != nil {
		l.changed = opts.Changed
		maps.Copy(l.items, cloned(opts.Items))
	}
	return l
}

// Items returns what an agent has to do.
func (l *List) Items(agent string) []Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.items[agent])
}

// replace gives an agent another list and returns the one it had.
func (l *List) replace(agent string, items []Item) (old []Item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old = l.items[agent]
	if len(items) == 0 {
		delete(l.items, agent)
	} else {
		l.items[agent] = slices.Clone(items)
	}
	if l.changed != nil && !slices.Equal(old, items) {
		l.changed(agent, slices.Clone(items))
	}
	return old
}

func cloned(lists map[string][]Item) map[string][]Item {
	out := make(map[string][]Item, len(lists))
	for agent, items := range lists {
		out[agent] = slices.Clone(items)
	}
	return out
}
