package cli

import (
	"strings"

	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/wire"
)

// refusals are the verdicts on calls of a session on a server, by the ids of the calls. They
// add the reasons that the permission_denials of a result lack.
type refusals struct {
	why     map[string]string // of calls that were denied
	allowed map[string]bool   // calls that ran; a denial is about their changes
	decided map[string]bool   // a rule, a mode or a user denied them: no one had to be asked
}

func newRefusals() *refusals {
	return &refusals{why: map[string]string{}, allowed: map[string]bool{}, decided: map[string]bool{}}
}

// hear takes a message of the session. The steps of calls are in its journal and are not
// missed; the words for the model are only heard live, by a client that is there in time.
func (r *refusals) hear(m wire.Message) {
	switch m := m.(type) {
	case *wire.CallStep:
		switch {
		case m.Step == "judged" && m.Behavior == "deny":
			r.why[m.ToolUseID] = m.Reason + "." + m.Remedy
			r.decided[m.ToolUseID] = !m.Unasked
		case m.Step == "judged":
			r.allowed[m.ToolUseID] = true
		}
	case *wire.PermissionDenied:
		r.why[m.ToolUseID] = strings.TrimPrefix(m.Message, "Denied: ")
	}
}

// lines says which calls were denied, or lost changes, because no one was asked.
func (r *refusals) lines(denials []wire.PermissionDenial) []string {
	var lines []string
	for _, d := range denials {
		call := d.ToolName + " " + shorten.To(string(d.ToolInput), 201)
		switch why, denied := r.why[d.ToolUseID]; {
		case r.decided[d.ToolUseID]:
		case !denied && r.allowed[d.ToolUseID]:
			lines = append(lines, call+" ran in a preview, and its changes that no rule allows were dropped.")
		case !denied:
			lines = append(lines, "denied "+call)
		default:
			lines = append(lines, "denied "+call+": "+why)
		}
	}
	return lines
}
