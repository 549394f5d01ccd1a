package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/mcp/internal/envelope"
)

// ask runs a request over the server's session.
func ask[T any](ctx context.Context, h *Host, server string, f func(context.Context, *session) (T, error)) (T, error) {
	var none T
	p, err := h.find(server)
	if err != nil {
		return none, err
	}
	for again := false; ; again = true {
		s, err := p.acquire(ctx)
		if err != nil {
			return none, err
		}
		bound, done := s.within(ctx)
		result, err := f(bound, s)
		done()
		if err == nil {
			return result, nil
		}
		if again || !errors.Is(err, sdk.ErrSessionMissing) && !errors.Is(err, sdk.ErrConnectionClosed) {
			return none, fmt.Errorf("server %s: %w", server, reason(bound, err))
		}
		s.lose(err)
		p.awaitLoss(ctx, s)
	}
}

// Resources lists the resources and templates of a server, or of all connected
// ones (""). A server that cannot be asked is an error only if it was named.
func (h *Host) Resources(ctx context.Context, server string) ([]Resource, error) {
	if server != "" {
		return ask(ctx, h, server, listResources)
	}
	all := []Resource{}
	for _, p := range h.all() {
		p.mu.Lock()
		usable := p.session != nil && (p.known.caps == nil || p.known.caps.Resources != nil)
		p.mu.Unlock()
		if !usable {
			continue
		}
		if list, err := ask(ctx, h, p.name, listResources); err == nil {
			all = append(all, list...)
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return all, nil
}

// maxResources bounds a list against a server whose pages never end.
const maxResources = 10_000

func listResources(ctx context.Context, s *session) ([]Resource, error) {
	all := []Resource{}
	if caps := s.wire.InitializeResult().Capabilities; caps != nil && caps.Resources == nil {
		return all, nil
	}
	for r, err := range s.wire.Resources(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(all) == maxResources {
			break
		}
		all = append(all, Resource{Server: s.peer.name, URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType, Size: r.Size})
	}
	for r, err := range s.wire.ResourceTemplates(ctx, nil) {
		if err != nil || len(all) == maxResources {
			break // not every server has templates
		}
		all = append(all, Resource{Server: s.peer.name, URI: r.URITemplate, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType, Template: true})
	}
	return all, nil
}

// ReadResource reads a resource.
func (h *Host) ReadResource(ctx context.Context, server, uri string) ([]Contents, error) {
	return ask(ctx, h, server, func(ctx context.Context, s *session) ([]Contents, error) {
		res, err := s.wire.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			return nil, err
		}
		all := []Contents{}
		for _, c := range res.Contents {
			if c != nil {
				all = append(all, Contents{URI: c.URI, MIMEType: c.MIMEType, Text: c.Text, Blob: c.Blob})
			}
		}
		return all, nil
	})
}

// Mention splits @server:uri, as people write it, into its parts. It reports
// whether the host holds such a server.
func (h *Host) Mention(text string) (server, uri string, ok bool) {
	text, at := strings.CutPrefix(text, "@")
	server, uri, colon := strings.Cut(text, ":")
	_, err := h.find(server)
	return server, uri, at && colon && uri != "" && err == nil
}

// Subscribe asks a server to tell when a resource changes; see Options.OnUpdate.
func (h *Host) Subscribe(ctx context.Context, server, uri string) error {
	_, err := ask(ctx, h, server, func(ctx context.Context, s *session) (struct{}, error) {
		return struct{}{}, s.wire.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
	})
	return err
}

// Unsubscribe ends what Subscribe began.
func (h *Host) Unsubscribe(ctx context.Context, server, uri string) error {
	_, err := ask(ctx, h, server, func(ctx context.Context, s *session) (struct{}, error) {
		return struct{}{}, s.wire.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: uri})
	})
	return err
}

