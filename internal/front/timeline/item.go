package timeline

import "time"

// Kind is what an item is.
type Kind string

const (
	Prompt     Kind = "prompt"     // the user said it
	Text       Kind = "text"       // the model said it
	Thinking   Kind = "thinking"   // the model thought it
	CallItem   Kind = "call"       // the model called a tool
	Note       Kind = "note"       // the harness added it
	Error      Kind = "error"      // it was shown in place of an answer
	Compaction Kind = "compaction" // what is before was summarised
)

// State is how far a call is.
type State string

const (
	Queued  State = "queued"  // for a place or a verdict
	Asked   State = "asked"   // a user or program is being asked
	Running State = "running" // it was dispatched
	Done    State = "done"
	Failed  State = "failed"
	Denied  State = "denied"
)

// A Time is in milliseconds since 1970; 0 is not known.
type Time int64

func timeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// An Item is one thing that was said or done.
type Item struct {
	// Index is its place in the session, from 0.
	Index int `json:"index"`
	// ID is that of the message, of a call its tool_use id.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Lane is the agent whose it is; "" is the main one.
	Lane string `json:"lane,omitempty"`
	Turn int    `json:"turn"`
	At   Time   `json:"at"`
	// Text is its beginning, of a call that of its input; Cut says that there is more.
	Text string `json:"text,omitempty"`
	Cut  bool   `json:"cut,omitempty"`
	Call *Call  `json:"call,omitempty"`
	// Left says that the conversation went back to before it: the model does not know it.
	Left bool `json:"left,omitempty"`

	said, result place
	revision     int // of the view that changed it last
}

// A place is a block of a line in a file of the session.
type place struct {
	file   string
	offset int64
	block  int
	known  bool
}

// A Call is the life of a call.
type Call struct {
	Tool  string `json:"tool"`
	State State  `json:"state"`
	// Asked is when the user was asked, Answered when that was settled, Judged when there was
	// a verdict, Started when it was dispatched and Ended when it had its result.
	Asked    Time `json:"asked,omitempty"`
	Answered Time `json:"answered,omitempty"`
	Judged   Time `json:"judged,omitempty"`
	Started  Time `json:"started,omitempty"`
	Ended    Time `json:"ended,omitempty"`
	// Question is the id of the question that is open or was the last one; By is where its
	// answer came from.
	Question string `json:"question,omitempty"`
	By       string `json:"by,omitempty"`
	// Verdict is allow or deny, Reason why.
	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Effect is what a repetition would do, Confinement what the command was held to, and
	// Tier by what.
	Effect      string `json:"effect,omitempty"`
	Confinement string `json:"confinement,omitempty"`
	Tier        string `json:"tier,omitempty"`
	// Files are those that it changed.
	Files []string `json:"files,omitempty"`
	// Result is its beginning.
	Result    string `json:"result,omitempty"`
	ResultCut bool   `json:"result_cut,omitempty"`
}

// A Turn is a prompt and what came of it.
type Turn struct {
	Index int `json:"index"`
	// Item is the index of the prompt.
	Item   int     `json:"item"`
	Start  Time    `json:"start"`
	End    Time    `json:"end"`
	Model  string  `json:"model,omitempty"`
	Usage  Usage   `json:"usage"`
	Cost   float64 `json:"cost"`
	Calls  int     `json:"calls"`
	Failed int     `json:"failed,omitempty"`
	// Left is that of its prompt.
	Left bool `json:"left,omitempty"`

	prompted bool // it has its prompt; what the harness says may come before
	revision int  // of the view that changed it last
}

// Usage is what models read and wrote, in tokens.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	// Context is how long the last request was.
	Context int64 `json:"context"`
}

// A Lane is what one agent did.
type Lane struct {
	Agent string `json:"agent"`
	Items int    `json:"items"`
	Calls int    `json:"calls"`
	First Time   `json:"first"`
	Last  Time   `json:"last"`
}
