package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/wire"
)

// A State is what a session does.
type State string

const (
	Idle    State = "idle"    // nothing was said yet
	Working State = "working" // a turn runs
	Asks    State = "asks"    // a turn waits for an answer
	Done    State = "done"    // the last turn has its answer
	Failed  State = "failed"  // an error took the place of the last answer
	Stopped State = "stopped" // its process ended in the middle of a turn
)

// A Session is what a list shows of one.
type Session struct {
	ID     string `json:"id"`
	Cwd    string `json:"cwd"`
	Branch string `json:"branch,omitempty"`
	Title  string `json:"title,omitempty"`
	// Prompt is the first one, shortened.
	Prompt string `json:"prompt,omitempty"`
	State  State  `json:"state"`
	// Running says that a process leads it, PID which one, and Led that it is this server.
	Running bool   `json:"running"`
	PID     int    `json:"pid,omitempty"`
	Led     bool   `json:"led"`
	Model   string `json:"model,omitempty"`
	Mode    string `json:"mode,omitempty"`
	// Created and Modified are in milliseconds since 1970.
	Created  timeline.Time  `json:"created,omitempty"`
	Modified timeline.Time  `json:"modified"`
	Cost     float64        `json:"cost"`
	Unpriced bool           `json:"unpriced,omitempty"`
	Usage    timeline.Usage `json:"usage"`
	Turns    int            `json:"turns"`
	Calls    int            `json:"calls"`
	Items    int            `json:"items"`
	// Asking is how many questions are open.
	Asking int `json:"asking"`
	// Last is the last line that was said.
	Last string `json:"last,omitempty"`
	Size int64  `json:"size"`
	// Partial says that the journal was not read yet, so that costs and counts are missing.
	Partial bool `json:"partial,omitempty"`
}

// judge says what the session does.
func (r *Session) judge(s Status, sum *timeline.Summary) {
	working := s.Working || sum.Working && !s.Led
	switch {
	case s.Failed != "":
		r.State, r.Last = Failed, s.Failed
	case r.Running && r.Asking > 0:
		r.State = Asks
	case r.Running && working:
		r.State = Working
	case working:
		r.State = Stopped
	case sum.Failed:
		r.State = Failed
	case r.Items == 0 && !r.Partial:
		r.State = Idle
	default:
		r.State = Done
	}
	if !r.Running {
		r.Asking = 0 // who asked is gone
	}
}

// Sessions is a list of them. In an event, Removed are gone, and All says that the list
// has every session, not only those that changed.
type Sessions struct {
	Sessions []Session `json:"sessions"`
	Removed  []string  `json:"removed,omitempty"`
	All      bool      `json:"all,omitempty"`
}

// NewSession says which session is to begin: in the folder Cwd, or in a workspace.
type NewSession struct {
	// ID is the UUID of the session; "" lets the server choose one. If there is a session of
	// this id already, it is the one that is meant: a request whose reply was lost can be sent
	// again. A request that asks for another folder, mode, model or title, or for other Args or
	// another Unattended is refused.
	ID        string     `json:"id,omitempty"`
	Cwd       string     `json:"cwd,omitempty"`
	Workspace *Workspace `json:"workspace,omitempty"`
	Prompt    string     `json:"prompt,omitempty"`
	// UUID names the prompt; see Prompt.
	UUID  string `json:"uuid,omitempty"`
	Model string `json:"model,omitempty"`
	Mode  string `json:"mode,omitempty"`
	Title string `json:"title,omitempty"`
	// Args are flags of 'haft -p' for the session, such as --max-turns=5. They are kept with
	// it.
	Args []string `json:"args,omitempty"`
	// Unattended says that nobody answers questions: what would be asked is denied, as with
	// 'haft -p'.
	Unattended bool `json:"unattended,omitempty"`
}

// A Workspace is a git repository that a session works on, on any worker of a fleet.
type Workspace struct {
	Repository string `json:"repository"`
	// Ref is a branch, a tag or a commit; "" means the repository's own branch.
	Ref string `json:"ref,omitempty"`
	// Push is the branch that the result is pushed to; "" pushes nothing.
	Push string `json:"push,omitempty"`
}

