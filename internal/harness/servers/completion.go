package servers

import (
	"context"
	"strings"

	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
)

// maxCompletions is how many values a server may answer with.
const maxCompletions = 100

// typeable are the values that can be put into what the user types: one line, and nothing
// that a terminal would act on or not show.
func typeable(values []string) (kept []string) {
	for _, v := range values {
		if v != "" && visible.Name(v) == v && len(kept) < maxCompletions {
			kept = append(kept, v)
		}
	}
	return kept
}

// A completer completes arguments; *[mcp.Host] is one.
type completer interface {
	Complete(ctx context.Context, c mcp.Completion) (values []string, more bool, err error)
}

// fill returns how what was typed of a template may continue: with its next fixed part, or
// with what the server knows for the variable that is being typed.
func fill(ctx context.Context, host completer, r mcp.Resource, typed string) (uris []string) {
	rest, left, done := r.URI, typed, ""
	others := map[string]string{}
	for {
		fixed, after, variable := strings.Cut(rest, "{")
		if !strings.HasPrefix(left, fixed) {
			if strings.HasPrefix(fixed, left) {
				return []string{done + fixed}
			}
			return nil
		}
		done, left = done+fixed, left[len(fixed):]
		name, tail, closed := strings.Cut(after, "}")
		if !variable || !closed {
			return nil
		}
		name = strings.TrimLeft(name, "+#/") // the forms of expansion that keep slashes
		next, _, _ := strings.Cut(tail, "{")
		if value, _, ok := strings.Cut(left, next); ok && next != "" {
			others[name] = value
			done, left, rest = done+value, left[len(value):], tail
			continue
		}
		values, _, err := host.Complete(ctx, mcp.Completion{Server: r.Server, Template: r.URI, Argument: name, Value: left, Others: others})
		if err != nil {
			return nil
		}
		for _, v := range typeable(values) {
			uris = append(uris, done+v+next)
		}
		return uris
	}
}
