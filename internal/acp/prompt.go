package acp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/model"
	sessions "github.com/haftdev/haft/session"
)

// prompt takes a prompt. It is answered when the turn that takes it up has ended.
func (s *server) prompt(r *request) {
	ses, err := s.find(r)
	if err != nil {
		r.reply(nil, err)
		return
	}
	var params struct {
		Prompt []block `json:"prompt"`
	}
	if err := r.read(&params); err != nil {
		r.reply(nil, err)
		return
	}
	blocks, err := contentOf(params.Prompt)
	if err != nil {
		r.reply(nil, err)
		return
	}
	p := &prompt{Prompt: agent.Prompt{UUID: sessions.NewUUID(), Content: blocks}, request: r}
	if blocks[0].Type == model.Text && blocks[0].Raw == nil {
		p.text = blocks[0].Text
	}
	if err := ses.take(p); err != nil {
		r.reply(nil, err)
	}
}

// take queues a prompt. One that comes while a turn runs joins it; a command waits for
// its end, because it may change what the next one begins with.
func (s *session) take(p *prompt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return errorf(codeInvalidRequest, "The session is being closed.")
	}
	s.prompts[p.UUID] = p
	context.AfterFunc(p.request.ctx, func() { s.takeBack(p) })
	if input := s.talk.Input(); len(s.typed) > 0 || input.IsCommand(p.text) || input.Mentions(p.text) {
		s.typed = append(s.typed, p)
	} else {
		s.talk.Send(p.Prompt)
	}
	s.talk.Agent.Reconsider()
	s.wake()
	return nil
}

// contentOf reads what the user says.
func contentOf(prompt []block) ([]model.Block, error) {
	var list []model.Block
	for i, b := range prompt {
		blocks, err := b.read()
		if err != nil {
			return nil, errorf(codeInvalidParams, "Block %d of the prompt cannot be used: %v", i+1, err)
		}
		list = append(list, blocks...)
	}
	if len(list) == 0 {
		return nil, errorf(codeInvalidParams, "The prompt is empty.")
	}
	return list, nil
}

// read is a block as a model reads it.
func (b *block) read() ([]model.Block, error) {
	switch b.Type {
	case "text":
		if b.Text == "" {
			return nil, nil // no API takes an empty one
		}
		return []model.Block{model.TextOf(b.Text)}, nil
	case "image":
		return media("image", b.MimeType, b.Data)
	case "resource_link":
		return []model.Block{model.TextOf(link(b.URI, b.Name))}, nil
	case "resource":
		if b.Resource == nil {
			return nil, errors.New("resource is missing")
		}
		return b.Resource.read()
	case "audio":
		return nil, errors.New("haft does not accept audio, as its initialize response says")
	}
	return nil, fmt.Errorf("there is no type %q", b.Type)
}

// media is an image or a document.
func media(kind, mimeType, data string) ([]model.Block, error) {
	if data == "" || mimeType == "" {
		return nil, errors.New("data and mimeType must be set")
	}
	// What a model's API refuses would be refused again with every later prompt of the session.
	if _, err := base64.StdEncoding.Strict().DecodeString(data); err != nil {
		return nil, errors.New("data is not base64")
	}
	if kind == "image" && !slices.Contains(imageTypes, mimeType) {
		return nil, fmt.Errorf("an image must be one of %s", strings.Join(imageTypes, ", "))
	}
	raw, err := plainjson.Marshal(map[string]any{"type": kind, "source": map[string]string{"type": "base64", "media_type": mimeType, "data": data}})
	if err != nil {
		return nil, err
	}
	var block model.Block
	err = json.Unmarshal(raw, &block)
	return []model.Block{block}, err
}

// imageTypes are those that models take.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// link names something that the model can look at. A file is named by its path, which
// is what tools take.
func link(uri, name string) string {
	if file, ok := filePath(uri); ok {
		return "@" + strings.ReplaceAll(file, " ", `\ `)
	}
	if name == "" {
		return uri
	}
	return fmt.Sprintf("[%s](%s)", name, uri)
}