// place is what the row of the session will show as its folder.
func (n *NewSession) place() string {
	switch w := n.Workspace; {
	case w == nil:
		return n.Cwd
	case w.Ref == "":
		return "git+" + w.Repository
	default:
		return "git+" + w.Repository + "@" + w.Ref
	}
}

// unlike are the names of what two requests for a session give it differently. The values may be
// long, or meant for nobody else.
func (n *NewSession) unlike(in *NewSession) (names []string) {
	for _, f := range []struct {
		name  string
		alike bool
	}{
		{"mode", n.Mode == in.Mode}, {"model", n.Model == in.Model}, {"title", n.Title == in.Title}, {"unattended", n.Unattended == in.Unattended},
	} {
		if !f.alike {
			names = append(names, f.name)
		}
	}
	if slices.Equal(n.Args, in.Args) {
		return names
	}
	var flags []string
	for _, both := range [][2][]string{{n.Args, in.Args}, {in.Args, n.Args}} {
		for _, arg := range both[0] {
			if flag, _, _ := strings.Cut(arg, "="); !slices.Contains(both[1], arg) && !slices.Contains(flags, flag) {
				flags = append(flags, flag)
			}
		}
	}
	return append(names, "args ("+strings.Join(flags, ", ")+")") // each flag is there once, in the order of names
}

// A SessionChange changes a session. What is absent stays.
type SessionChange struct {
	Title string `json:"title,omitempty"`
	Mode  string `json:"mode,omitempty"`
	Model string `json:"model,omitempty"`
	// Effort is how hard the model thinks, such as low or high; default leaves it to the provider.
	Effort string `json:"effort,omitempty"`
}

// Input is what is around an input box.
type Input struct {
	Commands []InputCommand `json:"commands"`
	Models   []InputModel   `json:"models"`
	Model    string         `json:"model"`
	// Effort is "" if the provider chooses it.
	Effort string `json:"effort"`
	// Queued are the prompts that wait, in order.
	Queued []QueuedPrompt `json:"queued"`
}

// An InputCommand can be typed after a slash.
type InputCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Arguments is a hint at what may follow.
	Arguments string `json:"arguments,omitempty"`
}

// An InputModel can be chosen by its value.
type InputModel struct {
	Value       string   `json:"value"`
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Efforts     []string `json:"efforts,omitempty"`
}

// A QueuedPrompt waits for a turn, or for the next step of one. It can be cancelled by its UUID.
type QueuedPrompt struct {
	UUID string `json:"uuid"`
	Text string `json:"text"`
}

// Suggestions are paths, relative to the session's folder; those of folders end with a slash.
type Suggestions struct {
	Paths []string `json:"paths"`
}

// Hits are where a text occurs, by session, the most recently used first.
type Hits struct {
	Hits []Hit `json:"hits"`
	// More says that there may be others.
	More bool `json:"more,omitempty"`
}

// A Hit is an item that has the text.
type Hit struct {
	Session string        `json:"session"`
	Item    int           `json:"item"`
	Kind    timeline.Kind `json:"kind"`
	At      timeline.Time `json:"at"`
	// Text are the words around it.
	Text string `json:"text"`
}

// Fork says where the copy of a session ends.
type Fork struct {
	// At is the id of the last message; "" takes all.
	At string `json:"at,omitempty"`
}

// A Prompt is what the user says.
type Prompt struct {
	// UUID names it: a prompt that is sent again with the same one counts once.
	UUID   string        `json:"uuid"`
	Text   string        `json:"text,omitempty"`
	Images []PromptImage `json:"images,omitempty"`
	Files  []PromptFile  `json:"files,omitempty"`
}

