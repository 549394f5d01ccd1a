package webpage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/haftdev/haft/internal/world/webpage/markdown"
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
