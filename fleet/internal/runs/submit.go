package runs

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/text/shorten"
)

// AnyWorker is the class of runs that every worker may take.
const AnyWorker = "any"

// OnHost is the class of runs that only workers on a host may take.
func OnHost(host string) string {
	return "host-" + strings.Map(func(r rune) rune {
		if engine.Word(string(r)) {
			return r
		}
		return '_'
	}, host)
}

// Tasks returns the subjects of the tasks of a class and priority.
func Tasks(class, priority string) string { return "task." + class + "." + priority + ".*" }

// Normal is the priority of a run that has no other.
const Normal = "normal"

// A Prompt is what a user wants of a session.
type Prompt struct {
	// UUID names it: a prompt that is sent again under the same name is the same prompt.
	UUID string    `json:"uuid"`
	Text string    `json:"text"`
	Sent time.Time `json:"sent"`
	// Content is the prompt as the wire has it, if it is more than text; Blob is the digest
	// of one that is too large to be sent.
	Content json.RawMessage `json:"content,omitempty"`
	Blob    string          `json:"blob,omitempty"`
	// Connect is where a program waits that leads the conversation itself; "" for a prompt.
	// Args are [FlagsFollow], or its flags if an older version has submitted it.
	Connect string   `json:"connect,omitempty"`
	Args    []string `json:"args,omitempty"`

	// Run is its run as it was then, unless that is large: [Runs.Repair] makes a lost run again from it.
	Run *Run `json:"run,omitempty"`

	// Kept is when the engine had it.
	Kept time.Time `json:"-"`

	seq uint64
}

// FlagsFollow are the flags of a program that sends its flags over its connection: they may
// have secrets in them, which the engine would keep. A worker of an older version, which does
// not wait for them, refuses to begin with these.
func FlagsFollow() []string { return []string{"--output-format=follows"} }

// A Submission begins a run, or continues one.
type Submission struct {
	// ID is the session; "" begins a new one.
	ID string
	// Class, Priority, Dir, Args and Tags are those of a new run.
	Class, Priority, Dir string
	Args                 []string
	Tags                 map[string]string
	// Host is the machine that has the folder Dir of a new run; "" if that is not known.
	Host string
	// Workspace is where the files of a new run come from; nil means the folder Dir.
	Workspace *Workspace
	// Mode, Model and Title are those of a new run, besides what Args say.
	Mode, Model, Title string
	// Ask lets a new run ask users.
	Ask bool
	// Prompt is what it shall do; its UUID may be "".
	Prompt Prompt
}

// run is a new run of a submission.
func (s *Submission) run(id, text string) *Run {
	return &Run{
		ID: id, State: Queued, Class: cmp.Or(s.Class, AnyWorker), Priority: s.Priority, Dir: s.Place(), Host: s.Host, Args: s.Args, Mode: s.Mode, Model: s.Model, Given: &Given{s.Mode, s.Model, s.Title},
		Title: s.Title, First: firstLine(text), Tags: s.Tags, Ask: s.Ask, Created: time.Now().UTC(), Workspace: s.Workspace,
	}
}

// Place is where the run of a submission works: a folder, or a repository, which cannot be taken
// for one.
func (s *Submission) Place() string {
	if s.Workspace != nil {
		return "git+" + s.Workspace.Spec.String()
	}
	return s.Dir
}

// firstLine is the beginning of a prompt, for lists.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return shorten.To(line, 120)
}

// ErrTooLarge is the error for a prompt that does not fit into a message.
var ErrTooLarge = errors.New("the prompt and flags are too large for the fleet; put long text into a file and refer to the file in the prompt")

// maxCopy is how large the copy of a run may be that is kept with a prompt.
const maxCopy = 64 << 10

// headers is how much of a message its headers may take.
const headers = 4 << 10

// ErrFull is the error for a run that is one too many.
var ErrFull = errors.New("too many runs are unfinished")

// limitTime is how long it may take until a new limit counts.
const limitTime = 5 * time.Second

func shardSubject(kind string, shard uint32, tenant, id, name string) string {
	return kind + "." + strconv.FormatUint(uint64(shard), 10) + "." + tenant + "." + id + "." + name
}

func code(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	return 0
}

func sortRuns(list []*Run) {
	slices.SortFunc(list, func(a, b *Run) int { return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.ID, b.ID)) })
}
