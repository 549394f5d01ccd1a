package servers

import (
	"context"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
)

// CompletePrompt asks a server how the argument of one of its prompts may continue: words
// are the arguments before it.
func (s *Servers) CompletePrompt(ctx context.Context, command string, words []string, typed string) []string {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	if host == nil {
		return nil
	}
	prompts := host.Prompts()
	i := slices.IndexFunc(prompts, func(p mcp.Prompt) bool { return p.Command == command })
	if i < 0 || len(words) >= len(prompts[i].Arguments) {
		return nil
	}
	p := prompts[i]
	values, _, err := host.Complete(ctx, mcp.Completion{Server: p.Server, Prompt: p.Name, Argument: p.Arguments[len(words)].Name, Value: typed, Others: promptArguments(p.Arguments[:len(words)], words)})
	if err != nil {
		return nil // completion is a convenience: the prompt itself says what is wrong
	}
	return typeable(values)
}

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

// CompleteResource completes server:uri, the mention of a resource. The variables of
// templates are completed by the server.
func (s *Servers) CompleteResource(ctx context.Context, typed string) (words []string) {
	s.mu.Lock()
	host := s.host
	s.mu.Unlock()
	name, uri, named := strings.Cut(typed, ":")
	if host == nil {
		return nil
	}
	for _, st := range host.Status() {
		if !named && strings.HasPrefix(st.Name, name) && st.State == mcp.Connected {
			words = append(words, st.Name+":")
		}
		if !named || st.Name != name || st.State != mcp.Connected {
			continue
		}
		list, err := host.Resources(ctx, name)
		if err != nil {
			return nil
		}
		for _, r := range list {
			if !r.Template && strings.HasPrefix(r.URI, uri) && visible.Name(r.URI) == r.URI {
				words = append(words, name+":"+r.URI)
			}
			if r.Template {
				for _, filled := range fill(ctx, host, r, uri) {
					words = append(words, name+":"+filled)
				}
			}
		}
	}
	return words
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
