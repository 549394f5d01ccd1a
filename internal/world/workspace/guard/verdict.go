package guard

// Op is what is about to be done with a path.
type Op int

const (
	Read Op = iota
	Write
)

// Decision is the guard's view, from harmless to refused.
type Decision int

const (
	Allow Decision = iota
	Ask
	Deny
)

func (d Decision) String() string { return [...]string{"allow", "ask", "deny"}[d] }

// Verdict is a decision with its reason, which is empty for Allow.
type Verdict struct {
	Decision Decision
	Reason   string
}
