package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/model"
)

// A Scenario is the script of a conversation. Its JSON is the format of scenario files.
type Scenario struct {
	// Turns answer in order: the request that holds k earlier answers gets turn
	// k. After the last one the model says "Done.".
	Turns []Turn `json:"turns"`
	// Parts are other conversations, such as those of sub-agents: the first one whose When
	// occurs in the user's first text answers instead of Turns.
	Parts []Part `json:"parts,omitempty"`
	// Side answers requests without tools, such as those for a title; nil means
	// that they are answered like all others.
	Side *Turn `json:"side,omitempty"`
}

// A Part is a separate conversation within a scenario.
type Part struct {
	When  string `json:"when"`
	Turns []Turn `json:"turns"`
}

// A Turn is one answer. All pauses are in milliseconds.
type Turn struct {
	Blocks []Block `json:"blocks"`
	// TTFT is the pause before the answer begins, Delta the pause after each delta.
	TTFT  int `json:"ttft_ms,omitempty"`
	Delta int `json:"delta_ms,omitempty"`
	// Chunk is how many bytes of text a delta has; 0 means 40. Characters are never split.
	Chunk int `json:"chunk,omitempty"`
	// Stop is the stop reason; "" means tool_use if a tool is called, else end_turn.
	Stop model.StopReason `json:"stop_reason,omitempty"`
	// Usage is what the answer costs; nil means an estimate based on its size.
	Usage *model.Usage `json:"usage,omitempty"`
	// Fault is what goes wrong.
	Fault
}

// A Block is one piece of an answer: a tool call, a thought, a whole block or
// text, whichever field is set first in this order.
type Block struct {
	// Tool is the tool that is called, ID the id of the call ("" generates one) and Input its
	// input. Broken, if set, is sent unchanged in place of Input.
	Tool   string          `json:"tool,omitempty"`
	ID     string          `json:"id,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	Broken string          `json:"raw,omitempty"`
	// Thinking is a thought.
	Thinking string `json:"thinking,omitempty"`
	// Whole is a block of the Messages API, sent in one piece.
	Whole json.RawMessage `json:"block,omitempty"`
	Text  string          `json:"text,omitempty"`
	// Gap is the pause after the block.
	Gap int `json:"gap_ms,omitempty"`
}

// said is what is sent as deltas.
func (b *Block) said() string {
	switch {
	case b.Tool != "" && b.Broken != "":
		return b.Broken
	case b.Tool != "":
		return string(b.Input)
	case b.Thinking != "":
		return b.Thinking
	case b.Whole != nil:
		return ""
	}
	return b.Text
}

// input is that of a call, as JSON.
func (b *Block) input() json.RawMessage {
	if !json.Valid([]byte(b.said())) {
		return json.RawMessage("{}")
	}
	return json.RawMessage(b.said())
}

// A Fault is what goes wrong with an answer. The zero Fault means that nothing does.
type Fault struct {
	// Status answers with an HTTP error; Type and Message go into its body, and
	// RetryAfter and Headers into its header.
	Status     int               `json:"status,omitempty"`
	Type       string            `json:"error_type,omitempty"`
	Message    string            `json:"error_message,omitempty"`
	RetryAfter string            `json:"retry_after,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	// Body, if set, is sent in place of everything else, with ContentType, and with Status or
	// 200.
	Body        string `json:"body,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	// Break happens within the stream, after After events and AfterBytes bytes.
	Break      Break `json:"break,omitempty"`
	After      int   `json:"after,omitempty"`
	AfterBytes int   `json:"after_bytes,omitempty"`
	// Drip is the pause after every single byte.
	Drip int `json:"drip_ms,omitempty"`
	// Times is how often the fault happens at one place of one conversation before the turn
	// succeeds: 0 means once, -1 always. It applies to scenarios; turns of an [AnswerFunc] are
	// played unchanged.
	Times int `json:"times,omitempty"`
}

// Break is what happens in the middle of a stream.
type Break string

const (
	Cut     Break = "cut"     // the connection breaks
	End     Break = "end"     // the answer ends properly, too early
	Hang    Break = "hang"    // nothing more comes
	Garbage Break = "garbage" // an event that is not one; the rest follows
	Failure Break = "error"   // an event that reports an error, of Type and Message
)

func (f *Fault) set() bool {
	return f.Status != 0 || f.Body != "" || f.Break != "" || f.Drip != 0 || f.ContentType != ""
}

// An AnswerFunc returns the answer to a request. It may be called concurrently.
type AnswerFunc func(*Request) Turn

// Answer returns the function that plays the scenario.
func (s *Scenario) Answer() AnswerFunc {
	p := &player{scenario: s, struck: map[place]int{}}
	return p.answer
}

// A player counts how often faults have happened.
type player struct {
	scenario *Scenario
	mu       sync.Mutex
	struck   map[place]int // has places with faults only
}

// A place is a turn of one of the conversations that are running.
type place struct {
	session string
	part    int // -1 is the main one
	turn    int
}

func (p *player) answer(r *Request) Turn {
	if p.scenario.Side != nil && r.Tools == 0 {
		return *p.scenario.Side
	}
	turns, at := p.scenario.Turns, place{r.Session, -1, r.Turn}
	for i, part := range p.scenario.Parts {
		if strings.Contains(r.FirstText(), part.When) {
			turns, at.part = part.Turns, i
			break
		}
	}
	if r.Turn >= len(turns) {
		return Turn{Blocks: []Block{{Text: "Done."}}}
	}
	turn := turns[r.Turn]
	if at.part >= 0 {
		turn.Blocks = named(turn.Blocks, at)
	}
	if turn.Fault.set() && !p.strikes(at, turn.Times) {
		turn.Fault = Fault{}
	}
	return turn
}

// named gives the calls of a part names that no other part uses.
func named(blocks []Block, at place) []Block {
	blocks = slices.Clone(blocks)
	for i := range blocks {
		if b := &blocks[i]; b.Tool != "" && b.ID == "" {
			b.ID = fmt.Sprintf("toolu_p%d_%02d_%02d", at.part, at.turn, i)
		}
	}
	return blocks
}

func (p *player) strikes(at place, times int) bool {
	if times < 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck[at]++
	return p.struck[at] <= max(times, 1)
}

// Load reads a scenario from a file. ${NAME} in it is replaced by vars[NAME], escaped for a
// JSON string; names that are not in vars stay.
func Load(file string, vars map[string]string) (*Scenario, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(expand(raw, vars)))
	dec.DisallowUnknownFields()
	var s Scenario
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("read scenario %s: %w", file, err)
	}
	return &s, nil
}

func expand(raw []byte, vars map[string]string) []byte {
	return regexp.MustCompile(`\$\{\w+\}`).ReplaceAllFunc(raw, func(name []byte) []byte {
		value, ok := vars[string(name[2:len(name)-1])]
		if !ok {
			return name
		}
		quoted, err := json.Marshal(value)
		if err != nil {
			panic("script: encode a string: " + err.Error()) // strings encode
		}
		return quoted[1 : len(quoted)-1]
	})
}
