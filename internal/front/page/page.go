package page

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"

	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/session"
)

//go:embed index.html icon.svg manifest.webmanifest app.js.gz style.css.gz
var embedded embed.FS

// Files are those of the page: the document, the icon, what a phone needs to install it, and, compressed, the style and the
// script that has all modules in it. "go test -update" writes the compressed ones again.
var Files fs.FS = embedded

// text is the content of a compressed file.
func text(name string) (string, error) {
	raw, err := embedded.ReadFile(name + ".gz")
	if err != nil {
		return "", err
	}
	in, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return "", err
	}
	out, err := io.ReadAll(in)
	return string(out), err
}

// A Session is one as a file shows it.
type Session struct {
	ID    string
	Cwd   string
	Title string
	View  *timeline.View
	// Hide takes secrets out of JSON; nil keeps them.
	Hide func([]byte) []byte
	// Details are all items with the whole of their texts, in order.
	Details iter.Seq[timeline.Detail]
}

// ExportOf writes the session that a journal has; see [Export]. Hide is that of [Session].
func ExportOf(ctx context.Context, w io.Writer, info *session.Info, hide func([]byte) []byte) error {
	v, err := timeline.Load(ctx, info.Path)
	if err != nil {
		return err
	}
	return Export(w, &Session{ID: info.ID, Cwd: info.Cwd, Title: cmp.Or(info.Title, info.Prompt), View: v, Hide: hide, Details: func(yield func(timeline.Detail) bool) {
		for _, i := range v.Items(0, math.MaxInt) {
			if !yield(timeline.Read(ctx, info.Path, i)) {
				return
			}
		}
	}})
}

// Export writes a session as one HTML file that needs neither a server nor the network.
func Export(w io.Writer, s *Session) error {
	script, err := text("app.js")
	if err != nil {
		return err
	}
	style, err := text("style.css")
	if err != nil {
		return err
	}
	sum := s.View.Summary()
	out := &joiner{w: w, hide: s.Hide}
	out.printf(exportHead, hash(script), hash(style), style)
	out.printf(`{"session":`)
	out.json(map[string]string{"id": s.ID, "cwd": s.Cwd, "title": s.Title})
	out.printf(`,"timeline":{"revision":"","total":%d,"summary":`, sum.Items)
	out.json(sum)
	out.printf(`,"turns":`)
	out.json(append([]timeline.Turn{}, s.View.Turns()...))
	out.printf(`,"items":`)
	out.json(append([]*timeline.Item{}, s.View.Items(0, sum.Items)...))
	out.printf(`},"details":[`)
	before := ""
	for d := range s.Details {
		out.printf("%s", before)
		out.json(d)
		before = ",\n"
	}
	out.printf(exportTail, script)
	return out.err
}

const exportHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>haft</title>
<style>%s</style>
</head>
<body>
<div id="announce" class="unseen" role="status" aria-live="polite"></div>
<noscript>This file needs JavaScript. To read the session without it, run: haft sessions export --format=markdown</noscript>
<script type="application/json" id="session">`

const exportTail = `]}</script>
<script type="module">%s</script>
</body>
</html>
`

// A joiner writes until the first error.
type joiner struct {
	w    io.Writer
	hide func([]byte) []byte
	err  error
}

func (j *joiner) printf(format string, args ...any) {
	if j.err == nil {
		_, j.err = fmt.Fprintf(j.w, format, args...)
	}
}

// json writes a value with <, > and & as escapes, so that no text of the session ends the
// element that it is in.
func (j *joiner) json(v any) {
	raw, err := json.Marshal(v)
	if err != nil && j.err == nil {
		j.err = fmt.Errorf("export session: %w", err)
	}
	if j.hide != nil {
		raw = j.hide(raw)
	}
	j.printf("%s", raw)
}

// hash is how a content security policy names a script or style.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
