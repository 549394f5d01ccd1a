// Package webfetch provides the WebFetch tool, which reads a web page.
//
//	fetcher, err := webpage.New(nil)
//	fetch := webfetch.New(fetcher, nil)
//
// Trust: the address is chosen by the model and the page by a stranger. Two things confine the
// fetch: the permission, which the pipeline gives per host, and package webpage, which reaches
// only the public internet and sends nothing about the user. The text of a page goes to the
// model unchanged and may try to instruct it; an address can leak what the model knows to an
// allowed host.
package webfetch

import (
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/tools/picture"
	"github.com/haftdev/haft/internal/world/webpage"
	"github.com/haftdev/haft/tool"
)

//go:embed webfetch.md
var description string

// Input is what the model sends.
type Input struct {
	URL    string `json:"url" jsonschema:"The address of the page." haft:"min=1;max=8000;example=https://go.dev/doc/"`
	Prompt string `json:"prompt,omitempty" jsonschema:"A question about the page. Without it, the page itself is returned." haft:"max=10000"`
	Offset int    `json:"offset,omitempty" jsonschema:"Where to continue in a long page: the offset that the last result named." haft:"min=0"`
}

// Output is what programs get.
type Output struct {
	URL        string `json:"url"` // where the page was found
	Code       int    `json:"code"`
	CodeText   string `json:"codeText"`
	Bytes      int    `json:"bytes"`
	DurationMs int64  `json:"durationMs"`
	// Result is the text of the page, or the answer to the prompt.
	Result    string `json:"result"`
	Title     string `json:"title,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	Data      string `json:"data,omitempty"`     // of an image or PDF, in base64
	Redirect  string `json:"redirect,omitempty"` // another host, that was not followed
	Note      string `json:"note,omitempty"`     // what to know about the result
}

// A Question is a question to a small model about a page.
type Question struct {
	URL, Title, Text string
	Prompt           string
}

// Options configure the tool. A nil *Options means all zero values.
type Options struct {
	// Answer lets a small model answer a prompt about a page; nil means that the
	// page itself is returned.
	Answer func(context.Context, Question) (string, error)
	// PageSize is how many characters of a page one result shows; 0 means 40,000.
	PageSize int
}

const (
	defaultPageSize = 40_000
	maxAsked        = 200_000 // characters of a page that a small model is shown
	maxExcerpt      = 2_000   // characters of a page that is an error
)

type fetcher struct {
	web    *webpage.Fetcher
	opts   Options
	images picture.Fitter
}

// New returns the tool.
func New(web *webpage.Fetcher, opts *Options) tool.Tool {
	f := &fetcher{web: web, images: picture.NewFitter()}
	if opts != nil {
		f.opts = *opts
	}
	if f.opts.PageSize == 0 {
		f.opts.PageSize = defaultPageSize
	}
	return tool.New(tool.Def[Input, Output]{
		Name:        "WebFetch",
		Title:       "Fetch",
		SearchHint:  "fetch web page url http download html documentation read website",
		Description: description,
		Marks: func(Input) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Idempotent}
		},
		Validate:        f.validate,
		Classify:        func(in Input) string { return "fetch " + in.URL },
		Address:         func(in Input) string { return in.URL },
		Run:             f.run,
		Render:          render,
		Summarize:       func(in Input) string { return in.URL },
		SummarizeResult: summarize,
		MaxResult:       f.opts.PageSize + 10_000, // it bounds itself
		Deferred:        true,
	})
}

// validate refuses what cannot be fetched, before the user is asked about it: no rule would
// change that.
func (f *fetcher) validate(_ context.Context, _ *tool.Call, in Input) *tool.Problem {
	err := f.web.Check(in.URL)
	var refused *webpage.Refused
	switch {
	case errors.As(err, &refused):
		return &tool.Problem{Message: private(in.URL, err)}
	case err != nil:
		return &tool.Problem{Message: fmt.Sprintf("Could not fetch %q: %v.", in.URL, err)}
	}
	return nil
}

// private is what the model is told about an address that only a setting opens.
func private(url string, err error) string {
	return fmt.Sprintf("Could not fetch %s: %v. Only the user can allow that, with the setting webFetch.allowPrivate.", url, err)
}

// render says where the text is from before the text, and how to continue after it.
func render(out Output) tool.Result {
	if out.Redirect != "" {
		return tool.Text(out.Result)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "From %s", out.URL)
	if out.Title != "" {
		fmt.Fprintf(&b, " (%s)", out.Title)
	}
	b.WriteString(":\n\n" + out.Result)
	if out.Note != "" {
		b.WriteString("\n\n[" + out.Note + "]")
	}
	r := tool.Text(b.String())
	data, err := base64.StdEncoding.DecodeString(out.Data)
	switch {
	case err != nil || len(data) == 0:
	case strings.HasPrefix(out.MediaType, "image/"):
		r.Content = append(r.Content, tool.Block{Type: tool.ImageBlock, MediaType: out.MediaType, Data: data})
	default:
		r.Content = append(r.Content, tool.Block{Type: tool.DocumentBlock, MediaType: out.MediaType, Data: data})
	}
	return r
}

func summarize(out Output) string {
	if out.Redirect != "" {
		return "redirects to " + out.Redirect
	}
	return fmt.Sprintf("%d %s, %d bytes", out.Code, out.CodeText, out.Bytes)
}

func (f *fetcher) run(ctx context.Context, c *tool.Call, in Input) (Output, error) {
	began := time.Now()
	c.Report(tool.TextProgress{Text: "fetching " + in.URL})
	page, err := f.web.Get(ctx, in.URL)
	if err != nil {
		return Output{}, failure(ctx, in.URL, err)
	}
	out := Output{
		URL: page.URL, Code: page.Status, CodeText: http.StatusText(page.Status), Bytes: page.Bytes,
		Title: page.Title, MediaType: page.MediaType, Redirect: page.Redirect,
	}
	switch {
	case page.Redirect != "":
		out.Result = fmt.Sprintf("%s redirects to another host; the redirect was not followed. To read that page, call WebFetch with the address %s", page.URL, page.Redirect)
	case page.Status >= 400:
		err = tool.Errorf("%s answered %d %s.%s", page.URL, page.Status, http.StatusText(page.Status), excerpt(page.Text))
	case page.Kind == webpage.Image:
		err = f.showImage(ctx, &out, page)
	case page.Kind == webpage.PDF:
		out.Data = base64.StdEncoding.EncodeToString(page.Data)
		out.Result = fmt.Sprintf("a PDF of %d bytes", page.Bytes)
	default:
		err = f.showText(ctx, &out, page, in)
	}
	out.DurationMs = time.Since(began).Milliseconds()
	return out, err
}

// failure says what went wrong and what can be done about it.
func failure(ctx context.Context, url string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *webpage.Refused
	if errors.As(err, &refused) {
		return tool.Errorf("%s", private(url, err))
	}
	return tool.Errorf("Could not fetch %s: %w.", url, err)
}

// excerpt is the beginning of a page that explains an error.
func excerpt(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	part, _ := window(text, 0, maxExcerpt)
	return " It says:\n" + part.text
}

func (f *fetcher) showImage(ctx context.Context, out *Output, page *webpage.Page) error {
	shown, err := f.images.Fit(ctx, page.Data, page.MediaType)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return tool.Errorf("%s is an image that cannot be shown: %w.", page.URL, err)
	}
	out.Data, out.MediaType = base64.StdEncoding.EncodeToString(shown.Data), shown.MediaType
	d := shown.Dimensions
	out.Result = fmt.Sprintf("an image of %d×%d pixels, shown at %d×%d", d.OriginalWidth, d.OriginalHeight, d.DisplayWidth, d.DisplayHeight)
	return nil
}

// showText shows a part of the page, or what the small model says about it.
func (f *fetcher) showText(ctx context.Context, out *Output, page *webpage.Page, in Input) error {
	var notes []string
	if page.Cut != "" {
		notes = append(notes, "The page is not complete: "+page.Cut+".")
	}
	if f.opts.Answer != nil && in.Prompt != "" && in.Offset == 0 {
		asked, total := window(page.Text, 0, maxAsked)
		answer, err := f.opts.Answer(ctx, Question{URL: page.URL, Title: page.Title, Text: asked.text, Prompt: in.Prompt})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			if asked.end < total {
				notes = append(notes, fmt.Sprintf("The answer is about the first %d of %d characters. To read the rest, call WebFetch with offset %d.", asked.end, total, asked.end))
			}
			out.Result, out.Note = answer, strings.Join(notes, " ")
			return nil
		}
		notes = append(notes, "The prompt could not be answered ("+err.Error()+"), so this is the page itself.")
	}
	part, total := window(page.Text, in.Offset, f.opts.PageSize)
	switch {
	case total == 0:
		notes = append(notes, "The page has no text. It may need a browser that runs its scripts.")
	case in.Offset >= total:
		return tool.Errorf("%s has %d characters, so there is nothing at offset %d. Call WebFetch with a smaller offset.", page.URL, total, in.Offset)
	case part.end < total:
		notes = append(notes, fmt.Sprintf("Characters %d to %d of %d are shown. To continue, call WebFetch with offset %d.", in.Offset, part.end, total, part.end))
	case in.Offset > 0:
		notes = append(notes, fmt.Sprintf("Characters %d to %d are shown, which is the end of the page.", in.Offset, total))
	}
	out.Result, out.Note = part.text, strings.Join(notes, " ")
	return nil
}