// filePath is the path of a file: URI.
func filePath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || !filepath.IsAbs(filepath.FromSlash(u.Path)) {
		return "", false
	}
	return filepath.FromSlash(u.Path), true
}

// read is what the editor has put into the prompt: a text with its name around it, an
// image, a document.
func (r *resource) read() ([]model.Block, error) {
	switch {
	case r.Text != nil:
		name := r.URI
		if file, ok := filePath(r.URI); ok {
			name = file
		}
		return []model.Block{model.TextOf(fmt.Sprintf("<file path=%q>\n%s\n</file>", name, *r.Text))}, nil
	case r.Blob == nil:
		return nil, errors.New("it has neither text nor blob")
	case strings.HasPrefix(r.MimeType, "image/"):
		return media("image", r.MimeType, *r.Blob)
	case r.MimeType == "application/pdf":
		return media("document", r.MimeType, *r.Blob)
	}
	return nil, fmt.Errorf("%s has type %q, which no model can read; link to it instead", path.Base(r.URI), r.MimeType)
}

// carryOut carries out a command, or sends what it stands for to the model.
func (s *session) carryOut(p *prompt) {
	ctx, done := s.reading(p)
	defer done()
	typed, ok, err := s.talk.Input().Read(ctx, p.text)
	switch {
	case !ok:
		s.send(s.withFiles(ctx, p))
	case err != nil:
		s.local(p, fmt.Sprintf("could not run /%s: %v", typed.Command.Name, err))
	case typed.Text != "":
		p.Content = slices.Concat([]model.Block{model.TextOf(typed.Text)}, p.Content[1:])
		p.Change, p.Answer = typed.Change, typed.Answer
		s.send(p)
	case typed.Command.Name == "compact":
		s.mu.Lock()
		s.compact = append(s.compact, p)
		s.mu.Unlock()
		s.talk.Agent.Compact(typed.Arguments)
	case typed.Command.Name == "clear":
		s.local(p, "/clear does not work in an editor: start a new session in the editor instead.")
	default:
		answer, ok, err := answers.Run(s.talk, nil, typed.Command.Name, typed.Arguments)
		switch {
		case err != nil:
			answer = fmt.Sprintf("/%s failed: %v", typed.Command.Name, err)
		case !ok:
			answer = fmt.Sprintf("/%s needs a terminal; run haft there.", typed.Command.Name)
		}
		s.local(p, answer)
	}
}

// reading returns a context that ends when the user wants the command stopped.
func (s *session) reading(p *prompt) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.command = cancel
	if p.cancelled {
		cancel()
	}
	s.mu.Unlock()
	return ctx, func() {
		s.mu.Lock()
		s.command = nil
		s.mu.Unlock()
		cancel()
	}
}

// send gives a prompt to the model, if it is still wanted.
func (s *session) send(p *prompt) {
	s.mu.Lock()
	cancelled := p.cancelled
	if !cancelled {
		s.talk.Send(p.Prompt)
	}
	s.mu.Unlock()
	if cancelled {
		s.answer(p.UUID, stopCancelled, nil)
	}
}

// withFiles adds the files that a prompt mentions. Those that must not be read, or
// cannot, are left out with a word about it.
func (s *session) withFiles(ctx context.Context, p *prompt) *prompt {
	files, err := s.talk.Input().Mentioned(ctx, p.text)
	if err != nil {
		s.tell.notice("warning", "Could not add a file that the prompt mentions: "+err.Error())
	}
	if files != "" && err == nil {
		p.Content = append(slices.Clip(p.Content), model.TextOf(files))
	}
	return p
}

// local answers a command that no model was asked about.
func (s *session) local(p *prompt, answer string) {
	s.tell.say(answer)
	s.answer(p.UUID, stopEndTurn, nil)
}