// Prompts lists the prompts of all servers, by server and name.
func (h *Host) Prompts() []Prompt {
	all := []Prompt{}
	for _, p := range h.all() {
		p.mu.Lock()
		if p.state != Disabled {
			all = append(all, p.known.prompts...)
		}
		p.mu.Unlock()
	}
	return all
}

func (p *peer) listPrompts(ctx context.Context, s *session) ([]Prompt, error) {
	ctx, done := s.within(ctx)
	defer done()
	var prompts []Prompt
	var names []string
	for q, err := range s.wire.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(prompts) == maxResources {
			break
		}
		prompt := Prompt{Server: p.name, Name: q.Name}
		prompt.Title, _ = clean(q.Title)
		prompt.Description, _ = clean(q.Description)
		for _, a := range q.Arguments {
			prompt.Arguments = append(prompt.Arguments, PromptArg{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		prompts, names = append(prompts, prompt), append(names, q.Name)
	}
	offered := offeredNames(p.key, names)
	for i := range prompts {
		prompts[i].Command = offered[prompts[i].Name]
	}
	slices.SortFunc(prompts, func(a, b Prompt) int { return strings.Compare(a.Name, b.Name) })
	return prompts, nil
}

// GetPrompt fills in a prompt, given by its command.
func (h *Host) GetPrompt(ctx context.Context, command string, args map[string]string) ([]PromptMessage, error) {
	all := h.Prompts()
	i := slices.IndexFunc(all, func(p Prompt) bool { return p.Command == command })
	if i < 0 {
		return nil, fmt.Errorf("there is no prompt %s", command)
	}
	for _, a := range all[i].Arguments {
		if _, given := args[a.Name]; a.Required && !given {
			return nil, fmt.Errorf("the prompt %s needs the argument %s", command, a.Name)
		}
	}
	return ask(ctx, h, all[i].Server, func(ctx context.Context, s *session) ([]PromptMessage, error) {
		res, err := s.wire.GetPrompt(ctx, &sdk.GetPromptParams{Name: all[i].Name, Arguments: args})
		if err != nil {
			return nil, err
		}
		raw, ok := s.gate.Redeem(res.Meta)
		if !ok {
			return nil, errors.New("the prompt was lost")
		}
		messages := []PromptMessage{}
		for m := range envelope.Elements(envelope.Field(raw, "messages")) {
			var message PromptMessage
			if err := json.Unmarshal(m, &message); err != nil {
				return nil, fmt.Errorf("a message of the prompt cannot be read: %w", err)
			}
			messages = append(messages, message)
		}
		return messages, nil
	})
}

// Complete returns how an argument may go on, and whether there is more.
func (h *Host) Complete(ctx context.Context, c Completion) (values []string, more bool, err error) {
	res, err := ask(ctx, h, c.Server, func(ctx context.Context, s *session) (*sdk.CompleteResult, error) {
		if caps := s.wire.InitializeResult().Capabilities; caps != nil && caps.Completions == nil {
			return new(sdk.CompleteResult), nil
		}
		ref := &sdk.CompleteReference{Type: "ref/prompt", Name: c.Prompt}
		if c.Template != "" {
			ref = &sdk.CompleteReference{Type: "ref/resource", URI: c.Template}
		}
		params := &sdk.CompleteParams{Ref: ref, Argument: sdk.CompleteParamsArgument{Name: c.Argument, Value: c.Value}}
		if len(c.Others) > 0 {
			params.Context = &sdk.CompleteContext{Arguments: c.Others}
		}
		return s.wire.Complete(ctx, params)
	})
	if err != nil {
		return nil, false, err
	}
	return res.Completion.Values, res.Completion.HasMore, nil
}

// setRoots tells the server about changed directories.
func (s *session) setRoots(old, dirs []string) {
	var gone []string
	for _, r := range roots(old) {
		if !slices.ContainsFunc(roots(dirs), func(n *sdk.Root) bool { return n.URI == r.URI }) {
			gone = append(gone, r.URI)
		}
	}
	s.client.RemoveRoots(gone...)
	s.client.AddRoots(roots(dirs)...)
}
