package webpage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/haftdev/haft/internal/webpage/markdown"
)

// A Page is what an address gave. It is shared and must not be changed.
type Page struct {
	URL       string // where it was found in the end
	Status    int
	MediaType string
	Kind      Kind
	Title     string // of HTML
	Text      string // of text; HTML as Markdown
	Data      []byte // of images and PDFs
	Bytes     int    // as it came, decompressed
	Cut       string // why the text ends before the page does; "" means that it does not
	Redirect  string // another host to which it redirects; the page is not fetched
}

// Kind is what a page can be used as.
type Kind int

const (
	// Text is anything that can be read, HTML included.
	Text Kind = iota
	Image
	PDF
)

// read reads the body of a response.
func (f *Fetcher) read(ctx context.Context, u *url.URL, resp *http.Response) (*Page, error) {
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, fmt.Errorf("the answer is compressed as %q, which was not requested", enc)
	}
	raw, cut, err := f.body(ctx, resp.Body)
	if err != nil {
		return nil, err
	}
	p := &Page{URL: u.String(), Status: resp.StatusCode, Bytes: len(raw), Cut: cut}
	declared := resp.Header.Get("Content-Type")
	p.MediaType, p.Kind = kindOf(declared, raw)
	switch {
	case p.Kind != Text && cut != "":
		return nil, fmt.Errorf("only part of the %s file was received: %s", p.MediaType, cut)
	case p.Kind != Text:
		p.Data = raw
		return p, nil
	}
	text, ok := decode(raw, declared)
	if !ok {
		return nil, fmt.Errorf("it is %s (%d bytes), which cannot be shown as text; download it with Bash if you need it", p.MediaType, len(raw))
	}
	p.show(u, text, int(f.opts.MaxBytes))
	return p, nil
}

// body reads as much as is allowed in size and time; cut says what ended it early.
func (f *Fetcher) body(ctx context.Context, r io.Reader) (raw []byte, cut string, err error) {
	raw, err = io.ReadAll(io.LimitReader(r, f.opts.MaxBytes+1))
	switch {
	case int64(len(raw)) > f.opts.MaxBytes:
		return raw[:f.opts.MaxBytes], fmt.Sprintf("it is larger than the limit of %d bytes", f.opts.MaxBytes), nil
	case err == nil:
		return raw, "", nil
	case len(raw) > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return raw, fmt.Sprintf("the server did not send all of it within %s", f.opts.Timeout), nil
	case len(raw) > 0 && errors.Is(err, io.ErrUnexpectedEOF):
		return raw, "the connection was closed before the end", nil
	}
	return nil, "", err
}

// images are the kinds of image that a model can be shown.
var images = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// kindOf tells what a body is: by its first bytes where they are clear, by what the
// server says otherwise.
func kindOf(declared string, raw []byte) (string, Kind) {
	sniffed, _, _ := strings.Cut(http.DetectContentType(raw), ";")
	switch {
	case images[sniffed]:
		return sniffed, Image
	case sniffed == "application/pdf":
		return sniffed, PDF
	}
	media, _, err := mime.ParseMediaType(declared)
	if err != nil || media == "application/octet-stream" {
		return sniffed, Text
	}
	return media, Text
}

// show turns decoded text into what is read.
func (p *Page) show(u *url.URL, text string, most int) {
	switch {
	case p.MediaType == "text/html" || p.MediaType == "application/xhtml+xml":
		page, err := markdown.Read(text, &markdown.Options{Base: u, Most: most})
		if err != nil {
			p.Text, p.Cut = text, "it could not be parsed as HTML ("+err.Error()+"), so this is its source"
			return
		}
		p.Title, p.Text = page.Title, page.Text
		if page.Cut && p.Cut == "" {
			p.Cut = fmt.Sprintf("its text is larger than the limit of %d bytes", most)
		}
	case strings.HasSuffix(p.MediaType, "json"):
		p.Text = indented(text)
	default:
		p.Text = text
	}
}

// indented puts line breaks into JSON that has none, so that parts of it can be
// shown. Deeply nested JSON would grow beyond measure.
func indented(text string) string {
	const deepest = 50
	if strings.Contains(strings.TrimSpace(text), "\n") || depth(text) > deepest {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", " ") != nil {
		return text
	}
	return b.String()
}

// depth is how deeply JSON is nested at most; brackets in strings count too.
func depth(text string) (deepest int) {
	open := 0
	for _, c := range []byte(text) {
		switch c {
		case '[', '{':
			open++
			deepest = max(deepest, open)
		case ']', '}':
			open--
		}
	}
	return deepest
}
