package read

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/ownprogram"
	"github.com/haftdev/haft/internal/workspace/blob"
	"github.com/haftdev/haft/internal/workspace/disk"
	"github.com/haftdev/haft/internal/workspace/readstate"
	"github.com/haftdev/haft/tool"
)

const (
	maxPDF      = 20 << 20 // bytes of a document sent whole; the API takes 32 MB in base64
	maxPages    = 20       // pages shown as text in one call
	maxPageText = 1 << 20  // bytes taken of pdftotext; more tokens than any result may hold
	pdfPatience = time.Minute
)

// showPDF sends the document as it is.
func (r *reader) showPDF(c *tool.Call, f opened) (Output, error) {
	if f.info.Size > maxPDF {
		return Output{}, tool.Errorf("%s has %d bytes; PDFs over %d are not sent whole. Call Read with pages, such as \"1-%d\", to get their text.", f.facts.Path, f.info.Size, maxPDF, maxPages)
	}
	raw, err := readUpTo(f, maxPDF)
	if err != nil {
		return Output{}, err
	}
	r.ws.Saw(c.Agent, readstate.Entry{Path: f.facts.Real, Hash: blob.Digest(raw), Size: f.info.Size, ModTime: f.info.ModTime})
	return Output{Type: "pdf", File: File{Data: base64.StdEncoding.EncodeToString(raw), OriginalSize: int64(len(raw))}}, nil
}

// showPages shows the text of some pages.
func (r *reader) showPages(ctx context.Context, in Input, f opened) (Output, error) {
	first, last, err := pages(in.Pages)
	if err != nil {
		return Output{}, err
	}
	// One page more than is wanted tells whether there is one.
	text, err := r.pdfText(ctx, f.file, first, last+1)
	if err != nil {
		return Output{}, err
	}
	// pdftotext ends every page with a form feed.
	parts := strings.Split(strings.TrimSuffix(text, "\f"), "\f")
	out := Output{Type: "parts", File: File{OriginalSize: f.info.Size}}
	content, shown := somePages(parts[:min(len(parts), last-first+1)], first, in.tokens())
	out.File.Content, out.File.Truncated = &content, shown < min(len(parts), last-first+1)
	end := first + shown - 1
	say := func(format string, args ...any) {
		out.File.Notes = append(out.File.Notes, fmt.Sprintf(format, args...))
	}
	switch {
	case strings.TrimSpace(strings.Join(parts[:shown], "")) == "":
		say("These pages have no text or are beyond the end. To see scanned pages, call Read without pages.")
	case out.File.Truncated:
		say("%s %s shown (the result is limited to about %d tokens). To continue, call Read with pages \"%d-%d\".", span("Page", first, end), verb(first, end), in.tokens(), end+1, last)
	case shown < len(parts):
		say("%s %s shown. To continue, call Read with pages \"%d-%d\".", span("Page", first, end), verb(first, end), end+1, end+1+last-first)
	case first == end:
		say("Page %d is shown; it is the last.", first)
	default:
		say("Pages %d-%d are shown; page %d is the last.", first, end, end)
	}
	if strings.HasSuffix(content, cutPage) {
		say("The text of page %d is cut off. To see all of it, use Bash: pdftotext -layout -f %d -l %d %s -", end, end, end, f.facts.Path)
	}
	return out, nil
}

const cutPage = "… [cut]\n"

// somePages joins as many pages as the tokens allow and says how many. The first is shown in any case, but cut.
func somePages(parts []string, first, most int) (string, int) {
	var b strings.Builder
	used := 0
	for i, p := range parts {
		p = strings.ToValidUTF8(strings.TrimRight(p, "\n "), "\uFFFD")
		used += tokens(p)
		switch {
		case used > most && i > 0:
			return b.String(), i
		case used > most:
			fmt.Fprintf(&b, "[page %d]\n%s%s", first, strings.ToValidUTF8(p[:min(len(p), most)], ""), cutPage)
			return b.String(), 1
		}
		fmt.Fprintf(&b, "[page %d]\n%s\n", first+i, p)
	}
	return b.String(), len(parts)
}

// pages reads a range of pages.
func pages(s string) (first, last int, err error) {
	m := pageRange.FindStringSubmatch(s)
	if m == nil {
		return 0, 0, tool.Errorf("pages must be a page or a range, such as 3 or 1-5, not %q.", s)
	}
	first, _ = strconv.Atoi(m[1])
	last = first
	if m[2] != "" {
		last, _ = strconv.Atoi(m[2])
	}
	switch {
	case last < first:
		return 0, 0, tool.Errorf("pages %q ends before it begins. Use %d-%d.", s, last, first)
	case last-first >= maxPages:
		return 0, 0, tool.Errorf("pages %q is more than one call can show. Use at most %d pages, such as %d-%d.", s, maxPages, first, first+maxPages-1)
	}
	return first, last, nil
}

// pdftotext runs the program of that name on the file.
func pdftotext(ctx context.Context, pdf disk.File, first, last int) (string, error) {
	bin, err := ownprogram.Find("pdftotext")
	if err != nil {
		return "", tool.Errorf("To show the text of pages, Read needs the program pdftotext, which is not installed (package poppler-utils). Call Read without pages to see the whole document, or install pdftotext.")
	}
	ctx, cancel := context.WithTimeout(ctx, pdfPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-layout", "-enc", "UTF-8", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), "-", "-")
	cmd.Stdin = io.NewSectionReader(pdf, 0, 1<<40)
	cmd.WaitDelay = time.Second
	var out, errs bounded
	out.most, errs.most = maxPageText, 4096
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctxErr := context.Cause(ctx); ctxErr != nil && !errors.Is(ctxErr, context.DeadlineExceeded) {
			return "", ctxErr
		}
		return "", tool.Errorf("pdftotext could not read the document: %s", strings.TrimSpace(errs.String()+" "+err.Error()))
	}
	return out.String(), nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