// content is a prompt as the wire has it. Nothing but text is a string, in which slash
// commands and mentions count.
func (p *Prompt) content() (wire.Content, error) {
	var blocks []wire.Block
	for _, i := range p.Images {
		if !isImage(i.MediaType, i.Data) {
			return wire.Content{}, invalid("An image must be a PNG, JPEG, GIF or WebP of at most 5 MB.")
		}
		raw, err := json.Marshal(map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": i.MediaType, "data": i.Data}})
		if err != nil {
			return wire.Content{}, err
		}
		blocks = append(blocks, wire.Block{Type: "image", Raw: raw})
	}
	for _, f := range p.Files {
		if f.Name == "" || strings.ContainsAny(f.Name, "\n\"<>") {
			return wire.Content{}, invalid("%q is not a valid file name.", f.Name)
		}
		blocks = append(blocks, wire.Text(fmt.Sprintf("<file name=%q>\n%s\n</file>", f.Name, f.Text)))
	}
	if blocks == nil {
		if strings.TrimSpace(p.Text) == "" {
			return wire.Content{}, invalid("The prompt is empty.")
		}
		return wire.Content{Text: p.Text}, nil
	}
	if strings.TrimSpace(p.Text) != "" {
		blocks = append(blocks, wire.Text(p.Text))
	}
	return wire.Content{Blocks: blocks}, nil
}

// magic are the first bytes of the kinds of images that models take.
var magic = map[string]string{"image/png": "\x89PNG", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF"}

// isImage reports whether an image is what it is said to be.
func isImage(kind string, data []byte) bool {
	begins, ok := magic[kind]
	return ok && len(data) <= 5<<20 && bytes.HasPrefix(data, []byte(begins))
}

// A PromptImage is one of a prompt: PNG, JPEG, GIF or WebP, in base64.
type PromptImage struct {
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

// A PromptFile is a text that is sent along.
type PromptFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Prompted says that a prompt was taken.
type Prompted struct {
	UUID string `json:"uuid"`
	// Duplicate says that it was taken before.
	Duplicate bool `json:"duplicate,omitempty"`
}

// What became of a prompt.
const (
	OutcomeWaiting     = "waiting"     // it is queued, or its turn runs
	OutcomeDone        = "done"        // its turn has ended
	OutcomeCancelled   = "cancelled"   // a user has cancelled it
	OutcomeQuarantined = "quarantined" // the session was put aside, and the prompt waits in it
	OutcomeLost        = "lost"        // the process that ran it ended before its turn did
)

// An Outcome is what became of a prompt.
type Outcome struct {
	UUID string `json:"uuid"`
	// State is waiting, done, cancelled, quarantined or lost.
	State string `json:"state"`
	// Begun says that the turn of a prompt that is waiting has begun.
	Begun bool `json:"begun,omitempty"`
	// Reason says why it has no answer.
	Reason string `json:"reason,omitempty"`
	// Result is the result message of docs/wire.md. It is absent if it is not known any more:
	// the session has the answer.
	Result json.RawMessage `json:"result,omitempty"`
}

// A Question is one that waits for an answer.
type Question struct {
	ID string `json:"id"`
	// Kind is permission (may a call run), question (AskUserQuestion), plan (ExitPlanMode)
	// or elicitation (an MCP server asks).
	Kind string `json:"kind"`
	// Digest names what is shown; an answer repeats it.
	Digest    string `json:"digest"`
	ToolUseID string `json:"tool_use_id,omitempty"`
	Agent     string `json:"agent,omitempty"`
	// Request is the can_use_tool or elicitation request of docs/wire.md.
	Request json.RawMessage `json:"request"`
}

// Questions are all that are open.
type Questions struct {
	Questions []Question `json:"questions"`
}

// A QuestionPlace is where a question is or was asked.
type QuestionPlace struct {
	Session string `json:"session"`
	// Item is the index of the call that it is about, -1 if it is about none.
	Item int `json:"item"`
	// Open says that it waits for an answer.
	Open bool `json:"open"`
}

// An Answer answers a question.
type Answer struct {
	Question string `json:"question"`
	Digest   string `json:"digest"`
	// Answer is a PermissionAnswer of docs/wire.md, of an elicitation an ElicitationReply.
	Answer json.RawMessage `json:"answer"`
}

// A Timeline is part of the folded view of a session.
type Timeline struct {
	// Revision names this state of the view; see the events.
	Revision string           `json:"revision"`
	Position string           `json:"position"`
	Summary  timeline.Summary `json:"summary"`
	Turns    []timeline.Turn  `json:"turns"`
	Items    []*timeline.Item `json:"items"`
	// Total is how many items there are.
	Total int `json:"total"`
	// Reset says, in an event, that what was asked for is not known any more: read the
	// timeline again.
	Reset bool `json:"reset,omitempty"`
}

// Rewind says what files are brought back to.
type Rewind struct {
	// To is the id of a message or call, or of an earlier rewind.
	To string `json:"to"`
	// DryRun only tells; Force discards what other programs have changed since.
	DryRun bool `json:"dry_run,omitempty"`
	Force  bool `json:"force,omitempty"`
}

// Rewound is what a rewind did, or would do.
type Rewound struct {
	Target string        `json:"target"`
	Done   bool          `json:"done"`
	Undo   string        `json:"undo,omitempty"`
	Files  []RewoundFile `json:"files"`

	Insertions int `json:"insertions"`
	Deletions  int `json:"deletions"`
	// Uncovered says what of the session's changes a rewind does not cover.
	Uncovered string `json:"uncovered,omitempty"`
}

// A RewoundFile is one of a rewind.
type RewoundFile struct {
	Path       string `json:"path"`
	Action     string `json:"action"`
	Insertions int    `json:"insertions"`
	Deletions  int    `json:"deletions"`
	// Foreign says that another program has changed the file since.
	Foreign bool `json:"foreign,omitempty"`
}

// Checkpoints are what a session can be rewound to.
type Checkpoints struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
}

// A Checkpoint is a prompt, or a call that changed files.
type Checkpoint struct {
	ID    string        `json:"id"`
	Kind  timeline.Kind `json:"kind"`
	Item  int           `json:"item"`
	At    timeline.Time `json:"at"`
	Text  string        `json:"text"`
	Files []string      `json:"files,omitempty"`
}

// A FileText is a file as it is now.
type FileText struct {
	Path      string `json:"path"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
	// Lossy says that it is no text: bytes were replaced.
	Lossy bool `json:"lossy,omitempty"`
}

// A Code is exchanged for a credential.
type Code struct {
	Code string `json:"code"`
}

// A Credential is what a browser sends in the header Haft-Token.
type Credential struct {
	Token string `json:"token"`
}

// NewPairing says what the device that is paired may do.
type NewPairing struct {
	// Full lets it do what the page on the server's machine can; else it watches and answers.
	Full bool `json:"full,omitempty"`
}

// A Pairing is a code that pairs one device.
type Pairing struct {
	Code string `json:"code"`
	// URL is what the device opens. The code is in its fragment, which is not sent or logged.
	URL  string `json:"url"`
	Full bool   `json:"full"`
	// Expires is in milliseconds since 1970.
	Expires timeline.Time `json:"expires"`
	// SVG is the QR code of the URL.
	SVG string `json:"svg,omitempty"`

	text string // the same for a terminal
}

// Text is the drawing for a terminal.
func (p Pairing) Text() string { return p.text }

// A Device is one that was paired.
type Device struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Full says that it may do what the page on the server's machine can.
	Full    bool          `json:"full"`
	Created timeline.Time `json:"created"`
	Expires timeline.Time `json:"expires"`
	// Seen is when it was last used, to the hour.
	Seen timeline.Time `json:"seen"`
}

// A DeviceList is all that are paired.
type DeviceList struct {
	Devices []Device `json:"devices"`
}

// A Problem is why a request was refused.
type Problem struct {
	status int
	// Code is stable; Message is for people.
	Code    string `json:"code"`
	Message string `json:"message"`
	// By and Behavior are the answer that was first.
	By       string `json:"by,omitempty"`
	Behavior string `json:"behavior,omitempty"`
	// PID is the process that has the session.
	PID int `json:"pid,omitempty"`
	// Paths are the files in the way.
	Paths []string `json:"paths,omitempty"`
}

func (p *Problem) Error() string { return p.Message }

// noBody is the answer of requests that return nothing.
type noBody struct{}
