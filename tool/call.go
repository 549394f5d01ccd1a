package tool

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/haftdev/haft/tool/schema"
)

// A Session is what descriptions, schemas and Enabled may depend on. It is a set of facts,
// not a handle: a tool gets the parts of the world it works on from its constructor.
type Session struct {
	// Interactive is set when a user can be asked.
	Interactive bool
	// Mode is the permission mode, such as "default" or "plan".
	Mode string
	// Flags that are on. A schema field marked when=FLAG exists only with its flag.
	Flags map[string]bool
	// Lists are names that schemas take values from, such as the agents.
	Lists map[string][]string
	// Tools are the names of the tools in the session's pool.
	Tools []string
}

// ViewOptions returns the facts that schemas depend on.
func (s *Session) ViewOptions() *schema.ViewOptions {
	if s == nil {
		return nil
	}
	return &schema.ViewOptions{Flags: s.Flags, Lists: s.Lists}
}

// A Call is one use of a tool on its way through the pipeline.
type Call struct {
	// ID is the journal's id of the call, UseID the provider's.
	ID, UseID string
	// Tool is the tool's name, also when the model used an alias.
	Tool string
	// Input has the shape of the tool's schema; see [Call.WithInput].
	Input json.RawMessage
	// Answered says that the asker has replaced the input by this one, with answers that a
	// model cannot give itself.
	Answered bool
	// Approved is the digest of the change that was shown to the user who approved the
	// call; "" means that none was shown. See [Call.Approve].
	Approved string
	// Dropped are the parts of that change that must not be made.
	Dropped []Dropped
	// Confinement, Hidden and Foreground are those of the verdict on the call.
	Confinement Confinement
	Hidden      []string
	Foreground  bool
	// Agent names the sub-agent that calls; "" is the main conversation.
	Agent string
	// Dir is the agent's working directory: relative paths in Input start there, and a
	// missing path means it. "" leaves that to the tool.
	Dir string
	// Facts are what is known of the call from Input and Dir; nil before they are found. See
	// [Tool.FactsOf].
	Facts *Facts
	// Session and Tools are those of the turn. Tools may be nil in tests.
	Session *Session
	Tools   *Set
	// Took is how long the call ran, for those who look at it afterwards.
	Took time.Duration
	// Progress receives what [Call.Report] is given; nil drops it.
	Progress func(Progress)

	decoded *decoded // Input as the tool's Go type; nil decodes it each time
}

// decoded is an input that is decoded on first use, by whichever of the pipeline, the
// askers and the front ends needs it first.
type decoded struct {
	once  sync.Once
	value any
	err   error
}

// WithInput returns a copy of the call that has another input, of which nothing is known.
func (c *Call) WithInput(in json.RawMessage) *Call {
	n := *c
	n.Input, n.decoded, n.Facts = in, new(decoded), nil
	return &n
}

// Report tells observers about the progress of the call. It never blocks for long, and a
// tool does not know where the report goes.
func (c *Call) Report(p Progress) {
	if c.Progress != nil {
		c.Progress(p)
	}
}

// Approve returns [ErrUnapproved] if the user has approved a change other than p. A tool
// that makes p itself calls it at the last moment, while it holds the file, so that no
// other program can interfere.
func (c *Call) Approve(p *Preview) error {
	if c.Approved == "" || c.Approved == p.Digest() {
		return nil
	}
	return ErrUnapproved
}
